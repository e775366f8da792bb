"""What the commands print."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polhode.graph import Expr, intermediates, tree_size, vector
from polhode.graph.printing import READABLE, infix
from polhode.graph.views import short_floats
from polhode.model.errors import listed as names
from polhode.model.implied import limited

from .holding import constraint_lists, listed, names_of, rows_at, rows_text, statement
from .source import source_text
from .switches import switch_data, switchable, switchable_text
from .wording import for_shell

if TYPE_CHECKING:
    from polhode.analyze import Check
    from polhode.equations import Equations
    from polhode.model import Model

TARGETS = ("text", "latex", "c", "python", "json")
HOLDS = "simulate, eval and derive hold them; --bare leaves them out."
ROWS = "Their forces are J^T lam, their rows J udot + gamma = 0."


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
                "mass": value(body.undeformed.m),
            }
            for body in model.bodies
        ],
        "markers": {marker.name: marker.body for marker in model.markers},
        "forces": [force.name for force in model.forces],
        "actuators": [
            {
                "name": a.name,
                "on": a.marker or {speed: value(e) for speed, e in a.along},
                "control": [None if e is None else value(e) for e in (a.lower, a.upper)],
                "force": [None if e is None else value(e) for e in (a.least, a.most)],
            }
            for a in model.actuators
        ],
        "couplings": [
            {"coordinate": c.coordinate, "of": c.of, "ratio": value(c.ratio), "offset": value(c.offset)}
            for c in model.couplings
        ],
        "constraints": [constraint.name for constraint in model.constraints],
        "states": [state.name for state in model.states],
        "switchable": switchable(model),
        "switches": [switch_data(switch) for switch in model.switches],
        "keyframes": [key.name for key in model.keyframes],
        "sensors": [sensor.name for sensor in model.sensors],
        "findings": list(model.report().findings),
    }


def equations_text(equations: Equations, whole: Model, kind: str, simplify: bool, output: Path | None) -> str:
    """The equations in the form asked for; written to `output`, the names of the files.

    whole : the model of the file, of whose constraints the equations may leave some out
    """
    if kind in ("c", "python"):
        return source_text(equations, whole, kind, output)
    if simplify and kind == "json":
        raise ValueError("--simplify goes with --to text or --to latex.")
    if kind == "latex":
        written = equations.latex(simplify=simplify)
        if said := statement(equations, whole, ROWS):
            written = f"% {said}\n{written}"
    elif kind == "json":
        data = _equations_data(equations) | constraint_lists(equations, whole)
        written = json.dumps(data, indent=2, ensure_ascii=False)
    else:
        written = _plain(equations, simplify, statement(equations, whole, ROWS))
    if output is None:
        return written
    output.write_text(written + "\n", encoding="utf-8")
    return str(output)


def _equations_data(eq: Equations) -> dict[str, Any]:
    parts = {"N": eq.N, "M": eq.M, "c": eq.c, "Q": eq.Q, "energy": vector([eq.kinetic, eq.potential])}
    rows = eq.constraints
    if len(rows):
        parts |= {"J": rows.J, "gamma": rows.gamma, "phi": rows.phi, "psi": rows.psi}
    if len(eq.z):
        parts["zdot"] = eq.z_dot
    every = [e for part in parts.values() for e in part.entries]
    definitions: list[tuple[Expr, Expr]] = []
    if max(map(tree_size, every)) > READABLE // 2:
        definitions, every = intermediates(every)
    entries = iter(every)
    data: dict[str, Any] = {
        "name": eq.model.name,
        "method": eq.method,
        "form": "qdot = N u, M udot + c = Q + tau"
        + " + J^T lam, J udot + gamma = 0" * bool(len(rows))
        + ", zdot = f" * bool(len(eq.z)),
        "q": [str(s.value) for s in eq.q],
        "u": [str(s.value) for s in eq.u],
        "parameters": [str(s.value) for s in eq.parameters],
        "where": [[str(s.value), infix(e)] for s, e in definitions],
    } | ({"rows": list(rows.labels)} if len(rows) else {})
    data |= {"z": [str(s.value) for s in eq.z]} if len(eq.z) else {}
    for name, part in parts.items():
        texts = [infix(next(entries)) for _ in part.entries]
        width = part.shape[-1]
        data[name] = [texts[i : i + width] for i in range(0, len(texts), width)] if len(part.shape) == 2 else texts
    data["kinetic"], data["potential"] = data.pop("energy")
    data["operations"] = eq.op_counts()
    return data


def _plain(eq: Equations, simplify: bool, said: str) -> str:
    data = _equations_data(eq)
    if simplify:
        view = eq.to_sympy(simplify=True)
        data["where"] = []
        for name in ("N", "M", "c", "Q"):
            texts = [[str(short_floats(e)) for e in row] for row in getattr(view, name).tolist()]
            data[name] = texts if name in "NM" else [row[0] for row in texts]
    lines = [f"{eq!r}", *([said] if said else []), "", data["form"]]
    lines += [f"{name} = [{', '.join(data[name])}]" for name in "quz" if name in data]
    lines.append("")
    for name in [name for name in ("N", "M", "c", "Q", "J", "gamma", "zdot") if name in data]:
        rows = [f"[{', '.join(row)}]" if isinstance(row, list) else row for row in data[name]]
        lines.append(f"{name} = [{(',' + chr(10) + ' ' * (len(name) + 4)).join(rows)}]")
    if data["where"]:
        lines += ["", "where", *(f"  {name} = {text}" for name, text in data["where"])]
    return "\n".join(lines)


def _controls(eq: Equations, controls: list[float]) -> dict[str, Any]:
    """Controls by actuator, where there are any."""
    names = [actuator.name for actuator in eq.model.actuators]
    return {"controls": dict(zip(names, controls, strict=True))} if names else {}


def evaluated(
    equations: Equations,
    whole: Model,
    *,
    q: list[float],
    u: list[float],
    z: list[float],
    tau: list[float],
    t: float,
) -> dict[str, Any]:
    """Everything at one state, by the plain interpreter: nothing to compile for a single point.

    Accelerations are those of the machine with its constraints; `whole` is the model of the file.
    """
    from polhode.equations.dynamics import accelerations
    from polhode.equations.inputs import inputs
    from polhode.graph import evaluate

    _check_quaternions(equations, q)
    given: dict[Any, Any] = {equations.q: q, equations.u: u, equations.t: t}
    missing = [str(s.value) for s in equations.parameters]
    if missing:
        raise ValueError(f'No value for the parameters {", ".join(missing)}. Give --p "{missing[0]}=...".')
    eq = equations
    given |= dict(zip(eq.z, z, strict=True))
    nu, drive = len(eq.u), inputs(eq)
    given |= dict(zip(eq.controls, tau[nu:], strict=True))
    parts = {"mass_matrix": eq.M, "bias": eq.c, "forces": eq.Q}
    found: dict[str, Any] = {name: evaluate(part, given).tolist() for name, part in parts.items()}
    if len(eq.constraints):
        found["udot"], found["constraints"] = rows_at(eq, q, u, tau, t, z)
    else:
        given |= dict(zip(drive, tau, strict=True))
        found["udot"] = evaluate(accelerations(eq, drive[:nu]), given).tolist()
    found |= constraint_lists(eq, whole)
    found["statement"] = statement(eq, whole, "udot is that of the machine with them.")
    found["qdot"] = evaluate(eq.kinematics.q_dot, given).tolist()
    found["kinetic"], found["potential"] = evaluate([eq.kinetic, eq.potential], given)
    if z:
        found |= {
            "states": [state.name for state in eq.model.states],
            "z": z,
            "zdot": evaluate(eq.z_dot, given).tolist(),
        }
    head = {"name": eq.model.name, "method": eq.method, "coordinates": [str(s.value) for s in eq.q]}
    return (
        head
        | {"speeds": [str(s.value) for s in eq.u], "q": q, "u": u, "tau": tau[:nu]}
        | _controls(eq, tau[nu:])
        | found
    )


def _check_quaternions(equations: Equations, q: list[float]) -> None:
    from polhode.kinematics.numeric import unit_quaternions

    for k in unit_quaternions(equations.kinematics.joints):
        length, names = math.hypot(*q[k : k + 4]), map(str, equations.q[k : k + 4])
        if abs(length - 1) > 1e-6:
            raise ValueError(f"The quaternion {', '.join(names)} has length {length:.6g}, expected 1.")


def model_text(model: Model) -> str:
    """The tree, the variables with their limits, and what is worth knowing."""
    limits = dict(limited(model.bodies))
    lines = [str(model), "", "coordinates"]
    for name in model.coordinates:
        bounds = [getattr(limits.get(name), key, None) for key in ("lower", "upper")]
        shown = "" if bounds == [None, None] else f"  {' to '.join('' if b is None else f'{b:g}' for b in bounds)}"
        lines.append(f"  {name}{shown}")
    lines += ["speeds", *(f"  {name}" for name in model.speeds)]
    lines += ["", f"Constraints: {listed(model.holding)}. {HOLDS}"] if names_of(model) else []
    lines += switchable_text(model)
    if seen := [sensor.name for sensor in model.sensors]:
        lines += ["", f"Sensors: {names(seen)}. traj.sensors has what they show."]
    if keys := [key.name for key in model.keyframes]:
        lines += ["", f"Keyframes: {names(keys)}. simulate --keyframe NAME begins there."]
    findings = [for_shell(text) for text in model.report().findings]
    return "\n".join([*lines, *(["", "Worth knowing:"] if findings else []), *(f"  - {f}" for f in findings)])


def evaluation_text(found: Mapping[str, Any]) -> str:
    """Numbers in columns, with the names of what they belong to."""
    lines = [f"{found['name']} by {found['method']}", *([found["statement"]] if found["statement"] else []), ""]
    width = max(len(name) for name in [*found["speeds"], *found["coordinates"], "coordinate"])
    lines.append(f"{'speed':<{width}} {'u':>13} {'tau':>13} {'bias':>13} {'forces':>13} {'udot':>13}")
    for i, name in enumerate(found["speeds"]):
        row = [found[key][i] for key in ("u", "tau", "bias", "forces", "udot")]
        lines.append(f"{name:<{width}} " + " ".join(f"{x + 0.0:13.6g}" for x in row))
    lines += ["", f"{'coordinate':<{width}} {'q':>13} {'qdot':>13}"]
    for name, x, rate in zip(found["coordinates"], found["q"], found["qdot"], strict=True):
        lines.append(f"{name:<{width}} {x + 0.0:13.6g} {rate + 0.0:13.6g}")
    lines += rows_text(found["constraints"]) if found.get("constraints") else []
    if "states" in found:
        lines += ["", f"{'state':<{width}} {'z':>13} {'zdot':>13}"]
        for name, x, rate in zip(found["states"], found["z"], found["zdot"], strict=True):
            lines.append(f"{name:<{width}} {x + 0.0:13.6g} {rate + 0.0:13.6g}")
    lines += ["", "mass matrix"]
    lines += [" ".join(f"{x + 0.0:12.5g}" for x in row) for row in found["mass_matrix"]]
    lines += ["", f"kinetic energy   {found['kinetic']:.9g}", f"potential energy {found['potential']:.9g}"]
    return "\n".join(lines)


def check_data(found: Check) -> dict[str, Any]:
    """A comparison of formulations as one JSON object."""
    same = "agree verdict reference tolerance states seed parameters drawn seconds left_out".split()
    renamed = {"name": found.model, "differences": found.table, "any_two": found.apart}
    return renamed | {name: getattr(found, name) for name in same}
