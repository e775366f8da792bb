"""What people ask of a model: whether its formulations agree, how it behaves near a state."""

from .check import Check, check
from .equilibrium import equilibrium
from .found import Equilibrium, EquilibriumError
from .linear_model import LinearModel
from .linearize import linearize
from .modes import Modes
from .pose_search import Reached
from .reach import reach
from .symbolic import SymbolicModel

__all__ = [
    "Check",
    "Equilibrium",
    "EquilibriumError",
    "LinearModel",
    "Modes",
    "Reached",
    "SymbolicModel",
    "check",
    "equilibrium",
    "linearize",
    "reach",
]
