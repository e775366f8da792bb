"""What the commands print."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polhode.graph import Expr, Matrix, intermediates, tree_size, vector
from polhode.graph.printing import READABLE, infix
from polhode.graph.views import short_floats

if TYPE_CHECKING:
    from polhode.compile import Function
    from polhode.equations import Equations
    from polhode.model import Model

TARGETS = ("text", "latex", "c", "python", "json")


def model_data(model: Model) -> dict[str, Any]:
    """A model as one JSON object."""

    def value(e: Expr) -> Any:
        return float(e.value) if e.op == "const" else str(e)

    return {
        "name": model.name,
        "gravity": [value(e) for e in model.gravity],
        "nq": model.nq,
        "nu": model.nu,
        "coordinates": list(model.coordinates),
        "speeds": list(model.speeds),
        "parameters": [str(s.value) for s in model.parameters],
        "bodies": [
            {
                "name": body.name,
                "parent": body.parent,
                "joint": body.joint.name,
                "type": body.joint.kind,
                "coordinates": list(body.joint.coordinates()),
                "speeds": list(body.joint.speeds()),
                "mass": value(body.mass + body.welded.m),
            }
            for body in model.bodies
        ],
        "markers": {marker.name: marker.body for marker in model.markers},
        "forces": [force.name for force in model.forces],
        "couplings": [
            {"coordinate": c.coordinate, "of": c.of, "ratio": value(c.ratio), "offset": value(c.offset)}
            for c in model.couplings
        ],
        "constraints": [constraint.name for constraint in model.constraints],
        "states": [state.name for state in model.states],
        "findings": list(model.report().findings),
    }


def equations_text(equations: Equations, kind: str, simplify: bool, output: Path | None) -> str:
    """The equations in the form asked for; written to `output`, the names of the files."""
    if kind in ("c", "python"):
        return _source(equations, kind, output)
    if simplify and kind == "json":
        raise ValueError("--simplify goes with --to text or --to latex.")
    if kind == "latex":
        written = equations.latex(simplify=simplify)
    elif kind == "json":
        written = json.dumps(_equations_data(equations), indent=2, ensure_ascii=False)
    else:
        written = _plain(equations, simplify)
    if output is None:
        return written
    output.write_text(written + "\n", encoding="utf-8")
    return str(output)


def _equations_data(eq: Equations) -> dict[str, Any]:
    parts = {"N": eq.N, "M": eq.M, "c": eq.c, "Q": eq.Q, "energy": vector([eq.kinetic, eq.potential])}
    every = [e for part in parts.values() for e in part.entries]
    definitions: list[tuple[Expr, Expr]] = []
    if max(map(tree_size, every)) > READABLE // 2:
        definitions, every = intermediates(every)
    entries = iter(every)
    data: dict[str, Any] = {
        "name": eq.model.name,
        "method": eq.method,
        "form": "qdot = N u, M udot + c = Q + tau",
        "q": [str(s.value) for s in eq.q],
        "u": [str(s.value) for s in eq.u],
        "parameters": [str(s.value) for s in eq.parameters],
        "where": [[str(s.value), infix(e)] for s, e in definitions],
    }
    for name, part in parts.items():
        texts = [infix(next(entries)) for _ in part.entries]
        width = part.shape[-1]
        rows = [texts[i : i + width] for i in range(0, len(texts), width)] if len(part.shape) == 2 else texts
        data[name] = rows
    data["kinetic"], data["potential"] = data.pop("energy")
    data["operations"] = eq.op_counts()
    return data


def _plain(eq: Equations, simplify: bool) -> str:
    data = _equations_data(eq)
    if simplify:
        view = eq.to_sympy(simplify=True)
        data["where"] = []
        for name in ("N", "M", "c", "Q"):
            texts = [[str(short_floats(e)) for e in row] for row in getattr(view, name).tolist()]
            data[name] = texts if name in "NM" else [row[0] for row in texts]
    lines = [f"{eq!r}", "", data["form"], f"q = [{', '.join(data['q'])}]", f"u = [{', '.join(data['u'])}]", ""]
    for name in ("N", "M", "c", "Q"):
        rows = [f"[{', '.join(row)}]" if isinstance(row, list) else row for row in data[name]]
        lines.append(f"{name} = [{(',' + chr(10) + ' ' * (len(name) + 4)).join(rows)}]")
    if data["where"]:
        lines += ["", "where", *(f"  {name} = {text}" for name, text in data["where"])]
    return "\n".join(lines)


def _source(eq: Equations, kind: str, output: Path | None) -> str:
    """One function of the state in C or Python: inertia matrix, bias, forces, accelerations."""
    from polhode.compile import compile
    from polhode.equations.dynamics import accelerations
    from polhode.equations.inputs import fresh

    tau = fresh("tau", eq)
    outputs: dict[str, Matrix] = {
        "mass_matrix": eq.M,
        "bias": eq.c,
        "forces": eq.Q,
        "udot": accelerations(eq, tau),
        "qdot": eq.kinematics.q_dot,
    }
    left = list(eq.parameters)
    inputs: dict[str, Any] = {"q": eq.q, "u": eq.u, "tau": tau, "t": eq.t}
    if left:
        inputs["p"] = left
    name = re.sub(r"[^A-Za-z0-9]+", "_", eq.model.name).strip("_").lower() or "model"
    made = compile(inputs, outputs, target="c" if kind == "c" else "numpy", name=f"dynamics_{name}")
    if kind == "c":
        # alone, the source carries its header; in files, they are two
        include = f'#include "{made.name}.h"\n'
        if output is None:
            return made.source.replace(include, made.header)
        if output.suffix == ".c":
            header = output.with_suffix(".h")
            output.write_text(made.source.replace(include, f'#include "{header.name}"\n'), encoding="utf-8")
            header.write_text(made.header, encoding="utf-8")
            return f"{output}\n{header}"
        output.mkdir(parents=True, exist_ok=True)
        return "\n".join(str(path) for path in made.save(output))
    source = _module(made, eq, left)
    if output is None:
        return source
    output.write_text(source, encoding="utf-8")
    return str(output)


def _module(made: Function, eq: Equations, left: list[Expr]) -> str:
    """A Python module: a function that takes and returns arrays, and the generated one below it."""
    shapes = {port.name: port.shape for port in made.outputs}
    p = ", p" if left else ""
    orders = {"q": eq.q, "u": eq.u} | ({"p": left} if left else {})
    order = "\n".join(f"{name} = [{', '.join(str(s.value) for s in symbols)}]" for name, symbols in orders.items())
    return f"""'''Equations of motion of {eq.model.name!r}, M udot + c = Q + tau, qdot = N u.

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


def evaluated(
    equations: Equations,
    *,
    q: list[float],
    u: list[float],
    tau: list[float],
    t: float,
) -> dict[str, Any]:
    """Everything at one state, by the plain interpreter: nothing to compile for a single point."""
    from polhode.equations.dynamics import accelerations
    from polhode.equations.inputs import fresh
    from polhode.graph import evaluate

    _check_quaternions(equations, q)
    given: dict[Any, Any] = {equations.q: q, equations.u: u, equations.t: t}
    missing = [str(s.value) for s in equations.parameters]
    if missing:
        raise ValueError(f'No value for the parameters {", ".join(missing)}. Give --p "{missing[0]}=...".')
    eq = equations
    force = fresh("tau", eq)
    given |= dict(zip(force, tau, strict=True))
    z = [float(state.start) for state in eq.model.states]
    given |= dict(zip(eq.z, z, strict=True))
    parts = {"mass_matrix": eq.M, "bias": eq.c, "forces": eq.Q, "udot": accelerations(eq, force)}
    found: dict[str, Any] = {name: evaluate(part, given).tolist() for name, part in parts.items()}
    found["qdot"] = evaluate(eq.kinematics.q_dot, given).tolist()
    found["kinetic"], found["potential"] = evaluate([eq.kinetic, eq.potential], given)
    if z:
        found |= {
            "states": [state.name for state in eq.model.states],
            "z": z,
            "zdot": evaluate(eq.z_dot, given).tolist(),
        }
    head = {"name": eq.model.name, "method": eq.method, "coordinates": [str(s.value) for s in eq.q]}
    return head | {"speeds": [str(s.value) for s in eq.u], "q": q, "u": u, "tau": tau} | found


def _check_quaternions(equations: Equations, q: list[float]) -> None:
    index = {str(s.value): i for i, s in enumerate(equations.q)}
    for body in equations.kinematics.model.bodies:
        names = body.joint.coordinates()
        for part in body.joint.parts:
            turn, names = names[:4], names[part.nq :]
            length = sum(q[index[name]] ** 2 for name in turn if name in index) ** 0.5 if part.quaternion else 1.0
            if abs(length - 1) > 1e-6:
                raise ValueError(f"The quaternion {', '.join(turn)} has length {length:.6g}, expected 1.")


def model_text(model: Model) -> str:
    """The tree, the variables with their limits, and what is worth knowing."""
    limits = {
        name: limit
        for body in model.bodies
        for name, limit in zip(body.joint.coordinates(), body.joint.limits, strict=False)
    }
    lines = [str(model), "", "coordinates"]
    for name in model.coordinates:
        bounds = [getattr(limits.get(name), key, None) for key in ("lower", "upper")]
        shown = "" if bounds == [None, None] else f"  {' to '.join('' if b is None else f'{b:g}' for b in bounds)}"
        lines.append(f"  {name}{shown}")
    lines += ["speeds", *(f"  {name}" for name in model.speeds)]
    findings = model.report().findings
    return "\n".join([*lines, *(["", "Worth knowing:"] if findings else []), *(f"  - {f}" for f in findings)])


def evaluation_text(found: Mapping[str, Any]) -> str:
    """Numbers in columns, with the names of what they belong to."""
    lines = [f"{found['name']} by {found['method']}", ""]
    width = max(len(name) for name in [*found["speeds"], *found["coordinates"], "coordinate"])
    lines.append(f"{'speed':<{width}} {'u':>13} {'tau':>13} {'bias':>13} {'forces':>13} {'udot':>13}")
    for i, name in enumerate(found["speeds"]):
        row = [found[key][i] for key in ("u", "tau", "bias", "forces", "udot")]
        lines.append(f"{name:<{width}} " + " ".join(f"{x + 0.0:13.6g}" for x in row))
    lines += ["", f"{'coordinate':<{width}} {'q':>13} {'qdot':>13}"]
    for name, x, rate in zip(found["coordinates"], found["q"], found["qdot"], strict=True):
        lines.append(f"{name:<{width}} {x + 0.0:13.6g} {rate + 0.0:13.6g}")
    if "states" in found:
        lines += ["", f"{'state':<{width}} {'z':>13} {'zdot':>13}"]
        for name, x, rate in zip(found["states"], found["z"], found["zdot"], strict=True):
            lines.append(f"{name:<{width}} {x + 0.0:13.6g} {rate + 0.0:13.6g}")
    lines += ["", "mass matrix"]
    lines += [" ".join(f"{x + 0.0:12.5g}" for x in row) for row in found["mass_matrix"]]
    lines += ["", f"kinetic energy   {found['kinetic']:.9g}", f"potential energy {found['potential']:.9g}"]
    return "\n".join(lines)
