"""The kinematics of a joint, from its joint map alone.

Parts and columns count from the body inward, so configurations multiply from
right to left. Reference: [KwatnyBlankenship, section II].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from polhode.graph import (
    Expr,
    Matrix,
    absolute,
    as_expr,
    as_matrix,
    cos,
    cross,
    free_symbols,
    identity,
    inverse,
    matrix,
    op_counts,
    sin,
    symbol,
    vector,
    zeros,
)
from polhode.model import (
    TIME,
    Actuator,
    At,
    Brake,
    Clutch,
    Constraint,
    Coupling,
    Force,
    Joint,
    Model,
    Part,
    Relation,
    weld,
)
from polhode.model.algebra import columns, coordinates, rank, twists
from polhode.model.elements import with_values
from polhode.model.errors import closest
from polhode.model.switches import Switch
from polhode.model.welds import rigid_hosts, tied
from polhode.spatial import Pose, Twist, axis_angle, quaternion_rates, quaternion_rotation
from polhode.spatial.rotation import length


def exponential(h: Twist, eps: Expr) -> Pose:
    """Move by eps along a constant body twist: X = exp(h eps), in closed form.

    With k = |w|:  R = exp(skew(w) eps),
    p = eps (w.v)/k^2 w + sin(k eps)/k (v - (w.v)/k^2 w) + (1 - cos(k eps))/k^2 w x v.
    Reference: [KwatnyBlankenship, Prop. 1, eq. 12], the integral carried out.
    """
    if h.w == zeros(3):
        return Pose(identity(3), h.v * eps)
    k = length(h.w)
    along = h.w * ((h.w @ h.v) / (k * k))
    turned = (h.v - along) * (sin(k * eps) / k) + cross(h.w, h.v) * ((1 - cos(k * eps)) / (k * k))
    return Pose(axis_angle(h.w, eps), along * eps + turned)


def part_configuration(part: Part, q: Sequence[Expr]) -> Pose:
    """The pose of the body across a simple joint: X = lambda_r(q_r) ... lambda_1(q_1).

    Reference: [KwatnyBlankenship, Cor. 1, eq. 15]; the paper's XXeuc.
    """
    if part.quaternion:
        return Pose(quaternion_rotation(*q[:4]), vector(q[4:]) if len(q) > 4 else zeros(3))
    return _outward([exponential(h, e) for h, e in zip(twists(part.basis), q, strict=True)])


def coordinate_twists(part: Part, q: Sequence[Expr]) -> list[Twist]:
    """The twist of the body, in its own frame, by a unit rate of each coordinate; by turns, of a quaternion."""
    if part.quaternion:
        R = quaternion_rotation(*q[:4])
        turns = [Twist(w, zeros(3)) for w in part.H[:3].T.rows() if w != zeros(3)]
        return [*turns, *(Twist(zeros(3), axis) for axis in (R.rows() if len(q) > 4 else ()))]
    h = twists(part.basis)
    steps = [exponential(column, e) for column, e in zip(h, q, strict=True)]
    return [_seen(column, steps, i, 0) for i, column in enumerate(h)]


def _outward(steps: Sequence[Pose]) -> Pose:
    return reduce(lambda X, step: step @ X, steps, Pose.identity())


def part_rates(part: Part, q: Sequence[Expr]) -> Matrix:
    """The kinematic matrix of a simple joint: q_dot = Gamma(q) beta.

    Reference: [KwatnyBlankenship, Prop. 2, eq. 16 to 19]; the paper's GammaKin.
    """
    if part.quaternion:
        turn: Matrix = quaternion_rates(*q[:4]) @ part.H[:3]
        move: Matrix = quaternion_rotation(*q[:4]) @ part.H[3:]
        return turn if len(q) == 4 else matrix([*turn.rows(), *move.rows()])
    found: Matrix = _gamma(twists(part.basis), part.basis, q)[:, : part.nu]
    return found


def _gamma(h: list[Twist], basis: Matrix, q: Sequence[Expr]) -> Matrix:
    """Solve B(q) q_dot = H beta for columns H that close.

    Seen from the frame after column m the equations are simplest for some m:
    rotations depend on the middle angle alone, displacements are constant.
    """
    steps = [exponential(column, e) for column, e in zip(h, q, strict=True)]
    turning = [i for i, column in enumerate(h) if column.w != zeros(3)]
    sliding = [i for i in range(len(h)) if i not in turning]
    if len(turning) != (rank(basis[:3]) if turning else 0):
        candidates = [_solved(h, basis, steps, m) for m in range(len(h) + 1)]
        return min(candidates, key=lambda G: sum(op_counts(G).values()))
    gamma: list[Matrix] = [zeros(len(h))] * len(h)
    if len(turning) == 1:
        gamma[turning[0]] = identity(len(h))[turning[0]]
    elif turning:
        # seen after the first turn: [w1, w2, R2^T w3] rates = R1 W beta
        first, second, third = turning
        seen = matrix([h[first].w, h[second].w, steps[second].R.T @ h[third].w]).T
        for i, row in zip(turning, (inverse(seen) @ (steps[first].R @ basis[:3])).rows(), strict=True):
            gamma[i] = row
    if sliding:
        # displacements, seen from outside the last turn, or inside the first if they all precede it
        m = 0 if turning and max(sliding) < min(turning) else max(turning, default=-1) + 1
        seen_basis = columns([_seen(column, steps, 0, m) for column in h])[3:]
        for i in turning:
            drag = _seen(h[i], steps, i, m).v
            seen_basis = seen_basis - matrix([[e] for e in drag]) @ matrix([gamma[i]])
        slides = matrix([_seen(h[i], steps, i, m).v for i in sliding]).T
        six = [matrix([*zeros(3, x.shape[1]).rows(), *x.rows()]) for x in (slides, seen_basis)]
        for i, row in zip(sliding, coordinates(*six).rows(), strict=True):
            gamma[i] = row
    return matrix(gamma)


def _seen(column: Twist, steps: list[Pose], i: int, m: int) -> Twist:
    """A twist in the frame before step i, expressed in the frame after step m."""
    if m > i:
        return _outward(steps[i:m]) @ column
    return _outward(steps[m:i]).back(column)


def _solved(h: list[Twist], basis: Matrix, steps: list[Pose], m: int) -> Matrix:
    """The general way: coordinates in the basis, then the inverse."""
    B = coordinates(basis, columns([_seen(column, steps, i, m) for i, column in enumerate(h)]))
    turned = coordinates(basis, columns([_seen(column, steps, 0, m) for column in h]))
    found: Matrix = inverse(B) @ turned
    return found


def _named(joint: Joint, q: Sequence[Expr]) -> list[Expr]:
    """Check that there is one name for each coordinate."""
    found = list(q)
    if len(found) != joint.nq:
        raise ValueError(
            f"Joint ({joint.kind}) has {joint.nq} coordinates, found {len(found)}. Give one symbol for each."
        )
    return found


def shares(parts: Sequence[Part], q: Sequence[Expr]) -> list[tuple[Part, list[Expr], int]]:
    """The parts of a joint, each with its own coordinates and the index of its first speed."""
    found, first_q, first_u = [], 0, 0
    for part in parts:
        found.append((part, list(q[first_q : first_q + part.nq]), first_u))
        first_q, first_u = first_q + part.nq, first_u + part.nu
    return found


def configuration(joint: Joint, q: Sequence[Expr]) -> Pose:
    """The pose of the body across a joint, in the frame of the joint's base.

    X = lambda_p(q_p) ... lambda_1(q_1), part 1 next to the body.

    Reference: [KwatnyBlankenship, eq. 15, 26]; the paper's XXeuc and XXCompnd.

    >>> from polhode.graph import symbols
    >>> from polhode.model import screw
    >>> y, s = symbols("y s")
    >>> configuration(screw("z", pitch=s), [y]).p
    [0, 0, s*y]
    """
    q = _named(joint, q)
    return _outward([part_configuration(part, share) for part, share, _ in shares(joint.parts, q)])


def kinematic_matrix(joint: Joint, q: Sequence[Expr]) -> Matrix:
    """The kinematic matrix of a joint: q_dot = diag(Gamma_1, ..., Gamma_p) beta.

    Returns Gamma : (nq, nu).

    Reference: [KwatnyBlankenship, Prop. 2, eq. 25]; the paper's GammaKin and GamCompnd.
    """
    q = _named(joint, q)
    return block_diagonal([part_rates(part, share) for part, share, _ in shares(joint.parts, q)])


def joint_map(joint: Joint, q: Sequence[Expr]) -> Matrix:
    """The joint map H(q) of a joint: the body's twist across it is H(q) beta.

    Returns H : (6, nu), constant for a simple joint.

    Reference: [KwatnyBlankenship, Prop. 3, eq. 27, 28]; the paper's HCompnd.
    """
    q = _named(joint, q)
    found: list[Twist] = []
    X = Pose.identity()
    for part, share, _ in shares(joint.parts, q):
        found += [X.back(h) for h in twists(part.H)]
        X = part_configuration(part, share) @ X
    return columns(found)


def block_diagonal(blocks: Sequence[Matrix]) -> Matrix:
    """Put matrices along the diagonal."""
    width = sum(block.shape[1] for block in blocks)
    rows, first = [], 0
    for block in blocks:
        for row in block.rows():
            rows.append([0] * first + list(row) + [0] * (width - first - block.shape[1]))
        first += block.shape[1]
    return Matrix((len(rows), width), [e for row in rows for e in row]) if rows else as_matrix(zeros(0, width))


def locked(model: Model, joints: Mapping[str, float | Sequence[float]] | Sequence[str]) -> Model:
    """The model with some joints held: at rest, or at the given coordinates.

    >>> from polhode.model import Builder, revolute
    >>> build = Builder("arm")
    >>> build.body("upper", joint=revolute("y", name="shoulder"), mass=1)
    >>> build.body("lower", parent="upper", at=(0, 0, 1), joint=revolute("y", name="elbow"), mass=1)
    >>> locked(build.build(), {"elbow": 0.5}).coordinates
    ('shoulder',)
    """
    given = dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(joints)
    names = [body.joint.name for body in model.bodies if body.joint.nu]
    for name in given:
        if name not in names:
            raise KeyError(f"There is no joint {name!r}. {closest(name, names)}")
    bodies = []
    held: dict[Expr, Expr] = {}
    for body in model.bodies:
        if body.joint.name in given and body.joint.nu:
            value = given[body.joint.name]
            at = body.joint.neutral() if value is None else [value] if isinstance(value, (int, float)) else value
            held |= {symbol(name): as_expr(x) for name, x in zip(body.joint.coordinates(), at, strict=True)}
            held |= {symbol(name): as_expr(0) for name in body.joint.speeds()}
            pose = body.pose @ configuration(body.joint, [as_expr(x) for x in at])
            body = replace(body, pose=pose, joint=weld(name=body.joint.name))  # noqa: PLW2901
        bodies.append(body)
    bare = replace(
        model, bodies=tuple(bodies), forces=(), constraints=(), states=(), switches=(), motors=(), keyframes=(),
        sensors=with_values(model.sensors, held),
    )  # fmt: skip
    return _with_rest(bare, model, held).merged()


def _with_rest(bare: Model, model: Model, held: Mapping[Expr, Expr]) -> Model:
    """Give bodies of which some are held the forces and constraints that still act on them.

    A coordinate that follows a held one, or leads it, is kept in place by a constraint.
    """
    hosts = rigid_hosts(bare.bodies, bare.markers)
    moving = {symbol(name) for name in (*bare.coordinates, *bare.speeds)}
    constraints: list[Constraint] = []
    notes = list(model.notes)
    for c in model.constraints:
        meets_held = isinstance(c, Coupling) and {symbol(c.coordinate), symbol(c.of)} & held.keys()
        if isinstance(c, Coupling) and meets_held:
            part = with_values(c.relation(), held)
        else:
            part = with_values(_half_held(c, held) if isinstance(c, Clutch) else c, held)
        acts = free_symbols(part.value) & moving if isinstance(part, Relation) else tied(part, hosts) is None
        acts = acts and not any(_is_held(part, kind, held, bare) for kind in ("coordinate", "speed", "joint"))
        if acts:
            constraints.append(part)
        else:
            notes.append(f"Constraint {c.name!r} is left out: everything it is about is held.")
    forces = [part for f in model.forces if (part := _on_what_moves(f, held)) is not None]
    acting = tuple(f for f in forces if tied(f, hosts) is None)
    left = {a.control for a in acting if isinstance(a, Actuator)}
    known = {**held, **{c: as_expr(0) for c in model.controls if c not in left}}
    acting, states = with_values((acting, model.states), known)
    found = replace(bare, forces=acting, constraints=tuple(constraints), states=states, notes=tuple(notes))
    return replace(found, switches=_still(with_values(model.switches, held), found))


def _on_what_moves(force: Force, held: Mapping[Expr, Expr]) -> Force | None:
    """What is left of a force where some speeds are held: of an actuator its other shares, else all or nothing."""
    if not {symbol(name) for name in force.uses("speed")} & held.keys():
        return force
    shares = force.along if isinstance(force, Actuator) else ()
    left = tuple((name, e) for name, e in shares if symbol(name) not in held)
    return replace(force, along=left) if isinstance(force, Actuator) and left else None


def _half_held(clutch: Clutch, held: Mapping[Expr, Expr]) -> Constraint:
    """A clutch of which one end is held: a brake on the other."""
    (a, b), capacity = clutch.ends, clutch.capacity
    if (symbol(a) in held) == (symbol(b) in held):
        return clutch
    if symbol(a) in held:
        capacity = None if capacity is None else capacity * absolute(clutch.ratio)
    return Brake(name=clutch.name, speed=b if symbol(a) in held else a, capacity=capacity, active=clutch.active)


def _is_held(part: Constraint, kind: str, held: Mapping[Expr, Expr], bare: Model) -> bool:
    """Whether a part is about a joint, a coordinate or a speed that is held."""
    if kind == "joint":
        return bool(set(part.uses(kind)) - {body.joint.name for body in bare.bodies if body.joint.nu})
    return any(symbol(name) in held for name in part.uses(kind))


def _still(switches: Iterable[Switch], model: Model) -> tuple[Switch, ...]:
    """The switches of what is left that can still happen."""
    names = {c.name for c in model.switchable}
    changing = {symbol(n) for n in (*model.coordinates, *model.speeds, *(z.name for z in model.states))} | {TIME}
    found = [
        replace(
            switch,
            engage=tuple(name for name in switch.engage if name in names),
            release=tuple(name for name in switch.release if name in names),
        )
        for switch in switches
        if isinstance(switch, At) or free_symbols(switch.value) & changing
    ]
    return tuple(switch for switch in found if switch.engage or switch.release)
