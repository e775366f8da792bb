"""Models: bodies on a tree of joints, and the forces on them."""

from .beam import Beam, beam
from .body import WORLD, Body, Marker
from .builder import Builder
from .compliant import Compliant, CompliantContact, CompliantRope, CompliantStop
from .constraints import Coupling, KnifeEdge, Loop, Relation, Rolling
from .drives import Actuator
from .elements import Constraint, Element, Force
from .errors import Faults, ModelError
from .forces import MarkerWrench, Potential, SpeedForce, SpringDamper
from .frame import Frame
from .joint import Joint, Limits, Part, compound, joint
from .keyframes import Keyframe
from .looks import Look
from .materials import section
from .model import Model
from .motors import Motor
from .named import cylindrical, free, planar, prismatic, revolute, screw, spherical, universal, weld
from .nodal import Nodal
from .nodal_input import flexible
from .reduction import craig_bampton
from .relief import height_grid
from .report import Report
from .sensors import Sensor
from .states import TIME, State
from .switched import Brake, Clutch, Contact, Latch, Lock, Rope, Stop
from .switches import At, When, at, when

__all__ = [
    "TIME",
    "WORLD",
    "Actuator",
    "At",
    "Beam",
    "Body",
    "Brake",
    "Builder",
    "Clutch",
    "Compliant",
    "CompliantContact",
    "CompliantRope",
    "CompliantStop",
    "Constraint",
    "Contact",
    "Coupling",
    "Element",
    "Faults",
    "Force",
    "Frame",
    "Joint",
    "Keyframe",
    "KnifeEdge",
    "Latch",
    "Limits",
    "Lock",
    "Look",
    "Loop",
    "Marker",
    "MarkerWrench",
    "Model",
    "ModelError",
    "Motor",
    "Nodal",
    "Part",
    "Potential",
    "Relation",
    "Report",
    "Rolling",
    "Rope",
    "Sensor",
    "SpeedForce",
    "SpringDamper",
    "State",
    "Stop",
    "When",
    "at",
    "beam",
    "compound",
    "craig_bampton",
    "cylindrical",
    "flexible",
    "free",
    "height_grid",
    "joint",
    "planar",
    "prismatic",
    "revolute",
    "screw",
    "section",
    "spherical",
    "universal",
    "weld",
    "when",
]
