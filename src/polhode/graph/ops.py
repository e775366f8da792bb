"""The operations an expression can be made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Op:
    """What the graph must know of an operation before it knows its operands.

    code    : part of the structural hash, so never renumber
    regular : finite wherever its operands are finite, overflow aside
    kind    : the column it is counted in
    """

    code: int
    kind: str
    regular: bool = True
    trig: bool = False


OPS = {
    "const": Op(1, "leaf"),
    "symbol": Op(2, "leaf"),
    "add": Op(3, "add"),
    "sub": Op(4, "add"),
    "neg": Op(5, "neg"),
    "mul": Op(6, "mul"),
    "div": Op(7, "div", regular=False),
    "pow": Op(8, "mul"),  # integer exponent of at least 2, in `value`
    "sqrt": Op(9, "sqrt", regular=False),
    "sin": Op(10, "sin", trig=True),
    "cos": Op(11, "cos", trig=True),
    "tan": Op(12, "tan"),
    "asin": Op(13, "asin", regular=False),
    "acos": Op(14, "acos", regular=False),
    "atan2": Op(15, "atan2"),
    "exp": Op(16, "exp", regular=False),
    "log": Op(17, "log", regular=False),
    "tanh": Op(18, "tanh"),
    "abs": Op(19, "abs"),
    "sign": Op(20, "sign"),
    "min": Op(21, "min"),
    "max": Op(22, "max"),
    "lt": Op(23, "compare"),  # comparisons are 1 or 0
    "le": Op(24, "compare"),
    "eq": Op(25, "compare"),
    "select": Op(26, "select"),
}
