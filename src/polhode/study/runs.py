"""The runs of a study: a chunk of rows in, columns of numbers out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.inputs import input_names
from polhode.graph import Expr
from polhode.model.errors import listed
from polhode.simulate import simulate_many
from polhode.simulate.interrupt import shared_out
from polhode.simulate.run import simulated_until
from polhode.simulate.warning import SimulationWarning
from polhode.trajectory import Trajectory

from .keep import ENDS, Kept, Reader
from .names import Place
from .table import Table

Columns = dict[str, np.ndarray]
_PARTS = {"q": "q0", "u": "u0", "z": "z0", "p": "p"}
_WELL = "Done."


_ENOUGH = 16  # first runs that are refused for one reason, and as many among the others: so will all be
_GOLDEN = (5**0.5 - 1) / 2  # its multiples spread evenly, in no step with a grid


class RefusedError(ValueError):
    """All runs are refused for the same reason."""


class Refusal:
    """Watches the first runs of a study: where all of them are refused for one reason, and so are runs among all the
    others that are tried then, it is that of the study. The first alone could be a value of a grid that cannot be."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._runs = plan, plan.over.rows
        self._over, self._left, self._reasons = callable(plan.run), min(self._runs, _ENOUGH), set[str]()

    def seen(self, columns: Columns) -> None:
        if self._over:
            return
        self._look(columns)
        self._left -= len(columns["outcome"])
        if self._over or self._left > 0:
            return
        among = {int(self._runs * (k * _GOLDEN % 1)) for k in range(1, _ENOUGH + 1)} if self._runs > _ENOUGH else set()
        for i in among:
            self._look(self._plan.compute(i, i + 1))
            if self._over:
                return
        every = f"every run is refused, of {_ENOUGH + len(among)} that were tried" if among else "every run is refused"
        raise RefusedError(f"study: {every}. {self._reasons.pop()}")

    def _look(self, columns: Columns) -> None:
        self._reasons |= {str(said) for said in columns["outcome"]}
        self._over = bool(np.isfinite(columns["t_end"]).any()) or len(self._reasons) > 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """What every run is: options of `simulate` or a function, with values by row.

    over : the rows, and what each column sets; places : None for names that the function alone knows
    """

    dynamics: Dynamics
    over: Table
    places: Mapping[str, Place | None]
    run: Mapping[str, Any] | Callable[..., Any]
    kept: tuple[Kept, ...]
    threads: int = 1

    def compute(self, first: int, last: int) -> Columns:
        """The results of rows first to last, with whether each finished and how it ended."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)  # a row says how its run ended
            if callable(self.run):
                return self._collected(shared_out(self._called, range(first, last), self.threads))
            if self._plain and last - first > 1:
                try:
                    return self._together(first, last)
                except ValueError:
                    pass  # a row is refused: find it
            return self._collected(shared_out(self._one, range(first, last), self.threads))

    # one by one

    def options(self, i: int) -> dict[str, Any]:
        """What `simulate` takes, for one row."""
        assert isinstance(self.run, Mapping)
        given = dict(self.run)
        for name, value in self.over.row(i).items():
            place = self.places[name]
            assert place is not None
            self._set(given, place, value)
        return given

    def _set(self, given: dict[str, Any], place: Place, value: Any) -> None:
        eq, nu = self.dynamics.equations, len(self.dynamics.equations.u)
        inputs = input_names(eq)
        if place.group == "tau":
            given_tau: Any = given.get("tau")
            wide = not isinstance(given_tau, Mapping) and np.shape(given_tau) == (len(inputs),)
            beside = wide or (isinstance(given_tau, Mapping) and place.name in given_tau)
            key = "controls" if place.name in inputs[nu:] and not beside else "tau"
            names = list(inputs[nu:] if key == "controls" else inputs if wide else inputs[:nu])
        else:
            key = _PARTS[place.group]
            names = list(self.dynamics.parameters) if key == "p" else [str(s.value) for s in getattr(eq, place.group)]
        before = given.get(key)
        if before is None:
            before = {}
        elif callable(before) or hasattr(before, "function"):
            raise TypeError(f"run: {key} is a function, and over sets {place.name!r} of it. Give run= a function.")
        elif not isinstance(before, Mapping):
            if np.shape(before) != (len(names),):
                raise ValueError(f"run: {key} has shape {np.shape(before)}, expected ({len(names)},): {listed(names)}.")
            before = dict(zip(names, np.asarray(before, dtype=float).tolist(), strict=True))
        given[key] = {**before, place.name: value}

    def _one(self, i: int) -> tuple[dict[str, float], bool, str, float]:
        try:
            given = self.options(i)
            if "output" not in given and self._ends:
                given["output"] = [given.get("t_end", given.get("until"))]
            traj = simulated_until(self.dynamics, given.pop("t_end", None), progress=False, **given)
        except ValueError as error:
            return {}, False, str(error), np.nan
        return self._of(traj)

    def _of(self, traj: Trajectory) -> tuple[dict[str, float], bool, str, float]:
        done = traj.outcome.finished
        values = self._reader(traj).one(traj) if done and self.kept else {}
        return values, done, str(traj.outcome), traj.outcome.time

    def _called(self, i: int) -> tuple[dict[str, float], bool, str, float]:
        """A row of a study whose run is a function."""
        assert callable(self.run)
        try:
            found = self.run(self.dynamics, self.over.row(i))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            return {}, False, str(error) or type(error).__name__, np.nan
        if isinstance(found, Trajectory):
            return self._of(found)
        if not isinstance(found, Mapping):
            found = {"result": found}
        try:
            return {str(name): float(value) for name, value in found.items()}, True, _WELL, np.nan
        except (TypeError, ValueError):
            raise TypeError(
                f"run gave {found!r:.60} for row {i}, expected a trajectory, a number, or numbers by name."
            ) from None

    def _collected(self, found: list[tuple[dict[str, float], bool, str, float]]) -> Columns:
        names = dict.fromkeys([kept.name for kept in self.kept] if not callable(self.run) else [])
        for values, *_ in found:
            names |= dict.fromkeys(values)
        columns = {name: np.array([values.get(name, np.nan) for values, *_ in found]) for name in names}
        columns["finished"] = np.array([done for _, done, *_ in found], dtype=bool)
        columns["t_end"] = np.array([end for *_, end in found], dtype=float)
        columns["outcome"] = np.array([said for *_, said, _ in found], dtype=object)
        return columns

    # side by side

    @cached_property
    def _ends(self) -> bool:
        """Whether the ends of runs are all that is kept."""
        plain = not callable(self.run) and self.run.get("until") is None
        return plain and all(k.function is None and {r.kind for r in k.reductions} <= ENDS for k in self.kept)

    @cached_property
    def _plain(self) -> bool:
        """Whether `simulate_many` can take it: forces that vary are numbers, outputs are times."""
        assert isinstance(self.run, Mapping)
        tau = self.run.get("tau")
        forced = any(p is not None and p.group == "tau" for p in self.places.values())
        laws = isinstance(tau, Mapping) and any(isinstance(e, (str, Expr)) for e in tau.values())
        named = isinstance(tau, Mapping) or tau is None
        held = "steps" in str(self.run.get("output")) or self.run.get("t_end") is None
        return not held and not (forced and (laws or not named)) and not self.run.get("reacting")

    def _together(self, first: int, last: int) -> Columns:
        given = dict(self.run)  # type: ignore[arg-type]
        rows = self.over.where(slice(first, last))
        for name, column in rows.items():
            place = self.places[name]
            assert place is not None
            self._set(given, place, column)
        if isinstance(given.get("tau"), Mapping) and any(np.ndim(e) for e in given["tau"].values()):
            given |= self._force_rows(given, last - first)
        t0, t_end = given.get("t0", 0.0), given.pop("t_end")
        if not self._ends:
            given.setdefault("output", np.linspace(t0, t_end, 501))
        given = {"method": "dop853"} | given
        given.pop("progress", None)
        if not rows:  # the same run again and again has no columns
            given["q0"] = np.tile(self.dynamics.equations.model.neutral(), (last - first, 1))
        bundle = simulate_many(self.dynamics, given.pop("q0", None), given.pop("u0", None), t_end,
                               threads=self.threads, **given)  # fmt: skip
        done = np.array([outcome.finished for outcome in bundle.outcomes])
        smooth = not any(run.events or len(run.t) != len(bundle.t) for run in bundle.runs.values())
        if done.any() and self.kept and smooth and all(k.function is None for k in self.kept):
            reader = self._reader(bundle[int(np.argmax(done))])
            p = np.broadcast_to(bundle.parameters, (len(bundle), len(self.dynamics.parameters)))
            values = reader.many(bundle.t, bundle.q, bundle.u, bundle.tau, bundle.z, p)
            columns: Columns = {name: np.where(done, values[name], np.nan) for name in (k.name for k in self.kept)}
            columns["finished"] = done
            columns["t_end"] = np.array([outcome.time for outcome in bundle.outcomes])
            columns["outcome"] = np.array([str(outcome) for outcome in bundle.outcomes], dtype=object)
            return columns
        return self._collected([self._of(traj) for traj in bundle])

    def _force_rows(self, given: Mapping[str, Any], count: int) -> dict[str, Any]:
        """Forces as rows, and the controls that were given beside them with the others."""
        inputs, nu = input_names(self.dynamics.equations), len(self.dynamics.equations.u)
        found, controls = np.zeros((count, nu)), {}
        for name, value in given["tau"].items():
            if str(name) in inputs[nu:]:
                controls[str(name)] = value
            else:
                found[:, inputs.index(str(name))] = value
        if not controls:
            return {"tau": found}
        others = given.get("controls")
        if others is not None and (not isinstance(others, Mapping) or {*map(str, others)} & {*controls}):
            raise ValueError("run: controls are given in tau and beside it, expected one of them by name.")
        return {"tau": found, "controls": {**(others or {}), **controls}}

    def _reader(self, traj: Trajectory) -> Reader:
        if "reader" not in self.__dict__:
            self.__dict__["reader"] = Reader(self.kept, traj)
        found: Reader = self.__dict__["reader"]
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "reader"}
