"""Entries of A and B by the names of their row and column."""

from __future__ import annotations

from typing import Any

from polhode.model.errors import closest


def entry(lin: Any, places: Any) -> Any:
    """The entry of A, or of B: lin["x_dot", "theta"], and lin["x_dot", "[x_dot]"] of an input called like a speed."""
    if not (isinstance(places, tuple) and len(places) == 2 and all(isinstance(name, str) for name in places)):
        raise KeyError(f"{places!r:.60}: expected the names of a row and a column, lin[{lin.states[-1]!r}, ...].")
    row, column = places
    if row not in lin.states:
        raise KeyError(f"There is no state {row!r}. {closest(row, lin.states)}")
    i, inner = lin.states.index(row), column[1:-1] if column.startswith("[") else column
    if column in lin.states:
        return lin.A[i, lin.states.index(column)]
    if inner in lin.inputs:
        return lin.B[i, lin.inputs.index(inner)]
    raise KeyError(
        f"There is no state or input {column!r}. {closest(column, [*lin.states, *lin.inputs])} "
        'Of an input that is called like a speed: "[x_dot]".'
    )
