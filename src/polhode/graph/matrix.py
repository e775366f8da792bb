"""Vectors and matrices of expressions: thin, immutable, numpy's conventions.

A vector has shape (n,), a matrix (n, m). `@` contracts, `*` scales. An entry that
is exactly zero stays so, and so does what is scaled by an exact zero, also against a pole: 0 * (1/x) in a product
of matrices is 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from .algebra import add, mul
from .functions import BUILD, atan
from .node import Expr, Operand, as_expr, coerce, const, pack, symbol, unpack

Entries = Sequence[Operand] | Sequence[Sequence[Operand]]

_ZERO = const(0)


class Matrix:
    """An array of expressions with one or two dimensions.

    Build with `vector`, `matrix`, `zeros`, `identity`; index with M[i, j],
    M[i], and slices.
    """

    __slots__ = ("_entries", "shape")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Let arrays of numpy mix with matrices."""
        return apply_ufunc(ufunc.__name__, method, inputs, options)

    shape: tuple[int, ...]

    def __init__(self, shape: tuple[int, ...], entries: Iterable[Operand]) -> None:
        self.shape = tuple(shape)
        self._entries = tuple([as_expr(e) for e in entries])
        size = 1
        for n in self.shape:
            size *= n
        if len(self.shape) not in (1, 2) or min(self.shape) < 0:
            raise ValueError(f"Matrix of shape {self.shape}: expected one or two sizes, 0 or more.")
        if size != len(self._entries):
            raise ValueError(f"Matrix of shape {self.shape}: expected {size} entries, found {len(self._entries)}.")

    @property
    def entries(self) -> tuple[Expr, ...]:
        """All entries, row by row."""
        return self._entries

    @property
    def T(self) -> Matrix:
        """The transpose; a vector is its own."""
        if len(self.shape) == 1:
            return self
        n, m = self.shape
        return Matrix((m, n), [self._entries[i * m + j] for j in range(m) for i in range(n)])

    def rows(self) -> list[Matrix]:
        """The rows of a matrix, as vectors."""
        n, m = self.shape
        return [Matrix((m,), self._entries[i * m : (i + 1) * m]) for i in range(n)]

    def map(self, f: Callable[[Expr], Operand]) -> Matrix:
        """Apply a function to every entry."""
        return Matrix(self.shape, [f(e) for e in self._entries])

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Entries of a vector, rows of a matrix."""
        return iter(self._entries if len(self.shape) == 1 else self.rows())

    def __getitem__(self, index: Any) -> Any:
        if len(self.shape) == 1:
            if isinstance(index, slice):
                return Matrix((len(range(*index.indices(len(self)))),), self._entries[index])
            return self._entries[index]
        n, m = self.shape
        i, j = index if isinstance(index, tuple) else (index, slice(None))
        rows = range(n)[i]
        columns = range(m)[j]
        if isinstance(rows, int) and isinstance(columns, int):
            return self._entries[rows * m + columns]
        shape = tuple(len(r) for r in (rows, columns) if isinstance(r, range))
        rows, columns = ([r] if isinstance(r, int) else r for r in (rows, columns))
        return Matrix(shape, [self._entries[r * m + c] for r in rows for c in columns])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matrix):
            return NotImplemented
        return self.shape == other.shape and all(a is b for a, b in zip(self._entries, other._entries, strict=True))

    def __hash__(self) -> int:
        return hash((self.shape, self._entries))

    def _zip(self, other: object, f: Callable[[Expr, Expr], Expr]) -> Matrix:
        if coerce(other) is not None:
            raise TypeError(
                f"Matrix of shape {self.shape} plus or minus {other!r}: expected a matrix. Use .map to shift."
            )
        other = as_matrix(other)
        if other.shape != self.shape:
            raise ValueError(f"Shapes {self.shape} and {other.shape} differ. Entrywise arithmetic needs equal ones.")
        return Matrix(self.shape, [f(a, b) for a, b in zip(self._entries, other._entries, strict=True)])

    def __add__(self, other: Matrix | Entries) -> Matrix:
        return self._zip(other, add)

    __radd__ = __add__

    def __sub__(self, other: Matrix | Entries) -> Matrix:
        return self._zip(other, lambda a, b: a - b)

    def __rsub__(self, other: Matrix | Entries) -> Matrix:
        return self._zip(other, lambda a, b: b - a)

    def __neg__(self) -> Matrix:
        return self.map(lambda e: -e)

    def __pow__(self, exponent: object) -> Matrix:
        raise TypeError("Power of a matrix: take that of its entries, m.map(lambda e: e**2), or write m @ m.")

    def __mul__(self, factor: Operand) -> Matrix:
        if isinstance(factor, Matrix):
            raise TypeError("Product of two matrices: write a @ b to contract them.")
        c = coerce(factor)
        return NotImplemented if c is None else self.map(lambda e: _ZERO if e is _ZERO or c is _ZERO else mul(c, e))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Operand) -> Matrix:
        c = coerce(divisor)
        return NotImplemented if c is None else self.map(lambda e: e if e is _ZERO else e / c)

    def __matmul__(self, other: Matrix | Entries) -> Any:
        return _contract(self, as_matrix(other))

    def __rmatmul__(self, other: Entries) -> Any:
        return _contract(as_matrix(other), self)

    def __repr__(self) -> str:
        from .printing import matrix_text

        return matrix_text(self)

    def _repr_latex_(self) -> str:
        from .views import latex

        return f"$\\displaystyle {latex(self)}$"

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack_matrix, (self.shape, pack(self._entries))


def _unpack_matrix(shape: tuple[int, ...], packed: Any) -> Matrix:
    return Matrix(shape, unpack(packed))


def _contract(a: Matrix, b: Matrix) -> Matrix | Expr:
    if a.shape[-1] != b.shape[0]:
        raise ValueError(f"Product of shapes {a.shape} @ {b.shape}: {a.shape[-1]} and {b.shape[0]} must be equal.")
    rows = [a.entries] if len(a.shape) == 1 else [r.entries for r in a.rows()]
    columns = [b.entries] if len(b.shape) == 1 else [r.entries for r in b.T.rows()]
    shape = a.shape[:-1] + b.shape[1:]
    entries = [dot(r, c) for r in rows for c in columns]
    return Matrix(shape, entries) if shape else entries[0]


def dot(a: Iterable[Expr], b: Iterable[Expr]) -> Expr:
    """Sum of products, entry by entry; an exact zero leaves its product out, even against a pole."""
    total: Expr = _ZERO
    for x, y in zip(a, b, strict=True):
        if x is not _ZERO and y is not _ZERO:
            total = add(total, mul(x, y))
    return total


def vector(entries: Iterable[Operand]) -> Matrix:
    """Make a vector: vector([x, y, 0])."""
    if not isinstance(entries, Iterable):
        raise TypeError(f"vector({entries!r}): expected a list. Write vector([x, y]).")
    found = list(entries)
    return Matrix((len(found),), found)


def matrix(rows: Iterable[Iterable[Operand]]) -> Matrix:
    """Make a matrix from its rows: matrix([[a, b], [b, c]])."""
    rows = list(rows)
    for row in rows:
        if not isinstance(row, Iterable):
            raise TypeError(f"matrix: expected a list of rows, found {row!r} as a row. Write matrix([[a, b], [c, d]]).")
    found = [list(row) for row in rows]
    width = len(found[0]) if found else 0
    for i, row in enumerate(found):
        if len(row) != width:
            raise ValueError(f"Row {i} has {len(row)} entries, row 0 has {width}. Give rows of equal length.")
    return Matrix((len(found), width), chain.from_iterable(found))


def as_matrix(entries: object) -> Matrix:
    """Accept a Matrix, a list, a list of lists or a numpy array."""
    if isinstance(entries, Matrix):
        return entries
    if not isinstance(entries, Iterable):
        raise TypeError(f"Expected a matrix, a list or a list of lists, found {entries!r}.")
    found: list[Any] = list(entries)
    nested = bool(found) and coerce(found[0]) is None
    return matrix(found) if nested else vector(found)


def vector_of(name: str, n: int) -> Matrix:
    """Make a vector of n symbols, counted from 1: vector_of("q", 3) is [q1, q2, q3]."""
    return vector(symbol(f"{name}{i + 1}") for i in range(n))


def zeros(*shape: int) -> Matrix:
    """Make a vector or matrix of zeros: zeros(3), zeros(2, 3)."""
    if not 1 <= len(shape) <= 2 or not all(isinstance(n, int) for n in shape):
        raise TypeError(f"zeros{shape}: expected one or two sizes. Write zeros(3) or zeros(2, 3).")
    size = shape[0] * shape[1] if len(shape) == 2 else shape[0]
    return Matrix(shape, [const(0)] * size)


def identity(n: int) -> Matrix:
    """Make the n x n identity."""
    return Matrix((n, n), [int(i == j) for i in range(n) for j in range(n)])


def mirrored(m: Matrix) -> Matrix:
    """Make a symmetric matrix of the upper triangle of a square one."""
    n = len(m)
    return Matrix(m.shape, [m[min(i, j), max(i, j)] for i in range(n) for j in range(n)])


def cross(a: Matrix | Entries, b: Matrix | Entries) -> Matrix:
    """Cross product of two vectors of three entries."""
    a, b = as_matrix(a), as_matrix(b)
    if a.shape != (3,) or b.shape != (3,):
        raise ValueError(f"Cross product of shapes {a.shape} and {b.shape}: expected two vectors of three entries.")
    (a1, a2, a3), (b1, b2, b3) = a, b
    return vector([dot(x, y) for x, y in (([a2, -a3], [b3, b2]), ([a3, -a1], [b1, b3]), ([a1, -a2], [b2, b1]))])


def _square(e: Any) -> Any:
    return e**2


_UFUNCS: dict[str, Callable[..., Any]] = {
    "equal": operator.is_,  # == asks for the same expression, here too
    "not_equal": operator.is_not,
    "power": operator.pow,
    "square": _square,
    "arctan": atan,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "matmul": operator.matmul,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan2": "atan2", "absolute": "abs", "minimum": "min", "maximum": "max"}
_ENTRYWISE = ("sqrt", "sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log", "tanh", "abs", "sign", "min", "max")


def apply_ufunc(name: str, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Carry out a numpy function of expressions, matrices, numbers and arrays."""
    plain = [e.item() if getattr(e, "shape", None) == () else e for e in inputs]  # arrays without dimensions
    ours = [as_matrix(e) if coerce(e) is None else as_expr(e) for e in plain]
    op = _NAMES.get(name, name)
    if method != "__call__" or options or (name not in _UFUNCS and op not in _ENTRYWISE):
        raise TypeError(f"numpy.{name} does not take expressions. Use the functions of polhode.graph.")
    if name in _UFUNCS:
        try:
            return _UFUNCS[name](*ours)
        except TypeError as fault:
            raise TypeError(f"numpy.{name} of {', '.join(type(e).__name__ for e in ours)}: {fault}") from None
    if len(ours) == 1 and isinstance(ours[0], Matrix):
        return ours[0].map(BUILD[op])
    return BUILD[op](*ours)
