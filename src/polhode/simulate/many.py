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
from .system import system_of
from .trajectory import Outcome, Trajectory


@dataclass(frozen=True, kw_only=True, eq=False)
class Bundle:
    """The motions from many initial states, at the same output times.

    t    : (k,)
    q, u : (count, k, nq), (count, k, nu); NaN where a run ended early
    outcomes : how each run ended

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

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> Trajectory:
        kept = np.isfinite(self.q[i]).all(axis=1) & np.isfinite(self.u[i]).all(axis=1)
        kept[0] = True
        k = len(kept) if kept.all() else int(np.argmin(kept))
        tau = np.tile(self.tau[i] if self.tau.ndim == 2 else self.tau, (k, 1))
        return Trajectory(
            dynamics=self.dynamics,
            t=self.t[:k],
            q=self.q[i, :k],
            u=self.u[i, :k],
            tau=tau,
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


def in_lanes(
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
    """Fixed steps for a mechanism without constraints; output times are multiples of the step."""
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
        tau=forces,
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


def one_by_one(run: Any, q0: np.ndarray, u0: np.ndarray, threads: int) -> Bundle:
    """Any method, each state for itself."""
    run(q0[0], u0[0])  # compiled once, before the threads need it
    with ThreadPoolExecutor(threads) as pool:
        found: list[Trajectory] = list(pool.map(partial(_single, run), q0, u0))
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
        tau=np.stack([traj.tau[-1] for traj in found]),
        parameters=longest.parameters,
        outcomes=tuple(traj.outcome for traj in found),
        statistics={"method": longest.statistics["method"]},
    )


def _single(run: Any, q: np.ndarray, u: np.ndarray) -> Trajectory:
    found: Trajectory = run(q, u)
    return found
