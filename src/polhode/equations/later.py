"""What later stages make of a dynamics: found by name when it is asked for, since a stage imports only from above."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def later(stage: str, name: str) -> Any:
    """A name of a later stage."""
    return getattr(import_module(f"polhode.{stage}"), name)
