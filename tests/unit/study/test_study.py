"""Many runs against single ones, files that survive, and what is kept."""

import json
import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest

import polhode as ph
from polhode.study.design import grid, rows
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


def test_inputs_by_row(cart):
    """A steady push on the bare cart: x = F t^2 / (2 (M + m)) while theta stays small."""
    found = ph.study(cart, {"tau.x_dot": [0.0, 1e-3]}, {"t_end": 0.05, "p": P | {"m": 1e-9}}, "final(x)")
    assert found["final(x)"] == pytest.approx([0, 1e-3 * 0.05**2 / 2], rel=1e-6)


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
