"""Angles near their singular position, where the rates of a joint's coordinates grow beyond bounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from polhode.equations import Dynamics
from polhode.graph import Expr, evaluate, free_symbols, symbol, zeros
from polhode.kinematics.joint import part_rates
from polhode.model import Model
from polhode.model.algebra import twists
from polhode.model.joint import Part
from polhode.trajectory import Trajectory

NEAR = 200.0  # rates of angles by angular velocity: within 0.3 degrees of the singular position
MANY = 20_000  # steps, after which the whole run is looked at, in so many states:
LOOKS = 500


def singular_angles(traj: Trajectory) -> str:
    """Say where angles of a joint are near their singular position: at the start, or in a run of very many steps."""
    return angles_near(traj.dynamics, traj.parameters, traj.t, traj.q, int(traj.statistics.get("steps", 0)))


def angles_near(dynamics: Dynamics, p: np.ndarray, t: np.ndarray, q: np.ndarray, steps: int) -> str:
    """Say the same of states at times t, rows of q, that so many steps led through; "" for nothing to say."""
    stride = len(t) // LOOKS + 1 if steps > MANY else max(len(t), 1)
    known = {s: float(e) for s, e in dynamics.values.items()}
    known |= dict(zip(map(symbol, dynamics.parameters), map(float, p), strict=True))
    names = [str(s.value) for s in dynamics.equations.q]
    for joint, own, rates in turning_joints(dynamics.equations.model):
        columns = [names.index(str(s.value)) for s in own]
        for now, row in zip(t[::stride], q[::stride][:, columns], strict=True):
            if largest_rate(rates, known | dict(zip(own, row.tolist(), strict=True))) > NEAR:
                angles = [f"{s.value} = {x:.5g}" for s, x in zip(own, row, strict=True) if s in free_symbols(rates)]
                took = f"; the run took {steps:,} steps" if steps else ""
                return (
                    f"Joint {joint!r}: its angles are in their singular position at t = {now:.6g} s, "
                    f"{', '.join(angles)}, where their rates have no bounds{took}. Give "
                    "the joint quaternion=True, or start in another position."
                )
    return ""


def turning_joints(model: Model) -> Iterator[tuple[str, tuple[Expr, ...], tuple[Expr, ...]]]:
    """Joints whose angles can be singular: name, coordinates, and what their rates have of the angular velocities."""
    for body in model.bodies:
        q = [symbol(name) for name in body.joint.coordinates()]
        for part in body.joint.parts:
            own, q = tuple(q[: part.nq]), q[part.nq :]
            rates = () if part.quaternion or part.nu < 2 else _turning(part, own)
            if rates:
                yield str(body.joint.name), own, rates


@lru_cache(maxsize=64)
def _turning(part: Part, q: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """What angles of a joint have of its angular velocities, q_dot = Gamma(q) beta, where that changes."""
    gamma, h = part_rates(part, q), twists(part.basis)
    rows, columns = ([k for k in range(n) if h[k].w != zeros(3)] for n in (part.nq, part.nu))
    return tuple(e for e in (gamma[i, j] for i in rows for j in columns) if free_symbols(e) & {*q})


def largest_rate(rates: tuple[Expr, ...], values: dict[Expr, float]) -> float:
    """The largest of them at a position; infinite in the singular one."""
    try:
        return float(np.abs(evaluate(rates, values)).max())
    except ZeroDivisionError:
        return np.inf
