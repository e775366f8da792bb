"""Sums with their common factors taken out, so that few operations are left."""

from __future__ import annotations

from functools import reduce
from itertools import combinations

from .algebra import add, div, mul, neg, power
from .node import Expr, Number, const
from .polynomial import Monomial, Polynomial, common, content, over, ratio, shared, times


def factored(poly: Polynomial) -> Expr:
    """Write a sum as an expression: the factor that saves most is taken out first, then the next.

    What stands in brackets counts as an atom from then on, so brackets nest.
    """
    if not poly:
        return const(0)
    front = shared(poly)
    rest = over(poly, front)
    scale = content(rest)
    rest = {m: ratio(k, scale) for m, k in rest.items()}
    while (cube := _best_factor(rest)) is not None:
        inside = {m: k for m, k in rest.items() if common(cube, m) == cube}
        rest = {m: k for m, k in rest.items() if m not in inside}
        bracket = factored(over(inside, cube))
        sign = -1 if bracket.op == "neg" else 1
        term = times(cube, (((bracket.args[0] if sign < 0 else bracket), 1),))
        rest[term] = rest.get(term, 0) + sign
    total: Expr = const(0)
    for m, k in sorted(rest.items(), key=lambda item: [(e.rank, n) for e, n in item[0]]):
        total = add(total, _written(m, k))
    negative = total.op == "neg"
    whole = _written(front, scale, total.args[0] if negative else total)
    return neg(whole) if negative else whole


def _written(m: Monomial, k: Number, factor: Expr | None = None) -> Expr:
    """A constant times powers of atoms, and times a factor."""
    above = reduce(mul, (power(e, n) for e, n in m if n > 0), const(1) if factor is None else factor)
    below = reduce(mul, (power(e, -n) for e, n in m if n < 0), const(1))
    return mul(const(k), above if below == 1 else div(above, below))


def _best_factor(poly: Polynomial) -> Monomial | None:
    """The product of atoms that saves most operations when taken out of the terms it divides.

    Products are sets of bits, one for each power of an atom; a division counts once, whatever its power.
    Of equals the one with the last name: speeds u stand before brackets of parameters m.
    """
    bits: dict[tuple[Expr, int], int] = {}
    for m in poly:
        for token in _tokens(m):
            bits.setdefault(token, 1 << len(bits))
    counted = sum(bit for (_, n), bit in bits.items() if n >= -1)
    sets = [sum(bits[token] for token in _tokens(m)) for m in poly]
    best, most = [0], 1
    for cube in dict.fromkeys(a & b for a, b in combinations(sets, 2)):
        size = (cube & counted).bit_count()
        if size * (len(sets) - 1) >= most:
            saved = size * (sum(cube & m == cube for m in sets) - 1)
            if saved >= most:
                best, most = [*best, cube] if saved == most else [cube], saved
    found = [_product_of(cube, bits) for cube in best if cube]
    return max(found, key=_names, default=None)


def _tokens(m: Monomial) -> list[tuple[Expr, int]]:
    """Each power of each atom: x^2/y as x, x^2, y^-1."""
    return [(e, k) for e, n in m for k in (range(1, n + 1) if n > 0 else range(n, 0))]


def _product_of(cube: int, bits: dict[tuple[Expr, int], int]) -> Monomial:
    powers: dict[Expr, int] = {}
    for (e, k), bit in bits.items():
        if cube & bit:
            powers[e] = max(powers.get(e, 0), k) if k > 0 else min(powers.get(e, 0), k)
    return tuple(sorted(powers.items(), key=lambda item: item[0].rank))


def _names(m: Monomial) -> tuple[str, list[tuple[int, int]]]:
    return max((str(e.value) for e, _ in m if e.op == "symbol"), default=""), [(e.rank, n) for e, n in m]
