"""Integrators: order, error control, stops, output, failures, stiffness, batches."""

from functools import cache, partial

import numpy as np
import pytest

import polhode as ph
from polhode.compile import compile
from polhode.equations.program import Program
from polhode.graph import sqrt, symbol, vector, vector_of
from polhode.kernels.loop import METHODS, advance, room_of
from polhode.kernels.machine import NOT_FINITE
from polhode.kernels.sizing import PATIENCE
from polhode.kernels.stepping import COLLAPSE, DONE, FULL, MORE
from polhode.kernels.stepping import Run as Record
from polhode.simulate import batch

FIXED, ADAPTIVE = ["euler", "midpoint", "rk4"], ["dopri5", "dop853", "rodas5p"]
ORDER = {"euler": 1, "midpoint": 2, "rk4": 4, "dopri5": 5, "dop853": 8, "rodas5p": 5}


@cache
def any_machine():
    build = ph.Builder("one")
    build.body("arm", joint=ph.revolute("y"), mass=1, com=(1, 0, 0), inertia=(1, 1, 1))
    return Program(ph.formulate(build.build()).compile()).machine()


class Problem:
    """x' = f(t, x, p), compiled; the first nq entries of x' are rates for the semi-implicit method."""

    def __init__(self, f, n, nq=0, p=(0.0,), units=()):
        t, x, tau, given = symbol("t"), vector_of("x", n), vector_of("tau", 1), vector_of("p", len(p))
        rows = f(t, list(x), list(given))
        self.flow = compile({"t": vector([t]), "x": x, "tau": tau, "p": given}, {"dx": vector(rows)})
        self.rates = compile({"t": vector([t]), "x": x, "p": given}, {"dq": vector(rows[:nq] or [t])})
        self.machine = any_machine()._replace(
            code=np.array([0, self.flow.address, self.rates.address, *[0] * 6]),
            nq=nq,
            counted=n,
            tau=np.zeros(1),
            p=np.array(p),
            units=np.array(units, dtype=np.int64),
            work=np.zeros(max(1, self.flow.work_size, self.rates.work_size)),
        )


class Run:
    """A run of one method, in calls of `budget` steps."""

    def __init__(self, name, problem, x, stop, h=0.0, grid=(), tol=(1e-6, 1e-6), t=0.0, longest=np.inf, every=0):
        self.problem = problem  # which owns the native code
        self.x, self.grid = np.array(x, dtype=float), np.zeros(every) if every else np.array(grid, dtype=float)
        self.rows, method = np.zeros((len(self.grid), self.x.size)), METHODS[name]
        self.now, self.record = Record.of(
            t=t, step=h, stop=stop, budget=10**6, every=every > 0, rtol=tol[0], atol=tol[1], longest=longest
        )
        self.room = room_of(method, self.x.size)
        for part in self.room[:-1]:
            part.fill(np.nan)
        self.call = partial(advance, method, problem.machine, self.record, self.x, self.grid, self.rows, self.room)

    def go(self, stop=None):
        self.now.stop = self.now.stop if stop is None else stop
        self.status = self.call()
        return self


@cache
def bell():
    """x = 1 / (1 + t^2): nonlinear, and depends on time."""
    return Problem(lambda t, x, p: [x[1], -2 * x[0] ** 2 - 4 * t * x[0] * x[1]], 2, nq=1)


def bell_at(t):
    return np.stack([1 / (1 + t**2), -2 * t / (1 + t**2) ** 2], axis=-1)


@cache
def spin():
    """A rigid body [quaternion, angular velocity] with principal inertias p."""

    def f(t, x, p):
        (w, a, b, c), (i, j, k) = x[:4], x[4:]
        turn = [-a * i - b * j - c * k, w * i + b * k - c * j, w * j + c * i - a * k, w * k + a * j - b * i]
        moment = [(p[1] - p[2]) * j * k / p[0], (p[2] - p[0]) * k * i / p[1], (p[0] - p[1]) * i * j / p[2]]
        return [r / 2 for r in turn] + moment

    return Problem(f, 7, nq=4, p=(1.0, 2.0, 3.0), units=(0,))


def van_der_pol(eps):
    return Problem(lambda t, x, p: [x[1], ((1 - x[0] ** 2) * x[1] - x[0]) / p[0]], 2, p=(eps,))


def error_with(name, n):
    run = Run(name, bell(), [1, 0], 2.0, h=2 / n, longest=2 / n, tol=(1e3, 1e3)).go()
    assert (run.status, run.now.accepted, run.now.rejected) == (DONE, n, 0)
    return np.abs(run.x - bell_at(2.0)).max()


@pytest.mark.parametrize("name", ORDER)
def test_order_of_convergence(name):
    n = {8: 10, 5: 40, 4: 40}.get(ORDER[name], 200)
    assert np.log2(error_with(name, n) / error_with(name, 2 * n)) == pytest.approx(ORDER[name], abs=0.3)


@pytest.mark.parametrize(("name", "order"), [("rk4", 3), ("dopri5", 4), ("dop853", 7), ("rodas5p", 4)])
def test_order_between_steps(name, order):
    errors = []
    for h in (0.1, 0.05) if order == 7 else (0.05, 0.025):
        times = 0.5 + h * np.array([0.3, 0.5, 0.8])
        run = Run(name, bell(), bell_at(0.5), 0.5 + h, t=0.5, h=h, longest=h, grid=times, tol=(1e3, 1e3)).go()
        assert run.now.accepted == 1
        errors.append(np.abs(run.rows - bell_at(times)).max())
    assert order + 0.7 < np.log2(errors[0] / errors[1]) < order + 1.5


@pytest.mark.parametrize("name", ADAPTIVE)
def test_errors_follow_the_tolerance(name):
    x, errors = np.array([0.4, 0, 0, 2]), []  # Kepler, eccentricity 0.6: back after each period

    def f(t, x, p):
        r = sqrt(x[0] ** 2 + x[1] ** 2)
        return [x[2], x[3], -x[0] / r**3, -x[1] / r**3]

    kepler = Problem(f, 4, nq=2)
    for tol in (1e-6, 1e-8, 1e-10):
        run = Run(name, kepler, x, 4 * np.pi, tol=(tol, tol)).go()
        assert run.status == DONE
        errors.append(np.abs(run.x - x).max() / tol)
    assert max(errors) < min(2000, 20 * min(errors))


@pytest.mark.parametrize("name", ADAPTIVE)
def test_stops_are_exact_and_cost_no_step_size(name):
    free, stopped = (Run(name, bell(), [1, 0], 1.0) for _ in range(2))
    for stop in np.linspace(0, 1, 201)[1:]:
        assert (stopped.go(stop).status, stopped.now.t) == (DONE, stop)
    assert np.abs(stopped.x - bell_at(1.0)).max() < 1e-5
    assert stopped.now.accepted < 200 + 2 * free.go().now.accepted
    assert stopped.now.step > 0.02  # not the 0.005 between stops


@pytest.mark.parametrize("name", FIXED)
def test_fixed_steps_do_not_drift(name):
    run = Run(name, spin(), [1, 0, 0, 0, 0, 0, 0.1], 100.0, h=0.1, every=2000).go()
    assert (run.now.accepted, run.now.t, run.grid[999]) == (1000, 100.0, 100.0)
    assert np.array_equal(run.grid[:999], np.arange(1, 1000) * 0.1)
    run.go(100.25)  # the last step is half as long, and counting starts anew
    run.go(100.45)
    assert run.now.accepted == 1005
    assert np.allclose(run.grid[1000:1005], [100.1, 100.2, 100.25, 100.35, 100.45], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ORDER)
def test_small_budgets_give_the_same_run(name):
    h, grid = 0.01 if name in FIXED else 0.0, np.linspace(0, 2, 33)
    whole, parts = (Run(name, spin(), [1, 0, 0, 0, 0.1, 2, 0.1], 2.0, h=h, grid=grid) for _ in range(2))
    whole.go()
    parts.now.budget = 3
    while parts.go().status == MORE:
        pass
    assert (whole.status, whole.now.row) == (parts.status, parts.now.row) == (DONE, 33)
    parts.now.budget = whole.now.budget
    for field in ("x", "rows", "record"):
        assert np.array_equal(getattr(whole, field), getattr(parts, field))


@pytest.mark.parametrize("name", ORDER)
def test_grid_at_the_steps_gives_the_steps(name):
    h, x = 0.01 if name in FIXED else 0.0, [1, 0, 0, 0, 0.1, 5, 0.1]
    steps = Run(name, spin(), x, 2.0, h=h, every=500).go()
    count = steps.now.accepted
    assert (steps.now.row, steps.grid[count - 1]) == (count, 2.0)
    assert np.array_equal(steps.rows[count - 1], steps.x)
    same = Run(name, spin(), x, 2.0, h=h, grid=steps.grid[:count]).go()
    assert np.array_equal(same.rows, steps.rows[:count])
    dense = Run(name, spin(), x, 2.0, h=h, grid=np.linspace(0, 2, 301)).go()
    assert np.array_equal(dense.x, same.x)
    for run in (steps, dense):
        assert np.allclose((run.rows[: run.now.row, :4] ** 2).sum(axis=1), 1, rtol=0, atol=1e-15)
    small = Run(name, spin(), x, 2.0, h=h, every=2).go()
    assert (small.status, small.now.row, small.now.accepted) == (FULL, 2, 2)


@pytest.mark.parametrize("name", ORDER)
def test_a_flow_that_ends_leaves_the_last_good_state(name):
    problem = Problem(lambda t, x, p: [x[2], x[3], x[0], sqrt(1 - t)], 4, nq=2)
    run = Run(name, problem, [0, 0, 0, 0], 2.0, h=1e-3 if name in FIXED else 0.0, grid=[0.5, 1.5]).go()
    assert (run.status, run.now.blamed, run.now.row) == (NOT_FINITE, 3, 1)
    assert 0.9 < run.now.t < 1.002
    assert run.x[3] == pytest.approx(2 / 3, abs=1e-2)
    state = [*run.x, run.now.t]
    assert run.go().status == NOT_FINITE
    assert [*run.x, run.now.t] == state


@pytest.mark.parametrize("name", ORDER)
def test_blow_up(name):
    problem = Problem(lambda t, x, p: [x[1], 2 * x[0] * x[1]], 2, nq=1)
    run = Run(name, problem, [1, 1], 2.0, h=1e-3 * (name in FIXED)).go()
    assert run.status in (COLLAPSE, NOT_FINITE)
    assert (np.isfinite(run.x).all(), run.now.t) == (True, pytest.approx(1.0, abs=0.1))


def test_stiff_systems():
    """Reference: Test Set for IVP Solvers, Bari: VDPOL at t = 2, ROBER at t = 1e11."""
    found = Run("rodas5p", van_der_pol(1e-6), [2, 0], 2.0, tol=(1e-7, 1e-7)).go()
    assert np.allclose(found.x, [1.706167732170483, -0.8928097010247975], rtol=0, atol=1e-6)
    assert found.now.accepted < 2000

    def robertson(t, x, p):
        slow, fast = 0.04 * x[0] - 1e4 * x[1] * x[2], 3e7 * x[1] ** 2
        return [-slow, slow - fast, fast]

    found = Run("rodas5p", Problem(robertson, 3), [1, 0, 0], 1e11, tol=(1e-6, 1e-14)).go()
    assert np.allclose(found.x, [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050], rtol=1e-5, atol=0)
    assert found.now.accepted < 600


def test_stiff_steps_are_few():
    implicit, explicit = (Run(name, van_der_pol(1e-3), [2, 0], 0.5).go() for name in ("rodas5p", "dopri5"))
    assert np.allclose(implicit.x, explicit.x, rtol=0, atol=1e-5)
    assert implicit.now.evaluations < explicit.now.evaluations / 2
    assert implicit.now.accepted < explicit.now.accepted / 10


@pytest.mark.parametrize("name", FIXED)
def test_a_batch_is_its_states(name):
    problem, random = spin(), np.random.default_rng(1)
    for count in (1, 7, 8, 64, 1000):
        x, p = random.normal(size=(count, 7)), random.uniform(1, 3, (count, 3))
        x[:, :4] /= np.linalg.norm(x[:, :4], axis=1)[:, None]
        for threads, given in ((1, p), (2, p), (2, p[0])):
            inputs = {"tau": [0.0], "p": given, "units": [0]}
            rows = batch.march(name, problem.flow, problem.rates, x, 0.01, 20, every=5, threads=threads, **inputs)
            assert rows.shape == (count, 4, 7)
            for i in {0, count // 2, count - 1}:
                problem.machine.p[:] = given[i] if given.ndim == 2 else given
                one = Run(name, problem, x[i], 0.2, h=0.01, grid=[0.05, 0.1, 0.15, 0.2]).go()
                assert np.allclose(rows[i], one.rows, rtol=0, atol=1e-14)
    problem.machine.p[:] = 1, 2, 3


def test_a_batch_checks_its_arguments():
    flow, rates, x = spin().flow, spin().rates, np.ones((5, 7))
    with pytest.raises(ValueError, match=r"Argument 'p': expected shape \(3,\) or \(5, 3\), found \(2,\)"):
        batch.march("rk4", flow, rates, x, 0.1, 1, tau=[0.0], p=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"'x': expected shape \(count, 7\), found \(7,\)"):
        batch.march("rk4", flow, rates, x[0], 0.1, 1, tau=[0.0], p=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="takes no batch"):
        batch.march("dop853", flow, rates, x, 0.1, 1, tau=[0.0], p=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", ORDER)
def test_entries_that_do_not_count_go_along(name):
    """What adds up beside the motion does not end a run, here where it becomes infinite, and soon shortens no steps."""
    problem = Problem(lambda t, x, p: [x[1], -x[0], 1e6 * x[1] ** 2 / (1 - t)], 3, nq=1)
    plain = Problem(lambda t, x, p: [x[1], -x[0]], 2, nq=1)
    problem.machine = problem.machine._replace(counted=2)
    h, grid = 0.25 if name in FIXED else 0.0, [0.5, 1.5, 2.0]
    found, expected = (Run(name, p, x, 2.0, h=h, grid=grid).go() for p, x in ((problem, [1, 0, 0]), (plain, [1, 0])))
    assert found.status == DONE
    assert found.now.rejected <= PATIENCE
    assert found.now.accepted <= expected.now.accepted + 4 * PATIENCE
    np.testing.assert_allclose(found.rows[:, :2], expected.rows, rtol=0, atol=1e-13 if name in FIXED else 1e-6)
    assert found.rows[0, 2] > 0
