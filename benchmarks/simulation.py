"""Simulated seconds a second: Polhode against MuJoCo, Pinocchio with SciPy, PyDy with SciPy, and heyoka.

With a fixed step: Polhode's semi-implicit Euler and RK4 against MuJoCo's step of
the same size (semi-implicit Euler; contacts, limits, friction and actuators off).
At equal accuracy: every engine at the loosest of its tolerances whose final state
is within 1e-9 of a reference (Polhode at 1e-13), so that each does what it must
and no more. heyoka gets Polhode's own expressions (in its compact mode beyond 2,000
operations), and Pinocchio's aba is called
by SciPy's DOP853 through Python, as users do.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from .robots import ROBOTS, described

ROBOT = {"arm": "Panda arm", "quadruped": "Solo12, floating"}
STEP = 1e-3
_ARITHMETIC = {
    "neg": operator.neg,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}
ACCURATE = 1e-9
TOLERANCES = [10.0**-k for k in range(7, 14)]


@cache
def dynamics(name: str) -> Any:
    """The dynamics of a machine of the table."""
    import polhode as ph

    if name == "chain":
        build = ph.Builder("chain")
        for k in range(10):
            place = {"parent": f"b{k - 1}", "at": (0, 0, -0.2)} if k else {}
            build.body(f"b{k}", joint=ph.revolute("y"), mass=0.1, com=(0, 0, -0.1), inertia=(3e-4, 3e-4, 0), **place)
        return ph.formulate(build.build(), "denoc").compile()
    if name == "bicycle":
        from tests.literature.test_bicycle import bicycle

        return bicycle().compile(values={"g": 9.81})
    title = ROBOT[name]
    _, floating, held = ROBOTS[title]
    model = ph.load(described(title), floating=floating, actuators=False)
    return ph.formulate(ph.locked(model, held) if held else model).compile()


def start(name: str) -> tuple[np.ndarray, np.ndarray]:
    """An initial state."""
    import polhode as ph

    dyn = dynamics(name)
    eq = dyn.equations
    if name == "bicycle":
        state = ph.assemble(dyn, {"z": -0.3}, {"x_dot": 5.0, "lean_dot": 0.5}, keep=["x_dot", "lean_dot"])
        return state.q, state.u
    q = np.array(eq.model.neutral())
    q[7 if name == "quadruped" else 0 :] += 0.3
    return q, np.full(len(eq.u), 0.1)


def _timed(call: Callable[[], Any], rounds: int = 3) -> tuple[float, Any]:
    best, found = np.inf, None
    for _ in range(rounds):
        began = time.perf_counter()
        found = call()
        best = min(best, time.perf_counter() - began)
    return best, found


def ours(name: str, seconds: float, **options: Any) -> tuple[float, np.ndarray]:
    """Time and final state of a run of Polhode, native loop alone."""
    import polhode as ph

    q, u = start(name)
    runs = [ph.simulate(dynamics(name), q, u, seconds, output=[seconds], **options) for _ in range(4)]
    return min(run.statistics["seconds"] for run in runs[1:]), np.concatenate([runs[-1].q[-1], runs[-1].u[-1]])


def theirs(name: str) -> Any:
    """Pinocchio's model of a robot of the table."""
    import pinocchio as pin

    title = ROBOT[name]
    _, floating, held = ROBOTS[title]
    model = pin.buildModelFromUrdf(str(described(title)), *([pin.JointModelFreeFlyer()] if floating else []))
    return pin.buildReducedModel(model, [model.getJointId(j) for j in held], pin.neutral(model))


def mujoco_steps(name: str, seconds: float) -> float | None:
    """Time of MuJoCo's steps for the same machine, looped in native code; None where it has no such machine."""
    import mujoco as mj

    from .rivals import _mujoco_model

    if name == "bicycle":
        return None
    if name == "chain":
        link = '<body pos="0 0 {z}"><joint type="hinge" axis="0 1 0"/>'
        link += '<inertial pos="0 0 -0.1" mass="0.1" diaginertia="3e-4 3e-4 1e-9"/>'
        bodies = "".join(link.format(z=-0.2 if k else 0) for k in range(10)) + "</body>" * 10
        model = mj.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    else:
        model = _mujoco_model(theirs(name), mj)
    model.opt.timestep = STEP
    data = mj.MjData(model)

    def run() -> None:
        mj.mj_resetData(model, data)
        data.qvel[:] = 0.1
        mj.mj_step(model, data, nstep=round(seconds / STEP))

    return _timed(run)[0]


def pinocchio_scipy(name: str, seconds: float, tolerance: float) -> tuple[float, np.ndarray]:
    """pin.aba called by SciPy's DOP853."""
    import pinocchio as pin
    from scipy.integrate import solve_ivp

    model = theirs(name)
    data, n, zero = model.createData(), model.nv, np.zeros(model.nv)

    def flow(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], pin.aba(model, data, x[:n], x[n:], zero)])

    x0 = np.concatenate(start(name))
    run = lambda: solve_ivp(flow, (0, seconds), x0, method="DOP853", rtol=tolerance, atol=tolerance)  # noqa: E731
    best, found = _timed(run, 2)
    return best, found.y[:, -1]


def heyoka_integrator(name: str) -> Any:
    """A function of a tolerance that gives a Taylor integrator for Polhode's own expressions, None with constraints."""
    import heyoka as hy

    from polhode.equations.program import program_of

    system = program_of(dynamics(name))
    if system.residuals is not None:
        return None
    from polhode.compile.tape import record

    entries = {e: (0, i) for i, e in enumerate(system.x)}
    tau = {e: (1, i) for i, e in enumerate(system.tau)}
    tape = record(entries | tau, (len(system.x), len(system.tau)), [[*system.flow.outputs[0].entries]])
    names = hy.make_vars(*[f"x{i}" for i in range(len(system.x))])
    values: list[Any] = []
    for op, args, data in zip(tape.ops, tape.args, tape.data, strict=True):
        a = [values[k] for k in args]
        if op == "const":
            values.append(hy.expression(data))
        elif op == "input":
            values.append(names[data[1]] if data[0] == 0 else hy.expression(0.0))
        elif op in _ARITHMETIC:
            values.append(_ARITHMETIC[op](*a))
        else:
            values.append(getattr(hy, op)(*a))
    flow = [(x, values[i]) for x, i in zip(names, tape.outputs[0], strict=True)]
    compact = tape.operations() > 2000  # beyond, its faster mode compiles for minutes
    return lambda x0, tolerance: hy.taylor_adaptive(flow, x0.tolist(), tol=tolerance, compact_mode=compact)


def heyoka_run(make: Any, name: str, seconds: float, tolerance: float) -> tuple[float, np.ndarray]:
    x0 = np.concatenate(start(name))
    integrator = make(x0, tolerance)

    def run() -> None:
        integrator.time = 0.0
        integrator.state[:] = x0
        integrator.propagate_until(seconds)

    best, _ = _timed(run)
    return best, np.array(integrator.state)


LINKS = 4


def pydy(seconds: float) -> float:
    """PyDy's pendulum of several links on a cart: SymPy's Kane's method, lambdified, with SciPy's odeint."""
    from pydy.models import n_link_pendulum_on_cart

    system = n_link_pendulum_on_cart(LINKS, cart_force=False)
    sizes = {"g": 9.81, "l": 0.2, "m": 0.1}
    system.constants = {c: sizes[str(c)[0]] for c in system.constants_symbols}
    system.initial_conditions = dict.fromkeys(system.coordinates, 0.3) | dict.fromkeys(system.speeds, 0.1)
    system.times = np.linspace(0, seconds, 101)
    system.generate_ode_function(generator="lambdify")
    return _timed(system.integrate, 2)[0]


def on_cart(seconds: float) -> float:
    """The same in Polhode, at odeint's tolerances."""
    import polhode as ph

    build = ph.Builder("cart", gravity=(0, 0, -9.81))
    build.body("cart", joint=ph.prismatic("x"), mass=0.1)
    for k in range(LINKS):
        place = {"parent": f"b{k - 1}", "at": (0, 0, -0.2)} if k else {"parent": "cart"}
        build.body(f"b{k}", joint=ph.revolute("y"), mass=0.1, com=(0, 0, -0.2), **place)
    dyn = ph.formulate(build.build(), "denoc").compile()
    times = np.linspace(0, seconds, 101)
    run = lambda: ph.simulate(dyn, [0.3] * 5, [0.1] * 5, seconds, output=times, rtol=1.5e-8, atol=1.5e-8)  # noqa: E731
    return min(run().statistics["seconds"] for _ in range(4))


def accurate(run: Callable[[float], tuple[float, np.ndarray]], reference: np.ndarray, every: int = 1) -> float:
    """Time of the run with the loosest tolerance that ends near enough to the reference."""
    for tolerance in TOLERANCES[::every]:
        seconds, state = run(tolerance)
        if np.abs(state - reference).max() <= ACCURATE:
            return seconds
    return np.nan


MACHINES = {
    "chain": ("chain of 10 pendulums", 2.0),
    "arm": ("Panda arm, 7 joints", 2.0),
    "quadruped": ("Solo12, floating, 18 speeds", 2.0),
    "bicycle": ("bicycle, 10 speeds, 6 rows", 5.0),
}


SHORT = {"arm": 0.5}  # seconds; an arm that falls without friction soon forgets nine digits


def table(console: Any) -> None:
    """Print the comparison."""
    from rich.table import Table

    def begin(title: str, *columns: str) -> Table:
        shown = Table(title=title, title_justify="left")
        for column in ("", *columns):
            shown.add_column(column, justify="right" if column else "left")
        return shown

    columns = "Polhode, Euler", "Polhode, RK4", "MuJoCo's step", "Euler / MuJoCo"
    shown = begin(f"Simulated seconds a second, step {STEP * 1e3:g} ms", *columns)
    for name, (title, span) in MACHINES.items():
        euler, rk4 = (span / ours(name, span, method=m, step=STEP)[0] for m in ("euler", "rk4"))
        steps = mujoco_steps(name, span)
        cells = [f"{span / steps:,.0f}", f"x {euler * steps / span:.1f}"] if steps else ["-", "-"]
        shown.add_row(title, f"{euler:,.0f}", f"{rk4:,.0f}", *cells)
    console.print(shown)
    columns = "Polhode, DOP853", "heyoka", "Polhode / heyoka", "Pinocchio + SciPy", "Polhode / that"
    shown = begin(f"Simulated seconds a second, final state within {ACCURATE:g}", *columns)
    for name, (title, span) in MACHINES.items():
        span = SHORT.get(name, span)  # noqa: PLW2901
        _, reference = ours(name, span, rtol=1e-13, atol=1e-14)
        mine = accurate(partial(_ours_to, name, span), reference)
        cells = [f"{span / mine:,.0f}"]
        make = heyoka_integrator(name)
        rivals = [partial(heyoka_run, make, name, span) if make else None]
        rivals.append(partial(pinocchio_scipy, name, span) if name == "arm" else None)
        for every, rival in zip((2, 1), rivals, strict=True):  # heyoka compiles for each tolerance
            theirs = accurate(rival, reference, every) if rival else np.nan
            cells += ["-", "-"] if np.isnan(theirs) else [f"{span / theirs:,.0f}", f"x {theirs / mine:,.1f}"]
        shown.add_row(title, *cells)
    console.print(shown)
    them, us = pydy(2.0), on_cart(2.0)
    shown = begin(f"Pendulum of {LINKS} links on a cart, tolerance 1.5e-8", "Polhode, DOP853", "PyDy, odeint", "ratio")
    shown.add_row("simulated seconds a second", f"{2 / us:,.0f}", f"{2 / them:,.0f}", f"x {them / us:,.0f}")
    console.print(shown)
    python(console)
    drift(console)


def python(console: Any) -> None:
    """What Python adds to the native loop: for a step, for a control of the pendulum, and for a sampled one."""
    from rich.table import Table

    import polhode as ph

    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=1, com=(0, 0, -1))
    dyn, steps = ph.formulate(build.build()).compile(), 10_000
    options: dict[str, Any] = {"method": "rk4", "step": STEP}

    def native(tau: Any = None) -> float:
        span = steps * STEP
        runs = [ph.simulate(dyn, {"theta": 1.0}, t_end=span, tau=tau, output=[span], **options) for _ in range(4)]
        return min(run.statistics["seconds"] for run in runs)

    def stepped() -> None:
        for _ in range(steps):
            sim.step()

    sim, plain = ph.Simulation(dyn, {"theta": 1.0}, **options), native()
    shown = Table(title="What Python adds to a native step of a pendulum", title_justify="left")
    for column in ("", "us"):
        shown.add_column(column, justify="right" if column else "left")
    shown.add_row("native step, RK4", f"{plain / steps * 1e6:.2f}")
    shown.add_row("sim.step(), beyond it", f"{(_timed(stepped)[0] - plain) / steps * 1e6:.2f}")
    for what, answer in (("an array", np.zeros(1)), ("a list", [0.0]), ("values by name", {"theta_dot": 0.0})):
        called = native(lambda t, q, u, answer=answer: answer)
        shown.add_row(f"a control that gives {what}, each of four calls", f"{(called - plain) / steps / 4 * 1e6:.2f}")
    called = native(ph.Sampled(lambda t, q, u: [0.0], STEP))
    shown.add_row("a sampled control, each call", f"{(called - plain) / steps * 1e6:.2f}")
    console.print(shown)


def drift(console: Any) -> None:
    """What a million steps do to the energy of a double pendulum, and to a four-bar linkage."""
    from rich.table import Table

    import polhode as ph
    from tests.mechanisms import windows

    build = ph.Builder("double pendulum")
    build.body("upper", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    build.body("lower", parent="upper", at=(0, 0, -1), joint=ph.revolute("y", name="b"), mass=1, com=(0, 0, -1))
    open_chain = ph.formulate(build.build()).compile(), np.array([0.5, 0.2]), np.zeros(2)
    loop = ph.formulate(windows(1)).compile()
    closed = loop, *ph.assemble(loop, u0={"crank0_dot": 1.0}, keep=["crank0_dot"])
    shown = Table(title="A million steps of 1 ms: change of energy, relative to what moves", title_justify="left")
    for column in ("", "double pendulum", "four-bar", "its largest residual"):
        shown.add_column(column, justify="right" if column else "left")
    for method in ("euler", "midpoint", "rk4"):
        cells = []
        for dyn, q, u in (open_chain, closed):
            traj = ph.simulate(dyn, q, u, 1000.0, method=method, step=1e-3)
            cells.append(f"{np.abs(traj.energy_drift).max() / np.ptp(traj.energy[:, 0]):.1e}")
        shown.add_row(method, *cells, f"{np.abs(traj.residuals).max():.0e}")
    console.print(shown)


def _ours_to(name: str, span: float, tolerance: float) -> tuple[float, np.ndarray]:
    return ours(name, span, rtol=tolerance, atol=tolerance)
