"""Runs that stop early are heard."""

from __future__ import annotations

from polhode.equations.warning import warn_caller
from polhode.trajectory import Outcome


class SimulationWarning(RuntimeWarning):
    """A run stopped before the time it was asked to reach, as its outcome says, or was slow in a singular position."""


def warn(*outcomes: Outcome) -> None:
    """Warn once of runs that stopped early, where they were called for.

    A run after Ctrl-C has no remedy, and needs no warning.
    """
    stopped = [(i, outcome) for i, outcome in enumerate(outcomes) if outcome.remedy]
    if not stopped:
        return
    first, outcome = stopped[0]
    counted = f"{len(stopped):,} of {len(outcomes):,} runs stopped early. Number {first}: "
    warn_caller(f"{counted if len(outcomes) > 1 else ''}{outcome}", SimulationWarning)
