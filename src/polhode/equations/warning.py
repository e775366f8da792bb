"""Words that are heard where the package was called."""

from __future__ import annotations

import inspect
import warnings


class ConstraintWarning(RuntimeWarning):
    """A state is off its constraints, or they contradict each other there: the numbers of a call are in doubt."""


def warn_caller(text: str, kind: type[Warning]) -> None:
    """Warn at the line outside of this package that led here."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("polhode."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, stacklevel=level)
