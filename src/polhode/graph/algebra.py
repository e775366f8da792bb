"""Sums, products, quotients and powers, folded as they are built.

The canonical form pulls signs outward and constant factors to the front:

    expression = [-] [positive constant *] core

so that 2*x, -2*x and x*2 share one product, and a - b and b - a one
difference. Sums and products stay binary: flattening them would throw away
the sharing that a recursion creates. Constants fold exactly while they are
exact; a fold that would overflow or underflow is not made.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from numbers import Real
from typing import Any

from .node import Expr, Number, const, node, plain_number

_TINY = 1e-300  # constants are not folded below this, nor above its inverse
_MOST_BITS = 4096  # nor are exact ones beyond this size


def usable(value: Number) -> bool:
    """Tell whether a folded constant lost nothing to overflow or underflow."""
    if type(value) is float:
        return _TINY < abs(value) < 1 / _TINY or value == 0
    bits = _bits(value)
    return bits < 900 or (bits < _MOST_BITS and usable(_to_float(value)))


def _bits(value: Number) -> int:
    assert not isinstance(value, float)
    return value.numerator.bit_length() + value.denominator.bit_length()


def _to_float(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _fold(operation: Callable[[Any, Any], Any], a: Number, b: Number) -> Number:
    """Combine two constants; Inf where an exact one is too large for the other's floats."""
    try:
        return plain_number(operation(a, b))
    except OverflowError:
        return math.inf


def signed(e: Expr) -> tuple[bool, Expr]:
    """Split e into (is negated, positive part)."""
    if e.op == "neg":
        return True, e.args[0]
    if e.op == "const" and e.value < 0:
        return True, const(-e.value)
    return False, e


def scaled(e: Expr) -> tuple[Number, Expr]:
    """Split a positive part into (positive constant, core)."""
    if not e.plain and e.op == "mul":
        return e.args[0].value, e.args[1]
    return 1, e


def neg(a: Expr) -> Expr:
    if a.op == "neg":
        return a.args[0]
    if a.op == "const":
        return const(-a.value)
    return node("neg", (a,))


def _with_sign(negative: bool, e: Expr) -> Expr:
    return neg(e) if negative else e


def _scale(c: Number, core: Expr) -> Expr:
    """Multiply a core, itself free of sign and factor, by a constant."""
    if c == 0:
        return const(0) if core.regular else node("mul", (const(0), core))
    if c < 0:
        return neg(_scale(-c, core))
    if c == 1:
        return core
    if core.op == "const":
        return mul(const(c), core)
    return node("mul", (const(c), core))


def add(a: Expr, b: Expr) -> Expr:
    if a.plain and b.plain:
        return _sum(a, b)
    if a.op == "const":
        if b.op == "const":
            total = _fold(operator.add, a.value, b.value)
            if usable(total):
                return const(total)
        if a.value == 0:
            return b
    elif b.op == "const" and b.value == 0:
        return a
    for c, other in ((a, b), (b, a)):
        joined = _join_constants(c, other)
        if joined is not None:
            return joined
    minus_a, a = signed(a)
    minus_b, b = signed(b)
    if minus_a:
        return neg(_sum(a, b)) if minus_b else _difference(b, a)
    return _difference(a, b) if minus_b else _sum(a, b)


def sub(a: Expr, b: Expr) -> Expr:
    if a.plain and b.plain:
        return _difference(a, b)
    return add(a, neg(b))


def _sum(a: Expr, b: Expr) -> Expr:
    """a + b, both without sign."""
    ca, core_a = scaled(a)
    cb, core_b = scaled(b)
    if core_a is core_b and (core_a.regular or (ca and cb)):
        total = _fold(operator.add, ca, cb)
        if usable(total):
            return _scale(total, core_a)
    if ca == cb != 1 and usable(ca):  # x/2 + y/2 = (x + y)/2
        return mul(_inexact(ca, cb), _sum(core_a, core_b))
    for total_, c, core in ((a, cb, core_b), (b, ca, core_a)):
        collected = _collect(total_, c, core)
        if collected is not None:
            return collected
    if a.trig or b.trig:
        unit = _pythagoras(ca, core_a, cb, core_b)
        if unit is not None:
            return unit
        # (x + sin^2) + cos^2 = x + 1
        for total_, square in ((a, b), (b, a)):
            if total_.op == "add":
                x, y = total_.args
                for term, rest in ((x, y), (y, x)):
                    unit = _pythagoras(*scaled(term), *scaled(square))
                    if unit is not None:
                        return add(rest, unit)
    return _bare_sum(a, b)


def _inexact(a: Number, b: Number) -> Expr:
    """The float of two equal numbers, if one of them is."""
    return const(a if isinstance(a, float) else b)


def _bare_sum(a: Expr, b: Expr) -> Expr:
    """a + b, looking no deeper than their signs."""
    if a.op == "const" and a.value == 0:
        return b
    if b.op == "const" and b.value == 0:
        return a
    minus_a, a = signed(a)
    minus_b, b = signed(b)
    if minus_a is minus_b:
        return _with_sign(minus_a, node("add", (a, b) if a.rank <= b.rank else (b, a)))
    first, second = (b, a) if minus_a else (a, b)  # first - second
    ordered = first.rank <= second.rank
    return _with_sign(not ordered, node("sub", (first, second) if ordered else (second, first)))


def _collect(total: Expr, c: Number, core: Expr) -> Expr | None:
    """Fold (x + y) + c x to (1 + c) x + y; None if it is something else."""
    if total.op not in ("add", "sub") or not core.regular:
        return None
    first, second = total.args
    minus = total.op == "sub"
    c1, core1 = scaled(first)
    c2, core2 = scaled(second)
    if core1 is core:
        joined = _fold(operator.add, c1, c)
        return _bare_sum(_scale(joined, core), _with_sign(minus, second)) if usable(joined) else None
    if core2 is core:
        joined = _fold(operator.sub if minus else operator.add, c2, c)
        return _bare_sum(first, _with_sign(minus, _scale(joined, core))) if usable(joined) else None
    return None


def _is_exact(e: Expr) -> bool:
    return e.op == "const" and type(e.value) is not float


def _join_constants(c: Expr, other: Expr) -> Expr | None:
    """Fold 2 + (3 - x) to 5 - x, exact constants only; None if it is something else."""
    if not _is_exact(c):
        return None
    minus, inner = signed(other)
    if inner.op not in ("add", "sub"):
        return None
    first, second = inner.args
    # inner = k + sign * rest
    if _is_exact(first):
        k, rest, flip = first.value, second, inner.op == "sub"
    elif _is_exact(second):
        k, rest, flip = second.value * (1 if inner.op == "add" else -1), first, False
    else:
        return None
    total = c.value + (-k if minus else k)
    return _bare_sum(const(total), _with_sign(flip is not minus, rest)) if usable(total) else None


def _difference(a: Expr, b: Expr) -> Expr:
    """a - b, both without sign."""
    ca, core_a = scaled(a)
    cb, core_b = scaled(b)
    if core_a is core_b and core_a.regular:
        total = _fold(operator.sub, ca, cb)
        if usable(total):
            return _scale(total, core_a)
    if ca == cb != 1 and usable(ca) and core_a is not core_b:
        return mul(_inexact(ca, cb), _difference(core_a, core_b))
    collected = _collect(a, -cb, core_b)
    if collected is not None:
        return collected
    collected = _collect(b, -ca, core_a)
    if collected is not None:
        return neg(collected)
    return _bare_sum(a, neg(b))


def factors(e: Expr, most: int = 16) -> list[Expr] | None:
    """Flatten a product; None if it has more than `most` factors."""
    found: list[Expr] = []
    stack = [e]
    while stack:
        if len(found) + len(stack) > most:
            return None
        f = stack.pop()
        if f.op == "mul":
            stack.extend(f.args)
        elif f.op == "pow" and f.value <= most:
            stack.extend(f.args * f.value)
        else:
            found.append(f)
    return found


def _pythagoras(ca: Number, a: Expr, cb: Number, b: Expr) -> Expr | None:
    """Fold c k sin(x)^2 + c k cos(x)^2 to c k; None if it is something else."""
    if ca != cb or not (a.trig and b.trig):
        return None
    fa, fb = factors(a), factors(b)
    if fa is None or fb is None or len(fa) != len(fb):
        return None
    common = []
    for f in fa[:]:
        if f in fb:
            fa.remove(f)
            fb.remove(f)
            common.append(f)
    if len(fa) != 2 or fa[0] is not fa[1] or fb[0] is not fb[1]:
        return None
    s, c = fa[0], fb[0]
    if {s.op, c.op} != {"sin", "cos"} or s.args[0] is not c.args[0] or not s.regular:
        return None
    product = const(1)
    for f in sorted(common, key=lambda f: f.rank):
        product = mul(product, f)
    # a factor with a pole keeps the product 0 * Inf visible
    return mul(_inexact(ca, cb), product) if product.regular and usable(ca) else None


def mul(a: Expr, b: Expr) -> Expr:
    if a.plain and b.plain:
        return _product(a, b)
    minus_a, a = signed(a)
    minus_b, b = signed(b)
    negative = minus_a is not minus_b
    ca, core_a = (a.value, None) if a.op == "const" else scaled(a)
    cb, core_b = (b.value, None) if b.op == "const" else scaled(b)
    c = 1 if ca == 1 and cb == 1 else _fold(operator.mul, ca, cb)
    if ca and cb and not (c and usable(c)):
        # the constants do not combine: keep the product as it stands
        first, second = (a, b) if a.op == "const" or (b.op != "const" and a.rank <= b.rank) else (b, a)
        return _with_sign(negative, node("mul", (first, second)))
    if core_a is None:
        product = const(c) if core_b is None else _scale(c, core_b)
    elif core_b is None:
        product = _scale(c, core_a)
    else:
        product = _scale(c, _product(core_a, core_b))
    return _with_sign(negative, product)


def _product(a: Expr, b: Expr) -> Expr:
    """Multiply two cores."""
    base_a, n_a = (a.args[0], a.value) if a.op == "pow" else (a, 1)
    base_b, n_b = (b.args[0], b.value) if b.op == "pow" else (b, 1)
    if base_a is base_b:
        return node("pow", (base_a,), n_a + n_b)
    return node("mul", (a, b) if a.rank <= b.rank else (b, a))


def div(a: Expr, b: Expr) -> Expr:
    minus_a, a = signed(a)
    minus_b, b = signed(b)
    negative = minus_a is not minus_b
    if b.op == "const" and b.value != 0:
        inverse = _inverse(b.value)
        if usable(inverse):
            return _with_sign(negative, mul(const(inverse), a))
    ca, core_a = (a.value, None) if a.op == "const" else scaled(a)
    cb, core_b = scaled(b)
    c = _fold(operator.mul, ca, _inverse(cb)) if cb else 0
    if not (c and usable(c)):
        quotient = node("div", (a, b))
    elif core_a is None:
        quotient = node("div", (const(c), core_b))
    else:
        quotient = _scale(c, node("div", (core_a, core_b)))
    return _with_sign(negative, quotient)


def _inverse(c: Number) -> Number:
    return 1 / c if isinstance(c, float) else plain_number(Fraction(1, c))


def power(base: Expr, exponent: Number | Expr) -> Expr:
    """Raise to an integer or half-integer power.

    x**-2 is 1/x**2, x**1.5 is sqrt(x)**3.
    """
    if isinstance(exponent, Expr) and exponent.op == "const":
        exponent = exponent.value
    if isinstance(exponent, Expr) or not isinstance(exponent, Real):
        raise TypeError(_advice(base, exponent))
    n = plain_number(exponent)
    doubled = 2 * n
    if (type(n) is float and not math.isfinite(n)) or doubled != int(doubled):
        raise ValueError(_advice(base, exponent))
    if n != int(n):
        from .functions import sqrt

        return power(sqrt(base), int(doubled))
    n = int(n)
    if n == 0:
        return const(1)
    if n < 0:
        return div(const(1), power(base, -n))
    if n == 1:
        return base
    minus, core = signed(base)
    if minus:
        return _with_sign(n % 2 == 1, power(core, n))
    if core.plain:
        inner, m = (core.args[0], core.value) if core.op == "pow" else (core, 1)
        return node("pow", (inner,), m * n)
    c, rest = (core.value, const(1)) if core.op == "const" else scaled(core)
    folded = _constant_power(c, n)
    if folded is None:
        return node("pow", (core,), n)
    return mul(const(folded), power(rest, n)) if rest.plain else const(folded)


def _advice(base: Expr, exponent: object) -> str:
    return f"Power {base!r}**{exponent!r}: expected an integer or half-integer exponent. For x**p write exp(p*log(x))."


def _constant_power(c: Number, n: int) -> Number | None:
    """c**n, or None where it would be huge, overflow or underflow."""
    if type(c) is not float and _bits(c) * n > _MOST_BITS and c not in (0, 1):
        return None
    try:
        result: Number = plain_number(c**n)
    except OverflowError:
        return None
    return result if usable(result) and bool(result) == bool(c) else None


def halves(power_node: Expr) -> tuple[Expr, Expr]:
    """The two lower powers whose product a power is."""
    (base,), n = power_node.args, power_node.value
    low, high = n // 2, n - n // 2
    return tuple(base if k == 1 else node("pow", (base,), k) for k in (low, high))  # type: ignore[return-value]
