"""Trajectories as files and frames."""

import csv
import json
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.trajectory import Event, Trajectory
from tests.motions import swing


def test_files(tmp_path):
    traj = swing()
    traj.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == list(traj.to_numpy()) == ["t", "theta", "theta_dot", "tau_theta_dot"]
    read = np.array(rows, dtype=float)
    assert all(np.array_equal(read[:, k], traj[name]) for k, name in enumerate(head))  # to the last digit


def test_data_frames(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = swing().to_pandas()
    assert frame.index.name == "t"
    assert frame["theta"].iloc[-1] == swing().q[-1, 0]
    swing().to_parquet(tmp_path / "run.parquet")
    assert pandas.read_parquet(tmp_path / "run.parquet").equals(frame)


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    swing().to_hdf5(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert list(file["q"].attrs["names"]) == ["theta"]
        assert np.array_equal(file["q"], swing().q)
        assert file.attrs["outcome"] == "Reached t = 2 s."
        assert list(file["parameters"]) == [0.7]


@pytest.mark.parametrize("module", ["pandas", "h5py"])
def test_missing_packages_say_what_to_install(module, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    write = {"pandas": Trajectory.to_pandas, "h5py": lambda traj: traj.to_hdf5(tmp_path / "x.h5")}[module]
    with pytest.raises(ModuleNotFoundError, match=rf'needs {module}.*pip install "polhode\[data\]"'):
        write(swing())


@cache
def bouncing():
    """A ball that strikes the ground, is latched to the world in the air, and let go."""
    build = ph.Builder("ball", gravity=(0, 0, -9.81))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=2)
    build.contact("ball", restitution=0.5, name="ground")
    build.lock("z", name="hand, left", active=False)
    build.stop("z", upper=5, name="ceiling")
    switches = [ph.at(0.6, engage="hand, left"), ph.at(0.7, release="hand, left")]
    dyn = ph.formulate(build.build()).compile()
    return ph.simulate(dyn, {"z": 1.0}, t_end=1.0, output=0.05, switches=switches, reacting=True)


def check_events(read, traj):
    """Columns that were read, against events."""
    assert [float(t) for t in read["time"]] == [event.time for event in traj.events]
    assert [float(x) for x in read["lost"]] == [event.lost for event in traj.events]
    assert list(read["why"]) == ["start", "closes", "at 0.6 s", "at 0.7 s", "closes"]
    assert list(read["mode hand, left"]) == ["released", "released", "engaged", "released", "released"]
    for label in ("ground.height", "hand, left"):
        struck = [event.impulses.get(label, 0.0) for event in traj.events]
        assert [float(x) for x in read[f"impulse {label}"]] == struck


def test_events_and_modes_in_csv(tmp_path):
    traj = bouncing()
    traj.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["mode hand, left"] for row in rows] == list(traj.mode["hand, left"])
    assert [float(row["z"]) for row in rows] == traj["z"].tolist()
    assert {row["mode ceiling"] for row in rows} == {"open"}
    with open(tmp_path / "run.events.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    check_events({name: [row[name] for row in rows] for name in rows[0]}, traj)
    assert rows[2]["what"] == "hand, left"
    swing().to_csv(tmp_path / "plain.csv")
    assert not (tmp_path / "plain.events.csv").exists()


def test_events_and_modes_in_data_frames_and_parquet(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    traj = bouncing()
    traj.to_parquet(tmp_path / "run.parquet")
    frame = pandas.read_parquet(tmp_path / "run.parquet")
    assert frame.equals(traj.to_pandas())
    assert frame["mode hand, left"].dtype == "category"
    assert list(frame["mode hand, left"]) == list(traj.mode["hand, left"])
    events = pandas.read_parquet(tmp_path / "run.events.parquet")
    assert events.equals(traj.events.to_pandas())
    assert events["why"].dtype == "category"
    check_events(events, traj)


def test_everything_in_json(tmp_path):
    traj = bouncing()
    assert traj.to_json(tmp_path / "run.json") == (tmp_path / "run.json").read_text()
    read = json.loads((tmp_path / "run.json").read_text())
    for name, values in traj.to_numpy().items():
        assert read["columns"][name] == values.tolist()
    assert read["units"]["z_dot"] == "m/s"
    assert read["finished"] is True
    for found, event in zip(read["events"], traj.events, strict=True):
        assert Event(**found | {"what": tuple(found["what"])}) == replace(event, rows=None, states=None)
    assert json.loads(swing().to_json())["parameters"] == {"L": 0.7}


def test_events_and_modes_in_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    traj = bouncing()
    traj.to_hdf5(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert list(file["modes/hand, left"].asstr()) == list(traj.mode["hand, left"])
        read = {name: part.asstr()[:] if part.dtype == object else part[:] for name, part in file["events"].items()}
        assert list(file["events"])[:3] == ["time", "why", "what"]
        assert list(file["reactions"].attrs["names"]) == list(traj.reaction_names)
    check_events(read, traj)


def test_limits_that_were_not_reached_are_no_columns(tmp_path):
    build = ph.Builder("slide", gravity=(0, 0, 0))
    for name in ("x", "y"):
        build.body(name, joint=ph.prismatic(name, name=name, limits=(-1, 1)), mass=1)
    traj = ph.simulate(ph.formulate(build.build()).compile(), None, {"x_dot": 1.0}, 2.0)
    shown = [name for name in traj.to_numpy() if name.startswith("mode")]
    assert len(shown) == 1
    assert set(traj.to_numpy()[shown[0]]) == {"open", "upper"}
