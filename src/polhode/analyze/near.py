"""A machine near a point: its derivatives, and the independent states that they are taken by.

See `linearize` for the equations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from polhode.equations.inputs import input_names
from polhode.equations.tangent import Point, Tangent
from polhode.graph import Expr
from polhode.model.errors import closest

from .columns import Rows, Solved, solved
from .operating import Operating
from .singular import At, rank_nearby
from .turns import Charts

_ROUNDING = 128 * 2.0**-52  # of forces, which are sums of some dozens of terms, at positions that are rounded too
_NOTHING = 1e-150  # a rate that only controls have that were moved inside a limit at 0, see `limits`


class Near:
    """Derivatives at a point, and the independent states that they are taken by.

    loads : R and S where nothing accelerates
    lift  : from the states to all coordinates, speeds and other states, which are `whole`
    """

    def __init__(self, at: Operating, tangent: Tangent, charts: Charts, independent: tuple[str, ...]) -> None:
        eq = at.program.equations
        self.eq, self.tangent, self.charts = eq, tangent, charts
        self.nx, self.nu, self.nz, self.m = len(charts.names), len(eq.u), len(eq.z), len(at.rows)
        self.whole = (*charts.names, *(str(s.value) for s in (*eq.u, *eq.z)))
        self._take(replace(at.point, lam=np.zeros(self.m)))
        self._choose(at, independent)
        self._accelerate()
        self._take(self.at)

    def _take(self, at: Point) -> None:
        """Evaluate the equations at a point, and all their derivatives."""
        n, nq = self.nx + self.nu + self.nz, len(self.eq.q)
        dx = np.zeros((nq + self.nu + self.nz, n))
        dx[:nq, : self.nx] = self.charts.T
        dx[nq:, self.nx :] = np.eye(self.nu + self.nz)
        sizes = {"x": n, "udot": self.nu, "lam": self.m, "tau": len(at.tau)}
        sizes |= {"p": self.tangent.moving["p"]} if "p" in self.tangent.moving else {}
        total = sum(sizes.values())
        along, first = {}, 0
        for name, size in sizes.items():
            block = dx if name == "x" else np.eye(size)
            along[name] = np.hstack(
                [np.zeros((len(block), first)), block, np.zeros((len(block), total - first - size))]
            )
            first += size
        self.at = at
        self.values, slopes = self.tangent(at, **along)
        cuts = np.cumsum(list(sizes.values()))[:-1]
        self.slopes = {part: dict(zip(sizes, np.split(s, cuts, axis=1), strict=True)) for part, s in slopes.items()}
        for part, of in self.slopes.items():
            for by, s in of.items():
                if not np.isfinite(s).all():
                    raise self._no_slope(part, by, s)

    def _no_slope(self, part: str, by: str, s: np.ndarray) -> ValueError:
        i, j = np.argwhere(~np.isfinite(s))[0]
        speeds = [str(e.value) for e in self.eq.u]
        rows = {"qdot": [str(e.value) for e in self.eq.q], "R": speeds, "zdot": [str(e.value) for e in self.eq.z]}
        what = {"qdot": "rate of", "R": "force on", "zdot": "rate of"}.get(part, "row")
        which = rows[part][i] if part in rows else str(i)
        towards = {"x": self.whole, "udot": speeds, "tau": input_names(self.eq)}.get(by)
        named = repr(towards[j]) if towards else f"reaction {j}"
        return ValueError(
            f"linearize: the derivative of the {what} {which!r} by {named} is not finite at this state: a singular "
            "position of a joint's angles, or a law with a corner. Move the state away from it."
        )

    def _choose(self, at: Operating, independent: tuple[str, ...]) -> None:
        """Choose independent coordinates, then speeds, with those whose coordinates depend on others as dependent."""
        for name in independent:
            if name not in self.whole:
                raise KeyError(f"independent: there is no state {name!r}. {closest(name, self.whole)}")
        nx, nu = self.nx, self.nu
        positions, speeds = _rows_of(at, self.charts, self.slopes)
        keep = [i for i, name in enumerate(self.whole) if name in independent]
        self.placed = self._solved(positions, self.charts.tied, [i for i in keep if i < nx], 0)
        tied = set(range(nx)) - set(self.placed.free)
        follow = [j for j in range(nu) if self.charts.coordinate_of(j) in tied]
        self.sped = self._solved(speeds, follow, [i - nx for i in keep if nx <= i < nx + nu], nx)
        self._require_regular(at, positions)
        free = [*self.placed.free, *(nx + j for j in self.sped.free), *range(nx + nu, nx + nu + self.nz)]
        self.free, self.states = free, tuple(self.whole[i] for i in free)
        self.sizes = (len(self.placed.free), len(self.sped.free), self.nz)
        # X = lift y: first positions, then speeds that go with them
        L = np.zeros((len(self.whole), len(free)))
        a, b = self.sizes[:2]
        z_at = slice(a + b, None)
        L[nx + nu :, z_at] = np.eye(self.nz)
        phi, psi = self.slopes["phi"]["x"], self.slopes["psi"]["x"]
        L[:nx, :a] = self.placed.G
        L[:nx, z_at] = -self.placed.H @ phi[:, nx + nu :]
        L[nx : nx + nu, a : a + b] = self.sped.G
        L[nx : nx + nu] -= self.sped.H @ (psi[:, :nx] @ L[:nx] + psi[:, nx + nu :] @ L[nx + nu :])
        self.lift = L

    def _require_regular(self, at: Operating, positions: Rows) -> None:
        """Refuse a position in which the machine can move in more ways than beside it."""
        if at.closed and rank_nearby(self._beside(at, positions), self.placed.G, positions.reach) > positions.rank:
            names = ", ".join(dict.fromkeys(repr(at.program.held.names[i]) for i in at.closed))
            raise ValueError(
                f"linearize: this position is singular for {names}: the machine can move in more ways there than "
                "beside it, which no linear model describes. Move away, and close it with assemble(dynamics, q, u)."
            )

    def extents(self, at: Operating) -> tuple[np.ndarray, np.ndarray]:
        """How far coordinates and turns can move, (nx,), and speeds, in the same measure in a second, (nu,)."""
        x, p, t = at.point.x, at.point.p, at.point.t
        far = at.program.assembled(t, x, p, True)[3]
        return self.charts.reach(at.program, at.point, far), at.program.assembled(t, x, p, False)[3]

    def rows_of(self, at: Operating) -> tuple[np.ndarray, np.ndarray]:
        """What the rows of positions and of speeds are measured by."""
        positions, speeds = _rows_of(at, self.charts, self.slopes)
        return positions.size, speeds.size

    def _beside(self, at: Operating, here: Rows) -> At:
        """The rows of positions beside the point, measured as here."""
        nq, along = len(self.eq.q), np.zeros((len(self.at.x), self.nx))
        along[:nq] = self.charts.T

        def rows(r: np.ndarray) -> tuple[np.ndarray, Rows]:
            moved = self.at.x + along @ r
            x, turned = at.program.unit(moved), along.copy()
            for first in at.program.quaternions():  # whose length stays 1
                part = slice(first, first + 4)
                turned[part] -= np.outer(x[part], x[part] @ along[part])
                turned[part] /= np.linalg.norm(moved[part])
            values, slopes = self.tangent(replace(self.at, x=x), x=turned)
            return values["phi"], replace(here, A=slopes["phi"])

        return rows

    def _solved(self, rows: Rows, prefer: Sequence[int], keep: Sequence[int], first: int) -> Solved:
        found = solved(rows, prefer, keep)
        if found is None:
            usual = solved(rows, prefer)
            assert usual is not None
            listed = ", ".join(repr(self.whole[first + j]) for j in usual.free)
            asked = ", ".join(repr(self.whole[first + j]) for j in keep)
            raise ValueError(
                f"independent: {asked} cannot be independent together here, expected at most {len(usual.free)} of "
                f"them, such as {listed}."
            )
        return found

    def _accelerate(self) -> None:
        """Find udot and lam: M udot = R0 + J^T lam, J udot + S0 = 0."""
        self.loads = R, S = self.values["R"], self.values["S"]
        udot = self._accelerations(R[:, None], S[:, None])[:, 0]
        M = -self.slopes["R"]["udot"]
        self.at = replace(self.at, udot=udot, lam=self.sped.reactions(M @ udot - R))

    def _accelerations(self, dR: np.ndarray, dS: np.ndarray) -> np.ndarray:
        """The a with M a = dR + J^T dlam, J a + dS = 0, (nu, k): a = G b - H dS, G^T M G b = G^T (dR + M H dS)."""
        G, M = self.sped.G, -self.slopes["R"]["udot"]
        fixed = -self.sped.H @ dS
        inertia = G.T @ M @ G
        size = np.sqrt(np.abs(np.diag(inertia)))
        size = np.where(size > 0, size, 1.0)
        scaled = inertia / np.outer(size, size)
        if len(scaled) and not np.linalg.cond(scaled) < 1e14:
            raise ValueError(
                f"linearize: the inertia of {self.eq.model.name!r} is singular here, so its accelerations are not "
                "determined. Give what moves mass or an armature, or move the state away from a singular position."
            )
        right = (G.T @ (dR - M @ fixed)) / size[:, None]
        found: np.ndarray = fixed + G @ (np.linalg.solve(scaled, right) / size[:, None])
        return found

    def _whole_rates(self, by: str) -> np.ndarray:
        """d(rates of X), by X or by inputs, before constraints."""
        d = {part: of[by] for part, of in self.slopes.items()}
        moved = d["qdot"] - (self._turning() if by == "x" else 0.0)
        return np.vstack([self.charts.inverse @ moved, self._accelerations(d["R"], d["S"]), d["zdot"]])

    def clean_rates(self, by: str) -> np.ndarray:
        """The same with 0 for what is only rounding."""
        found = self._whole_rates(by)
        return np.where(np.abs(found) > self._rounding(by), found, 0.0)

    def _turning(self) -> np.ndarray:
        """Tdot r, of turns that go with the machine."""
        found = np.zeros((len(self.eq.q), self.slopes["qdot"]["x"].shape[1]))
        found[:, : self.nx] = self.charts.rate(self.values["qdot"])
        return found

    def rates(self, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """A and B, with 0 for what is only rounding."""
        A, B = self._whole_rates("x") @ self.lift, self._whole_rates("tau")
        A = np.where(np.abs(A) > self._rounding("x") @ np.abs(self.lift), A, 0.0)
        B = np.where(np.abs(B) > self._rounding("tau"), B, 0.0)
        return A[self.free], B[self.free][:, list(columns)]

    def _rounding(self, by: str) -> np.ndarray:
        """How far derivatives of rates may be off because forces and rows are rounded, where these nearly cancel."""
        dR, dS = (np.abs(self.slopes[part][by]) for part in ("R", "S"))
        R, S = (np.abs(part)[:, None] * (by == "x") for part in self.loads)
        turned = np.abs(self.slopes["qdot"][by]) + (np.abs(self._turning()) if by == "x" else 0.0)
        return self._spread(dR, R, dS + S, turned)

    def _spread(self, dR: np.ndarray, R: np.ndarray, S: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """The same of forces dR + R, of what rows miss, S, and of rates of coordinates, (..., k)."""
        G, H, M = self.sped.G, np.abs(self.sped.H), -self.slopes["R"]["udot"]
        own = np.sqrt(np.abs(np.diag(G @ np.linalg.pinv(G.T @ M @ G) @ G.T)))
        inverse = np.outer(own, own)  # no entry of it is larger
        tied = H @ S
        found = np.zeros((len(self.whole), dR.shape[1]))
        found[: self.nx] = _ROUNDING * np.abs(self.charts.inverse) @ turned
        found[self.nx : self.nx + self.nu] = _ROUNDING * (inverse @ (dR + R + np.abs(M) @ tied) + tied)
        return found

    @property
    def noise(self) -> np.ndarray:
        """How far the rates of all coordinates, speeds and states may be off by rounding."""
        nq, x = len(self.eq.q), np.abs(self.at.x)
        size = np.concatenate([np.abs(self.charts.inverse) @ x[:nq], x[nq:]])[:, None]
        by = {part: np.abs(self.slopes[part]["x"]) @ size for part in ("R", "S", "qdot")}
        R, S = (np.abs(part)[:, None] for part in self.loads)
        return self._spread(by["R"], R, by["S"] + S, by["qdot"])[:, 0]

    @property
    def drift(self) -> np.ndarray:
        """The rates of all coordinates, speeds and states at the point."""
        found = np.concatenate([self.charts.inverse @ self.values["qdot"], self.at.udot, self.values["zdot"]])
        return np.where(np.abs(found) > _NOTHING, found, 0.0)

    def outputs(self, asked: Mapping[str, Expr | str], columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """C and D."""
        n, k = len(self.free), len(columns)
        if not asked:
            return np.eye(n), np.zeros((n, k))
        slopes = self.slopes["outputs"]
        by_x = self._accelerations(self.slopes["R"]["x"], self.slopes["S"]["x"])
        by_tau = self._accelerations(self.slopes["R"]["tau"], self.slopes["S"]["tau"])
        C = (slopes["x"] + slopes["udot"] @ by_x) @ self.lift
        D = (slopes["tau"] + slopes["udot"] @ by_tau)[:, list(columns)]
        found_C, found_D, row = np.zeros((len(asked), n)), np.zeros((len(asked), k)), 0
        for i, e in enumerate(asked.values()):
            if isinstance(e, str):  # a turn
                found_C[i] = self.lift[self.charts.names.index(e)]
            else:
                found_C[i], found_D[i], row = C[row], D[row], row + 1
        return found_C, found_D


def _rows_of(at: Operating, charts: Charts, slopes: Mapping[str, Mapping[str, np.ndarray]]) -> tuple[Rows, Rows]:
    """The rows of positions, by coordinates and turns, and of speeds, with what they are measured by."""
    program, nu, nx = at.program, len(at.program.equations.u), len(charts.names)
    A, J = slopes["phi"]["x"][:, :nx], slopes["psi"]["x"][:, nx : nx + nu]
    least = np.array(program.held.least)
    if not at.rows and not at.closed:
        none = np.zeros(0)
        return (
            Rows(A=A, size=none, least=none, reach=np.ones(nx)),
            Rows(A=J, size=none, least=none, reach=np.ones(nu)),
        )
    x, p, t = at.point.x, at.point.p, at.point.t
    far = program.assembled(t, x, p, True)[3]
    size = program.measured(t, x, p)[2][list(at.closed)]
    _, _, E, near = program.assembled(t, x, p, False)
    pace = np.sqrt(((E * near) ** 2).sum(axis=1))[list(at.rows)]
    return (
        Rows(A=A, size=_unit(size), least=least[list(at.closed)], reach=charts.reach(program, at.point, far)),
        Rows(A=J, size=_unit(pace), least=least[: len(program.constraints)][list(at.rows)], reach=near),
    )


def _unit(size: np.ndarray) -> np.ndarray:
    return np.where(size > 0, size, 1.0)
