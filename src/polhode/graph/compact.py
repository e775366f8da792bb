"""Short forms of expressions that a person will read: quotients cancelled, common factors taken out.

Poles that cancel are gone: x * y / x becomes y, which it is wherever the quotient
exists. `tidy` leaves them, and is for all expressions.
"""

from __future__ import annotations

from math import inf
from typing import cast

from .factor import factored
from .functions import cos, sin
from .matrix import Matrix
from .node import Expr, const
from .polynomial import (
    ARITHMETIC,
    Monomial,
    Polynomial,
    content,
    limited,
    over,
    plus,
    product,
    quotient,
    ratio,
    shared,
    times,
    written_out,
)
from .printing import tree_size
from .walk import ExprOrMatrix, op_counts, topological

LARGE = 1500  # operations written out beyond which an expression is for machines
ROUNDED = 60  # the same for one with floats, whose terms seldom meet


def compact(expr: ExprOrMatrix) -> ExprOrMatrix:
    """Write every entry as briefly as cancelling and factoring can, if that is shorter than it was.

    >>> from polhode.graph import symbols, sin, cos
    >>> a, b, x = symbols("a b x")
    >>> compact((a * b * sin(x) ** 2 + a * b * cos(x) ** 2 + a * x) / a)
    b + x
    """
    short = _short_ones(expr)
    if not isinstance(expr, Matrix):
        return _shortest(expr) if expr in short else expr
    made = expr.map(lambda e: _shortest(e) if e in short else e)
    return expr if made == expr else min(expr, made, key=_length)


def _length(m: Matrix) -> tuple[int, int]:
    return sum(op_counts(m).values()), tree_size(m)


def _short_ones(expr: Expr | Matrix) -> set[Expr]:
    """What is short enough to be rewritten, of all that the expressions are made of."""
    size: dict[Expr, int] = {}
    rounded: set[Expr] = set()
    for e in topological(expr):
        size[e] = min((e.op not in ("const", "symbol")) + sum(size[a] for a in e.args), LARGE + 1)
        if isinstance(e.value, float) or any(a in rounded for a in e.args):
            rounded.add(e)
    return {e for e, n in size.items() if 0 < n <= (ROUNDED if e in rounded else LARGE)}


def _shortest(e: Expr) -> Expr:
    writing = _Writing()
    whole = writing.without_roots(writing.written_out(e))
    return e if whole is None else min([e, *reversed(writing.variants(whole))], key=tree_size)


class _Writing:
    """One expression being rewritten: its sums written out, and what the sums in its denominators are."""

    def __init__(self) -> None:
        self.sums: dict[Expr, Polynomial | None] = {}
        self.denominators: dict[Expr, Polynomial] = {}

    def written_out(self, root: Expr) -> Polynomial | None:
        """The terms of an expression, None where there are too many."""
        return written_out(root, self.sums, self._terms)

    def _terms(self, e: Expr) -> Polynomial | None:
        if e.op == "const":
            return None if abs(e.value) == inf or e.value != e.value else ({(): e.value} if e.value else {})
        if e.op not in ARITHMETIC:
            return {((e, 1),): 1}
        args = [self.sums[a] for a in e.args]
        if None in args:
            return None
        first, *rest = cast("list[Polynomial]", args)
        if e.op == "pow":
            power: Polynomial | None = first
            for _ in range(e.value - 1):
                power = product(power, first)
            return power
        if e.op == "mul":
            return product(first, rest[0])
        if e.op == "div":
            return product(first, self._inverted(rest[0]))
        if e.op == "neg":
            return {m: -k for m, k in first.items()}
        return limited(plus(first, rest[0], 1 if e.op == "add" else -1))

    def _inverted(self, below: Polynomial) -> Polynomial | None:
        """One over a sum: over each factor that its terms share, and over the rest as an atom.

        What its terms are divided by comes up: 1 / (a + b / c) = c / (a c + b).
        """
        divisors = _divisors(below)
        above, whole = self._opened(over({(): 1}, divisors)), self._opened(over(below, divisors))
        front, rest = _parted(whole or {})
        if not rest:
            return None
        scale = content(rest)
        atom = factored({m: ratio(k, scale) for m, k in rest.items()})
        if atom.op == "neg":
            atom, scale = atom.args[0], -scale
        found = product(above, over({(): ratio(1, scale)}, front))
        if atom == const(1):
            return found
        self.denominators[atom] = {m: ratio(k, scale) for m, k in rest.items()}
        return product(found, {((atom, -1),): 1})

    def _opened(self, poly: Polynomial) -> Polynomial | None:
        """Write out the sums that stood in denominators and came up."""
        found: Polynomial | None = {}
        for m, k in poly.items():
            image: Polynomial | None = {tuple((e, n) for e, n in m if n < 0 or e not in self.denominators): k}
            for e, n in m:
                for _ in range(n if e in self.denominators else 0):
                    image = product(image, self.denominators[e])
            found = None if found is None or image is None else limited(plus(found, image))
        return found

    def without_roots(self, poly: Polynomial | None) -> Polynomial | None:
        """Replace the squares of square roots, and one over them, by what the roots are of."""
        found: Polynomial | None = {}
        for m, k in (poly or {}).items():
            image: Polynomial | None = {m: k}
            for atom, n in m:
                if atom.op == "sqrt" and abs(n) > 1:
                    inside = self.written_out(atom.args[0])
                    factor = self._inverted(inside) if n < 0 and inside is not None else inside
                    image = product(image, {((atom, -2 * (n // 2) if n > 0 else 2 * (-n // 2)),): 1})
                    for _ in range(abs(n) // 2):
                        image = product(image, factor)
            found = None if found is None or image is None else limited(plus(found, image))
        return None if poly is None else found

    def variants(self, whole: Polynomial) -> list[Expr]:
        """The sum as it is, and with squares of sines or cosines replaced by those of the other, angle by angle."""
        angles = {a.args[0] for m in whole for a, n in m if a.op in ("sin", "cos") and n > 1}
        found = [factored(self._cancelled(whole))]
        if not angles:
            return found
        whole = self._cancelled(_without_squares(whole, {}))
        best = factored(whole)
        by_sine: dict[Expr, str] = {}
        for angle in sorted(angles, key=lambda e: e.rank):
            other = factored(self._cancelled(_without_squares(whole, by_sine | {angle: "sin"})))
            if tree_size(other) < tree_size(best):
                by_sine, best = by_sine | {angle: "sin"}, other
        return [*found, best]

    def _cancelled(self, poly: Polynomial) -> Polynomial:
        """Divide by the sums in the denominators where that leaves no remainder."""
        for atom, below in self.denominators.items():
            for n in sorted({n for m in poly for a, n in m if a is atom and n < 0}):
                above = {m: k for m, k in poly.items() if (atom, n) in m}
                whole = quotient(over(above, ((atom, n),)), below)
                if whole is not None:
                    left = {m: k for m, k in poly.items() if m not in above}
                    poly = plus(left, over(whole, ((atom, -n - 1),)))
        return poly


def _divisors(poly: Polynomial) -> Monomial:
    """What terms are divided by, where one of them is divided by all of it; nothing otherwise.

    1 / (a / b + c / d) stays: b d / (a d + c b) is 0 / 0 where b and d vanish together.
    """
    lowest: dict[Expr, int] = {}
    for e, n in (factor for m in poly for factor in m if factor[1] < 0):
        lowest[e] = min(lowest.get(e, 0), n)
    if not any(lowest.items() <= dict(m).items() for m in poly):
        return ()
    return tuple(sorted(lowest.items(), key=lambda item: item[0].rank))


def _parted(poly: Polynomial) -> tuple[Monomial, Polynomial]:
    """What all terms share, and the rest without squares of sines.

    1 - cos^2 is shared as sin^2: near its zero the difference has no digits.
    """
    front = shared(poly) if poly else ()
    rest = _without_squares(over(poly, front), {})
    angles = {a.args[0] for m in rest for a, n in m if a.op == "cos" and n > 1}
    for by_sine in ({}, *({angle: "sin"} for angle in sorted(angles, key=lambda e: e.rank))):
        written = _without_squares(rest, by_sine)
        if written and (factor := shared(written)):
            front, rest = times(front, factor), _without_squares(over(written, factor), {})
    return front, rest


def _without_squares(poly: Polynomial, by_sine: dict[Expr, str]) -> Polynomial:
    """Replace sin^2 by 1 - cos^2, or for the angles where the sine is to stay cos^2 by 1 - sin^2."""
    found: Polynomial = {}
    waiting = list(poly.items())
    while waiting:
        m, k = waiting.pop()
        for atom, n in m:
            if n > 1 and atom.op in ("sin", "cos") and atom.op != by_sine.get(atom.args[0], "cos"):
                rest = times(m, ((atom, -2),))
                other = sin(atom.args[0]) if atom.op == "cos" else cos(atom.args[0])
                waiting += [(rest, k), (times(rest, ((other, 2),)), -k)]
                break
        else:
            found[m] = found.get(m, 0) + k
    return {m: k for m, k in found.items() if k}
