"""Many initial states: in SIMD lanes where steps are fixed, on threads in any case."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from polhode.equations import Dynamics

from .assemble import parameters_of
from .batch import march
from .outcome import Outcome
from .run import method_of, simulate, times
from .system import system_of
from .trajectory import Trajectory


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
    are numbers and outputs every so many steps, states are computed side by side in SIMD lanes.
    Else one state is taken after the other. Both use threads. The options are those of `simulate`;
    the output is only the ends, unless it is given.
    """
    eq = dynamics.equations
    q, u = (np.asarray(a, dtype=float) if a is not None else None for a in (q0, u0))
    if q is None or q.ndim != 2 or q.shape[1] != len(eq.q):
        raise ValueError(f"q0 has shape {np.shape(q0)}, expected (count, {len(eq.q)}), a row for each state.")
    u = np.zeros((len(q), len(eq.u))) if u is None else u
    if u.shape != (len(q), len(eq.u)):
        raise ValueError(f"u0 has shape {u.shape}, expected ({len(q)}, {len(eq.u)}).")
    chosen = method_of(method, step, t0, t_end)
    assert t_end is not None
    t = times([t0, t_end] if output is None else output, t0, t_end)
    if t is None:
        raise ValueError('output is "steps", which differ from state to state. Give times or a spacing.')
    simple = tau is None or isinstance(tau, (list, tuple, np.ndarray))
    if simple and tau is not None:
        tau = np.asarray(tau, dtype=float)
        if tau.shape not in ((len(eq.u),), (len(q), len(eq.u))):
            raise ValueError(f"tau has shape {tau.shape}, expected ({len(eq.u)},) or ({len(q)}, {len(eq.u)}).")
    if chosen.fixed and simple and not options.keys() - {"p"} and not len(system_of(dynamics).held):
        assert step is not None
        if _even(t, t0, step):
            return _in_lanes(dynamics, q, u, t, tau=tau, p=options.get("p"), method=method, step=step, threads=threads)
    options |= {"t_end": t_end, "method": method, "step": step, "output": t, "t0": t0, "progress": False}
    rows = tau if simple and np.ndim(tau) == 2 else [tau] * len(q)
    return _one_by_one(partial(simulate, dynamics, **options), q, u, rows, threads)


def _even(t: np.ndarray, t0: float, step: float) -> bool:
    """Tell whether times begin at t0 and are equally many whole steps apart."""
    apart = np.diff(t) / step
    return bool(len(apart)) and t[0] == t0 and apart[0] > 0.5 and np.allclose(apart, round(apart[0]), rtol=1e-9, atol=0)


def _in_lanes(
    dynamics: Dynamics,
    q0: np.ndarray,
    u0: np.ndarray,
    t: np.ndarray,
    *,
    tau: Any,
    p: Any,
    method: str,
    step: float,
    threads: int,
) -> Bundle:
    """Fixed steps for a mechanism without constraints; the output times t are whole steps apart."""
    system = system_of(dynamics)
    values = parameters_of(dynamics, p)
    steps = round((t[-1] - t[0]) / step)
    every = round((t[1] - t[0]) / step)
    x = np.hstack([q0, u0])
    forces = np.zeros(u0.shape[1]) if tau is None else np.asarray(tau, dtype=float)
    rows = march(
        method, system.flow, system.rates, x, step, steps, tau=forces, p=values if len(values) else np.zeros(1),
        every=every, t=float(t[0]), units=system.quaternions(), threads=threads,
    )  # fmt: skip
    rows = np.concatenate([x[:, None], rows], axis=1)
    nq = q0.shape[1]
    return Bundle(
        dynamics=dynamics,
        t=t,
        q=rows[:, :, :nq],
        u=rows[:, :, nq:],
        tau=np.broadcast_to(forces[..., None, :], (len(rows), len(t), len(rows[0, 0]) - nq)),
        parameters=values,
        outcomes=tuple(_outcome(row, t, system.x, nq) for row in rows),
        statistics={"method": method, "steps": steps},
    )


def _outcome(row: np.ndarray, t: np.ndarray, names: Any, nq: int) -> Outcome:
    good = np.isfinite(row)
    if good.all():
        return Outcome(finished=True, reason=f"Reached t = {t[-1]:.6g} s.", time=float(t[-1]))
    k = int(np.argmin(good.all(axis=1)))
    culprit = str(names[int(np.argmin(good[k]))].value)
    return Outcome(
        finished=False,
        reason=f"Stopped before t = {t[k]:.6g} s: {culprit!r} became infinite or NaN.",
        time=float(t[max(k - 1, 0)]),
        culprit=culprit,
        remedy="Look at forces that grow without bound; a smaller step may pass.",
    )


def _one_by_one(run: Any, q0: np.ndarray, u0: np.ndarray, tau: Any, threads: int) -> Bundle:
    """Any method, each state for itself."""
    first = run(q0[0], u0[0], tau=tau[0])  # compiled once, before the threads need it
    with ThreadPoolExecutor(threads) as pool:
        found: list[Trajectory] = [first, *pool.map(lambda q, u, f: run(q, u, tau=f), q0[1:], u0[1:], tau[1:])]
    longest = max(found, key=len)
    k = len(longest)

    def stacked(name: str) -> np.ndarray:
        rows = [getattr(traj, name) for traj in found]
        blank = [np.full((k - len(row), row.shape[1]), np.nan) for row in rows]
        return np.stack([np.concatenate(pair) for pair in zip(rows, blank, strict=True)])

    return Bundle(
        dynamics=longest.dynamics,
        t=longest.t,
        q=stacked("q"),
        u=stacked("u"),
        tau=stacked("tau"),
        parameters=longest.parameters,
        outcomes=tuple(traj.outcome for traj in found),
        statistics={"method": longest.statistics["method"]},
        runs=tuple(found),
    )
