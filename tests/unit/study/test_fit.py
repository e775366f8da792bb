"""Parameters that are known, found again from noisy data."""

import sys
import warnings

import numpy as np
import pytest

import polhode as ph
from polhode.study import FitWarning

_fit = sys.modules[ph.fit.__module__]  # `polhode.study.fit` is the function
_Problem, _Run = _fit._Problem, _fit._Run

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def pendulum():
    m, L, c = ph.symbols("m L c")
    build = ph.Builder("pendulum", gravity=(0, 0, -9.81))
    build.body("bob", joint=ph.revolute("y", name="theta", damping=c), mass=m, com=(0, 0, -L))
    return ph.formulate(build.build()).compile()


TRUE = {"m": 0.5, "L": 0.8, "c": 0.05}


def data(pendulum, seed=0, noise=0.01, theta=1.0, k=101, **options):
    traj = ph.simulate(pendulum, {"theta": theta}, None, 4.0, p=TRUE, output=np.linspace(0, 4, k), **options)
    return {"t": traj.t, "theta": traj["theta"] + noise * np.random.default_rng(seed).normal(size=k)}


def test_without_noise_the_parameters_are_exact(pendulum):
    found = ph.fit(pendulum, data(pendulum, noise=0), {"L": 0.6, "c": 0.1}, p={"m": 0.5}, q0={"theta": 1.0},
                   noise={"theta": 0.01})  # fmt: skip
    assert found.values == pytest.approx({"L": 0.8, "c": 0.05}, rel=1e-6)
    assert found.finished


def test_offset_initial_state_and_two_experiments(pendulum):
    runs = [data(pendulum, seed, theta=theta) for seed, theta in ((1, 1.0), (2, 0.4))]
    for run in runs:
        run["theta"] = run["theta"] + 0.2
    found = ph.fit(pendulum, runs, {"L": 0.7, "c": (0.1, 0, 1), "offset": 0.0}, p={"m": 0.5}, initial=["theta"],
                   measured={"theta": "theta + offset"}, q0={"theta": 0.8})  # fmt: skip
    assert found.names == ("L", "c", "offset", "theta[0]", "theta[1]")
    for name, true in {"L": 0.8, "c": 0.05, "offset": 0.2, "theta[0]": 1.0, "theta[1]": 0.4}.items():
        assert abs(found[name] - true) < 5 * found.deviations[name]
    assert found.noise["theta"] == pytest.approx(0.01, rel=0.2)
    assert "95 % interval" in str(found)


def test_what_the_data_do_not_tell_is_said_by_name(pendulum):
    """A pendulum falls with c/(m L^2) and L: mass and friction only by their quotient."""
    with pytest.warns(FitWarning, match=r"do not tell these apart.*m by \+100 %, c by \+100 %"):
        found = ph.fit(pendulum, data(pendulum), {"L": 0.7, "m": 0.4, "c": 0.04}, q0={"theta": 1.0})
    assert {*found.unknown[0]} == {"m", "c"}
    assert np.isinf([found.deviations["m"], found.deviations["c"]]).all()
    assert abs(found["L"] - 0.8) < 5 * found.deviations["L"]
    assert found["c"] / found["m"] == pytest.approx(0.1, rel=0.05)


def test_a_robust_loss_lets_single_values_be_off(pendulum):
    bad = data(pendulum)
    bad["theta"][::20] += 2.0
    given = {"p": {"m": 0.5}, "q0": {"theta": 1.0}}
    plain = ph.fit(pendulum, bad, {"L": 0.7, "c": 0.1}, **given)
    robust = ph.fit(pendulum, bad, {"L": 0.7, "c": 0.1}, loss="cauchy", **given)
    assert abs(robust["c"] - 0.05) < 0.1 * abs(plain["c"] - 0.05)
    assert abs(robust["L"] - 0.8) < 5 * robust.deviations["L"]


def test_deviations_are_those_of_many_fits(pendulum):
    """The spread of what is found in 40 sets of data is the deviation that each tells."""
    fits = [ph.fit(pendulum, data(pendulum, seed, k=41), {"L": 0.78, "c": 0.06}, p={"m": 0.5}, q0={"theta": 1.0},
                   noise={"theta": 0.01}) for seed in range(40)]  # fmt: skip
    for name in ("L", "c"):
        spread = np.std([found[name] for found in fits], ddof=1)
        assert 0.7 < spread / fits[0].deviations[name] < 1.4
        assert sum(found.intervals[name][0] < TRUE[name] < found.intervals[name][1] for found in fits) >= 34


def test_intervals_of_straight_lines_are_those_of_the_textbook():
    """Two bodies glide: x = x0 + v t. Each line has n - 2 degrees of freedom, also beside another that is noisier."""
    from scipy import stats

    build = ph.Builder("pucks", gravity=(0, 0, 0))
    for name in "xy":
        build.body(name, joint=ph.prismatic(name, name=name), mass=ph.symbol(f"m{name}"))
    dyn = ph.formulate(build.build()).compile()
    random, t = np.random.default_rng(3), np.linspace(0, 2, 8)
    data = {"t": t, "x": 0.1 + t + 0.02 * random.normal(size=8), "y": 1 - t + 0.5 * random.normal(size=8)}
    initial = ["x_dot", "y", "y_dot"]
    found = ph.fit(
        dyn, data, {"ox": 0.0}, measured={"x": "x + ox", "y": "y"}, initial=initial, p={"mx": 1.0, "my": 1.0}
    )
    for name in "xy":
        line = stats.linregress(t, data[name])
        assert found[f"{name}_dot"] == pytest.approx(line.slope, rel=1e-6)
        assert found.deviations[f"{name}_dot"] == pytest.approx(line.stderr, rel=1e-4)
        low, high = found.intervals[f"{name}_dot"]
        assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 6) * line.stderr, rel=1e-4)


def test_what_the_machine_lacks_is_told(pendulum):
    """Data of a pendulum with friction, fitted without: intervals would be far too narrow, and it says so."""
    given = {"p": {"m": 0.5, "c": 0.0}, "q0": {"theta": 1.0}}
    with pytest.warns(FitWarning, match="follow one another"):
        lacking = ph.fit(pendulum, data(pendulum), {"L": 0.7}, **given)
    assert "Residuals of theta follow one another" in str(lacking)
    with pytest.warns(FitWarning):
        loud = ph.fit(pendulum, data(pendulum), {"L": 0.7}, noise={"theta": 0.01}, **given)
    assert "times as large as noise= says" in loud.notes[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ph.fit(pendulum, data(pendulum), {"L": 0.7, "c": 0.04}, p={"m": 0.5}, q0={"theta": 1.0}, noise={"theta": 0.01})


def test_guesses_may_be_among_the_parameters(pendulum):
    given = {"q0": {"theta": 1.0}}
    found = ph.fit(pendulum, data(pendulum), ["L", "c"], p={"m": 0.5, "L": 0.7, "c": 0.1}, **given)
    same = ph.fit(pendulum, data(pendulum), {"L": 0.7, "c": 0.1}, p={"m": 0.5}, **given)
    assert found.values == same.values
    with pytest.raises(ValueError, match="'c' has no first guess"):
        ph.fit(pendulum, data(pendulum), ["L", "c"], p={"m": 0.5, "L": 0.7}, **given)


def test_a_frame_over_t_is_read_as_columns(pendulum):
    pandas = pytest.importorskip("pandas")
    columns = data(pendulum)
    frame = pandas.DataFrame({"theta": columns["theta"]}, index=pandas.Index(columns["t"], name="t"))
    given = {"parameters": {"L": 0.6}, "p": {"m": 0.5, "c": 0.05}, "q0": {"theta": 1.0}}
    assert ph.fit(pendulum, frame, **given).values == ph.fit(pendulum, columns, **given).values


@pytest.mark.parametrize("given", [np.zeros((5, 2)), [np.arange(5.0), np.zeros(5)], 3.0])
def test_data_without_names_are_refused(pendulum, given):
    with pytest.raises(TypeError, match="expected columns by name"):
        ph.fit(pendulum, given, {"L": 0.6}, p={"m": 0.5, "c": 0.05})


def test_wrong_questions(pendulum):
    given = {"p": {"m": 0.5, "c": 0.05}, "q0": {"theta": 1.0}}
    with pytest.raises(KeyError, match="no parameter, initial value or input 'l'"):
        ph.fit(pendulum, data(pendulum), {"l": 1.0}, **given)
    with pytest.raises(KeyError, match="no coordinate, speed, state or parameter 'angle'"):
        ph.fit(pendulum, data(pendulum) | {"angle": np.zeros(101)}, {"L": 1.0}, **given)
    with pytest.raises(KeyError, match='no column "t"'):
        ph.fit(pendulum, {"theta": np.zeros(3)}, {"L": 1.0}, **given)
    with pytest.raises(ValueError, match=r"is an initial value\. Name it in initial"):
        ph.fit(pendulum, data(pendulum), {"q.theta": 1.0}, **given)
    with pytest.raises(ValueError, match="expected a guess between its bounds"):
        ph.fit(pendulum, data(pendulum), {"L": (2.0, 0, 1)}, **given)


@pytest.mark.slow
def test_a_robot_is_found_again_with_honest_intervals():
    """An arm of the size of a UR5: masses of its last links and friction from noisy angles, over seeds."""
    names = ["m3", "m4", "f1", "f2", "f3"]
    m3, m4, *f = ph.symbols(" ".join(names))
    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    build.body("shoulder", joint=ph.revolute("z", name="a", damping=f[0]), mass=3.7, inertia=(0.02, 0.02, 0.01))
    build.body("upper", parent="shoulder", at=(0, 0.136, 0), joint=ph.revolute("y", name="b", damping=f[1]), mass=8.4,
               com=(0, 0, 0.28), inertia=(0.23, 0.23, 0.015))  # fmt: skip
    build.body("fore", parent="upper", at=(0, -0.12, 0.425), joint=ph.revolute("y", name="c", damping=f[2]), mass=m3,
               com=(0, 0, 0.25), inertia=(0.05, 0.05, 0.004))  # fmt: skip
    build.body("wrist", parent="fore", at=(0, 0, 0.392), joint=ph.revolute("y", name="d", damping=0.5), mass=m4,
               com=(0, 0.09, 0.03), inertia=(0.11, 0.11, 0.2))  # fmt: skip
    dyn = ph.formulate(build.build()).compile()
    true = dict(zip(names, [2.27, 1.22, 4.0, 5.0, 2.0], strict=True))
    tau = {"a_dot": "8*sin(3*t)", "b_dot": "-30*sin(b) + 10*sin(2*t)", "c_dot": "6*cos(4*t)", "d_dot": "sin(5*t)"}
    t = np.linspace(0, 3, 151)
    clean = ph.simulate(dyn, {"b": 0.3, "c": 0.5}, None, 3.0, p=true, tau=tau, output=t)
    inside = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        seen = {"t": t} | {name: clean[name] + 1e-3 * random.normal(size=len(t)) for name in "abcd"}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = ph.fit(dyn, seen, {name: 1.15 * value for name, value in true.items()}, tau=tau,
                           q0={"b": 0.3, "c": 0.5}, confidence=0.9)  # fmt: skip
        inside += sum(low < true[name] < high for name, (low, high) in found.intervals.items())
    assert 80 <= inside <= 99  # of 100; 90 are expected, with a deviation of 3 if they were independent


def test_a_trial_that_explodes_is_given_up(pendulum):
    """With damping below 0 it spins ever faster, in ever smaller steps; a fit could wait for such a trial for hours."""
    t = np.linspace(0, 4, 9)
    run = _Run(
        t=t, y=np.zeros((9, 1)), start={"q": {"theta": 0.5}, "u": {}, "z": {}}, tau={}, p=TRUE, t0=0.0, initial=()
    )
    problem = _Problem(
        dynamics=pendulum, runs=[run], columns={"theta": "theta"}, shared=["c"], extra=[], names=["c"],
        options={"independent": (), "method": "dop853", "rtol": 1e-8, "atol": 1e-8},
    )  # fmt: skip
    assert np.isfinite(problem.residuals(np.array([-3.0]), np.ones(1))).all()
    assert problem._steps[0] >= 1000
    problem._steps[0] = 3
    with pytest.raises(ValueError, match=r"with c = -2\.9: the run ended early"):
        problem._values(np.array([-2.9]))
    assert np.isinf(problem.residuals(np.array([-2.9]), np.ones(1))).all()


def test_a_column_that_the_unknowns_use_up_has_no_intervals(pendulum):
    """Three values for three unknowns: residuals are 0, and tell nothing of the noise; intervals had no width."""
    with pytest.warns(FitWarning, match="noise of theta is not known: its values are as few as the unknowns"):
        found = ph.fit(pendulum, data(pendulum, k=3), {"L": 0.7, "c": 0.1}, p={"m": 0.5}, q0={"theta": 0.9},
                       initial=["theta"])  # fmt: skip
    assert all(np.isinf(ends).all() for ends in found.intervals.values())
