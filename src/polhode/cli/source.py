"""Equations as source text: C and Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polhode.graph import Expr, Matrix

from .holding import statement

if TYPE_CHECKING:
    from polhode.compile import Function
    from polhode.equations import Equations
    from polhode.model import Model


def source_text(eq: Equations, whole: Model, kind: str, output: Path | None) -> str:
    """One function of the state in C or Python: inertia matrix, bias, forces, accelerations.

    With constraints, their rows instead of accelerations, which follow from both.
    """
    from polhode.compile import compile
    from polhode.equations.dynamics import accelerations
    from polhode.equations.inputs import fresh

    tau = fresh("tau", eq)
    outputs: dict[str, Matrix] = {
        "mass_matrix": eq.M,
        "bias": eq.c,
        "forces": eq.Q,
    }
    rows = eq.constraints
    if len(rows):
        outputs |= {"J": rows.J, "gamma": rows.gamma, "phi": rows.phi, "psi": rows.psi}
    else:
        outputs["udot"] = accelerations(eq, tau)
    outputs["qdot"] = eq.kinematics.q_dot
    said = statement(eq.model, whole, "M udot + c = Q + tau + J^T lam and J udot + gamma = 0 give udot.")
    left = list(eq.parameters)
    inputs: dict[str, Any] = {"q": eq.q, "u": eq.u, "tau": tau, "t": eq.t}
    if left:
        inputs["p"] = left
    name = re.sub(r"[^A-Za-z0-9]+", "_", eq.model.name).strip("_").lower() or "model"
    made = compile(inputs, outputs, target="c" if kind == "c" else "numpy", name=f"dynamics_{name}")
    if kind == "c":
        note = f"/* {said.replace('*/', '* /')} */\n" if said else ""
        # alone, the source carries its header; in files, they are two
        include = f'#include "{made.name}.h"\n'
        if output is None:
            return note + made.source.replace(include, made.header)
        if output.suffix == ".c":
            header = output.with_suffix(".h")
            output.write_text(note + made.source.replace(include, f'#include "{header.name}"\n'), encoding="utf-8")
            header.write_text(made.header, encoding="utf-8")
            return f"{output}\n{header}"
        output.mkdir(parents=True, exist_ok=True)
        source, header = made.save(output)
        source.write_text(note + made.source, encoding="utf-8")
        return f"{source}\n{header}"
    module = _module(made, eq, left, said)
    if output is None:
        return module
    output.write_text(module, encoding="utf-8")
    return str(output)


def _module(made: Function, eq: Equations, left: list[Expr], said: str) -> str:
    """A Python module: a function that takes and returns arrays, and the generated one below it."""
    shapes = {port.name: port.shape for port in made.outputs}
    p = ", p" if left else ""
    note = "\n" + said.replace("\\", "/").replace("'''", '"') + "\n" if said else ""
    orders = {"q": eq.q, "u": eq.u} | ({"p": left} if left else {})
    order = "\n".join(f"{name} = [{', '.join(str(s.value) for s in symbols)}]" for name, symbols in orders.items())
    form = "M udot + c = Q + tau" + " + J^T lam" * bool(len(eq.constraints))
    return f"""'''Equations of motion of {eq.model.name!r}, {form}, qdot = N u.
{note}
{order}
'''

import numpy as np

SHAPES = {shapes!r}


def dynamics(q, u, tau, *{p}, t=0.0):
    '''Return {", ".join(shapes)} by name, for arrays of shape (..., n).'''
    q, u, tau, t{p} = (np.asarray(a, dtype=float) for a in (q, u, tau, np.asarray(t)[..., None]{p}))
    lead = np.broadcast_shapes(*(a.shape[:-1] for a in (q, u, tau, t{p})))
    rows = [np.broadcast_to(a, (*lead, a.shape[-1])).reshape(-1, a.shape[-1]) for a in (q, u, tau, t{p})]
    out = {{name: np.empty((len(rows[0]), int(np.prod(shape)))) for name, shape in SHAPES.items()}}
    {made.name}(*rows, *out.values())
    return {{name: out[name].reshape(*lead, *shape) for name, shape in SHAPES.items()}}


{made.source.strip()}
"""
