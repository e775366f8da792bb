"""What each operation does to numbers, in floats and in mpmath.

These tables are the reference that every compiled target must meet. IEEE
rules hold in both: a pole gives Inf, leaving the domain gives NaN, nothing
raises. A condition is 1 or 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

Table = dict[str, Callable[..., Any]]


def _ieee(f: Callable[..., float]) -> Callable[..., float]:
    """Give NaN where a math function raises for its domain, Inf where it overflows."""

    def safe(*args: float) -> float:
        try:
            return f(*args)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return safe


def _float(value: int | Fraction | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _divide(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else (-math.inf if x == 0 else math.nan)


def _power(a: float, n: int) -> float:
    try:
        return float(a**n)
    except OverflowError:  # of the result, or of n itself
        size = 1.0 if abs(a) == 1 else math.inf if abs(a) > 1 else 0.0
        return -size if a < 0 and n % 2 else size


def _truths(number: Callable[[int], Any]) -> Table:
    """The operations whose result is -1, 0 or 1, as a number of the arithmetic."""
    return {
        "lt": lambda a, b: number(a < b),
        "le": lambda a, b: number(a <= b),
        "eq": lambda a, b: number(a == b),
        "sign": lambda x: x if x != x else number((x > 0) - (x < 0)),
    }


def _min(a: Any, b: Any) -> Any:
    return a if a < b or a != a else b


def _max(a: Any, b: Any) -> Any:
    return a if a > b or a != a else b


_COMMON: Table = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "neg": lambda a: -a,
    "mul": lambda a, b: a * b,
    "abs": abs,
    "min": _min,
    "max": _max,
    "select": lambda c, a, b: a if c else b,
}

FLOAT: Table = (
    _COMMON
    | _truths(float)
    | {
        "const": _float,
        "div": _divide,
        "pow": _power,
        "sqrt": _ieee(math.sqrt),
        "sin": _ieee(math.sin),
        "cos": _ieee(math.cos),
        "tan": _ieee(math.tan),
        "asin": _ieee(math.asin),
        "acos": _ieee(math.acos),
        "atan2": lambda y, x: math.atan2(y + 0.0, x + 0.0),
        "exp": _ieee(math.exp),
        "log": _log,
        "tanh": math.tanh,
    }
)


@lru_cache(maxsize=1)
def mpmath_table() -> Table:
    """The same operations in mpmath, at the working precision of the call."""
    import mpmath
    from mpmath import mp

    nan = mpmath.nan

    def real(f: Callable[..., Any], low: float, high: float) -> Callable[[Any], Any]:
        return lambda x: f(x) if low <= x <= high else nan

    def divide(a: Any, b: Any) -> Any:
        if b:
            return a / b
        return nan if a == 0 or a != a else mpmath.sign(a) * mpmath.inf

    def const(value: int | Fraction | float) -> Any:
        if isinstance(value, Fraction):
            return mp.mpf(value.numerator) / value.denominator
        return mp.mpf(value)

    def atan2(y: Any, x: Any) -> Any:
        if y != y or x != x:
            return nan
        if mpmath.isinf(x) or mpmath.isinf(y):  # a direction, of -1, 0 and 1
            if mpmath.isfinite(y):
                return mp.mpf(0) if x > 0 else (mp.pi if y >= 0 else -mp.pi)
            x, y = (mpmath.sign(v) if mpmath.isinf(v) else mp.mpf(0) for v in (x, y))
        return mpmath.atan2(y, x) if x or y else mp.mpf(0)

    def finite(f: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda x: f(x) if mpmath.isfinite(x) else nan

    return (
        _COMMON
        | _truths(lambda v: mp.mpf(int(v)))
        | {
            "const": const,
            "div": divide,
            "pow": lambda a, n: a**n,
            "sqrt": real(mpmath.sqrt, 0, mpmath.inf),
            "sin": finite(mpmath.sin),
            "cos": finite(mpmath.cos),
            "tan": finite(mpmath.tan),
            "asin": real(mpmath.asin, -1, 1),
            "acos": real(mpmath.acos, -1, 1),
            "atan2": atan2,
            "exp": mpmath.exp,
            "log": lambda x: -mpmath.inf if x == 0 else real(mpmath.log, 0, mpmath.inf)(x),
            "tanh": mpmath.tanh,
        }
    )
