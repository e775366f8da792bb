"""simulate(): inputs, outputs, constraints, and how a run ends."""

import signal
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad

import polhode as ph
from polhode.equations.program import MOST, Program, program_of
from polhode.kernels.hold import evaluate
from polhode.kernels.settle import settle
from tests import mechanisms

pytestmark = pytest.mark.filterwarnings("ignore:.*Stopped:polhode.simulate.warning.SimulationWarning")


def pendulum(**options):
    build = ph.Builder("pendulum", **options)
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=1, com=(0, 0, -1), inertia=(0.1, 0.1, 0))
    return ph.formulate(build.build()).compile()


def cart():
    build = ph.Builder("cart")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=2)
    return ph.formulate(build.build()).compile()


def four_bar(*laws):
    return ph.formulate(mechanisms.four_bar(*laws)).compile()


CLOSED = {"a": -1.0, "b": 1.0, "c": -1.0}


def test_every_kind_of_input_does_the_same():
    dyn, start = pendulum(), {"theta": 0.3}
    theta, theta_dot, t = ph.symbol("theta"), ph.symbol("theta_dot"), ph.TIME
    law = ph.sin(3 * t) - 0.2 * theta_dot - 0.5 * theta
    expected = ph.simulate(dyn, start, t_end=5.0, tau={"theta_dot": law})
    found = ph.simulate(dyn, start, t_end=5.0, tau=lambda t, q, u: [np.sin(3 * t) - 0.2 * u[0] - 0.5 * q[0]])
    named = ph.simulate(
        dyn, start, t_end=5.0, tau=lambda t, q, u: {"theta_dot": np.sin(3 * t) - 0.2 * u[0] - 0.5 * q[0]}
    )
    for traj in (found, named):
        np.testing.assert_allclose(traj.q, expected.q, atol=1e-13)
        np.testing.assert_allclose(traj.tau, expected.tau, atol=1e-13)
    constant = [ph.simulate(dyn, start, t_end=5.0, tau=tau) for tau in ([0.7], {"theta_dot": 0.7})]
    sampled = ph.simulate(dyn, start, t_end=5.0, tau=ph.Sampled(lambda t, q, u: [0.7], period=0.3))
    np.testing.assert_array_equal(constant[0].q, constant[1].q)
    np.testing.assert_allclose(sampled.q, constant[0].q, atol=1e-7)


def test_a_sampled_controller_is_called_at_its_rate_and_holds():
    calls = []

    def control(t, q, u):
        calls.append(t)
        return [len(calls)]

    traj = ph.simulate(cart(), t_end=1.0, tau=ph.Sampled(control, period=0.1), output=0.05)
    np.testing.assert_allclose(calls, 0.1 * np.arange(10), atol=1e-15)
    speed = np.interp(traj.t, 0.1 * np.arange(11), np.concatenate([[0], np.cumsum(np.arange(1, 11)) * 0.05]))
    np.testing.assert_allclose(traj["x_dot"], speed, atol=1e-9)
    assert abs(traj.audit().relative_drift) < 1e-9


def test_what_a_control_raises_comes_through():
    def broken(t, q, u):
        raise RuntimeError("no signal")

    for tau in (broken, ph.Sampled(broken, 0.1)):
        with pytest.raises(RuntimeError, match="no signal"):
            ph.simulate(cart(), t_end=1.0, tau=tau)
    with pytest.raises(ValueError, match=r"shape \(2,\) at t = 0, expected \(1,\)"):
        ph.simulate(cart(), t_end=1.0, tau=lambda t, q, u: [1, 2])


def raised():
    raise KeyboardInterrupt


@pytest.mark.usefixtures("keyboard")
@pytest.mark.parametrize("press", [raised, partial(signal.raise_signal, signal.SIGINT)])
def test_ctrl_c_returns_what_there_is(press):
    def stop(t, q, u):
        if t > 0.5 and not pressed:
            pressed.append(t)
            press()
        return [1.0]

    for tau in (ph.Sampled(stop, 0.1), stop):
        pressed = []
        traj = ph.simulate(cart(), t_end=1e4, tau=tau, longest=0.02)
        assert not traj.outcome.finished
        assert "Interrupted at t =" in traj.outcome.reason
        assert 0.4 < traj.t[-1] < 1e4
        np.testing.assert_allclose(traj["x"], traj.t**2 / 4, rtol=1e-9)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "rodas5p"])
def test_a_blow_up_names_the_culprit(method):
    x = ph.symbol("x")
    traj = ph.simulate(cart(), {"x": 1.0}, t_end=10.0, tau={"x_dot": 2 * x**3}, method=method)
    assert not traj.outcome.finished
    assert traj.outcome.culprit in ("x", "x_dot")
    assert traj.outcome.remedy
    assert traj.outcome.time == pytest.approx(1.8541, abs=2e-3)  # K(1/2), where 1/cn has its pole
    assert np.isfinite(traj.q).all()


def test_a_loop_that_cannot_close_any_more_is_named():
    dyn = four_bar(-1 - ph.TIME)
    q, u = ph.assemble(dyn, CLOSED)
    traj = ph.simulate(dyn, q, u, 10.0)
    assert not traj.outcome.finished
    assert traj.outcome.culprit.startswith("close")
    assert abs(traj.residuals).max() < 1e-9


def test_a_run_that_gets_nowhere_ends():
    """A disc that falls flat, where no point of it is the lowest: about the point it stands on, until it lies."""
    build = ph.Builder("disc")
    build.body("disc", joint=ph.free(quaternion=True), mass=1, inertia=(0.1, 0.2, 0.1))
    build.rolling("disc", radius=0.5)
    dyn = ph.formulate(build.build()).compile()
    q0, u0 = ph.assemble(dyn, {"disc_qx": 0.3}, {"disc_wx": 0.5})
    traj = ph.simulate(dyn, q0, u0, t_end=5.0)
    assert not traj.outcome.finished
    assert traj.outcome.culprit.startswith("rolling disc.")
    about, lean = 0.1 + 0.5**2, 2 * np.arctan2(q0[1], q0[0])

    def speed(angle):
        return np.sqrt(u0[0] ** 2 + 2 * 9.81 * 0.5 * (np.cos(lean) - np.cos(angle)) / about)

    flat, _ = quad(lambda angle: 1 / speed(angle), lean, np.pi / 2)
    assert traj.outcome.time == pytest.approx(flat, rel=1e-6)
    assert traj["disc_wx"][-1] == pytest.approx(speed(np.pi / 2), rel=1e-6)
    assert np.abs(traj.energy_drift).max() < 1e-7


def test_outputs():
    dyn = pendulum()
    every = ph.simulate(dyn, {"theta": 1.0}, t_end=1.0, method="rk4", step=1e-4, output="steps")
    assert len(every) == 10_001  # more than the buffer holds
    np.testing.assert_allclose(every.t, np.linspace(0, 1, 10_001), atol=1e-15)
    spaced = ph.simulate(dyn, {"theta": 1.0}, t_end=1.0, output=0.3)
    np.testing.assert_allclose(spaced.t, [0, 0.3, 0.6, 0.9, 1.0])
    chosen = ph.simulate(dyn, {"theta": 1.0}, t_end=1.0, output=[0.2, 0.5])
    np.testing.assert_allclose(chosen.q, every.q[[2000, 5000]], atol=1e-9)
    later = ph.simulate(dyn, {"theta": 1.0}, t_end=3.0, t0=2.0, output=[2.5])
    np.testing.assert_allclose(later.q, chosen.q[1:], atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t_end": None}, "expected a time after"),
        ({"t_end": -1.0}, "expected a time after"),
        ({"t_end": 1.0, "method": "rk5"}, "'rk5' is unknown"),
        ({"t_end": 1.0, "method": "rk4"}, "has a fixed step"),
        ({"t_end": 1.0, "step": 0.1}, "chooses its own steps"),
        ({"t_end": 1.0, "output": 2.0}, "longer than the 1 s"),
        ({"t_end": 1.0, "output": [0.5, 0.2]}, "ascending order"),
        ({"t_end": 1.0, "output": [0.5, 2]}, "between 0 and 1"),
        ({"t_end": 1.0, "q0": [1, 2]}, "q0 has shape"),
        ({"t_end": 1.0, "q0": {"theta": np.nan}}, "'theta' is NaN"),
        ({"t_end": 1.0, "tau": {"theta_dot": ph.symbol("k")}}, "has 'k'"),
    ],
)
def test_bad_arguments_are_told(options, message):
    with pytest.raises(ValueError, match=message):
        ph.simulate(pendulum(), **options)


def test_unknown_names_are_told():
    with pytest.raises(KeyError, match="there is no 'tetha'"):
        ph.simulate(pendulum(), {"tetha": 1.0}, t_end=1.0)
    with pytest.raises(KeyError, match="no speed 'theta'"):
        ph.simulate(pendulum(), t_end=1.0, tau={"theta": 1.0})
    with pytest.raises(TypeError, match="Compile them"):
        ph.simulate(pendulum().equations, t_end=1.0)


def test_parameters_at_run_time():
    g = ph.symbol("g")
    dyn = pendulum(gravity=(0, 0, -g))
    with pytest.raises(ValueError, match="No value for parameter 'g'"):
        ph.simulate(dyn, {"theta": 1.0}, t_end=1.0)
    found = ph.simulate(dyn, {"theta": 1.0}, t_end=1.0, p={"g": 9.81})
    np.testing.assert_allclose(found.q, ph.simulate(pendulum(), {"theta": 1.0}, t_end=1.0).q, atol=1e-12)


def test_constrained_accelerations_agree_with_multipliers():
    dyn = four_bar()
    system = Program(dyn)
    machine = system.machine([0.3, -0.2, 0.1])
    q, u = ph.assemble(dyn, CLOSED, {"a_dot": 2.0}, keep=["a_dot"])
    x, dx = np.concatenate([q, u]), np.zeros(6)
    assert settle(machine, 0.0, x) == evaluate(machine, 0.0, x, dx, True) == 0
    assert machine.constrained.places[0]["rank"] == 2
    c = dyn.equations.constraints
    values = dict(zip([*dyn.equations.q, *dyn.equations.u], x, strict=True))
    J, gamma = (np.array(ph.evaluate([*e.entries], values), dtype=float) for e in (c.J, c.gamma))
    J = J.reshape(5, 3)[[0, 2]]
    K = np.block([[dyn.mass_matrix(q), J.T], [J, np.zeros((2, 2))]])
    right = np.concatenate([[0.3, -0.2, 0.1] - dyn.bias(q, u), -gamma[[0, 2]]])
    np.testing.assert_allclose(dx[3:], np.linalg.solve(K, right)[:3], atol=1e-12)


def test_redundant_rows_are_counted():
    dyn = four_bar()
    traj = ph.simulate(dyn, *ph.assemble(dyn, CLOSED), t_end=1.0)
    assert traj.statistics["constraint rows"] == 5
    assert traj.statistics["independent"] == 2


def test_an_open_start_is_refused():
    with pytest.raises(ValueError, match=r"does not satisfy 'close\.x'.*assemble"):
        ph.simulate(four_bar(), CLOSED, t_end=1.0)


def test_many_states_move_as_one_does():
    dyn, q0 = pendulum(), np.linspace(-2, 2, 13)[:, None]
    lanes = ph.simulate_many(dyn, q0, t_end=1.0, step=1e-3, output=0.1, tau=np.full((13, 1), 0.2), threads=2)
    single = ph.simulate_many(dyn, q0, t_end=1.0, method="dop853", output=0.1, tau=[0.2], threads=2)
    assert lanes.q.shape == single.q.shape == (13, 11, 1)
    np.testing.assert_allclose(lanes.q, single.q, atol=1e-8)
    one = ph.simulate(dyn, q0[4], t_end=1.0, method="rk4", step=1e-3, output=0.1, tau=[0.2])
    np.testing.assert_allclose(lanes[4].q, one.q, atol=1e-14)
    assert len(list(lanes)) == 13
    closed = four_bar()
    q, u = ph.assemble(closed, CLOSED)
    loops = ph.simulate_many(closed, np.tile(q, (3, 1)), np.tile(u, (3, 1)), 1.0, step=1e-2, output=0.5, threads=2)
    np.testing.assert_allclose(loops.q[2], ph.simulate(closed, q, u, 1.0, method="rk4", step=1e-2, output=0.5).q)


def test_the_stage_is_its_verb():
    import polhode.simulate as stage

    assert stage(cart(), t_end=1.0).outcome.finished


def test_a_control_may_change_what_it_is_given():
    def careless(t, q, u):
        q -= 0.5
        return -10 * q - u

    def careful(t, q, u):
        return -10 * (q - 0.5) - u

    for wrapped in (lambda f: f, lambda f: ph.Sampled(f, 0.01)):
        found, expected = (ph.simulate(cart(), {"x": 1.0}, t_end=2.0, tau=wrapped(f)) for f in (careless, careful))
        np.testing.assert_array_equal(found.q, expected.q)


def test_a_sampled_control_of_a_constrained_machine():
    """What is derived from the trajectory holds the force over each interval; reactions jump with it."""
    build = ph.Builder("gears")
    for name in "ab":
        build.body(name, joint=ph.revolute("z", name=name), mass=1, inertia=(1, 1, 1))
    build.coupling("b", of="a", ratio=-2)
    dyn = ph.formulate(build.build()).compile()
    control = ph.Sampled(lambda t, q, u: [1.0 + t, 0.0], 0.1)
    for reacting in (False, True):
        traj = ph.simulate(dyn, t_end=1.0, tau=control, reacting=reacting, output=0.05)
        middle = traj.at(0.5 * (traj.t[1:] + traj.t[:-1]))[1]
        np.testing.assert_allclose(middle[:, 1], -2 * middle[:, 0], atol=1e-12)
        np.testing.assert_allclose(traj["a_dot"][-1], 0.2 * sum(0.1 * (1 + 0.1 * k) for k in range(10)), rtol=1e-9)
        assert abs(traj.audit().relative_drift) < 1e-9


def test_an_output_at_the_end_is_there():
    for span, rows in ((0.3, 4), (0.7, 8), (1.0, 11)):
        for traj in (
            ph.simulate(cart(), t_end=span, output=0.1),
            ph.simulate_many(cart(), [[0.0]], t_end=span, output=0.1, method="dop853"),
        ):
            assert len(traj.t) == rows
            assert traj.t[-1] == span


def test_a_control_is_not_asked_beyond_the_end():
    def table(t, q, u):
        assert t <= 1
        return [1e-3]

    for method in ("dop853", "dopri5", "rodas5p"):
        assert ph.simulate(cart(), {"x": 1000.0}, {"x_dot": 0.1}, t_end=1.0, tau=table, method=method).outcome.finished


def test_a_run_that_stops_before_its_first_output_gives_where_it_stopped():
    traj = ph.simulate(cart(), {"x": 1.0}, t_end=10.0, tau={"x_dot": 2 * ph.symbol("x") ** 3}, output=[9.0])
    assert not traj.outcome.finished
    assert len(traj) == 1
    assert traj.t[0] == traj.outcome.time


def test_a_control_that_gives_nan_is_blamed():
    def control(t, q, u):
        return [np.nan if t > 0.5 else 1.0]

    for tau in (control, ph.Sampled(control, 0.1)):
        traj = ph.simulate(cart(), t_end=1.0, tau=tau)
        assert "control gave a force on 'x_dot'" in traj.outcome.reason
        assert 0.4 < traj.t[-1] < 0.7


def test_motions_that_stop_stand_at_their_times():
    many = ph.simulate_many(
        cart(), [[3.0], [0.1]], t_end=2.0, method="dop853", output=0.5, tau={"x_dot": "x**3"}, threads=2
    )
    np.testing.assert_array_equal(many.t, [0, 0.5, 1, 1.5, 2])
    assert np.isnan(many.q[0, 2:]).all()
    assert np.isfinite(many.q[1]).all()
    assert many[0].t[-1] == many[0].outcome.time < 1


def test_spans_that_round():
    assert len(ph.simulate(cart(), t0=0.8, t_end=0.9, output=0.1)) == 2
    assert len(ph.simulate(cart(), t_end=0.3, output=0.1 * 3, method="rk4", step=0.1 * 3)) == 2


def test_forces_as_text():
    found, expected = (
        ph.simulate(pendulum(), {"theta": 1.0}, t_end=1.0, tau={"theta_dot": law}).q
        for law in ("-0.5*theta_dot + sin(t)", ph.sin(ph.TIME) - 0.5 * ph.symbol("theta_dot"))
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_laws_and_quaternions_in_lanes():
    build = ph.Builder("top")
    build.body("top", joint=ph.spherical(quaternion=True, name="s"), mass=1, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.2))
    dyn = ph.formulate(build.build()).compile()
    speeds = [str(s.value) for s in dyn.equations.u]
    tau = {speeds[2]: -0.1 * ph.symbol(speeds[2]), speeds[0]: 0.2}
    q0, u0 = np.array([[2, 0, 0.4, 0], [1, 0.1, 0, 0]]), np.array([[0, 0, 5.0], [0.1, 0, 3]])
    many = ph.simulate_many(dyn, q0, u0, t_end=0.5, step=1e-2, output=0.1, tau=tau)
    assert not many.runs
    for k in range(2):
        one = ph.simulate(dyn, q0[k], u0[k], t_end=0.5, method="rk4", step=1e-2, output=0.1, tau=tau)
        for name in ("q", "u", "tau"):
            np.testing.assert_allclose(getattr(many[k], name), getattr(one, name), atol=1e-12)


@pytest.mark.usefixtures("keyboard")
def test_ctrl_c_on_many_states():
    def press():
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    q0 = np.zeros((64, 1))
    control = ph.Sampled(lambda t, q, u: -u, 0.01)
    for options in ({"step": 1e-6}, {"method": "dop853", "longest": 1e-6}, {"step": 1e-3, "tau": control}):
        thread = threading.Thread(target=press)
        thread.start()
        many = ph.simulate_many(pendulum(), q0, t_end=1000.0, threads=2, **options)
        thread.join()
        assert not any(outcome.finished for outcome in many.outcomes)
        assert "Interrupted" in many.outcomes[0].reason
        assert many[3].q[0] == 0


def test_a_sampled_control_between_outputs_is_noted():
    control = ph.Sampled(lambda t, q, u: [50 * np.sin(200 * t)], 0.002)
    counted = ph.simulate(cart(), t_end=1.0, tau=control, output=0.02)
    assert counted.audit().caveat == ""  # its work was integrated with the motion
    assert counted.audit().relative_drift < 1e-12
    assert "changed its forces" in replace(counted, work_done=None).audit().caveat
    fine = replace(ph.simulate(cart(), t_end=1.0, tau=control, output=0.001), work_done=None).audit()
    assert fine.caveat == ""
    assert fine.relative_drift < 1e-6


def test_programs_of_many_gains_do_not_pile_up():
    dyn = cart()
    first = program_of(dyn)
    for k in range(3 * MOST):
        ph.simulate(dyn, {"x": 1.0}, t_end=0.1, tau={"x_dot": -(k + 1.0) * ph.symbol("x")})
        assert program_of(dyn) is first  # what is used stays
    assert len(dyn.programs) == MOST
