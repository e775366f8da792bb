"""Equations of motion as LaTeX: in one line where it fits, part by part where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from polhode.graph import Expr, Matrix, free_symbols, identity, intermediates, substitute, symbol, to_sympy, tree_size
from polhode.graph.printing import READABLE
from polhode.graph.views import sympy_latex

from .page import broken, packed, width
from .views import symbol_latex

if TYPE_CHECKING:
    from .equations import Equations

ROOM = 33.0  # em: the text of an article on A4 or letter paper is 33 to 34 wide


def latex(
    equations: Equations,
    simplify: bool = False,
    room: float = ROOM,
    digits: int | None = 6,
    environment: str = "aligned",
) -> str:
    """Write qdot = N u and M udot + c = Q + tau, long parts by intermediate variables.

    With constraints, M udot + c = Q + tau + J^T lam and J udot + gamma = 0. What is wider than `room` is written
    part by part: the equation in symbols, then matrices, or where these are too wide their entries.
    """
    return _Written(equations, simplify, room, digits).whole(environment)


class _Written:
    """The parts of the equations as LaTeX."""

    def __init__(self, equations: Equations, simplify: bool, room: float, digits: int | None) -> None:
        self.eq, self.room, self.digits = equations, room, digits
        rows = equations.constraints
        parts: dict[str, Matrix] = {name: getattr(equations, name) for name in ("N", "M", "c", "Q")}
        if len(rows):
            parts |= {"J": rows.J, "gamma": rows.gamma}
        entries = [e for part in parts.values() for e in part.entries]
        definitions: list[tuple[Expr, Expr]] = []
        if not simplify and max(map(tree_size, entries), default=0) > READABLE // 2:
            definitions, reduced = named_parts(entries)
            rest = iter(reduced)
            parts = {n: Matrix(p.shape, [next(rest) for _ in p.entries]) for n, p in parts.items()}
        self.views = {name: to_sympy(part) for name, part in parts.items()}
        if simplify:
            view = equations.to_sympy(simplify=True)
            self.views = {name: view.simplified(part) for name, part in parts.items()}
        known = (
            *equations.q,
            *equations.u,
            *equations.z,
            *equations.controls,
            *equations.parameters,
            *(s for s, _ in definitions),
        )
        self.names = {to_sympy(s): symbol_latex(str(s.value)) for s in known}
        self.words = any(r"\text" in name for name in self.names.values())  # which stand apart in a product
        self.said = lettered(("M", "c", "Q", "J", "gamma", "u", "tau", "lambda"), self.names.values())
        self.q, self.u = ([str(s.value) for s in part] for part in (equations.q, equations.u))
        self.definitions = [(self.tex(to_sympy(s)), self.tex(to_sympy(e))) for s, e in definitions]

    def tex(self, view: Any) -> str:
        options = {"mul_symbol": r" \, "} if self.words else {}
        return sympy_latex(rounded(view, self.digits), symbol_names=self.names, **options)

    def whole(self, environment: str) -> str:
        lines = [*packed(self.definitions, self.room), *self.rates(), *self.motion(), *self.rows()]
        return f"\\begin{{{environment}}}\n" + " \\\\\n".join(lines) + f"\n\\end{{{environment}}}"

    # what is written

    def rates(self) -> list[str]:
        """The rates of the coordinates, unless they are the speeds."""
        N, drift = self.views["N"], self.eq.kinematics.drift
        drifting = any(e != 0 for e in drift)
        if not drifting and identity(len(self.u)) == self.eq.N and self.u == [f"{name}_dot" for name in self.q]:
            return []
        dotted = [symbol_latex(f"{name}_dot") for name in self.q]
        rest = f" + {self.tex(to_sympy(drift))}" if drifting else ""
        right = f"{self.tex(N)} {column([symbol_latex(name) for name in self.u])}{rest}"
        if width(column(dotted)) + width(right) + 1.3 <= self.room:
            return [f"{column(dotted)} &= {right}"]
        speeds = to_sympy(Matrix((len(self.u), 1), list(self.eq.u)))
        moved = N * speeds + to_sympy(drift)
        return [line for k, name in enumerate(dotted) for line in broken(name, self.tex(moved[k]), self.room)]

    def motion(self) -> list[str]:
        """M udot + c = Q + tau + J^T lam, and its parts where it is too wide."""
        udot = column([symbol_latex(f"{name}_dot") for name in self.u])
        tau = column([rf"\tau_{{{symbol_latex(name.removesuffix('_dot'))}}}" for name in self.u])
        forced = any(e != 0 for e in self.eq.Q)
        count = len(self.eq.constraints)
        left = f"{self.tex(self.views['M'])} {udot} + {self.tex(self.views['c'])}"
        right = f"{self.tex(self.views['Q'])} + {tau}" if forced else tau
        if count:
            lam = column([rf"\lambda_{{{k + 1}}}" for k in range(count)])
            right += f" + {self.tex(self.views['J'].T)} {lam}"
        if width(left) + width(right) + 1.3 <= self.room:
            return [f"{left} &= {right}"]
        said = self.said
        held = rf" + {said['J']}^{{T}} {said['lambda']}" if count else ""
        udot = rf"\dot{{{said['u']}}}"
        right = f"{said['Q']} + {said['tau']}" if forced else said["tau"]
        lines = [f"{said['M']} {udot} + {said['c']} &= {right}{held}"]
        lines += broken(udot, f"{_row([symbol_latex(f'{name}_dot') for name in self.u])}^{{T}}", self.room)
        return lines + self.part("M") + self.part("c") + (self.part("Q") if forced else [])

    def rows(self) -> list[str]:
        """J udot + gamma = 0."""
        if not len(self.eq.constraints):
            return []
        J, gamma = (self.tex(self.views[name]) for name in ("J", "gamma"))
        udot = column([symbol_latex(f"{name}_dot") for name in self.u])
        left = f"{J} {udot} + {gamma}"
        if width(left) + 1.8 <= self.room:
            return [f"{left} &= 0"]
        said = self.said
        return [rf"{said['J']} \dot{{{said['u']}}} + {said['gamma']} &= 0", *self.part("J"), *self.part("gamma")]

    def part(self, name: str) -> list[str]:
        """A matrix, of M each pair of entries once."""
        return part_lines(self.said[name], self.views[name], self.tex, self.room, symmetric=name == "M")


def lettered(names: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """LaTeX of the letters of matrices and vectors; all bold where a parameter or variable is called like one."""
    plain, written = {name: symbol_latex(name) for name in names}, set(taken)
    if written.isdisjoint(plain.values()):
        return plain
    return {n: rf"\boldsymbol{{{tex}}}" if tex.startswith("\\") else rf"\mathbf{{{tex}}}" for n, tex in plain.items()}


def part_lines(called: str, view: Any, tex: Callable[[Any], str], room: float, symmetric: bool = False) -> list[str]:
    """A matrix of SymPy's by its letter, or where it is too wide its entries that are not 0."""
    if width(called) + 1.3 + width(tex(view)) <= room:
        return [f"{called} &= {tex(view)}"]
    count, columns = view.shape
    comma = "," if max(count, columns) > 9 else ""
    left_out = False
    entries = []
    for i in range(count):
        for j in range(i if symmetric else 0, columns):
            if view[i, j] == 0:
                left_out = True
                continue
            place = f"{i + 1}{comma}{j + 1}" if columns > 1 else f"{i + 1}"
            entries.append((f"{called}_{{{place}}}", tex(view[i, j])))
    said = [f"{called}_{{ji}} = {called}_{{ij}}"] if symmetric and count > 1 else []
    said += [rf"\text{{all other }} {called} = 0"] if left_out else []
    return [*packed(entries, room), *(["& " + r", \quad ".join(said)] if said else [])]


def named_parts(
    values: Sequence[Expr], prefix: str = "x", limit: int = READABLE
) -> tuple[list[tuple[Expr, Expr]], list[Expr]]:
    """Definitions and what is left; without names for single operations, such as sin(q)."""
    definitions, reduced = intermediates(values, prefix, limit)
    inlined: dict[Expr, Expr] = {}
    kept: list[tuple[Expr, Expr]] = []
    for s, e in definitions:
        written = substitute(e, inlined)
        if any(a.args for a in written.args):
            kept.append((s, written))
        else:
            inlined[s] = written
    taken = {str(s.value) for s in free_symbols(list(values))}
    free = (symbol(name) for k in range(1, 10**6) if (name := f"{prefix}{k}") not in taken)
    renamed = {s: new for (s, _), new in zip(kept, free, strict=False)}
    return (
        [(renamed[s], substitute(e, renamed)) for s, e in kept],
        [substitute(substitute(e, inlined), renamed) for e in reduced],
    )


def rounded(view: Any, digits: int | None) -> Any:
    """What SymPy has, with numbers to so many digits."""
    import sympy

    if digits is None:
        return view
    return view.xreplace({x: sympy.Float(f"{float(x):.{digits}g}") for x in view.atoms(sympy.Float)})


def column(names: list[str]) -> str:
    return r"\left[\begin{matrix}" + r"\\".join(names) + r"\end{matrix}\right]"


def _row(names: list[str]) -> str:
    return r"\left[\begin{matrix}" + " & ".join(names) + r"\end{matrix}\right]"
