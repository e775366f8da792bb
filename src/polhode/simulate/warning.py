"""Runs that stop early are heard."""

from __future__ import annotations

import inspect
import warnings

from polhode.trajectory import Outcome


class SimulationWarning(RuntimeWarning):
    """A run stopped before the time it was asked to reach. Its outcome says why."""


def warn(*outcomes: Outcome) -> None:
    """Warn once of runs that stopped early, where they were called for.

    A run after Ctrl-C has no remedy, and needs no warning.
    """
    stopped = [(i, outcome) for i, outcome in enumerate(outcomes) if outcome.remedy]
    if not stopped:
        return
    (first, outcome), level, frame = stopped[0], 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("polhode."):
        level, frame = level + 1, frame.f_back
    counted = f"{len(stopped):,} of {len(outcomes):,} runs stopped early. Number {first}: "
    warnings.warn(f"{counted if len(outcomes) > 1 else ''}{outcome}", SimulationWarning, stacklevel=level)
