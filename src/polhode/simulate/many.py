"""Many initial states or parameters: in SIMD lanes where steps are fixed, on threads in any case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.equations import Dynamics
from polhode.equations.program import Program, program_of
from polhode.equations.warning import warn_caller
from polhode.kernels.loop import METHODS
from polhode.model.spelling import spelled
from polhode.trajectory import Outcome, Trajectory
from polhode.trajectory.events import Events
from polhode.trajectory.quantities import within_limits
from polhode.view import needed

from .angles import LOOKS, angles_near, singular_angles
from .asked import MEANT, check_span, method_of, movable, parameters_of, times
from .batch import march
from .bending import bent_far
from .inputs import Inputs
from .interrupt import shared_out, stoppable
from .meeting import may_meet, met
from .rows import column_of, driven_rows, halves, rows_of, together
from .run import last_of, simulated
from .simulation import work_of
from .warning import SimulationWarning, warn

SHORT = 1e-3  # s: most of such a run is Python, of which threads take turns and hinder one another


@dataclass(frozen=True, kw_only=True, eq=False)
class Bundle:
    """The motions from many initial states, at the same output times.

    t         : (k,)
    q, u, tau : (count, k, nq), (count, k, nu), (count, k, nu); NaN where a run ended early
    z         : (count, k, nz), states that are not motion
    work      : (count, k, 3), see `Trajectory.work`
    parameters : values, (n,), or (count, n) where they differ from run to run
    outcomes  : how each run ended
    runs      : the motions that were computed one by one, by number

    bundle[i] is one motion as a Trajectory.
    """

    dynamics: Dynamics
    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    z: np.ndarray
    tau: np.ndarray
    work: np.ndarray
    parameters: np.ndarray
    outcomes: tuple[Outcome, ...]
    statistics: dict[str, Any]
    runs: Mapping[int, Trajectory] = field(default_factory=dict)
    events: Events = field(default_factory=Events)  # of those that were computed side by side: how they start

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> Trajectory:
        if not isinstance(i, (int, np.integer)):
            raise TypeError(f"A bundle takes one index, found {i!r:.60}. Use bundle.q[{i!r:.60}], or a loop.")
        if not -len(self) <= i < len(self):
            raise IndexError(f"There is no run {i}, there are {len(self):,}.")
        i = int(i) % len(self)
        if i in self.runs:
            return self.runs[i]
        good = np.isfinite(self.q[i]).all(axis=1) & np.isfinite(self.u[i]).all(axis=1)
        good[0] = True
        k = len(good) if good.all() else int(np.argmin(good))
        return Trajectory(
            dynamics=self.dynamics,
            t=self.t[:k],
            q=self.q[i, :k],
            u=self.u[i, :k],
            z=self.z[i, :k],
            tau=self.tau[i, :k],
            work_done=self.work[i, :k],
            parameters=self.parameters[i] if self.parameters.ndim == 2 else self.parameters,
            outcome=self.outcomes[i],
            statistics=self.statistics,
            events=self.events,
        )

    def to_pandas(self) -> Any:
        """A pandas DataFrame of the columns of all motions, one below the other; run and t are its index."""
        pandas = needed("pandas", "data", "A DataFrame")
        frames = {i: motion.to_pandas() for i, motion in enumerate(self)}
        return pandas.concat(frames, names=["run"])

    def to_csv(self, path: Any) -> None:
        """Write the same as CSV, numbers in full."""
        self.to_pandas().to_csv(path)

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        done = sum(outcome.finished for outcome in self.outcomes)
        end = f"all reached t = {self.t[-1]:g} s" if done == len(self) else f"{done:,} reached t = {self.t[-1]:g} s"
        return f"Bundle of {len(self):,} motions of {self.dynamics.equations.model.name!r}: {end}."


@spelled("simulate_many", MEANT)
def simulate_many(
    dynamics: Dynamics,
    q0: Any = None,
    u0: Any = None,
    t_end: float | None = None,
    *,
    tau: Any = None,
    controls: Any = None,
    p: Any = None,
    method: str = "rk4",
    step: float | None = None,
    output: Any = None,
    t0: float = 0.0,
    z0: Any = None,
    threads: int = 1,
    **options: Any,
) -> Bundle:
    """Move a machine from many states, or with many values of its parameters, to t_end.

    q0, u0, z0 : (count, nq), (count, nu), (count, nz), a row for each run; one row for all; or by name, each a
             number or (count,)
    p      : values by name, each a number or (count,), or rows in the order of dynamics.parameters
    tau    : as for `simulate`, or a row for each run
    controls : as for `simulate`, or a row for each run, or by name, each a number or (count,)

    With "rk4", "midpoint" or "euler", no constraints, forces that are numbers or expressions and outputs
    every so many steps, runs are computed side by side in SIMD lanes. Else one is taken after the
    other; so are, from their start, runs side by side that meet a stop, a contact or a rope. Both use
    threads. The options are those of `simulate`; with until= something happens, a run is NaN after that, and
    bundle[i] has its own end. The output is only the ends, unless it is given. After Ctrl-C, there is what
    there is; runs that stop early give one warning.
    """
    movable(dynamics, "simulate_many")
    t_end, until = last_of(t_end, options.pop("until", None))
    if until is not None:
        if t_end == np.inf:
            raise ValueError(
                f"simulate_many: until={until} may take longer in one run than in another. Give t_end=, too."
            )
        options["_until"] = until
    if step is None and method in METHODS and METHODS[method].rule.fixed:
        raise ValueError(
            f"simulate_many: method {method!r} has a fixed step, found none. Give step=1e-3, or what suits, or "
            'method="dop853", which chooses its steps.'
        )
    if not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads is {threads!r:.60}, expected a whole number, 1 or more.")
    eq = dynamics.equations
    chosen, t_end = method_of(method, step, t0), check_span(step, t0, t_end)
    t = times([t0, t_end] if output is None else output, t0, t_end)
    if t is None:
        raise ValueError('output is "steps", which differ from run to run. Give times or a spacing.')
    driven = driven_rows(tau, controls, eq)
    inputs, acting = driven.inputs, tau is not None or controls is not None
    program = program_of(dynamics, inputs.laws, acting, stepping=method == "euler")
    parameters = _parameters(dynamics, p)
    starts = np.array([program.starts(row) for row in parameters]) if len(eq.z) else np.zeros((1, 0))
    q0, u0 = halves(q0, u0)
    q, u, z, forces, commands, values = together(
        q0=rows_of(q0, [str(s.value) for s in eq.q], eq.model.neutral()[None], "q0"),
        u0=rows_of(u0, inputs.names[: len(eq.u)], np.zeros((1, len(eq.u))), "u0"),
        z0=rows_of(z0, [str(s.value) for s in eq.z], starts, "z0"),
        tau=driven.forces,
        controls=driven.commands,
        p=parameters,
    )
    native = inputs.sampled is None and inputs.continuous is None and not options and not chosen.rule.whole
    native = native and (not len(program.held) or may_meet(program))
    taus, orders = driven.of_runs(forces, commands)
    given = zip(q, u, z, taus, orders, values, strict=True)
    runs = dict(enumerate(dict(zip(("q0", "u0", "z0", "tau", "controls", "p"), one, strict=True)) for one in given))
    forces = np.concatenate([forces, commands], axis=1)
    options |= {"method": method, "step": step, "t0": t0, "progress": False}
    single = partial(simulated, dynamics, t_end, t, **options)
    if chosen.rule.fixed and native and step is not None and program.flow is not None and _even(t, t0, step):
        x = program.state(q, u, z)
        bundle, which = _in_lanes(program, program.flow, inputs, x, t, forces, values, method, step, threads)
        apart = {i: runs[i] for i in np.flatnonzero(which).tolist()}
        if apart:
            bundle = _joined(bundle, _one_by_one(single, apart, t, threads))
        if len(program.held) and len(apart) < len(runs):
            start = next(runs[i] for i in runs if i not in apart)
            begun = simulated(dynamics, t0 + step, np.array([t0]), **options, **start)
            bundle = replace(bundle, events=Events(begun.events[:1]))
    else:
        bundle = _one_by_one(single, runs, t, threads)
    warn(*bundle.outcomes)
    if near := _singular(bundle):
        warn_caller(near, SimulationWarning)
    return bundle


def _singular(bundle: Bundle) -> str:
    """Say how many runs have singular angles or bend too far, and the first; of very many, some are looked at."""
    looks, said = range(0, len(bundle), len(bundle) // LOOKS + 1), []
    for i in looks:
        p = bundle.parameters if bundle.parameters.ndim == 1 else bundle.parameters[i]
        run = bundle.runs.get(i)
        near = singular_angles(run) if run else angles_near(bundle.dynamics, p, bundle.t[:1], bundle.q[i, :1], 0)
        if near := near or bent_far(bundle.dynamics, p, bundle.t, bundle.q[i]):
            said.append(f"Run {i}: {near}" if len(bundle) > 1 else near)
    counted = f"{len(said)} of {len(looks)} runs{' that were looked at' * (len(looks) < len(bundle))} are doubtful. "
    return (counted if len(said) > 1 else "") + said[0] if said else ""


def _parameters(dynamics: Dynamics, p: Any) -> np.ndarray:
    """Rows of the run-time parameters, (count, n) or (1, n)."""
    if isinstance(p, Mapping) or p is None:
        p = {str(name): value for name, value in (p or {}).items()}
        parameters_of(
            dynamics, {name: column_of(value, f"p: {name!r}")[0] for name, value in p.items()}
        )  # all are there
    return rows_of(p, dynamics.parameters, np.zeros((1, len(dynamics.parameters))), "p")


def _even(t: np.ndarray, t0: float, step: float) -> bool:
    """Tell whether times begin at t0 and are equally many whole steps apart."""
    apart = np.diff(t) / step
    return bool(len(apart)) and t[0] == t0 and apart[0] > 0.5 and np.allclose(apart, round(apart[0]), rtol=1e-9, atol=0)


def _in_lanes(
    program: Program,
    flow: Function,
    inputs: Inputs,
    x: np.ndarray,
    t: np.ndarray,
    tau: np.ndarray,
    values: np.ndarray,
    method: str,
    step: float,
    threads: int,
) -> tuple[Bundle, np.ndarray]:
    """Fixed steps for a mechanism while nothing holds it; the output times t are whole steps apart.

    Returns the motions, and which of them met a stop, a contact or a rope, so that they are not.
    """
    p = program.given(values if values.shape[1] else values[:1], step)
    steps, every = round((t[-1] - t[0]) / step), round((t[1] - t[0]) / step)
    eq = program.equations
    ends = np.cumsum([len(eq.q), len(eq.u), len(eq.z)])
    taken = partial(march, method, flow, program.rates, step=step, tau=tau, p=p, units=program.quaternions(),
                    threads=threads)  # fmt: skip
    apart = np.zeros(len(x), dtype=bool)
    with stoppable() as wish:
        if program.closing is not None:
            moved = lambda x, steps, t: taken(x, steps=steps, t=t)  # noqa: E731
            pressed = lambda: wish.pressed  # noqa: E731
            rows, apart = met(moved, program.closing, x, p, float(t[0]), step, steps, every, pressed)
        else:
            rows = taken(x, steps=steps, every=every, t=float(t[0]))
    rows = np.concatenate([x[:, None], rows], axis=1)
    forces = inputs.along(program, t, rows, p[:, None, :], tau[:, None, :])
    if _shared(values).ndim == 1:
        forces = within_limits(program.dynamics, forces, _shared(values))
    else:
        forces = np.array([within_limits(program.dynamics, *one) for one in zip(forces, values, strict=True)])
    q, u, z, _ = np.split(rows, ends, axis=2)
    bundle = Bundle(
        dynamics=program.dynamics,
        t=t,
        q=q,
        u=u,
        z=z,
        work=work_of(program, rows),
        tau=forces,
        parameters=_shared(values),
        outcomes=tuple(_outcome(row, t, program.x, wish.pressed) for row in rows),
        statistics={"method": method, "steps": steps},
    )
    return bundle, apart & (not wish.pressed)


def _joined(many: Bundle, apart: Bundle) -> Bundle:
    """Put runs that were taken one by one in the places of those that cannot stay."""
    places, outcomes, parts = list(apart.runs), list(many.outcomes), {}
    for i, outcome in zip(places, apart.outcomes, strict=True):
        outcomes[i] = outcome
    for name in ("q", "u", "z", "tau", "work"):
        parts[name] = getattr(many, name).copy()
        parts[name][places] = getattr(apart, name)
    return replace(many, outcomes=tuple(outcomes), runs=apart.runs, **parts)


def _outcome(row: np.ndarray, t: np.ndarray, names: Any, interrupted: bool) -> Outcome:
    good = np.isfinite(row)
    if good.all():
        return Outcome(finished=True, reason=f"Reached t = {t[-1]:.6g} s.", time=float(t[-1]))
    k = int(np.argmin(good.all(axis=1)))
    if interrupted and not good[k:].any():
        return Outcome(finished=False, reason=f"Interrupted after t = {t[k - 1]:.6g} s.", time=float(t[k - 1]))
    culprit = str(names[int(np.argmin(good[k]))].value)
    return Outcome(
        finished=False,
        reason=f"Stopped before t = {t[k]:.6g} s: {culprit!r} became infinite or NaN.",
        time=float(t[max(k - 1, 0)]),
        culprit=culprit,
        remedy="Look at forces that grow without bound; a smaller step may pass.",
    )


def _shared(values: np.ndarray) -> np.ndarray:
    """One row where all are the same."""
    return values[0] if (values == values[0]).all() else values


def _one_by_one(
    run: Callable[..., Trajectory], runs: Mapping[int, dict[str, Any]], t: np.ndarray, threads: int
) -> Bundle:
    """Any method, each run for itself, by arguments of its own; runs by their numbers."""

    def single(i: int) -> Trajectory:
        try:
            return run(**runs[i], _notes=i == numbers[0])
        except ValueError as error:
            raise ValueError(f"Run {i}: {error}") from error

    numbers = list(runs)
    with stoppable():
        first = single(numbers[0])  # compiled once, before the threads need it
        begun = time.perf_counter()
        found = [first, *map(single, numbers[1:2])]
        short = time.perf_counter() - begun < SHORT
        found += shared_out(single, numbers[2:], 1 if short else threads)

    def stacked(name: str) -> np.ndarray:
        """Rows at the times t; what a run added where it stopped stays in it."""
        rows = np.full((len(found), len(t), getattr(first, name).shape[1]), np.nan)
        for row, traj in zip(rows, found, strict=True):
            k = min(int(np.searchsorted(t, traj.outcome.time, side="right")), len(traj))
            row[:k] = getattr(traj, name)[:k]
        return rows

    return Bundle(
        dynamics=first.dynamics,
        t=t,
        q=stacked("q"),
        u=stacked("u"),
        z=stacked("z"),
        tau=stacked("tau"),
        work=stacked("work"),
        parameters=_shared(np.array([traj.parameters for traj in found])),
        outcomes=tuple(traj.outcome for traj in found),
        statistics={"method": first.statistics["method"]},
        runs=dict(zip(numbers, found, strict=True)),
    )
