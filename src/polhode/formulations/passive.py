"""A convective matrix with M_dot - 2 C skew, from velocity terms that were derived in any way."""

from __future__ import annotations

from polhode.graph import Matrix, jacobian
from polhode.kinematics import Motion


def passive(kin: Motion, M: Matrix, velocity: Matrix) -> Matrix:
    """C with C u the velocity terms and M_dot - 2 C skew, (nu, nu).

    C = C0 + (2 E - d(E u)/du) / 3,   C0 = 1/2 d(velocity)/du,   E = M_dot - C0 - C0^T

    The velocity terms are quadratic in u, and so is E u: C0 u are the terms, and what is added vanishes on u.
    C + C^T = M_dot as u^T E u = 0 for every u, which is the balance of power.
    """
    C0 = jacobian(velocity, kin.u) / 2
    E = kin.rate(M) - C0 - C0.T
    return C0 + (E * 2 - jacobian(E @ kin.u, kin.u)) / 3
