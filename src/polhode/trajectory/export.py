"""A trajectory as columns: NumPy, pandas, CSV, Parquet, HDF5."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.view import needed

if TYPE_CHECKING:
    from .trajectory import Trajectory


def columns(traj: Trajectory) -> dict[str, np.ndarray]:
    """Every column by name, t first."""
    found = {"t": traj.t}
    for names, rows in zip(traj.columns, (traj.q, traj.u, traj.z, traj.tau), strict=True):
        found |= dict(zip(names, rows.T, strict=True))
    for what, values in (("residual", traj.residuals), ("reaction", traj.reactions)):
        if values is not None:
            found |= {f"{what} {name}": row for name, row in zip(traj.constraint_names, values.T, strict=False)}
    return found


def frame(traj: Trajectory) -> Any:
    pandas = needed("pandas", "data", "A DataFrame")
    found = columns(traj)
    index = pandas.Index(found.pop("t"), name="t")
    return pandas.DataFrame({name: np.array(values) for name, values in found.items()}, index=index)


def write_csv(traj: Trajectory, path: Any) -> None:
    """Write the columns; the shortest digits that read back as the same number."""
    found = columns(traj)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(found)
        writer.writerows(zip(*(values.tolist() for values in found.values()), strict=True))


def write_parquet(traj: Trajectory, path: Any) -> None:
    needed("pyarrow", "data", "Parquet")
    frame(traj).to_parquet(path)


def write_hdf5(traj: Trajectory, path: Any) -> None:
    h5py = needed("h5py", "data", "HDF5")
    names = {"q": traj.coordinates, "u": traj.speeds, "z": traj.states, "tau": traj.inputs, "t": ("t",)}
    names |= dict.fromkeys(("residuals", "reactions"), traj.constraint_names)
    with h5py.File(path, "w") as file:
        for name, labels in names.items():
            values = getattr(traj, name)
            if values is not None:
                made = file.create_dataset(name, data=values)
                made.attrs["names"] = list(labels[: values.shape[-1]])
                if name in ("q", "u", "tau", "t"):
                    made.attrs["units"] = [traj.units[label] for label in labels]
        made = file.create_dataset("parameters", data=traj.parameters)
        made.attrs["names"] = list(traj.dynamics.parameters)
        file.attrs["model"] = traj.dynamics.equations.model.name
        file.attrs["finished"] = traj.outcome.finished
        file.attrs["outcome"] = str(traj.outcome)
        file.attrs["statistics"] = json.dumps(dict(traj.statistics), default=float)
