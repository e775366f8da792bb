"""Forces that drop out, brought into evidence by auxiliary generalised speeds.

A joint is cut and everything beyond it moved by six auxiliary speeds that are
always zero. Along them the force of the joint works, and the equations of these
speeds give it:

    R_r + F_r + F_r* = 0

A constraint is relaxed likewise: its residual becomes an auxiliary speed.

Reference: [Gillespie, the note after eq. 47; Kane 1985].
"""

from __future__ import annotations

from dataclasses import replace

from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    cross,
    identity,
    jacobian,
    matrix,
    substitute,
    symbol,
    vector,
    zeros,
)
from polhode.graph.compact import compact
from polhode.kinematics import Constraints, InSpeeds, Kinematics, Link, Motion, constrain, joined, selected
from polhode.kinematics.eliminate import eliminate
from polhode.kinematics.generic import generic_points
from polhode.model import Coupling
from polhode.model.body import Body
from polhode.model.errors import closest
from polhode.spatial import Inertia, Pose, Twist, Wrench, skew

from .bodies import active
from .method import Kane


def reaction(kane: Kane, name: str, axes: str = "marker") -> Matrix:
    """The wrench of a joint on its body, or the forces of a constraint, in q, u, udot and parameters.

    The wrench, (6,), is all that the joint transmits, moment about the body's origin first:
    what guides it, and its motor, spring and friction. A constraint has a force for each row, `lam`;
    those that are not embedded appear as symbols lam_<row>. `tau` is taken to act on the speeds
    alone: it adds nothing to the force of a constraint.

    axes : of the wrench, those of the body ("marker") or of the "world"
    """
    kin = kane.kinematics
    if axes not in ("world", "marker"):
        raise ValueError(f'axes={axes!r}: expected "world" or "marker".')
    ordered = _ordered(kin)
    every = constrain(kin.joints)
    if name in every.names:
        lam = dict(zip(ordered.labels, _multipliers(kane, ordered), strict=True))
        return vector([lam.get(every.labels[i], as_expr(0)) for i in every.rows(name)])  # 0 where it repeats others
    bodies = {body.joint.name: body for body in kin.model.bodies} | {body.name: body for body in kin.model.bodies}
    if name not in bodies:
        known = [*dict.fromkeys([*bodies, *every.names])]
        raise KeyError(f"There is no joint, body or constraint {name!r}. {closest(name, known)}")
    found = _wrench(kane, bodies[name], ordered)
    if axes == "world":
        R = kin.X_W[kin.joints.carriers[bodies[name].name]].R
        found = compact(vector([*(R @ found[:3]), *(R @ found[3:])]))
    return found


def _ordered(kin: Motion) -> Constraints:
    """All constraints in the speeds of the joints, the embedded ones first."""
    return joined(kin.speeds.embedded, _open(kin)) if isinstance(kin, InSpeeds) else constrain(kin)


def _open(kin: Motion) -> Constraints:
    """The constraints that are not embedded, in the speeds of the joints."""
    every = constrain(kin.joints)
    return selected(every, [i for i, name in enumerate(every.names) if name not in kin.embedded])


def _wrench(kane: Kane, body: Body, ordered: Constraints) -> Matrix:
    """Minus what acts and resists along six auxiliary motions of all that lies beyond a joint."""
    kin = kane.kinematics
    joints = kin.joints
    cut = joints.carriers[body.name]
    beyond = {k for k in range(len(joints.links)) if cut in joints.ancestors(k)}
    X = _seen(joints, cut, beyond)
    total = Wrench.zero()
    motions = zip(kane.bodies, kane.velocities, kane.accelerations(kane.udot), strict=True)
    for mass, (w, _), (alpha, a) in motions:
        if mass.link in beyond:
            n, f = mass.needed(w, alpha, a)
            g = kin.X_W[mass.link].R.T @ kin.model.gravity
            at = X[mass.link] @ Pose.at(mass.point)
            # the partial velocities of the auxiliary speeds are those of a body moved with the cut one
            total = total + at @ Wrench(n - cross(mass.h, g), f - g * mass.m)
    for part in kane.pliant:
        if part.link in beyond:
            g, rigid = kin.X_W[part.link].R.T @ kin.model.gravity, part.modes.body.inertia
            weight = Wrench(cross(rigid.h, g), g * rigid.m)
            total = total + X[part.link] @ (kane.deforming(part, kane.udot)[0] - weight)
    for marker, axes, torque, force in active(kin):
        k, X_LM = kin.frame(marker)
        if k in beyond:
            X_CM = X[k] @ X_LM
            R = X_CM.R if axes == "marker" else kin.X_W[cut].R.T
            laws = [substitute(part, kin.quasi) for part in (torque, force)]
            total = total - Pose.at(X_CM.p) @ Wrench(R @ laws[0], R @ laws[1])
    found = total.vector()
    slopes = _along(kin, cut, body)
    if any(e != 0 for e in slopes.entries):
        found = found - slopes.T @ _multipliers(kane, ordered)
    return compact(found)


def _seen(kin: Kinematics, cut: int, beyond: set[int]) -> dict[int, Pose]:
    """Pose of every link beyond a cut, in the link where it was made."""
    found = {cut: Pose.identity()}
    for k in sorted(beyond - {cut}):
        found[k] = found[kin.links[k].parent] @ kin.links[k].X
    return found


def _along(kin: Motion, cut: int, body: Body) -> Matrix:
    """Slopes of the constraints by the six auxiliary speeds, (m, 6)."""
    base, model = kin.joints, kin.model
    if all(isinstance(c, Coupling) for c in model.holding):
        return zeros(len(model.holding), 6)
    small = [symbol(f"auxiliary {body.name} {i}") for i in range(12)]
    relaxed = _relaxed(base, cut, small)
    psi = jacobian(constrain(relaxed).psi, small[6:])
    rows = substitute(psi, dict.fromkeys(small, 0))
    if kin is not base:
        every, order = constrain(base), _ordered(kin)
        rows = matrix([rows[every.labels.index(label)] for label in order.labels])
        rows = substitute(rows, kin.quasi)
    return rows


def _relaxed(kin: Kinematics, cut: int, small: list[Expr]) -> Kinematics:
    """The tree with a joint of six small coordinates behind a link: X = 1 + skew, with their rates as speeds."""
    turn, slide = vector(small[:3]), vector(small[3:6])
    moved = [k if k <= cut else k + 1 for k in range(len(kin.links))]  # where the links go
    after = {cut: cut + 1}
    links: list[Link] = []
    for k, link in enumerate(kin.links):
        parent = link.parent if link.parent < 0 else after.get(link.parent, moved[link.parent])
        links.append(replace(link, parent=parent))
        if k == cut:
            links[-1] = replace(links[-1], inertia=Inertia.zero(), modes=None)
            links.append(
                replace(
                    link,
                    parent=cut,
                    coordinates=(),
                    X=Pose(identity(3) + skew(turn), slide),
                    at=tuple(range(len(kin.u), len(kin.u) + 6)),
                    H=tuple(Twist.of(row) for row in identity(6).rows()),
                    speeds=tuple(small[6:]),
                    armature=(as_expr(0),) * 6,
                    bend=Twist.zero(),
                )
            )
    carriers = {name: after.get(k, moved[k]) for name, k in kin.carriers.items()}
    return replace(
        kin,
        links=tuple(links),
        q=vector([*kin.q, *small[:6]]),
        u=vector([*kin.u, *small[6:]]),
        rates=(*kin.rates, identity(6)),
        carriers=carriers,
    )


def _multipliers(kane: Kane, ordered: Constraints) -> Matrix:
    """The force of each row: by auxiliary speeds where it is embedded, a symbol lam otherwise."""
    kin = kane.kinematics
    open_rows = [symbol(f"lam_{label}") for label in ordered.labels]
    if not isinstance(kin, InSpeeds) or not len(kin.speeds.embedded):
        return vector(open_rows)
    embedded, joints = kin.speeds.embedded, kin.joints
    base, known = Kane(kinematics=joints), len(embedded)
    # v = G u + g + A a: the auxiliary speeds a are the residuals of the rows
    rows = vector([*(e for u, e in kin.speeds.defined.items() if u in {*kin.u}), *embedded.psi])
    S = jacobian(rows, joints.u)
    points = generic_points(joints, embedded.phi, [*rows], embedded.reference)
    unit = identity(len(S))
    A = eliminate(S, unit[:, len(kin.u) :], points)
    v_dot = kane.rate(vector([kin.quasi[v] for v in joints.u]), kane.udot)
    speeds = kin.quasi | dict(zip(base.udot, v_dot, strict=True))
    pushed = substitute(base.F + base.F_star, speeds)
    if len(open_rows) > known:
        pushed = pushed + substitute(_open(kin).J, kin.quasi).T @ vector(open_rows[known:])
    found = compact(-(A.T @ pushed))
    return vector([*found, *open_rows[known:]])
