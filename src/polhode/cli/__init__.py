"""The command line: `polhode info`, `derive`, `eval`, `check` and `simulate`."""

from .main import main

__all__ = ["main"]
