"""Rows of constraints as actions on two bodies: shorter code for J and gamma than the slopes of psi.

A constraint between markers A and B is linear in their angular velocities and
velocities, seen from the last link that carries both:

    psi   = sum over A, B of  c . w + e . v
    J_j   = the same of the axes w_j, v_j of speed j
    gamma = sum of  c . alpha + e . a + c_dot . w + e_dot . v

with alpha and a the accelerations at udot = 0. (c, e) is, but for its size, the
moment and the force of the reaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from polhode.graph import Expr, Matrix, as_expr, cross, diff, matrix, op_counts, sqrt, substitute, symbol, vector, zeros
from polhode.model import Contact, KnifeEdge, Latch, Loop, Rolling
from polhode.spatial import Twist

from .constraints import Constraints, across_of, captured_length, captured_turn, ties_first
from .touch import along_relief, at_place, relief_of, upward
from .tree import Kinematics

_ZERO = as_expr(0)
_NONE = zeros(3)
_STILL = Twist.zero()


@dataclass(frozen=True, slots=True)
class Seen:
    """A marker as seen from a link: pose, angular velocity and velocity, accelerations, and the axes of each speed."""

    R: Matrix
    p: Matrix
    w: Matrix
    v: Matrix
    alpha: Matrix
    a: Matrix
    axes: dict[int, tuple[Matrix, Matrix]]

    @property
    def turns(self) -> dict[int, Matrix]:
        return {j: w for j, (w, _) in self.axes.items()}

    @property
    def velocities(self) -> dict[int, Matrix]:
        return {j: v for j, (_, v) in self.axes.items()}

    def swept(self, lever: Matrix) -> dict[int, Matrix]:
        """The velocities that turns give the end of a lever."""
        return {j: cross(w, lever) for j, w in self.turns.items()}


class Action(NamedTuple):
    """What a row does to a marker: coefficients of w and v, and their rates."""

    on: Seen
    c: Matrix = _NONE
    e: Matrix = _NONE
    c_dot: Matrix = _NONE
    e_dot: Matrix = _NONE


class Row(NamedTuple):
    """A row: what it does to its markers, and the squares of the sizes that its slopes could have, by speed."""

    actions: list[Action]
    sizes: dict[int, Expr]


class Acting(NamedTuple):
    """Rows for native code: psi and gamma (m,), J and its reference (m, nu).

    moving : (m,), minus psi where all speeds are 0: J u where a row moves by itself; empty where none does
    """

    psi: Matrix
    J: Matrix
    gamma: Matrix
    reference: Matrix
    moving: tuple[Expr, ...]


def acting(every: Constraints) -> Acting:
    """The rows of constraints for native code, each in the shorter form: as actions, or as slopes of psi."""
    base = every.kinematics
    rows = dict(_rows(base, set(every.names))) if isinstance(base, Kinematics) and len(every) else {}
    at_rest = dict.fromkeys(every.kinematics.u, _ZERO)
    # what acts on two bodies does not move by itself, though 0 times a pole is not known to be 0
    moving = [_ZERO if n in rows else -substitute(e, at_rest) for n, e in zip(every.labels, every.psi, strict=True)]
    moves = tuple(moving) if any(e != 0 for e in moving) else ()
    plain = Acting(every.psi, every.J, every.gamma, every.reference, moves)
    if not rows:
        return plain
    psi, gamma = [*every.psi], [*every.gamma]
    J, sizes = ([[*row] for row in m.rows()] for m in (every.J, every.reference))
    for i, label in enumerate(every.labels):
        if label in rows:
            psi[i], J[i], gamma[i] = _written(rows[label].actions, len(J[i]))
            sizes[i] = [rows[label].sizes.get(j, _ZERO) for j in range(len(J[i]))]
    found = Acting(vector(psi), matrix(J), vector(gamma), matrix(sizes), moves)
    return min(found, plain, key=_operations)


def _operations(rows: Acting) -> int:
    return sum(op_counts([e for part in rows[:4] for e in part.entries]).values())


def _written(actions: list[Action], n: int) -> tuple[Expr, list[Expr], Expr]:
    psi, gamma, J = _ZERO, _ZERO, [_ZERO] * n
    for on, c, e, c_dot, e_dot in actions:
        psi = psi + c @ on.w + e @ on.v
        gamma = gamma + c @ on.alpha + e @ on.a + c_dot @ on.w + e_dot @ on.v
        for j, (w, v) in on.axes.items():
            J[j] = J[j] + c @ w + e @ v
    return psi, J, gamma


def _squares(*parts: dict[int, Matrix]) -> dict[int, Expr]:
    """The sums of the squares of vectors, by speed."""
    found: dict[int, Expr] = {}
    for part in parts:
        for j, v in part.items():
            found[j] = found.get(j, _ZERO) + v @ v
    return found


def _rows(kin: Kinematics, names: set[str]) -> Iterator[tuple[str, Row]]:
    """Every row of constraints of these names that is made of actions, by its label."""
    for constraint in (*kin.model.holding, *kin.model.candidates):
        if constraint.name not in names:
            continue
        if isinstance(constraint, Loop | Latch):
            found: Iterable[tuple[str, Row]] = _loop(kin, constraint)
        elif isinstance(constraint, Rolling):
            found = _touching(kin, constraint.wheel, constraint)
        elif isinstance(constraint, Contact):
            found = _touching(kin, constraint.marker, constraint)
        elif isinstance(constraint, KnifeEdge):
            M = _seen(kin, constraint.marker, set())
            e = M.R @ constraint.axis
            found = [("", Row([Action(M, e=e, e_dot=cross(M.w, e))], _squares(M.velocities)))]
        else:
            found = ()
        for label, row in found:
            yield f"{constraint.name}.{label}" if label else constraint.name, row


def _both(kin: Kinematics, a: str, b: str) -> tuple[Seen, Seen]:
    shared = kin.carriers_of_both(kin.frame(a)[0], kin.frame(b)[0])
    return _seen(kin, a, shared), _seen(kin, b, shared)


def _seen(kin: Kinematics, marker: str, shared: set[int]) -> Seen:
    """A marker seen from the last of the shared links, or from the world: outward along its path."""
    k, X_M = kin.frame(marker)
    R, p, w, v, alpha, a = None, _NONE, _NONE, _NONE, _NONE, _NONE
    origins: list[tuple[int, Matrix, Matrix, Matrix]] = []
    for i in reversed([i for i in kin.ancestors(k) if i not in shared]):
        link = kin.links[i]
        step = link.X.p if R is None else R @ link.X.p
        R, p = link.X.R if R is None else R @ link.X.R, p + step
        turn, slide = _NONE, _NONE
        for j, (h, u) in enumerate(zip(link.H, link.speeds, strict=True)):
            axis, along = R @ h.w, R @ h.v
            origins.append((link.at[j], axis, along, p))
            turn, slide = turn + axis * u, slide + along * u
        carried = cross(w, step)
        alpha, a = alpha + cross(w, turn), a + cross(alpha, step) + cross(w, carried + slide)
        v, w = v + carried + slide, w + turn
        a = a + cross(w, slide)
        if link.bend != _STILL:
            alpha, a = alpha + R @ link.bend.w, a + R @ link.bend.v
    R = X_M.R if R is None else R
    step = X_M.p if not origins else R @ X_M.p
    carried = cross(w, step)
    p, v, a = p + step, v + carried, a + cross(alpha, step) + cross(w, carried)
    axes: dict[int, tuple[Matrix, Matrix]] = {}
    for j, axis, along, origin in origins:  # modes move sections, and the frame of a body in its joint
        turned, moved = axes.get(j, (_NONE, _NONE))
        axes[j] = turned + axis, moved + along + cross(axis, p - origin)
    return Seen(R @ X_M.R if origins else R, p, w, v, alpha, a, axes)


def _loop(kin: Kinematics, loop: Loop | Latch) -> Iterator[tuple[str, Row]]:
    A, B = _both(kin, *loop.ends)
    kind, D, apart = loop.kind, B.p - A.p, B.v - A.v
    first = ties_first(kin, loop)
    moves = _squares(A.velocities, B.velocities, (B if first else A).swept(D))
    turns = _squares(A.turns, B.turns)
    across = list(zip("xy", across_of(loop.axis), strict=True))
    latched = isinstance(loop, Latch) and kind in ("point", "hinge", "weld")
    if kind in ("point", "hinge", "weld") and not latched:
        _, own = kin.frame(kin.carrier_of_both(*loop.ends))
        for k, label in enumerate("xyz"):
            yield label, Row([Action(A, e=-own.R[:, k]), Action(B, e=own.R[:, k])], moves)
    elif kind in ("axis", "cylinder", "slider", "plane") or latched:
        named = [("", loop.axis)] if kind == "plane" else [(f"off {label}", across) for label, across in across]
        if latched:  # the way from a to b turns with a, or with b
            named = [(label, vector([int(j == k) for j in range(3)])) for k, label in enumerate("xyz")]
        for label, direction in named:
            carrier = B if first else A
            f = carrier.R @ direction
            f_dot = cross(carrier.w, f)
            moment, moment_dot = cross(f, D), cross(f_dot, D) + cross(f, apart)
            if first:
                yield label, Row([Action(A, e=-f, e_dot=-f_dot), Action(B, moment, f, moment_dot, f_dot)], moves)
            else:
                yield label, Row([Action(A, moment, -f, moment_dot, -f_dot), Action(B, e=f, e_dot=f_dot)], moves)
    elif kind == "distance":
        length = loop.length if isinstance(loop, Loop) else captured_length(loop)
        e, e_dot = D / length, apart / length
        yield "", Row([Action(A, e=-e, e_dot=-e_dot), Action(B, e=e, e_dot=e_dot)], moves)
    if kind in ("parallel", "hinge", "cylinder"):
        g = B.R @ loop.axis
        g_dot = cross(B.w, g)
        for label, direction in across:
            f = A.R @ (captured_turn(loop) @ direction if isinstance(loop, Latch) else direction)
            c, c_dot = cross(f, g), cross(cross(A.w, f), g) + cross(f, g_dot)
            yield f"tilt {label}", Row([Action(A, c=c, c_dot=c_dot), Action(B, c=-c, c_dot=-c_dot)], turns)
    elif kind in ("orientation", "slider", "weld"):
        for k, label in enumerate("xyz"):
            c = B.R[:, k]
            c_dot = cross(B.w, c)
            yield f"turn {label}", Row([Action(A, c=-c, c_dot=-c_dot), Action(B, c=c, c_dot=c_dot)], turns)


def _touching(kin: Kinematics, marker: str, touch: Rolling | Contact) -> Iterator[tuple[str, Row]]:
    """The material of a body at its lowest point moves as that of the ground."""
    W, G = _both(kin, marker, touch.ground)
    n = G.R[:, 2]
    n_dot = cross(G.w, n)
    radius = _ZERO if touch.radius is None else touch.radius
    down, down_dot = _NONE, _NONE
    if touch.shape == "sphere":
        down, down_dot = n * -radius, n_dot * -radius
    elif touch.shape == "disc":
        axis = W.R @ touch.axis
        axis_dot = cross(W.w, axis)
        side, side_dot = cross(axis, n), cross(axis_dot, n) + cross(axis, n_dot)
        square = side @ side
        by = radius / sqrt(square)
        down = cross(axis, side) * by
        down_dot = (cross(axis_dot, side) + cross(axis, side_dot)) * by - down * ((side @ side_dot) / square)
    lever, lever_dot = W.p + down - G.p, W.v + down_dot - G.v
    spun = {} if touch.radius is None else {j: w * radius for j, w in W.turns.items()}
    moves = _squares(W.velocities, spun, G.velocities, G.swept(lever))
    for label, (e, e_dot) in _directions(touch, W, G).items():
        on_wheel = Action(W, cross(down, e), e, cross(down_dot, e) + cross(down, e_dot), e_dot)
        moment, moment_dot = cross(lever, e), cross(lever_dot, e) + cross(lever, e_dot)
        yield label, Row([on_wheel, Action(G, -moment, -e, -moment_dot, -e_dot)], moves)


def _directions(touch: Rolling | Contact, W: Seen, G: Seen) -> dict[str, tuple[Matrix, Matrix]]:
    """The normal of the ground and two directions along it, with their rates: on a relief they change with the place.

    e = R m(x, y),  e_dot = w x e + R (dm/dx x_dot + dm/dy y_dot)
    """
    labels = ("slip x", "slip y", "height")
    if (relief := relief_of(touch)) is None:
        axes = {label: G.R[:, k] for k, label in enumerate(labels)}
        return {label: (e, cross(G.w, e)) for label, e in axes.items()}
    apart = W.p - G.p
    at, moves = G.R.T @ apart, G.R.T @ (W.v - G.v - cross(G.w, apart))
    found = {}
    for label, m in zip(labels, (*along_relief(relief), upward(relief)), strict=True):
        e = G.R @ at_place(m, at)
        turned = at_place(diff(m, symbol("x")), at) * moves[0] + at_place(diff(m, symbol("y")), at) * moves[1]
        found[label] = e, cross(G.w, e) + G.R @ turned
    return found
