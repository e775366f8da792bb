"""Parameters of a machine from what was measured of it, by least squares.

    minimise sum rho(((y(t_i; theta) - y_i) / sigma)^2)

with exact Jacobians from the variational equations. Intervals are those of the linearised model: the covariance is
s^2 (J^T J)^-1, with the variance s^2 of the residuals. Reference: [Bates, Watts, Nonlinear Regression Analysis].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polhode.analyze.asked import names_of
from polhode.equations import Dynamics
from polhode.equations.warning import warn_caller
from polhode.graph import Expr
from polhode.model.errors import closest
from polhode.model.spelling import spelled
from polhode.simulate import Simulation
from polhode.simulate.asked import is_number, movable
from polhode.simulate.run import simulated
from polhode.view import needed

from .fitted import Fit, FitWarning, doubtful, leverages
from .measures import slopes_along, values_along
from .names import place_of
from .samples import driven_by
from .sensitivities import sensitivities

_LOSSES = ("linear", "soft_l1", "huber", "cauchy")
_FOLLOWS = 0.3  # correlation from sample to sample that is told
_EXACT = 1e-6  # of the spread of a column: residuals below are rounding
_TIMES, _STEPS = 10, 1000  # a trial takes so many times the steps of runs before, and of this many, at most
_ROUNDS = 2  # times that the noise of each quantity is taken from residuals


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One run that was measured.

    data   : columns by name, "t" among them, ascending; NaN where nothing was measured. A DataFrame will do
    q0, u0, z0 : where it started, as far as it is known, by name
    tau    : what drove it: numbers, expressions, pairs of times and values by name, or the name of a column
    p      : values of parameters in this run alone
    t0     : when it started, its first time where nothing is given
    """

    data: Any
    q0: Mapping[str, float] = field(default_factory=dict)
    u0: Mapping[str, float] = field(default_factory=dict)
    z0: Mapping[str, float] = field(default_factory=dict)
    tau: Mapping[str, Any] = field(default_factory=dict)
    p: Mapping[str, float] = field(default_factory=dict)
    t0: float | None = None


@dataclass(frozen=True, kw_only=True)
class _Run:
    """An experiment, read."""

    t: np.ndarray
    y: np.ndarray  # (k, m), NaN where nothing was measured
    start: Mapping[str, dict[str, float]]
    tau: Mapping[str, Any]
    p: Mapping[str, float]
    t0: float
    initial: tuple[str, ...]  # of the unknowns, those of its own


@spelled("fit", {"measurements": "Give data=.", "sigma": "Give noise=."})
def fit(
    dynamics: Dynamics,
    data: Any,
    parameters: Mapping[str, Any] | Iterable[str],
    *,
    measured: Mapping[str, str | Expr] | Iterable[str] | None = None,
    initial: Iterable[str] = (),
    q0: Mapping[str, float] | None = None,
    u0: Mapping[str, float] | None = None,
    z0: Mapping[str, float] | None = None,
    tau: Mapping[str, Any] | None = None,
    p: Mapping[str, float] | None = None,
    noise: Mapping[str, float] | None = None,
    loss: str = "linear",
    confidence: float = 0.95,
    independent: Iterable[str] = (),
    method: str = "dop853",
    rtol: float = 1e-8,
    atol: float = 1e-8,
    most: int = 50,
) -> Fit:
    """Find the parameters with which a machine moves as it was measured.

    data       : times and measured quantities by name, {"t": t, "theta": theta}, a DataFrame, an `Experiment`, or
                 several of these in a list
    parameters : first guesses by name, {"m": 0.3}, or with bounds, {"m": (0.3, 0, 1)}; or names, ["m"], with guesses
                 in p. A name that is none of the machine's may stand in `measured`: the offset of a sensor
    measured   : what the columns are: names, or expressions by name, {"angle": "theta + offset"}, also of
                 `eq.kane.udot`. All columns but "t" and inputs by default, by their own names
    initial    : names of initial values that are unknown, "q.theta" or "theta", of each experiment by itself; guesses
                 are q0, u0, z0, or for a coordinate or speed that was measured its first value
    tau        : what drove it: numbers and expressions by name, pairs of times and values, or names of columns
    p          : values of the parameters that are known
    noise      : standard deviations by column; from the residuals where they are not given
    loss       : "linear", least squares; "soft_l1", "huber", "cauchy" let single values be off
    confidence : of the intervals

    The result prints as a table. It warns (FitWarning) of what the data do not tell, by name.
    """
    optimize = needed("scipy.optimize", "fit", "fit")
    movable(dynamics, "fit")
    if loss not in _LOSSES:
        raise ValueError(f"loss is {loss!r:.40}. {closest(loss, _LOSSES)}")
    if not (is_number(confidence) and 0 < confidence < 1):
        raise ValueError(f"confidence is {confidence!r:.40}, expected a number between 0 and 1, such as 0.95.")
    guesses, bounds = _guesses(parameters, p or {})
    extra = [name for name in guesses if _foreign(dynamics, name, measured)]
    shared = [name for name in guesses if name not in extra]
    for name in shared:
        if place_of(dynamics, name, "parameters").group != "p":
            raise ValueError(f"parameters: {name!r} is an initial value. Name it in initial=[...], with a guess in q0.")
    listed = data if isinstance(data, (list, tuple)) else [data]
    if not listed:
        raise ValueError("data is empty, expected one experiment or more.")
    common = Experiment(data=None, q0=q0 or {}, u0=u0 or {}, z0=z0 or {}, tau=tau or {}, p=p or {})
    columns: dict[str, str | Expr] = {}
    runs = [_read(dynamics, one, common, measured, names_of(initial, "initial"), columns, i, guesses, extra)
            for i, one in enumerate(listed)]  # fmt: skip
    if not shared and not names_of(initial, "initial"):
        raise ValueError("parameters: there is no parameter of the machine among them, nor an initial value.")
    names = [*shared, *extra]
    start = [guesses[name] for name in names]
    for i, run in enumerate(runs):
        for name in run.initial:
            place = place_of(dynamics, name, "initial")
            names.append(f"{name}[{i}]" if len(runs) > 1 else name)
            start.append(run.start[place.group].get(place.name, 0.0))
    problem = _Problem(
        dynamics=dynamics, runs=runs, columns=columns, shared=shared, extra=extra, names=names,
        options={"independent": tuple(independent), "method": method, "rtol": rtol, "atol": atol},
    )  # fmt: skip
    known = _noise(noise, columns)
    spread = np.nanstd(np.concatenate([run.y for run in runs]), axis=0)
    sigma = np.where(np.isnan(known), np.where(spread > 0, spread, 1.0), known)
    each = [bounds.get(name, (-np.inf, np.inf)) for name in names]
    low, high = (np.array([one[k] for one in each]) for k in (0, 1))
    x, evaluations = np.array(start, dtype=float), 0
    for k in range(_ROUNDS + 1 if np.isnan(known).any() else 1):
        last = k == _ROUNDS or not np.isnan(known).any()
        close = 1e-8 if last else 1e-3
        found = optimize.least_squares(
            lambda x, s=sigma: problem.residuals(x, s), x, lambda x, s=sigma: problem.slopes(x, s), bounds=(low, high),
            x_scale="jac", loss=loss if last else "linear", max_nfev=most, xtol=close, ftol=close, gtol=1e-12,
        )  # fmt: skip
        x, evaluations = found.x, evaluations + found.nfev
        if not last:
            used = leverages(problem.slopes(x, sigma), problem.places, len(columns))
            sigma = np.where(np.isnan(known), _scale(problem.off(x), loss, used), known)
    result = doubtful(
        (problem.residuals(x, sigma), problem.slopes(x, sigma)), x, names, start=start, loss=loss,
        confidence=confidence,
        columns=tuple(columns), sigma=sigma, known=~np.isnan(known), places=problem.places, evaluations=evaluations,
        reason=str(found.message), finished=bool(found.success), model=dynamics.equations.model.name,
        bounded=(x <= low) | (x >= high) | (np.array(found.active_mask) != 0),
        follow=_following(problem.off(x), [len(run.t) for run in runs], list(columns), spread, len(names)),
    )  # fmt: skip
    for said in result.notes:
        warn_caller(said, FitWarning)
    return result


def _guesses(parameters: Any, p: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    if isinstance(parameters, (str, list, tuple)) and parameters:
        names, known = names_of(parameters, "parameters"), {str(name): value for name, value in p.items()}
        if without := [name for name in names if name not in known]:
            raise ValueError(
                f"parameters: {without[0]!r} has no first guess. Give {{{without[0]!r}: 1.0}}, or p={{{without[0]!r}: "
                "1.0}."
            )
        parameters = {name: known[name] for name in names}
    if not isinstance(parameters, Mapping) or not parameters:
        raise TypeError(
            f'parameters is {parameters!r:.60}, expected first guesses by name, such as {{"m": 0.3}}, or with bounds, '
            '{"m": (0.3, 0, 1)}.'
        )
    guesses, bounds = {}, {}
    for key, value in parameters.items():
        name, parts = str(key), value if isinstance(value, (tuple, list)) else (value,)
        if len(parts) not in (1, 3) or not all(is_number(part) for part in parts):
            raise ValueError(f"parameters: {name!r} is {value!r:.60}, expected a guess or (guess, least, most).")
        guesses[name] = float(parts[0])
        if len(parts) == 3:
            guess, low, high = map(float, parts)
            if not low < guess < high:
                raise ValueError(f"parameters: {name!r} is {value!r:.60}, expected a guess between its bounds.")
            bounds[name] = (low, high)
    return guesses, bounds


def _foreign(dynamics: Dynamics, name: str, measured: Any) -> bool:
    """Whether it is a name of sensors alone: in an expression of `measured`, and none of the machine's."""
    try:
        place_of(dynamics, name, "parameters")
    except KeyError:
        from polhode.graph import free_symbols
        from polhode.model.expression import Symbols, parse

        laws = measured.values() if isinstance(measured, Mapping) else ()
        found = [parse(e, Symbols(), "measured") if isinstance(e, str) else e for e in laws]
        if name in {str(s) for e in found for s in free_symbols(e)}:
            return True
        raise
    return False


def _columns(data: Any, i: int) -> dict[str, np.ndarray]:
    where = f"Experiment {i}"
    if getattr(getattr(data, "index", None), "name", None) == "t" and "t" not in data:
        data = data.reset_index()  # a DataFrame over t, as traj.to_pandas() gives
    try:
        found = {str(name): np.asarray(data[name], dtype=float) for name in data}
    except (TypeError, ValueError, KeyError, IndexError):
        raise TypeError(f'{where}: data is {data!r:.60}, expected columns by name: {{"t": ..., "x": ...}}.') from None
    if "t" not in found:
        raise KeyError(f'{where}: there is no column "t" of times, only {", ".join(map(repr, found))}.')
    t = found["t"]
    for name, column in found.items():
        if column.shape != t.shape or t.ndim != 1:
            raise ValueError(f"{where}: column {name!r} has shape {column.shape} and t {t.shape}, expected (k,) both.")
        if np.isinf(column).any():
            raise ValueError(f"{where}: column {name!r} has infinity, expected numbers, or NaN where there are none.")
    if len(t) < 2 or not (np.diff(t) > 0).all():
        raise ValueError(f"{where}: its times do not ascend, expected two or more that do. Sort the rows by t.")
    return found


def _read(
    dynamics: Dynamics, one: Any, common: Experiment, measured: Any, initial: tuple[str, ...],
    columns: dict[str, str | Expr], i: int, guesses: Mapping[str, float], extra: Sequence[str],
) -> _Run:  # fmt: skip
    """Read an experiment, with what all have in common; `columns` is found with the first."""
    own = one if isinstance(one, Experiment) else Experiment(data=one)
    data = _columns(own.data, i)
    tau = dict(common.tau) | dict(own.tau)
    used = {value for value in tau.values() if isinstance(value, str) and value in data}
    tau = {
        name: (data["t"], data[value]) if isinstance(value, str) and value in data else value
        for name, value in tau.items()
    }
    if not columns:
        if measured is None:
            measured = [name for name in data if name != "t" and name not in used]
        given = measured if isinstance(measured, Mapping) else {name: name for name in names_of(measured, "measured")}
        columns.update({str(name): value for name, value in given.items()})
        if not columns:
            raise ValueError('data has no measured columns beside "t".')
    if missing := [name for name in columns if name not in data]:
        raise KeyError(f"Experiment {i}: there is no column {missing[0]!r}. {closest(missing[0], list(data))}")
    y = np.column_stack([data[name] for name in columns])
    start = {group: dict(getattr(common, f"{group}0")) | dict(getattr(own, f"{group}0")) for group in "quz"}
    for name in initial:
        place = place_of(dynamics, name, "initial")
        if place.group not in "quz":
            raise ValueError(f"initial: {name!r} is no initial value. Name it in parameters={{...}}.")
        seen = [k for k, e in enumerate(columns.values()) if str(e) == place.name]
        if place.name not in start[place.group] and seen and np.isfinite(y[0, seen[0]]):
            start[place.group][place.name] = float(y[0, seen[0]])
    p = {name: value for name, value in (dict(common.p) | dict(own.p)).items() if name not in guesses}
    t0 = float(data["t"][0]) if own.t0 is None else own.t0
    if t0 > data["t"][0]:
        raise ValueError(f"Experiment {i}: t0 is {t0:g}, after the first time {data['t'][0]:g}.")
    return _Run(t=data["t"], y=y, start=start, tau=tau, p=p, t0=t0, initial=initial)


def _following(
    off: np.ndarray, counts: Sequence[int], names: Sequence[str], spread: np.ndarray, unknowns: int
) -> dict[str, float]:
    """Columns whose residuals follow one another, with their correlation from sample to sample.

    Noise that is independent has none, but for its deviation of 1 / sqrt(N).
    """
    found = {}
    runs = np.split(off, np.cumsum(counts)[:-1])
    for k, name in enumerate(names):
        pairs = np.concatenate([np.column_stack([run[:-1, k], run[1:, k]]) for run in runs])
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        size = float((pairs**2).mean(axis=0).prod() ** 0.5) if len(pairs) else 0.0
        if len(pairs) <= 4 * unknowns or not size > (_EXACT * spread[k]) ** 2:
            continue
        along = float((pairs[:, 0] * pairs[:, 1]).mean() / size)
        if along > max(_FOLLOWS, 4 / np.sqrt(len(pairs))):
            found[name] = along
    return found


def _noise(noise: Mapping[str, float] | None, columns: Mapping[str, Any]) -> np.ndarray:
    found = np.full(len(columns), np.nan)
    for name, value in (noise or {}).items():
        if name not in columns:
            raise KeyError(f"noise: there is no measured column {name!r}. {closest(name, list(columns))}")
        if not (is_number(value) and 0 < value < np.inf):
            raise ValueError(f"noise: {name!r} is {value!r:.40}, expected a standard deviation, more than 0.")
        found[list(columns).index(name)] = value
    return found


def _scale(off: np.ndarray, loss: str, used: np.ndarray) -> np.ndarray:
    """The noise of each column from its residuals, some used up by unknowns; of robust losses from their median."""
    count = np.maximum(np.isfinite(off).sum(axis=0), 1)
    if loss == "linear":
        found = np.sqrt(np.nansum(off**2, axis=0) / np.maximum(count - used, 0.1 * count))
    else:
        found = 1.4826 * np.nanmedian(np.abs(off), axis=0)
    return np.where(found > 0, found, np.nanmax(np.append(np.abs(off).ravel(), 1e-12)) or 1.0)


@dataclass(kw_only=True)
class _Problem:
    """Residuals and their derivatives, of all experiments; the last ones are remembered."""

    dynamics: Dynamics
    runs: Sequence[_Run]
    columns: Mapping[str, str | Expr]
    shared: Sequence[str]
    extra: Sequence[str]
    names: Sequence[str]
    options: Mapping[str, Any]
    _seen: dict[str, tuple[np.ndarray, list[np.ndarray]]] = field(default_factory=dict)
    _steps: dict[int, int] = field(default_factory=dict)  # the most that a run of an experiment took

    def residuals(self, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """By their noise, (N,), without what was not measured; infinite where a trial of parameters cannot run."""
        try:
            parts = self._values(x)
        except ValueError:
            if not self._seen:
                raise  # the first guesses
            return np.full(sum(int(np.isfinite(run.y).sum()) for run in self.runs), np.inf)
        return np.concatenate(
            [((y - run.y) / sigma)[np.isfinite(run.y)] for run, y in zip(self.runs, parts, strict=True)]
        )

    def slopes(self, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """Derivatives of the residuals, (N, n)."""
        if "slopes" not in self._seen or not np.array_equal(self._seen["slopes"][0], x):
            self._seen["slopes"] = x.copy(), [self._slopes(i, run, x) for i, run in enumerate(self.runs)]
        parts = zip(self.runs, self._seen["slopes"][1], strict=True)
        return np.concatenate([(J / sigma[:, None])[np.isfinite(run.y)] for run, J in parts])

    @property
    def places(self) -> np.ndarray:
        """The column of each residual, (N,)."""
        return np.concatenate([np.nonzero(np.isfinite(run.y))[1] for run in self.runs])

    def off(self, x: np.ndarray) -> np.ndarray:
        """Residuals in the units of what was measured, (k, m)."""
        return np.concatenate([y - run.y for run, y in zip(self.runs, self._values(x), strict=True)])

    def _values(self, x: np.ndarray) -> list[np.ndarray]:
        if "values" not in self._seen or not np.array_equal(self._seen["values"][0], x):
            self._seen["values"] = x.copy(), [self._measured(i, run, x) for i, run in enumerate(self.runs)]
        return self._seen["values"][1]

    def _given(self, i: int, run: _Run, x: np.ndarray) -> tuple[dict[str, Any], dict[str, float]]:
        """What a run is given, and the values of names that are no part of the machine."""
        shared, place = len(self.shared), self._place(i)
        values = dict(zip((name.removeprefix("p.") for name in self.shared), x[:shared].tolist(), strict=True))
        more = dict(zip(self.extra, x[shared : shared + len(self.extra)].tolist(), strict=True))
        start = {group: dict(given) for group, given in run.start.items()}
        for name, value in zip(run.initial, x[place : place + len(run.initial)].tolist(), strict=True):
            at = place_of(self.dynamics, name, "initial")
            start[at.group][at.name] = value
        known = {name: value for name, value in run.p.items() if name in self.dynamics.parameters}
        output = run.t if run.t[0] == run.t0 else np.concatenate([[run.t0], run.t])
        given = {"q0": start["q"], "u0": start["u"], "z0": start["z"] or None, "p": known | values, "t0": run.t0}
        options = {name: value for name, value in self.options.items() if name != "independent"}
        return given | options | {"t_end": float(run.t[-1]), "output": output}, more

    def _place(self, i: int) -> int:
        """Where the initial values of an experiment are among the unknowns."""
        return len(self.shared) + len(self.extra) + sum(len(run.initial) for run in self.runs[:i])

    def _failed(self, i: int, x: np.ndarray, error: ValueError) -> ValueError:
        at = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.names, x.tolist(), strict=True))
        return ValueError(f"fit, experiment {i}, with {at}: {error}")

    def _measured(self, i: int, run: _Run, x: np.ndarray) -> np.ndarray:
        given, more = self._given(i, run, x)
        driven = driven_by(run.tau or None, self.dynamics.equations, given["t_end"])
        made: list[Simulation] = []

        def make(*args: Any, **named: Any) -> Simulation:
            made.append(Simulation(*args, **named))
            made[0]._most = _TIMES * self._steps.get(i, np.inf)
            return made[0]

        try:
            traj = simulated(self.dynamics, progress=False, make=make, tau=driven.tau, **given)
        except ValueError as error:
            raise self._failed(i, x, error) from error
        if not traj.outcome.finished:
            raise self._failed(i, x, ValueError(f"the run ended early. {traj.outcome}"))
        self._steps[i] = max(self._steps.get(i, _STEPS), made[0]._now.accepted + made[0]._now.rejected)
        return values_along(traj, list(self.columns.values()), more)[-len(run.t) :]

    def _slopes(self, i: int, run: _Run, x: np.ndarray) -> np.ndarray:
        given, more = self._given(i, run, x)
        by = [*self.shared, *(_full(self.dynamics, name) for name in run.initial)]
        try:
            found = sensitivities(self.dynamics, by=by, tau=run.tau or None, refine=False,
                                  independent=self.options["independent"], **given)  # fmt: skip
        except ValueError as error:
            raise self._failed(i, x, error) from error
        J = slopes_along(found, list(self.columns.values()), more)[-len(run.t) :]
        shared, own, place = len(self.shared), len(run.initial), self._place(i)
        whole = np.zeros((*run.y.shape, len(x)))
        whole[..., :shared] = J[..., :shared]
        whole[..., place : place + own] = J[..., shared : shared + own]
        whole[..., shared : shared + len(self.extra)] = J[..., shared + own :]
        return whole


def _full(dynamics: Dynamics, name: str) -> str:
    place = place_of(dynamics, name, "initial")
    return f"{place.group}.{place.name}"
