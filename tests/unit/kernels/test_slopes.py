"""Exact derivatives for the implicit method: against differences, complex steps, and its order."""

from functools import cache

import numpy as np
import pytest
from mpmath import mpf, workdps

import polhode as ph
from polhode.equations import slopes
from polhode.equations.dynamics import accelerations
from polhode.equations.program import program_of
from polhode.graph import evaluate as evaluated
from polhode.graph import vector
from polhode.kernels.hold import evaluate
from polhode.kernels.loop import METHODS, advance, room_of
from polhode.kernels.stepping import MORE, Run
from tests.mechanisms import GOVERNOR, four_bar, governor, squeezer

T = ph.symbol("t")
BODY = {"mass": 1.3, "com": (0.02, 0.1, -0.1), "inertia": (0.02, 0.03, 0.025)}


def chain(n, base=None):
    """A chain with skew axes, dampers, friction, a spring and a force that depends on time."""
    build = ph.Builder("chain")
    parent = "world"
    for i in range(n):
        joint = ph.revolute(
            ("y", "x", (0.6, 0, 0.8))[i % 3], name=f"j{i}", damping=0.1, friction=0.2, friction_speed=0.5
        )
        at = (0, 0.05, -0.2 * (i > 0))
        build.body(f"b{i}", parent=parent, at=at, joint=joint if i or base is None else base, **BODY)
        parent = f"b{i}"
    build.marker("tip", body=parent, at=(0.1, 0, 0.2))
    build.marker("wall", body="world", at=(1, 1, 1))
    build.spring("wall", "tip", stiffness=30, length=0.3, damping=0.7)
    build.force(f"j{n - 1}_dot", ph.sin(5 * T) * ph.symbol(f"j{n - 1}"))
    return build.build()


def with_a_state():
    """A motor whose current lags behind its voltage."""
    build = ph.Builder("motor")
    build.body("arm", joint=ph.revolute("y", name="a"), **BODY)
    build.body("hand", parent="arm", at=(0, 0, 0.4), joint=ph.revolute("y", name="b", damping=0.3), **BODY)
    i, a, w = ph.symbols("i a a_dot")
    build.state("i", rate=(ph.sin(3 * T + 1) * a - 2 * i - 0.5 * w) / 0.1, start=0.7)
    build.force("a_dot", 3 * i)
    return build.build()


def ball():
    build = ph.Builder("ball")
    build.body("arm", joint=ph.revolute("y", name="a"), **BODY)
    build.body("hand", parent="arm", at=(0, 0, 0.4), joint=ph.spherical(quaternion=True), **BODY)
    build.body("tool", parent="hand", at=(0, 0.2, 0.1), joint=ph.revolute("x", name="c"), **BODY)
    return build.build()


def closed(model, **guess):
    dyn = ph.formulate(model).compile()
    return dyn, *ph.assemble(dyn, **guess)


def anywhere(model, method=None):
    dyn = ph.formulate(model, method).compile()
    rng = np.random.default_rng(3)
    eq = dyn.equations
    q = dyn.unit(np.array(eq.model.neutral()) + 0.6 * rng.normal(size=len(eq.q)))
    return dyn, q, rng.normal(size=len(eq.u))


MACHINES = {
    "ur5": lambda: anywhere(ph.load("examples/ur5.urdf")),
    "ur5 by kane": lambda: anywhere(ph.load("examples/ur5.urdf"), "kane"),
    "chain": lambda: anywhere(chain(10)),
    "chain by poincare": lambda: anywhere(chain(3), "poincare"),
    "chain by lagrange": lambda: anywhere(chain(3), "lagrange"),
    "floating chain": lambda: anywhere(chain(4, ph.free(quaternion=True))),
    "ball by kane": lambda: anywhere(ball(), "kane"),
    "ball by poincare": lambda: anywhere(ball(), "poincare"),
    "state": lambda: anywhere(with_a_state()),
    "four-bar": lambda: closed(four_bar(), q0={"a": -1.0, "b": 1.0, "c": -1.0}, u0={"a_dot": 2.0}, keep=["a", "a_dot"]),
    "driven": lambda: closed(four_bar(0.3 * ph.sin(3 * T) - 1), q0={"a": -1.0, "b": 1.0, "c": -1.0}),
    "squeezer": lambda: closed(squeezer(), q0={"beta": -0.06}),
    "governor": lambda: closed(governor(True), q0=GOVERNOR[0], u0=GOVERNOR[1]),
    "soft governor": lambda: (ph.formulate(governor(False)).compile(), [0.3, 0.5, 2.0, 2.1], [6.0, 0.1, 0.2, 0.3]),
}


@cache
def machine(name):
    return MACHINES[name]()


class Step:
    """A tiny step of the implicit method, and what it took for derivatives, by columns, the last one by time."""

    def __init__(self, dyn, q, u, tau, laws=None, h=1e-9):
        self.program = program_of(dyn, laws, driven=True)
        self.machine = self.program.machine(tau, implicit=True)
        self.x = self.program.state(np.array(q), np.array(u), self.program.starts(np.zeros(0)))
        self.rate(0.0, self.x, True)
        x, method = self.x.copy(), METHODS["rodas5p"]
        now, record = Run.of(step=h, stop=1.0, budget=1, rtol=1e3, atol=1e3)
        room = room_of(method, x.size, self.program.sloping)
        assert advance(method, self.machine, record, x, np.zeros(0), np.zeros((0, x.size)), room) == MORE
        self.found, self.evaluations = np.vstack([room.J, room.drift]), now.evaluations

    def rate(self, t, x, settled=False):
        dx = np.zeros_like(x)
        assert evaluate(self.machine, t, x, dx, settled) == 0
        return dx

    def differences(self, h=1e-3):
        """The same by central differences of order 6."""
        n = self.x.size
        moves = np.eye(n + 1)

        def along(move):
            return self.rate(move[n], self.x + move[:n])

        weights = {1: 0.75, 2: -0.15, 3: 1 / 60}
        return np.array(
            [sum(w * (along(k * h * e) - along(-k * h * e)) for k, w in weights.items()) / h for e in moves]
        )


def taken(name):
    dyn, q, u = machine(name)
    return Step(dyn, q, u, 0.3 * np.arange(1, len(u) + 1))


@pytest.mark.parametrize("name", MACHINES)
def test_derivatives_are_those_of_the_rate(name):
    step = taken(name)
    assert step.program.slopes is not None
    assert step.evaluations == 8 + bool(len(step.program.constraints))  # none of them for differences
    expected = step.differences()
    sizes = np.maximum(abs(expected).max(axis=0), 1e-3)
    np.testing.assert_allclose(step.found / sizes, expected / sizes, rtol=0, atol=2e-9)
    assert name not in ("chain", "state", "driven") or abs(expected[-1]).max() > 0.1  # there, time matters


def test_derivatives_are_those_of_the_expressions_with_many_digits():
    dyn, q, u = machine("chain by poincare")
    step = taken("chain by poincare")
    eq = dyn.equations
    names, tau = [*eq.q, *eq.u, T], ph.symbols("F0 F1 F2")
    udot = accelerations(eq, vector(tau))
    for j, s in enumerate(names):
        values = dict(zip([*names, *tau], map(mpf, [*q, *u, 0.0, 0.3, 0.6, 0.9]), strict=True))
        with workdps(60):
            h = mpf(10) ** -25
            sides = [evaluated(udot, values | {s: values[s] + side * h}, digits=60) for side in (1, -1)]
            expected = [float((a - b) / (2 * h)) for a, b in zip(*sides, strict=True)]
        column = step.found[j if s is not T else -1]
        np.testing.assert_allclose(column[3:6], expected, rtol=1e-11, atol=1e-11)


def test_laws_of_inputs_are_differentiated_too():
    dyn, q, u = machine("four-bar")
    a, w = ph.symbols("a a_dot")
    law = {dyn.equations.u[0]: -3 * ph.sin(a) * w + ph.cos(T) * a}
    step = Step(dyn, q, u, np.zeros(3), laws=law)
    np.testing.assert_allclose(step.found, step.differences(), atol=1e-8)
    assert abs(step.found - taken("four-bar").found).max() > 1


def test_where_there_are_none_differences_serve(monkeypatch):
    dyn, q, u = machine("chain by poincare")
    monkeypatch.setattr(slopes, "LONGEST", 100)
    dyn = dyn.equations.compile()
    step = Step(dyn, q, u, np.zeros(3), h=1e-2)
    n = step.x.size
    assert step.program.slopes is None
    assert step.evaluations == 8 + n + 1
    np.testing.assert_allclose(step.found, step.differences(), atol=1e-3)
    assert abs(step.found[-1]).max() > 1


def test_a_quaternion_within_a_recursion_is_left_to_differences():
    dyn, q, u = anywhere(ball(), "denoc")
    step = Step(dyn, q, u, np.zeros(len(u)))
    assert step.program.slopes is None
    np.testing.assert_allclose(step.found, step.differences(), atol=1e-4)


def test_a_pole_of_a_derivative_is_left_to_differences():
    """sqrt(x) at 0 has a value and no derivative."""
    build = ph.Builder("slide", gravity=(0, 0, 0))
    build.body("block", joint=ph.prismatic("x", name="x"), mass=2)
    build.force("x_dot", ph.sqrt(abs(ph.symbol("x"))))
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, [0.0], [1.0], 0.1, method="rodas5p", rtol=1e-6, atol=1e-6)
    assert traj.outcome.finished
    assert np.isfinite(traj.q).all()


def test_a_control_is_left_to_differences():
    dyn, q, u = machine("chain by poincare")

    def control(t, q, u):
        return -5 * q - 2 * u

    by_law = {s: -5 * c - 2 * s for s, c in zip(dyn.equations.u, dyn.equations.q, strict=True)}
    options = {"method": "rodas5p", "rtol": 1e-7, "atol": 1e-7}
    called = ph.simulate(dyn, q, u, 0.5, tau=control, **options)
    exact = ph.simulate(dyn, q, u, 0.5, tau=by_law, **options)
    np.testing.assert_allclose(called.q, exact.q, atol=1e-5)
    assert exact.statistics["evaluations"] < 0.7 * called.statistics["evaluations"]


ORDERED = ["chain by poincare", "floating chain", "state", "four-bar", "driven", "ball by kane"]


@pytest.mark.parametrize("name", ORDERED)
def test_the_method_keeps_its_order(name):
    dyn, q, u = machine(name)
    end = {"driven": 0.4, "state": 0.4}.get(name, 0.04 if "chain" in name else 0.1)  # later, some are thrown about
    exact = ph.simulate(dyn, q, u, end, tau=0.2 * np.ones(len(u)), rtol=1e-13, atol=1e-13)

    def error(n):
        loose = {"rtol": 1e6, "atol": 1e6, "longest": end / n}
        traj = ph.simulate(dyn, q, u, end, tau=0.2 * np.ones(len(u)), method="rodas5p", **loose)
        assert traj.outcome.finished
        assert traj.statistics["rejected"] == 0
        off = [abs(getattr(traj, part)[-1] - getattr(exact, part)[-1]).max() for part in ("q", "u", "z", "work")
               if getattr(traj, part).size]  # fmt: skip
        return max(off)

    errors = [error(n) for n in (20, 40)]
    assert errors[1] > 1e-13
    assert np.log2(errors[0] / errors[1]) > 4.5
