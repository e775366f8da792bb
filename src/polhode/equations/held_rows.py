"""The motion of a machine whose constraints engage and release, for code outside that eliminates rows by itself."""

from __future__ import annotations

from typing import Any

from polhode.compile import Function

from . import native
from .program import Program


def codes(program: Program, target: str) -> list[Function]:
    """What the elimination of rows at a state needs.

    table     : (t, x, tau, p) -> rates beside the accelerations, M, b, J, gamma and the reference of J
    residuals : (t, x, p) -> phi, psi, and the squares of the sizes they are measured by
    capture   : (t, x, p) -> what constraints capture where they engage, if any do
    closure, moves : (t, x, p), where positions are closed in the speeds of the joints; else rates, (t, x, p) -> qdot
    """
    eq = program.equations
    residuals = native.residual_rows(program.base, program.held, program._closing, program._acting, eq.u)
    table = native.table_rows(program._motion)
    table = table[: len(table) - program._sizes[1]]  # without the power of what moves by itself
    found = [
        program.compiled("table", table, True, target=target),
        program.compiled("residuals", residuals, target=target),
    ]
    more = (program.capture, program.closure, program.moves)
    return found + [Function(f.signature, target) for f in more if f is not None]


def held_rows(program: Program) -> dict[str, Any] | None:
    """What is to be known of the rows beside their code; None without constraints."""
    held, names = program.held, program.groups
    if not len(held) and not len(program.constraints):
        return None
    other = program.closure is not None
    return {
        **{"groups": names, "engaged": [int(name in program.declared) for name in names], "held": len(held)},
        "group": [names.index(name) for name in program.constraints.names],
        **{"holonomic": [int(h) for h in held.holonomic], "least": held.least},
        "bodies": native.bodies(program.equations.kinematics),
        "owner": [names.index(name) for name, _, _ in program.candidates.captured],
        **{"captured": len(program.dynamics.parameters), "forces": len(program.tau)},
        "uncounted": len(program.x) - program._sizes[0] - len(program.equations.u),
        **{"joints": len(program.base.u) if other else 0, "factored": int(program._rows is not None)},
        "jointBodies": native.bodies(program.base) if other else [],
    }
