"""The node: one interned, immutable scalar expression.

Equal expressions are the same object, so equality is identity and a shared
subexpression exists once. The table that finds an existing node holds it
weakly: what nobody refers to is freed.

Two conventions hold throughout the package:

* A symbol stands for a finite number. An expression that can have a pole or
  leave its domain at finite inputs (1/x, log x) is not *regular*, and is never
  cancelled or multiplied away: 0*(1/x) keeps its NaN at x = 0.
* Zero has no sign. atan2(-0, -1) is pi.
"""

from __future__ import annotations

import hashlib
import math
import weakref
from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, TypeAlias, Union

from .ops import OPS
from .scalar import FLOAT

Number: TypeAlias = int | Fraction | float
Operand: TypeAlias = Union["Expr", int, float, Fraction]


class Expr:
    """A scalar expression. Build with `symbol`, `const`, operators and functions.

    op    : name of the operation, a key of `graph.ops.OPS`
    args  : the operands
    value : number of a constant, name of a symbol, exponent of a power
    """

    __slots__ = ("__weakref__", "args", "number", "op", "plain", "rank", "regular", "trig", "value")

    op: str
    args: tuple[Expr, ...]
    value: Any
    number: float | None  # what it is without symbols, in floats; None with symbols
    rank: int  # structural hash: canonical operand order, the same in every process
    regular: bool  # finite at all finite inputs, overflow aside
    plain: bool  # neither a constant, nor negated, nor with a constant factor
    trig: bool  # a product with a sine or cosine among its factors

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Let numpy.sin(x) be sin(x), and numbers and arrays of numpy mix with expressions."""
        return _matrix.apply_ufunc(ufunc.__name__, method, inputs, options)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Expr):
            return self is other
        if isinstance(other, Real):
            return const(other) is self
        return NotImplemented

    def __add__(self, other: Operand) -> Expr:
        b = coerce(other)
        return NotImplemented if b is None else _algebra.add(self, b)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Expr:
        b = coerce(other)
        return NotImplemented if b is None else _algebra.sub(self, b)

    def __rsub__(self, other: Operand) -> Expr:
        a = coerce(other)
        return NotImplemented if a is None else _algebra.sub(a, self)

    def __mul__(self, other: Operand) -> Expr:
        b = coerce(other)
        return NotImplemented if b is None else _algebra.mul(self, b)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Expr:
        b = coerce(other)
        return NotImplemented if b is None else _algebra.div(self, b)

    def __rtruediv__(self, other: Operand) -> Expr:
        a = coerce(other)
        return NotImplemented if a is None else _algebra.div(a, self)

    def __pow__(self, exponent: Operand) -> Expr:
        return _algebra.power(self, exponent)

    def __rpow__(self, base: object) -> Expr:
        raise TypeError(f"Power {base!r}**{self!r}: expected a number as exponent. For b**x write exp(x*log(b)).")

    def __and__(self, other: Operand) -> Expr:
        return _functions.truth(self) * _functions.truth(other)

    __rand__ = __and__

    def __or__(self, other: Operand) -> Expr:
        return _functions.maximum(_functions.truth(self), _functions.truth(other))

    __ror__ = __or__

    def __invert__(self) -> Expr:
        return _functions.equal(self, 0)

    def __neg__(self) -> Expr:
        return _algebra.neg(self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return _functions.absolute(self)

    def __lt__(self, other: Operand) -> Expr:
        b = coerce(other)
        return NotImplemented if b is None else _functions.less(self, b)

    def __le__(self, other: Operand) -> Expr:
        b = coerce(other)
        return NotImplemented if b is None else _functions.less_equal(self, b)

    def __gt__(self, other: Operand) -> Expr:
        b = coerce(other)
        return NotImplemented if b is None else _functions.less(b, self)

    def __ge__(self, other: Operand) -> Expr:
        b = coerce(other)
        return NotImplemented if b is None else _functions.less_equal(b, self)

    def __float__(self) -> float:
        if free := _walk.free_symbols(self):
            raise TypeError(
                f"Expression contains {name_some(free)} and has no value: evaluate(expr, values) gives it one. "
                "For sin and the like take those of polhode.graph, not math; for SymPy take to_sympy(expr)."
            )
        return float(_evaluate.evaluate(self, {}))

    def __bool__(self) -> bool:
        if self.op == "const":
            return bool(self.value)
        raise TypeError(
            f"The truth of {self!r} is not known before it is evaluated. "
            "For 'if' write select(condition, a, b); for 'and', 'or', 'not' and x < y < z write & | ~ "
            "between comparisons in brackets; for min() and max() write minimum and maximum."
        )

    def __repr__(self) -> str:
        return _printing.text(self)

    def _repr_latex_(self) -> str:
        from .views import latex

        return f"$\\displaystyle {latex(self)}$"

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack_one, (pack([self]),)


class Constant(Expr):
    """A number: int and Fraction are exact, float is not."""

    __slots__ = ("_hash",)
    _hash: int
    __eq__ = Expr.__eq__

    def __hash__(self) -> int:
        return self._hash  # that of the number, as const(2) == 2


class _Entry(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that knows its place in the table."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


_table: dict[tuple[Any, ...], _Entry] = {}


def _forget(entry: _Entry) -> None:
    _remove_dead_weakref(_table, entry.key)  # unless a new node took the place


def _find(key: tuple[Any, ...]) -> Expr | None:
    entry = _table.get(key)
    return None if entry is None else entry()


def _enter(key: tuple[Any, ...], made: Expr) -> Expr:
    """Enter a new node; if another thread was first, return the other's."""
    entry = _Entry(made, _forget)
    entry.key = key
    while True:
        known = _table.setdefault(key, entry)
        if known is entry:
            return made
        found: Expr | None = known()
        if found is not None:
            return found
        _forget(known)


def node(op: str, args: tuple[Expr, ...], value: Any = None) -> Expr:
    """Find or make the node, without any rewriting."""
    key = (op, args, value)
    entry = _table.get(key)
    if entry is not None:
        found: Expr | None = entry()
        if found is not None:
            return found
    made = Expr()
    made.op = op
    made.args = args
    made.value = value
    info = OPS[op]
    if len(args) == 2:
        a, b = args
        made.number = None if a.number is None or b.number is None else FLOAT[op](a.number, b.number)
        made.rank = hash((info.code, a.rank, b.rank))
        made.regular = info.regular and a.regular and b.regular
        made.trig = op == "mul" and (a.trig or b.trig)
        made.plain = op != "mul" or a.op != "const"
    else:
        numbers = [a.number for a in args]
        made.number = None if None in numbers else FLOAT[op](*numbers, *(() if value is None else (value,)))
        made.rank = hash((info.code, value or 0, *[a.rank for a in args]))
        made.regular = info.regular and all(a.regular for a in args)
        if not info.regular and args[0].op == "const":  # sqrt(2), pi
            made.regular = made.number is not None and math.isfinite(made.number)
        made.trig = info.trig or (op == "pow" and args[0].trig)
        made.plain = op != "neg"
    return _enter(key, made)


def _leaf(made: Expr, op: str, value: Any, rank: int, regular: bool) -> Expr:
    made.op = op
    made.args = ()
    made.value = value
    made.number = FLOAT["const"](value) if op == "const" else None
    made.rank = rank
    made.regular = regular
    made.trig = False
    made.plain = op == "symbol"
    return made


def _digest(text: str) -> int:
    """A rank for a leaf, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=7).digest(), "little")


def const(value: Number | Real) -> Expr:
    """Make a constant. int and Fraction stay exact; 0.0 is the exact 0."""
    value = plain_number(value)
    # the type keeps 1 and 1.0 apart; NaN, unequal to itself, goes by name
    key = ("const", type(value), value if value == value else "nan")
    found = _find(key)
    if found is not None:
        return found
    made = Constant()
    made._hash = hash(value) if value == value else 0
    exact = type(value) is not float
    name = f"{value.numerator:x}/{value.denominator:x}" if exact else value.hex()  # type: ignore[union-attr]
    return _enter(key, _leaf(made, "const", value, _digest(f"const {name}"), exact or math.isfinite(value)))


def plain_number(value: object) -> Number:
    """Reduce any real number to int, Fraction or float; whole Fractions to int."""
    kind = type(value)
    if kind is int:
        return value  # type: ignore[return-value]
    if kind is float:
        return value if value else 0  # type: ignore[return-value]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational):
        return int(value.numerator) if value.denominator == 1 else Fraction(value)
    if isinstance(value, Real):
        return float(value) or 0
    raise TypeError(f"Expected a real number, found {value!r} of type {type(value).__name__}.")


def symbol(name: str) -> Expr:
    """Make the symbol of that name: symbol("x") is symbol("x")."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ValueError(f"Symbol {name!r}: expected a non-empty printable name. Give one such as 'q1'.")
    key = ("symbol", name)
    found = _find(key)
    if found is not None:
        return found
    return _enter(key, _leaf(Expr(), "symbol", name, _digest(name), True))


def symbols(names: str | Iterable[str]) -> tuple[Expr, ...]:
    """Make several symbols: symbols("x y z") or symbols(["x", "y"])."""
    if isinstance(names, str):
        text, names = names, names.replace(",", " ").split()
        odd = [name for name in names if not name.replace(".", "_").isidentifier()]
        if odd:
            raise ValueError(f"Symbols {text!r}: {odd[0]!r} is no name. For a row of symbols write vector_of('q', 3).")
        if len(names) < 2:
            raise ValueError(f"Symbols {text!r}: expected several names. For one write symbol({text!r}).")
    return tuple(symbol(name) for name in names)


def coerce(value: object) -> Expr | None:
    """Turn a number into a constant, keep an Expr; None for anything else."""
    if isinstance(value, Expr):
        return value
    kind = type(value)
    if kind is int or kind is float or isinstance(value, Real):
        return const(value)  # type: ignore[arg-type]
    return None


def as_expr(value: object) -> Expr:
    """Turn a number into a constant, keep an Expr; refuse anything else."""
    result = coerce(value)
    if result is None:
        hint = " Apply a function to its entries with .map." if type(value).__name__ == "Matrix" else ""
        if type(value).__module__.startswith("sympy."):
            hint = " Of SymPy's, make one with polhode.graph.from_sympy(...)."
        elif isinstance(value, str) and value.isidentifier():
            hint = f" Make a symbol: polhode.symbol({value!r})."
        raise TypeError(
            f"Expected an expression or a real number, found {value!r:.60} of type {type(value).__name__}.{hint}"
        )
    return result


def name_some(items: Iterable[Expr], most: int = 5) -> str:
    """List symbols for a message: 'a', 'b' and 3 more."""
    names = sorted(item.value for item in items)
    text = ", ".join(repr(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def node_count() -> int:
    """Count the nodes alive in this process."""
    return len(_table)


def pack(roots: Iterable[Expr]) -> tuple[list[tuple[Any, ...]], list[int]]:
    """Flatten expressions to plain data, each shared node once."""
    roots = list(roots)
    place: dict[Expr, int] = {}
    rows: list[tuple[Any, ...]] = []
    for e in _walk.topological(roots):
        place[e] = len(rows)
        rows.append((e.op, tuple(place[a] for a in e.args), e.value))
    return rows, [place[e] for e in roots]


def unpack(packed: tuple[list[tuple[Any, ...]], list[int]]) -> list[Expr]:
    """Rebuild what `pack` flattened: the same objects, if they still live."""
    rows, roots = packed
    made: list[Expr] = []
    for op, args, value in rows:
        if op == "const":
            made.append(const(value))
        elif op == "symbol":
            made.append(symbol(value))
        else:
            made.append(node(op, tuple([made[i] for i in args]), value))
    return [made[i] for i in roots]


def _unpack_one(packed: tuple[list[tuple[Any, ...]], list[int]]) -> Expr:
    return unpack(packed)[0]


# last, because the rules below need Expr
from . import algebra as _algebra  # noqa: E402
from . import evaluate as _evaluate  # type: ignore[no-redef]  # noqa: E402
from . import functions as _functions  # noqa: E402
from . import matrix as _matrix  # type: ignore[no-redef]  # noqa: E402
from . import printing as _printing  # noqa: E402
from . import walk as _walk  # noqa: E402
