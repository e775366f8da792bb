"""simulate_many(): states and parameters by rows or by name, and what they have in common."""

import warnings

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.loop import advance


def swing():
    """Two pendulums side by side, with lengths and gravity as parameters."""
    g, a, b = ph.symbols("g a b")
    build = ph.Builder("swing", gravity=(0, 0, -g))
    build.body("left", joint=ph.revolute("y", name="left"), mass=1, com=(0, 0, -a))
    build.body("right", joint=ph.revolute("y", name="right"), mass=1, com=(0, 0, -b))
    return ph.formulate(build.build()).compile()


def cart():
    build = ph.Builder("cart")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=2)
    return ph.formulate(build.build()).compile()


LANES, ONE_BY_ONE = {"step": 1e-2, "output": 0.1}, {"step": 1e-2, "output": [0.0, 0.1, 0.35, 1.0]}
LENGTHS = np.linspace(0.5, 2.0, 11)
PARAMETERS = {"g": 9.81, "a": LENGTHS, "b": LENGTHS[::-1]}  # one of them is strided


@pytest.mark.parametrize("way", [LANES, ONE_BY_ONE])
@pytest.mark.parametrize(
    "state",
    [
        {"q0": [0.3, -0.2], "u0": {"left_dot": 1.0}},
        {"q0": {"left": 0.3, "right": np.linspace(-0.2, 0.2, 11)}},
        {"q0": np.linspace([0.1, 0.2], [0.3, 0.4], 11), "tau": np.linspace([0, 1], [1, 2], 11)},
        {"q0": {"left": 0.3}, "tau": {"left_dot": "-a*left_dot", "right_dot": 0.5}},
    ],
)
def test_every_run_is_one_of_its_own(way, state):
    dyn = swing()
    many = ph.simulate_many(dyn, **state, t_end=1.0, p=PARAMETERS, threads=2, **way)
    assert (len(many), bool(many.runs), many.parameters.shape) == (11, way is ONE_BY_ONE, (11, 3))
    for i in (0, 4, 10):
        given = {
            name: {k: v if np.ndim(v) == 0 else v[i] for k, v in value.items()}
            if isinstance(value, dict)
            else value[i]
            if np.ndim(value) == 2
            else value
            for name, value in state.items()
        }
        p = {name: value if np.ndim(value) == 0 else value[i] for name, value in PARAMETERS.items()}
        one = ph.simulate(dyn, **given, t_end=1.0, method="rk4", p=p, **way)
        for field in ("t", "q", "u", "tau", "parameters"):
            np.testing.assert_allclose(getattr(many[i], field), getattr(one, field), rtol=0, atol=1e-12)
        np.testing.assert_allclose(many[i].energy, one.energy, atol=1e-12)


def jets():
    """A cart with two jets, one of them limited."""
    build = ph.Builder("jets")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=2)
    build.actuator("a", {"x_dot": 1}, upper=0.5)
    build.actuator("b", {"x_dot": 3})
    return ph.formulate(build.build()).compile()


COMMANDS = np.linspace([0.0, -1.0], [1.0, 2.0], 5)


@pytest.mark.parametrize("way", [LANES, ONE_BY_ONE])
@pytest.mark.parametrize(
    ("given", "forces", "commands"),
    [
        ({"controls": COMMANDS}, 0.0, COMMANDS),
        ({"controls": {"b": COMMANDS[:, 1], "a": 0.2}}, 0.0, np.column_stack([np.full(5, 0.2), COMMANDS[:, 1]])),
        ({"controls": COMMANDS, "tau": {"x_dot": 1.5}}, 1.5, COMMANDS),
        ({"controls": COMMANDS, "tau": COMMANDS[:, :1]}, COMMANDS[:, 0], COMMANDS),
        ({"controls": {"b": 1.0}, "tau": COMMANDS[:, :1]}, COMMANDS[:, 0], [[0.0, 1.0]] * 5),
        ({"controls": {"b": "2 + 0*t"}, "tau": COMMANDS[:, :1]}, COMMANDS[:, 0], [[0.0, 2.0]] * 5),
        ({"tau": COMMANDS[:, :1]}, COMMANDS[:, 0], [[0.0, 0.0]] * 5),
        ({"tau": np.column_stack([COMMANDS[:, 0], COMMANDS])}, COMMANDS[:, 0], COMMANDS),
    ],
)
def test_controls_in_rows(way, given, forces, commands):
    """x_dot = (tau + min(a, 0.5) + 3 b) t / 2."""
    many = ph.simulate_many(jets(), [[0.0]] * 5, t_end=1.0, **given, **way)
    a, b = np.transpose(commands)
    assert bool(many.runs) == (way is ONE_BY_ONE)
    np.testing.assert_allclose(many.u[:, -1, 0], (forces + np.minimum(a, 0.5) + 3 * b) / 2, atol=1e-12)
    np.testing.assert_allclose(many.tau[:, -1, 1:], np.minimum(commands, [0.5, np.inf]), atol=1e-12)


def test_controls_in_rows_that_do_not_fit():
    for error, said, given in (
        (ValueError, "The control of 'b' is given in tau= and in controls=", {"tau": {"b": 1.0}, "controls": COMMANDS}),
        (ValueError, r"controls is .*, expected numbers, \(2,\) for all runs or \(count, 2\)", {"controls": [[1.0]]}),
        (KeyError, "controls: .*'c'", {"controls": {"c": [1.0, 2.0]}}),
        (TypeError, "tau is a function, and controls", {"tau": lambda t, q, u: [0.0], "controls": COMMANDS}),
        (ValueError, "Numbers of rows differ: q0 3, controls 5", {"q0": [[0.0]] * 3, "controls": COMMANDS}),
    ):
        with pytest.raises(error, match=said):
            ph.simulate_many(jets(), **{"q0": [[0.0]] * 5, **given}, t_end=1.0, step=1e-2)
    with pytest.raises(ValueError, match="the model has no actuators"):
        ph.simulate_many(cart(), [[0.0]] * 5, t_end=1.0, step=1e-2, controls=COMMANDS)


def test_parameters_in_rows_are_those_by_name():
    dyn = swing()
    rows = np.stack([np.broadcast_to(PARAMETERS[name], 11) for name in dyn.parameters], axis=1)
    by_row, by_name = (ph.simulate_many(dyn, [0.3, 0.1], t_end=1.0, p=p, **LANES) for p in (rows, PARAMETERS))
    np.testing.assert_array_equal(by_row.q, by_name.q)
    shared = ph.simulate_many(dyn, [[0.3, 0.1]] * 3, t_end=1.0, p=rows[2], **LANES)
    np.testing.assert_array_equal(shared.q[1], by_row.q[2])
    assert shared.parameters.shape == (3,)


def test_what_does_not_fit_is_told():
    dyn = swing()
    for error, message, options in (
        (ValueError, "q0 3, p 11", {"q0": [[0.1, 0.2]] * 3, "p": PARAMETERS}),
        (ValueError, "'b' has 2 values and others 11", {"p": PARAMETERS | {"b": [1.0, 2.0]}}),
        (ValueError, "No value for parameter 'a'", {"p": {"g": 9.81, "b": 1.0}}),
        (KeyError, "no parameter 'c'", {"p": PARAMETERS | {"c": 1.0}}),
        (ValueError, "'a' of run 1 is NaN", {"p": {"g": 9.81, "a": [1.0, np.nan], "b": 1.0}}),
        (TypeError, "'a' is 'x', expected a number", {"p": {"g": 9.81, "a": "x", "b": 1.0}}),
        (KeyError, "q0: there is no 'lft'", {"q0": {"lft": LENGTHS}, "p": PARAMETERS}),
        (ValueError, r"q0 is \[1, 2, 3\].*\(2,\) for all runs or \(count, 2\)", {"q0": [1, 2, 3], "p": PARAMETERS}),
        (ValueError, "'right' of run 1 is NaN", {"q0": [[1, 2], [3, np.nan]], "p": {"g": 1, "a": 1, "b": 1}}),
    ):
        with pytest.raises(error, match=message):
            ph.simulate_many(dyn, t_end=1.0, **LANES, **options)


@pytest.mark.parametrize("way", [{"step": 1e-2}, {"method": "dop853"}])
def test_runs_that_stop_early_give_one_warning(way):
    law = {"x_dot": 2 * ph.symbol("x") ** 3}
    with pytest.warns(ph.SimulationWarning, match="2 of 3 runs stopped early. Number 1: Stopped") as seen:
        many = ph.simulate_many(cart(), [[0.1], [1.0], [2.0]], t_end=5.0, output=0.5, tau=law, threads=2, **way)
    assert (len(seen), seen[0].filename) == (1, __file__)
    assert [outcome.finished for outcome in many.outcomes] == [True, False, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ph.simulate_many(cart(), [[0.1], [0.2]], t_end=1.0, tau=law, **way)


def test_output_times_of_any_layout():
    """Such arrays were compiled for anew, or refused."""
    times = np.linspace(0, 1, 11)
    frozen = times.copy()
    frozen.flags.writeable = False
    expected = ph.simulate(cart(), u0=[1.0], t_end=1.0, output=times[::2])
    for output in (np.repeat(times, 2)[::4], frozen[::2], [0, 0.2, 0.4, 0.6, 0.8, 1.0], times[::2].astype(">f8")):
        found = ph.simulate(cart(), u0=[1.0], t_end=1.0, output=output)
        np.testing.assert_allclose(found.q, expected.q, rtol=0, atol=1e-15)
    assert ph.simulate(cart(), u0=[1.0], t_end=1.0, output=np.array([0, 1])).q[-1] == pytest.approx(1.0)
    assert times[3] == frozen[3]
    count = len(advance.kept)
    ph.simulate(cart(), u0=[1.0], t_end=1.0, output=frozen[::2])
    assert len(advance.kept) == count


def test_states_beside_motion_start_where_they_should():
    i, k = ph.symbols("i k")
    build = ph.Builder("pushed", gravity=(0, 0, 0))
    build.body("block", joint=ph.prismatic("x", name="x"), mass=1)
    build.state("i", rate=-i, start=k)
    build.force("x_dot", i)
    dyn = ph.formulate(build.build()).compile()
    starts = np.array([2.0, 3.0])
    lanes = ph.simulate_many(dyn, np.zeros((2, 1)), t_end=1.0, p={"k": starts}, method="rk4", step=1e-2, output=0.5)
    single = ph.simulate_many(dyn, np.zeros((2, 1)), t_end=1.0, p={"k": starts}, method="dop853", output=0.5)
    for many in (lanes, single):
        np.testing.assert_allclose(many.z[:, :, 0], starts[:, None] * np.exp(-many.t), rtol=1e-8)
        np.testing.assert_allclose(many.q[:, -1, 0], starts / np.e, rtol=1e-8)  # k (t - 1 + exp(-t))
        np.testing.assert_array_equal(many[1]["i"], many.z[1, :, 0])


def test_all_motions_are_one_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    build = ph.Builder("mass", gravity=(0, 0, 0))
    build.body("mass", joint=ph.prismatic("x", name="x"), mass=1)
    build.stop("x", upper=1, name="wall")
    dyn = ph.formulate(build.build()).compile()
    many = ph.simulate_many(dyn, u0={"x_dot": np.array([1.25, 0.5])}, t_end=1.5, output=0.5, method="dop853")
    table = many.to_pandas()
    assert table.index.names == ["run", "t"]
    assert table.loc[1]["x"].to_numpy() == pytest.approx(many[1]["x"], abs=0)
    assert table.loc[0]["mode wall"].tolist() == ["open", "open", "closed", "closed"]
    many.to_csv(tmp_path / "many.csv")
    back = pandas.read_csv(tmp_path / "many.csv", index_col=["run", "t"])
    assert back["x"].to_numpy() == pytest.approx(table["x"].to_numpy(), abs=0)
