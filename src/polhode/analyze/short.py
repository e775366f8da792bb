"""Matrices of short expressions: products and inverses whose entries are in lowest terms."""

from __future__ import annotations

from collections.abc import Iterable

from polhode.equations.views import simplified
from polhode.graph import Expr, Matrix, as_expr, free_symbols, from_sympy, tidy, to_sympy, tree_size

_SIMPLE, _RATIONAL = 30, 400  # nodes of one that SymPy makes shorter, with functions and without
_WRITTEN = 4000  # nodes of one that SymPy is given at all


def column(e: Matrix) -> Matrix:
    return Matrix((len(e), 1), e.entries)


def part(A: Matrix, rows: Iterable[int], columns: Iterable[int]) -> Matrix:
    """Some rows and columns."""
    rows, columns = list(rows), list(columns)
    return Matrix((len(rows), len(columns)), [A[i, j] for i in rows for j in columns])


def product(a: Matrix, b: Matrix) -> Matrix:
    n, k, m = a.shape[0], a.shape[1], b.shape[1]

    def entry(i: int, j: int) -> Expr:
        terms = [a[i, r] * b[r, j] for r in range(k) if a[i, r] != 0 and b[r, j] != 0]
        return shortest(sum(terms, as_expr(0)))

    return Matrix((n, m), [entry(i, j) for i in range(n) for j in range(m)])


def short(e: Matrix) -> Matrix:
    return e.map(shortest)


def shortest(e: Expr) -> Expr:
    """The shorter of what is written, tidied, and made by SymPy where that is quick."""
    import sympy

    made = tidy(e)
    assert isinstance(made, Expr)
    size = tree_size(made)
    if size <= 1 or size > _WRITTEN:
        return made
    found = to_sympy(made)  # which has no 0 x / y, and nothing above and below a line
    plain = not found.atoms(sympy.Function, sympy.Piecewise)
    forms, names = [found], {to_sympy(s): s for s in free_symbols([made])}
    if size <= (_RATIONAL if plain else _SIMPLE):
        forms.append(sympy.factor(found) if plain else simplified(found))
    written: list[Expr] = [made, *(tidy(from_sympy(form, names)) for form in reversed(forms))]
    return min(written, key=tree_size)


def inverse(M: Matrix, singular: str) -> Matrix:
    """M^-1 by cofactors of its independent blocks, in lowest terms; a ValueError says what is `singular`."""
    import sympy

    n = M.shape[0]
    found = to_sympy(M)
    back = {to_sympy(s): s for s in free_symbols([*M.entries])}
    entries = [as_expr(0)] * (n * n)
    for block in _blocks(M):
        inner = found.extract(block, block)
        below = sympy.factor(inner.det(method="berkowitz")) if len(block) > 1 else inner[0]
        if below == 0 or sympy.simplify(below) == 0:
            raise ValueError(singular)
        above = inner.adjugate() if len(block) > 1 else sympy.eye(1)
        for i, r in enumerate(block):
            for j, c in enumerate(block):
                entries[r * n + c] = from_sympy(sympy.cancel(above[i, j] / below), back)
    return Matrix((n, n), entries)


def _blocks(M: Matrix) -> list[list[int]]:
    """Rows that entries tie together."""
    left, found = set(range(M.shape[0])), list[list[int]]()
    while left:
        block, new = set[int](), {min(left)}
        while new:
            block |= new
            new = {j for i in new for j in left if M[i, j] != 0 or M[j, i] != 0} - block
        left -= block
        found.append(sorted(block))
    return found
