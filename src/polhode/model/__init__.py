"""Models: bodies on a tree of joints, and the forces on them."""

from .body import WORLD, Body, Marker
from .builder import Builder
from .constraints import Constraint, KnifeEdge, Loop, Relation, Rolling
from .errors import Faults, ModelError
from .forces import Coupling, Force, MarkerWrench, Potential, SpeedForce, SpringDamper
from .joint import Joint, Limits, Part, compound, joint
from .model import TIME, Model, Report
from .named import cylindrical, free, planar, prismatic, revolute, screw, spherical, universal, weld
from .states import State

__all__ = [
    "TIME",
    "WORLD",
    "Body",
    "Builder",
    "Constraint",
    "Coupling",
    "Faults",
    "Force",
    "Joint",
    "KnifeEdge",
    "Limits",
    "Loop",
    "Marker",
    "MarkerWrench",
    "Model",
    "ModelError",
    "Part",
    "Potential",
    "Relation",
    "Report",
    "Rolling",
    "SpeedForce",
    "SpringDamper",
    "State",
    "compound",
    "cylindrical",
    "free",
    "joint",
    "planar",
    "prismatic",
    "revolute",
    "screw",
    "spherical",
    "universal",
    "weld",
]
