"""Trajectories as files and frames."""

import csv
import sys

import numpy as np
import pytest

from polhode.trajectory import Trajectory
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
    with pytest.raises(ModuleNotFoundError, match=rf"needs {module}.*pip install polhode\[data\]"):
        write(swing())
