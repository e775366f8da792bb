"""Which runs a study makes: grids, rows, and samples drawn from ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from .table import Table

_MOST = 100_000_000  # runs


def grid(values: Mapping[str, Any]) -> Table:
    """All combinations of values by name; the last name changes fastest."""
    columns = {str(name): _column(name, given) for name, given in values.items()}
    count = int(np.prod([len(column) for column in columns.values()], dtype=float))
    if count > _MOST:
        raise ValueError(f"A grid of {count:,} runs, expected at most {_MOST:,}. Draw some of them: ph.sample(...).")
    if not columns or not count:
        raise ValueError('A grid of no runs. Give values by name, {"m": [1, 2, 3]}.')
    parts = np.meshgrid(*columns.values(), indexing="ij")
    return Table({name: part.ravel() for name, part in zip(columns, parts, strict=True)})


def rows(values: Any) -> Table:
    """Runs one by one: columns by name as a Table or DataFrame, or a list of dicts."""
    if isinstance(values, Table):
        return values
    if isinstance(values, Sequence) and values and all(isinstance(row, Mapping) for row in values):
        names = list(values[0])
        for i, row in enumerate(values):
            if {*row} != {*names}:
                raise ValueError(f"Row {i} has {', '.join(map(str, row))}, expected {', '.join(map(str, names))}.")
        values = {name: [row[name] for row in values] for name in names}
    elif not hasattr(values, "keys"):
        raise TypeError(f"rows takes columns by name or a list of dicts, found {values!r:.60}.")
    found = Table({str(name): _column(name, values[name]) for name in values})
    if not found.rows:
        raise ValueError("There are no rows, expected one or more.")
    return found


def sample(ranges: Mapping[str, Any], count: int, seed: int = 0, how: str = "latin") -> Table:
    """Draw runs at random.

    ranges : by name, (least, most) for even chances, ("log", least, most) for even chances of the logarithm, or
             ("normal", mean, deviation)
    how    : "latin", a Latin hypercube: of every quantity one value in each of `count` parts of equal chance;
             or "random", all independent

    The same seed draws the same numbers.
    """
    if not isinstance(count, int) or isinstance(count, bool) or not 0 < count <= _MOST:
        raise ValueError(f"count is {count!r:.40}, expected a whole number of runs, 1 or more.")
    if how not in ("latin", "random"):
        raise ValueError(f'how is {how!r:.40}, expected "latin" or "random".')
    if not ranges:
        raise ValueError('ranges is empty, expected (least, most) by name, {"m": (1, 5)}.')
    try:
        random = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ValueError(f"seed is {seed!r:.40}, expected a whole number, 0 or more.") from None
    found = {}
    for name, given in ranges.items():
        chance = random.random(count)
        if how == "latin":
            chance = (random.permutation(count) + chance) / count
        found[str(name)] = _drawn(name, given, chance)
    return Table(found)


def _drawn(name: Any, given: Any, chance: np.ndarray) -> np.ndarray:
    try:
        kind, *numbers = given if isinstance(given[0], str) else ("even", *given)
        a, b = map(float, numbers)
    except (TypeError, ValueError, IndexError, KeyError):
        raise ValueError(f"ranges: {str(name)!r} is {given!r:.60}, expected (least, most).") from None
    if not np.isfinite([a, b]).all():
        raise ValueError(f"ranges: {str(name)!r} is {given!r:.60}, expected finite numbers.")
    if kind == "even" and a < b:
        return a + (b - a) * chance
    if kind == "log" and 0 < a < b:
        found: np.ndarray = a * (b / a) ** chance
        return found
    if kind == "normal" and b > 0:
        inside = np.clip(chance, 1e-16, 1 - 1e-16)
        return np.array([NormalDist(a, b).inv_cdf(x) for x in inside.tolist()])
    raise ValueError(
        f'ranges: {str(name)!r} is {given!r:.60}, expected (least, most), ("log", least, most) with 0 < least, or '
        '("normal", mean, deviation) with a deviation above 0.'
    )


def _column(name: Any, given: Any) -> np.ndarray:
    try:
        found = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        raise TypeError(f"over: {str(name)!r} is {given!r:.60}, expected numbers.") from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError(f"over: {str(name)!r} is {given!r:.60}, expected finite numbers, (k,).")
    return found
