"""What a step costs in each mode, and a switch to it: operations, and times as measured here.

Measured in native code, after it was called often enough to be loaded: the loop is called for one step at a
time, from the same state again and again, and `resolve` for a switch. The worst is what was seen, not a bound: page
faults, other programs and a clock that the processor changes come on top, and the steps of an adaptive method may be
many. A loop at 1 kHz needs the worst step, and the worst switch, well below 1 ms.

The state is that which is given, moved to where what holds in a mode is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.kernels.loop import advance
from polhode.kernels.machine import OK
from polhode.kernels.mode import COMMAND, HELD, OFF, SLIDES, START, TANGENT
from polhode.kernels.switch import adopt, resolve
from polhode.trajectory.events import OPEN, RELEASED

from .automaton import Automaton, Mode
from .stages import Stage, StagedSimulation

WARM = 50  # calls that are not counted
LEAVES_OUT = (
    "Worst is the longest that was seen, without what other programs took: these, page faults and a processor that "
    "slows down come on top."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """Of one mode: operations of its rate of change; seconds of a step by its own equations, and by the loop for all.

    median, worst               : of a step by its own equations, where it has any, else by the loop for all modes
    general, general_worst      : by the loop for all modes
    switch, switch_worst        : from nothing engaged to this mode, with impulses, the new choice and settling
    """

    mode: Mode
    operations: int
    median: float
    worst: float
    general: float
    general_worst: float
    switch: float
    switch_worst: float


class StepCosts(tuple[StepCost, ...]):
    """The costs of all modes that were measured; printed as a table."""

    __slots__ = ()

    def of(self, mode: Mode) -> StepCost:
        """That of a mode."""
        return next(cost for cost in self if cost.mode.rows == mode.rows)

    def __str__(self) -> str:
        head = ("mode", "operations", "step", "worst", "loop for all", "worst", "switch", "worst", "in steps")
        rows: list[tuple[str, ...]] = [head]
        for cost in self:
            times = (cost.median, cost.worst, cost.general, cost.general_worst, cost.switch, cost.switch_worst)
            own = "" if cost.mode.program is not None else " (*)"
            rows.append((cost.mode.title + own, f"{cost.operations:,}", *map(_microseconds, times),
                         f"{cost.switch / cost.general:.1f}"))  # fmt: skip
        wide = [max(len(row[k]) for row in rows) for k in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, wide, strict=True))
            )
            for row in rows
        ]
        if any(cost.mode.program is None for cost in self):
            lines.append("(*) no equations of its own: by the loop for all modes")
        return "\n".join([*lines, LEAVES_OUT])

    __repr__ = __str__


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} us"


def step_cost(
    dynamics: Dynamics, mode: Mapping[str, str] | None = None, method: str = "euler", step: float = 1e-3, *,
    q: Any = None, u: Any = None, tau: Any = None, p: Any = None, over: Any = None, most: int = 64, repeats: int = 2000,
) -> StepCosts:  # fmt: skip
    """Measure steps and switches in every mode, or in one: see `StepCosts`."""
    try:
        automaton = Automaton(dynamics, over, most)
    except (KeyError, TypeError, ValueError) as error:  # which name what they refused
        said = str(error.args[0])
        own = said.startswith("automaton")
        raise type(error)(f"step_cost{said.removeprefix('automaton')}" if own else f"step_cost: {said}") from None
    chosen = [m for m in automaton.modes if mode is None or all(m.words.get(k) == w for k, w in mode.items())]
    if not chosen:
        known = {name: sorted({m.words[name] for m in automaton.modes}) for name in automaton.modes[0].words}
        raise ValueError(f"step_cost: no mode is {mode!r:.100}. Constraints and what they may do: {known}.")
    given: dict[str, Any] = {"method": method, "tau": tau, "p": p}
    if method not in ("dop853", "dopri5"):
        given["step"] = step
    return StepCosts(_measured(automaton, m, q, u, repeats, given) for m in chosen)


def _measured(automaton: Automaton, mode: Mode, q: Any, u: Any, repeats: int, given: dict[str, Any]) -> StepCost:
    run = automaton.simulation(q, u, **given)
    run._modes.need(run.t)
    _close(run, mode)
    general = _steps(run, lambda: _general(run, mode), repeats)
    own = (
        general
        if mode.program is None or mode.rows not in run._programs
        else _steps(run, lambda: _own(run, mode), repeats)
    )
    switch = _switches(run, mode, repeats)
    return StepCost(
        mode=mode, operations=mode.operations, median=own[0], worst=own[1], general=general[0],
        general_worst=general[1], switch=switch[0], switch_worst=switch[1],
    )  # fmt: skip


def _close(run: StagedSimulation, mode: Mode) -> None:
    """Move the state to where the rows that hold in a mode are closed, and latches are tied as they are."""
    program, machine, x = run._program, run._machine, run._x
    if program.capture is not None:
        first = int(machine.switching.places[0]["captured_at"])  # type: ignore[union-attr]
        machine.p[first:] = program.capture(np.array([run.t]), x, machine.p)
    held = (np.array(mode.rows) == HELD) & np.array(program.constraints.holonomic, dtype=bool)
    start = x.copy()
    for _ in range(30):
        phi, J, _, _ = program.assembled(run.t, x, machine.p, True)
        phi, J = phi[: held.size][held], J[: held.size][held]
        if np.abs(phi).max(initial=0.0) < 1e-14:
            break
        v = -np.linalg.lstsq(J, phi, rcond=None)[0]
        x[run._q] += program.moved(run.t, x[run._q], v, machine.p)
        x[:] = program.unit(x)
    if not np.isfinite(x).all() or np.abs(phi).max(initial=0.0) > 1e-9:
        x[:] = start


def _force(run: StagedSimulation, mode: Mode) -> None:
    """Have the rows of a mode hold, and nothing end it."""
    board = run._board
    rows = board.rows
    rows.view("mode")[:] = mode.rows
    rows.view("engaged")[:] = 0
    rows.view("slip")[:] = np.where(rows.view("mode") == SLIDES, 1.0, 0.0)
    held = (rows.view("mode") == HELD) & (rows.view("kind") == TANGENT)
    rows.view("size")[held] = 0
    adopt(run._machine)


def _general(run: StagedSimulation, mode: Mode) -> tuple[Callable[[], int], np.ndarray]:
    _force(run, mode)
    recording, machine = run._recording, run._machine
    idle = not any(mode.rows)
    if idle and run._modes.watch is not None:
        machine = run._modes.watch.machine
        machine.switching.view("way")[:] = 2  # type: ignore[union-attr]
    return advance.bind(run._chosen, machine, run._record, run._x, recording.t, recording.x, run._room), run._x


def _own(run: StagedSimulation, mode: Mode) -> tuple[Callable[[], int], np.ndarray]:
    _force(run, mode)
    stage = Stage(run, run._programs[mode.rows])
    stage.enter()
    stage.rows.view("way")[:] = 2
    recording = run._recording
    rows = np.zeros((len(recording.t), stage.x.size))
    loop = advance.bind(run._chosen, stage.machine, run._record, stage.x, recording.t, rows, stage.room)
    run._stages[mode.rows] = stage  # its code lives as long as it does
    return loop, stage.x


def _seconds(call: Callable[[], int]) -> float:
    """The time that a call took: what passed, or where another program came between what this one had of it."""
    own, before = time.thread_time_ns(), time.perf_counter_ns()
    call()
    spent, own = time.perf_counter_ns() - before, time.thread_time_ns() - own
    return min(spent, own) * 1e-9


def _steps(
    run: StagedSimulation, made: Callable[[], tuple[Callable[[], int], np.ndarray]], repeats: int
) -> tuple[float, float]:
    """The median and the longest time of a step from the state now, s."""
    sizes, laws = run._board.rows.view("size").copy(), run._board.rows.view("engaged").copy()
    x0, t0 = run._x.copy(), run._now.t
    loop, x = made()
    start, now = x.copy(), run._now
    times = np.zeros(repeats)
    for k in range(-WARM, repeats):
        x[:] = start
        now.t, now.row, now.rated, now.stop, now.budget = t0, 0, 0, np.inf, 1
        times[max(k, 0)] = _seconds(loop)
    now.t, now.row, now.rated, run._x[:] = t0, 0, 0, x0
    run._board.rows.view("size")[:], run._board.rows.view("engaged")[:] = sizes, laws
    return float(np.median(times)), float(times.max())


def _switches(run: StagedSimulation, mode: Mode, repeats: int) -> tuple[float, float]:
    """The median and the longest time of a switch from nothing engaged to a mode, s."""
    board = run._board
    rows, machine = board.rows, run._machine
    wanted = np.array([mode.words.get(name, RELEASED) not in (OPEN, RELEASED) for name in board.names], dtype=np.int64)
    x0 = run._x.copy()
    moving = x0.copy()
    _, J, _, _ = run._program.assembled(run.t, x0, machine.p, False)
    moving[run._u] += -0.1 * J[np.array(mode.rows) != OFF].sum(axis=0)  # what is to hold approaches
    times = np.zeros(repeats)
    bound = resolve.bind(machine, run._record, run._x)
    for k in range(-WARM, repeats):
        run._x[:] = moving
        rows.view("mode")[:], rows.view("engaged")[:], rows.view("wanted")[:] = 0, 0, wanted
        rows.places[0]["cause"] = COMMAND
        times[max(k, 0)] = _seconds(bound)
    if bound() != OK:
        times[:] = np.nan
    run._x[:] = x0
    rows.view("wanted")[:] = rows.view("engaged")
    rows.places[0]["cause"] = START
    return float(np.median(times)), float(times.max())
