"""One file per paper: from kinematics to the terms of the equations of motion.

Every formulation is a function of `Kinematics` that returns `Terms`.
"""

from . import denoc, kane, lagrange, poincare
from .kane_suggest import suggest_speeds
from .terms import Terms

__all__ = ["Terms", "denoc", "kane", "lagrange", "poincare", "suggest_speeds"]
