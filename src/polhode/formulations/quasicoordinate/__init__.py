"""Limbs in absolute angular velocities, and everything else as a transformation of them.

    [ 1^T m 1     1^T m Phi        ] [ R_ddot    ]   [ 1^T m Phi_dot omega                       ]   [ F ]
    [ Phi^T m 1   Phi^T m Phi + I* ] [ omega_dot ] + [ Phi^T m Phi_dot omega + omega~ I* omega   ] = [ M ]

for each limb, a chain of bodies; R is where its base is, omega are the absolute angular velocities of its bodies, each
in its own axes. Joints, common bodies, transmissions, clutches and brakes are matrices between these and the speeds:

    (R_dot, omega) = C^R D_0 D_1 D_2 D_3 alpha_dot

Reference: [NelsonQuinn, eq. 1 to 41], corrected; slides, screws and other joints are ours.
"""

from .chain import Member, members
from .limbed import terms
from .limbs import Limb, Limbs, find_limbs
from .transform import Transformations, transformations

__all__ = ["Limb", "Limbs", "Member", "Transformations", "find_limbs", "members", "terms", "transformations"]
