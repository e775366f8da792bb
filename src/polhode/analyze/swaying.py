"""A mode as a motion to be seen: coordinates q + amplitude Re(shape e^(i phase)), about where the machine is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polhode.equations import Dynamics
from polhode.model.errors import listed
from polhode.simulate.assemble import AssemblyError, assemble
from polhode.trajectory import Trajectory
from polhode.trajectory.outcome import Outcome

_SWING = 0.25  # rad, or of the size of the machine: how far what moves most goes
_FRAMES, _SECONDS, _PERIODS = 240, 4.0, 2


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine where it was linearised: x = [q, u, z], tau with controls, parameters.

    names  : of coordinates and turns; T : dq = T r; reach : how far each can move
    states : independent ones, which constraints leave as they are; closed : whether loops are closed
    """

    dynamics: Dynamics
    t: float
    x: np.ndarray
    p: np.ndarray
    names: tuple[str, ...]
    T: np.ndarray
    reach: np.ndarray
    states: tuple[str, ...]
    closed: bool


def swaying(
    at: Machine, names: Sequence[str], shape: np.ndarray, value: complex, said: str, share: float
) -> Trajectory:
    """The mode as a trajectory of four seconds: two periods, or a decay or growth by e^3, or a drift."""
    eq = at.dynamics.equations
    nq, nu, moved = len(eq.q), len(eq.u), dict(zip(names, shape, strict=True))
    r = np.array([moved.get(name, 0.0) for name in at.names], dtype=complex)
    largest = float(np.abs(r / at.reach).max(initial=0))
    if not largest > 0:
        raise ValueError(f"This mode moves nothing that is drawn, only {listed([n for n in names if moved[n]][:6])}.")
    t = np.linspace(0.0, _SECONDS, _FRAMES)
    part = t / _SECONDS
    if value.imag:
        phase = np.exp(2j * np.pi * _PERIODS * part)
    elif value.real:
        phase = np.exp(3 * (part - 1) if value.real > 0 else -3 * part) + 0j
    else:
        phase = part + 0j
    swing = share * _SWING / largest
    q = at.x[:nq] + swing * np.real(phase[:, None] * r) @ at.T.T
    if at.closed:
        q = _closed(at, q)
    k = len(t)
    return Trajectory(
        dynamics=at.dynamics,
        t=t,
        q=q,
        u=np.zeros((k, nu)),
        z=np.tile(at.x[nq + nu :], (k, 1)),
        tau=np.zeros((k, nu + len(eq.controls))),
        parameters=at.p[: len(at.dynamics.parameters)],
        outcome=Outcome(finished=True, reason=said, time=float(t[-1])),
    )


def _closed(at: Machine, q: np.ndarray) -> np.ndarray:
    """The same with loops that are closed, where they can be."""
    names = [str(s.value) for s in at.dynamics.equations.q]
    keep = [name for name in names if name in at.states]
    found = q.copy()
    for i, each in enumerate(q):
        try:
            p = dict(zip(at.dynamics.parameters, at.p.tolist(), strict=False))
            found[i] = assemble(at.dynamics, each, keep=keep, t=at.t, p=p).q
        except AssemblyError:
            found[i] = each
    return found
