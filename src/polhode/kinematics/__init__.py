"""Poses, twists and Jacobians by recursion over the tree."""

from .constraints import Constraints, constrain
from .generalised import generalised
from .joint import configuration, exponential, joint_map, kinematic_matrix, locked
from .reduce import reduced
from .speeds import Recast, joined, selected
from .tree import Kinematics, Link, derive

__all__ = [
    "Constraints",
    "Kinematics",
    "Link",
    "Recast",
    "configuration",
    "constrain",
    "derive",
    "exponential",
    "generalised",
    "joined",
    "joint_map",
    "kinematic_matrix",
    "locked",
    "reduced",
    "selected",
]
