"""Poses, twists and Jacobians by recursion over the tree."""

from .joint import configuration, exponential, joint_map, kinematic_matrix, locked
from .reduce import reduced
from .tree import Kinematics, Link, derive

__all__ = [
    "Kinematics",
    "Link",
    "configuration",
    "derive",
    "exponential",
    "joint_map",
    "kinematic_matrix",
    "locked",
    "reduced",
]
