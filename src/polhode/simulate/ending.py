"""Why a run ended, from what the loops returned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from polhode.equations.program import Program
from polhode.kernels.constrained import Constrained
from polhode.kernels.hold import evaluate
from polhode.kernels.machine import LOST, NOT_FINITE, OK, SINGULAR, TORN, Machine
from polhode.kernels.stepping import DONE
from polhode.kinematics.candidates import EQUAL, TANGENT, UNILATERAL
from polhode.model.definite import REMEDY
from polhode.model.errors import listed
from polhode.trajectory import Outcome

from .bending import without_inertia
from .switches import When

if TYPE_CHECKING:
    from .driver import Driver

LIVELOCK = 1000  # events at one time, after which a run ends
AT_ONE_TIME = 5e-8  # s, of a second and of times that are longer: events that follow within it count as such
ENDED, STOPPED, LIVELOCKED = -1, -2, -3  # beside what the loop returns
ENORMOUS = 1e9  # m/s, rad/s: a speed that is asked whether steps of one size follow it
FOLLOWED = 0.5  # of a speed, by which it changes in a step
_SHORTER = 'Give a shorter step; use method="rodas5p" where a damper or a spring is stiff.'
JAMMED = 1e-2  # of its reference, that a row has of its own where it hardly determines a speed


def ended(run: Driver, status: int) -> Outcome:
    """How the loop ended where it is now."""
    t, now = run.t, run._now
    if status == ENDED:
        return Outcome(finished=True, reason=f"{run.events[-1].why}: ended at t = {t:.6g} s.", time=t)
    if status in (STOPPED, LIVELOCKED):
        reason = run._switch_failure
        if status == LIVELOCKED:
            reason = _contradicted(run) or (
                f"{LIVELOCK} events in a row at t = {t:.6g} s, the last about {listed(run.events[-1].what)}."
            )
        said, _, remedy = reason.rpartition(". ")
        if not said:
            said, remedy = reason.removesuffix("."), "Look at the events before it."
        return Outcome(finished=False, reason=f"Stopped: {said}.", time=t, remedy=remedy)
    found = ending(run._program, run._machine, status, t, run._x, now.accepted, now.blamed)
    if status == DONE and run._fixed and (fastest := _diverged(run)):
        reason = f"Reached t = {t:.6g} s, but {fastest!r} grew without bound: the step is too long for it."
        return replace(found, finished=False, reason=reason, culprit=fastest, remedy=_SHORTER)
    if status == DONE and (never := _awaited(run)) and len(run.events):
        return replace(found, reason=f"{found.reason[:-1]}; {never} did not happen.")
    if status != DONE and (bent := without_inertia(run.dynamics, run._values, t, run._x[run._q])):
        reason = (
            f"Stopped at t = {t:.6g} s: body {bent!r} bends so far that one motion has no inertia left, since its "
            'order "first" leaves out small terms.'
        )
        return replace(found, reason=reason, culprit=bent, remedy=REMEDY)
    when, bad = run._inputs.not_finite or (-np.inf, "")
    if status != NOT_FINITE or when < t:
        return found
    reason = f"Stopped at t = {t:.6g} s: the control gave a force on {bad!r} that is NaN or infinite."
    return replace(found, reason=reason, culprit=bad, remedy="Look at what it does with the state at that time.")


def _diverged(run: Driver) -> str:
    """The speed that a step too long has made enormous; nothing where none is, or where steps follow its growth.

    By an explicit method, x' = -a x grows where h a > 2; a growth that is followed has h |x'| much below |x|.
    """
    u = np.abs(run._x[run._u])
    if not u.size or u.max() < ENORMOUS:
        return ""
    rate = np.zeros_like(run._x)
    if evaluate(run._machine, run.t, run._x.copy(), rate, False) != OK:
        return ""
    followed = run._now.spacing * np.abs(rate[run._u]) <= FOLLOWED * u
    fastest = int(np.argmax(u))
    return "" if followed[fastest] else run._names[run._u][fastest]


def _contradicted(run: Driver) -> str:
    """Say what leaves no speed to something that is met again and again: a law that leads into the ground."""
    program, what = run._program, run.events[-1].what
    rows, kind = program.constraints, [law.kind for law in program.row_laws]
    met = [i for i, name in enumerate(rows.names) if name in what and kind[i] == UNILATERAL]
    mode = run.events[-1].mode
    held = [i for i, name in enumerate(rows.names) if kind[i] == EQUAL and mode.get(name) == "engaged"]
    if not (met and held):
        return ""
    J = program.assembled(run.t, run._x, run._machine.p, False)[1]
    for i in met:
        share, *_ = np.linalg.lstsq(J[held].T, J[i], rcond=None)
        size = np.abs(J[i]).max()
        if size > 0 and np.abs(J[held].T @ share - J[i]).max() < 1e-9 * size:
            bound = [rows.names[k] for k, x in zip(held, share, strict=True) if abs(x) > 1e-9 * np.abs(share).max()]
            others = list(dict.fromkeys(bound))
            return (
                f"{rows.names[i]!r} and {listed(others)} contradict each other from t = {run.t:.6g} s on: no speeds "
                "satisfy them all. Release one of them before, or change what it asks for."
            )
    return ""


def _awaited(run: Driver) -> str:
    """What was to end a run."""
    waits = (s for s in run._modes.switches if isinstance(s, When) and not (s.engage or s.release))
    return ", ".join(map(str, waits))


def in_vain(run: Driver, status: int) -> Outcome:
    """How a run ended that was to wait for something, as long as that takes."""
    if status != DONE:
        found = ended(run, status)
        return replace(found, reason=f"{found.reason[:-1]}; until then {_awaited(run)} did not happen.")
    reason = f"Stopped at t = {run.t:.6g} s: {_awaited(run)} did not happen."
    return Outcome(finished=False, reason=reason, time=run.t, remedy="Give t_end=, or wait for something that does.")


def ending(program: Program, machine: Machine, status: int, t: float, x: np.ndarray, steps: int, which: int) -> Outcome:
    """Say why the loops returned a status at a state (t, x); `which` is the variable they blame."""
    culprit = str(program.x[which % len(program.x)].value) if len(program.x) else "nothing"
    at = f"Stopped at t = {t:.6g} s:"
    room = machine.constrained
    if status == DONE:
        return Outcome(finished=True, reason=f"Reached t = {t:.6g} s in {steps:,} step{'s' * (steps != 1)}.", time=t)
    if status == NOT_FINITE:
        reason = f"{culprit!r} would become infinite or NaN in the next step."
        remedy = "Look at forces that grow without bound and at masses and lengths that are 0; a smaller step may pass."
    elif status == SINGULAR and room is not None:
        culprit = _idle(program, room)
        reason = f"the inertia matrix is singular, {culprit!r} has no acceleration."
        remedy = "Give the bodies that move with it mass or inertia, or its joint an armature."
    elif status == LOST and room is not None:
        culprit = _furthest(program.held.labels, room, "phi", "reach2", "closing")
        reason = f"constraint {culprit!r} can no longer be satisfied."
        remedy = "The machine is at the end of its travel or in a singular position; a smaller step may pass."
    elif status == TORN and room is not None:
        culprit = _furthest(program.constraints.labels, room, "psi", "pace2", "active")
        reason = f"the speeds can no longer satisfy constraint {culprit!r} with the others."
        remedy = "Drop one of those that contradict each other; in a singular position a smaller step may pass."
        touching = _touching(program, culprit)
        if _rubs(program, culprit):
            reason = (
                f"{culprit!r} can no longer stick with the others that do: they say the same in a singular position, "
                "which the machine has left, and one of them has to slip."
            )
            remedy = 'Use method="moreau", or give such contacts a stiffness.'
        if getattr(touching, "relief", None) is not None:
            remedy = 'Where the relief has an edge or a kink, what slides over it is struck: use method="moreau".'
        elif getattr(touching, "shape", "") == "disc":
            remedy = (
                "A disc that passes flat has another lowest point: give it three or more contacts on its rim instead."
            )
    elif room is not None and (strained := _strained(program, machine, room, t, x)) is not None:
        culprit = strained
        reason = f"near a singular position, where constraint {culprit!r} jams the machine."
        remedy = "Change what drives it there, or the lengths; without a prescribed motion a smaller step may pass."
    else:
        reason = f"the step became too small; {culprit!r} changes fastest."
        remedy = 'Look for a force that jumps or a pole; try method="rodas5p" for stiff systems, or larger rtol, atol.'
    return Outcome(finished=False, reason=f"{at} {reason}", time=t, culprit=culprit, remedy=remedy)


def _rubs(program: Program, label: str) -> bool:
    """Whether a row is one of friction, or of a brake."""
    kinds = dict(zip(program.constraints.labels, (law.kind for law in program.row_laws), strict=True))
    return kinds.get(label) == TANGENT


def _touching(program: Program, label: str) -> object:
    """The contact or other constraint that a row belongs to."""
    owner = dict(zip(program.constraints.labels, program.constraints.names, strict=True)).get(label)
    return next((c for c in program.equations.model.constraints if c.name == owner), None)


def _idle(program: Program, room: Constrained) -> str:
    """The speed with the least inertia, where the loops found none."""
    sizes = np.abs(room.view("M") / room.view("d")[: len(program.equations.u)]).max(axis=1)  # M is in units of d
    return str(program.equations.u[int(np.argmin(sizes))].value)


def _furthest(labels: tuple[str, ...], room: Constrained, residual: str, size2: str, active: str) -> str:
    """The constraint that is furthest off where the loops gave up."""
    sizes = np.sqrt(np.maximum(room.view(size2), 1e-300))
    off = np.abs(room.view(residual)) / sizes * room.view(active)[: len(labels)]
    return labels[int(np.argmax(np.where(np.isnan(off), np.inf, off)))]


def _strained(program: Program, machine: Machine, room: Constrained, t: float, x: np.ndarray) -> str | None:
    """The constraint that hardly determines a speed any more."""
    if program.table is None:
        return None
    found = room.view("t_carried").size, room.view("M").size + room.view("b").size
    table = program.table(np.array([t]), x, machine.tau, machine.p)
    M, J, E2 = room.view("M"), room.view("J"), room.view("E2")
    first, size = sum(found), J.size
    M = table[found[0] : found[0] + M.size].reshape(M.shape)
    J, E2 = (table[k : k + size].reshape(J.shape) for k in (first, first + size + len(J)))
    inertias = np.diagonal(M)
    units = np.sqrt(np.where(inertias > 0, inertias, 1.0))
    reference = np.sqrt((E2 / units**2).sum(axis=1))
    rows, sizes, _ = np.linalg.svd(J / units / np.where(reference > 0, reference, 1.0)[:, None])
    evaluate(machine, t, x.copy(), np.zeros_like(x), True)
    rank = int(room.view("used")[: len(program.constraints)].sum())
    if not rank or sizes[rank - 1] > JAMMED * sizes[0]:
        return None
    return program.constraints.labels[int(np.argmax(np.abs(rows[:, rank - 1])))]
