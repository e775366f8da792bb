"""Recursive Lagrangian dynamics of flexible arms by 4 x 4 transformations, in simulation form J zdd = R.

The paper's symbols here: z' is our u, J our M, R our forces less velocity and gravity terms, delta_jk our d; jFt_h,
jF_h and jPhi_h are one inertia of the frames. What the paper has not: any joint, trees, several sections of a body,
proper rotations of them, and shapes of second order. The three orders in delta are those of `model.flexible`; "paper"
is that of [Book, eq. 37], and no Lagrange equation of any energy.

frames       : A_j and E_j with their slopes [Book, eq. 1 to 17]
masses       : G, D and C [Book, eq. 24 to 37]
axes         : what the recursions ask of matrices; `base_axes` as printed, `link_axes` with proper rotations
inertia      : J [Book, eq. 66 to 81]
right_side   : R [Book, eq. 83 to 90]
operations   : the count of section 6

Reference: [Book], W. J. Book, Recursive Lagrangian Dynamics of Flexible Manipulator Arms via Transformation Matrices,
CMU-RI-TR-83-23, 1983; corrected where its print is wrong.
"""

from .simulation_form import terms

__all__ = ["terms"]
