"""One file or folder per paper: from kinematics to the terms of the equations of motion.

Every formulation is a function of `Kinematics`, in the speeds of the joints, that returns
`Terms`; `projection` writes these in other speeds. "kane" reads any `Motion`.
"""

from . import book, denoc, kane, lagrange, poincare, quasicoordinate
from .kane import suggest_speeds
from .terms import Terms, sources

__all__ = ["Terms", "book", "denoc", "kane", "lagrange", "poincare", "quasicoordinate", "sources", "suggest_speeds"]
