"""The equations of motion in canonical form, and their compiled calls."""

from .dynamics import Dynamics
from .equations import Equations
from .formulate import METHODS, formulate
from .symbolic import symbolic_inertias
from .warning import ConstraintWarning

__all__ = ["METHODS", "ConstraintWarning", "Dynamics", "Equations", "formulate", "symbolic_inertias"]
