"""The command line: `polhode info`, `polhode derive`, `polhode eval`."""

from .main import main

__all__ = ["main"]
