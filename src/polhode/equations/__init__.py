"""The equations of motion in canonical form, and their compiled calls."""

from .dynamics import Dynamics
from .equations import Equations
from .formulate import METHODS, formulate

__all__ = ["METHODS", "Dynamics", "Equations", "formulate"]
