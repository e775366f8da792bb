"""Poincare's equations in the joints' own speeds.

    d/dt (dT/du_k) - sum_jl c_jk^l u_j dT/du_l - v_k(T) + v_k(U) = Q_k

v_k are the vector fields of q_dot = N u, and [v_j, v_k] = sum_l c_jk^l v_l.
Across a simple joint the fields are left-invariant: along v_k its pose changes
by X h_k, and the c are constants of its joint map. So derivatives of the
kinetic energy are brackets of twists, N is never inverted, and what comes out
has no singularity of the coordinates.

Reference: [KwatnyBlankenship, section III, eq. 40, 52, 53], signs as derived
here; their p is our u, their V our N.
"""

from __future__ import annotations

from functools import partial

from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    cross,
    diff_along,
    gradient,
    jacobian,
    matrix,
    op_counts,
    substitute,
    symbol,
    vector,
    zeros,
)
from polhode.kinematics import Kinematics
from polhode.kinematics.bent import Modes
from polhode.kinematics.composite import along, mass_matrix
from polhode.kinematics.loads import applied_forces
from polhode.model.algebra import twists
from polhode.spatial import Twist, Wrench

from .terms import Terms

FEW = 3  # speeds; up to here C u is often the shorter text


def terms(kin: Kinematics) -> Terms:
    """Derive the terms of Poincare's equations."""
    return Terms(
        kinematics=kin,
        mass=partial(mass_matrix, kin),
        velocity=partial(_shorter, kin),
        gravity=partial(gravity_terms, kin),
        forces=partial(applied_forces, kin),
        convective=partial(convective_matrix, kin),
    )


def _shorter(kin: Kinematics) -> Matrix:
    """The velocity terms, in the shorter of two forms where they are few."""
    found = velocity_terms(kin)
    if not 0 < len(kin.u) <= FEW or any(link.modes is not None for link in kin.links):
        return found
    other: Matrix = convective_matrix(kin) @ kin.u
    return min(found, other, key=lambda c: sum(op_counts(c).values()))


def velocity_terms(kin: Kinematics) -> Matrix:
    """Derive the terms quadratic in the speeds.

    With the momentum mu_k of link k and all beyond it, Pi = h.mu along the
    joints, and the twist V' that a link has from its parent:

    c_k = d/dt(h_k.mu) - [V', h_k].mu - sum_jl u_j c_jk^l (h_l.mu),  udot = 0.

    The modes of a body that deforms are coordinates, whose fields commute. What they move of the body itself is
    d/dt(dT/dd') - dT/dd of its own energy, and of what stands on its sections h.(mu_dot - V x* mu).

    Returns c : (nu,).  Reference: [KwatnyBlankenship, eq. 40, 53b].
    """
    rates = _rates(kin)
    momenta, changes = _momenta(kin, rates)
    c: list[Expr] = [as_expr(0)] * len(kin.u)
    for k, link in enumerate(kin.links):
        mu, mu_dot = momenta[k], changes[k]
        if link.modes is not None:
            _, forces = _deforming(link.modes, kin.V[k])
            for place, force, W in zip(link.modes.at, forces, link.modes.body.momenta, strict=True):
                c[place] = c[place] + force + rates[k].dot(W)
        if link.section:
            for place, h in zip(link.at, link.H, strict=True):
                c[place] = c[place] + h.dot(mu_dot - kin.V[k].cobracket(mu))
            continue
        along_fields = kin.carried(k, kin.V).cobracket(mu)
        Pi = [h.dot(mu) for h in twists(link.part.basis)]
        for l, (a, u) in enumerate(zip(link.armature, link.speeds, strict=True)):
            Pi[l] = Pi[l] + a * u
        for i, h in enumerate(link.H):
            closing = as_expr(0)
            for u, c_j in zip(link.speeds, link.part.structure, strict=False):
                for l, p in enumerate(Pi):
                    if c_j[l, i] != 0:
                        closing = closing + u * c_j[l, i] * p
            c[link.at[i]] = h.dot(mu_dot - along_fields) - closing
    return vector(c)


def _rates(kin: Kinematics) -> list[Twist]:
    """Time derivative of every link's twist in its own frame, with constant speeds."""
    found: list[Twist] = []
    for k, link in enumerate(kin.links):
        turning = kin.carried(k, kin.V).bracket(link.motion)
        found.append(kin.carried(k, found) + turning + link.bend)
    return found


def _momenta(kin: Kinematics, rates: list[Twist]) -> tuple[list[Wrench], list[Wrench]]:
    """Momentum of every link and all beyond it, and its time derivative in the link's frame."""
    mu = [link.inertia @ V for link, V in zip(kin.links, kin.V, strict=True)]
    mu_dot = [link.inertia @ A for link, A in zip(kin.links, rates, strict=True)]
    for k, link in enumerate(kin.links):
        if link.modes is not None:
            mu[k] = link.modes.body.momentum(kin.V[k], link.modes.rates)[0]
            mu_dot[k] = mu_dot[k] + _deforming(link.modes, kin.V[k])[0]
    for k in reversed(range(len(mu))):
        link = kin.links[k]
        if link.parent >= 0:
            mu[link.parent] = mu[link.parent] + link.X @ mu[k]
            mu_dot[link.parent] = mu_dot[link.parent] + link.X @ (mu_dot[k] - link.motion.cobracket(mu[k]))
    return mu, mu_dot


def _deforming(modes: Modes, V: Twist) -> tuple[Wrench, Matrix]:
    """What deforming changes of a body's own momenta where its twist is constant.

    Returns the change of mu, and d/dt(dT/dd') - dT/dd of its own kinetic energy T.
    """
    names = vector([symbol(f"twist {i}") for i in range(6)])  # the twist itself may depend on d
    free, body = Twist.of(names), modes.body
    mu, along = body.momentum(free, modes.rates)
    slopes = gradient(body.kinetic(free, modes.rates), vector(modes.d))
    change = diff_along(vector([*mu.vector(), *along]), modes.d, modes.rates)
    found = substitute(change - vector([*zeros(6), *slopes]), dict(zip(names, V.vector(), strict=True)))
    return Wrench(found[:3], found[3:6]), found[6:]


def convective_matrix(kin: Kinematics) -> Matrix:
    """Assemble the convective matrix C, with C u the velocity terms.

    C_ij = D_ij - D_ji / 2 - sum_ml u_m c_mi^l M_lj,  D_ij = v_j(h_i.mu),

    each element from composite bodies. M_dot - 2 C is not skew in general.

    Returns C : (nu, nu).  Reference: [KwatnyBlankenship, eq. 53b], all three signs reversed. With bodies that deform
    it is half the slopes of the velocity terms, which are quadratic in the speeds.
    """
    n = len(kin.u)
    if any(link.modes is not None for link in kin.links):
        return jacobian(velocity_terms(kin), kin.u) / 2
    D: list[list[Expr]] = [[as_expr(0)] * n for _ in range(n)]
    momenta, _ = _momenta(kin, [Twist.zero() for _ in kin.links])
    for k, link in enumerate(kin.links):
        carried = kin.carried(k, kin.V)
        for j, h in enumerate(link.H):
            column = link.at[j]
            # what changes along v_j: the twists of k and beyond, and the momentum that k hands to its parent
            change = carried.bracket(h)
            changed = {k: change}
            for i in range(k, len(kin.links)):
                if i != k and kin.links[i].parent in changed:
                    changed[i] = kin.links[i].X.back(changed[kin.links[i].parent])
                if i in changed:
                    moved = kin.composite[i] @ changed[i]
                    for r, h_i in enumerate(kin.links[i].H):
                        D[kin.links[i].at[r]][column] = h_i.dot(moved)
            if link.parent >= 0:
                handed = link.X @ (kin.composite[k] @ change - h.cobracket(momenta[k]))
                for row, entry in along(kin, link.parent, handed).items():
                    D[row][column] = entry
    C = [[D[i][j] - D[j][i] / 2 for j in range(n)] for i in range(n)]
    for link, closing in zip(kin.links, _closing(kin), strict=True):
        for i in range(len(link.H)):
            for j in range(n):
                C[link.at[i]][j] = C[link.at[i]][j] - closing[i][j]
    return matrix(C) if n else zeros(0, 0)


def _closing(kin: Kinematics) -> list[list[list[Expr]]]:
    """For each link the rows sum_ml u_m c_mi^l M_lj, l over all that its joint map generates."""
    n = len(kin.u)
    found = []
    for k, link in enumerate(kin.links):
        rows = [[as_expr(0)] * n for _ in link.H]
        if any(c != zeros(*c.shape) for c in link.part.structure):
            M = [_inertia_row(kin, k, h) for h in twists(link.part.basis)]
            for l, a in enumerate(link.armature):
                M[l][link.at[l]] = M[l][link.at[l]] + a
            for u, c_m in zip(link.speeds, link.part.structure, strict=False):
                for i in range(len(link.H)):
                    for l, M_l in enumerate(M):
                        if c_m[l, i] != 0:
                            rows[i] = [e + u * c_m[l, i] * f for e, f in zip(rows[i], M_l, strict=True)]
        found.append(rows)
    return found


def _inertia_row(kin: Kinematics, k: int, h: Twist) -> list[Expr]:
    """Momentum along a twist of link k for a unit of each speed: a row of the extended inertia matrix."""
    row = [as_expr(0)] * len(kin.u)
    for column, entry in along(kin, k, kin.composite[k] @ h).items():
        row[column] = entry
    moved = {k: h}
    for i in range(k + 1, len(kin.links)):
        link = kin.links[i]
        if link.parent in moved:
            moved[i] = link.X.back(moved[link.parent])
            F = kin.composite[i] @ moved[i]
            for j, h_i in enumerate(link.H):
                row[link.at[j]] = h_i.dot(F)
    return row


def gravity_terms(kin: Kinematics) -> Matrix:
    """Derive the gravity terms v_k(U): minus the weight of all beyond along each joint.

    Returns (nu,).  Reference: [KwatnyBlankenship, eq. 53c], with N^T.
    """
    found: list[Expr] = [as_expr(0)] * len(kin.u)
    g: list[Matrix] = []
    for k, link in enumerate(kin.links):
        g.append(link.X.R.T @ (kin.model.gravity if link.parent < 0 else g[link.parent]))
        beyond = kin.composite[k]
        weight = Wrench(cross(beyond.h, g[k]), g[k] * beyond.m)
        for i, h in enumerate(link.H):
            found[link.at[i]] = found[link.at[i]] - h.dot(weight)
        if link.modes is not None:
            for place, P in zip(link.modes.at, link.modes.body.P, strict=True):
                found[place] = found[place] - P @ g[k]
    return vector(found)
