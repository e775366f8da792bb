"""Sums of products written out: {atoms with their powers: constant}, powers also negative."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from typing import TypeVar

from .node import Expr, Number

MOST_TERMS = 120  # of an expression written out; longer ones stay as they are

ARITHMETIC = ("add", "sub", "neg", "mul", "pow", "div")

Sum = TypeVar("Sum")  # a polynomial, and what else is known of it
Monomial = tuple[tuple[Expr, int], ...]  # in order of rank
Polynomial = dict[Monomial, Number]


def written_out(root: Expr, sums: dict[Expr, Sum | None], sum_of: Callable[[Expr], Sum | None]) -> Sum | None:
    """The terms of an expression, from those of its operands, which are added to `sums`; None where too many."""
    waiting = [root]
    while waiting:
        e = waiting[-1]
        missing = [a for a in e.args if a not in sums] if e.op in ARITHMETIC else []
        if missing and e not in sums:
            waiting += missing
            continue
        waiting.pop()
        if e not in sums:
            sums[e] = sum_of(e)
    return sums[root]


def times(a: Monomial, b: Monomial) -> Monomial:
    powers = dict(a)
    for e, n in b:
        powers[e] = powers.get(e, 0) + n
    return tuple(sorted(((e, n) for e, n in powers.items() if n), key=lambda item: item[0].rank))


def over(poly: Polynomial, by: Monomial) -> Polynomial:
    """Every term divided by a product."""
    down = tuple((e, -n) for e, n in by)
    return {times(m, down): k for m, k in poly.items()}


def plus(a: Polynomial, b: Polynomial, sign: int = 1) -> Polynomial:
    found = dict(a)
    for m, k in b.items():
        found[m] = found.get(m, 0) + sign * k
    return {m: k for m, k in found.items() if k}


def limited(poly: Polynomial | None) -> Polynomial | None:
    return None if poly is None or len(poly) > MOST_TERMS else poly


def product(a: Polynomial | None, b: Polynomial | None, most: int = 4 * MOST_TERMS) -> Polynomial | None:
    """None where there are too many terms, or more than `most` before they meet."""
    if a is None or b is None or len(a) * len(b) > most:
        return None
    found: Polynomial = {}
    for x, j in a.items():
        for y, k in b.items():
            m = times(x, y)
            found[m] = found.get(m, 0) + j * k
    return limited({m: k for m, k in found.items() if k})


def common(a: Monomial, b: Monomial) -> Monomial:
    """What two products share, of each sign of the powers."""
    other = dict(b)
    shared = ((e, n, other.get(e, 0)) for e, n in a)
    return tuple((e, min(n, k) if n > 0 else max(n, k)) for e, n, k in shared if n * k > 0)


def shared(poly: Polynomial) -> Monomial:
    """What all terms share."""
    return reduce(common, poly)


def ratio(a: Number, b: Number) -> Number:
    return a / b if isinstance(a, float) or isinstance(b, float) else Fraction(a) / Fraction(b)


def content(poly: Polynomial) -> Number:
    """The constant that all terms share: what is left has whole numbers without common divisor."""
    values = list(poly.values())
    if any(isinstance(k, float) for k in values):
        sizes = {k if k > 0 else -k for k in values}
        return sizes.pop() if len(sizes) == 1 else 1
    exact = [Fraction(k) for k in values]
    return Fraction(reduce(gcd, (k.numerator for k in exact)), reduce(lcm, (k.denominator for k in exact)))


def quotient(poly: Polynomial, below: Polynomial) -> Polynomial | None:
    """poly / below where there is no remainder and all is exact; None otherwise."""
    if any(isinstance(k, float) for k in (*poly.values(), *below.values())):
        return None
    atoms = sorted({a for m in (*poly, *below) for a, _ in m}, key=lambda e: e.rank)
    dividing = {a for m in below for a, _ in m}

    def height(m: Monomial) -> list[int]:
        powers = dict(m)
        return [powers.get(a, 0) for a in atoms]

    top = max(below, key=height)
    found: Polynomial = {}
    for _ in range(MOST_TERMS):
        if not poly:
            return found
        lead = max(poly, key=height)
        step = times(lead, tuple((a, -n) for a, n in top))
        if any(n < 0 and a in dividing for a, n in step):
            return None
        found[step] = ratio(poly[lead], below[top])
        poly = plus(poly, {times(step, m): k * found[step] for m, k in below.items()}, -1)
    return None
