"""Expressions as text that `expression.parse` reads back to the same expression."""

from __future__ import annotations

import keyword
import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from polhode.graph import Expr, pi, topological
from polhode.graph.functions import BUILD
from polhode.graph.node import node as as_it_stands
from polhode.model.errors import fault

_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tightly a piece of text binds
_NAMES = {"lt": "less", "le": "less_equal", "eq": "equal"}
INFIX = {"lt": "<", "le": "<=", "eq": "=="}
_Piece = tuple[str, int]


def is_plain(name: str) -> bool:
    """Tell whether a name can stand in an expression as it is."""
    return name.isidentifier() and not keyword.iskeyword(name) and name != "pi"


def restored(e: Expr, meaning: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """Every part of an expression with what its symbols stand for put in, as it stands."""
    found: dict[Expr, Expr] = {}
    for part in topological(e):
        args = tuple([found[a] for a in part.args])
        found[part] = as_it_stands(part.op, args, part.value) if args else meaning.get(part, part)
    return found


def write(e: Expr, refer: Callable[[Expr], str], meaning: Mapping[Expr, Expr] | None = None) -> str:
    """Write an expression so that `parse` makes the same one; `refer` gives the text of a symbol.

    Every shared part is written out, so large expressions need names for their
    parts: symbols, with what they stand for in `meaning`.

    >>> from polhode.graph import symbols
    >>> m, L = symbols("m L")
    >>> write(m * L**2 / 12 - 1, lambda s: s.value)
    'L**2*m/12 - 1'
    """
    written: dict[Expr, _Piece] = {}
    for part, original in restored(e, meaning or {}).items():
        written[part] = _write(part, original, written, refer)
    return written[e][0]


def _at(piece: _Piece, least: int) -> str:
    return piece[0] if piece[1] >= least else f"({piece[0]})"


def _write(e: Expr, original: Expr, written: Mapping[Expr, _Piece], refer: Callable[[Expr], str]) -> _Piece:
    args = [written[a] for a in e.args]
    match e.op:
        case "const":
            return _number_text(e.value)
        case "symbol":
            return refer(e), _ATOM
        case "add" | "sub" | "mul" | "div" if BUILD[e.op](*original.args) is not original:
            sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[e.op]
            return f"keep({_at(args[0], _ATOM)} {sign} {_at(args[1], _ATOM)})", _ATOM
        case "neg":
            (inner,) = e.args
            if inner.op == "sub" and written[inner][1] == _SUM:
                return _difference(*(written[a] for a in reversed(inner.args)))
            zero = args[0][0].startswith(("0*", "0/"))  # -0*x would lose its sign
            return f"-{_at(args[0], _ATOM if zero else _PRODUCT)}", _SUM
        case "add":
            first, second = _arranged(e, args)
            return f"{_at(first, _SUM)} + {_at(second, _PRODUCT)}", _SUM
        case "sub":
            return _difference(*args)
        case "mul":
            return _product_text(e, args)
        case "div":
            return f"{_at(args[0], _PRODUCT)}/{_at(args[1], _POWER)}", _PRODUCT
        case "pow":
            return f"{_at(args[0], _ATOM)}**{e.value}", _POWER
        case "acos" if e is pi:
            return "pi", _ATOM
        case "select" if e.args[0].op in INFIX:
            a, b = (written[side][0] for side in e.args[0].args)
            return f"select({a} {INFIX[e.args[0].op]} {b}, {args[1][0]}, {args[2][0]})", _ATOM
    return f"{_NAMES.get(e.op, e.op)}({', '.join(text for text, _ in args)})", _ATOM


def _difference(a: _Piece, b: _Piece) -> _Piece:
    return f"{_at(a, _SUM)} - {_at(b, _PRODUCT)}", _SUM


def _arranged(e: Expr, args: list[_Piece]) -> list[_Piece]:
    """Put the longer row of a sum or product first, else by the alphabet, numbers last."""
    a, b = args
    longer = [x.op == e.op for x in e.args]
    if longer[0] is not longer[1]:
        return [a, b] if longer[0] else [b, a]
    key = [(not x.args and x.op == "const", "(" in t, t) for x, (t, _) in zip(e.args, args, strict=True)]
    return [a, b] if key[0] <= key[1] else [b, a]


def _product_text(e: Expr, args: list[_Piece]) -> _Piece:
    first = e.args[0]
    if first.op == "const" and isinstance(first.value, Fraction) and first.value > 0:
        core = _core(args[1])
        above = core if first.value.numerator == 1 else f"{first.value.numerator}*{core}"
        return f"{above}/{first.value.denominator}", _PRODUCT
    if first.op == "const":
        return f"{_at(args[0], _PRODUCT)}*{_core(args[1]) if first.value else _at(args[1], _ATOM)}", _PRODUCT
    left, right = _arranged(e, args)
    return f"{_at(left, _PRODUCT)}*{_at(right, _POWER)}", _PRODUCT


def _core(piece: _Piece) -> str:
    """What a constant factor stands in front of, 2*a*b, unless it begins with a number itself."""
    return _at(piece, _ATOM if piece[0][0].isdigit() else _PRODUCT)


def _number_text(value: int | float | Fraction) -> _Piece:
    if isinstance(value, float) and not math.isfinite(value):
        raise fault(f"Expression with {value}: expected finite numbers.")
    if value < 0:
        return f"-{_number_text(-value)[0]}", _SUM
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}", _PRODUCT
    return (str(value) if isinstance(value, int) else repr(value)), _ATOM
