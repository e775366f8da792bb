"""What `polhode simulate` reads and prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polhode.graph import Expr
from polhode.model import TIME
from polhode.model.errors import closest
from polhode.view import for_animation, for_figure, needed, placed

from .values import named_values
from .wording import for_shell


def initial(settings: Sequence[str], equations: Any, where: str) -> tuple[dict[str, float], dict[str, float]]:
    """Read settings such as "q.elbow=0.3", "u.elbow_dot=1" or, where only one can be meant, "elbow=0.3"."""
    names = {"q": [str(s.value) for s in equations.q], "u": [str(s.value) for s in equations.u]}
    found: dict[str, dict[str, float]] = {"q": {}, "u": {}}
    for setting in settings:
        for key, value in named_values(setting, where).items():
            group, dot, name = key.partition(".")
            if dot and group in names and name in names[group]:
                found[group][name] = value
            elif key in names["q"] or key in names["u"]:
                found["q" if key in names["q"] else "u"][key] = value
            else:
                every = [f"{g}.{n}" for g, listed in names.items() for n in listed]
                raise ValueError(f"{where}: there is no variable {key!r}. {closest(key, every)}")
    return found["q"], found["u"]


def forces(settings: Sequence[str], equations: Any) -> dict[str, Any]:
    """Read laws such as "elbow_dot=-2*elbow - 0.1*elbow_dot"."""
    from polhode.model.expression import parse

    names: dict[str, Expr] = {str(s.value): s for s in (*equations.parameters, *equations.q, *equations.u)}
    names[str(TIME.value)] = TIME
    found: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not equals or not name:
            raise ValueError(f'--tau: {setting!r}, expected "SPEED=EXPRESSION".')
        found[name] = parse(text, names, f"--tau: {name}")
    return found


def summary(traj: Any, written: Sequence[Path]) -> dict[str, Any]:
    """The end of a run as plain data."""
    eq = traj.dynamics.equations
    energy = traj.energy[:, 2]
    return {
        "model": eq.model.name,
        "finished": traj.outcome.finished,
        "reason": traj.outcome.reason,
        "culprit": traj.outcome.culprit,
        "remedy": for_shell(traj.outcome.remedy) if traj.outcome.remedy else None,
        "t": float(traj.t[-1]),
        "q": {str(s.value): float(x) for s, x in zip(eq.q, traj.q[-1], strict=True)},
        "u": {str(s.value): float(x) for s, x in zip(eq.u, traj.u[-1], strict=True)},
        "energy": {"start": float(energy[0]), "end": float(energy[-1])},
        "largest_residual": None if traj.residuals is None else float(abs(traj.residuals).max()),
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


def write(traj: Any, files: dict[str, Path | None]) -> list[Path]:
    """Write what was asked for; return the paths."""
    written = []
    for call, path in files.items():
        if path is not None:
            getattr(traj, call)(path=path) if call == "plot" else getattr(traj, call)(path)
            written.append(path)
    return written
