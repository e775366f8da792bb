"""Sums without terms that cancel: for expressions that a person will read."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import inf

from .algebra import add, mul, power
from .functions import BUILD
from .matrix import Matrix
from .node import Expr, const
from .printing import tree_size
from .walk import ExprOrMatrix, topological

MOST_TERMS = 48  # of a sum written out; longer ones stay as they are
PASSES = 4  # what one pass collects, the next may cancel

_ARITHMETIC = ("add", "sub", "neg", "mul", "pow", "div")
_Monomial = tuple[tuple[Expr, int], ...]  # factors with their powers, in order of rank
_Sum = tuple[int, dict[_Monomial, int | float | Fraction]]  # terms as written, terms once they met


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
    found = _written_out(e, sums)
    if found is None or len(found[1]) == found[0]:
        return e
    made = _rebuilt(found[1])
    return made if tree_size(made) < tree_size(e) else e


def _written_out(root: Expr, sums: dict[Expr, _Sum | None]) -> _Sum | None:
    """The terms of an expression, None where there are too many."""
    waiting = [root]
    while waiting:
        e = waiting[-1]
        missing = [a for a in e.args if a not in sums] if e.op in _ARITHMETIC else []
        if missing and e not in sums:
            waiting += missing
            continue
        waiting.pop()
        if e not in sums:
            sums[e] = _terms(e, [sums[a] for a in e.args] if e.op in _ARITHMETIC else [])
    return sums[root]


def _terms(e: Expr, args: list[_Sum | None]) -> _Sum | None:
    if e.op == "const":
        return (1, {(): e.value}) if e.value else (0, {})
    scaled = e.op == "div" and e.args[1].op == "const" and e.args[1].value not in (0, inf, -inf)
    if not e.regular or e.op not in _ARITHMETIC or (e.op == "div" and not scaled):
        return 1, {((e, 1),): 1}
    known = [a for a in args if a is not None]
    if len(known) < len(args):
        return None
    if e.op == "pow":
        return _product([known[0]] * e.value) if len(known[0][1]) == 1 or e.value == 2 else (1, {((e, 1),): 1})
    if e.op == "mul":
        return _product(known)
    first = known[0]
    if scaled:
        by = e.args[1].value
        inverse = 1 / by if isinstance(by, float) else Fraction(1) / by
        return first[0], {m: k * inverse for m, k in first[1].items()}
    if e.op == "neg":
        return first[0], {m: -k for m, k in first[1].items()}
    met = dict(first[1])
    for m, k in known[1][1].items():
        met[m] = met.get(m, 0) + (k if e.op == "add" else -k)
    return _limited(first[0] + known[1][0], met)


def _product(factors: list[_Sum]) -> _Sum | None:
    count, terms = factors[0]
    for more, others in factors[1:]:
        count *= more
        if len(terms) * len(others) > MOST_TERMS:
            return None
        met: dict[_Monomial, int | float | Fraction] = {}
        for a, j in terms.items():
            for b, k in others.items():
                m = _times(a, b)
                met[m] = met.get(m, 0) + j * k
        terms = {m: k for m, k in met.items() if k}
    return _limited(count, terms)


def _limited(count: int, terms: dict[_Monomial, int | float | Fraction]) -> _Sum | None:
    terms = {m: k for m, k in terms.items() if k}
    return (count, terms) if len(terms) <= MOST_TERMS else None


def _times(a: _Monomial, b: _Monomial) -> _Monomial:
    powers = dict(a)
    for e, n in b:
        powers[e] = powers.get(e, 0) + n
    return tuple(sorted(powers.items(), key=lambda item: item[0].rank))


def _rebuilt(terms: dict[_Monomial, int | float | Fraction]) -> Expr:
    """The sum of the terms, what all of them share in front."""
    if not terms:
        return const(0)
    shared: dict[Expr, int] = reduce(
        lambda a, b: {e: min(n, b[e]) for e, n in a.items() if e in b}, (dict(m) for m in terms)
    )
    total: Expr = const(0)
    for m, k in sorted(terms.items(), key=lambda item: [(e.rank, n) for e, n in item[0]]):
        total = add(total, mul(const(k), _monomial({e: n - shared.get(e, 0) for e, n in m})))
    return mul(_monomial(shared), total)


def _monomial(powers: dict[Expr, int]) -> Expr:
    return reduce(mul, (power(e, n) for e, n in powers.items() if n), const(1))
