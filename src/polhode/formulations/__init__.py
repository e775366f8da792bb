"""One file per paper: from kinematics to the terms of the equations of motion.

Every formulation is a function of `Kinematics` that returns `Terms`.
"""

from . import denoc, lagrange, poincare
from .terms import Terms

__all__ = ["Terms", "denoc", "lagrange", "poincare"]
