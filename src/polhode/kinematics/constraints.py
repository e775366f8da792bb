"""Constraints as expressions: residuals, their rates and Jacobian.

    phi(q, z, t) = 0                positions, where the constraint is holonomic
    psi(q, u, z, t) = J u + b = 0   speeds: d phi / dt wherever phi = 0
    J udot + gamma(q, u, z, t) = 0  accelerations: d psi / dt

Rows may repeat one another; who uses them finds out how many are independent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    cross,
    free_symbols,
    jacobian,
    matrix,
    select,
    sqrt,
    substitute,
    symbol,
    vector,
)
from polhode.model import (
    Brake,
    Clutch,
    Constraint,
    Contact,
    Coupling,
    KnifeEdge,
    Latch,
    Lock,
    Loop,
    Relation,
    Rolling,
)
from polhode.model.html import rows
from polhode.spatial import Pose, Twist

from .motion import Motion
from .touch import along_relief, at_place, relief_of, touch_of
from .tree import Kinematics

LONGEST = 200  # characters of a row in a table
_XYZ = ("x", "y", "z")

# the least of its reference that a row must have of its own, below which it repeats others: files round geometry to six
# digits and more; coefficients of the user's own, gears of 1 : 1e6 among them, are what they are
GEOMETRIC, WRITTEN = 1e-5, 1e-12


@dataclass(frozen=True, kw_only=True, repr=False)
class Constraints:
    """Rows of constraints, in the order of the model.

    names     : the constraint of each row
    labels    : a name for each row: "close.x"
    holonomic : whether it restricts positions; the others restrict only speeds
    phi       : (m,), 0 where a row is not holonomic
    own       : (m,), psi where it is stated; where a holonomic row has 0 it is the rate of phi
    compared  : the velocities that each row compares, entry by entry; none where it has the user's own coefficients
    groups    : the group of each row; rows of a group compare the same velocities
    """

    kinematics: Motion
    names: tuple[str, ...]
    labels: tuple[str, ...]
    holonomic: tuple[bool, ...]
    phi: Matrix
    own: Matrix
    compared: tuple[Matrix, ...]
    groups: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        lines = [f"  {label}, of {kind}s: {text} = 0" for label, kind, text in self._lines()]
        return "\n".join([f"{len(self)} rows of constraints" if lines else "No constraints", *lines])

    def _repr_html_(self) -> str:
        """Rows with what they hold at 0: positions, or speeds."""
        return rows(("row", "holds a", "= 0"), self._lines())

    def _lines(self) -> list[tuple[str, str, str]]:
        """The label of each row, what it restricts, and the expression that is 0."""
        held = [p if h else s for p, s, h in zip(self.phi, self.psi, self.holonomic, strict=True)]
        kinds = ["position" if h else "speed" for h in self.holonomic]
        texts = [text if len(text := str(e)) <= LONGEST else f"{text[:LONGEST]}..." for e in held]
        return list(zip(self.labels, kinds, texts, strict=True))

    @cached_property
    def psi(self) -> Matrix:
        """Residuals of the speeds, (m,)."""
        rates = self.kinematics.rate(self.phi)
        return vector([r if h and e == 0 else e for r, h, e in zip(rates, self.holonomic, self.own, strict=True)])

    @cached_property
    def J(self) -> Matrix:
        """d psi / du, (m, nu)."""
        return jacobian(self.psi, self.kinematics.u)

    @cached_property
    def gamma(self) -> Matrix:
        """d psi / dt where udot = 0, (m,)."""
        return self.kinematics.rate(self.psi)

    @property
    def geometric(self) -> tuple[bool, ...]:
        """Whether the coefficients of each row come from positions and directions, not from the user."""
        return tuple(len(v) > 0 for v in self.compared)

    @property
    def least(self) -> list[float]:
        """Of its reference that each row must have of its own, (m,)."""
        return [GEOMETRIC if geometric else WRITTEN for geometric in self.geometric]

    @property
    def angular(self) -> tuple[bool, ...]:
        """Whether each row compares two angular velocities; the others of geometry compare velocities too."""
        return tuple(len(v) == 6 for v in self.compared)

    @cached_property
    def reference(self) -> Matrix:
        """The sizes, squared, that the entries of J could have, (m, nu): E_ij^2 = sum_k (dv_k / du_j)^2.

        v are the velocities that row i compares, so a row of J that is only rounding is small beside
        its reference. Where the coefficients are the user's own it is J_ij^2.
        """
        found: dict[int, list[Expr]] = {}
        for i, (group, v) in enumerate(zip(self.groups, self.compared, strict=True)):
            if group not in found:
                slopes = jacobian(v, self.kinematics.u) if len(v) else matrix([self.J[i]])
                found[group] = [column @ column for column in slopes.T.rows()]
        entries = [e for group in self.groups for e in found[group]]
        return Matrix((len(self), len(self.kinematics.u)), entries)

    def rows(self, name: str) -> list[int]:
        """The rows of a constraint."""
        return [i for i, owner in enumerate(self.names) if owner == name]


def selected(every: Constraints, rows: Iterable[int]) -> Constraints:
    """Some rows of the constraints."""
    chosen = list(rows)
    group = {g: k for k, g in enumerate(dict.fromkeys(every.groups[i] for i in chosen))}
    return replace(
        every,
        names=tuple(every.names[i] for i in chosen),
        labels=tuple(every.labels[i] for i in chosen),
        holonomic=tuple(every.holonomic[i] for i in chosen),
        phi=vector([every.phi[i] for i in chosen]),
        own=vector([every.own[i] for i in chosen]),
        compared=tuple(every.compared[i] for i in chosen),
        groups=tuple(group[every.groups[i]] for i in chosen),
    )


def joined(a: Constraints, b: Constraints) -> Constraints:
    """Rows of two sets of constraints of one mechanism."""
    first = max(a.groups, default=-1) + 1
    return replace(
        a,
        names=a.names + b.names,
        labels=a.labels + b.labels,
        holonomic=a.holonomic + b.holonomic,
        phi=vector([*a.phi, *b.phi]),
        own=vector([*a.own, *b.own]),
        compared=a.compared + b.compared,
        groups=a.groups + tuple(g + first for g in b.groups),
    )


@dataclass(frozen=True, slots=True)
class Row:
    """A residual of positions, of speeds, or of both, and the velocities that it compares."""

    label: str
    phi: Expr | None
    psi: Expr | None = None
    compared: Matrix = field(default_factory=lambda: vector([]))


def constrain(kin: Motion) -> Constraints:
    """Write the constraints of a model as expressions; without those that are embedded."""
    base = kin.joints
    every = stacked(base, [(c.name, row) for c in base.model.holding for row in rows_of(base, c)])
    return seen_in(kin, selected(every, [i for i, name in enumerate(every.names) if name not in kin.embedded]))


def seen_in(kin: Motion, rows: Constraints) -> Constraints:
    """Rows in the speeds of the joints, in those of a motion."""
    if kin is kin.joints:
        return rows
    compared = tuple(substitute(v, kin.quasi) for v in rows.compared)
    return replace(rows, kinematics=kin, own=kin.written(rows.own), compared=compared)


def rows_of(kin: Kinematics, constraint: Constraint) -> list[Row]:
    """The rows of a constraint that stays 0."""
    if isinstance(constraint, Loop):
        return loop_rows(kin, constraint)
    if isinstance(constraint, Relation):
        return [_relation(kin, constraint)]
    if isinstance(constraint, Coupling):
        return [_relation(kin, constraint.relation())]
    if isinstance(constraint, KnifeEdge):
        V = kin.velocity(constraint.marker, axes="marker")
        return [Row("", None, constraint.axis @ V.v, V.v)]
    if isinstance(constraint, Rolling):
        return touching_rows(kin, constraint.wheel, constraint)
    if isinstance(constraint, Lock):
        joint = next(body.joint for body in kin.model.bodies if body.joint.name == constraint.joint)
        names = joint.speeds()
        return [Row(name if len(names) > 1 else "", None, kin.named_speed(name)) for name in names]
    if isinstance(constraint, Brake):
        return [Row("", None, kin.named_speed(constraint.speed))]
    if isinstance(constraint, Clutch):
        a, b = (kin.named_speed(name) for name in constraint.ends)
        return [Row("", None, a - constraint.ratio * b)]
    raise TypeError(f"{constraint.what}: nothing says what rows a {type(constraint).__name__} has.")


def stacked(kin: Kinematics, rows: list[tuple[str, Row]]) -> Constraints:
    """Rows, each with the name of its constraint, as one set."""
    zero = as_expr(0)
    return Constraints(
        kinematics=kin,
        names=tuple(name for name, _ in rows),
        labels=tuple(f"{name}.{row.label}" if row.label else name for name, row in rows),
        holonomic=tuple(row.phi is not None for _, row in rows),
        phi=vector([zero if row.phi is None else row.phi for _, row in rows]),
        own=vector([zero if row.psi is None else row.psi for _, row in rows]),
        compared=tuple(row.compared for _, row in rows),
        groups=_groups([(name, row.compared) for name, row in rows]),
    )


def _groups(rows: Iterable[tuple[str, Matrix]]) -> tuple[int, ...]:
    """Number the rows: the same for those of one constraint that compare the same velocities."""
    found: list[int] = []
    last: tuple[str, Matrix] | None = None
    for row in rows:
        same = last is not None and len(row[1]) > 0 and row[0] == last[0] and row[1] is last[1]
        found.append((found[-1] if found else -1) + (not same))
        last = row
    return tuple(found)


def loop_rows(kin: Kinematics, loop: Loop | Latch, turned: Matrix | None = None) -> list[Row]:
    """The rows of a loop; of a latch with the turn from a to b where it engaged."""
    (A, V_A), (B, V_B) = _apart(kin, *loop.ends)
    d, R, kind = A.R.T @ (B.p - A.p), A.R.T @ B.R, loop.kind
    since = R if turned is None else turned.T @ R
    length = loop.length if isinstance(loop, Loop) else captured_length(loop)
    across = list(zip("xy", across_of(loop.axis), strict=True))
    first = ties_first(kin, loop)
    swept = cross(V_B.w, R.T @ d) if first else cross(V_A.w, d)
    moves, turns = vector([*V_A.v, *V_B.v, *swept]), vector([*V_A.w, *V_B.w])
    rows: list[Row] = []
    if kind in ("point", "hinge", "weld"):
        _, own = kin.frame(kin.carrier_of_both(*loop.ends))
        # in the axes of the body, as both poses are in its link; what is latched turns with a, or with b
        apart = own.R.T @ (B.p - A.p) if isinstance(loop, Loop) else R.T @ d if first else d
        rows += [Row(label, e, None, moves) for label, e in zip(_XYZ, apart, strict=True)]
    elif kind in ("axis", "cylinder", "slider"):
        rows += [Row(f"off {label}", v @ d, None, moves) for label, v in across]
    elif kind == "plane":
        rows.append(Row("", loop.axis @ d, None, moves))
    elif kind == "distance":
        rows.append(Row("", (d @ d - length * length) / (2 * length), None, moves))
    if kind in ("parallel", "hinge", "cylinder"):
        there = since @ loop.axis
        rows += [Row(f"tilt {label}", v @ there, None, turns) for label, v in across]
    elif kind in ("orientation", "slider", "weld"):
        w = V_B.w - R.T @ V_A.w
        rows += [Row(f"turn {label}", e, rate, turns) for label, e, rate in zip(_XYZ, _turn(since), w, strict=True)]
    return rows


def apart(kin: Kinematics, a: str, b: str) -> tuple[Matrix, Matrix, Matrix]:
    """The way from marker a to b and the turn, in the axes of a, and the velocities that their distance compares."""
    (A, V_A), (B, V_B) = _apart(kin, a, b)
    d = A.R.T @ (B.p - A.p)
    return d, A.R.T @ B.R, vector([*V_A.v, *V_B.v, *cross(V_A.w, d)])


def ties_first(kin: Kinematics, loop: Loop | Latch) -> bool:
    """Whether a latch of points keeps the origin of its first marker where it is in the axes of the second.

    It does where the second is on a body that carries the first, or on the world: the origin of the second may be what
    the first turns about, and to keep that one would restrict nothing. Others keep the origin of the second.
    """
    if not isinstance(loop, Latch) or loop.kind not in ("point", "hinge"):
        return False
    i, j = (kin.frame(end)[0] for end in loop.ends)
    return i != j and (j < 0 or j in kin.ancestors(i))


def captured_length(latch: Latch) -> Expr:
    """The symbol of the distance of two markers where a latch engaged."""
    return symbol(f"{latch.name}: distance where it engaged")


def captured_turn(latch: Latch) -> Matrix:
    """The symbols of the turn from the first marker to the second where a latch engaged."""
    return matrix([[symbol(f"{latch.name}: turn {i}{j} where it engaged") for j in "xyz"] for i in "xyz"])


def _turn(R: Matrix) -> list[Expr]:
    """The turn R by theta about n as 2 tan(theta/2) n: unlike sines it is not 0 half a turn away.

    Where it is 0 its rate is the angular velocity.
    """
    opening = 1 + R[0, 0] + R[1, 1] + R[2, 2]  # 2 + 2 cos(theta)
    sines = (R[k, j] - R[j, k] for j, k in ((1, 2), (2, 0), (0, 1)))
    return [select(opening < 1e-9, 1e5, 2 * e / opening) for e in sines]


def _apart(kin: Kinematics, a: str, b: str) -> tuple[tuple[Pose, Twist], tuple[Pose, Twist]]:
    """The poses of two markers in the last link that carries them both; their twists, in their own axes."""
    (i, X_A), (j, X_B) = kin.frame(a), kin.frame(b)
    shared = kin.carriers_of_both(i, j)
    return _below(kin, i, X_A, shared), _below(kin, j, X_B, shared)


def _below(kin: Kinematics, k: int, X_M: Pose, shared: set[int]) -> tuple[Pose, Twist]:
    path = [kin.links[i] for i in kin.ancestors(k) if i not in shared]
    X, V = X_M, Twist.zero()
    for link in path:
        X = link.X @ X
    for link in reversed(path):
        V = link.X.back(V) + link.motion
    return X, X_M.back(V)


def across_of(axis: Matrix) -> tuple[Matrix, Matrix]:
    """Two unit vectors that are right-handed with an axis of numbers; along the coordinate axes where it is."""
    numbers = [float(e) for e in axis]
    k = min(range(3), key=lambda i: abs(numbers[i]))
    if sorted(map(abs, numbers)) == [0, 0, 1]:
        along = max(range(3), key=lambda i: abs(numbers[i]))
        first = vector([int(i == (along + 1) % 3) for i in range(3)])
        return first, cross(axis, first)
    a = cross(axis, vector([int(i == k) for i in range(3)]))
    a = a / sqrt(a @ a)
    return a, cross(axis, a)


def _relation(kin: Kinematics, relation: Relation) -> Row:
    speeds = {symbol(name) for name in kin.model.speeds}
    if not free_symbols(relation.value) & speeds:
        return Row("", relation.value)
    return Row("", None, substitute(relation.value, kin.quasi))


def touching_rows(kin: Kinematics, marker: str, touch: Rolling | Contact) -> list[Row]:
    """The height of the lowest point, and the velocity of its material against the ground, along x and y of it.

    On ground with a relief the height is vertical, z - h(x, y), and the others are along the ground.
    """
    at, ground = touch_of(kin, marker, touch), kin.pose(touch.ground)
    (_, V_B), (_, V_G) = _apart(kin, marker, touch.ground)
    swept = () if touch.radius is None else V_B.w * touch.radius
    moves = vector([*V_B.v, *swept, *V_G.v, *cross(V_G.w, ground.R.T @ at.lever)])
    along = ground.R[:, 0], ground.R[:, 1]
    if (relief := relief_of(touch)) is not None:
        ahead, aside = along_relief(relief)
        place = ground.R.T @ at.lever
        along = ground.R @ at_place(ahead, place), ground.R @ at_place(aside, place)
    rows = [Row(f"slip {a}", None, e @ at.slip, moves) for e, a in zip(along, "xy", strict=True)]
    return [Row("height", at.height, at.n @ at.slip, moves), *rows]
