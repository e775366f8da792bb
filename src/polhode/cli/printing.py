"""One JSON object for programs, and a line for each warning."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .wording import for_shell


def say(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as a line, without the place in the code that gave it."""
    print(f"polhode: {for_shell(str(message))}", file=sys.stderr)


@contextmanager
def noted() -> Iterator[list[str]]:
    """Print the warnings of what is done inside, and list them."""
    found: list[str] = []

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        found.append(for_shell(str(message)))
        say(message)

    with warnings.catch_warnings():
        warnings.showwarning = note
        yield found


def print_json(data: Any) -> None:
    """Print data as JSON."""
    print(json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(data: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
