"""What users write for a beam, checked: its axes, modes, shapes and damping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, cross, matrix

from . import values
from .ends import ENDS, HEAVIEST, violations
from .errors import closest, fault
from .flexible import ORDERS, ROTATIONS
from .sections import Section, positive, proportion, section
from .shapes import ONE, Series, product

KINDS = ("y", "z", "twist", "stretch")
RESISTS = {"y": "EI_z", "z": "EI_y", "twist": "GJ", "stretch": "EA"}
_MOST = 200  # modes of one kind
Powers = tuple[tuple[float, ...], ...]


def choice(value: Any, known: Iterable[str], what: str) -> str:
    """Read one of some words."""
    names = tuple(known)
    if not isinstance(value, str) or value not in names:
        near = closest(value, names)
        remedy = f" {near}" if near.startswith("Did") else ""
        raise fault(f"{what} is {value!r:.60}, expected {' or '.join(map(repr, names))}.{remedy}")
    return value


def words(ends: Any, order: Any, rotation: Any) -> tuple[str, str, str]:
    """Read the words of a beam."""
    return choice(ends, ENDS, "Beam: ends"), choice(order, ORDERS, "Beam: order"), choice(
        rotation, ROTATIONS, "Beam: rotation"
    )  # fmt: skip


def spread(J: Any, J_y: Any, J_z: Any) -> tuple[Section | None, Section | None]:
    """Read the moments of inertia per length: both, or their sum, of which each is half."""
    if J is None:
        return tuple(None if e is None else section(e, f"Beam: {n}") for e, n in ((J_y, "J_y"), (J_z, "J_z")))  # type: ignore[return-value]
    if J_y is not None or J_z is not None:
        raise fault("Beam: has J and J_y or J_z, expected the polar J alone, or J_y and J_z whose sum it is.")
    polar = section(J, "Beam: J")
    half = Section(polar.scale / 2, polar.table, polar.function)
    return half, half


def axes(axis: Any, across: Any) -> tuple[Matrix, Matrix | None]:
    """Read the direction of a beam and that of its y: unit vectors of numbers at right angles."""
    along = values.axis(axis, "Beam: axis")
    if values.numbers_of(along) is None:
        raise fault(f"Beam: axis is {axis!r:.60}, expected numbers. Turn the joint instead, by rpy or rotation.")
    if across is None:
        return along, None
    side = values.axis(across, "Beam: across")
    between = (along @ side).number
    if between is None or abs(between) > 1e-9:
        raise fault(f"Beam: across is {across!r:.60}, expected numbers at right angles to the axis {axis!r:.60}.")
    return along, side


def frame(along: Matrix, across: Matrix | None) -> Matrix:
    """The axes of a beam as columns; without `across` those that the shortest turn from x to the axis gives.

    R = 1 + skew(v) + skew(v)^2 / (1 + c),  v = e_x x a,  c = a_x; for -x the half turn about z.
    """
    if across is None:
        a, b, c = (float(e) for e in along)
        if a < -1 + 1e-12:
            across = values.axis("-y", "Beam: across")
        else:
            across = values.settled(matrix([[-b, 1 - b * b / (1 + a), -b * c / (1 + a)]])[0])
    return matrix([along, across, values.settled(cross(along, across))]).T


def counted(modes: Any, given: Mapping[str, Section | None], shapes: Mapping[str, Powers]) -> dict[str, int]:
    """Read how many modes of each kind there are."""
    if not any(given.values()):
        raise fault("Beam: has no stiffness, expected one or more of EI_y, EI_z, GJ and EA.")
    if isinstance(modes, Mapping):
        if not modes:
            raise fault('Beam: modes is empty, expected numbers: {"y": 3, "twist": 1}.')
        for kind in modes:
            choice(kind, KINDS, "Beam: a key of modes")
        found = {kind: _count(modes[kind], f"Beam: modes of {kind!r}") for kind in KINDS if kind in modes}
    else:
        usual = 3 if modes is None else _count(modes, "Beam: modes")
        found = {kind: usual if kind in ("y", "z") else 1 for kind in KINDS if given[RESISTS[kind]] is not None}
        if modes is None:
            found |= {kind: len(rows) for kind, rows in shapes.items() if kind in found}
    for kind in (*found, *shapes):
        if given[RESISTS[kind]] is None:
            name = RESISTS[kind]
            raise fault(f"Beam: has modes of {kind!r} without {name}, which resists them. Give {name}=..., or none.")
    for kind, rows in shapes.items():
        if found.get(kind, len(rows)) != len(rows):
            raise fault(f"Beam: has {len(rows)} shapes of {kind!r}, expected {found[kind]} as modes says.")
    return found


def _count(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= _MOST:
        raise fault(f"{what} is {value!r:.60}, expected a whole number from 1 to {_MOST}.")
    return int(value)


def own_shapes(shapes: Any, given: Mapping[str, Section | None], ends: str) -> dict[str, Powers]:
    """Read polynomials in x/L that the user gives: coefficients of 1, x, x^2, ... for each, of bending or by kind."""
    if isinstance(shapes, str):
        choice(shapes, ("exact", "polynomial"), "Beam: shapes")
        return {}
    if isinstance(shapes, Mapping):
        for kind in shapes:
            choice(kind, KINDS, "Beam: a key of shapes")
        rows = {kind: shapes[kind] for kind in KINDS if kind in shapes}
    else:
        rows = {kind: shapes for kind in ("y", "z") if given[RESISTS[kind]] is not None}
    return {kind: _family(value, kind, ends) for kind, value in rows.items()}


def _family(value: Any, kind: str, ends: str) -> Powers:
    """Read the shapes of one kind: each keeps to its ends, none is a sum of the others."""
    what = f"Beam: shapes of {kind!r}"
    if isinstance(value, Mapping) or not isinstance(value, Iterable) or not (rows := list(value)):
        raise fault(
            f"{what} are {value!r:.60}, expected one or more lists of coefficients in x/L: [[0, 0, 1.5, -0.5]]."
        )
    found = [_powers(row, f"{what}, number {n},") for n, row in enumerate(rows, 1)]
    made = [Series.of_powers(row) for row in found]
    for n, f in enumerate(made, 1):
        most = float(abs(f(np.linspace(0, 1, 201))).max())
        if not 1e-6 < most < 1e6:
            raise fault(f"{what}, number {n}, has the largest displacement {most:.3g}, expected about 1. Scale it.")
        wrong = violations(f, ends, kind)
        if wrong:
            held = ends if kind in ("y", "z") else "held at x = 0"
            raise fault(f"{what}, number {n}, {' and '.join(wrong)} where the beam is {held}.")
    sizes = np.sqrt([product(f, f) for f in made])
    gram = np.array([[product(f, g) for g in made] for f in made]) / np.outer(sizes, sizes)
    if np.linalg.eigvalsh(gram)[0] < 1e-12:
        raise fault(f"{what} depend on each other: one of them is a sum of the others. Leave it out.")
    return tuple(found)


def _powers(row: Any, what: str) -> tuple[float, ...]:
    if isinstance(row, np.polynomial.Polynomial):
        row = row.convert(domain=[-1, 1], window=[-1, 1]).coef.tolist()
    if isinstance(row, (str, Expr)) or not isinstance(row, Iterable):
        raise fault(f"{what} is {row!r:.60}, expected the coefficients of a polynomial in x/L: [0, 0, 1.5, -0.5].")
    found = [values.scalar(e, what).number for e in row]
    if not found or any(e is None for e in found):
        raise fault(f"{what} is {row!r:.60}, expected numbers, the coefficients of 1, x/L, (x/L)^2, ...")
    if not any(found):
        raise fault(f"{what} moves nothing: all its coefficients are 0. Leave it out.")
    return tuple(float(e) for e in found if e is not None)


def tip(tip_mass: Any, ends: str, mu: Section, length: Expr) -> Expr:
    """Read the mass at the tip that the shapes know of."""
    if ends != "clamped-mass":
        if tip_mass is not None:
            raise fault(f'Beam: tip_mass is given with ends={ends!r}, expected it with ends="clamped-mass" alone.')
        return as_expr(0)
    if tip_mass is None:
        raise fault('Beam: ends="clamped-mass" needs tip_mass, the mass that its shapes expect at the tip.')
    e = positive(tip_mass, "Beam: tip_mass")
    ratio = proportion(e, mu.scale * length)
    if ratio is None:
        raise fault(
            f"Beam: tip_mass is {e} on a beam of the mass {mu.scale * length}; shapes need their ratio as a number. "
            'Give tip_mass=2*mu*L, or ends="clamped-free" with shapes="polynomial".'
        )
    if ratio > HEAVIEST * product(ONE, weight=mu):
        raise fault(
            f"Beam: tip_mass is {ratio:.3g} times the beam's, expected at most {HEAVIEST:.0f} times. "
            'Give ends="clamped-free" with shapes="polynomial".'
        )
    return e


def ratios(damping: Any, counts: Mapping[str, int]) -> tuple[Expr, ...]:
    """Read damping ratios: one for all modes, by kind, or one for each mode."""
    many = sum(counts.values())
    what = "Beam: damping"
    if isinstance(damping, Mapping):
        for kind in damping:
            choice(kind, counts, "Beam: a key of damping")
        rows = [damping.get(kind, 0) for kind, n in counts.items() for _ in range(n)]
    elif isinstance(damping, Iterable) and not isinstance(damping, (str, Expr)):
        rows = list(damping)
        if len(rows) != many:
            raise fault(f"{what} has {len(rows)} entries, expected {many}, one for each mode, or one for all.")
    else:
        rows = [damping] * many
    return tuple(nonnegative(e, what) for e in rows)


def nonnegative(value: Any, what: str) -> Expr:
    e = values.scalar(value, what)
    x = e.number
    if x is not None and x < 0:
        raise fault(f"{what} is {x:.6g}, expected 0 or more.")
    return e
