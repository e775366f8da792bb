"""Expressions as LaTeX for a page: numbers as people read them, names for what is shared, and a bound on how much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from polhode.equations.latex import named_parts
from polhode.equations.views import symbol_latex
from polhode.graph import Expr, as_expr, to_sympy, tree_size
from polhode.graph.views import sympy_latex
from polhode.graph.walk import rebuild

LONGEST = 60  # operations of one line
PLAIN = 1500  # operations written out, up to which it is tried without names
SHORTER = 0.8  # of its length without names, that a text with names must be
DIGITS = 5
PREFIX = "z"
SPACE = r" \, "  # between factors, where one of them is a word
ENDS = re.compile(r"\\text\{[^{}]*\}\}?(_\{([^{}]|\{[^{}]*\})*\})?(\^\{\d+\})?$")
OPERATES = re.compile(r"\\(arc|sin|cos|tan|log|exp|left|operatorname)")  # have a space of their own
BEGINS = re.compile(r"(\\d?dot\{)?\\text\{")


def rounded(e: Expr) -> Expr:
    """An expression with its numbers to five digits."""

    def leaf(x: Expr) -> Expr | None:
        if x.op != "const":
            return None
        value = x.value
        if not isinstance(value, float) and (isinstance(value, int) or max(map(abs, value.as_integer_ratio())) < 1000):
            return x
        near = float(f"{float(value):.{DIGITS}g}")
        return as_expr(int(near) if near.is_integer() and abs(near) < 10**DIGITS else near)

    try:
        return rebuild([e], leaf)[e]
    except ZeroDivisionError:  # below a line, of what is 0 to so many digits
        return e


def fitting(values: Sequence[Expr], bound: int) -> list[bool]:
    """Which expressions have few enough operations to be read: the smallest first, until all have `bound` together."""
    sizes = [_news(e, set(), bound) for e in values]
    order = sorted((len(new), k) for k, new in enumerate(sizes) if new is not None)
    seen: set[Expr] = set()
    shown = [False] * len(values)
    for _, k in order:
        new = _news(values[k], seen, bound - len(seen))
        if new is not None:
            seen |= new
            shown[k] = True
    return shown


def _news(root: Expr, seen: set[Expr], most: int) -> set[Expr] | None:
    """The operations of an expression that were not seen; None for more than `most`."""
    new: set[Expr] = set()
    stack = [root]
    while stack:
        e = stack.pop()
        if not e.args or e in seen or e in new:
            continue
        new.add(e)
        if len(new) > most:
            return None
        stack.extend(e.args)
    return new


class Writer:
    """LaTeX of some expressions, with names z1, z2 for what they have in common where that shortens them."""

    def __init__(self, symbols: Iterable[Expr], values: Sequence[Expr]) -> None:
        self._names: dict[Any, str] = {}
        self._call(symbols)
        self._definitions: list[tuple[Expr, Expr]] = []
        texts = self._tex(values) if tree_size(values) <= PLAIN else None
        definitions, reduced = named_parts(values, PREFIX, LONGEST)
        self._call([s for s, _ in definitions])
        named, lines = self._tex(reduced), self._tex([e for _, e in definitions])
        if texts is None or len("".join([*named, *lines])) < SHORTER * len("".join(texts)):
            self._definitions, texts = definitions, named
        self._texts = dict(zip(values, texts, strict=True))

    def _call(self, symbols: Iterable[Expr]) -> None:
        self._names |= {to_sympy(s): symbol_latex(str(s.value)) for s in symbols}

    def _tex(self, values: Iterable[Expr]) -> list[str]:
        return [_spaced(sympy_latex(_near(to_sympy(e)), symbol_names=self._names, mul_symbol=SPACE)) for e in values]

    def __call__(self, e: Expr) -> str:
        """LaTeX of one of the expressions, or of a number."""
        return self._texts[e] if e in self._texts else self._tex([e])[0]

    def definitions(self) -> list[str]:
        """What the names stand for, as lines of an aligned formula."""
        left, right = (self._tex([pair[k] for pair in self._definitions]) for k in (0, 1))
        return [f"{a} &= {b}" for a, b in zip(left, right, strict=True)]


def _spaced(tex: str) -> str:
    """Products with a space beside words alone: letters say by themselves where one ends."""

    def between(found: re.Match[str]) -> str:
        word = ENDS.search(tex, 0, found.start()) or BEGINS.match(tex, found.end())
        return SPACE if word and not OPERATES.match(tex, found.end()) else " "

    return re.sub(re.escape(SPACE), between, tex)


def _near(e: Any) -> Any:
    """What SymPy has, with numbers to five digits, also those that it computed."""
    import sympy

    return e.xreplace({x: sympy.Float(f"{float(x):.{DIGITS}g}") for x in e.atoms(sympy.Float)})
