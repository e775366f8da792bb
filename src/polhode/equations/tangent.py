"""The equations of motion and their exact derivatives along directions, as native code of about thrice their length.

    qdot, zdot                                        rates
    R(x, udot, lam) = Q + tau - c - M udot + J^T lam  forces that are left
    S(x, udot)      = J udot + gamma                  accelerations of rows that are left
    phi(q, z), psi(q, u, z)                           positions and speeds of rows

One call takes the state and any number of directions of (x, udot, lam, tau). All that linear models are
made of is in it: along udot, R and S have -M and J; along u, psi has J.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from polhode.compile import Function, compile
from polhode.graph import Expr, Matrix, diff_along, substitute, symbol, vector
from polhode.model import TIME

from .dynamics import Dynamics, needed_forces
from .program import MOST, Program

PARTS = ("qdot", "zdot", "R", "S", "phi", "psi", "outputs")
_KNOWN: WeakKeyDictionary[Dynamics, dict[object, Tangent]] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class Point:
    """Where equations and derivatives are taken: t, x = [q, u, z], udot, lam, tau with controls, p."""

    t: float
    x: np.ndarray
    udot: np.ndarray
    lam: np.ndarray
    tau: np.ndarray
    p: np.ndarray


class Tangent:
    """Native code for the equations of a machine and their derivatives along directions.

    rows    : of the program's constraints that hold, by number; closed : of what it holds in positions
    laws    : of some inputs, expressions that are added to them, by speed or control
    outputs : further expressions of q, u, z, t, `eq.kane.udot` and controls
    by      : parameters that may move, too, as direction p
    whole   : the parts as expressions, of what is `given` by name

    Laws and outputs stand in the speeds of the equations.
    """

    def __init__(
        self,
        program: Program,
        rows: Sequence[int],
        closed: Sequence[int],
        laws: Mapping[Expr, Expr],
        outputs: Sequence[Expr] = (),
        by: Sequence[Expr] = (),
    ) -> None:
        eq, every = program.equations, program._acting
        nu, tau = len(eq.u), program.tau
        udot = eq.kane.udot
        lam = vector([symbol(f"reaction {i}") for i in range(len(rows))])
        J = Matrix((len(rows), nu), [e for i in rows for e in every.J[i]])
        S = vector([J[k] @ udot + every.gamma[i] for k, i in enumerate(rows)])
        force = vector([t + laws[u] if u in laws else t for u, t in zip(eq.u, tau, strict=False)])
        R = force - needed_forces(eq, udot) + (J.T @ lam if len(rows) else vector([0] * nu))
        parts = {
            "qdot": eq.kinematics.q_dot,
            "zdot": eq.z_dot,
            "R": R,
            "S": S,
            "phi": vector([program.held.phi[i] for i in closed]),
            "psi": vector([every.psi[i] for i in rows]),
            "outputs": vector(outputs),
        }
        self.sizes = [len(parts[name]) for name in PARTS]
        whole = vector([e for name in PARTS for e in parts[name]])
        added = {c: c + laws[c] for c in eq.controls if c in laws}
        whole = substitute(whole, added) if added else whole
        whole = substitute(whole, program.dynamics.values) if program.dynamics.values else whole
        x = vector([*eq.q, *eq.u, *eq.z])
        along = {"x": x, "udot": udot, "lam": lam, "tau": tau}
        moved = along | ({"p": vector(by)} if by else {})
        self.moving = {name: len(part) for name, part in moved.items()}
        d = {name: vector([symbol(f"d {name} {i}") for i in range(len(part))]) for name, part in moved.items()}
        places, rates = ([e for part in group.values() for e in part] for group in (moved, d))
        derived = diff_along(whole, places, rates)
        given = {"t": vector([TIME]), **along, "p": vector(program.given_as(True))}
        self.whole, self.given = whole, dict(given)
        given |= {f"d{name}": part for name, part in d.items()}
        self.function: Function = compile(
            {name: part for name, part in given.items() if len(part)},
            {"found": vector([*whole, *derived])},
            name="tangent",
        )

    def __call__(self, at: Point, **along: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The parts of the equations at a point, (n,) each, and their derivatives, (n, k), along k directions.

        along : of x, udot, lam, tau and of p, by columns, (n, k) each; 0 for what is not given
        """
        here = replace(at, x=at.x[None], udot=at.udot[None], lam=at.lam[None])
        values, slopes = self.many(np.array([at.t]), here, **along)
        return {name: e[0] for name, e in values.items()}, {name: e[0] for name, e in slopes.items()}

    def many(
        self, t: np.ndarray, at: Point, **along: np.ndarray
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The same at N points, (N, n) and (N, n, k): x, udot and lam of `at` are (N, n), tau may be.

        along : (n, k), or (N, n, k) where directions differ
        """
        N, k = len(t), next(iter(along.values())).shape[-1]
        given = {"t": t[:, None, None], "p": at.p}
        for name in ("x", "udot", "lam", "tau"):
            part = getattr(at, name)
            given[name] = part[:, None] if part.ndim == 2 else part
        for name, n in self.moving.items():
            given[f"d{name}"] = np.swapaxes(along.get(name, np.zeros((n, k))), -1, -2)
        batched = {
            name: np.broadcast_to(part, (N, k, part.shape[-1])) if part.ndim > 1 else part
            for name, part in given.items()
            if part.shape[-1]
        }
        found = self.function(**{name: np.ascontiguousarray(part) for name, part in batched.items()})
        found = np.broadcast_to(found, (N, k, 2 * sum(self.sizes)))
        values, slopes = np.split(found, 2, axis=-1)
        cuts = np.cumsum(self.sizes)[:-1]
        return (
            dict(zip(PARTS, np.split(values[:, 0], cuts, axis=-1), strict=True)),
            dict(zip(PARTS, np.split(np.swapaxes(slopes, -1, -2), cuts, axis=1), strict=True)),
        )


def tangent_of(
    program: Program,
    rows: Sequence[int],
    closed: Sequence[int],
    laws: Mapping[Expr, Expr],
    outputs: Sequence[Expr] = (),
    by: Sequence[Expr] = (),
) -> Tangent:
    """The tangent of a program, made once."""
    known = _KNOWN.setdefault(program.dynamics, {})
    key = (tuple(rows), tuple(closed), tuple(laws.items()), tuple(outputs), tuple(by))
    found = known.pop(key) if key in known else Tangent(program, rows, closed, laws, outputs, by)
    known[key] = found
    if len(known) > MOST:
        del known[next(iter(known))]
    return found
