"""Which constraints hold in what a command prints, and the accelerations that they leave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polhode.model import Constraint, Model

if TYPE_CHECKING:
    from polhode.equations import Equations


def bare(model: Model) -> Model:
    """The same bodies and forces, without constraints, couplings, stops at limits and switches."""
    return replace(model, constraints=(), switches=(), limits="ignore")


def names_of(model: Model) -> list[str]:
    """Names of the constraints that hold as declared, couplings among them, in the order of their rows."""
    return [c.name for c in model.holding]


def listed(holding: Iterable[Constraint]) -> str:
    """Couplings and constraints that hold, in a line."""
    return _line([f"{c.name!r} ({c.described()}; {c.rows} equation{'s' * (c.rows > 1)})" for c in holding])


def _line(every: list[str]) -> str:
    return ", ".join(every[:12]) + (f" and {len(every) - 12} more" if len(every) > 12 else "")


def statement(eq: Equations, whole: Model, consequence: str, moves: bool = False) -> str:
    """Say what holds in a result, and what was left out of it; nothing for a model without constraints.

    eq          : what the result is of
    whole       : the model of the file
    consequence : what follows from it where rows of constraints hold
    moves       : of a simulation, from which what comes and goes is not left out
    """
    said, model, inside = [], eq.model, eq.kinematics.embedded
    rows, kept = ([c for c in model.holding if (c.name in inside) is way] for way in (False, True))
    gone = [c for c in whole.switchable if c not in model.switchable] if moves else list(whole.candidates)
    if rows:
        said.append(f"Holding {listed(rows)}. {consequence}")
    if kept:
        said.append(f"Embedded {listed(kept)}: the speeds keep {'it' if len(kept) == 1 else 'them'}, without rows.")
    if names_of(whole) and not names_of(model):
        said.append(f"Left out by --bare: {listed(whole.holding)}. This is the bare tree.")
        gone = [c for c in gone if not c.holds]
    if gone:
        why = "by --bare" if moves else "for it comes and goes in simulations"
        said.append(f"Left out, {why}: {_line([f'{c.name!r} ({c.described()})' for c in gone])}.")
    return " ".join(said)


def constraint_lists(eq: Equations, whole: Model) -> dict[str, list[str]]:
    """The same for programs: what holds, what of it is embedded in the speeds, what --bare left out, and what comes and
    goes in simulations alone."""
    model = eq.model
    inside = {c.name for c in model.switchable}
    return {
        "holds": names_of(model),
        "embedded": [name for name in names_of(model) if name in eq.kinematics.embedded],
        "left_out": [c.name for c in whole.switchable if c.name not in inside],
        "comes_and_goes": [c.name for c in model.candidates],
    }


def rows_at(
    eq: Equations, q: list[float], u: list[float], tau: list[float], t: float, z: list[float]
) -> tuple[list[float], list[dict[str, Any]]]:
    """Accelerations (nu,) at a state where the constraints hold, and their rows: residuals and reactions."""
    import numpy as np

    from polhode.equations.program import program_of
    from polhode.equations.satisfied import Residuals, residuals

    rows, dynamics = eq.constraints, eq.compile()
    m, program = len(rows), program_of(dynamics)
    n = len(eq.u)
    udot, lam = dynamics.response(q, u, tau[:n], controls=tau[n:] or None, t=t, z=z, check=False)
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
