"""Exact derivatives, forward for one direction and backward for a gradient."""

from __future__ import annotations

from collections.abc import Callable

from .algebra import add, div, mul, neg, power, sub
from .functions import cos, equal, less, less_equal, maximum, select, sign, sin, sqrt, tan, tanh
from .matrix import Matrix, vector
from .node import Expr, as_expr, const
from .walk import ExprOrMatrix, Exprs, roots_of, topological

ONE, ZERO = const(1), const(0)

# partial derivatives by each operand; None marks a partial that vanishes
_Partials = Callable[[Expr], tuple[Expr | None, ...]]


def _of_sqrt(e: Expr) -> tuple[Expr, ...]:
    return (div(ONE, mul(const(2), e)),)


def _of_inverse_sine(e: Expr) -> tuple[Expr, ...]:
    slope = div(ONE, sqrt(sub(ONE, power(e.args[0], 2))))
    return (slope if e.op == "asin" else neg(slope),)


def _of_atan2(e: Expr) -> tuple[Expr, ...]:
    y, x = e.args
    squared = add(power(x, 2), power(y, 2))
    return div(x, squared), neg(div(y, squared))


def _of_quotient(e: Expr) -> tuple[Expr, ...]:
    b = e.args[1]
    return div(ONE, b), neg(div(e, b))


_PARTIALS: dict[str, _Partials] = {
    "add": lambda e: (ONE, ONE),
    "sub": lambda e: (ONE, const(-1)),
    "neg": lambda e: (const(-1),),
    "mul": lambda e: (e.args[1], e.args[0]),
    "div": _of_quotient,
    "pow": lambda e: (mul(const(e.value), power(e.args[0], e.value - 1)),),
    "sqrt": _of_sqrt,
    "sin": lambda e: (cos(e.args[0]),),
    "cos": lambda e: (neg(sin(e.args[0])),),
    "tan": lambda e: (add(ONE, power(tan(e.args[0]), 2)),),
    "asin": _of_inverse_sine,
    "acos": _of_inverse_sine,
    "atan2": _of_atan2,
    "exp": lambda e: (e,),
    "log": lambda e: (div(ONE, e.args[0]),),
    "tanh": lambda e: (sub(ONE, power(tanh(e.args[0]), 2)),),
    "abs": lambda e: (sign(e.args[0]),),
    "sign": lambda e: (None,),
    "lt": lambda e: (None, None),
    "le": lambda e: (None, None),
    "eq": lambda e: (None, None),
}


def _branches(e: Expr) -> tuple[Expr, Expr, Expr] | None:
    """See select, min and max as (condition, if true, if false)."""
    if e.op == "select":
        condition, a, b = e.args
    elif e.op in ("min", "max"):
        a, b = e.args
        condition = less_equal(a, b) if e.op == "min" else less(b, a)
    else:
        return None
    return condition, a, b


def _slopes(order: list[Expr], seeds: dict[Expr, Expr]) -> dict[Expr, Expr]:
    """Forward pass: the slope of every node, given those of some symbols."""
    slopes = dict(seeds)
    for e in order:
        if not any(a in slopes for a in e.args):
            continue
        total: Expr | None = None
        if branches := _branches(e):
            # choose between slopes: a NaN of the other branch stays out
            condition, a, b = branches
            total = select(condition, slopes.get(a, ZERO), slopes.get(b, ZERO))
        else:
            for a, partial in zip(e.args, _PARTIALS[e.op](e), strict=True):
                if partial is not None and a in slopes:
                    term = _times(partial, slopes[a])
                    total = term if total is None else add(total, term)
        if total is not None and total is not ZERO:
            slopes[e] = total
    return slopes


def _times(partial: Expr, slope: Expr) -> Expr:
    """Multiply within a select that chooses 0, so that 0 times a pole of the partial stays 0."""
    guards: list[tuple[Expr, bool]] = []
    while slope.op == "select" and (slope.args[1] is ZERO or slope.args[2] is ZERO):
        condition, a, b = slope.args
        guards.append((condition, b is ZERO))
        slope = a if b is ZERO else b
    product = mul(partial, slope)
    for condition, taken in reversed(guards):
        product = select(condition, product, ZERO) if taken else select(condition, ZERO, product)
    return product


def _require_symbols(by: Exprs) -> list[Expr]:
    found = roots_of(by)
    for e in found:
        if not isinstance(e, Expr) or e.op != "symbol":
            raise TypeError(f"Derivative by {e!r}: expected a symbol. Substitute a symbol for it first.")
    return found


def diff(expr: ExprOrMatrix, by: Expr, order: int = 1) -> ExprOrMatrix:
    """Differentiate an expression or a matrix by a symbol, `order` times.

    >>> from polhode.graph import symbol
    >>> x = symbol("x")
    >>> diff(x**3, x)
    3*x**2
    """
    _require_symbols([by])
    if not isinstance(order, int) or order < 0:
        raise ValueError(f"Derivative of order {order!r}: expected a whole number, 0 or more.")
    for _ in range(order):
        expr = diff_along(expr, by, ONE)
    return expr


def diff_along(expr: ExprOrMatrix, by: Exprs, rates: Exprs) -> ExprOrMatrix:
    """Differentiate along a direction: the sum of d expr / d x_j times rate_j, in one pass.

    >>> from polhode.graph import symbols
    >>> x, y, v = symbols("x y v")
    >>> diff_along(x**2 * y, [x, y], [v, 0])
    2*v*x*y
    """
    columns, directions = _require_symbols(by), [as_expr(e) for e in roots_of(rates)]
    if len(columns) != len(directions):
        raise ValueError(f"Derivative along {len(directions)} rates by {len(columns)} symbols: give one for each.")
    seeds = {x: rate for x, rate in zip(columns, directions, strict=True) if rate is not ZERO}
    whole = expr if isinstance(expr, Matrix) else vector([expr])
    slopes = _slopes(topological(whole), seeds)
    along = Matrix(whole.shape, [slopes.get(e, ZERO) for e in whole.entries])
    return along if isinstance(expr, Matrix) else along.entries[0]


def jacobian(exprs: Exprs, by: Exprs) -> Matrix:
    """Differentiate every expression by every symbol: J[i, j] = d e_i / d x_j.

    Forward, one pass a symbol; the passes share their common subexpressions.
    """
    rows, columns = roots_of(exprs), _require_symbols(by)
    order = topological(rows)
    slopes = [_slopes(order, {x: ONE}) for x in columns]
    return Matrix((len(rows), len(columns)), [s.get(e, ZERO) for e in rows for s in slopes])


def gradient(expr: Expr, by: Exprs) -> Matrix:
    """Differentiate one expression by many symbols, backward in one pass.

    Costs a small multiple of the expression itself, however many symbols.
    """
    columns = _require_symbols(by)
    expr = as_expr(expr)
    order = topological(expr)
    wanted = set(columns)
    for e in order:
        if any(a in wanted for a in e.args):
            wanted.add(e)
    # backward pass: each node hands its adjoint to its operands, with the
    # guard under which it counts (None: always), so that no branch that was
    # not taken leaks its NaN
    adjoint: dict[Expr, _Guarded] = {expr: (None, ONE)}
    for e in reversed(order):
        if e not in adjoint or e not in wanted or not e.args:
            continue
        for a, term in _handed_down(e, *adjoint[e]):
            if a in wanted and term[1] is not ZERO:
                adjoint[a] = _join(adjoint[a], term) if a in adjoint else term
    return Matrix((len(columns),), [_close(adjoint.get(x, (None, ZERO))) for x in columns])


_Guarded = tuple[Expr | None, Expr]


def _handed_down(e: Expr, guard: Expr | None, total: Expr) -> list[tuple[Expr, _Guarded]]:
    if branches := _branches(e):
        condition, a, b = branches
        otherwise = equal(condition, ZERO)  # guards are 1 or 0, whatever the condition is
        guards = [sub(ONE, otherwise), otherwise]
        if guard is not None:
            guards = [mul(guard, g) for g in guards]
        return [(a, (guards[0], total)), (b, (guards[1], total))]
    pairs = zip(e.args, _PARTIALS[e.op](e), strict=True)
    return [(a, (guard, mul(total, partial))) for a, partial in pairs if partial is not None]


def _close(term: _Guarded) -> Expr:
    guard, total = term
    return total if guard is None else select(guard, total, ZERO)


def _join(first: _Guarded, second: _Guarded) -> _Guarded:
    if first[0] is second[0]:
        return first[0], add(first[1], second[1])
    guard = None if first[0] is None or second[0] is None else maximum(first[0], second[0])
    return guard, add(_close(first), _close(second))
