"""Many runs against single ones, files that survive, and what is kept."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest

import polhode as ph
from polhode.study.design import grid, rows
from polhode.study.folder import _plain
from polhode.study.keep import keeps
from polhode.study.table import Table


@pytest.fixture(scope="module")
def cart():
    M, m, L = ph.symbols("M m L")
    build = ph.Builder("cart", gravity=(0, 0, -9.81))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=M)
    build.body("bob", parent="cart", joint=ph.revolute("y", name="theta"), mass=m, com=(0, 0, -L))
    return ph.formulate(build.build()).compile()


P = {"M": 1.0, "L": 0.5}
KEEP = ["max(theta)", "final(x)", "mean(x_dot**2)", "time(theta < 0)", "max(theta)*m - min(x, 0.1*theta)"]


@pytest.mark.parametrize("how", [{}, {"method": "rk4", "step": 1e-2}])
def test_a_grid_is_what_single_runs_are(cart, how):
    found = ph.study(cart, {"m": [0.1, 0.4], "q.theta": [0.5, 1.0, 1.5]}, {"t_end": 2.0, "p": P, "output": 0.02} | how,
                     KEEP[:4], threads=2)  # fmt: skip
    assert found.rows == 6
    for i in range(6):
        row = found.row(i)
        p = P | {"m": row["m"]}
        traj = ph.simulate(cart, {"theta": row["q.theta"]}, None, 2.0, p=p, output=0.02, **how)
        speed = traj["x_dot"] ** 2
        assert row["max(theta)"] == pytest.approx(traj["theta"].max(), abs=1e-9)
        assert row["final(x)"] == pytest.approx(traj["x"][-1], abs=1e-9)
        assert row["mean(x_dot**2)"] == pytest.approx(np.trapezoid(speed, traj.t) / 2.0, abs=1e-9)
        k = np.argmax(traj["theta"] < 0)
        assert traj.t[k - 1] <= row["time(theta < 0)"] <= traj.t[k]
        assert abs(traj.at(row["time(theta < 0)"])[0][1]) < 1e-3


def test_arithmetic_of_what_is_kept(cart):
    found = ph.study(cart, {"m": [0.1, 0.4]}, {"t_end": 1.0, "p": P, "q0": {"theta": 1.0}},
                     {"a": "max(theta)*m - final(x)/2", "b": "final(max(x, theta))",
                      "c": lambda run: run["x"][-1]})  # fmt: skip
    for i in range(2):
        traj = ph.simulate(cart, {"theta": 1.0}, None, 1.0, p=P | {"m": found["m"][i]})
        assert found["a"][i] == pytest.approx(traj["theta"].max() * found["m"][i] - traj["x"][-1] / 2, abs=1e-8)
        assert found["b"][i] == pytest.approx(max(traj["x"][-1], traj["theta"][-1]), abs=1e-8)
        assert found["c"][i] == pytest.approx(traj["x"][-1], abs=1e-8)


def test_a_run_that_is_refused_is_a_row_with_its_sentence(cart):
    with pytest.warns(ph.simulate.SimulationWarning, match="1 of 3 runs did not finish"):
        found = ph.study(cart, {"m": [-1.0, 0.1, 0.2]}, {"t_end": 1.0, "p": P}, "final(x)")
    assert found["finished"].tolist() == [False, True, True]
    assert "mass is -1, expected 0 or more" in found["outcome"][0]
    assert np.isnan(found["final(x)"][0])
    assert np.isfinite(found["final(x)"][1:]).all()


def test_where_all_are_refused_the_study_is(cart):
    with pytest.raises(ValueError, match=r"every run is refused.*no value for 'L'|every run is refused"):
        ph.study(cart, {"m": [0.1, 0.2]}, {"t_end": 1.0, "p": {"M": 1}}, "final(x)")


def test_a_grid_whose_first_value_is_refused_is_computed():
    """The first 20 rows are refused for the same reason, the others are not."""
    build = ph.Builder("slides", gravity=(0, 0, 0))
    build.body("a", joint=ph.prismatic("x", name="a"), mass=1)
    build.constraint(ph.symbol("a") - ph.symbol("reach"), name="there")
    slides = ph.formulate(build.build()).compile()
    with pytest.warns(ph.simulate.SimulationWarning, match="20 of 40 runs did not finish"):
        found = ph.study(
            slides, {"q.a": [0.1, 0.2], "u.a_dot": [0.0] * 20}, {"t_end": 0.1, "p": {"reach": 0.2}}, "final(a)"
        )
    assert found["finished"].tolist() == [False] * 20 + [True] * 20
    assert found["outcome"][0] == found["outcome"][19]


def test_inputs_by_row(cart):
    """A steady push on the bare cart: x = F t^2 / (2 (M + m)) while theta stays small."""
    found = ph.study(cart, {"tau.x_dot": [0.0, 1e-3]}, {"t_end": 0.05, "p": P | {"m": 1e-9}}, "final(x)")
    assert found["final(x)"] == pytest.approx([0, 1e-3 * 0.05**2 / 2], rel=1e-6)


MOMENTS = {
    "theta < 0.5 and theta_dot < -1": lambda x, a, w: (a < 0.5) & (w < -1),
    "x < -0.15 or theta <= 0.2": lambda x, a, w: (x < -0.15) | (a <= 0.2),
    "not (theta >= 0.5 or x > -0.1)": lambda x, a, w: ~((a >= 0.5) | (x > -0.1)),
    "0.2 < theta < 0.4": lambda x, a, w: (a > 0.2) & (a < 0.4),
    "theta >= 1": lambda x, a, w: a >= 1,
    "x == 0": lambda x, a, w: x == 0,
}


def test_the_first_time_of_what_is_joined_is_as_near_as_that_of_its_parts(cart):
    run = {"t_end": 1.0, "p": P | {"m": 0.3}, "q0": {"theta": 1.0}}
    found = ph.study(cart, {"m": [0.3, 0.3]}, run, {text: f"time({text})" for text in MOMENTS})
    fine = ph.simulate(cart, **run, output=1e-5)
    for text, holds in MOMENTS.items():
        on = holds(fine["x"], fine["theta"], fine["theta_dot"])
        assert on.any(), text
        assert found[text][0] == pytest.approx(fine.t[np.argmax(on)], abs=3e-5), text


def test_controls_beside_a_force_that_varies_stay():
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body("arm", joint=ph.revolute("z", name="a"), mass=1.0, inertia=(1, 1, 0.1))
    build.motor("M", constant=0.5, resistance=2.0).drives({"a": 1})
    arm = ph.formulate(build.build()).compile()
    keep, forces = "final(a)", [0.0, 0.3]
    wanted = [ph.simulate(arm, t_end=1.0, tau=[force, 3.0])["a"][-1] for force in forces]
    for given in ({"tau": [0.1, 3.0]}, {"tau": {"M": 3.0}}, {"controls": {"M": 3.0}}, {"controls": [3.0]}):
        found = ph.study(arm, {"tau.a_dot": forces}, {"t_end": 1.0} | given, keep)
        assert np.allclose(found[keep], wanted, rtol=0, atol=1e-8), given
    for given in ([0.3, 1.0], {"M": 1.0, "a_dot": 0.3}):
        found = ph.study(arm, {"M": [1.0, 3.0]}, {"t_end": 1.0, "tau": given}, keep)
        assert np.allclose(found[keep][1], wanted[1], rtol=0, atol=1e-8), given
    with pytest.raises(ValueError, match=r"tau has shape \(3,\), expected \(1,\)"):
        ph.study(arm, {"tau.a_dot": forces}, {"t_end": 1.0, "tau": [0.1, 3.0, 1.0]}, keep)


def test_a_motor_with_an_angle_of_its_own_has_two_things_of_its_name():
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body("arm", joint=ph.revolute("z", name="a"), mass=1.0, inertia=(1, 1, 0.1))
    build.motor("M", constant=0.5, resistance=2.0, inertia=1e-4, ratio=3).drives({"a": 1})
    arm = ph.formulate(build.build()).compile()
    found = [
        ph.study(arm, {f"{group}.M": [3.0]}, {"t_end": 1.0}, "final(a)")["final(a)"][0]
        for group in ("controls", "tau", "q")
    ]
    wanted = ph.simulate(arm, t_end=1.0, controls={"M": 3.0})["a"][-1]
    assert np.allclose(found, [wanted, wanted, 0.0], rtol=1e-7, atol=0)
    assert wanted > 0.1
    with pytest.raises(ValueError, match=r"over: 'M' is an initial value and a control, expected which: 'q\.M'"):
        ph.study(arm, {"M": [3.0]}, {"t_end": 1.0}, "final(a)")
    with pytest.raises(ValueError, match=r"by: 'M' is .* 'q\.M' or 'controls\.M'"):
        ph.sensitivities(arm, t_end=1.0, by="M")


def test_a_function_runs_as_it_likes(cart):
    found = ph.study(cart, {"a": [1, 2]}, lambda dyn, row: {"square": row["a"] ** 2, "b": 1})
    assert found["square"].tolist() == [1.0, 4.0]

    def run(dyn, row):
        if row["a"] == 2:
            raise ValueError("two is not for me")
        return ph.simulate(dyn, {"theta": row["a"]}, None, 1.0, p=P | {"m": 0.1})

    with pytest.warns(ph.simulate.SimulationWarning, match="two is not for me"):
        found = ph.study(cart, {"a": [1, 2]}, run, "final(theta)")
    assert found["outcome"][1] == "two is not for me"


class Counted:
    count = 0


def test_a_study_goes_on_where_it_was_stopped(cart, tmp_path):
    over, asked = ph.sample({"m": (0.1, 1), "q.theta": (0, 1)}, 40), Counted()

    def run(dyn, row):
        asked.count += 1
        if asked.count == 25:
            raise KeyboardInterrupt
        return ph.simulate(dyn, {"theta": row["q.theta"]}, None, 0.5, p=P | {"m": row["m"]})

    with pytest.raises(KeyboardInterrupt):
        ph.study(cart, over, run, "final(x)", out=tmp_path / "s", chunk=10, threads=1)
    assert len(list((tmp_path / "s").glob("chunk-*.npz"))) == 2
    (tmp_path / "s" / "chunk-000001.npz").write_bytes(b"half a file")  # as where a disk was full
    assert asked.count >= 25
    asked.count = 100
    found = ph.study(cart, over, {"t_end": 0.5, "p": P}, "final(x)")
    again = ph.study(cart, over, run, "final(x)", out=tmp_path / "s", threads=1)
    assert asked.count == 130  # the first ten are there
    assert again["final(x)"] == pytest.approx(found["final(x)"], abs=1e-9)
    assert json.loads((tmp_path / "s" / "study.json").read_text())["runs"] == 40


def test_what_is_done_of_a_chunk_is_kept(cart, tmp_path, monkeypatch):
    """Runs that take long are written before their chunk is complete: a kill loses the last few alone."""
    monkeypatch.setattr(sys.modules["polhode.study.study"], "_OFTEN", 0.0)  # all runs take long
    over, asked = {"q.theta": np.linspace(0.1, 1, 40)}, Counted()

    def run(dyn, row):
        asked.count += 1
        if asked.count == 27:
            raise SystemExit
        return {"a": row["q.theta"]} if asked.count % 2 else {"a": row["q.theta"], "b": 1.0}

    with pytest.raises(SystemExit):
        ph.study(cart, over, run, out=tmp_path / "s", chunk=30, threads=1)
    asked.count = 100
    found = ph.study(cart, over, run, out=tmp_path / "s", threads=1)
    assert asked.count == 116  # 24 of the first were there
    assert found["a"].tolist() == over["q.theta"].tolist()
    assert np.isnan(found["b"][::2]).all()
    assert (found["b"][1::2] == 1).all()
    assert ph.study(cart, over, run, out=tmp_path / "s")["a"].tolist() == over["q.theta"].tolist()
    assert asked.count == 116


FINGERPRINTS = """
from functools import partial
from polhode.study.folder import _plain
class Machine:
    def __init__(self, k): self.k = k
    def __call__(self, dyn, row): return self.k if row in {"a", "b", "c", "d"} else 0
def run(dyn, row, k=1): return k
for e in (partial(run, k=2), Machine(3), Machine(4), Machine(5).__call__, {"p", "q", "r", "s"}, {"f": run}):
    print(_plain(e))
"""


def test_the_same_study_is_known_again_in_another_process():
    """Sets, partial functions and callable objects print otherwise in every process."""
    found = [
        subprocess.run(
            [sys.executable, "-c", FINGERPRINTS], env=os.environ | {"PYTHONHASHSEED": seed}, text=True,
            capture_output=True, check=True,
        ).stdout.splitlines()
        for seed in "12"
    ]  # fmt: skip
    assert found[0] == found[1]
    assert len({*found[0]}) == 6  # and what differs is told


def _looks_up(dyn, row):
    return GAIN * row["m"]  # noqa: F821 - each script has its own


def _reading(gain):
    """A function of a script in which GAIN is `gain`."""
    return FunctionType(_looks_up.__code__, {"GAIN": gain})


@pytest.mark.parametrize(
    "run",
    [
        {5: lambda dyn, row: {"r": lambda t: 5}, 50: lambda dyn, row: {"r": lambda t: 50}}.get,
        lambda gain: lambda dyn, row, *, k=gain: k,
        lambda gain: partial(lambda dyn, row, k: k, k=np.int64(gain)),
        _reading,
        lambda gain: _reading([{"gain": np.float32(gain)}]),
        lambda gain: _reading(gain * ph.symbol("x")),
        lambda gain: _reading(SimpleNamespace(gain=gain * 1j)),
    ],
)
def test_what_a_function_computes_with_is_compared(run):
    """Numbers of functions in it, of its defaults, and those of the script that it looks up."""
    assert _plain(run(5)) == _plain(run(5))
    assert _plain(run(5)) != _plain(run(50))


def test_another_study_in_the_folder_is_refused(cart, tmp_path):
    run = {"t_end": 0.5, "p": P}
    ph.study(cart, {"m": [0.1, 0.2]}, run, "final(x)", out=tmp_path / "s")
    for other, said in (
        (({"m": [0.1, 0.3]}, run, "final(x)"), "over differ"),
        (({"m": [0.1, 0.2]}, run | {"t_end": 0.6}, "final(x)"), "run differ"),
        (({"m": [0.1, 0.2]}, run, "max(x)"), "keep differ"),
    ):
        with pytest.raises(ValueError, match=said):
            ph.study(cart, *other, out=tmp_path / "s")
    folded = cart.equations.compile(values={"M": 1.0})
    with pytest.raises(ValueError, match="model differ"):
        ph.study(folded, {"m": [0.1, 0.2]}, run, "final(x)", out=tmp_path / "s")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear")
    with pytest.raises(ValueError, match="is not empty, and has no study"):
        ph.study(cart, {"m": [0.1, 0.2]}, run, "final(x)", out=tmp_path / "full")


def test_designs():
    assert grid({"a": [1, 2], "b": [3, 4, 5]})["b"].tolist() == [3, 4, 5, 3, 4, 5]
    assert rows([{"a": 1, "b": 2}, {"b": 3, "a": 4}])["a"].tolist() == [1, 4]
    found = ph.sample({"a": (0, 10), "b": ("log", 1, 1000), "c": ("normal", 5, 2)}, 200, seed=3)
    assert sorted(np.floor(found["a"] / 10 * 200).astype(int)) == list(range(200))  # one in each part
    assert sorted(np.floor(np.log10(found["b"]) / 3 * 200).astype(int)) == list(range(200))
    assert found["c"].mean() == pytest.approx(5, abs=0.05)
    assert found["c"].std() == pytest.approx(2, abs=0.1)
    assert (ph.sample({"a": (0, 1)}, 5, seed=3)["a"] == ph.sample({"a": (0, 1)}, 5, seed=3)["a"]).all()
    with pytest.raises(ValueError, match=r"'b' is \('log', 0, 1\)"):
        ph.sample({"b": ("log", 0, 1)}, 5)
    for wrong in (3, (), (0, np.inf), ("normal", 0)):
        with pytest.raises(ValueError, match=r"ranges: 'b' is .*, expected "):
            ph.sample({"b": wrong}, 5)
    with pytest.raises(ValueError, match="seed is 'x', expected a whole number"):
        ph.sample({"b": (0, 1)}, 5, seed="x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("theta", "says no moment of the run"),
        ("max(theta", "a bracket that does not close"),
        ("max(thet)", "no coordinate, speed, input or parameter 'thet'"),
        ("max(__import__('os').getcwd())", "there is no function|not allowed"),
        ("final(theta) + theta", "unknown name theta"),
    ],
)
def test_what_cannot_be_kept_is_said(cart, text, said):
    with pytest.raises(ValueError, match=said):
        ph.study(cart, {"m": [0.1]}, {"t_end": 0.1, "p": P}, text)


def test_a_function_that_keeps_nothing_is_said(cart):
    with pytest.raises(TypeError, match="keep: 'none' gave None, expected a number"):
        ph.study(cart, {"m": [0.1]}, {"t_end": 0.1, "p": P}, {"none": lambda traj: None})


@pytest.mark.parametrize(("name", "said"), [("t", "Did you mean 't0'"), ("metod", "Did you mean 'method'")])
def test_what_a_run_does_not_take_is_said_before_it_runs(cart, name, said):
    with pytest.raises(TypeError, match=f"run: simulate takes no '{name}'. {said}"):
        ph.study(cart, {"m": [0.1]}, {"t_end": 0.1, "p": P, name: 1}, "max(theta)")


def test_a_notebook_shows_a_table_as_one():
    shown = Table({"a": [1.5, 2.5], "said": ["<b>", "no"]})._repr_html_()
    assert shown.count("<tr>") == 3
    assert "<b>" not in shown


def test_keeps_are_taken_apart():
    one = keeps("max(a, b) - final(max(a, b)) + min(c)")[0]
    assert (one.text, [(r.kind, r.inside) for r in one.reductions]) == (
        "max(a, b) - r0_ + r1_",
        [("final", "max(a, b)"), ("min", "c")],
    )


def test_tables_are_written(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = Table({"a": [1.5, 2.5], "said": ["yes, so", "no"]})
    table.to_csv(tmp_path / "t.csv")
    table.to_parquet(tmp_path / "t.parquet")
    for read in (pandas.read_csv(tmp_path / "t.csv"), pandas.read_parquet(tmp_path / "t.parquet"), table.to_pandas()):
        assert read["a"].tolist() == [1.5, 2.5]
        assert read["said"].tolist() == ["yes, so", "no"]
    with pytest.raises(ValueError, match="columns differ in length"):
        Table({"a": [1], "b": [1, 2]})


def test_the_stages_travel_by_name():
    for stage in ("polhode.simulate", "polhode.study"):
        module = sys.modules[stage]
        assert pickle.loads(pickle.dumps(module)) is module


@pytest.mark.slow
def test_dask_finishes_when_a_worker_is_killed(cart, tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask is not installed: studies by it are NOT tested")
    over, whole = {"q.theta": np.linspace(0.1, 1.0, 40)}, P | {"m": 0.2}

    def run(dyn, row):
        time.sleep(0.2)
        traj = ph.simulate(dyn, {"theta": row["q.theta"]}, None, 0.5, p=whole)
        return {"theta": traj["theta"][-1], "worker": os.getpid()}

    def kill():
        while len(list((tmp_path / "s").glob("chunk-*.npz"))) < 2:
            time.sleep(0.05)
        os.kill(victim, signal.SIGKILL)

    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Thread(target=kill)
        killer.start()
        found = ph.study(cart, over, run, client=client, out=tmp_path / "s", chunk=4)
        killer.join()
    assert found["finished"].all()
    assert len({*found["worker"].tolist()}) >= 2
    alone = ph.study(cart, over, {"t_end": 0.5, "p": whole}, "final(theta)")
    assert found["theta"] == pytest.approx(alone["final(theta)"], abs=1e-9)


SCRIPT = """
import os, signal, time
import polhode as ph

build = ph.Builder("p", gravity=(0, 0, -9.81))
build.body("bob", joint=ph.revolute("y", name="theta"), mass=1, com=(0, 0, -1))
dyn = ph.formulate(build.build()).compile()
print("once")

def run(dyn, row):
    time.sleep(0.1)
    if row["q.theta"] == 0.5 and not os.path.exists("killed"):  # as the system does where memory ends
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"theta": row["q.theta"], "worker": os.getpid()}

values = [i / 10 for i in range(24)]
found = ph.study(dyn, {"q.theta": values}, run, on="dask")
assert found["theta"].tolist() == values and found["finished"].all()
print(len({*found["worker"].tolist()} - {os.getpid()}) > 0)
"""


@pytest.mark.slow
def test_dask_starts_by_itself_from_a_plain_script(tmp_path):
    """One without `if __name__ == "__main__":`, which workers do not run again."""
    pytest.importorskip("distributed", reason="dask is not installed: studies by it are NOT tested")
    (tmp_path / "plain.py").write_text(SCRIPT)
    own = os.environ | {"PYTHONPATH": str(Path(ph.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "plain.py"], cwd=tmp_path, env=own, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == (["once", "True"], "")


@pytest.mark.slow
def test_a_scheduler_that_runs_is_taken(cart, monkeypatch):
    """By its address, by dask's configuration, or where a client of it is in use."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed: studies by it are NOT tested")
    over, run = {"q.theta": [0.1, 0.2, 0.3]}, lambda dyn, row: float(os.getpid())
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            pid = next(iter(client.run(os.getpid).values()))
            assert {*ph.study(cart, over, run, client=client)["result"]} == {pid}
        assert {*ph.study(cart, over, run, client=cluster.scheduler_address)["result"]} == {pid}
        with distributed.Client(cluster):
            assert {*ph.study(cart, over, run, on="dask")["result"]} == {pid}
        import dask

        with dask.config.set({"scheduler-address": cluster.scheduler_address}):
            assert {*ph.study(cart, over, run, on="dask")["result"]} == {pid}
    monkeypatch.setattr("polhode.study.spread._KNOCK", 1.0)
    with pytest.raises(ValueError, match=r"there is no scheduler at 'tcp://127\.0\.0\.1:1'"):
        ph.study(cart, over, run, client="tcp://127.0.0.1:1")
