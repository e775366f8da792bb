"""Constraints that come and go, as rows, and the law of each row.

    equal       phi = 0, or psi = 0, while it is engaged
    unilateral  0 <= phi  perpendicular  lam >= 0
    tangent     |lam| <= grip lam_N where it sticks; lam = -bound lam_N psi / |psi| where it slides
    bounded     the same with a grip and a bound of its own: brakes and clutches with a capacity

What a latch ties together depends on where it engages: the symbols in `captured` take the values
that their expressions have there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from polhode.graph import Expr, as_expr, free_symbols, select, sqrt, substitute, symbol
from polhode.model import Brake, Clutch, Constraint, Contact, Latch, Rope, Stop

from .constraints import (
    Constraints,
    Row,
    apart,
    captured_length,
    captured_turn,
    loop_rows,
    rows_of,
    seen_in,
    stacked,
    touching_rows,
)
from .motion import Motion
from .touch import steepness
from .tree import Kinematics

_ZERO = as_expr(0)
EQUAL, UNILATERAL, TANGENT = 0, 1, 2  # as in the complementarity of kernels


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """How a row holds.

    kind        : EQUAL, UNILATERAL or TANGENT
    size        : rows of a tangent set, at its first row; else 0
    of          : the row, counted from this one, whose reaction bounds a tangent set; 0 where its bound is its own
    bound, grip : of a tangent set, where it slides and where it sticks
    restitution : of a unilateral row; of impulses where `poisson`
    """

    kind: int = EQUAL
    size: int = 0
    of: int = 0
    bound: Expr = _ZERO
    grip: Expr = _ZERO
    restitution: Expr = _ZERO
    poisson: bool = False


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """Rows of what comes and goes.

    rows     : as those of other constraints
    laws     : of each row
    captured : for the rows of a constraint, the symbols that take values where it engages, and their expressions
    """

    rows: Constraints
    laws: tuple[Law, ...]
    captured: tuple[tuple[str, Expr, Expr], ...]

    def __len__(self) -> int:
        return len(self.laws)

    def expressions(self) -> list[Expr]:
        """Every expression of the laws."""
        return [e for law in self.laws for e in (law.bound, law.grip, law.restitution)]


def candidates(kin: Motion, names: Collection[str] | None = None) -> Candidates:
    """Write what comes and goes as rows, in the speeds of the motion; all of it, or what has these names."""
    base = kin.joints
    chosen = [c for c in base.model.candidates if names is None or c.name in names]
    found = [(c.name, *each) for c in chosen for each in _rows(base, c)]
    rows = stacked(base, [(name, row) for name, row, _ in found])
    laws = tuple(_in_speeds(kin, law) for _, _, law in found)
    captured = tuple((c.name, s, e) for c in chosen for s, e in _captured(base, c))
    return Candidates(rows=seen_in(kin, rows), laws=laws, captured=captured)


def _in_speeds(kin: Motion, law: Law) -> Law:
    """A law in the speeds of the motion."""
    bound, grip, restitution = (substitute(e, kin.quasi) for e in (law.bound, law.grip, law.restitution))
    return replace(law, bound=bound, grip=grip, restitution=restitution)


def _rows(kin: Kinematics, c: Constraint) -> Iterator[tuple[Row, Law]]:
    if isinstance(c, Stop):
        q, law = symbol(c.coordinate), _unilateral(c)
        if c.lower is not None:
            yield Row("lower", q - c.lower), law
        if c.upper is not None:
            yield Row("upper", c.upper - q), law
    elif isinstance(c, Rope):
        d, _, moves = apart(kin, *c.ends)
        yield (
            Row("", (c.length * c.length - d @ d) / (2 * c.length), None, moves),
            _unilateral(c),
        )
    elif isinstance(c, Contact):
        height, *slips = touching_rows(kin, c.marker, c)
        yield height, _unilateral(c)
        if c.friction is not None:
            steep = steepness(kin, c)
            bound, grip = c.friction * steep, (c.friction if c.static is None else c.static) * steep
            for k, slip in enumerate(slips):
                yield slip, Law(kind=TANGENT, size=2 * (k == 0), of=-1 - k, bound=bound, grip=grip)
    elif isinstance(c, Latch):
        yield from ((row, Law()) for row in _latched(kin, c))
    else:
        capacity = c.capacity if isinstance(c, Brake | Clutch) else None
        law = Law()
        if capacity is not None:
            most = _at_least_0(capacity)
            law = Law(kind=TANGENT, size=1, bound=most, grip=most)
        yield from ((row, law) for row in rows_of(kin, c))


def _at_least_0(e: Expr) -> Expr:
    """What bounds a reaction; a capacity that falls below 0 has none."""
    return select(e < 0, 0, e) if free_symbols(e) else e


def _unilateral(c: Stop | Rope | Contact) -> Law:
    return Law(kind=UNILATERAL, restitution=c.restitution, poisson=c.restitution_law == "poisson")


def _latched(kin: Kinematics, latch: Latch) -> Iterator[Row]:
    """The rows of a loop, less what they were where the latch engaged.

    Those of turns and tilts are about the turn since then, so that they are regular wherever it engages.
    """
    for row in loop_rows(kin, latch, captured_turn(latch)):
        tied = _is_about_turn(row) or latch.kind == "distance"
        assert row.phi is not None
        yield row if tied else replace(row, phi=row.phi - _captured_at(latch, row.label))


def _is_about_turn(row: Row) -> bool:
    """Whether a row of a latch is about the turn since it engaged."""
    return row.label.startswith(("turn", "tilt"))


def _captured_at(latch: Latch, label: str) -> Expr:
    return symbol(f"{latch.name}: {label} where it engaged")


def _captured(kin: Kinematics, c: Constraint) -> Iterator[tuple[Expr, Expr]]:
    """The symbols that a latch captures, with what they are."""
    if not isinstance(c, Latch):
        return
    d, R, _ = apart(kin, *c.ends)
    if c.kind == "distance":
        yield captured_length(c), sqrt(d @ d)
        return
    turn = captured_turn(c)
    rows = loop_rows(kin, c, turn)
    for row in rows:
        if not _is_about_turn(row):
            assert row.phi is not None
            yield _captured_at(c, row.label), row.phi
    if any(_is_about_turn(row) for row in rows):
        yield from zip(turn.entries, R.entries, strict=True)
