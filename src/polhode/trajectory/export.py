"""A trajectory as columns and files: NumPy, pandas, CSV, Parquet, JSON, HDF5.

What happened to constraints that come and go stands beside the states: their modes in words are columns, and
the events a table of their own; in CSV and Parquet a second file, run.events.csv beside run.csv.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.view import needed, placed

from . import events

if TYPE_CHECKING:
    from .trajectory import Trajectory


def columns(traj: Trajectory) -> dict[str, np.ndarray]:
    """Every column by name, t first."""
    found = {"t": traj.t}
    for names, rows in zip(traj.columns, (traj.q, traj.u, traj.z, traj.tau), strict=True):
        found |= dict(zip(names, rows.T, strict=True))
    for what, names, values in (
        ("residual", traj.constraint_names, traj.residuals),
        ("reaction", traj.reaction_names, traj.reactions),
    ):
        if values is not None:
            found |= {f"{what} {name}": row for name, row in zip(names, values.T, strict=False)}
    return found | {f"mode {name}": words for name, words in shown_modes(traj).items()}


def shown_modes(traj: Trajectory) -> dict[str, np.ndarray]:
    """The modes at the outputs, by name, but for limits of joints that were never reached."""
    limits = {stop.name for stop in traj.dynamics.equations.model.limit_stops}
    return {name: m for name, m in traj.mode.items() if name not in limits or traj.events.about(name)}


def frame(traj: Trajectory) -> Any:
    pandas = needed("pandas", "data", "A DataFrame")
    found = columns(traj)
    return events.frame(found, pandas.Index(found.pop("t"), name="t"))


def beside(path: Any) -> Path:
    """The file of the events of a run that is written to a path."""
    found = Path(path)
    return found.with_name(f"{found.stem}.events{found.suffix}")


def write_csv(traj: Trajectory, path: Any) -> None:
    """Write the columns, and the events beside them; the shortest digits that read back as the same number."""
    _write_csv(columns(traj), path)
    if shown_modes(traj):
        _write_csv(traj.events.columns(), beside(path))


def _write_csv(found: Mapping[str, np.ndarray], path: Any) -> None:
    with open(placed(path), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(found)
        writer.writerows(zip(*(values.tolist() for values in found.values()), strict=True))


def write_parquet(traj: Trajectory, path: Any) -> None:
    needed("pyarrow", "data", "Parquet")
    frame(traj).to_parquet(placed(path))
    if shown_modes(traj):
        traj.events.to_pandas().to_parquet(beside(path))


def as_json(traj: Trajectory) -> str:
    """One object: the model's name, outcome, parameters, units, columns and events; null for what is not finite."""
    data = {
        "model": traj.dynamics.equations.model.name,
        "finished": traj.outcome.finished,
        "outcome": str(traj.outcome),
        "parameters": dict(zip(traj.dynamics.parameters, traj.parameters.tolist(), strict=True)),
        "statistics": {
            name: value if isinstance(value, str) else float(value) for name, value in traj.statistics.items()
        },
        "units": traj.units,
        "columns": {name: _plain(values) for name, values in columns(traj).items()},
        "events": [event.plain() for event in traj.events],
    }
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(values: np.ndarray) -> list[Any]:
    return [None if isinstance(x, float) and not np.isfinite(x) else x for x in values.tolist()]


def write_hdf5(traj: Trajectory, path: Any) -> None:
    h5py = needed("h5py", "data", "HDF5")
    names = {"q": traj.coordinates, "u": traj.speeds, "z": traj.states, "tau": traj.inputs, "t": ("t",)}
    names |= {"residuals": traj.constraint_names, "reactions": traj.reaction_names}
    with h5py.File(placed(path), "w") as file:
        for name, labels in names.items():
            values = getattr(traj, name)
            if values is not None:
                made = file.create_dataset(name, data=values)
                made.attrs["names"] = list(labels[: values.shape[-1]])
                if name in ("q", "u", "tau", "t"):
                    made.attrs["units"] = [traj.units[label] for label in labels]
        for folder, found in (("modes", shown_modes(traj)), ("events", traj.events.columns())):
            if shown_modes(traj):
                group = file.create_group(folder, track_order=True)
                for name, values in found.items():
                    kind = h5py.string_dtype() if values.dtype == object else None
                    group.create_dataset(name.replace("/", "|"), data=values, dtype=kind)
        made = file.create_dataset("parameters", data=traj.parameters)
        made.attrs["names"] = list(traj.dynamics.parameters)
        file.attrs["model"] = traj.dynamics.equations.model.name
        file.attrs["finished"] = traj.outcome.finished
        file.attrs["outcome"] = str(traj.outcome)
        file.attrs["statistics"] = json.dumps(dict(traj.statistics), default=float)
