"""Sums without terms that cancel: for expressions that a person will read."""

from __future__ import annotations

from functools import reduce
from math import inf

from .algebra import add, mul, power
from .functions import BUILD
from .matrix import Matrix
from .node import Expr, const
from .polynomial import ARITHMETIC, Monomial, Polynomial, over, plus, product, ratio, shared, written_out
from .printing import tree_size
from .walk import ExprOrMatrix, topological

MOST_TERMS = 48  # of a sum written out; longer ones stay as they are
PASSES = 4  # what one pass collects, the next may cancel

_Sum = tuple[int, Polynomial]  # terms as written, terms once they met


def tidy(expr: ExprOrMatrix) -> ExprOrMatrix:
    """Cancel and collect the terms of sums that are alike once products are written out.

    Only a sum in which terms meet is rewritten, and only if it gets shorter.
    What can have a pole is left alone, as everywhere.

    >>> from polhode.graph import symbols
    >>> a, b, c = symbols("a b c")
    >>> tidy(a * (b + c) - (a * c) * 2 + c * a)
    a*b
    """
    for _ in range(PASSES):
        before, expr = expr, _pass(expr)
        if expr == before:
            break
    return expr


def _pass(expr: ExprOrMatrix) -> ExprOrMatrix:
    image: dict[Expr, Expr] = {}
    sums: dict[Expr, _Sum | None] = {}
    for e in topological(expr):  # operands before what uses them
        made = e
        args = [image[a] for a in e.args]
        if any(x is not y for x, y in zip(args, e.args, strict=True)):
            made = BUILD[e.op](*args, *(() if e.value is None else (e.value,)))
        image[e] = _collected(made, sums) if made.op in ("add", "sub") else made
    return expr.map(image.__getitem__) if isinstance(expr, Matrix) else image[expr]


def _collected(e: Expr, sums: dict[Expr, _Sum | None]) -> Expr:
    """The sum with its like terms collected, where that makes it shorter."""
    found = written_out(e, sums, lambda a: _terms(a, sums))
    if found is None or len(found[1]) == found[0]:
        return e
    made = _rebuilt(found[1])
    return made if tree_size(made) < tree_size(e) else e


def _terms(e: Expr, sums: dict[Expr, _Sum | None]) -> _Sum | None:
    if e.op == "const":
        return (1, {(): e.value}) if e.value else (0, {})
    scaled = e.op == "div" and e.args[1].op == "const" and e.args[1].value not in (0, inf, -inf)
    if not e.regular or e.op not in ARITHMETIC or (e.op == "div" and not scaled):
        return 1, {((e, 1),): 1}
    args = [sums[a] for a in e.args]
    known = [a for a in args if a is not None]
    if len(known) < len(args):
        return None
    (count, first), (more, second) = known[0], known[-1]
    if e.op == "pow":
        return _product([known[0]] * e.value) if len(first) == 1 or e.value == 2 else (1, {((e, 1),): 1})
    if e.op == "mul":
        return _product(known)
    if scaled:
        return count, {m: k * ratio(1, e.args[1].value) for m, k in first.items()}
    if e.op == "neg":
        return count, {m: -k for m, k in first.items()}
    met = plus(first, second, 1 if e.op == "add" else -1)
    return (count + more, met) if len(met) <= MOST_TERMS else None


def _product(factors: list[_Sum]) -> _Sum | None:
    count, poly = factors[0]
    for more, others in factors[1:]:
        found = product(poly, others, MOST_TERMS)
        if found is None:
            return None
        count, poly = count * more, found
    return count, poly


def _rebuilt(poly: Polynomial) -> Expr:
    """The sum of the terms, what all of them share in front."""
    if not poly:
        return const(0)
    front = shared(poly)
    ordered = dict(sorted(poly.items(), key=lambda item: [(e.rank, n) for e, n in item[0]]))
    total: Expr = const(0)
    for m, k in over(ordered, front).items():
        total = add(total, mul(const(k), _monomial(m)))
    return mul(_monomial(front), total)


def _monomial(m: Monomial) -> Expr:
    return reduce(mul, (power(e, n) for e, n in m), const(1))
