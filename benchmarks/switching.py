"""Constraints that come and go: events a second beside MuJoCo, a switch in units of steps, thousands of candidates.

MuJoCo's contacts are soft: a ball that meets a wall with speed v sinks in by v / sqrt(k), with k the stiffness for a
unit of mass, and stays for pi / sqrt(k). It is chosen so that this stays below a bound, and the step so that a contact
takes 30 steps. What is left is the time of the contact itself, so its error falls with the bound, and its cost grows.
Its damper is such
that a spring that cannot pull returns the restitution asked for. Both sides say how far they are from the closed form,
or from a run of Polhode at a tolerance of 1e-12, by the same measure: where the machine is at the end.

Polhode is there twice: as it is, and at MuJoCo's accuracy, by the quickest of LOOSE whose error is no larger than the
least of MuJoCo's. Times are of whole calls of `simulate`, with what it takes to prepare them. MuJoCo's are of mj_step
alone; the piano key's loop is in Python, for its jack is released by a condition.

Drake (1.51, 423 MB installed) is not beside them: the contacts of its MultibodyPlant have a stiffness and a
dissipation [s/m] by Hunt and Crossley, whose restitution depends on the speed, and no coefficient of restitution
nor rigid contacts whose impacts are located as events.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

PENETRATIONS = (1e-3, 1e-4)  # m, the most that MuJoCo's contacts may sink in
ROUNDS = 3
LOOSE: tuple[dict[str, Any], ...] = (
    *({"method": "moreau", "step": h} for h in (9.7e-3, 4.7e-3, 1.9e-3, 9.7e-4, 4.7e-4, 1.9e-4, 9.7e-5)),
    *({"method": "dopri5", "rtol": tol, "atol": tol} for tol in (1e-2, 1e-3, 1e-4, 1e-6)),
)
Run = Callable[[], tuple[int, float]]  # how many events it had, and how far it is off at the end
G = 9.81


def _best(calls: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of processor time, the least of several rounds in turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def _damping(restitution: float) -> float:
    """The ratio z of a damped spring that cannot pull, and returns a share of a speed.

    It lets go where its force is 0, after 2 acos(z) of its phase: exp(-2 z acos(z) / sqrt(1 - z^2)); e^-2 at z = 1.
    """
    low, high = 0.0, 1.0 - 1e-9
    for _ in range(60):
        z = 0.5 * (low + high)
        low, high = (z, high) if np.exp(-2 * z * np.arccos(z) / np.sqrt(1 - z * z)) > restitution else (low, z)
    return low if restitution < 1 else 0.0


def _mujoco(xml: str, speed: float, restitution: float, depth: float) -> tuple[Any, float]:
    """A model whose contacts sink in by `depth` at a speed, and its step."""
    import mujoco as mj

    k = (speed / depth) ** 2
    z = _damping(restitution)
    step = np.pi / np.sqrt(k) / 30
    soft = f'solref="{-k} {-2 * z * np.sqrt(k)}" solimp="0.9999 0.9999 0.001" friction="0 0 0"'
    head = f'<option timestep="{step}" gravity="0 0 -{G}" integrator="implicitfast" cone="elliptic"/>'
    text = f'<mujoco>{head}<default><geom condim="1" {soft}/></default>{xml}</mujoco>'
    return mj.MjModel.from_xml_string(text), step


def _walls() -> tuple[Callable[..., Run], Callable[[float], Run]]:
    """A ball between two walls a metre apart, e = 1, speed 1 m/s: 20 s."""
    import mujoco as mj

    import polhode as ph

    span = 20.0
    build = ph.Builder("ball", gravity=(0, 0, 0))
    build.body("ball", joint=ph.prismatic("x", name="x"), mass=1)
    build.stop("x", lower=-0.5, upper=0.5, restitution=1, name="walls")
    dyn = ph.formulate(build.build()).compile()

    def ours(**how: Any) -> Run:
        def run() -> tuple[int, float]:
            traj = ph.simulate(dyn, None, [1.0], span, output=[0, span], **how)
            return round(span), abs(traj.q[-1, 0])  # it is back in the middle

        return run

    walls = "".join(f'<geom type="box" size=".1 1 1" pos="{x} 0 0"/>' for x in (-0.65, 0.65))
    ball = '<body gravcomp="1"><joint type="slide" axis="1 0 0"/><geom type="sphere" size="0.05" mass="1"/></body>'

    def theirs(depth: float) -> Run:
        model, step = _mujoco(f"<worldbody>{walls}{ball}</worldbody>", 1.0, 1.0, depth)
        data = mj.MjData(model)

        def run() -> tuple[int, float]:
            mj.mj_resetData(model, data)
            data.qvel[0] = 1.0
            mj.mj_step(model, data, nstep=round(span / step))
            return round(span), abs(data.qpos[0])

        return run

    return ours, theirs


def _chain(links: int = 4) -> tuple[Callable[..., Run], Callable[[float], Run]]:
    """A chain that slides down a rail with its end first and bounces, e = 0.5: half a second."""
    import mujoco as mj

    import polhode as ph

    span, length, e, drop = 0.5, 0.3, 0.5, 0.1
    build = ph.Builder("chain", gravity=(0, 0, -G))
    build.body("rail", joint=ph.prismatic("z", name="z"), mass=1)
    parent = "rail"
    for i in range(links):
        joint, at = ph.revolute("y", name=f"q{i}", stiffness=20.0), (0, 0, -length if i else 0)
        build.body(f"l{i}", parent=parent, at=at, joint=joint, mass=0.5, com=(0, 0, -length / 2), inertia=(4e-3,) * 3)
        parent = f"l{i}"
    build.marker("end", body=parent, at=(0, 0, -length))
    build.contact("end", restitution=e, name="ground")
    dyn = ph.formulate(build.build()).compile()
    q = np.array([links * length + drop, *(0.1 * (-1) ** i for i in range(links))])
    tip = dyn.pose("end")(q)[2, 3]
    q[0] += drop - tip
    tight = ph.simulate(dyn, q, None, span, output=[0, span], rtol=1e-12, atol=1e-12)
    exact, count = tight.q[-1], len(tight.events) - 1

    def ours(**how: Any) -> Run:
        def run() -> tuple[int, float]:
            traj = ph.simulate(dyn, q, None, span, output=[0, span], **how)
            return count, float(np.abs(traj.q[-1] - exact).max())

        return run

    inner = ""
    for i in reversed(range(links)):
        pos = f"0 0 {-length if i else 0}"
        point = f'<geom type="sphere" size="1e-3" pos="0 0 {-length + 1e-3}" mass="1e-9"/>' if i == links - 1 else ""
        inner = (
            f'<body pos="{pos}"><joint type="hinge" axis="0 1 0" stiffness="20"/>'
            f'<inertial pos="0 0 {-length / 2}" mass="0.5" diaginertia="4e-3 4e-3 4e-3"/>{point}{inner}</body>'
        )
    rail = (
        '<body><joint type="slide" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        + inner
        + "</body>"
    )
    ground = '<geom type="plane" size="5 5 .1"/>'

    def theirs(depth: float) -> Run:
        model, step = _mujoco(f"<worldbody>{ground}{rail}</worldbody>", np.sqrt(2 * G * drop), e, depth)
        data = mj.MjData(model)

        def run() -> tuple[int, float]:
            mj.mj_resetData(model, data)
            data.qpos[:] = q
            mj.mj_step(model, data, nstep=round(span / step))
            return count, float(np.abs(data.qpos - exact).max())  # the same bounces, or the error shows it

        return run

    return ours, theirs


def _piano() -> tuple[Callable[..., Run], Callable[[float], Run]]:
    """A piano key that lifts a hammer, lets it off below the string, and meets its bed; the hammer strikes the string.

    As in tests/literature/switching; up to half way back to the check, by the position of the hammer.
    """
    import mujoco as mj

    import polhode as ph

    hammer, wippen, key, torque, e = 0.010, 0.02, 2e-4, 0.8, 0.6
    let_off, bed, string, span = 0.043, 0.0435, 0.045, 0.075
    build = ph.Builder("piano key", gravity=(0, 0, -G))
    build.body("key", joint=ph.revolute("y", name="k"), mass=0.1, inertia=(key,) * 3)
    build.stop("k", lower=0.0, upper=bed, name="bed")
    build.body("wippen", joint=ph.prismatic("z", name="w"), mass=wippen)
    build.constraint(ph.symbol("w") - ph.symbol("k"), name="capstan")
    build.body("hammer", joint=ph.prismatic("z", name="h"), mass=hammer)
    build.contact("hammer", "wippen", name="jack")
    build.stop("h", upper=string, restitution=e, name="string")
    dyn = ph.formulate(build.build()).compile()
    given = {"tau": {"k_dot": torque}, "switches": ph.when(f"h > {let_off}", release="jack"), "output": [0, span]}
    tight = ph.simulate(dyn, None, None, span, rtol=1e-12, atol=1e-12, **given)
    exact, count = tight["h"][-1], len(tight.events) - 1

    def ours(**how: Any) -> Run:
        def run() -> tuple[int, float]:
            return count, float(abs(ph.simulate(dyn, None, None, span, **how, **given)["h"][-1] - exact))

        return run

    def theirs(depth: float) -> Run:
        k = (np.sqrt(2 * torque / (key + wippen + hammer) * let_off) / depth) ** 2
        step = np.pi / np.sqrt(k) / 30

        def soft(restitution: float) -> str:
            return f'solreflimit="{-k} {-2 * _damping(restitution) * np.sqrt(k)}" solimplimit="0.9999 0.9999 0.001"'

        def slide(name: str, mass: float, top: float, more: str) -> str:
            joint = f'<joint name="{name}" type="slide" axis="0 0 1" limited="true" range="-1 {top}" {more}/>'
            return f'<body>{joint}<inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/></body>'

        # the key is an armature of the wippen: w = 1 m * k
        bodies = slide("w", wippen, bed, f'armature="{key}" {soft(0.14)}') + slide("h", hammer, string, soft(e))
        jack = (
            f'<tendon><fixed name="jack" limited="true" range="0 1" {soft(0.14)}>'
            '<joint joint="h" coef="1"/><joint joint="w" coef="-1"/></fixed></tendon>'
        )
        head = f'<option timestep="{step}" gravity="0 0 -{G}" integrator="implicitfast"/>'
        model = mj.MjModel.from_xml_string(f"<mujoco>{head}<worldbody>{bodies}</worldbody>{jack}</mujoco>")
        data = mj.MjData(model)

        def run() -> tuple[int, float]:
            mj.mj_resetData(model, data)
            model.tendon_limited[0] = 1
            data.qfrc_applied[0] = torque
            qpos = data.qpos
            for _ in range(round(span / step)):
                mj.mj_step(model, data)
                if qpos[1] > let_off:
                    model.tendon_limited[0] = 0
            return count, float(abs(qpos[1] - exact))

        return run

    return ours, theirs


def events(console: Any) -> None:
    """Events a second of processor time, side by side, also at equal accuracy."""
    table = Table(title="Events, by processor time", title_justify="left")
    for column in ("", "events", "events a second", "against Polhode", "error at the end"):
        table.add_column(column, justify="left" if not column else "right")
    for name, made in (("ball between walls", _walls), ("bouncing chain", _chain), ("piano key", _piano)):
        ours, theirs = made()
        runs = {"Polhode": ours()} | {f"MuJoCo, {depth * 1e3:g} mm deep": theirs(depth) for depth in PENETRATIONS}
        found = {who: run() for who, run in runs.items()}
        goal = min(error for who, (_, error) in found.items() if who != "Polhode")
        good = {str(how): ours(**how) for how in LOOSE if ours(**how)()[1] <= goal}
        if good:
            quickest = min(_best(good).items(), key=lambda item: item[1])[0]
            runs["Polhode, no worse than MuJoCo: " + quickest] = good[quickest]
            found["Polhode, no worse than MuJoCo: " + quickest] = good[quickest]()
        best = _best(runs)
        rate = {who: found[who][0] / best[who] for who in found}
        for who, (count, error) in found.items():
            against = f"x {rate[who] / rate['Polhode']:,.3f}"
            table.add_row(f"{name}, {who}", str(count), f"{rate[who]:,.0f}", against, f"{error:.0e}")
    console.print(table)


def _arm(joints: int = 6) -> Any:
    import polhode as ph

    build = ph.Builder("arm", gravity=(0, 0, -G))
    parent = "world"
    for i in range(joints):
        joint, at = ph.revolute("yx"[i % 2], name=f"q{i}"), (0, 0, -0.3 if i else 0)
        build.body(f"l{i}", parent=parent, at=at, joint=joint, mass=1, com=(0, 0, -0.15), inertia=(0.02, 0.02, 0.01))
        parent = f"l{i}"
        build.lock(f"q{i}", name=f"lock {i}", active=False)
    return ph.formulate(build.build()).compile()


def switches(console: Any) -> None:
    """A switch in units of steps: `resolve` alone, and as a command from Python with its entry in the log."""
    import polhode as ph

    table = Table(title="Engaging locks of a moving arm with 6 joints", title_justify="left")
    for column in ("locks", "step (rk4)", "impulse, new choice", "in steps", "by command, with its log", "in steps"):
        table.add_column(column, justify="right")
    dyn = _arm()
    q, u = 0.3 * np.cos(np.arange(6)), np.sin(np.arange(6.0))
    for count in (1, 3, 6):
        names = [f"lock {i}" for i in range(count)]
        words = dict.fromkeys(names, "engaged") | {f"lock {i}": "released" for i in range(count, 6)}
        cost = min((dyn.step_cost(words, "rk4", 1e-3, q=q, u=u)[0] for _ in range(ROUNDS)), key=lambda c: c.general)
        sim = ph.Simulation(dyn, q, u, method="rk4", step=1e-3)

        def command(sim: Any = sim, names: list[str] = names) -> None:
            for _ in range(200):
                sim.u = u
                sim.engage(*names)
                sim.release(*names)

        seconds = _best({"": command})[""] / 400
        table.add_row(
            str(count), f"{cost.general * 1e6:.2f} us", f"{cost.switch * 1e6:.2f} us",
            f"{cost.switch / cost.general:.1f}",
            f"{seconds * 1e6:.1f} us", f"{seconds / cost.general:.1f}",
        )  # fmt: skip
    console.print(table)


def _crowd(count: int) -> Any:
    """Ten carts with a lock each, and as many contacts of their corners as make `count` candidates."""
    import polhode as ph

    build = ph.Builder("carts", gravity=(0, 0, -G))
    for i in range(10):
        build.body(f"rail {i}", joint=ph.prismatic("x", name=f"x{i}"), mass=1, at=(0, 2 * i, 1))
        build.body(f"arm {i}", parent=f"rail {i}", joint=ph.revolute("y", name=f"a{i}"), mass=1, com=(0, 0, -0.3))
        build.lock(f"x{i}", name=f"lock {i}", active=False)
    for k in range(count - 10):
        body = f"arm {k % 10}"
        build.marker(f"m{k}", body=body, at=(0.1 * np.cos(k), 0.1 * np.sin(k), -0.5))
        if k % 3 == 2:
            build.latch(f"m{k}", f"rail {k % 10}", "point", name=f"latch {k}", active=False)
        else:
            build.contact(f"m{k}", name=f"contact {k}")
    return build.build()


def crowds(console: Any, counts: tuple[int, ...] = (10, 100, 1000, 10_000)) -> None:
    """Candidates of which ten are active, against a machine that has only these ten."""
    import polhode as ph

    table = Table(title="Candidates of which ten are active (ten carts that are locked)", title_justify="left")
    columns = ("candidates", "build", "derivation", "first run", "a step (euler)", "against ten", "a switch by command")
    for column in columns:
        table.add_column(column, justify="right")
    runs: dict[int, Any] = {}
    facts: dict[int, list[float]] = {}
    locks = [f"lock {i}" for i in range(10)]
    for count in counts:
        marks = [time.perf_counter()]
        model = _crowd(count)
        marks.append(time.perf_counter())
        dyn = ph.formulate(model).compile()
        marks.append(time.perf_counter())
        sim = ph.Simulation(dyn, None, {f"a{i}_dot": 0.5 for i in range(10)}, method="euler", step=1e-3)
        sim.engage(*locks)
        sim.run(sim.t + 0.01)
        marks.append(time.perf_counter())
        runs[count], facts[count] = sim, list(np.diff(marks))
    steps = 500

    def going(sim: Any) -> Callable[[], None]:
        return lambda: sim.run(sim.t + steps * 1e-3, output=[sim.t + steps * 1e-3])

    def switching(sim: Any) -> Callable[[], None]:
        def call() -> None:
            for _ in range(20):
                sim.release(*locks)
                sim.engage(*locks)

        return call

    best = _best({str(count): going(sim) for count, sim in runs.items()})
    pairs = _best({str(count): switching(sim) for count, sim in runs.items()})
    for count, (build, derive, first) in facts.items():
        step = best[str(count)] / steps
        table.add_row(
            f"{count:,}", f"{build:.2f} s", f"{derive:.2f} s", f"{first:.2f} s", f"{step * 1e6:.2f} us",
            f"x {step / (best[str(counts[0])] / steps):.2f}", f"{pairs[str(count)] / 40 * 1e6:,.0f} us",
        )  # fmt: skip
    console.print(table)


def table(console: Any) -> None:
    """All of it."""
    events(console)
    switches(console)
    crowds(console)
