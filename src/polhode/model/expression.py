"""Expressions as text in model files: read by a whitelist, never evaluated; written to read back the same.

Python's parser makes a tree of the text; only the kinds of nodes named here
become expressions. No name is looked up outside the given ones.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from polhode.graph import Constant, Expr, atan, const, equal, pi, symbol
from polhode.graph.functions import BUILD
from polhode.graph.node import node as as_it_stands

from .errors import ModelError, fault

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
_GROUPS = ("q", "u", "z", "p")  # q.elbow, u["left-elbow"]: coordinates, speeds, states, parameters


def parse(
    text: str, names: Mapping[str, Expr], what: str, checked: set[Expr] | None = None, *, condition: bool = False
) -> Expr:
    """Read an expression; `names` are the names it may use, `what` names it in messages.

    `checked` keeps what was found finite, for the next expression of the same parts;
    `condition` allows comparisons, joined by and, or, not.

    Numbers, names, + - * / **, the functions of `polhode.graph`, pi, and
    select(condition, a, b) with comparisons in its condition. A key "q.elbow" of
    `names` is written q.elbow or q["elbow"]; so for u, z and p.

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
        reader = _Reader(line, names, what)
        e = reader.condition(tree.body) if condition else reader.expression(tree.body)
        _require_finite(e, what, set() if checked is None else checked)
    except ModelError:
        raise
    except SyntaxError as error:
        united = re.fullmatch(r"([-+]?[\d.]+(?:e[-+]?\d+)?)\s*[^\W\d][\w/^*. ]*", line)
        remedy = f" Units are SI and not written, angles in radians: {united[1]}." if united else ""
        raise fault(f"{what}, expected a number or an expression: {error.msg}.{remedy}") from None
    except (RecursionError, MemoryError):
        raise fault(f"{what}: nested too deeply. Name parts of it in [constants].") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise fault(f"{what}, expected an expression: {error}") from None
    return e


class Symbols(dict[str, Expr]):
    """Names that are all symbols, for text where nothing is declared."""

    def __missing__(self, key: str) -> Expr:
        if key in _FUNCTIONS:
            raise KeyError(key)
        return symbol(key.partition(".")[2] or key)


_INSTEAD = {
    ast.BitXor: ("^", " For a power write **."),
    ast.BitAnd: ("&", ' Join comparisons by "and".'),
    ast.BitOr: ("|", ' Join comparisons by "or".'),
}


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
        for op, _ in reversed(row):
            if type(op) not in _OPERATORS:
                shown, remedy = _INSTEAD.get(type(op), (type(op).__name__, ""))
                raise fault(f"{self.what}: operator {shown} is not allowed, expected + - * / or **.{remedy}")
        made = self.expression(first)
        for op, right in reversed(row):
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
        known = list(dict.fromkeys(k for k in self.names if not k.startswith(("q.", "u.", "z.", "p."))))
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
            return make(self.condition(args[0]), *[self.expression(a) for a in args[1:]])
        return make(*[self.expression(a) for a in args])

    def condition(self, tree: ast.expr) -> Expr:
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
        made = self.condition(tree)
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


def _require_finite(e: Expr, what: str, checked: set[Expr]) -> None:
    """Refuse 1/0, log(0), 1e999 and the like, also inside; pass by what was checked before."""
    waiting = [e]
    while waiting:
        part = waiting[-1]
        inner = [a for a in part.args if a not in checked]
        waiting += reversed(inner)
        if inner:
            continue
        if part.number is not None and not math.isfinite(part.number):
            shown = f"{part!s:.40}" if part.args else "a number"
            raise fault(f"{what}: {shown} is {part.number}, expected a finite number.")
        checked.add(waiting.pop())
