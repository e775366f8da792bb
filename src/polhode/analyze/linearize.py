"""Linear models of machines, by exact derivatives.

    d(qdot, udot, zdot) = F d(q, u, z) + E d(inputs),   M dudot = dR + J^T dlam,   J dudot + dS = 0

over small changes that the constraints allow, phi and psi, of which independent ones are the states:

    X = (q, u, z) = L y,   dy/dt = f0 + A y + B v,   w = C y + D v

A unit quaternion changes by a small turn r about the axes of its body, dq = T(q) r, measured from where the machine
would be: dr/dt = dw - w x r.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, overload

import numpy as np

from polhode.equations import Dynamics, Equations
from polhode.equations.inputs import input_names
from polhode.equations.tangent import Tangent, tangent_of
from polhode.graph import Expr, free_symbols, substitute
from polhode.model import TIME
from polhode.model.errors import closest
from polhode.model.expression import Symbols, parse

from .asked import names_of, started
from .limits import within_limits
from .linear_model import LinearModel
from .near import Near
from .operating import Operating, read_point
from .swaying import Machine
from .symbolic import SymbolicModel, symbolic_model
from .turns import charts_of

_MOMENT = 1e-5  # how far the fastest coordinate moves in a moment; s, where time counts
_TIMES = (0.37, 1.21)  # s: other times, which are no parts of periods that people choose
_ROUNDED = 1e-12  # of the largest entry of A: no change
_SAME = 1e-2  # of the change that A would have, if it turned with that coordinate


@overload
def linearize(
    dynamics: Dynamics, q: Any = None, u: Any = None, tau: Any = None, *, controls: Any = None, z: Any = None,
    p: Any = None, t: float = 0.0, inputs: Iterable[str] | None = None, outputs: Any = None,
    active: Iterable[str] | None = None, independent: Iterable[str] = (), **start: Any,
) -> LinearModel: ...  # fmt: skip


@overload
def linearize(
    dynamics: Equations, q: Any = None, u: Any = None, tau: Any = None, *, controls: Any = None, z: Any = None,
    p: Any = None, inputs: Iterable[str] | None = None, outputs: Any = None, independent: Iterable[str] = (),
    **start: Any,
) -> SymbolicModel: ...  # fmt: skip


def linearize(
    dynamics: Dynamics | Equations,
    q: Any = None,
    u: Any = None,
    tau: Any = None,
    *,
    controls: Any = None,
    z: Any = None,
    p: Any = None,
    t: float = 0.0,
    inputs: Iterable[str] | None = None,
    outputs: Any = None,
    active: Iterable[str] | None = None,
    independent: Iterable[str] = (),
    **start: Any,
) -> LinearModel | SymbolicModel:
    """The linear model of a machine about a state: A, B, C, D with names, by exact derivatives.

    dynamics    : a Dynamics; or Equations, for A, B, C, D of a small machine as expressions. Values of q, u, z, tau,
                  controls and p may then be expressions too, and those of p may be left out
    q, u, z     : the state, arrays or values by name; at rest, and z where runs start it, where nothing is given.
                  q may be the pair of q and u, as `assemble(...)` and `traj.at(2.0)` give it
    tau         : forces on the speeds: an array, numbers and expressions by name; actuators may be named beside
                  speeds. Expressions of q, u, z are part of the machine: the loop is closed
    controls    : of actuators alone
    p, t        : values of parameters that were not compiled in; the time at which everything is taken
    inputs      : names of speeds, on which forces act, and of actuators: columns of B. Actuators where there are any,
                  else all speeds but those of modes of flexible bodies, if there are others
    outputs     : names of coordinates, speeds and states, or expressions by name, also of `eq.kane.udot`; the states
                  of the model where nothing is given
    active      : names of the constraints that hold; None for those the model declares
    independent : names of coordinates and speeds that must be states, where constraints leave a choice
    start       : q0, u0, z0, t0 instead of q, u, z, t, as keyframes have them:
                  linearize(dynamics, **model.keyframe("up").start())

    The state must satisfy the constraints; it need not be an equilibrium: `drift` has the rates there.
    """
    q, u, z, t = started(q, u, z, t, start, signature(linearize).parameters)
    if isinstance(dynamics, Equations):
        if active is not None:
            raise TypeError(
                "linearize: active= is for numbers, found Equations. Compile them: linearize(equations.compile(), ..., "
                "active=...)."
            )
        driven = None if inputs is None else names_of(inputs, "inputs")
        rows = {name: e for name, e in _outputs(outputs, dynamics, ()).items() if isinstance(e, Expr)}
        asked = names_of(independent, "independent")
        return symbolic_model(
            dynamics, q, u, tau, controls=controls, z=z, p=p, asked=driven, outputs=rows, independent=asked
        )
    at, notes = within_limits(read_point(dynamics, q, u, tau, controls, z, p, t, active))
    eq, program = at.program.equations, at.program
    names = _inputs(inputs, input_names(eq), len(eq.u), {rate for body in eq.model.bodies for rate in body.rates})
    charts = charts_of(at)
    sought = _outputs(outputs, eq, charts.turns)
    measured = [e for e in sought.values() if isinstance(e, Expr)]
    tangent = tangent_of(program, at.rows, at.closed, at.inputs.laws, measured)
    found = Near(at, tangent, charts, names_of(independent, "independent"))
    columns = [input_names(eq).index(name) for name in names]
    A, B = found.rates(columns)
    C, D = found.outputs(sought, columns)
    lasting = _lasts(at, found, A, tangent)
    operating = dict(zip((str(s.value) for s in (*eq.q, *eq.u, *eq.z)), at.point.x.tolist(), strict=True))
    return LinearModel(
        name=eq.model.name,
        A=A,
        B=B,
        C=C,
        D=D,
        states=found.states,
        inputs=names,
        outputs=tuple(sought) or found.states,
        drift=found.drift[found.free],
        whole_drift=found.drift,
        speeds=found.nu,
        whole=found.whole,
        lift=found.lift,
        at=operating,
        t=at.point.t,
        holds=tuple(n for n in dict.fromkeys(program.held.names) if n in at.holding),
        left_out=tuple(c.name for c in eq.model.candidates if c.name not in at.holding),
        sizes=found.sizes,
        lasting=lasting,
        notes=notes,
        machine=Machine(
            dynamics=dynamics,
            t=at.point.t,
            x=at.point.x,
            p=at.point.p,
            names=charts.names,
            T=charts.T,
            reach=found.extents(at)[0],
            states=found.states,
            closed=bool(at.closed),
        ),
    )


def _lasts(at: Operating, here: Near, A: np.ndarray, tangent: Tangent) -> bool:
    """Whether A is the same a moment later, if speeds stay as they are, but for states that nothing depends on.

    Where something depends on time, and no constraint moves with it, also at other times: at an extreme it hardly
    changes for a moment.
    """
    rate = np.concatenate([here.values["qdot"], np.zeros(here.nu + here.nz)])
    timed = at.program.timed or TIME in free_symbols(list(at.inputs.laws.values()))
    if not len(A) or not (rate.any() or timed):
        return True
    later = _MOMENT / max(np.abs(rate).max(initial=0), float(timed))
    moments = [(later, later * rate, _SAME * _MOMENT)]
    if timed and not (at.rows or at.closed):
        moments += [(time, 0 * rate, _SAME) for time in _TIMES]
    kept = _felt(A)
    for time, by, share in moments:
        x = at.program.unit(at.program.whole(at.point.x + by))[: len(at.point.x)]
        moved = replace(at, point=replace(at.point, x=x, t=at.point.t + time))
        there, _ = Near(moved, tangent, charts_of(moved), here.states).rates([])
        change, size = (np.abs(part)[np.ix_(kept, kept)] for part in (there - A, A))
        allowed = share * size.max(axis=1, keepdims=True, initial=0) + _ROUNDED * size.max(initial=0)
        if (change > allowed).any():
            return False
    return True


def _felt(A: np.ndarray) -> list[int]:
    """The states that others depend on, or that decay or grow by themselves."""
    kept = list(range(len(A)))
    while idle := [j for j in kept if not A[kept, j].any()]:
        kept = [j for j in kept if j not in idle]
    return kept


def _inputs(asked: Iterable[str] | None, known: Sequence[str], speeds: int, modes: set[str]) -> tuple[str, ...]:
    """Names of the inputs: those that are asked for, or actuators, or speeds, of modes where there are no others."""
    if asked is None:
        return tuple(known[speeds:] or [name for name in known[:speeds] if name not in modes] or known[:speeds])
    names = names_of(asked, "inputs")
    for name in names:
        if name not in known:
            kind = "speed or actuator" if len(known) > speeds else "speed"
            raise KeyError(f"inputs: there is no {kind} {name!r}. {closest(name, known)}")
    if len({*names}) < len(names):
        raise ValueError(f"inputs: {next(n for n in names if names.count(n) > 1)!r} is named twice, expected once.")
    return names


def _outputs(asked: Any, eq: Equations, turns: Sequence[str]) -> dict[str, Expr | str]:
    """Expressions of the outputs by name; names of turns as they are."""
    if asked is None:
        return {}
    if isinstance(asked, (str, Expr)):
        asked = [asked]
    if not isinstance(asked, Iterable):
        raise TypeError(f"outputs is {asked!r:.60}, expected names, or expressions by name.")
    given = asked if isinstance(asked, Mapping) else {str(e): e for e in asked}
    quasi = eq.kinematics.quasi
    listed = (*eq.q, *eq.u, *eq.z, *quasi, *eq.controls, *eq.parameters, eq.t)
    known = {*listed, *eq.kane.udot}
    found: dict[str, Expr | str] = {}
    for name, value in given.items():
        if isinstance(value, str) and value in turns:
            found[str(name)] = value
            continue
        if not isinstance(value, (str, Expr)):
            raise TypeError(f"outputs: {str(name)!r} is {value!r:.60}, expected a name or an expression.")
        law = parse(value, Symbols(), f"outputs: {str(name)!r}") if isinstance(value, str) else value
        if unknown := sorted(str(s) for s in free_symbols(law).difference(known)):
            raise KeyError(
                f"outputs: there is no coordinate, speed, state or parameter {unknown[0]!r}. "
                f"{closest(unknown[0], [*map(str, listed), *turns])}"
            )
        found[str(name)] = substitute(law, quasi)
    return found
