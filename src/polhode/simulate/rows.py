"""Rows of numbers, one for each of many runs: states, parameters, forces and controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.equations import Equations

from .asked import is_pair, values_of
from .inputs import Inputs, read_inputs

ROWS: Any = object()  # in the place of what is given in rows


def rows_of(given: Any, names: Sequence[str], rest: np.ndarray, what: str) -> np.ndarray:
    """Rows of numbers, (count, n), or one for all, (1, n): from an array, or from columns by name.

    rest : rows of what is not given, likewise
    """
    if given is None:
        return rest
    if isinstance(given, Mapping):
        columns = {str(name): column_of(column, f"{what}: {str(name)!r}") for name, column in given.items()}
        values_of({name: column[0] for name, column in columns.items()}, names, rest[0], what)  # all are known
        count = max([len(rest), *(len(column) for column in columns.values())])
        found = np.array(np.broadcast_to(rest, (count, len(names)))) if len(rest) in (1, count) else rest.copy()
        for name, column in columns.items():
            if len(column) not in (1, len(found)):
                raise ValueError(f"{what}: {name!r} has {len(column)} values and others {count}, expected as many.")
            found[:, list(names).index(name)] = column
    else:
        try:
            found = np.array(given, dtype=float, ndmin=2)
        except (TypeError, ValueError):
            found = np.zeros((0, 0))
        if found.ndim != 2 or found.shape[1] != len(names) or not len(found):
            n = len(names)
            raise ValueError(
                f"{what} is {given!r:.60}, expected numbers, ({n},) for all runs or (count, {n}), or by name."
            )
    if not np.isfinite(found).all():
        row, place = np.argwhere(~np.isfinite(found))[0]
        raise ValueError(f"{what}: {names[place]!r} of run {row} is NaN or infinite, expected a number.")
    return found


def halves(q0: Any, u0: Any) -> tuple[Any, Any]:
    """Coordinates and speeds, also where `q0` is both, as `assemble` gives them; not two runs of coordinates."""
    if not is_pair(q0):
        return q0, u0
    if hasattr(q0, "_fields"):
        if u0 is not None:
            raise TypeError("q0 is a pair of coordinates and speeds, and u0 is given too, expected speeds once.")
        return q0[0], q0[1]
    if all(isinstance(part, np.ndarray) for part in q0):
        raise TypeError(
            "q0 is a pair of arrays, which may be coordinates and speeds, or two runs. Give q0=pair[0], u0=pair[1], "
            "or q0=numpy.array(pair)."
        )
    return q0, u0


def column_of(given: Any, what: str) -> np.ndarray:
    """A number for all runs, (1,), or one for each, (count,)."""
    try:
        found = np.array(given, dtype=float, ndmin=1)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 1 or not len(found):
        raise TypeError(f"{what} is {given!r:.60}, expected a number, or one for each run.")
    return found


def together(**rows: np.ndarray) -> list[np.ndarray]:
    """As many rows of each: one row is repeated."""
    count = max(map(len, rows.values()))
    if any(len(each) not in (1, count) for each in rows.values()):
        listed = ", ".join(f"{name} {len(each)}" for name, each in rows.items() if len(each) > 1)
        raise ValueError(f"Numbers of rows differ: {listed}. Expected one row for all runs, or one for each.")
    return [np.ascontiguousarray(np.broadcast_to(each, (count, each.shape[1]))) for each in rows.values()]


@dataclass(frozen=True, kw_only=True, eq=False)
class DrivenRows:
    """What drives each of many runs.

    inputs   : what all of them have in common
    forces   : (count, nu) or (1, nu), numbers; commands : likewise of the controls of actuators
    tau, controls : as the user gave them, for all runs; ROWS where each run has its own
    """

    inputs: Inputs
    forces: np.ndarray
    commands: np.ndarray
    tau: Any
    controls: Any

    def of_runs(self, forces: np.ndarray, commands: np.ndarray) -> tuple[list[Any], list[Any]]:
        """tau and controls of every run, from as many rows as there are runs."""
        pairs = ((self.tau, forces), (self.controls, commands))
        taus, orders = ([*rows] if given is ROWS else [given] * len(rows) for given, rows in pairs)
        return taus, orders


def driven_rows(tau: Any, controls: Any, eq: Equations) -> DrivenRows:
    """Sort what the user gave as tau and as controls, each for all runs or in rows.

    Rows of tau may have the controls behind the forces, where none are given by themselves.
    """
    nu, actuators = len(eq.u), [actuator.name for actuator in eq.model.actuators]
    names = [str(s.value) for s in eq.u]
    forces = commands = None
    if np.ndim(tau) == 2:
        behind = actuators if controls is None and np.shape(tau)[1] != nu else []
        forces = rows_of(tau, [*names, *behind], np.zeros((1, nu + len(behind))), "tau")
        tau = ROWS
        if behind:
            controls, forces = forces[:, nu:], forces[:, :nu]
    common = controls
    if actuators and (np.ndim(controls) == 2 or _has_columns(controls)):
        commands = rows_of(controls, actuators, np.zeros((1, len(actuators))), "controls")
        common = dict.fromkeys(controls, 0.0) if isinstance(controls, Mapping) else commands[0]
        controls = ROWS
    inputs = read_inputs(None if tau is ROWS else tau, eq, common)
    return DrivenRows(
        inputs=inputs,
        forces=inputs.constant[None, :nu] if forces is None else forces,
        commands=inputs.constant[None, nu:] if commands is None else commands,
        tau=tau,
        controls=controls,
    )


def _has_columns(given: Any) -> bool:
    """Whether something by name has a value for each run."""
    return isinstance(given, Mapping) and any(isinstance(e, (list, tuple, np.ndarray)) for e in given.values())
