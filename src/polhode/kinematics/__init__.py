"""Poses, twists and Jacobians by recursion over the tree."""

from .candidates import Candidates, candidates
from .constraints import Constraints, constrain, joined, selected
from .generalised import generalised
from .joint import configuration, exponential, joint_map, kinematic_matrix, locked
from .motion import Motion
from .reduce import reduced
from .speeds import InSpeeds, Speeds, in_speeds
from .tree import Kinematics, Link, derive

__all__ = [
    "Candidates",
    "Constraints",
    "InSpeeds",
    "Kinematics",
    "Link",
    "Motion",
    "Speeds",
    "candidates",
    "configuration",
    "constrain",
    "derive",
    "exponential",
    "generalised",
    "in_speeds",
    "joined",
    "joint_map",
    "kinematic_matrix",
    "locked",
    "reduced",
    "selected",
]
