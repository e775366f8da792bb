"""Second derivatives of accelerations and forces, contracted with multipliers: what optimal control asks for.

With h(x, udot, lam) = mu . R + nu . S, of which R = Q + tau - c - M udot + J^T lam and S = J udot + gamma vanish,

    sum_i w_i d^2 udot_i [a, b] = d^2 h [D_a, D_b],   mu = (dudot/dtau)^T w,   nu = (dlam/dtau) w,

along D_a = (a, dudot[a], dlam[a]). One gradient backward and one derivative of it forward give d^2 h D for a direction
D, in about ten times the operations of the inverse dynamics; a matrix is that along all directions at once, in lanes.

A unit quaternion goes along q exp(r / 2), whose second derivative is -q / 4 of r . r: so the matrices are symmetric.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, diff_along, gradient, symbol, vector

from .dynamics import needed_forces
from .inputs import input_names
from .partials import small_of
from .program import program_of
from .response import States

if TYPE_CHECKING:
    from .derivatives import Derivatives, Partials
    from .program import Program


@dataclass(frozen=True, kw_only=True, eq=False)
class Hessian:
    """sum_i w_i d^2 (result)_i, (..., N, N), symmetric; or its products with directions, (..., N) or (..., N, k).

    names : of the N variables
    parts : the places of q, u, tau (or udot), and z and controls where there are any
    """

    whole: np.ndarray
    names: tuple[str, ...]
    parts: dict[str, slice]

    def block(self, first: str, second: str) -> np.ndarray:
        """One block of the matrix: block("q", "u")."""
        found: np.ndarray = self.whole[..., self.parts[first], self.parts[second]]
        return found

    def __repr__(self) -> str:
        return f"Hessian {self.whole.shape} by {', '.join(self.parts)}"


class Second:
    """Second derivatives of a machine's accelerations and forces, contracted with multipliers w, (..., nu).

    Along unit quaternions they are those by the vector r of q exp(r / 2).
    """

    def __init__(self, derivatives: Derivatives) -> None:
        self.derivatives, self.dynamics = derivatives, derivatives.dynamics
        self._curved: dict[tuple[int, ...], _Curved] = {}

    def forward_dynamics(
        self, q: Any, u: Any, tau: Any, multiplier: Any, along: Any = None, active: Iterable[str] | None = None,
        *, check: bool = True, **given: Any,
    ) -> Hessian:  # fmt: skip
        """sum_i w_i d^2 udot_i by (q, u, tau), and z and controls where there are any: (..., N, N), symmetric.

        multiplier : w, (..., nu)
        along      : directions of these, (..., N) or (..., N, k), for products with the matrix instead
        active     : names of the constraints that hold, as of `forward_dynamics`; with reactions taken along
        """
        at = self._states("forward_dynamics", q, u, tau, active, given)
        rows = self.derivatives._rows(at)
        first = self.derivatives.forward_dynamics(q, u, tau, active, check=check, **given)
        flat = _flat(at, first)
        sizes = self._sizes(at)
        w = self._multiplier(at, multiplier)
        lam = np.zeros((len(at.x), 0)) if first.lam is None else _flat(at, first.lam)["value"]
        slopes = [flat[name] for name in sizes]
        rest = [np.zeros((len(at.x), len(rows), n)) for n in sizes.values()]
        nu = np.zeros((len(at.x), len(rows)))
        if first.lam is not None:
            pushed = _flat(at, first.lam)
            rest = [pushed.get(name, none) for name, none in zip(sizes, rest, strict=True)]
            nu = np.einsum("kij,kj->ki", pushed["tau"], w)
        mu = np.einsum("kij,ki->kj", flat["tau"], w)
        D = np.concatenate([np.eye(sum(sizes.values()))[None].repeat(len(at.x), 0),
                            np.concatenate(slopes, -1), np.concatenate(rest, -1)], axis=1)  # fmt: skip
        return self._made(at, rows, flat["value"], lam, mu, nu, D, along, sizes)

    def inverse_dynamics(
        self, q: Any, u: Any, udot: Any, multiplier: Any, along: Any = None, **given: Any
    ) -> Hessian:  # fmt: skip
        """sum_i w_i d^2 tau_i by (q, u, udot), and z and controls where there are any: (..., N, N), symmetric.

        multiplier, along : as of `forward_dynamics`
        """
        at = self._states("inverse_dynamics", q, u, np.zeros(len(self.dynamics.equations.u)), (), given, udot)
        sizes, n = self._sizes(at), len(self.dynamics.equations.u)
        sizes = {"udot" if name == "tau" else name: size for name, size in sizes.items()}
        w = self._multiplier(at, multiplier)
        total = sum(sizes.values())
        D = np.zeros((total + n, total))
        D[:total] = np.eye(total)
        place = self._places(sizes)["udot"]
        D[place, place] = 0.0  # forces from outside do not change
        D[total:, place] = np.eye(n)
        k = len(at.x)
        values = np.broadcast_to(np.asarray(udot, dtype=float), (*at.lead, n)).reshape(k, n)
        none = np.zeros((k, 0))
        return self._made(at, (), values, none, -w, none, D[None].repeat(k, 0), along, sizes)

    def _states(
        self, name: str, q: Any, u: Any, tau: Any, active: Any, given: dict[str, Any], udot: Any = None
    ) -> States:
        lead = np.broadcast_shapes(*(np.shape(a)[:-1] for a in (q, u, tau, *(() if udot is None else (udot,)))))
        q = np.broadcast_to(np.asarray(q, dtype=float), (*lead, np.shape(q)[-1]))
        return States.read(
            self.dynamics, name, q, u, tau, given.get("z"), given.get("t"), given.get("p"), active,
            given.get("controls"),
        )  # fmt: skip

    def _multiplier(self, at: States, multiplier: Any) -> np.ndarray:
        w, n = np.asarray(multiplier, dtype=float), len(self.dynamics.equations.u)
        if w.ndim == 0 or w.shape[-1] != n:
            raise ValueError(
                f"multiplier has shape {w.shape}, expected (..., {n}): one for each acceleration or force."
            )
        return np.broadcast_to(w, (*at.lead, n)).reshape(-1, n)

    def _sizes(self, at: States) -> dict[str, int]:
        eq = self.dynamics.equations
        sizes = {"q": len(self.derivatives.coordinates), "u": len(eq.u), "tau": len(eq.u)}
        return sizes | {name: n for name, n in {"z": len(eq.z), "controls": len(eq.controls)}.items() if n}

    def _places(self, sizes: dict[str, int]) -> dict[str, slice]:
        found, first = {}, 0
        for name, n in sizes.items():
            found[name] = slice(first, first + n)
            first += n
        return found

    def _made(
        self, at: States, rows: tuple[int, ...], udot: np.ndarray, lam: np.ndarray, mu: np.ndarray, nu: np.ndarray,
        D: np.ndarray, along: Any, sizes: dict[str, int],
    ) -> Hessian:  # fmt: skip
        """D : (k, N + nu + m, N), directions of the variables with accelerations and reactions."""
        if rows not in self._curved:
            self._curved[rows] = _Curved(program_of(self.dynamics), rows)
        total, single = sum(sizes.values()), False
        moved = D
        if along is not None:
            given = np.asarray(along, dtype=float)
            single = given.ndim <= len(at.lead) + 1
            given = given[..., None] if single else given
            if given.ndim < 2 or given.shape[-2] != total:
                raise ValueError(f"along has shape {np.shape(along)}, expected (..., {total}) or (..., {total}, k).")
            given = np.broadcast_to(given, (*at.lead, *given.shape[-2:]))
            moved = D @ given.reshape(len(at.x), total, -1)
        found = D.swapaxes(1, 2) @ self._curved[rows](at, udot, lam, mu, nu, moved)
        if along is None:
            found = (found + found.swapaxes(1, 2)) / 2
        found = found.reshape(*at.lead, *found.shape[1:])
        eq = self.dynamics.equations
        inputs = input_names(eq)
        listed = {
            "q": self.derivatives.coordinates, "u": self.derivatives.speeds, "tau": inputs[: len(eq.u)],
            "udot": self.derivatives.speeds, "z": tuple(str(s.value) for s in eq.z), "controls": inputs[len(eq.u) :],
        }  # fmt: skip
        names = tuple(name for part in sizes for name in listed[part])
        return Hessian(whole=found[..., 0] if single else found, names=names, parts=self._places(sizes))


class _Curved:
    """The call (x, udot, lam; mu, nu; directions) -> d^2 h times the directions.

    Variables in the order q (small changes), u, tau, z, controls, udot, lam.
    """

    def __init__(self, program: Program, rows: tuple[int, ...]) -> None:
        eq, every = program.equations, program._acting
        self.program, n, m = program, len(eq.u), len(rows)
        small = small_of(eq)
        udot = vector([symbol(f"motion {i}") for i in range(n)])
        lam = vector([symbol(f"reaction {i}") for i in range(m)])
        mu = vector([symbol(f"multiplier {i}") for i in range(n)])
        nu = vector([symbol(f"row multiplier {i}") for i in range(m)])
        tau = program.tau[:n]
        h: Expr = mu @ (tau - needed_forces(eq, udot))
        if m:
            J = Matrix((m, n), [e for i in rows for e in every.J[i]])
            h = h + (J @ mu) @ lam + nu @ (J @ udot + vector([every.gamma[i] for i in rows]))
        rest = [*eq.u, *tau, *eq.z, *eq.controls, *udot, *lam]
        by = [*eq.q, *rest]
        slopes = gradient(h, by)
        r = [symbol(f"direction {i}") for i in range(len(small.names) + len(rest))]
        turned = [*(small.T @ vector(r[: len(small.names)])), *r[len(small.names) :]] if small.names else r
        change = diff_along(slopes, by, turned)
        pulled = [*small.pulled(change[: len(eq.q)])]
        for place, first, _ in small.blocks:
            inward = sum((slopes[place + i] * eq.q[place + i] for i in range(4)), as_expr(0)) / 4
            for k in range(3):
                pulled[first + k] = pulled[first + k] - inward * r[first + k]
        given = {"udot": udot, "lam": lam, "mu": mu, "nu": nu, "direction": vector(r)}
        self.given = tuple(name for name, part in given.items() if len(part))
        wanted = [*pulled, *change[len(eq.q) :]]
        kept = {name: given[name] for name in self.given}
        self.code = program.compiled("curvature", wanted, True, None, "llvm", **kept)

    def __call__(
        self, at: States, udot: np.ndarray, lam: np.ndarray, mu: np.ndarray, nu: np.ndarray, D: np.ndarray
    ) -> np.ndarray:
        """D : (k, N, b); returns the same shape."""
        k, b = len(at.x), D.shape[-1]

        def each(a: np.ndarray) -> np.ndarray:
            return np.repeat(a, b, axis=0)

        p = at.program.completed(at.p)
        directions = np.ascontiguousarray(D.swapaxes(1, 2)).reshape(k * b, -1)
        known = {"udot": each(udot), "lam": each(lam), "mu": each(mu), "nu": each(nu), "direction": directions}
        x = each(at.program.whole(at.x))
        found = self.code(each(at.t)[:, None], x, *(known[name] for name in self.given), each(at.tau),
                          p if p.ndim == 1 else each(p))  # fmt: skip
        whole: np.ndarray = found.reshape(k, b, -1).swapaxes(1, 2)
        return whole


def _flat(at: States, found: Partials) -> dict[str, np.ndarray]:
    """The arrays with one leading dimension."""
    depth = len(at.lead)
    return {name: part.reshape(len(at.x), *part.shape[depth:]) for name, part in found.items()}
