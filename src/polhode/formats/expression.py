"""Expressions as text in model files: read by a whitelist, never evaluated; written to read back the same.

Python's parser makes a tree of the text; only the kinds of nodes named here
become expressions. No name is looked up outside the given ones.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from polhode.graph import Constant, Expr, atan, const, equal, evaluate, pi, topological
from polhode.graph.functions import BUILD
from polhode.graph.node import node as as_it_stands
from polhode.model.errors import ModelError, fault

LONGEST = 10_000  # characters
DEEPEST = 150  # brackets in brackets
LARGEST_POWER = 1000
MOST_DIGITS = 1300  # of a whole number

_OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.Pow: ("pow", operator.pow),
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Expr]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: equal,
}
_ONE = ("sin", "cos", "tan", "asin", "acos", "exp", "log", "sqrt", "tanh", "abs", "sign")
_FUNCTIONS: dict[str, tuple[Callable[..., Expr], int | None]] = {  # number of operands; None is one or more
    **{name: (BUILD[name], 1) for name in _ONE},
    "atan": (atan, 1),
    "atan2": (BUILD["atan2"], 2),
    "min": (BUILD["min"], None),
    "max": (BUILD["max"], None),
    "less": (BUILD["lt"], 2),
    "less_equal": (BUILD["le"], 2),
    "equal": (equal, 2),
    "select": (BUILD["select"], 3),
}
_GROUPS = ("q", "u", "p")  # q.elbow, u["left-elbow"]: coordinates, speeds, parameters


def parse(text: str, names: Mapping[str, Expr], what: str) -> Expr:
    """Read an expression; `names` are the names it may use, `what` names it in messages.

    Numbers, names, + - * / **, the functions of `polhode.graph`, pi, and
    select(condition, a, b) with comparisons in its condition. A key "q.elbow" of
    `names` is written q.elbow or q["elbow"]; so for u and p.

    >>> from polhode.graph import symbol
    >>> parse("m*L**2/12", {"m": symbol("m"), "L": symbol("L")}, "Body 'rod': inertia")
    L**2*m/12
    """
    what = f"{what} is {text!r:.60}"
    if len(text) > LONGEST:
        raise fault(f"{what}: {len(text):,} characters, expected at most {LONGEST:,}. Name parts of it in [constants].")
    line = text.replace("\r", " ").replace("\n", " ").strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(line, mode="eval")
        e = _Reader(line, names, what).expression(tree.body)
        _require_finite(e, what)
    except ModelError:
        raise
    except SyntaxError as error:
        raise fault(f"{what}, expected a number or an expression: {error.msg}.") from None
    except (RecursionError, MemoryError):
        raise fault(f"{what}: nested too deeply. Name parts of it in [constants].") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise fault(f"{what}, expected an expression: {error}") from None
    return e


class _Reader:
    """Turns the syntax tree of one line into an expression."""

    def __init__(self, line: str, names: Mapping[str, Expr], what: str) -> None:
        self.bytes, self.names, self.what = line.encode(), names, what
        self.depth = 0

    def expression(self, tree: ast.expr) -> Expr:
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        made = self._read(tree)
        self.depth -= 1
        return made

    def _read(self, tree: ast.expr) -> Expr:
        match tree:
            case ast.BinOp():
                return self._sum_or_product(tree)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return self._signed(tree)
            case ast.Constant():
                return self._number(tree.value)
            case ast.Name():
                return self._named(self._source(tree))
            case ast.Attribute(value=ast.Name(id=group)) if group in _GROUPS:
                return self._lookup(f"{group}.{self._source(tree).partition('.')[2].strip()}", self._source(tree))
            case ast.Subscript(value=ast.Name(id=group), slice=ast.Constant(value=str(name))) if group in _GROUPS:
                return self._lookup(f"{group}.{name}", f"{group}[{name!r}]")
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                return self._call(name, tree.args)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                raise fault(f"{self.what}: a comparison stands alone. Write select(condition, a, b).")
        raise self._refused(tree)

    def _refused(self, tree: ast.AST) -> ModelError:
        found = self._source(tree)
        shown = "this" if found == self.bytes.decode() else f"{found!r:.40}"
        return fault(
            f"{self.what}: {shown} is not allowed here, expected numbers, names, + - * / ** "
            f"and the functions {', '.join(_FUNCTIONS)}."
        )

    def _source(self, tree: Any) -> str:
        """The text of a node as written: the parser would unify letters that look alike."""
        if not hasattr(tree, "col_offset"):
            return type(tree).__name__
        return self.bytes[tree.col_offset : tree.end_col_offset].decode()

    def _sum_or_product(self, tree: ast.BinOp) -> Expr:
        """Read a row such as a + b - c, however long, without going deeper."""
        row: list[tuple[ast.operator, ast.expr]] = []
        first: ast.expr = tree
        while isinstance(first, ast.BinOp):
            row.append((first.op, first.right))
            first = first.left
        made = self.expression(first)
        for op, right in reversed(row):
            if type(op) not in _OPERATORS:
                power = " For a power write **." if isinstance(op, ast.BitXor) else ""
                raise fault(f"{self.what}: operator {type(op).__name__} is not allowed, expected + - * / or **.{power}")
            name, apply = _OPERATORS[type(op)]
            operand = self.expression(right)
            made = apply(made, self._exponent(operand) if name == "pow" else operand)
            self._require_small(made)
        return made

    def _exponent(self, e: Expr) -> Expr:
        if isinstance(e, Constant) and abs(e.value) > LARGEST_POWER:
            raise fault(f"{self.what}: the exponent is too large, expected at most {LARGEST_POWER}.")
        return e

    def _require_small(self, e: Expr) -> None:
        if e.op == "pow" and e.value > LARGEST_POWER**2:
            raise fault(f"{self.what}: the exponents multiply to more than {LARGEST_POWER**2:,}, expected less.")

    def _signed(self, tree: ast.expr) -> Expr:
        minus = False
        while isinstance(tree, ast.UnaryOp) and isinstance(tree.op, (ast.USub, ast.UAdd)):
            minus = minus is not isinstance(tree.op, ast.USub)
            tree = tree.operand
        made = self.expression(tree)
        return -made if minus else made

    def _number(self, value: object) -> Expr:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise fault(f"{self.what}: {value!r:.40} is not allowed here, expected a number or a name.")
        if isinstance(value, int) and value.bit_length() > MOST_DIGITS * 10 // 3:
            raise fault(f"{self.what}: a number has more than {MOST_DIGITS:,} digits, expected fewer.")
        return const(value)

    def _named(self, name: str) -> Expr:
        if name != "pi":
            return self._lookup(name, name)
        if "pi" in self.names:
            raise fault(f'{self.what}: pi is also a name of the model. Write p["pi"] for it, acos(-1) for the number.')
        return pi

    def _lookup(self, key: str, written: str) -> Expr:
        try:
            return self.names[key]
        except KeyError:
            pass
        plain = key.partition(".")[2] or key
        known = list(dict.fromkeys(k for k in self.names if not k.startswith(("q.", "u.", "p."))))
        if written in _FUNCTIONS:
            raise fault(f"{self.what}: {written} is a function, expected its operands: {written}(...).")
        close = get_close_matches(plain, known, 3)
        near = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
        raise fault(f'{self.what}: unknown name {written}. {near}Declare a parameter with symbols = ["{plain}"].')

    def _call(self, name: str, args: Sequence[ast.expr]) -> Expr:
        if name == "keep" and len(args) == 1:
            return self._kept(args[0])
        if name not in _FUNCTIONS:
            close = get_close_matches(name, _FUNCTIONS, 2)
            near = f"Did you mean {' or '.join(close)}? " if close else ""
            raise fault(f"{self.what}: there is no function {name}. {near}There are {', '.join(_FUNCTIONS)}.")
        make, n = _FUNCTIONS[name]
        if n is None and not args:
            raise fault(f"{self.what}: {name} has no operands, expected one or more.")
        if n is not None and len(args) != n:
            raise fault(f"{self.what}: {name} has {len(args)} operands, expected {n}.")
        if name == "select":
            return make(self._condition(args[0]), *[self.expression(a) for a in args[1:]])
        return make(*[self.expression(a) for a in args])

    def _condition(self, tree: ast.expr) -> Expr:
        """Read what select chooses by: comparisons joined by and, or, not."""
        match tree:
            case ast.Compare():
                return self._comparison(tree)
            case ast.BoolOp():
                parts = [self._deeper(part) for part in tree.values]
                made = parts[0]
                for part in parts[1:]:
                    made = made & part if isinstance(tree.op, ast.And) else made | part
                return made
            case ast.UnaryOp(op=ast.Not()):
                return ~self._deeper(tree.operand)
        return self.expression(tree)

    def _deeper(self, tree: ast.expr) -> Expr:
        self.depth += 1
        if self.depth > DEEPEST:
            raise RecursionError
        made = self._condition(tree)
        self.depth -= 1
        return made

    def _comparison(self, tree: ast.Compare) -> Expr:
        """Read a < b, or a < b < c as both."""
        sides = [self.expression(side) for side in (tree.left, *tree.comparators)]
        made: Expr | None = None
        for op, a, b in zip(tree.ops, sides, sides[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise fault(f"{self.what}: comparison {type(op).__name__} is not allowed, expected < <= > >= or ==.")
            found = _COMPARISONS[type(op)](a, b)
            made = found if made is None else made & found
        assert made is not None
        return made

    def _kept(self, tree: ast.expr) -> Expr:
        """Make one sum, difference, product or quotient as it stands, where the graph would fold it."""
        if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS and not isinstance(tree.op, ast.Pow):
            args = self.expression(tree.left), self.expression(tree.right)
            return as_it_stands(_OPERATORS[type(tree.op)][0], args)
        raise fault(f"{self.what}: keep is for one sum, difference, product or quotient.")


def _require_finite(e: Expr, what: str) -> None:
    """Refuse 1/0, log(0), 1e999 and the like, also inside."""
    constant: dict[Expr, None] = {}
    for part in topological(e):
        if part.op == "const" or (part.args and all(a in constant for a in part.args)):
            constant[part] = None
    for part, value in zip(constant, evaluate(list(constant), {}), strict=True):
        if not math.isfinite(value):
            shown = f"{part!s:.40}" if part.args else "a number"
            raise fault(f"{what}: {shown} is {value}, expected a finite number.")


_SUM, _PRODUCT, _POWER, _ATOM = range(4)  # how tightly a piece of text binds
_NAMES = {"lt": "less", "le": "less_equal", "eq": "equal"}
_INFIX = {"lt": "<", "le": "<=", "eq": "=="}
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
        case "select" if e.args[0].op in _INFIX:
            a, b = (written[side][0] for side in e.args[0].args)
            return f"select({a} {_INFIX[e.args[0].op]} {b}, {args[1][0]}, {args[2][0]})", _ATOM
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
