"""Expressions as plain text, without ever unfolding a large graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from .matrix import Matrix
from .node import Expr, node, symbol
from .walk import Exprs, free_symbols, op_counts, roots_of, topological

_MOST = 2**60
READABLE = 120  # operations a person reads in one expression

_SUM, _PRODUCT, _ATOM = range(3)  # how tightly a piece of text binds
_INFIX = {"lt": " < ", "le": " <= ", "eq": " == "}


def tree_size(exprs: Exprs) -> int:
    """Count the operations of the expressions written out as trees, up to 2**60."""
    return min(sum(tree_sizes(exprs)), _MOST)


def tree_sizes(exprs: Exprs) -> list[int]:
    """Count the operations of each expression, as `tree_size` does, in one walk."""
    size: dict[Expr, int] = {}
    roots = roots_of(exprs)
    for e in topological(roots):
        size[e] = min((e.op not in ("const", "symbol")) + sum(size[a] for a in e.args), _MOST)
    return [size[e] for e in roots]


def intermediates(exprs: Exprs, prefix: str = "x", limit: int = READABLE) -> tuple[list[tuple[Expr, Expr]], list[Expr]]:
    """Name what is used twice, and what is too long to read.

    Returns the definitions (symbol, expression), each in terms of earlier
    ones, and the expressions in terms of all. No tree exceeds `limit`.
    """
    roots = roots_of(exprs)
    order = topological(roots)
    uses: dict[Expr, int] = {}
    for used in [*(e.args for e in order), set(roots)]:
        for a in used:
            uses[a] = uses.get(a, 0) + 1
    taken = {s.value for s in free_symbols(roots)}
    names = (symbol(f"{prefix}{i}") for i in count(1) if f"{prefix}{i}" not in taken)
    size: dict[Expr, int] = {}
    stand_in: dict[Expr, Expr] = {}
    for e in order:
        size[e] = (e.op not in ("const", "symbol")) + sum(0 if a in stand_in else size[a] for a in e.args)
        cheap = size[e] == 0 or e.op == "neg" or (e.op == "pow" and not e.args[0].args)
        if (not cheap and uses.get(e, 0) > 1) or size[e] > limit // 2:
            stand_in[e] = next(names)
    # each definition is written with the stand-ins of the others
    definitions = []
    image: dict[Expr, Expr] = {}
    for e in order:
        # as it stands: a stand-in hides poles, so nothing may fold around it
        new = node(e.op, tuple([image[a] for a in e.args]), e.value) if e.args else e
        if e in stand_in:
            definitions.append((stand_in[e], new))
            new = stand_in[e]
        image[e] = new
    return definitions, [image[e] for e in roots]


def text(e: Expr) -> str:
    """Write an expression in infix: with named parts if it is long, its size if it is large."""
    if tree_size(e) <= READABLE:
        return infix(e)
    if _operations(e) > 2 * READABLE:
        return summary(e)
    definitions, (reduced,) = intermediates(e)
    return infix(reduced) + _where(definitions)


def _operations(exprs: Exprs) -> int:
    return sum(op_counts(exprs).values())


def _where(definitions: list[tuple[Expr, Expr]]) -> str:
    return "".join(f"\n{'where' if k == 0 else '     '} {s.value} = {infix(e)}" for k, (s, e) in enumerate(definitions))


def summary(exprs: Exprs) -> str:
    """Say how large expressions are and what they depend on."""
    total = _operations(exprs)
    names = sorted(s.value for s in free_symbols(exprs))
    shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    return f"<{total:,} operations in {shown}>"


def matrix_text(m: Matrix) -> str:
    """Write a matrix as nested lists: with named parts if it is long, its size if it is large."""
    if tree_size(m) <= 2 * READABLE:
        return _rows(m)
    if _operations(m) > 4 * READABLE:
        return f"<{' x '.join(map(str, m.shape))} matrix: {summary(m)[1:]}"
    definitions, reduced = intermediates(m)
    return _rows(Matrix(m.shape, reduced)) + _where(definitions)


def _rows(m: Matrix) -> str:
    if len(m.shape) == 1:
        return "[" + ", ".join(infix(e) for e in m.entries) + "]"
    return "[" + ",\n ".join(_rows(row) for row in m.rows()) + "]"


@dataclass(frozen=True, slots=True)
class _Text:
    """A written expression: how it reads, and as sum or product where it is one.

    summands : (is negative, text) of each
    factors : (text, exponent) of each factor
    """

    text: str
    tight: int
    summands: tuple[tuple[bool, str], ...] = ()
    factors: tuple[tuple[str, int], ...] = ()

    def at(self, least: int) -> str:
        return self.text if self.tight >= least else f"({self.text})"

    def as_terms(self) -> tuple[tuple[bool, str], ...]:
        return self.summands or ((False, self.at(_PRODUCT)),)

    def as_factors(self) -> tuple[tuple[str, int], ...]:
        return self.factors or ((self.at(_ATOM), 1),)


def _sum(summands: Iterable[tuple[bool, str]]) -> _Text:
    """Write a sum: positive terms first, numbers last, else by the alphabet."""
    ordered = sorted(summands, key=lambda t: (t[0], t[1][0].isdigit() and t[1].isalnum(), t[1]))
    joined = "".join((" - " if minus else " + ") + term for minus, term in ordered)
    text = joined[3:] if not ordered[0][0] else f"-{joined[3:]}"
    return _Text(text, _SUM, summands=tuple(ordered))


def _product(factors: Iterable[tuple[str, int]]) -> _Text:
    """Write a product as one fraction: numbers, then names, then the rest."""
    powers: dict[tuple[str, bool], int] = {}  # above and below the line apart
    for text, n in factors:
        powers[text, n > 0] = powers.get((text, n > 0), 0) + n
    ordered = sorted(powers.items(), key=lambda f: (not f[0][0][:1].isdigit(), "(" in f[0][0], f[0]))
    above = [_power(text, n) for (text, up), n in ordered if up and text != "1"] or ["1"]
    below = [_power(text, -n) for (text, up), n in ordered if not up]
    written = "*".join(above)
    if below:
        written += "/" + (below[0] if len(below) == 1 else f"({'*'.join(below)})")
    return _Text(written, _PRODUCT, factors=tuple((text, n) for (text, _), n in ordered))


def _power(text: str, n: int) -> str:
    return text if n == 1 else f"{text}**{n}"


def _number(value: int | Fraction | float) -> _Text:
    if value < 0:
        positive = _number(-value)
        return _Text(f"-{positive.text}", _SUM, summands=((True, positive.text),))
    if isinstance(value, Fraction):
        return _product([(_whole(value.numerator), 1), (_whole(value.denominator), -1)])
    return _Text(_whole(value) if isinstance(value, int) else str(value), _ATOM)


def _whole(value: int) -> str:
    bits = value.bit_length()
    return str(value) if bits <= 400 else f"<about 2**{bits}>"


def infix(root: Expr) -> str:
    written: dict[Expr, _Text] = {}
    for e in topological(root):
        written[e] = _write(e, [written[a] for a in e.args])
    return written[root].text


def _write(e: Expr, args: list[_Text]) -> _Text:
    if e.op == "const":
        return _number(e.value)
    if e.op == "symbol":
        return _Text(e.value, _ATOM)
    if e.op in ("neg", "sub"):
        flipped = tuple((not minus, term) for minus, term in args[-1].as_terms())
        return _sum(flipped if e.op == "neg" else args[0].as_terms() + flipped)
    if e.op == "add":
        return _sum(args[0].as_terms() + args[1].as_terms())
    if e.op == "mul":
        return _product(args[0].as_factors() + args[1].as_factors())
    if e.op == "div":
        return _product((*args[0].as_factors(), (args[1].at(_ATOM), -1)))
    if e.op == "pow":
        base = args[0].at(_ATOM)
        return _Text(f"{base}**{e.value}", _ATOM, factors=((base, e.value),))
    if e.op in _INFIX:
        return _Text(f"({args[0].text}{_INFIX[e.op]}{args[1].text})", _ATOM)
    if e.op == "acos" and e.args[0] == -1:
        return _Text("pi", _ATOM)
    return _Text(f"{e.op}({', '.join(a.text for a in args)})", _ATOM)
