"""A machine as one file that a browser runs: its equations in JavaScript, a picture, and a hand that pulls."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.equations import Dynamics
from polhode.equations.closed import Closed, possible
from polhode.equations.inputs import inputs
from polhode.equations.program import Program, program_of
from polhode.graph import Expr, matrix
from polhode.model.errors import listed
from polhode.simulate import Simulation, Trajectory, simulate
from polhode.simulate.asked import is_number
from polhode.view import as_json, filled, placed, scene_data

REHEARSED = 4.0  # s of the motion that are run before, to see that it goes and where the picture is to be taken from
SEEN = 60  # of its states that should be in the picture
SLIDERS = 24  # most forces that have one
PULL = 10.0  # rad/s^2 or m/s^2, that the largest force of a slider gives its speed alone


def export(
    dynamics: Dynamics, path: Any, q0: Any = None, u0: Any = None, *, tau: Any = None, p: Any = None, z0: Any = None,
    step: float = 1e-3, t0: float = 0.0,
) -> Path:  # fmt: skip
    """Write a page that runs a machine in the browser: one file that needs no network and no server.

    The equations of motion are printed as JavaScript and taken forward by rk4. Bodies may be pulled with the mouse;
    forces, and parameters that were not compiled in, have sliders.

    q0, u0, z0 : where it begins, tau : numbers and expressions, p : parameters, as of `simulate`
    step       : of rk4, seconds
    """
    target = placed(path)
    target.write_text(live_page(dynamics, q0, u0, tau=tau, p=p, z0=z0, step=step, t0=t0), encoding="utf-8")
    return target


def live_page(
    dynamics: Dynamics, q0: Any = None, u0: Any = None, *, tau: Any = None, p: Any = None, z0: Any = None,
    step: float = 1e-3, t0: float = 0.0,
) -> str:  # fmt: skip
    """The text of the page that `export` writes."""
    check(dynamics)
    if not is_number(step) or not 0 < step <= 0.1:
        raise ValueError(f"export: step is {step!r:.40}, expected seconds, above 0 and up to 0.1.")
    begin = {"q0": q0, "u0": u0, "tau": tau, "p": p, "z0": z0, "method": "rk4", "step": step, "t0": t0}
    sim = Simulation(dynamics, **begin)
    if sim._inputs.continuous is not None or sim._inputs.sampled is not None:
        raise TypeError(
            "export: tau is a Python function, which a browser cannot run. Give numbers, or expressions by name."
        )
    traj = simulate(dynamics, t_end=t0 + REHEARSED, output=REHEARSED / SEEN, progress=False, **begin)
    if not traj.outcome.finished:
        raise ValueError(f"export: the motion does not go well by rk4 with step={step:g}. {traj.outcome}")
    program = pulled(dynamics, sim._inputs.laws)
    scene = traj.scene()
    texts = [f.source for f in functions(program, scene.bodies[1:], scene.upright)]
    names = ", ".join(f"jacobian{k}" for k in range(1, len(scene.bodies)))
    closing = "null" if program.flow is not None else _closing(Closed(program))
    data, knows = scene_data(scene) | {"poses": ""}, machine(sim, traj, program, scene.upright)
    page = filled(_text("live.html"), scene.title, scene=as_json(data), machine=as_json(knows))
    equations = "\n".join([*texts, f"const jacobians = [{names}], closing = {closing};\n"])
    return page.replace("/*{{equations}}*/\n", equations).replace("/*{{rk4}}*/\n", _text("rk4.js"))


def _closing(closed: Closed) -> str:
    """What brings a state back to its constraints, as rk4.js takes it."""
    rows = closed.independent
    return f"{{ factors, residuals, rates, independent: {as_json(rows)}, size: {len(closed.factors) - len(rows)} }}"


def _text(name: str) -> str:
    return resources.files("polhode.interact").joinpath(name).read_text(encoding="utf-8")


def check(dynamics: Dynamics) -> None:
    """Refuse machines that the page cannot run yet."""
    model = dynamics.equations.model
    comes = [c.name for c in model.candidates]
    bends = [body.name for body in model.bodies if body.flexible is not None]
    program = program_of(dynamics)
    closed = [] if possible(program) else list(dict.fromkeys(program.held.names))
    what = ""
    if comes:
        what = f"{listed(comes)} may come and go, and a page cannot switch yet. Leave them out, "
        what += 'or load with limits="ignore" where they are limits of joints.'
    elif closed:
        what = f"{listed(closed)} hold, and cannot be eliminated in one order for all states. Leave them out."
    elif bends:
        what = f"{listed(bends)} deform, and a page cannot draw that yet. Use rigid bodies."
    elif not len(dynamics.equations.u):
        what = "nothing moves. Give a body a joint."
    if what:
        raise ValueError(f"export: in model {model.name!r}, {what} `traj.animate` draws such a machine in motion.")


def pulled(dynamics: Dynamics, laws: dict[Expr, Expr]) -> Program:
    """The program whose forces are those of laws and what a hand does besides."""
    eq = dynamics.equations
    of = dict(zip([*eq.u, *eq.controls], inputs(eq), strict=True))
    return program_of(dynamics, {s: law + of[s] if s in eq.u else law for s, law in laws.items()}, driven=True)


def functions(program: Program, bodies: tuple[str, ...], upright: np.ndarray) -> list[Function]:
    """What the page calls, in JavaScript: the flow, the poses of bodies, and the Jacobian of each.

    flow      : (t, x, tau, p) -> dx
    factors, residuals, rates : see `Closed`, where constraints hold
    poses     : (t, x, p) -> rotation by rows and place of each body, (n, 12), in axes with z up
    jacobianK : (t, x, p) -> (6, nu) of body K in these axes, angular part first
    """
    eq, U = program.equations, matrix(upright.tolist())
    rows: list[Expr] = []
    if program.flow is not None:
        found = [Function(program.flow.signature, "javascript")]
    else:
        closed = Closed(program)
        found = [program.compiled("flow", closed.flow, True, target="javascript")]
        found.append(program.compiled("factors", closed.factors, target="javascript"))
        found += [Function(f.signature, "javascript") for f in (closed.residuals, program.rates)]
    for name in bodies:
        X = eq.pose(name)
        rows += [*(U @ X[:3, :3]).entries, *(U @ X[:3, 3]).entries]
    found.append(program.compiled("poses", rows, target="javascript"))
    for k, name in enumerate(bodies, start=1):
        J = eq.jacobian(name)
        turned = [*(U @ J[:3, :]).entries, *(U @ J[3:, :]).entries]
        found.append(program.compiled(f"jacobian{k}", turned, target="javascript"))
    return found


def machine(sim: Simulation, traj: Trajectory, program: Program, upright: np.ndarray) -> dict[str, Any]:
    """What the page knows of the machine beside its functions: where it begins, and what has a slider."""
    dyn, eq, step = sim.dynamics, sim.dynamics.equations, float(sim._now.step)
    n, nu = len(program.x), len(eq.u)
    x, constant = np.zeros(n), sim._machine.tau.copy()
    known = min(n, sim._machine.counted)
    x[:known] = sim._x[:known]
    laws = [sim._inputs.symbols.index(s) for s in sim._inputs.laws]
    constant[laws] = 0.0
    return {
        **{"nq": len(eq.q), "nu": nu, "h": step, "t": sim.t, "x": x, "p": program.completed(sim._values)},
        **{"tau": constant, "units": program.quaternions(), "world": [*upright.ravel(), 0.0, 0.0, 0.0]},
        "outlook": traj.q,
        "note": f"Its equations run in this page, by rk4 in steps of {step * 1e3:g} ms. Drag a body to pull it.",
        "forces": [row for row in _forces(sim) if row[0] not in laws or row[0] < nu][:SLIDERS],
        "parameters": [
            (k, name, *(sorted((0.0, 2 * value)) if value else (-1.0, 1.0)))
            for k, (name, value) in enumerate(zip(dyn.parameters, sim._values.tolist(), strict=True))
        ],
    }


def _forces(sim: Simulation) -> list[tuple[int, str, float, float]]:
    """Each input with the range of its slider: limits of a control, or what gives its speed a lively acceleration."""
    eq, values = sim.dynamics.equations, sim._values
    M = sim.dynamics.mass_matrix(sim.q, **({"p": values} if len(values) else {}))
    most = [float(f"{PULL * M[i, i]:.1g}") for i in range(len(eq.u))]
    found = [(i, f"on {name}", -m, m) for i, (name, m) in enumerate(zip(sim._inputs.names, most, strict=False))]
    for k, actuator in enumerate(eq.model.actuators, start=len(eq.u)):
        low, high = ((e.number if e is not None else None) for e in (actuator.lower, actuator.upper))
        found.append((k, actuator.name, -1.0 if low is None else low, 1.0 if high is None else high))
    return found
