"""The point about which a machine is linearised: state, inputs, parameters and what holds, checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.program import Program, program_of
from polhode.equations.satisfied import residuals, unsatisfied
from polhode.equations.tangent import Point
from polhode.graph import evaluate, symbol
from polhode.simulate.angles import largest_rate, turning_joints
from polhode.simulate.asked import is_number, movable, parameters_of, state_of
from polhode.simulate.inputs import Inputs, read_inputs

_LOCKED = 1e8  # rates of angles by angular velocity, of which rounding leaves no digits to derivatives


@dataclass(frozen=True, kw_only=True)
class Operating:
    """A point that satisfies what holds.

    point   : udot and lam are 0 there, and inputs without their laws
    holding : names of the constraints that hold
    rows    : their rows among the speeds, by number; closed : those in positions, embedded ones too
    inputs  : as they were given
    """

    program: Program
    point: Point
    holding: frozenset[str]
    rows: tuple[int, ...]
    closed: tuple[int, ...]
    inputs: Inputs

    @property
    def q(self) -> np.ndarray:
        return self.point.x[: len(self.program.equations.q)]

    def values(self) -> dict[Any, float]:
        """Every symbol of the state with its number."""
        eq, at, program = self.program.equations, self.point, self.program
        found: dict[Any, float] = dict(zip([*eq.q, *eq.u, *eq.z], at.x.tolist(), strict=True))
        found |= dict(zip(map(symbol, program.dynamics.parameters), at.p.tolist(), strict=False))
        found |= {s: float(evaluate(e, {})) for s, e in program.dynamics.values.items()}
        return found | {eq.t: at.t}


def read_point(
    dynamics: Dynamics, q: Any, u: Any, tau: Any, controls: Any, z: Any, p: Any, t: float, active: Iterable[str] | None,
    verb: str = "linearize",
) -> Operating:  # fmt: skip
    """Read what `linearize` is given; for other verbs the state is a guess, which need not satisfy constraints."""
    movable(dynamics, verb)
    program = program_of(dynamics)
    eq = program.equations
    if not (is_number(t) and np.isfinite(t)):
        raise ValueError(f"t is {t!r:.60}, expected a time.")
    values = parameters_of(dynamics, p)
    x = program.state(*state_of(eq, q, u, z, program.starts(values), ""))[: len(eq.q) + len(eq.u) + len(eq.z)]
    inputs = read_inputs(tau, eq, controls)
    if inputs.continuous is not None or inputs.sampled is not None:
        raise TypeError("tau is a function, which has no derivatives. Give numbers or expressions by name.")
    chosen = None if active is None else {active} if isinstance(active, str) else set(active)
    holding = program.holding(program.standing if chosen is None else chosen)
    given = program.captured(np.array([float(t)]), x[None], values)[0]
    at = Point(t=float(t), x=x, udot=np.zeros(len(eq.u)), lam=np.zeros(0), tau=inputs.constant, p=given)
    rows = tuple(i for i, name in enumerate(program.constraints.names) if name in holding)
    held = program.held
    closed = tuple(i for i, name in enumerate(held.names) if name in holding and held.holonomic[i])
    if (rows or closed) and verb == "linearize":
        _require_satisfied(program, at, holding)
    found = Operating(program=program, point=at, holding=frozenset(holding), rows=rows, closed=closed, inputs=inputs)
    _require_unlocked(found, verb)
    return found


def _require_unlocked(at: Operating, verb: str) -> None:
    """Refuse angles in their singular position."""
    values = at.values()
    for joint, _, rates in turning_joints(at.program.equations.model):
        if largest_rate(rates, values) > _LOCKED:
            raise ValueError(
                f"{verb}: the angles of joint {joint!r} are in their singular position, where their rates have no "
                "bounds. Give the joint quaternion=True, or another position."
            )


def _require_satisfied(program: Program, at: Point, holding: set[str]) -> None:
    left = residuals(program, np.array([at.t]), at.x[None], at.p)
    if said := unsatisfied(program, left, holding):
        raise ValueError(
            f"linearize: the {said} Find a state that does with q, u = assemble(dynamics, q, u), "
            "or name what holds with active=[...]."
        )
