"""Packages that only some people need, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, extra: str, purpose: str) -> Any:
    """Import a module, or say which extra of Polhode brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # it is there, and broken
        raise ModuleNotFoundError(
            f'{purpose} needs {package}, which is not installed. Install it: pip install "polhode[{extra}]"',
            name=package,
        ) from None
