"""A machine as one file that a browser runs: its equations, a picture, and a hand that pulls.

Equations are JavaScript, taken forward by rk4, where nothing comes and goes by itself. Else the loop of real time, with
its steps of "moreau", runs there as WebAssembly; what the picture and the hand need are JavaScript also then.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.equations import Dynamics
from polhode.equations.held_rows import codes, held_rows
from polhode.equations.inputs import inputs
from polhode.equations.program import Program, program_of
from polhode.graph import Expr, matrix
from polhode.model import At
from polhode.simulate import Simulation, Trajectory, simulate
from polhode.simulate.asked import is_number
from polhode.view import as_json, filled, placed, scene_data

from .bending import bends, bent_bodies
from .loop import Realtime, State
from .picture import Picture
from .ranges import ranges
from .webassembly import carried, check_rows, comes_and_goes, prepared

REHEARSED = 4.0  # s of the motion that are run before, to see that it goes and where the picture is to be taken from
SEEN = 60  # of its states that should be in the picture
SLIDERS = 24  # most forces that have one


def export(
    dynamics: Dynamics, path: Any, q0: Any = None, u0: Any = None, *, tau: Any = None, p: Any = None, z0: Any = None,
    step: float = 1e-3, t0: float = 0.0,
) -> Path:  # fmt: skip
    """Write a page that runs a machine in the browser: one file that needs no network and no server.

    The equations of motion are printed as JavaScript and taken forward by rk4; where contacts, stops, friction and
    the like come and go by themselves, by "moreau", in WebAssembly. Bodies may be pulled with the mouse; forces, and
    parameters that were not compiled in, have sliders.

    q0, u0, z0 : where it begins, tau : numbers and expressions, p : parameters, as of `simulate`
    step       : of the method, seconds
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
    method = "moreau" if comes_and_goes(dynamics) else "rk4"
    begin = {"q0": q0, "u0": u0, "tau": tau, "p": p, "z0": z0, "method": method, "step": step, "t0": t0}
    sim = Simulation(dynamics, **begin)
    if sim._inputs.held is not None:
        raise TypeError("export: tau is Sampled, which a page does not have. Give its expressions alone, by name.")
    if sim._inputs.continuous is not None or sim._inputs.sampled is not None:
        raise TypeError(
            "export: tau is a Python function, which a browser cannot run. Give numbers, or expressions by name."
        )
    traj = simulate(dynamics, t_end=t0 + REHEARSED, output=REHEARSED / SEEN, progress=False, **begin)
    if not traj.outcome.finished:
        raise ValueError(f"export: the motion does not go well by {method} with step={step:g}. {traj.outcome}")
    program = pulled(dynamics, sim._inputs.laws)
    scene = traj.scene()
    now = State(t=sim.t, q=sim.q, u=sim.u, z=sim.z)
    picture = Picture(dynamics, np.asarray(sim._values, dtype=float), now)
    knows = machine(sim, traj, program, picture.upright)
    frames, seen = picture.frames, picture.scene.view  # it can be drawn where the first seconds do not lead
    scene = replace(scene, view=replace(seen, follow=scene.view.follow))
    knows["bodies"] = scene.bodies[: 1 + len(frames.bodies)]  # as keys call them that they take
    bent = bent_bodies(program, frames, scene)
    data = scene_data(scene) | {"poses": ""}
    if method == "moreau":
        native = prepared(sim, begin)
        found, moves = [inertia(program)], _native(native, knows)
    else:
        found, moves = motion(program), f"{_held(program)}{_text('rk4.js')}{_STEPPED}"
        knows |= {"holds": held_rows(program), "plan": _plan(sim, program)}
    texts = [f.source for f in [*found, *pictured(program, frames.bodies, scene.upright)]]
    names = ", ".join(f"jacobian{k}" for k in range(1, len(frames.bodies) + 1))
    bending = "const bending = null, bends = null;\n"
    if bent:
        made = "const bending = makeBending(machine.bent, machine.nu);\n"
        bending, knows["bent"] = f"{bends(program, bent).source}\n{_text('bending.js')}{made}", bent
    texts.append(f"const jacobians = [{names}];\n{moves}{bending}")
    values = {"scene": as_json(data), "machine": as_json(knows), "equations": "\n".join(texts)}
    return filled(_text("live.html"), scene.title, **values)


_STEPPED = """const move = makeStepper(flow, machine.x.length, machine.units, holding), native = null;
"""
_NATIVE = """const native = makeNative(machine.native, machine.nq + machine.nu), holding = native, move = native.step;
"""


def _native(made: Realtime, knows: dict[str, Any]) -> str:
    """The script of a machine as native code moves it, of which the page knows what it is told here."""
    groups = () if made._commands is None else made._commands.board.names
    knows |= {"native": carried(made), "holds": {"groups": groups}, "plan": []}  # the loop does what is planned
    return f"{_text('native.js')}{_NATIVE}"


def _held(program: Program) -> str:
    """The script of what holds: `holding`, null where there are no constraints, and the flow with it."""
    if not len(program.constraints) and not len(program.held):
        return "const holding = null;\n"
    made = "makeHolding(code, machine.holds, machine.nq, machine.nu, machine.x.length, machine.units)"
    named = {f.signature.name for f in codes(program, "javascript")}
    code = {name: name if name in named else "null" for name in ("table", "residuals", "capture", "closure")}
    code["moves"] = "moves" if "moves" in named else "rates"
    listed = ", ".join(f"{name}: {function}" for name, function in code.items())
    return f"{_text('holding.js')}const code = {{ {listed} }}, holding = {made}, flow = holding.flow;\n"


def _text(name: str) -> str:
    return resources.files("polhode.interact").joinpath(name).read_text(encoding="utf-8")


def check(dynamics: Dynamics) -> None:
    """Refuse machines that the page cannot run yet."""
    model = dynamics.equations.model
    if not len(dynamics.equations.u):
        raise ValueError(
            f"export: in model {model.name!r}, nothing moves. Give a body a joint. `traj.animate` draws such a machine."
        )
    check_rows(model)


def pulled(dynamics: Dynamics, laws: dict[Expr, Expr]) -> Program:
    """The program whose forces are those of laws and what a hand does besides."""
    eq = dynamics.equations
    of = dict(zip([*eq.u, *eq.controls], inputs(eq), strict=True))
    return program_of(dynamics, {s: law + of[s] if s in eq.u else law for s, law in laws.items()}, driven=True)


def motion(program: Program) -> list[Function]:
    """What takes the page forward, in JavaScript: the flow, (t, x, tau, p) -> dx, where there are no constraints.

    Else `codes`, of which holding.js makes it.
    """
    if len(program.constraints) or len(program.held):
        return codes(program, "javascript")
    assert program.flow is not None
    return [Function(program.flow.signature, "javascript")]


def inertia(program: Program) -> Function:
    """M by rows, (t, x, p) -> (nu, nu), in JavaScript."""
    return program.compiled("inertia", [*program.equations.M.entries], target="javascript")


def pictured(program: Program, bodies: tuple[str, ...], upright: np.ndarray) -> list[Function]:
    """What the picture and the hand need, in JavaScript: the poses of bodies, and the Jacobian of each.

    poses     : (t, x, p) -> rotation by rows and place of each body, (n, 12), in axes with z up
    jacobianK : (t, x, p) -> (6, nu) of body K in these axes, angular part first
    """
    eq, U = program.equations, matrix(upright.tolist())
    rows: list[Expr] = []
    for name in bodies:
        X = eq.pose(name)
        rows += [*(U @ X[:3, :3]).entries, *(U @ X[:3, 3]).entries]
    found = [program.compiled("poses", rows, target="javascript")]
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
    sliders = [row for row in _forces(sim) if row[0] not in laws or row[0] < nu]
    said = f"Its equations run in this page, by {sim.method} in steps of {step * 1e3:g} ms. Drag a body to pull it."
    if len(sliders) > SLIDERS:
        sliders = sorted(sliders, key=lambda row: row[0] < nu)  # controls before forces on speeds
        said += f" Of its {len(sliders)} inputs, the first {SLIDERS} have sliders."
    return {
        **{"nq": len(eq.q), "nu": nu, "h": step, "t": sim.t, "x": x, "p": program.completed(sim._values)},
        **{"tau": constant, "units": program.quaternions(), "world": [*upright.ravel(), 0.0, 0.0, 0.0]},
        **{"outlook": traj.q, "note": said},
        "forces": sliders[:SLIDERS],
        "parameters": [
            (k, name, *(sorted((0.0, 2 * value)) if value else (-1.0, 1.0)))
            for k, (name, value) in enumerate(zip(dyn.parameters, sim._values.tolist(), strict=True))
        ],
    }


def _plan(sim: Simulation, program: Program) -> list[tuple[float, list[int]]]:
    """What the model switches at times that are to come: each with 1, -1 or 0 for every constraint."""
    planned = [switch for switch in program.equations.model.switches if isinstance(switch, At) and switch.time >= sim.t]
    return [
        (switch.time, [(name in switch.engage) - (name in switch.release) for name in program.groups])
        for switch in sorted(planned, key=lambda switch: switch.time)
    ]


def _forces(sim: Simulation) -> list[tuple[int, str, float, float]]:
    """Each input with the range of its slider: limits of a control, or what gives its speed a lively acceleration."""
    nu, found = len(sim.dynamics.equations.u), ranges(sim.dynamics, sim.q, sim._values)
    names = [f"on {name}" if k < nu else name for k, name in enumerate(sim._inputs.names)]
    return [(k, name, *ends) for k, (name, ends) in enumerate(zip(names, found, strict=True))]
