"""What a beam is along its length: a constant, a table or a function of x/L."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from polhode.graph import Expr, as_expr, evaluate, free_symbols

from .errors import fault
from .values import scalar

_PANELS = 8  # of a function, whose steps and kinks are not known


@dataclass(frozen=True, slots=True)
class Section:
    """A quantity along a beam: `scale`, or that times a table that is linear between its points, or a function."""

    scale: Expr
    table: tuple[tuple[float, float], ...] = ()
    function: Callable[[float], float] | None = None

    @property
    def uniform(self) -> bool:
        return not self.table and self.function is None

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where it may have kinks."""
        if self.table:
            return tuple(sorted({x for x, _ in self.table}))
        return () if self.uniform else tuple(i / _PANELS for i in range(_PANELS + 1))

    def at(self, x: np.ndarray) -> np.ndarray:
        """Values at points x/L, without the scale."""
        if self.table:
            places, found = zip(*self.table, strict=True)
            return np.asarray(np.interp(x, places, found))
        if self.function is None:
            return np.ones_like(x)
        return np.array([float(self.function(e)) for e in x.tolist()])


def section(value: Any, what: str) -> Section:
    """Read what a user gives for a quantity along a beam; `what` names it in messages."""
    if isinstance(value, Section):
        return value
    if callable(value) and not isinstance(value, Expr):
        return _of_function(value, what)
    if isinstance(value, (list, tuple, np.ndarray)):
        return _of_table(value, what)
    return Section(positive(value, what))


def positive(value: Any, what: str) -> Expr:
    """Read a number above 0, or an expression."""
    e = scalar(value, what)
    x = e.number
    if x is not None and x <= 0:
        raise fault(f"{what} is {x:.6g}, expected more than 0.")
    return e


def samples(a: Expr, b: Expr) -> list[float]:
    """a/b at some values of their symbols, which are taken as positive: near each other, and of any size."""
    draw = random.Random(1)
    names = sorted(free_symbols([a, b]), key=str)
    found = []
    for size in (*[0.2] * 3, *[3.0] * 30 * bool(names)):
        above, below = evaluate([a, b], {s: 10 ** draw.uniform(-size, size) for s in names})
        found.append(above / below if below else math.nan)
    return found


def proportion(a: Expr, b: Expr) -> float | None:
    """The number that a/b is, whatever values its symbols have; None where it depends on them."""
    found = samples(a, b)[:3]
    middle = sorted(found)[1]
    if not max(found) - min(found) <= 1e-12 * max(abs(middle), 1e-3):  # nor if it is undefined
        return None
    simple = round(middle * 5040) / 5040  # of halves, thirds, ..., tenths
    return simple if abs(middle - simple) < 1e-12 else middle


def times(scale: Expr, x: float) -> Expr:
    """scale * x, where 0 is 0 also if the scale could have a pole."""
    return scale * x if x else as_expr(0)


def _of_table(value: Any, what: str) -> Section:
    rows = [tuple(row) if isinstance(row, (list, tuple, np.ndarray)) else () for row in value]
    if len(rows) < 2 or any(len(row) != 2 for row in rows):
        raise fault(f"{what} is {value!r:.60}, expected a table of x/L and values: [(0, 2.0), (1, 1.5)].")
    table = []
    for x, y in rows:
        at, e = (scalar(part, f"{what}, table,").number for part in (x, y))
        if at is None or e is None:
            raise fault(f"{what}, table, has the row ({x}, {y}), expected numbers. Symbols stand for constants alone.")
        if e <= 0:
            raise fault(f"{what} is {e:.6g} at x/L = {at:.6g}, expected more than 0.")
        table.append((float(at), float(e)))
    places = [x for x, _ in table]
    if places[0] != 0 or places[-1] != 1 or places != sorted(places):
        raise fault(f"{what}, table, has x/L {places!r:.60}, expected them to rise from 0 to 1.")
    if any(a == b == c for a, b, c in zip(places, places[1:], places[2:], strict=False)) or places[1] == 0:
        raise fault(f"{what}, table, has x/L {places!r:.60}, expected each once, or twice where the section steps.")
    if places[-2] == 1:
        raise fault(f"{what}, table, has x/L = 1 twice, expected once.")
    return Section(as_expr(1), table=tuple(table))


def _of_function(value: Callable[[float], float], what: str) -> Section:
    made = Section(as_expr(1), function=value)
    areas = []
    for waves in (0.0, 500.0):  # two sets of points
        x, w = nodes(made.breaks, waves)
        try:
            y = made.at(x)
        except Exception as error:  # whatever the user's function raises
            raise fault(f"{what}: its function of x/L fails between 0 and 1: {error}.") from None
        for place, e in zip(x.tolist(), y.tolist(), strict=True):
            if not (math.isfinite(e) and e > 0):
                raise fault(f"{what} is {e:.6g} at x/L = {place:.4g}, expected more than 0.")
        areas.append(float(np.sum(w * y)))
    if abs(areas[0] - areas[1]) > 1e-9 * areas[1]:
        raise fault(
            f"{what}: its function of x/L steps, or varies too fast to be integrated. "
            "Give a table with x/L twice where it steps: [(0, 2), (0.5, 2), (0.5, 1), (1, 1)]."
        )
    return made


@lru_cache(maxsize=256)
def nodes(breaks: tuple[float, ...], waves: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre points and weights on parts of [0, 1], enough for what changes as e^{waves x}."""
    xs, ws = [], []
    for a, b in pairwise(breaks or (0.0, 1.0)):
        many = max(1, math.ceil(waves * (b - a) / 30))
        ends = [a + (b - a) * i / many for i in range(many)] + [b]
        for low, high in pairwise(ends):
            xs.append(low + (high - low) * (_POINTS + 1) / 2)
            ws.append((high - low) * _WEIGHTS / 2)
    return np.concatenate(xs), np.concatenate(ws)


_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(32)  # those of numpy lose digits where they are many
