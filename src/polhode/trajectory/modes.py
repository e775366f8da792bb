"""Accelerations and reactions of a run whose constraints come and go, each in the mode that lasted there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polhode.equations.program import Program
from polhode.kernels.machine import Machine
from polhode.kernels.switch import adopt, respond_along

from .events import Event


def respond_in_modes(
    program: Program,
    p: np.ndarray,
    events: Sequence[Event],
    place: np.ndarray,
    t: np.ndarray,
    x: np.ndarray,
    tau: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """udot and the reactions of all rows at states, (k, nu) and (k, m).

    place : (k,), the event whose mode lasts at each state
    x     : (k, n), coordinates, speeds and states beside motion
    """
    nq, nu = len(program.equations.q), len(program.equations.u)
    dx, lam = np.zeros((len(t), len(program.x))), np.zeros((len(t), len(program.constraints)))
    for k in np.unique(place):
        here, rows = np.flatnonzero(place == k), events[k].rows
        assert rows is not None
        given = t[here].copy(), program.whole(x[here]), np.ascontiguousarray(tau[here])
        if not rows[0].any() and program.flow is not None:  # nothing holds or slides: no code for rows is needed
            dx[here] = program.flow(given[0][:, None], *given[1:], program.completed(p))
        else:
            found = np.zeros((len(here), len(program.x))), np.zeros((len(here), lam.shape[1]))
            respond_along(_in_mode(program, p, *rows), *given, *found)
            dx[here], lam[here] = found
    return dx[:, nq : nq + nu], lam


def _in_mode(program: Program, p: np.ndarray, mode: np.ndarray, slip: np.ndarray, captured: np.ndarray) -> Machine:
    """A machine of which rows hold and slide as they did."""
    machine = program.machine(p=p, switched=True)
    rows = machine.switching
    assert rows is not None
    rows.view("mode")[:], rows.view("slip")[:] = mode, slip
    first = int(rows.places[0]["captured_at"])
    machine.p[first : first + len(captured)] = captured
    adopt(machine)
    return machine
