"""Which constraints hold in what a command prints, and the accelerations that they leave."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polhode.model import Model

if TYPE_CHECKING:
    from polhode.equations import Equations


def bare(model: Model) -> Model:
    """The same bodies and forces, without constraints and couplings."""
    return replace(model, constraints=())


def names_of(model: Model) -> list[str]:
    """Names of the constraints of a model, couplings among them, in the order of their rows."""
    return [c.name for c in model.constraints]


def listed(model: Model) -> str:
    """Couplings and constraints in a line."""
    every = [f"{c.name!r} ({c.described()}; {c.rows} equation{'s' * (c.rows > 1)})" for c in model.constraints]
    return ", ".join(every[:12]) + (f" and {len(every) - 12} more" if len(every) > 12 else "")


def statement(model: Model, whole: Model, consequence: str) -> str:
    """Say what holds in a result, or what --bare left out; nothing for a model without constraints.

    model       : what the result is of
    whole       : the model of the file
    consequence : what follows from it where constraints hold
    """
    if names_of(model):
        return f"Holding {listed(model)}. {consequence}"
    if names_of(whole):
        return f"Left out by --bare: {listed(whole)}. This is the bare tree."
    return ""


def constraint_lists(model: Model, whole: Model) -> dict[str, list[str]]:
    """The same for programs."""
    inside = names_of(model)
    return {"holds": inside, "left_out": [name for name in names_of(whole) if name not in inside]}


def rows_at(
    eq: Equations, q: list[float], u: list[float], tau: list[float], t: float, z: list[float]
) -> tuple[list[float], list[dict[str, Any]]]:
    """Accelerations (nu,) at a state where the constraints hold, and their rows: residuals and reactions."""
    import numpy as np

    from polhode.equations.program import program_of
    from polhode.equations.satisfied import Residuals, residuals

    rows, dynamics = eq.constraints, eq.compile()
    m, program = len(rows), program_of(dynamics)
    udot, lam = dynamics.response(q, u, tau, t=t, z=z, check=False)
    left = Residuals.of(dynamics.row_accelerations(q, u, udot, lam, t=t, z=z)[None])
    if far := left.furthest(np.ones(m, dtype=bool)):
        raise ValueError(
            f"Constraint row {rows.labels[far[0]]!r}: no acceleration satisfies it together with the others at this "
            f"state, it is {far[1]}. Give a state where the constraints hold, or --bare."
        )
    at = residuals(program, np.array([t]), np.array([[*q, *u, *z]], dtype=float), program.given(np.zeros(0), None))
    (phi, psi), (wrong, fast) = (np.split(part[0], 2) for part in (at.off, at.loose))
    each = zip(rows.labels, rows.holonomic, phi, psi, lam, wrong | fast, strict=True)
    found = [
        {
            "row": label,
            "position": float(x) if holonomic else None,
            "speed": float(v),
            "reaction": float(f),
            "off": bool(o),
        }
        for label, holonomic, x, v, f, o in each
    ]
    return udot.tolist(), found


def rows_text(rows: list[dict[str, Any]]) -> list[str]:
    """The rows in columns, and a word where the state does not satisfy them."""
    width = max(len("constraint"), *(len(row["row"]) for row in rows))
    lines = ["", f"{'constraint':<{width}} {'phi':>13} {'psi':>13} {'reaction':>13}"]
    for row in rows:
        phi = f"{'':>13}" if row["position"] is None else f"{row['position'] + 0.0:13.6g}"
        lines.append(f"{row['row']:<{width}} {phi} {row['speed'] + 0.0:13.6g} {row['reaction'] + 0.0:13.6g}")
    off = [row["row"] for row in rows if row["off"]]
    if off:
        shown = ", ".join(map(repr, off[:6])) + ", ..." * (len(off) > 6)
        lines += ["", f"The state does not satisfy {shown}: phi and psi should be 0. `polhode simulate` closes loops."]
    return lines
