"""Generalised speeds that make the equations of an open chain short.

Relative speeds of joints pile up along a chain: the velocity of the last body is a
long sum, and its derivative longer. So the candidates are absolute: for each body
with inertia, the angular velocity about its joint's axis, or, where massless bodies
or a joint of several parts give it more freedom, components of its own twist in its
own axes. Each is kept where the equations have fewer operations with it.

In the spirit of [Mitiguy, Kane 1996], whose directives for revolute, Hooke's and
ball joints say the same of angular velocities; here the operations are counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polhode.graph import Expr, Matrix, jacobian, op_counts, solve, symbol, topological, vector
from polhode.graph.ops import OPS
from polhode.kinematics import Kinematics, derive, generalised
from polhode.kinematics.constraints import GEOMETRIC
from polhode.kinematics.generic import generic_points, sampled
from polhode.kinematics.independent import independent_rows
from polhode.model import Model
from polhode.spatial import Inertia

from .method import Kane


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A set of speeds and the operations of qdot and udot in them, shared parts counted once."""

    name: str
    speeds: dict[str, Expr]
    operations: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.operations.values())


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """The best of the candidates; `speeds` goes to formulate(speeds=...)."""

    candidates: tuple[Candidate, ...]

    @property
    def before(self) -> Candidate:
        """The speeds of the joints."""
        return self.candidates[0]

    @property
    def after(self) -> Candidate:
        return min(self.candidates, key=lambda c: c.total)

    @property
    def speeds(self) -> dict[str, Expr]:
        return self.after.speeds

    def __str__(self) -> str:
        wide = max(len(c.name) for c in self.candidates)
        lines = [f"{'speeds':{wide}}  operations of qdot and udot"]
        for c in self.candidates:
            counts = ", ".join(f"{n} {kind}" for kind, n in c.operations.items())
            lines.append(f"{c.name:{wide}}  {c.total:,}: {counts}{'  <- suggested' if c is self.after else ''}")
        return "\n".join([*lines, *(f"{name} = {e}" for name, e in self.speeds.items() if str(e) != name)])

    __repr__ = __str__


def suggest_speeds(model: Model) -> Suggestion:
    """Compare candidate generalised speeds of an open chain by the operations of its equations."""
    base = derive(model)
    groups = _groups(base)
    own = [[base.u[i] for i in group] for _, group in groups]
    absolute = [_absolute(base, k, group) for k, group in groups]
    modes = [[base.u[i] for i in m.at] for link in base.links if (m := link.modes) is not None]  # stay as they are
    own, absolute = [*own, *modes], [*absolute, *modes]
    found = [_tried(base, "joints", own)]
    if absolute != own:
        best = absolute
        found.append(_tried(base, "bodies", absolute))
        if found[1].total > found[0].total:
            best = own
        # one body at a time, the other way than the better of the two
        for i, (k, _) in enumerate(groups):
            other = own[i] if best is absolute or best[i] is absolute[i] else absolute[i]
            if len(groups) > 1 and other != best[i]:
                flipped = [*best[:i], other, *best[i + 1 :]]
                made = _tried(base, f"{'joints' if other is own[i] else 'bodies'} at {_body(base, k)}", flipped)
                if made.total < min(c.total for c in found):
                    found.append(made)
                    best = flipped
    return Suggestion(candidates=tuple(found))


def _body(kin: Kinematics, link: int) -> str:
    return next(name for name, k in kin.carriers.items() if k == link)


def _groups(kin: Kinematics) -> list[tuple[int, list[int]]]:
    """For each link with inertia, or that branches, the speeds since the one before it."""
    children = [link.parent for link in kin.links]
    found = []
    taken: set[int] = set()
    for k, link in enumerate(kin.links):
        ends = link.inertia != Inertia.zero() or children.count(k) != 1
        if ends and k in kin.carriers.values():
            path = [i for i in kin.ancestors(k) if i not in taken]
            taken |= set(path)
            joints = [kin.links[i] for i in reversed(path) if not kin.links[i].section]
            own = [place for link in joints for place in link.at]
            found += [(k, sorted(own))] if own else []
    return found


def _absolute(kin: Kinematics, k: int, group: list[int]) -> list[Expr]:
    """Components of the link's twist that its own speeds determine: along a single axis, in its axes otherwise."""
    V, link = kin.V[k], kin.links[k]
    if len(group) == 1 and len(link.H) == 1:
        h = link.H[0]
        turning = any(e != 0 for e in h.w)
        along: Expr = h.w @ V.w if turning else h.v @ V.v
        return [along]
    rows = V.vector()
    slopes = jacobian(rows, [kin.u[i] for i in group])
    points = generic_points(kin, vector([]), [*rows])[1:]
    values = sampled(slopes, points)
    for part in (slice(0, 3), slice(3, 6)):  # turns and moves, each measured by all of its components
        values[:, part] /= np.linalg.norm(values[:, part], axis=(1, 2), keepdims=True) + 1e-300
    chosen = independent_rows(values, np.full(6, GEOMETRIC), most=len(group))
    return [rows[i] for i in chosen]


def _tried(base: Kinematics, name: str, groups: Iterable[list[Expr]]) -> Candidate:
    meanings = [e for group in groups for e in group]
    speeds = _named(base, meanings)
    kane = Kane(kinematics=generalised(base, speeds))
    rows = [*kane.kinematics.q_dot, *solve(kane.mass(), kane.F - kane.velocity())]
    return Candidate(name=name, speeds=speeds, operations=op_counts(rows))


def _named(base: Kinematics, meanings: list[Expr]) -> dict[str, Expr]:
    """Joints' own speeds keep their names, the others are u1, u2, ..."""
    taken = {*base.q, *base.u, *base.z, *base.model.parameters}
    letter = "u"
    while any(symbol(f"{letter}{i + 1}") in taken for i in range(len(meanings))):
        letter += "_"
    return {(str(e.value) if e in {*base.u} else f"{letter}{i + 1}"): e for i, e in enumerate(meanings)}


def written_operations(exprs: Iterable[Expr] | Matrix) -> dict[str, int]:
    """Count operations as in the paper's Table 3: written out, what occurs twice counts twice.

    Keys "multiply, divide", "add, subtract" and "sin, cos". A power counts its
    multiplications; a change of sign is no operation.
    """
    kinds = {"mul": 0, "div": 0, "pow": 0, "add": 1, "sub": 1, "sin": 2, "cos": 2}
    counts: dict[Expr, tuple[int, int, int]] = {}
    roots = list(exprs.entries if isinstance(exprs, Matrix) else exprs)
    for e in topological(roots):
        below = [counts[a] for a in e.args]
        own = [0, 0, 0]
        if e.op in kinds:
            own[kinds[e.op]] = e.value - 1 if e.op == "pow" else 1
            if e.op == "pow":
                below = below * e.value
        elif OPS[e.op].kind not in ("leaf", "neg"):
            raise ValueError(f"The table has no column for {e.op!r}.")
        counts[e] = (*(own[i] + sum(c[i] for c in below) for i in range(3)),)  # type: ignore[assignment]  # three
    names = ("multiply, divide", "add, subtract", "sin, cos")
    return {name: sum(counts[e][i] for e in roots) for i, name in enumerate(names)}
