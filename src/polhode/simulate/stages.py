"""A run that goes from mode to mode, in each with equations of its own.

Events, impulses and the choice of the mode that follows are those of `Simulation`; between events the
state moves by the embedded equations of the mode, and is lifted to all speeds where it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polhode.equations.modes import ModeProgram, idle_rows
from polhode.equations.program import Program
from polhode.kernels.loop import advance, room_of
from polhode.kernels.machine import NOT_FINITE, Machine
from polhode.kernels.mode import CLOSED, GUARD, OFF, OPENED, SLIPPED
from polhode.kernels.stepping import EVENT, MORE

from .simulation import Simulation
from .switchboard import GUARDED, Switchboard
from .switches import guards_of

NARROW = 1e-11  # of the size that a row is measured by: this far below 0 is nothing yet
WEAK = 1e-10  # the same of reactions, of the largest that is watched
NEVER = 2  # a way in which no guard counts
NUDGE = 1e-5  # s, to see how a reaction changes


class Stage:
    """One mode of a run: its machine, and where its states and events are in those of the whole machine."""

    def __init__(self, run: StagedSimulation, program: ModeProgram) -> None:
        self.run, self.program, self.board = run, program, run._board
        guards = guards_of(run._modes.switches, run.dynamics.equations)
        self.watched, count = program.watch([guard.value for guard in guards])
        self.machine = program.room((self.watched, count), run._machine)
        assert self.machine.switching is not None
        self.rows, self.own = self.machine.switching, len(program.ends)
        self.x, self.places = np.zeros(len(program.x)), np.array(program.places)
        self.room = room_of(run._chosen, self.x.size)
        self.loads = np.zeros(self.own)
        self._bound: dict[int, tuple[Callable[[], int], np.ndarray, np.ndarray]] = {}

    def enter(self) -> bool:
        """Begin at the state of the run; False where its choice of speeds is a poor one there."""
        run, board, rows = self.run, self.board, self.rows
        whole = run._machine
        engaged, group, reach2 = board.rows.view("engaged"), board.rows.view("group"), whole.constrained.view("reach2")  # type: ignore[union-attr]
        self._take()
        values = self._values()
        self.loads = np.abs(values[: self.own])
        most = max(
            (abs(v) for v, (_, _, _, forces) in zip(values, self.program.ends, strict=False) if forces), default=0.0
        )
        way, least, sign = rows.view("way"), rows.view("least"), rows.view("sign")
        for k, (row, cause, _, forces) in enumerate(self.program.ends):
            sign[k], way[k] = 1, -1
            least[k] = WEAK * most if forces else NARROW * np.sqrt(reach2[row]) if row >= 0 else 0.0
            if cause == CLOSED and not engaged[group[row]]:
                way[k] = NEVER
            if row < 0 and not values[k] > 0.0:
                return False
        way[self.own :], sign[self.own :] = board.rows.view("way"), board.rows.view("sign")
        rows.view("guard")[self.own :] = board.rows.view("guard")
        rows.view("crossed")[: self.own], rows.view("crossed")[self.own :] = 0, board.passing
        rows.places[0]["fresh"] = 1
        return True

    def _take(self) -> None:
        """Take over the state of the run, its parameters, directions and forces."""
        run, p = self.run, self.machine.p
        whole, board = run._machine, self.board
        self.x[:] = run._x[self.places]
        m, forces = len(self.program.modes), len(whole.tau)
        p[: whole.p.size] = whole.p
        p[whole.p.size : whole.p.size + m] = board.rows.view("slip")
        p[p.size - forces :] = whole.tau

    def _rate(self, t: float, x: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.program.flow(np.array([t]), x, self.machine.tau, self.machine.p)  # type: ignore[misc]
        return found

    def _values(self) -> np.ndarray:
        """What must stay above 0 at its state."""
        if self.watched is None:
            return np.zeros(0)
        t = self.run.t
        found: np.ndarray = self.watched(np.array([t]), self.x, self._rate(t, self.x), self.machine.p)
        return found[: self.own]

    def taken(self) -> Callable[[], int]:
        """The loop that takes steps in this mode, and records them as the run does."""
        run = self.run
        grid, rows = (run._recording.t, run._recording.x) if run._now.every else (run._grid, run._rows)
        if id(grid) not in self._bound:
            mine = np.zeros((len(grid), self.x.size))
            loop = advance.bind(run._chosen, self.machine, run._record, self.x, grid, mine, self.room)
            self._bound = {id(grid): (loop, mine, grid)}  # the grid is kept, so its id stays its own
        loop, mine, _ = self._bound[id(grid)]

        def take_steps() -> int:
            now = run._now
            self._take()
            first = now.row
            status = loop()
            self.board.rows.view("sign")[:] = self.rows.view("sign")[self.own :]
            if status == EVENT and self._cause() in (OPENED, SLIPPED):
                self._sharpen(grid, mine)
            if now.row > first:
                rows[first : now.row] = self.lifted(grid[first : now.row], mine[first : now.row])
            run._x[:] = self.lifted(np.array([now.t]), self.x[None])[0]
            if status == NOT_FINITE:
                now.blamed = int(self.places[now.blamed])
            return self._pass_on() if status == EVENT else status

        return take_steps

    def lifted(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """States of the whole machine, (k, n)."""
        p = np.ascontiguousarray(np.broadcast_to(self.machine.p, (len(t), self.machine.p.size)))
        found: np.ndarray = self.program.lift(np.ascontiguousarray(t)[:, None], np.ascontiguousarray(x), p)
        return found

    def _cause(self) -> int:
        which = int(self.rows.places[0]["event"])
        return self.program.ends[which][1] if which < self.own else GUARD

    def _sharpen(self, grid: np.ndarray, mine: np.ndarray) -> None:
        """Move the state along to where a reaction becomes 0: within a step it was only read off a polynomial."""
        run, which = self.run, int(self.rows.places[0]["event"])
        t, x = run._now.t, self.x.copy()
        for _ in range(3):
            here, before, after = (self._along(t, x, by)[1][which] for by in (0.0, -NUDGE, NUDGE))
            slope = (after - before) / (2 * NUDGE)
            by = -here / slope if slope < 0 else np.inf
            if not abs(by) < NUDGE:
                break
            x, t = self._along(t, x, by)[0], t + by
        if t != run._now.t and abs(t - run._now.t) < NUDGE:
            recorded = run._now.row > 0 and grid[run._now.row - 1] == run._now.t
            run._now.t, self.x[:] = t, x
            if recorded and run._now.every:
                grid[run._now.row - 1], mine[run._now.row - 1] = t, x

    def _along(self, t: float, x: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        """The state a short time later, by a step of Runge and Kutta, and what must stay above 0 there."""
        if h:
            k1 = self._rate(t, x)
            k2 = self._rate(t + h / 2, x + h / 2 * k1)
            k3 = self._rate(t + h / 2, x + h / 2 * k2)
            k4 = self._rate(t + h, x + h * k3)
            x, t = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), t + h
        assert self.watched is not None
        return x, self.watched(np.array([t]), x, self._rate(t, x), self.machine.p)

    def _pass_on(self) -> int:
        """Hand an event to the whole machine; MORE where it is only about the choice of speeds."""
        board = self.board
        which = int(self.rows.places[0]["event"])
        for name in GUARDED:
            board.rows.view(name)[:] = self.rows.view(name)[self.own :]
        if which < self.own and self.program.ends[which][0] < 0:
            self.run._leave()
            return MORE
        loads = np.maximum(np.abs(self.rows.view("value0")[: self.own]), self.loads)
        for k, (row, cause, _, _) in enumerate(self.program.ends):
            if cause == OPENED and row >= 0:  # what it carried: so the choice knows what is nothing beside it
                board.rows.view("heft")[row] = loads[k]
        met = np.flatnonzero(self.rows.view("crossed")).tolist()
        ends = [self.program.ends[k][:2] for k in met if k < self.own]
        board.meet([end for end in ends if end[0] >= 0], [k - self.own for k in met if k >= self.own])
        return EVENT


class StagedSimulation(Simulation):
    """A simulation that moves by the equations of the mode it is in, where these are at hand.

    programs : by what each row does; other modes are those of `Simulation`
    """

    def __init__(self, programs: Mapping[tuple[int, ...], ModeProgram], *args: Any, **given: Any) -> None:
        self._programs = programs
        self._stages: dict[tuple[int, ...], Stage] = {}
        self._stage: Stage | None = None
        self._entered: Switchboard | None = None  # that which the stages know
        super().__init__(*args, **given)
        modes = self._modes
        if modes.board is None and modes.watch is None and len(self._program.constraints):
            modes.need(self.t)
            self._advance = self._taken()

    @property
    def _board(self) -> Switchboard:
        assert self._modes.board is not None
        return self._modes.board

    def _go_on(self) -> None:
        self._stage = self._entered = None
        super()._go_on()

    def _taken(self, machine: Machine | None = None) -> Callable[[], int]:
        if machine is not None:
            return super()._taken(machine)
        if self._entered is not self._modes.board:
            self._enter()
        return super()._taken() if self._stage is None else self._stage.taken()

    def _enter(self) -> None:
        """Go on with the equations of the mode, where it has any of its own."""
        modes = self._modes
        self._stage, self._entered = None, modes.board
        self._stages = {key: stage for key, stage in self._stages.items() if stage.board is modes.board}
        if modes.board is None or modes.light or modes.wired is not None:
            return
        key = keyed(self._program, modes.board.rows.view("mode"))
        if key in self._programs and key not in self._stages:
            self._stages[key] = Stage(self, self._programs[key])
        if key in self._stages and self._stages[key].enter():
            self._stage = self._stages[key]

    def _leave(self) -> None:
        """Go on with the whole machine, until another mode is entered."""
        self._stage, self._now.rated = None, 0
        self._advance = self._taken()


def keyed(program: Program, rows: np.ndarray) -> tuple[int, ...]:
    """What each row does, as a key: rows that nothing moves do nothing."""
    idle = idle_rows(program)
    return tuple(OFF if i in idle else int(mode) for i, mode in enumerate(rows))
