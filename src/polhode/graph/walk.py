"""Walks over shared graphs: each node once, and no recursion to overflow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from .algebra import halves
from .functions import BUILD
from .matrix import Matrix
from .node import Expr, as_expr, symbol
from .ops import OPS

ExprOrMatrix = TypeVar("ExprOrMatrix", Expr, Matrix)

_KINDS = list(dict.fromkeys(["mul", "add", "div", *(op.kind for op in OPS.values())]))

Exprs = Expr | Matrix | Iterable[Expr]


def roots_of(exprs: Exprs) -> list[Expr]:
    """Accept one expression, a matrix, or any collection of expressions."""
    if isinstance(exprs, Expr):
        return [exprs]
    return list(exprs.entries) if isinstance(exprs, Matrix) else [as_expr(e) for e in exprs]


def topological(exprs: Exprs) -> list[Expr]:
    """List every node below the roots, operands before what uses them.

    Depth first, so the order depends on the structure alone, and a value is
    computed near its first use.
    """
    order: list[Expr] = []
    done: set[int] = set()  # by id: all nodes live while their roots do
    stack: list[Expr] = roots_of(exprs)[::-1]
    while stack:
        e = stack[-1]
        if id(e) in done:
            stack.pop()
            continue
        waiting = [a for a in e.args if id(a) not in done]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        done.add(id(e))
        order.append(e)
    return order


def free_symbols(exprs: Exprs) -> set[Expr]:
    """Collect the symbols the expressions depend on."""
    return {e for e in topological(exprs) if e.op == "symbol"}


def op_counts(exprs: Exprs) -> dict[str, int]:
    """Count the operations that evaluate the expressions, by kind.

    A shared node counts once and a constant subexpression not at all. A power
    counts the multiplications of its expansion.
    """
    counts: dict[str, int] = {}
    constant: set[Expr] = set()
    for e in expand_powers(exprs):
        if e.op == "const" or (e.args and all(a in constant for a in e.args)):
            constant.add(e)
        elif e.op != "symbol":
            kind = OPS[e.op].kind
            counts[kind] = counts.get(kind, 0) + 1
    return {kind: counts[kind] for kind in _KINDS if kind in counts}


def expand_powers(exprs: Exprs) -> list[Expr]:
    """List the nodes in topological order, with the powers a power is built from.

    x**n comes after x**(n//2) and x**(n - n//2), for n of 2 and more.
    """
    order: list[Expr] = []
    powers: set[Expr] = set()
    for e in topological(exprs):
        if e.op != "pow":
            order.append(e)
            continue
        chain = [e]
        found = {e}
        for power in chain:  # grows while it is read
            new = {p for p in halves(power) if p.op == "pow"} - powers - found
            found |= new
            chain.extend(new)
        for power in sorted(found - powers, key=lambda p: p.value):
            powers.add(power)
            order.append(power)
    return order


def rebuild(exprs: Exprs, leaf: Callable[[Expr], Expr | None]) -> dict[Expr, Expr]:
    """Map every node below the roots to its image.

    `leaf(e)` gives the image of e, or None to rebuild it from its operands.
    """
    image: dict[Expr, Expr] = {}
    for e in topological(exprs):
        new = leaf(e)
        if new is None:
            args = tuple([image[a] for a in e.args])
            same = all(x is y for x, y in zip(args, e.args, strict=True))
            new = e if same else BUILD[e.op](*args, *(() if e.value is None else (e.value,)))
        image[e] = new
    return image


def bindings(values: Mapping[Any, Any]) -> dict[Expr, Any]:
    """Read {symbol or name or expression: value}, and {vector: values}, entry by entry."""
    found: dict[Expr, Any] = {}
    for key, value in values.items():
        if not isinstance(key, Matrix):
            found[symbol(key) if isinstance(key, str) else as_expr(key)] = value
            continue
        entries = list(value.entries if isinstance(value, Matrix) else value)
        if len(entries) != len(key.entries):
            raise ValueError(f"Vector {key!r:.60} has {len(key.entries)} entries, but {len(entries)} values are given.")
        found.update(zip(key.entries, entries, strict=True))
    return found


def substitute(expr: ExprOrMatrix, values: Mapping[Any, Any]) -> ExprOrMatrix:
    """Replace symbols, or any subexpressions, all at once, in an expression or a matrix.

    Keys are expressions, names of symbols, or vectors of symbols.

    >>> from polhode.graph import symbols
    >>> x, y = symbols("x y")
    >>> substitute(x * y, {x: y, y: x}) is x * y
    True
    """
    if not values:
        return expr
    new = {old: as_expr(value) for old, value in bindings(values).items()}
    image = rebuild(expr, new.get)
    return expr.map(image.__getitem__) if isinstance(expr, Matrix) else image[expr]
