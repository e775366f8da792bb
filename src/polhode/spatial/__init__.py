"""Poses, twists, wrenches and inertias: small vector algebra over any scalar.

Spatial vectors have their angular part first. `X_AB @ ...` takes what is
expressed in B to A, `X_AB.back(...)` takes it from A to B.
"""

from .inertia import Inertia
from .mesh import Mesh
from .pose import Pose
from .rotation import axis_angle, quaternion_rates, quaternion_rotation, roll_pitch_yaw, skew
from .vectors import Twist, Wrench

__all__ = [
    "Inertia",
    "Mesh",
    "Pose",
    "Twist",
    "Wrench",
    "axis_angle",
    "quaternion_rates",
    "quaternion_rotation",
    "roll_pitch_yaw",
    "skew",
]
