"""What a run has recorded, as a trajectory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from polhode.equations.code import WORK
from polhode.equations.program import Program, program_of
from polhode.trajectory import Trajectory
from polhode.trajectory.events import places_at
from polhode.trajectory.modes import respond_in_modes

if TYPE_CHECKING:
    from .driver import Driver


def trajectory_of(run: Driver, reacting: bool) -> Trajectory:
    """Everything recorded so far.

    reacting : also compute the reactions of constraints at every state
    """
    program, machine, now, inputs = run._program, run._machine, run._now, run._inputs
    run._flush()
    if not run._recording.rows:
        run._recording.add(np.array([run.t]), run._x[None])
    t, x = run._recording.states()
    m, tau = len(program.equations.constraints), forces_along(run, t, x, run._recording.forces(machine.tau))
    residuals = None
    if m or len(program.held) > len(program.constraints):
        phi, psi, _, _ = program.measured(t, x, machine.p)
        rest = np.where(program.constraints.holonomic, phi[:, : len(program.constraints)], psi)
        residuals = np.hstack([rest[:, :m], phi[:, len(program.constraints) :]])
    period = inputs.sampled.period if inputs.sampled else np.inf if run._recording.forces_changed else None
    return Trajectory(
        dynamics=program.dynamics,
        t=t,
        q=x[:, run._q],
        u=x[:, run._u],
        z=x[:, run._z],
        tau=tau,
        work_done=work_of(program, x) + _lost(run, t),
        parameters=run._values,
        outcome=run.outcome,
        statistics={
            "method": run.method,
            "steps": now.accepted,
            "rejected": now.rejected,
            "evaluations": now.evaluations,
            "seconds": run._seconds,
        }
        | ({"constraint rows": m, "independent": _rank(run)} if m else {})
        | run._modes.unsolved(),
        residuals=residuals,
        reactions=_reactions(run, t, x, tau) if reacting and len(program.constraints) else None,
        reaction_names=program.constraints.labels,
        constraint_names=(*program.equations.constraints.labels, *program.held.labels[len(program.constraints) :]),
        events=run.events,
        sampled=None if period is None else (run._t0, period),
        set_rows=tuple(run._recording.set_rows),
    )


def _lost(run: Driver, t: np.ndarray) -> np.ndarray:
    """Work of impacts up to times, (k, 4), where it is not among the states."""
    found = np.zeros((len(t), len(WORK)))
    if "losses" not in run._program.work:
        for k, event in enumerate(run.events):
            after = np.searchsorted(t, event.time, side="right") - int(event.time in t)
            if k == 0:  # the first state is the one after the start
                after = np.searchsorted(t, event.time)
            found[after:, WORK.index("losses")] -= event.lost
    return found


def _reactions(run: Driver, t: np.ndarray, x: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """The reactions at states, (k, m), whatever the method does to get from one to the next."""
    program = program_of(run.dynamics, run._program.laws) if run._program.stepping else run._program
    x = x[:, : run._machine.counted]
    if run.events:
        return respond_in_modes(program, run._values, run.events, places_at(run.events, t), t, x, tau)[1]
    return program.respond(t, x, tau, run._values)[1]


def _rank(run: Driver) -> int:
    """How many rows of constraints are independent where the run is."""
    assert run._machine.constrained is not None
    return int(run._machine.constrained.places[0]["rank"])


def forces_along(run: Driver, t: np.ndarray, x: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """The forces on the speeds at states, (k, nu), of which some are constant."""
    if run._inputs.continuous is None:
        return run._inputs.along(run._program, t, x, run._machine.p, constant)
    call = partial(run._inputs.call, run._inputs.continuous)
    return np.array([call(float(s), row[run._q], row[run._u]) for s, row in zip(t, x, strict=True)])


def work_of(program: Program, x: np.ndarray) -> np.ndarray:
    """Work since the start, of all kinds, (..., 3), from states."""
    found = np.zeros((*x.shape[:-1], len(WORK)))
    found[..., [WORK.index(name) for name in program.work]] = x[..., x.shape[-1] - len(program.work) :]
    return found
