"""The operations an expression can be made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Op:
    """What the graph must know of an operation before it knows its operands.

    code    : part of the structural hash, so never renumber
    arity   : number of operands
    regular : finite wherever its operands are finite, overflow aside
    kind    : the column it is counted in
    """

    code: int
    arity: int
    kind: str
    regular: bool = True
    trig: bool = False


OPS = {
    "const": Op(1, 0, "leaf"),
    "symbol": Op(2, 0, "leaf"),
    "add": Op(3, 2, "add"),
    "sub": Op(4, 2, "add"),
    "neg": Op(5, 1, "neg"),
    "mul": Op(6, 2, "mul"),
    "div": Op(7, 2, "div", regular=False),
    "pow": Op(8, 1, "mul"),  # integer exponent of at least 2, in `value`
    "sqrt": Op(9, 1, "sqrt", regular=False),
    "sin": Op(10, 1, "sin", trig=True),
    "cos": Op(11, 1, "cos", trig=True),
    "tan": Op(12, 1, "tan"),
    "asin": Op(13, 1, "asin", regular=False),
    "acos": Op(14, 1, "acos", regular=False),
    "atan2": Op(15, 2, "atan2"),
    "exp": Op(16, 1, "exp", regular=False),
    "log": Op(17, 1, "log", regular=False),
    "tanh": Op(18, 1, "tanh"),
    "abs": Op(19, 1, "abs"),
    "sign": Op(20, 1, "sign"),
    "min": Op(21, 2, "min"),
    "max": Op(22, 2, "max"),
    "lt": Op(23, 2, "compare"),  # comparisons are 1 or 0
    "le": Op(24, 2, "compare"),
    "eq": Op(25, 2, "compare"),
    "select": Op(26, 3, "select"),
}
