"""What constraints carry while a machine runs: the impulses of its steps, or reactions at its state."""

from __future__ import annotations

import numpy as np

from polhode.equations.program import Program, program_of
from polhode.kernels.impose import respond
from polhode.kernels.machine import Machine
from polhode.kernels.switch import adopt, respond_along

from .commands import Commands
from .loop import Realtime

TRIES = 5  # to read impulses between two ticks
LONG = 1.0  # s of the machine, after which a mean begins anew


class Reactions:
    """The reactions of all rows of a machine that runs, as means since the last look.

    With method="moreau" a reaction is the sum of the impulses of the steps by their time: what the loop applied,
    impacts and switches included. Other methods have no impulses of their own; there it is the reaction at the newest
    state, and beside it the impulses of what was engaged.

    names, labels : of the rows
    lam           : (m,), N, N m, or as a relation is written; 0 before the first tick
    """

    def __init__(self, loop: Realtime) -> None:
        self._loop = loop
        self._program: Program | None = None
        self._machine: Machine | None = None
        self._commands: Commands | None = None
        self._ticks, self._sums = 0, np.zeros(0)
        self._begin()

    def _begin(self) -> None:
        """Count from here on."""
        loop = self._loop
        self._commands, self._ticks = loop._commands, loop.ticks
        program = loop._sim._program if self._commands is None else self._commands.board.program
        if not loop._sim._modes._whole_steps and program.stepping:
            # dampers act at the state, not in a step
            program = program_of(loop.dynamics, program.laws, wired=loop._sim._modes.wired)
        if program is not self._program:
            self._program, self._machine = program, None
        self.names, self.labels = program.constraints.names, program.constraints.labels
        self.lam, self._sums = np.zeros(len(self.names)), self._added_up()

    def look(self) -> None:
        """Take what was carried since the last look; where no tick was, it stays."""
        loop = self._loop
        if loop._commands is not self._commands or loop.ticks < self._ticks:
            self._begin()
        found = self._read()
        if found is None:
            return
        ticks, sums = found
        spent = (ticks - self._ticks) / loop.rate
        if spent > LONG:
            self._begin()
            return
        whole = loop._sim._modes._whole_steps
        if spent > 0:
            self.lam = (sums - self._sums) / spent
            self._ticks, self._sums = ticks, sums
        if not whole and (spent > 0 or ticks == 0) and len(self.names):
            self.lam = self._at_state() + (self.lam if spent > 0 else 0)

    def _added_up(self) -> np.ndarray:
        """The impulses of each row since the beginning, (m,)."""
        m, commands, struck = len(self.names), self._commands, self._loop.struck
        by_loop = np.zeros(m) if commands is None else commands.impulses[:m].copy()
        return by_loop + [struck.get(label, 0.0) for label in self.labels] if struck else by_loop

    def _read(self) -> tuple[int, np.ndarray] | None:
        """Ticks and the sums of impulses, between two ticks; None where none was found."""
        loop = self._loop
        for _ in range(TRIES):
            begun, ticks = loop.begun, loop.ticks
            sums = self._added_up()
            if begun == ticks == loop.begun or loop.failure or not loop.running:
                return ticks, sums
        return None

    def _at_state(self) -> np.ndarray:
        """The reactions at the newest state, in the mode that lasts, (m,)."""
        program, state, sim = self._program, self._loop.state, self._loop._sim
        assert program is not None
        x = program.whole(np.concatenate([state.q, state.u, state.z])[None])
        given = np.array([state.t]), x, np.ascontiguousarray(sim._machine.tau[None])
        dx, lam = np.zeros((1, len(program.x))), np.zeros((1, len(self.names)))
        rows = sim._machine.switching
        if self._machine is None:
            self._machine = program.machine(switched=rows is not None)
        machine = self._machine
        fixed, latched = len(self._loop.dynamics.parameters), len(program.candidates.captured)
        machine.p[:fixed] = sim._machine.p[:fixed]
        if latched:
            machine.p[-latched:] = sim._machine.p[-latched:]
        if rows is None:
            respond(machine, *given, dx, lam)
        else:
            own = machine.switching
            assert own is not None
            for part in ("mode", "slip"):
                own.view(part)[:] = rows.view(part)
            adopt(machine)
            respond_along(machine, *given, dx, lam)
        found: np.ndarray = np.nan_to_num(lam[0])
        return found
