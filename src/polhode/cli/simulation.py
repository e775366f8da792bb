"""What `polhode simulate` reads and prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polhode.model import Model
from polhode.model.errors import closest
from polhode.trajectory.export import beside, shown_modes
from polhode.view import for_animation, for_figure, needed, placed
from polhode.view.bent import check_magnify

from .values import named_values
from .wording import for_shell


def initial(settings: Sequence[str], equations: Any, where: str, groups: str) -> list[dict[str, float]]:
    """Read settings such as "q.elbow=0.3", "u.elbow_dot=1", "z.current=2" or, without a group, "elbow=0.3".

    groups : those that may be set, of "quz"; values by name for each are returned
    """
    every = {f"{g}.{s.value}": (g, str(s.value)) for g in groups for s in getattr(equations, g)}
    plain = {name: (g, name) for g, name in reversed(every.values())}  # coordinates before speeds
    found: dict[str, dict[str, float]] = {group: {} for group in groups}
    for setting in settings:
        for key, value in named_values(setting, where).items():
            if key not in every and key not in plain:
                raise ValueError(f"{where}: there is no variable {key!r}. {closest(key, list(every))}")
            group, name = every.get(key) or plain[key]
            found[group][name] = value
    return list(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where a run begins, by name, as far as it is said."""

    q: dict[str, float]
    u: dict[str, float]
    z: dict[str, float]
    controls: dict[str, Any]
    time: float


def beginning(model: Model, name: str | None) -> Beginning:
    """The state and the controls of a keyframe, nothing where none is asked for."""
    if name is not None and name not in (known := [key.name for key in model.keyframes]):
        raise ValueError(f"--keyframe: there is no keyframe {name!r}. {closest(name, known)}")
    given = {} if name is None else model.keyframe(name).start()
    q, u, z, controls = (given.get(key, {}) for key in ("q0", "u0", "z0", "controls"))
    return Beginning(q=q, u=u, z=z, controls=controls, time=given.get("t0", 0.0))


def forces(settings: Sequence[str], where: str = "--tau", plain: bool = False) -> dict[str, Any]:
    """Read laws such as "elbow_dot=-2*elbow - 0.1*elbow_dot"; if `plain`, also names alone, which are their own law."""
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if plain and not equals:
            text = name
        elif not equals or not name:
            of = "" if plain else ", of a speed or an actuator"
            raise ValueError(f'{where}: {setting!r}, expected "NAME=EXPRESSION"{of}.')
        if text.lstrip("+-").lower() in ("nan", "inf", "infinity"):
            raise ValueError(f"{where}: {name} is {text}, expected a finite number or an expression.")
        found[name] = text
    return found


def summary(traj: Any, written: Sequence[Path], warned: Sequence[str]) -> dict[str, Any]:
    """The end of a run as plain data."""
    eq = traj.dynamics.equations
    energy = traj.energy[:, 2]
    return {
        "model": eq.model.name,
        "finished": traj.outcome.finished,
        "reason": traj.outcome.reason,
        "culprit": traj.outcome.culprit,
        "remedy": for_shell(traj.outcome.remedy) if traj.outcome.remedy else None,
        "warnings": list(warned),
        "t": float(traj.t[-1]),
        "q": {str(s.value): float(x) for s, x in zip(eq.q, traj.q[-1], strict=True)},
        "u": {str(s.value): float(x) for s, x in zip(eq.u, traj.u[-1], strict=True)},
        "z": {str(s.value): float(x) for s, x in zip(eq.z, traj.z[-1], strict=True)},
        "energy": {"start": float(energy[0]), "end": float(energy[-1])},
        "largest_residual": None if traj.residuals is None else float(abs(traj.residuals).max()),
        "events": [event.plain() for event in traj.events],
        "statistics": dict(traj.statistics),
        "files": [str(path) for path in written],
    }


def check(files: dict[str, Path | None]) -> None:
    """Refuse what cannot be written, before anything is computed."""
    ways = {"plot": for_figure, "animate": for_animation}
    modules = {"to_parquet": ("pyarrow", "Parquet"), "to_hdf5": ("h5py", "HDF5")}
    for call, path in files.items():
        if path is not None:
            ways.get(call, placed)(path)
            if call in modules:
                module, purpose = modules[call]
                needed(module, "data", purpose)


def magnified(text: str | None, animate: Path | None) -> float | str:
    """Read by how much deflections are drawn larger."""
    if text is None:
        return 1
    if animate is None:
        raise ValueError(f"--magnify {text}: it goes with --animate, which draws deflections. Add --animate FILE.")
    try:
        found: float | str = text if text == "auto" else float(text)
        check_magnify(found)
    except ValueError:
        raise ValueError(f'--magnify {text}: expected a number above 0, such as 10, or "auto".') from None
    return found


def write(traj: Any, files: dict[str, Path | None], magnify: float | str = 1) -> list[Path]:
    """Write what was asked for; return the paths."""
    written, more = [], {"animate": {"magnify": magnify}}
    for call, path in files.items():
        if path is not None:
            getattr(traj, call)(path=path, **more.get(call, {}))
            written.append(path)
            if call in ("to_csv", "to_parquet") and shown_modes(traj):
                written.append(beside(path))
    return written
