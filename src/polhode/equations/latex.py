"""Equations of motion as LaTeX: in one line where it fits, part by part where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from polhode.graph import Expr, Matrix, free_symbols, identity, intermediates, substitute, symbol, to_sympy, tree_size
from polhode.graph.printing import READABLE
from polhode.graph.views import sympy_latex

from .page import aligned, broken, packed, sides, width
from .views import letter, names_in_latex, symbol_latex

if TYPE_CHECKING:
    from .equations import Equations

LETTERS, TIED = ("M", "c", "Q", "u", r"\tau"), ("J", r"\gamma", r"\lambda")  # of matrices and vectors
_TRIES = 4
ROOM = 33.0  # em: the text of an article on A4 or letter paper is 33 to 34 wide


def latex(
    equations: Equations,
    simplify: bool = False,
    room: float = ROOM,
    digits: int | None = 6,
    environment: str = "aligned",
) -> str:
    """Write qdot = N u, M udot + c = Q + tau and zdot = f, long parts by intermediate variables.

    With constraints, M udot + c = Q + tau + J^T lam and J udot + gamma = 0. What is wider than `room` is written
    part by part: the equation in symbols, then matrices, or where these are too wide their entries. Matrices are
    bold where something of the machine has one of their letters, as a mass M.
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
        if len(equations.z):
            parts["z"] = equations.z_dot
        known = (*equations.q, *equations.u, *equations.z, *equations.controls, *equations.parameters)
        written = names_in_latex([str(s.value) for s in known])
        entries = [e for part in parts.values() for e in part.entries]
        definitions: list[tuple[Expr, Expr]] = []
        if not simplify and max(map(tree_size, entries), default=0) > READABLE // 2:
            definitions, reduced = named_parts(entries, taken=written.values())
            rest = iter(reduced)
            parts = {n: Matrix(p.shape, [next(rest) for _ in p.entries]) for n, p in parts.items()}
        self.views = {name: to_sympy(part) for name, part in parts.items()}
        if simplify:
            view = equations.to_sympy(simplify=True)
            self.views = {name: view.simplified(part) for name, part in parts.items()}
        self.written = written | {(name := str(s.value)): symbol_latex(name) for s, _ in definitions}
        self.names = {to_sympy(s): self.written[str(s.value)] for s in (*known, *(s for s, _ in definitions))}
        self.letters = {letter(tex) for tex in written.values()}
        self.clear = self.letters.isdisjoint((*LETTERS, *TIED) if len(rows) else LETTERS)
        self.words = any(r"\text" in name for name in self.names.values())  # which stand apart in a product
        self.q, self.u, self.z = ([str(s.value) for s in part] for part in (equations.q, equations.u, equations.z))
        self.definitions = [(self.tex(to_sympy(s)), self.tex(to_sympy(e))) for s, e in definitions]

    def dotted(self, name: str) -> str:
        """The rate of something, as it is called."""
        return self.written.get(f"{name}_dot") or symbol_latex(f"{name}_dot")

    def sign(self, name: str, alone: bool = True) -> str:
        """A matrix or vector, in bold where a symbol has its letter, or that of any of them if it is `alone`."""
        if self.clear if alone else name not in self.letters:
            return name
        return rf"\{'boldsymbol' if name.startswith(chr(92)) else 'mathbf'}{{{name}}}"

    def tex(self, view: Any) -> str:
        options = {"mul_symbol": r" \, "} if self.words else {}
        return sympy_latex(rounded(view, self.digits), symbol_names=self.names, **options)

    def whole(self, environment: str) -> str:
        page, best, narrowest = self.room, list[str](), float("inf")
        for _ in range(_TRIES):
            parts = (packed(self.definitions, self.room), self.rates(), self.motion(), self.rows(), self.others())
            lines = aligned([line for part in parts for line in part], page)
            left, right = (max(side) for side in zip(*map(sides, lines), strict=True))
            if left + right < narrowest:
                best, narrowest = lines, left + right
            if narrowest <= page:
                break
            self.room -= left + right - page  # lines stand below one another at their signs
        return f"\\begin{{{environment}}}\n" + " \\\\\n".join(best) + f"\n\\end{{{environment}}}"

    # what is written

    def rates(self) -> list[str]:
        """The rates of the coordinates, unless they are the speeds."""
        N, drift = self.views["N"], self.eq.kinematics.drift
        drifting = any(e != 0 for e in drift)
        if not drifting and identity(len(self.u)) == self.eq.N and self.u == [f"{name}_dot" for name in self.q]:
            return []
        dotted = [self.dotted(name) for name in self.q]
        rest = f" + {self.tex(to_sympy(drift))}" if drifting else ""
        right = f"{self.tex(N)} {column([self.written[name] for name in self.u])}{rest}"
        if width(column(dotted)) + width(right) + 1.3 <= self.room:
            return [f"{column(dotted)} &= {right}"]
        speeds = to_sympy(Matrix((len(self.u), 1), list(self.eq.u)))
        moved = N * speeds + to_sympy(drift)
        return [line for k, name in enumerate(dotted) for line in broken(name, self.tex(moved[k]), self.room)]

    def motion(self) -> list[str]:
        """M udot + c = Q + tau + J^T lam, and its parts where it is too wide."""
        udot, pushed = column([self.dotted(name) for name in self.u]), self.sign(r"\tau", alone=False)
        tau = column([rf"{pushed}_{{{symbol_latex(name.removesuffix('_dot'))}}}" for name in self.u])
        forced = any(e != 0 for e in self.eq.Q)
        count = len(self.eq.constraints)
        left = f"{self.tex(self.views['M'])} {udot} + {self.tex(self.views['c'])}"
        right = f"{self.tex(self.views['Q'])} + {tau}" if forced else tau
        if count:
            reaction = self.sign(r"\lambda", alone=False)
            lam = column([rf"{reaction}_{{{k + 1}}}" for k in range(count)])
            right += f" + {self.tex(self.views['J'].T)} {lam}"
        if width(left) + width(right) + 1.3 <= self.room:
            return [f"{left} &= {right}"]
        M, c, Q, J, u, tau, lam = map(self.sign, ("M", "c", "Q", "J", "u", r"\tau", r"\lambda"))
        held = rf" + {J}^{{T}} {lam}" if count else ""
        lines = [rf"{M} \dot{{{u}}} + {c} &= {f'{Q} + ' if forced else ''}{tau}{held}"]
        lines += broken(rf"\dot{{{u}}}", f"{_row([self.dotted(name) for name in self.u])}^{{T}}", self.room)
        return lines + self.part("M") + self.part("c") + (self.part("Q") if forced else [])

    def rows(self) -> list[str]:
        """J udot + gamma = 0."""
        if not len(self.eq.constraints):
            return []
        J, gamma = (self.tex(self.views[name]) for name in ("J", "gamma"))
        udot = column([self.dotted(name) for name in self.u])
        left = f"{J} {udot} + {gamma}"
        if width(left) + 1.8 <= self.room:
            return [f"{left} &= 0"]
        J, u, gamma = map(self.sign, ("J", "u", r"\gamma"))
        return [rf"{J} \dot{{{u}}} + {gamma} &= 0", *self.part("J"), *self.part("gamma")]

    def others(self) -> list[str]:
        """zdot = f."""
        return packed([(self.dotted(name), self.tex(self.views["z"][k])) for k, name in enumerate(self.z)], self.room)

    def part(self, name: str) -> list[str]:
        """A matrix, of M each pair of entries once."""
        return part_lines(self.sign(symbol_latex(name)), self.views[name], self.tex, self.room, symmetric=name == "M")


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
    values: Sequence[Expr], prefix: str = "x", limit: int = READABLE, taken: Iterable[str] = ()
) -> tuple[list[tuple[Expr, Expr]], list[Expr]]:
    """Definitions and what is left; without names for single operations, such as sin(q).

    taken : names in LaTeX that mean something else, besides those in the values
    """
    definitions, reduced = intermediates(values, prefix, limit)
    inlined: dict[Expr, Expr] = {}
    kept: list[tuple[Expr, Expr]] = []
    for s, e in definitions:
        written = substitute(e, inlined)
        if any(a.args for a in written.args):
            kept.append((s, written))
        else:
            inlined[s] = written
    known = {*taken, *(symbol_latex(str(s.value)) for s in free_symbols(list(values)))}
    free = (symbol(name) for k in range(1, 10**6) if symbol_latex(name := f"{prefix}{k}") not in known)
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
