"""Motion in time: integrators, constraints that hold, trajectories."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from polhode.trajectory import Outcome, Trajectory

from .assemble import AssemblyError, State, assemble
from .inputs import Sampled
from .many import Bundle, simulate_many
from .run import simulate
from .simulation import Simulation
from .switchboard import SwitchError
from .switches import at, when
from .warning import SimulationWarning

__all__ = [
    "AssemblyError",
    "Bundle",
    "Outcome",
    "Sampled",
    "Simulation",
    "SimulationWarning",
    "State",
    "SwitchError",
    "Trajectory",
    "assemble",
    "at",
    "simulate",
    "simulate_many",
    "when",
]


class _Stage(ModuleType):
    """`polhode.simulate` is this stage and its verb: importing the one must not hide the other."""

    def __call__(self, *args: Any, **named: Any) -> Trajectory:
        return simulate(*args, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)  # by its name, as other modules are when functions travel


sys.modules[__name__].__class__ = _Stage
