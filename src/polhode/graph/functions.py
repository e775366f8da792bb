"""Functions of expressions: trigonometry, exponentials, comparisons, select.

Each folds constants (exactly, or from floats in floats), and uses parity, so
that sin(-x) is -sin(x) and shares sin(x).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from .algebra import add, div, mul, neg, power, scaled, signed, sub
from .node import Expr, Operand, as_expr, const, node
from .scalar import FLOAT

_FIXED = {  # exact values: (function, argument) -> value
    ("sin", 0): 0,
    ("cos", 0): 1,
    ("tan", 0): 0,
    ("asin", 0): 0,
    ("acos", 1): 0,
    ("exp", 0): 1,
    ("log", 1): 0,
    ("tanh", 0): 0,
}


def _fold(op: str, *args: Expr) -> Expr | None:
    """Evaluate an operation on constants, in floats if any operand is one.

    None where an operand is not constant, or where the exact result is not a
    fraction: sin(1) stays sin(1).
    """
    if not all(a.op == "const" for a in args):
        return None
    values = [a.value for a in args]
    if any(type(v) is float for v in values):
        return const(FLOAT[op](*map(FLOAT["const"], values)))
    fixed = _FIXED.get((op, values[0]))
    return None if fixed is None else const(fixed)


def _odd(op: str, x: Operand) -> Expr:
    e = as_expr(x)
    folded = _fold(op, e)
    if folded is not None:
        return folded
    minus, e = signed(e)
    made = node(op, (e,))
    return neg(made) if minus else made


def _plain(op: str, x: Operand) -> Expr:
    e = as_expr(x)
    folded = _fold(op, e)
    return node(op, (e,)) if folded is None else folded


def _turns(e: Expr) -> Fraction | None:
    """The exact multiple of pi that e is; None if it is something else."""
    minus, e = signed(e)
    c, core = scaled(e)
    if core is not pi or isinstance(c, float):
        return None
    return Fraction(-c if minus else c)


def _sine_of_turns(turns: Fraction) -> Expr | None:
    """sin(turns * pi) where it is 0, 1/2, sqrt(2)/2, sqrt(3)/2 or 1, or minus that."""
    turns %= 2
    minus, turns = turns >= 1, turns % 1
    value = _SINES.get(min(turns, 1 - turns))
    return neg(value) if minus and value is not None else value


def sin(x: Operand) -> Expr:
    """Sine; odd, so sin(-x) is -sin(x). Exact at multiples of pi/6 and pi/4."""
    e = as_expr(x)
    turns = _turns(e)
    known = None if turns is None else _sine_of_turns(turns)
    return _odd("sin", e) if known is None else known


def cos(x: Operand) -> Expr:
    """Cosine; even, so cos(-x) is cos(x). Exact at multiples of pi/6 and pi/4."""
    e = signed(as_expr(x))[1]
    turns = _turns(e)
    known = None if turns is None else _sine_of_turns(turns + Fraction(1, 2))
    return _plain("cos", e) if known is None else known


def tan(x: Operand) -> Expr:
    """Tangent."""
    e = as_expr(x)
    turns = _turns(e)
    known = None if turns is None else _TANGENTS.get(turns % 1)
    return _odd("tan", e) if known is None else known


def asin(x: Operand) -> Expr:
    """Inverse sine, NaN outside [-1, 1]."""
    return _odd("asin", x)


def acos(x: Operand) -> Expr:
    """Inverse cosine, NaN outside [-1, 1]. acos(-1) is the exact pi."""
    return _plain("acos", x)


def tanh(x: Operand) -> Expr:
    """Hyperbolic tangent."""
    return _odd("tanh", x)


def exp(x: Operand) -> Expr:
    """Exponential."""
    return _plain("exp", x)


def log(x: Operand) -> Expr:
    """Natural logarithm, -Inf at 0 and NaN below."""
    return _plain("log", x)


def sqrt(x: Operand) -> Expr:
    """Square root, NaN below 0. Exact squares fold: sqrt(9/4) is 3/2."""
    e = as_expr(x)
    if e.op == "const" and type(e.value) is not float and e.value >= 0:
        top, bottom = math.isqrt(e.value.numerator), math.isqrt(e.value.denominator)
        if top**2 == e.value.numerator and bottom**2 == e.value.denominator:
            return const(Fraction(top, bottom))
    return _plain("sqrt", e)


def atan2(y: Operand, x: Operand) -> Expr:
    """Angle of the point (x, y), in (-pi, pi]; zero counts as positive."""
    a, b = as_expr(y), as_expr(x)
    if a.op == "const" and a.value == 0 and b.op == "const" and b.value >= 0:
        return const(0)
    folded = _fold("atan2", a, b)
    return node("atan2", (a, b)) if folded is None else folded


def atan(x: Operand) -> Expr:
    """Inverse tangent, in (-pi/2, pi/2)."""
    return atan2(x, 1)


def absolute(x: Operand) -> Expr:
    """Absolute value, also written abs(x)."""
    e = signed(as_expr(x))[1]
    return e if e.op in ("const", "abs") else node("abs", (e,))


def sign(x: Operand) -> Expr:
    """-1, 0 or 1; NaN of NaN."""
    e = as_expr(x)
    if e.op == "const":
        return const(int(FLOAT["sign"](e.value))) if e.value == e.value else e
    return _odd("sign", e)


def minimum(*xs: Operand) -> Expr:
    """The least of the arguments; NaN if any is NaN."""
    return _extreme("min", xs)


def maximum(*xs: Operand) -> Expr:
    """The greatest of the arguments; NaN if any is NaN."""
    return _extreme("max", xs)


def _extreme(op: str, xs: tuple[Operand, ...]) -> Expr:
    if not xs:
        raise TypeError(f"{op}imum of nothing: expected at least one expression.")

    def pick(a: Expr, b: Expr) -> Expr:
        if a is b:
            return a
        if a.op == b.op == "const":
            return const(FLOAT[op](a.value, b.value))
        return node(op, (a, b) if a.rank <= b.rank else (b, a))

    return reduce(pick, map(as_expr, xs))


def less(a: Operand, b: Operand) -> Expr:
    """1 where a < b, else 0; also written a < b."""
    return _compare("lt", as_expr(a), as_expr(b))


def less_equal(a: Operand, b: Operand) -> Expr:
    """1 where a <= b, else 0; also written a <= b."""
    return _compare("le", as_expr(a), as_expr(b))


def equal(a: Operand, b: Operand) -> Expr:
    """1 where the values are equal, else 0. `a == b` asks if they are one expression."""
    x, y = as_expr(a), as_expr(b)
    return _compare("eq", *((x, y) if x.rank <= y.rank else (y, x)))


def _compare(op: str, a: Expr, b: Expr) -> Expr:
    if a.op == b.op == "const":
        return const(int(FLOAT[op](a.value, b.value)))
    if a is b and op == "lt":
        return const(0)
    if a is b and a.regular:
        return const(1)
    return node(op, (a, b))


def truth(condition: Operand) -> Expr:
    """1 where the condition is not 0, else 0."""
    c = as_expr(condition)
    return c if _is_truth(c) else sub(const(1), equal(c, 0))


def _is_truth(e: Expr) -> bool:
    """Whether an expression is 1 or 0: comparisons, and those joined by & and |."""
    waiting = [e]
    while waiting:
        part = waiting.pop()
        if part.op in ("mul", "max"):
            waiting += part.args
        elif part.op not in ("lt", "le", "eq"):
            return False
    return True


def select(condition: Operand, if_true: Operand, if_false: Operand) -> Expr:
    """Choose by condition: if_true where it is not 0, else if_false.

    Combine conditions with & | ~, and compare for equality with equal(a, b).
    """
    if isinstance(condition, bool):
        raise TypeError(
            f"select was given {condition} as its condition, expected an expression. "
            "For a == b write equal(a, b): == asks whether two expressions are the same object."
        )
    c, a, b = as_expr(condition), as_expr(if_true), as_expr(if_false)
    if c.op == "const":
        return a if c.value else b
    return a if a is b else node("select", (c, a, b))


pi = node("acos", (const(-1),))
"""The exact circle constant."""

_TANGENTS = {Fraction(0): const(0), Fraction(1, 4): const(1), Fraction(3, 4): const(-1)}
_SINES = {
    Fraction(0): const(0),
    Fraction(1, 6): const(Fraction(1, 2)),
    Fraction(1, 4): div(sqrt(2), const(2)),
    Fraction(1, 3): div(sqrt(3), const(2)),
    Fraction(1, 2): const(1),
}

BUILD: dict[str, Callable[..., Expr]] = {
    "add": add,
    "sub": sub,
    "neg": neg,
    "mul": mul,
    "div": div,
    "pow": power,
    "sqrt": sqrt,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan2": atan2,
    "exp": exp,
    "log": log,
    "tanh": tanh,
    "abs": absolute,
    "sign": sign,
    "min": minimum,
    "max": maximum,
    "lt": less,
    "le": less_equal,
    "eq": equal,
    "select": select,
}
"""The folding constructor of each operation."""
