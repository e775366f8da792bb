"""Walking machines on the ground beside MuJoCo, at equal steps: seconds that are simulated in a second, on one core.

The machines are those of `examples/walker.py` and `examples/hexapod.py`. MuJoCo has them as it would describe them:
joints that are coupled by equalities, tendons for cables, armatures for rotors, position servos with the same gains and
limits, and its own contacts of spheres with a plane. Its servos are told new angles every 4 ms from a table;
Polhode has the controller in its native code. Both walk: how far is in the table.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

STEPS = (1e-3, 5e-4)
SPAN, SAMPLE, ROUNDS = 4.0, 4e-3, 5
FOOT = 0.005  # radius of MuJoCo's feet
Walk = Callable[
    [], tuple[float, float]
]  # a run of SPAN seconds: how far it came, and processor time without preparing it


def _numbers(e: Any) -> np.ndarray:
    import polhode as ph

    return np.array(ph.evaluate(list(e), {}), dtype=float)


def _text(values: Any) -> str:
    return " ".join(f"{float(v):.12g}" for v in values)


def mjcf(model: Any, step: float, armature: Any, rest: str) -> str:
    """A tree of hinges on a free body in MJCF, with spheres as feet; `rest` is what couples and drives it.

    armature : of joints, by name; others have their own
    """
    feet: dict[str, list[np.ndarray]] = {}
    for force in model.forces:
        if hasattr(force, "slip_speed"):
            body, X = model.frame(force.marker)
            feet.setdefault(body, []).append(_numbers(X.p))
    bodies = [body for body in model.bodies if not body.rotor]

    def written(body: Any) -> str:
        joint = body.joint
        hinge = '<freejoint name="free"/>'
        if joint.nu == 1:
            a = armature.get(joint.name, joint.armature[0] if joint.armature else 0)
            axis = _text(_numbers(joint.parts[0].H[:3, 0]))
            damping = float(joint.damping[0]) if joint.damping else 0.0
            hinge = f'<joint name="{joint.name}" axis="{axis}" damping="{damping:g}" armature="{float(a):g}"/>'
        I, R = _numbers(body.inertia.entries).reshape(3, 3), _numbers(body.pose.R.entries).reshape(3, 3)
        mass = f'mass="{float(body.mass):g}" diaginertia="{_text(np.diag(I))}"'
        solid = f'<inertial pos="{_text(_numbers(body.com))}" {mass}/>'
        out = [foot / max(np.linalg.norm(foot), 1e-9) for foot in feet.get(body.name, [])]
        places = [foot - FOOT * way for foot, way in zip(feet.get(body.name, []), out, strict=True)]
        spheres = "".join(f'<geom class="foot" pos="{_text(p)}"/>' for p in places)
        inner = "".join(written(other) for other in bodies if other.parent == body.name)
        at = f'pos="{_text(_numbers(body.pose.p))}" xyaxes="{_text([*R[:, 0], *R[:, 1]])}"'
        return f'<body name="{body.name}" {at}>{hinge}{solid}{spheres}{inner}</body>'

    tree = "".join(written(body) for body in bodies if body.parent == "world")
    foot = f'<geom type="sphere" size="{FOOT}" friction="0.8" contype="1" conaffinity="0"/>'
    plane = '<geom type="plane" size="20 20 .1" friction="0.8" contype="0" conaffinity="1"/>'
    return f"""<mujoco><compiler angle="radian"/><option timestep="{step}" integrator="implicitfast"/>
    <default><default class="foot">{foot}</default></default><worldbody>{plane}{tree}</worldbody>{rest}</mujoco>"""


def _servo(name: str, kp: float, kd: float, limit: float, on: str) -> str:
    return f'<position name="{name}" {on} kp="{kp}" kv="{kd}" forcerange="{-limit} {limit}"/>'


def _theirs(text: str, table: np.ndarray, q0: Any, joints: dict[str, float], step: float) -> Walk:
    """Walk in MuJoCo; a row of the table every 4 ms."""
    import mujoco as mj

    model = mj.MjModel.from_xml_string(text)
    data = mj.MjData(model)
    each = round(SAMPLE / step)

    def walk() -> tuple[float, float]:
        mj.mj_resetData(model, data)
        data.qpos[2] = q0
        for name, angle in joints.items():
            data.qpos[model.joint(name).qposadr[0]] = angle
        begin = time.process_time()
        for row in table:
            data.ctrl[:] = row
            mj.mj_step(model, data, each)
        return float(data.qpos[0]), time.process_time() - begin

    return walk


def _sampled(wanted: list[tuple[Any, Any, float, float]]) -> np.ndarray:
    """Angles for servos: with kv / kp of the rates, so that the law is the same; a row every 4 ms."""
    from polhode.compile import compile
    from polhode.graph import symbol, vector

    f = compile([vector([symbol("t")])], vector([angle + rate * (kd / kp) for angle, rate, kp, kd in wanted]))
    return np.array([f(np.array([t])) for t in np.arange(0, SPAN, SAMPLE)])


def _ours(model: Any, formulation: str, step: float, q0: Any, tau: Any, x: str) -> Walk:
    """Walk in Polhode."""
    import polhode as ph

    dyn = ph.formulate(model, formulation).compile()
    place = [str(s) for s in dyn.equations.q].index(x)

    def walk() -> tuple[float, float]:
        sim = ph.Simulation(dyn, q0, tau=tau, method="euler", step=step)
        begin = time.process_time()
        sim.run(SPAN, output=[SPAN])
        return float(sim.q[place]), time.process_time() - begin

    return walk


def walker(step: float) -> dict[str, Walk]:
    """The walker of 11 degrees of freedom."""
    import walker as machine

    gait, model = machine.Gait(), machine.walker()
    start, wanted = gait.start(), gait.reference()
    equal, tendons, servos = [], [], [_servo("B", machine.KP["B"], machine.KD["B"], machine.LIMIT["B"], 'joint="body"')]
    armature = {"body": machine.REFLECTED}
    for frame, legs in machine.LEGS.items():
        first, F, T = legs[0], f"F_{frame}", f"T_{frame}"
        armature[f"femur_{first}"] = machine.REFLECTED
        for leg, way in zip(legs, machine.WAYS, strict=True):
            cable = f'<joint joint="femur_{leg}" coef="1"/><joint joint="tibia_{leg}" coef="1"/>'
            inert = f' armature="{machine.REFLECTED}"' if leg == first else ""
            tendons.append(f'<fixed name="cable_{leg}"{inert}>{cable}</fixed>')
            if leg != first:
                equal.append(f'<joint joint1="femur_{leg}" joint2="femur_{first}" polycoef="0 {way} 0 0 0"/>')
                equal.append(f'<tendon tendon1="cable_{leg}" tendon2="cable_{first}"/>')
        servos.append(_servo(F, machine.KP[F], machine.KD[F], machine.LIMIT[F], f'joint="femur_{first}"'))
        servos.append(_servo(T, machine.KP[T], machine.KD[T], machine.LIMIT[T], f'tendon="cable_{first}"'))
    rest = "<{0}>{1}</{0}>".format
    parts = rest("tendon", "".join(tendons)) + rest("equality", "".join(equal)) + rest("actuator", "".join(servos))
    table = _sampled([(*wanted[name], machine.KP[name], machine.KD[name]) for name in machine.KP])
    joints = {name: angle for name, angle in start.items() if name.startswith("tibia")}
    text = mjcf(model, step, armature, parts)
    return {
        "Polhode": _ours(model, "quasicoordinate", step, start, gait.control(), "top_x"),
        "MuJoCo": _theirs(text, table, start["top_z"], joints, step),
    }


def hexapod(step: float) -> dict[str, Walk]:
    """The hexapod of 36 degrees of freedom."""
    import hexapod as machine

    gait, model, start = machine.Gait(), machine.hexapod(), machine.stand()
    names = [f"{leg}_{link}" for leg in machine.HIPS for link, *_ in machine.LINKS]
    gains = list(zip(machine.KP, machine.KD, strict=True)) * len(machine.HIPS)
    servos = "".join(_servo(n, *g, machine.LIMIT, f'joint="{n}"') for n, g in zip(names, gains, strict=True))
    wanted = gait.reference()
    table = _sampled([(*wanted[n], *g) for n, g in zip(names, gains, strict=True)])
    joints = {name: angle for name, angle in start.items() if name != "body_z"}
    text = mjcf(model, step, {}, f"<actuator>{servos}</actuator>")
    return {
        "Polhode": _ours(model, "denoc", step, start, gait.control(), "body_x"),
        "Polhode, quasicoordinate": _ours(model, "quasicoordinate", step, start, gait.control(), "body_x"),
        "MuJoCo": _theirs(text, table, start["body_z"], joints, step),
    }


def _times(walks: dict[str, Walk]) -> dict[str, tuple[float, float]]:
    """How far each walks, and the least seconds of processor time, in turns."""
    rounds = [{who: walk() for who, walk in walks.items()} for _ in range(ROUNDS)]
    return {who: (rounds[0][who][0], min(found[who][1] for found in rounds)) for who in walks}


def table(console: Any) -> None:
    """Both machines, both steps."""
    table = Table(title=f"Walking for {SPAN:g} s, with the ground, one core", title_justify="left")
    for column in ("", "step", "way", "a step", "times real time", "Polhode is faster"):
        table.add_column(column, justify="left" if not column else "right")
    for name, made in (("walker, 11 dof", walker), ("hexapod, 36 dof", hexapod)):
        for step in STEPS:
            found = _times(made(step))
            for who, (x, seconds) in found.items():
                ratio = f"x {seconds / found['Polhode'][1]:.1f}" if who != "Polhode" else ""
                each = f"{seconds / (SPAN / step) * 1e6:.1f} us"
                table.add_row(
                    f"{name}, {who}", f"{step * 1e3:g} ms", f"{x:.3f} m", each, f"{SPAN / seconds:.0f}", ratio
                )
    console.print(table)
