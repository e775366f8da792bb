"""Linear models of symbols as LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polhode.equations.latex import lettered, part_lines, rounded
from polhode.equations.page import broken
from polhode.equations.views import symbol_latex
from polhode.graph import free_symbols, to_sympy
from polhode.graph.views import sympy_latex

if TYPE_CHECKING:
    from .symbolic import SymbolicModel


def symbolic_latex(lin: SymbolicModel, room: float, digits: int | None) -> str:
    """dy/dt = A y + B v, w = C y + D v, then what y, v and w are, then the matrices."""
    parts = {"A": lin.A, "B": lin.B, "C": lin.C, "D": lin.D, "d": lin.drift}
    symbols = free_symbols([e for part in parts.values() for e in part.entries])
    names = {to_sympy(s): symbol_latex(str(s.value)) for s in symbols}
    said = lettered((*parts, "y", "v", "w"), names.values())

    def tex(view: Any) -> str:
        return sympy_latex(rounded(view, digits), symbol_names=names)

    moving, measured = any(e != 0 for e in lin.drift), lin.outputs != lin.states
    y, v = said["y"], said["v"]
    lines = [rf"\dot{{{y}}} &= {said['d'] + ' + ' if moving else ''}{said['A']} {y} + {said['B']} {v}"]
    lines += [f"{said['w']} &= {said['C']} {y} + {said['D']} {v}"] if measured else []
    lines += broken(y, _row([symbol_latex(name) for name in lin.states]), room)
    speeds = {*lin.states, *lin.dependent}
    lines += broken(v, _row([_input(name, name in speeds) for name in lin.inputs]), room)
    lines += broken(said["w"], _row([symbol_latex(name) for name in lin.outputs]), room) if measured else []
    shown = ["A", "B", *(["C", "D"] if measured else []), *(["d"] if moving else [])]
    lines += [line for name in shown for line in part_lines(said[name], to_sympy(parts[name]), tex, room)]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _input(name: str, speed: bool) -> str:
    """A force on a speed, or an actuator."""
    return rf"\tau_{{{symbol_latex(name.removesuffix('_dot'))}}}" if speed else symbol_latex(name)


def _row(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return r"\left[\begin{matrix}" + " & ".join(names) + r"\end{matrix}\right]^{T}"
