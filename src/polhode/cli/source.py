"""Equations as source text: C and Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .holding import statement

if TYPE_CHECKING:
    from polhode.equations import Equations
    from polhode.model import Model

SOLVED = {
    "c": "dynamics_... writes the terms of M udot + c = Q + tau + J^T lam and J udot + gamma = 0, "
    "forward_dynamics_... solves them for udot and lam.",
    "python": "udot is that of the machine with them, lam their reactions.",
}


def source_text(eq: Equations, whole: Model, kind: str, output: Path | None) -> str:
    """The equations in C or Python, or the names of the files they were written to."""
    from polhode.equations.source import c_source, python_source

    said = statement(eq, whole, SOLVED[kind])
    if kind == "python":
        module = python_source(eq, note=said)
        if output is None:
            return module
        output.write_text(module, encoding="utf-8")
        return str(output)
    made = c_source(eq, note=said)
    if output is None:
        return made.alone
    files = made.write(output) if output.suffix == ".c" else made.save(output)
    return "\n".join(map(str, files))
