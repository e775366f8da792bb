"""The plain interpreter: slow, obvious, the reference for everything compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, overload

from .matrix import Matrix
from .node import Expr, name_some, plain_number
from .scalar import FLOAT, Table, mpmath_table
from .walk import bindings, roots_of, topological

if TYPE_CHECKING:
    import numpy as np


@overload
def evaluate(exprs: Expr, values: Mapping[Any, Any], digits: int | None = None) -> Any: ...
@overload
def evaluate(exprs: Matrix, values: Mapping[Any, Any], digits: int | None = None) -> np.ndarray: ...
@overload
def evaluate(exprs: Iterable[Expr], values: Mapping[Any, Any], digits: int | None = None) -> list[Any]: ...
def evaluate(exprs: Expr | Iterable[Expr], values: Mapping[Any, Any], digits: int | None = None) -> Any:
    """Evaluate at the given values of the symbols (by symbol, by name, or by vector).

    In floats, or with `digits` in mpmath at that many decimal digits. One expression gives a number, a
    matrix an array of its shape, any other collection a list.

    >>> from polhode.graph import symbol
    >>> x = symbol("x")
    >>> evaluate(x**2 + 1, {"x": 3.0})
    10.0
    """
    roots = roots_of(exprs)
    given = bindings(values)
    for key, value in given.items():
        if not isinstance(value, Real):
            raise TypeError(f"Value of {key!r}: expected a number, found {value!r:.60}.")
    if digits is None:
        results = _run(roots, {k: float(v) for k, v in given.items()}, FLOAT)
    else:
        from mpmath import mp

        with mp.workdps(digits):
            table = mpmath_table()
            exact = {k: v if isinstance(v, mp.mpf) else table["const"](plain_number(v)) for k, v in given.items()}
            results = _run(roots, exact, table)
    if isinstance(exprs, Matrix):
        import numpy as np

        return np.array(results, dtype=float if digits is None else object).reshape(exprs.shape)
    return results[0] if isinstance(exprs, Expr) else results


def _run(roots: list[Expr], given: dict[Expr, Any], table: Table) -> list[Any]:
    order = topological(roots)
    missing = [e for e in order if e.op == "symbol" and e not in given]
    if missing:
        raise ValueError(f"No value for {name_some(missing)}. Give evaluate a value for every symbol.")
    value: dict[Expr, Any] = dict(given)
    for e in order:
        if e.op == "const":
            value[e] = table["const"](e.value)
        elif e not in value:
            extra = () if e.value is None else (e.value,)
            value[e] = table[e.op](*[value[a] for a in e.args], *extra)
    return [value[e] for e in roots]
