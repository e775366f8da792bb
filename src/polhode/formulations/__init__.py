"""One file per paper: from kinematics to the terms of the equations of motion.

Every formulation is a function of `Kinematics` that returns `Terms`.
"""

from . import lagrange, poincare
from .terms import Terms

__all__ = ["Terms", "lagrange", "poincare"]
