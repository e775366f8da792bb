"""Equations for reading: as SymPy has them, and their names in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from polhode.graph import Expr, Matrix, to_sympy

from .inputs import fresh

if TYPE_CHECKING:
    from .equations import Equations


PARTS = ("q", "u", "N", "M", "c", "Q", "C", "gravity", "kinetic", "potential")


class SympyEquations:
    """The equations as SymPy objects, each made when asked for.

    q, u, tau : column matrices of real symbols
    N, M, c, Q, C, gravity : matrices
    kinetic, potential     : expressions
    """

    def __init__(self, equations: Equations, simplify: bool) -> None:
        self.equations, self.simplify = equations, simplify

    def simplified(self, e: Expr | Matrix) -> Any:
        """An expression of the equations as SymPy has it, simplified where these are."""
        found = to_sympy(e)
        if not self.simplify:
            return found
        speeds = [to_sympy(u) for u in self.equations.u]
        if isinstance(e, Matrix):
            return found.applyfunc(lambda entry: simplified(entry, speeds))
        return simplified(found, speeds)

    @cached_property
    def tau(self) -> Any:
        """What acts on the speeds from outside, as symbols tau_<speed>."""
        return to_sympy(fresh("tau", self.equations))

    def __getattr__(self, name: str) -> Any:
        if name not in PARTS:
            raise AttributeError(f"The equations have no {name!r}.")
        found = self.simplified(getattr(self.equations, name))
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *PARTS])

    @property
    def parameters(self) -> list[Any]:
        return [to_sympy(s) for s in self.equations.parameters]

    def __repr__(self) -> str:
        return f"SymPy view of {self.equations!r}"


def simplified(e: Any, speeds: Any = ()) -> Any:
    """SymPy's shortest form of an expression, as it is or speed by speed."""
    import sympy

    def shortest(forms: list[Any]) -> Any:
        return min(forms, key=lambda f: (sympy.count_ops(f), len(str(f))))

    def plain(f: Any) -> Any:
        turned = sympy.trigsimp(sympy.expand(f))
        return shortest([f, sympy.simplify(f), turned, sympy.factor(turned)])

    found = [plain(e)]
    present = [u for u in speeds if e.has(u)]
    if present and e.is_polynomial(*present):
        monomials = sympy.Poly(sympy.expand(e), *present).terms()
        parts = [
            (sympy.prod([u**n for u, n in zip(present, powers, strict=True)]), plain(k)) for powers, k in monomials
        ]
        whole = sympy.Add(*[k * monomial for monomial, k in parts])
        found += [whole, sympy.factor_terms(whole)]
    return shortest(found)


def symbol_latex(name: str) -> str:
    """LaTeX of a name: theta1_dot as a dotted theta with index, words upright."""
    for ending, accent in (("_dot_dot", "ddot"), ("_dot", "dot")):
        if name.endswith(ending):
            base, index = _parts(name.removesuffix(ending))
            return rf"\{accent}{{{base}}}{index}"
    base, index = _parts(name)
    return base + index


def names_in_latex(names: Iterable[str]) -> dict[str, str]:
    """LaTeX of names; of two that would look alike, as x1 and x_1, the later one is spelled out."""
    found: dict[str, str] = {}
    for name in names:
        tex = symbol_latex(name)
        found[name] = upright(name) if tex in found.values() else tex
    return found


def letter(tex: str) -> str:
    r"""The letter or word of a symbol in LaTeX, without its index and dots: M of \dot{M}_{1}."""
    return re.sub(r"\\d?dot\{(.*)\}", r"\1", tex.partition("_")[0])


def _parts(name: str) -> tuple[str, str]:
    """A letter, greek letter or upright word, and its index."""
    import sympy

    head, _, tail = name.partition("_")
    counted = re.fullmatch(r"([A-Za-z]+?)(\d+)", head)
    if counted and not tail:
        head, tail = counted.groups()
    if not head:
        head, tail = name, ""
    greek = str(sympy.latex(sympy.Symbol(head))) if head.isascii() and head.isalpha() else head
    base = greek if greek != head or re.fullmatch("[A-Za-z]", head) else upright(head)
    if not tail:
        return base, ""
    return base, f"_{{{tail if re.fullmatch('[A-Za-z]|[0-9]+', tail) else upright(tail)}}}"


_SPECIAL = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}


def upright(text: str) -> str:
    return rf"\text{{{''.join(_SPECIAL.get(c, chr(92) + c if c in '_#%&${}' else c) for c in text)}}}"
