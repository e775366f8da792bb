"""Many initial states: in SIMD lanes where steps are fixed, on threads in any case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.program import Program, program_of
from polhode.trajectory import Outcome, Trajectory

from .asked import check_span, method_of, times
from .assemble import parameters_of
from .batch import march
from .inputs import Inputs, read_inputs
from .interrupt import shared_out, stoppable
from .run import simulated


@dataclass(frozen=True, kw_only=True, eq=False)
class Bundle:
    """The motions from many initial states, at the same output times.

    t         : (k,)
    q, u, tau : (count, k, nq), (count, k, nu), (count, k, nu); NaN where a run ended early
    outcomes  : how each run ended
    runs      : the motions, where they were computed one by one

    bundle[i] is one motion as a Trajectory.
    """

    dynamics: Dynamics
    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    parameters: np.ndarray
    outcomes: tuple[Outcome, ...]
    statistics: dict[str, Any]
    runs: tuple[Trajectory, ...] = ()

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> Trajectory:
        if not isinstance(i, (int, np.integer)):
            raise TypeError(f"A bundle takes one index, found {i!r:.60}. Use bundle.q[{i!r:.60}], or a loop.")
        if self.runs:
            return self.runs[i]
        kept = np.isfinite(self.q[i]).all(axis=1) & np.isfinite(self.u[i]).all(axis=1)
        kept[0] = True
        k = len(kept) if kept.all() else int(np.argmin(kept))
        return Trajectory(
            dynamics=self.dynamics,
            t=self.t[:k],
            q=self.q[i, :k],
            u=self.u[i, :k],
            tau=self.tau[i, :k],
            parameters=self.parameters,
            outcome=self.outcomes[i],
            statistics=self.statistics,
        )

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        done = sum(outcome.finished for outcome in self.outcomes)
        end = f"all reached t = {self.t[-1]:g} s" if done == len(self) else f"{done:,} reached t = {self.t[-1]:g} s"
        return f"Bundle of {len(self):,} motions of {self.dynamics.equations.model.name!r}: {end}."


def simulate_many(
    dynamics: Dynamics,
    q0: Any,
    u0: Any = None,
    t_end: float | None = None,
    *,
    tau: Any = None,
    method: str = "rk4",
    step: float | None = None,
    output: Any = None,
    t0: float = 0.0,
    threads: int = 1,
    **options: Any,
) -> Bundle:
    """Move a machine from many states, (count, nq) and (count, nu), to t_end.

    tau may have a row for each state. With "rk4", "midpoint" or "euler", no constraints, forces that
    are numbers or expressions and outputs every so many steps, states are computed side by side in
    SIMD lanes. Else one state is taken after the other. Both use threads. The options are those of
    `simulate`; the output is only the ends, unless it is given. After Ctrl-C, there is what there is.
    """
    if not isinstance(dynamics, Dynamics):
        raise TypeError(f"simulate_many takes a Dynamics, found {dynamics!r:.60}. Make one with eq.compile().")
    if not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads is {threads!r:.60}, expected a whole number, 1 or more.")
    eq = dynamics.equations
    q, u = _rows(q0, len(eq.q), "q0"), None if u0 is None else _rows(u0, len(eq.u), "u0")
    u = np.zeros((len(q), len(eq.u))) if u is None else u
    if len(u) != len(q) or not len(q):
        raise ValueError(f"q0 has {len(q)} rows and u0 {len(u)}, expected one of each for every state.")
    chosen, t_end = method_of(method, step, t0), check_span(step, t0, t_end)
    t = times([t0, t_end] if output is None else output, t0, t_end)
    if t is None:
        raise ValueError('output is "steps", which differ from state to state. Give times or a spacing.')
    each = np.ndim(tau) == 2
    rows = _rows(tau, len(eq.u), "tau") if each else [tau] * len(q)
    rows = np.repeat(rows, len(q), axis=0) if each and len(rows) == 1 else rows
    if len(rows) != len(q):
        raise ValueError(f"tau has {len(rows)} rows, expected one row, or one for each of the {len(q)} states.")
    inputs = read_inputs(None if each else tau, eq)
    native = inputs.sampled is None and inputs.continuous is None and not options.keys() - {"p"}
    if chosen.rule.fixed and native and step is not None and _even(t, t0, step):
        program = program_of(dynamics, inputs.laws)
        if not len(program.held):
            forces = np.asarray(rows, dtype=float) if each else inputs.constant
            return _in_lanes(program, inputs, q, u, t, forces, options.get("p"), method, step, threads)
    options |= {"t_end": t_end, "method": method, "step": step, "output": t, "t0": t0, "progress": False}
    return _one_by_one(partial(simulated, dynamics, **options), q, u, t, rows, threads)


def _rows(given: Any, n: int, what: str) -> np.ndarray:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.ndim != 2 or found.shape[1] != n or not np.isfinite(found).all():
        raise ValueError(f"{what} is {given!r:.60}, expected finite numbers, (count, {n}), a row for each state.")
    return found


def _even(t: np.ndarray, t0: float, step: float) -> bool:
    """Tell whether times begin at t0 and are equally many whole steps apart."""
    apart = np.diff(t) / step
    return bool(len(apart)) and t[0] == t0 and apart[0] > 0.5 and np.allclose(apart, round(apart[0]), rtol=1e-9, atol=0)


def _in_lanes(
    program: Program,
    inputs: Inputs,
    q0: np.ndarray,
    u0: np.ndarray,
    t: np.ndarray,
    tau: np.ndarray,
    p: Any,
    method: str,
    step: float,
    threads: int,
) -> Bundle:
    """Fixed steps for a mechanism without constraints; the output times t are whole steps apart."""
    values = parameters_of(program.dynamics, p)
    p = values if len(values) else np.zeros(1)
    steps, every = round((t[-1] - t[0]) / step), round((t[1] - t[0]) / step)
    x = program.unit(np.hstack([q0, u0]))
    with stoppable() as wish:
        rows = march(
            method, program.flow, program.rates, x, step, steps, tau=tau, p=p,
            every=every, t=float(t[0]), units=program.quaternions(), threads=threads,
        )  # fmt: skip
    rows = np.concatenate([x[:, None], rows], axis=1)
    nq = q0.shape[1]
    forces = inputs.along(program, t, rows, p)
    return Bundle(
        dynamics=program.dynamics,
        t=t,
        q=rows[:, :, :nq],
        u=rows[:, :, nq:],
        tau=forces + tau[:, None, :] if tau.ndim == 2 else forces,
        parameters=values,
        outcomes=tuple(_outcome(row, t, program.x, wish.pressed) for row in rows),
        statistics={"method": method, "steps": steps},
    )


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


def _one_by_one(run: Any, q0: np.ndarray, u0: np.ndarray, t: np.ndarray, tau: Any, threads: int) -> Bundle:
    """Any method, each state for itself."""
    with stoppable():
        states = list(zip(range(len(q0)), q0, u0, tau, strict=True))
        first = _single(run, states[0])  # compiled once, before the threads need it
        found = [first, *shared_out(partial(_single, run), states[1:], threads)]

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
        tau=stacked("tau"),
        parameters=first.parameters,
        outcomes=tuple(traj.outcome for traj in found),
        statistics={"method": first.statistics["method"]},
        runs=tuple(found),
    )


def _single(run: Any, state: tuple[int, np.ndarray, np.ndarray, Any]) -> Trajectory:
    i, q, u, tau = state
    try:
        found: Trajectory = run(q, u, tau=tau)
    except ValueError as error:
        raise ValueError(f"State {i}: {error}") from error
    return found
