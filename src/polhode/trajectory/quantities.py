"""Expressions of the state, evaluated along a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.compile import compile
from polhode.equations.sensors import sensed as of_sensor
from polhode.equations.sensors import still
from polhode.graph import Expr, Matrix, as_matrix, free_symbols, substitute, symbol, vector
from polhode.graph import evaluate as number
from polhode.model import TIME
from polhode.model.errors import closest, fault
from polhode.model.expression import parse

from .events import Named

if TYPE_CHECKING:
    from polhode.equations import Dynamics

    from .trajectory import Trajectory


def evaluate(traj: Trajectory, what: Any) -> Any:
    """Values at the outputs of an expression, text, a list or matrix of them, or a dict of these."""
    if isinstance(what, Mapping):
        return dict(zip(what, run(traj, [_expression(traj, e) for e in what.values()]), strict=True)) if what else {}
    return run(traj, [_expression(traj, what)])[0]


def _expression(traj: Trajectory, what: Any) -> Expr | Matrix:
    if isinstance(what, str):
        return parse(what, Names(traj), "Expression")
    if isinstance(what, (Expr, Matrix)):
        return what
    if isinstance(what, Sequence):
        return as_matrix([_expression(traj, e) for e in what])
    raise TypeError(f"evaluate takes expressions, found {what!r:.60} of type {type(what).__name__}.")


def of_state(traj: Trajectory, name: str) -> Expr | None:
    """A name or text as an expression of q, u, z, t and parameters; None of what it takes more for."""
    if name in (*traj.coordinates, *traj.speeds, *traj.states):
        return symbol(name)
    if name in traj.names or name in ("kinetic", "potential", "total", "drift"):
        return None
    e = parse(name, Names(traj), "Expression")
    return None if any(str(s.value) in traj.inputs for s in free_symbols(e)) else e


def run(traj: Trajectory, outputs: Sequence[Expr | Matrix], *at: np.ndarray) -> list[np.ndarray]:
    """Compile expressions and evaluate them at the outputs, or at given states: t, q, u, tau and z."""
    return compiled(traj, outputs)(*(at or (traj.t, traj.q, traj.u, traj.tau, traj.z)), traj.parameters)


def sensed(traj: Trajectory) -> dict[str, np.ndarray]:
    """What the sensors of the model show at the outputs, by name."""
    eq = traj.dynamics.equations
    parts: dict[str, Sequence[Matrix]] = {
        s.name: still(eq, s) if s.kind == "accelerometer" else [of_sensor(eq, s)] for s in eq.model.sensors
    }
    flat = [m for each in parts.values() for m in each]
    values = iter(run(traj, flat)) if flat else iter(())
    found = {}
    for name, each in parts.items():
        first, *rows = (next(values) for _ in each)
        found[name] = first + np.einsum("kij,kj->ki", rows[0], traj.accelerations) if rows else first
    return Named({n: a[:, 0] if a.shape[1:] == (1,) else a for n, a in found.items()}, "sensor")


def compiled(traj: Trajectory, outputs: Sequence[Expr | Matrix]) -> Callable[..., list[np.ndarray]]:
    """Expressions of a motion as a call of t, (k,), q, u, tau, z and parameters, for all motions of its machine."""
    dyn, kin = traj.dynamics, traj.dynamics.equations.kinematics
    parts = (vector([TIME]), kin.q, kin.u, vector(map(symbol, traj.inputs)), kin.z, vector(map(symbol, dyn.parameters)))
    symbols = dict(zip(("t", "q", "u", "tau", "z", "p"), parts, strict=True))
    whole = [_written(e, kin.quasi, dyn.values) for e in outputs]
    known = {s for part in symbols.values() for s in part}
    for part in whole:
        for s in free_symbols(part):
            if s not in known:
                names = [*traj.names, *dyn.parameters]
                raise ValueError(
                    f"{str(s.value)!r} is no coordinate, speed, state, input or parameter. {closest(s.value, names)}"
                )
    used = {name: part for name, part in symbols.items() if len(part)}
    made = compile(used, whole, target=dyn.target, name="quantities")

    def call(t: np.ndarray, *rest: np.ndarray) -> list[np.ndarray]:
        values = dict(zip(symbols, (t[..., None], *rest), strict=True))
        return list(made(*[values[name] for name in used]))

    return call


def _written(e: Expr | Matrix, *meanings: Mapping[Any, Any]) -> Expr | Matrix:
    """An expression with speeds of the joints, and then parameters, replaced by what they are."""
    for meaning in meanings:
        e = substitute(e, meaning)  # type: ignore[type-var]  # one or the other
    return e


def within_limits(dynamics: Dynamics, tau: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Forces on the speeds and controls, (..., nu + nc), with the controls within their limits, as they act."""
    actuators = dynamics.equations.model.actuators
    if not any(a.lower is not None or a.upper is not None for a in actuators) or not len(tau):
        return tau
    found, given = tau.copy(), dict(zip(map(symbol, dynamics.parameters), parameters.tolist(), strict=True))
    for i, actuator in enumerate(actuators, found.shape[-1] - len(actuators)):
        for limit, limited in ((actuator.lower, np.maximum), (actuator.upper, np.minimum)):
            if limit is not None:
                found[..., i] = limited(found[..., i], float(number(substitute(limit, dynamics.values), given)))
    return found


class Names(dict[str, Expr]):
    """What text may call the variables of a trajectory: elbow, q.elbow, u["left-elbow"], p.m."""

    def __init__(self, traj: Trajectory) -> None:
        dyn = traj.dynamics
        speeds = [*traj.speeds, *(str(s.value) for s in dyn.equations.kinematics.quasi)]
        parameters = [*dyn.parameters, *(str(s.value) for s in dyn.values)]
        groups = {"q": traj.coordinates, "u": speeds, "p": parameters}
        super().__init__({f"{group}.{name}": symbol(name) for group, names in groups.items() for name in names})
        plain = (*parameters, *traj.inputs, *speeds, *traj.states, *traj.coordinates, str(TIME.value))
        self.update({name: symbol(name) for name in plain})

    def __missing__(self, key: str) -> Expr:
        known = [name for name in self if not name.startswith(("q.", "u.", "p."))]
        raise fault(f"There is no coordinate, speed, input or parameter {key!r}. {closest(key, known)}")
