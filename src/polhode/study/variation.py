"""The variational equations of a machine at many states at once.

    M dudot = dR + J^T dlam,   J dudot + dS = 0,   d(qdot, zdot) by the equations themselves

Constraints are those of accelerations: what keeps a run on its constraints has no part in them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from polhode.analyze.columns import asked
from polhode.analyze.operating import Operating
from polhode.analyze.turns import Charts
from polhode.equations.tangent import Tangent
from polhode.graph import Expr, evaluate

_BLOCK = 200_000  # directions at states that are taken at once


@dataclass(frozen=True, kw_only=True)
class Along:
    """What is known at N states.

    T    : (N, nq, nx), dq = T r of small changes r
    udot : (N, nu)
    A, B : (N, n, n), (N, n, np), rates of changes by changes of (r, u, z) and by parameters
    dudot : (N, nu, n), (N, nu, np)
    """

    T: np.ndarray
    udot: np.ndarray
    A: np.ndarray
    B: np.ndarray
    dudot: tuple[np.ndarray, np.ndarray]


def along(at: Operating, tangent: Tangent, charts: Charts, t: np.ndarray, x: np.ndarray, tau: np.ndarray) -> Along:
    """The variational equations at states x, (N, n), with forces tau beside their laws, (N, nu + nc)."""
    each = max(1, _BLOCK // max(1, x.shape[1] * (x.shape[1] + tangent.moving.get("p", 0))))
    parts = [_along(at, tangent, charts, t[i : i + each], x[i : i + each], tau[i : i + each])
             for i in range(0, len(t), each)]  # fmt: skip
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("T", "udot", "A", "B")}
    dudot = tuple(np.concatenate([part.dudot[k] for part in parts]) for k in (0, 1))
    return Along(**joined, dudot=dudot)  # type: ignore[arg-type]


def _along(at: Operating, tangent: Tangent, charts: Charts, t: np.ndarray, x: np.ndarray, tau: np.ndarray) -> Along:
    eq = at.program.equations
    nq, nu, nz, N, m = len(eq.q), len(eq.u), len(eq.z), len(t), len(at.rows)
    nx, npar = charts.T.shape[1], tangent.moving.get("p", 0)
    n = nx + nu + nz
    here = replace(at.point, x=x, udot=np.zeros((N, nu)), lam=np.zeros((N, m)), tau=tau)
    # accelerations and reactions
    values, slopes = tangent.many(t, here, udot=np.eye(nu))
    solve = _Solve(-slopes["R"], slopes["S"], *_measured(at, t, x))
    udot = solve(values["R"][..., None], values["S"][..., None])
    lam = solve.reactions(udot, values["R"][..., None])[..., 0]
    here = replace(here, udot=udot[..., 0], lam=lam)
    # changes of the state, then of parameters
    T, qdot = _turned(charts, x[:, :nq]), values["qdot"]
    dx, dp = np.zeros((N, nq + nu + nz, n + npar)), np.zeros((npar, n + npar))
    dx[:, :nq, :nx] = T
    dx[:, nq:, nx:n] = np.eye(nu + nz)
    dp[:, n:] = np.eye(npar)
    _, slopes = tangent.many(t, here, x=dx, **({"p": dp} if npar else {}))
    dudot = solve(slopes["R"], slopes["S"])
    rates = slopes["qdot"].copy()
    if charts.blocks:
        rates[..., :nx] -= _turned(charts, qdot, False)
        rates = np.linalg.pinv(T) @ rates
    F = np.concatenate([rates, dudot, slopes["zdot"]], axis=1)
    if not np.isfinite(F).all():
        k = int(np.argmin(np.isfinite(F).all(axis=(1, 2))))
        raise ValueError(
            f"sensitivities: derivatives are not finite at t = {t[k]:.6g} s: a singular position of a joint's angles, "
            "or a law with a corner. Give the joint quaternion=True, or end before."
        )
    return Along(T=T, udot=udot[..., 0], A=F[..., :n], B=F[..., n:], dudot=(dudot[..., :n], dudot[..., n:]))


def _measured(at: Operating, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What rows of speeds are measured by, (N, m), what share of it counts, (m,), and how far speeds go, (N, nu)."""
    rows, N = list(at.rows), len(t)
    least = np.array(at.program.held.least)[: len(at.program.constraints)][rows]
    if not rows:
        return np.zeros((N, 0)), least, np.ones((N, 0))
    _, _, E, reach = at.program.assembled(t[:, None], x, at.point.p, False)
    size = np.sqrt(((E * reach[:, None]) ** 2).sum(axis=-1))[:, rows]
    return np.where(size > 0, size, 1.0), least, reach


def _turned(charts: Charts, q: np.ndarray, constant: bool = True) -> np.ndarray:
    """T at coordinates (N, nq); linear in quaternions, so at their rates, without what is constant, its rate."""
    found = np.zeros((len(q), *charts.T.shape))
    if constant:
        found[:] = charts.T
    for place, first, block in charts.blocks:
        rows, columns = slice(place, place + 4), slice(first, first + 3)
        found[:, rows, columns] = 0
        for k in range(4):
            at: dict[Expr, float] = dict.fromkeys(charts.q, 0.0)
            at[charts.q[place + k]] = 1.0
            unit = np.array(evaluate([*block.entries], at)).reshape(block.shape)
            found[:, rows, columns] += q[:, place + k, None, None] * unit
    return found


class _Solve:
    """M a = R + J^T lam, J a + S = 0 at N states: a = H (-S) + G (G^T M G)^-1 G^T (R + M H S)."""

    def __init__(self, M: np.ndarray, J: np.ndarray, size: np.ndarray, least: np.ndarray, reach: np.ndarray) -> None:
        """Take rows J, (N, m, nu), that are measured by `size` and count from the share `least` of it on, as `columns`
        has them: so rows that repeat others to the digits of a file hold nothing more."""
        self.M, self.G = M, None
        if not J.shape[1]:
            return
        found = asked(J, size, least, reach)
        if found is None:
            raise ValueError(
                "sensitivities: the constraints change how many motions they leave along the way: a singular "
                "position, beside which derivatives do not exist. End before it, or start elsewhere."
            )
        V, C = found
        beside = np.linalg.svd(V, full_matrices=True)[2][:, V.shape[1] :]
        self.G = np.swapaxes(beside, 1, 2) * reach[..., None]
        self.H = np.swapaxes(V, 1, 2) * reach[..., None] @ C

    def __call__(self, R: np.ndarray, S: np.ndarray) -> np.ndarray:
        if self.G is None:
            return np.linalg.solve(self.M, R)
        fixed = -self.H @ S
        Gt = np.swapaxes(self.G, 1, 2)
        found: np.ndarray = fixed + self.G @ np.linalg.solve(Gt @ self.M @ self.G, Gt @ (R - self.M @ fixed))
        return found

    def reactions(self, udot: np.ndarray, R: np.ndarray) -> np.ndarray:
        """lam with J^T lam = M udot - R, (N, m, 1)."""
        if self.G is None:
            return np.zeros((len(R), 0, 1))
        found: np.ndarray = np.swapaxes(self.H, 1, 2) @ (self.M @ udot - R)
        return found
