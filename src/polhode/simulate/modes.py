"""The machines of a run whose constraints come and go: whole, or light while nothing holds or slides.

A model may declare thousands of candidates. Up to WIRED rows, all of them are in the code of the machine.
Beyond, only those that hold, were named or have touched; the others are wired when they are engaged, or when
their gap closes. So a step costs what those cost that act. Gaps of the others are a table of numbers, of which a
step looks only at those that could have closed, see `polhode.kernels.gaps`; where parameters are in the geometry of a
gap, it is watched as a guard is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.equations import Dynamics
from polhode.equations.gaps import Gaps
from polhode.equations.program import Program, program_of
from polhode.equations.warning import warn_caller
from polhode.graph import Expr
from polhode.kernels.after import AHEAD
from polhode.kernels.machine import CONTROL, Machine
from polhode.kernels.mode import CLOSED
from polhode.kernels.sizing import Rule
from polhode.kinematics.candidates import UNILATERAL, candidates
from polhode.model.errors import closest
from polhode.trajectory.events import OPEN, RELEASED, Event, Events

from .inputs import Inputs
from .start import begin
from .switchboard import Switchboard, SwitchError
from .switches import At, When, guards_of
from .warning import SimulationWarning
from .watch import NARROW, NEAR, Watch, may_wait

WIRED = 240  # rows of candidates that are all in the code of a machine


class Modes:
    """The machines of a run, the one in use, and what happens to their constraints.

    program : of the machines; machine : with rows, or without where none may ever hold, or none has yet
    board   : what was switched; None before anything could be
    light   : whether the light machine is in use
    """

    def __init__(
        self, dynamics: Dynamics, inputs: Inputs, p: np.ndarray, step: float | None, rule: Rule, runs: np.ndarray,
        switches: list[At | When], driven: bool, stepping: bool,
    ) -> None:  # fmt: skip
        self.dynamics, self.switches, self.inputs, self._runs = dynamics, switches, inputs, runs
        self._whole_steps, self._implicit = bool(rule.whole), bool(rule.implicit)
        self._options, self._step = (driven, stepping), step
        self.wired = self._wired_at_first()
        self.program = self._program()
        self._every: tuple[Gaps | None, tuple[str, ...]] = (None, ()) if self.wired is None else self.program.gaps
        switched = bool(dynamics.equations.model.candidates or switches or rule.whole)
        self._waits = switched and not switches and not rule.whole and may_wait(self.program)
        values = self.program.given(p, step)
        self._guards: Function | None = None  # kept, for the machine has its address
        if self._waits:
            self.machine = self.program.machine(inputs.constant, values, implicit=self._implicit, idle=True)
        else:
            self.machine = self._made(inputs.constant, values, switched)
        inputs.connect(self.machine)
        self.switched, self.light = switched, False
        self.commands: deque[tuple[tuple[str, ...], tuple[str, ...]]] = deque()  # to be done after the step in hand
        for switch in switches:
            self.check((*switch.engage, *switch.release))
        self.board: Switchboard | None = None
        self.watch: Watch | None = None

    def begin(self, t: float, x: np.ndarray) -> None:
        """Start from a state, which is the array that the loops work on."""
        self.x, self._t0 = x, t
        begin(self.program, self.machine, t, x)
        if not self.switched:
            return
        if near := self._near(t):
            self._wire(near)
        self._look_out()
        if self._waits and self.watch is not None and self.watch.is_open(t, x):
            self.light = True
        else:
            self.wake(t)
            self.select()

    def wait_below(self, guards: list[int]) -> None:
        """Have guards that are 0 at the start count as below it, so that they pass 0 where they rise from there."""
        if self.board is not None and guards:
            self.board.rows.view("sign")[guards] = -1
            self.select()

    def reset(self, t: float) -> None:
        """Go on from a state that was set by hand: check that it can be, and find its mode."""
        if self.board is not None:
            self.board.let_go()
        begin(self.program, self.machine, t, self.x)
        near = self._near(t)
        if self.board is not None:
            if near:
                self.rewire(t, names=near)
            self._check_open()
            self.board.command(t, (), (), "set by hand")
        elif self.watch is not None:
            if near:
                self._wire(near)
                self._look_out()
            if self.watch.is_open(t, self.x):
                self.watch.rows.places[0]["fresh"] = 1
            else:
                self._wake_late(t)
                if self.board is not None and t > self._t0:
                    self._check_open()
                    self.board.command(t, (), (), "set by hand")
        self.select()

    # machines

    def _wired_at_first(self) -> tuple[str, ...] | None:
        """The candidates that are in the code from the start, by name; None for all."""
        found = self.dynamics.equations.model.candidates
        if sum(c.rows for c in found) <= WIRED:
            return None
        named = {name for switch in self.switches for name in (*switch.engage, *switch.release)}
        return tuple(c.name for c in found if c.name in named or (c.active and c.law != "unilateral"))

    def _program(self) -> Program:
        driven, stepping = self._options
        return program_of(self.dynamics, self.inputs.laws, driven, stepping, self.wired)

    @cached_property
    def _expressions(self) -> list[tuple[str, Expr]]:
        """The gaps that are not in the table, names and expressions."""
        if not self._every[1]:
            return []
        found = candidates(self.dynamics.equations.kinematics, set(self._every[1]))
        rows = zip(found.rows.names, found.laws, found.rows.phi, strict=True)
        return [(name, phi) for name, law, phi in rows if law.kind == UNILATERAL]

    @cached_property
    def _expressed(self) -> tuple[Function, int]:
        """The call (t, x, p) -> these gaps, and the entries of p that it takes: more may be captured later."""
        return self.program.compiled("gaps", [phi for _, phi in self._expressions]), len(self.machine.p)

    def unwired(self) -> tuple[list[tuple[str, Expr]], Gaps | None]:
        """Gaps that are watched though their rows are not in the code: names and expressions, then a table."""
        table, _ = self._every
        if self.wired is None or table is None:
            return [], None
        known = set(self.wired)
        left = table.without(known)
        return [each for each in self._expressions if each[0] not in known], left if len(left) else None

    def _unwired_names(self) -> list[str]:
        expressions, table = self.unwired()
        return [*(name for name, _ in expressions), *(table.names if table is not None else ())]

    def _near(self, t: float) -> list[str]:
        """Candidates that are not wired and touch at the state; with whole steps, that may do so in the next."""
        expressions, table = self.unwired()
        found, p, dx = [], self.machine.p, np.zeros_like(self.x)
        if expressions:
            function, many = self._expressed
            values = function(np.array([t]), self.x, p[:many])
            known = set(self.wired or ())
            found += [n for (n, _), e in zip(self._expressions, values, strict=True) if e <= NEAR and n not in known]
        if table is not None:
            qdot = self.program.rates(np.array([t]), self.x, p)
            dx[: len(qdot)] = qdot
            gap, pace = table.measured(t, self.x, dx, p)
            ahead = 2 * AHEAD * pace * self._step if self._whole_steps and self._step else 0.0
            found += [table.names[i] for i in np.flatnonzero(~(gap > np.maximum(NEAR, ahead)))]
        return list(dict.fromkeys(found))

    def _wire(self, names: Iterable[str]) -> None:
        """Have more candidates in the code, before there is a switchboard."""
        assert self.wired is not None
        self.wired = (*self.wired, *(name for name in names if name not in self.wired))
        self.program = self._program()
        p = self._given()
        if self._waits:
            made = self.program.machine(self.machine.tau, p, implicit=self._implicit, idle=True)
        else:
            made = self._made(self.machine.tau, p, True)
        self.machine = self._shared(made)

    def _given(self) -> Any:
        """Parameters as the machine in use has them, without what constraints captured."""
        fixed = len(self.dynamics.parameters) + self.program.stepping
        return self.machine.p[:fixed] if fixed else None

    def _made(self, tau: Any, p: Any, switched: bool) -> Machine:
        """A machine that knows what is watched: guards of switches, then gaps that are not wired."""
        found = guards_of(self.switches, self.dynamics.equations)
        gaps, table = self.unwired()
        values = [*(guard.value for guard in found), *(phi for _, phi in gaps)]
        self._guards = self.program.guards(values) if values else None
        guards = (self._guards, len(values))
        made = self.program.machine(tau, p, implicit=self._implicit, switched=switched, guards=guards, gaps=table)
        if made.switching is not None:
            made.switching.view("way")[:] = [*(guard.way for guard in found), *[-1] * len(gaps)]
            made.switching.view("sign")[len(found) :] = 1
            made.switching.view("least")[len(self.program.constraints) + len(found) :] = NARROW
        return made

    def _look_out(self) -> None:
        """Have a light machine for the times at which nothing holds, where there can be one."""
        if not self._whole_steps and self.program.flow is not None:
            self.watch = Watch(self.program, self.machine, self.switches, *self.unwired())

    def wake(self, t: float, met: Events | None = None) -> None:
        """Have the whole machine, with the code of rows that may hold and slide.

        met : what happened before, where the light machine met an event; then the mode is that in which nothing holds
        """
        if self.machine.constrained is None:
            self.machine = self._shared(self._made(self.machine.tau, self.machine.p, True))
        self.board = self._new_board()
        if met is None:
            self._check_open()
            self.board.start(t)
        else:
            self.board.events = list(met)

    def _wake_late(self, t: float) -> None:
        """Have the whole machine at a time to which nothing has held since the start."""
        self.wake(t, self.events if t > self._t0 else None)

    def _new_board(self) -> Switchboard:
        return Switchboard(self.program, self.machine, self._runs, self.x, self.switches, self._whole_steps)

    def _shared(self, made: Machine) -> Machine:
        """A machine with the forces, the time and the control of the one in use, which may be changed from outside."""
        old = self.machine
        made.code[CONTROL] = old.code[CONTROL]
        return made._replace(tau=old.tau, time=old.time)

    def rewire(self, t: float, switches: list[At | When] | None = None, names: Iterable[str] = ()) -> None:
        """Have other switches, or more candidates in the code; the state, the mode and what happened stay."""
        before, old = self.board, self.machine.p
        kept = self.switches, self.wired, self.program, self._guards, self.machine
        self.switches = self.switches if switches is None else switches
        if self.wired is not None and names:
            self.wired = (*self.wired, *(name for name in names if name not in self.wired))
            self.program = self._program()
        self.machine = self._shared(self._made(self.machine.tau, self._given(), True))
        self.board = self._new_board()
        if before is None:
            try:
                self.board.start(t, since=self._t0)
            except SwitchError:  # nothing can be switched, and all goes on as before
                self.switches, self.wired, self.program, self._guards, self.machine = kept
                self.board = None
                raise
        else:
            fixed = len(self.dynamics.parameters) + self.program.stepping
            self.board.take_over(before, old[fixed : fixed + len(before.program.candidates.captured)])
        self._look_out()
        self.light = False
        self.select()

    def aside(self, names: Iterable[str]) -> Modes:
        """The same with more candidates in the code, to be adopted; made by any thread, while others use this one."""
        assert self.wired is not None
        made = copy(self)
        made.wired = (*self.wired, *(name for name in names if name not in self.wired))
        made.program = made._program()
        made.machine = made._shared(made._made(self.machine.tau, self._given(), True))
        made.board = made._new_board()
        return made

    def adopt(self, made: Modes) -> bool:
        """Go on with what was made aside, at the state and in the mode that is now; False where it is out of date."""
        before, old = self.board, self.machine.p
        known = self.wired is not None and made.wired is not None and made.wired[: len(self.wired)] == self.wired
        if not known or made.switches is not self.switches or before is None or made.board is None:
            return False
        fixed = len(self.dynamics.parameters) + self.program.stepping
        made.machine.p[:fixed] = old[:fixed]
        captured = old[fixed : fixed + len(before.program.candidates.captured)]
        self.wired, self.program, self._guards = made.wired, made.program, made._guards
        self.machine, self.board = made.machine, made.board
        self.board.take_over(before, captured)
        self._look_out()
        self.light = False
        self.select()
        return True

    def need(self, t: float, names: Iterable[str] = ()) -> Switchboard:
        """The switchboard, with these constraints wired."""
        if not self.can_switch:
            raise KeyError("The model has no constraint that could be engaged or released. Declare one with a name.")
        if self.board is None:
            self._wake_late(t) if self.watch is not None else self.rewire(t)
        new = [n for n in names if n in self._declared and n not in self.wired] if self.wired is not None else []
        if new:
            self.rewire(t, names=new)
        assert self.board is not None
        if self.light and self.watch is not None:
            self.watch.tell(self.board)
        return self.board

    @property
    def can_switch(self) -> bool:
        """Whether there is any constraint."""
        return bool(self.dynamics.equations.model.constraints or self._declared)

    @cached_property
    def _declared(self) -> dict[str, None]:
        """The names of all candidates, in their order."""
        return dict.fromkeys(c.name for c in self.dynamics.equations.model.candidates)

    def select(self) -> None:
        """Use the light machine where no row holds or slides, else the whole one."""
        whole = self.machine.constrained
        idle = self.board is None or (whole is not None and bool(whole.places[0]["idle"]))
        self.light = self.watch is not None and idle
        if self.light and self.watch is not None and self.board is not None:
            self.watch.follow(self.board)

    @property
    def used(self) -> Machine:
        """The machine that takes the steps."""
        return self.watch.machine if self.light and self.watch is not None else self.machine

    # what happens

    def next_time(self) -> float:
        """The next time at which a switch is due."""
        return np.inf if self.board is None else self.board.next_time()

    def due(self, t: float) -> list[At]:
        """The switches that are due at a time, which are then done."""
        return [] if self.board is None else self.board.due(t)

    def check(self, names: Iterable[str]) -> None:
        """Refuse names of constraints that cannot be switched."""
        eq = self.dynamics.equations
        for name in names:
            if name in eq.kinematics.embedded:
                raise KeyError(
                    f"Constraint {name!r} is embedded in the equations, so it cannot be released. Formulate without "
                    "it: embed=[...] names those that stay."
                )
            if name not in self._declared and name not in eq.constraints.names:
                known = dict.fromkeys((*eq.constraints.names, *self._declared))
                said = closest(name, known) if known else "The model declares none."
                raise KeyError(f"There is no constraint {name!r} to engage or release. {said}")

    def would_change(self, engage: Iterable[str], release: Iterable[str]) -> bool:
        """Whether anything that is named would be engaged or released, that is not."""
        words = self.words()
        return any(words.get(name, RELEASED) == RELEASED for name in engage) or any(
            words.get(name, OPEN) != RELEASED for name in release
        )

    def command(self, t: float, engage: tuple[str, ...], release: tuple[str, ...], why: str) -> bool:
        """Engage and release constraints now, as one event; True where the run is to end there."""
        return self.need(t, (*engage, *release)).command(t, engage, release, why)

    def switch(self, t: float, switches: Sequence[At]) -> bool:
        """Do what switches that are due at one time say, likewise."""
        names = [name for switch in switches for name in (*switch.engage, *switch.release)]
        return self.need(t, names).switch(t, switches)

    def event(self, t: float) -> bool:
        """Go through the event that the machine in use met, with switches that are due then, likewise."""
        board = self._met(t)
        return board.event(t, board.due(t))

    def passes_over(self) -> bool:
        """Whether all that was met are comparisons, of conditions that are not true for all that."""
        if self.board is None:
            return False
        if self.light and self.watch is not None:
            if self.watch.unwired_event() is not None:
                return False
            self.watch.pass_on(self.board)
        elif self._unwired_event() is not None:
            return False
        return self.board.passes_over()

    def _met(self, t: float) -> Switchboard:
        """The switchboard with the event that the machine in use met, ready to be gone through."""
        light = self.watch if self.light else None
        name = self._unwired_event() if light is None else light.unwired_event()
        if name is not None:  # all that touches is wired at once, for it is one impact
            names = [name, *self._near(t)]
            if self.board is None:
                self._wire(names)
                self.wake(t, self.events)
                self._look_out()
                self.light = False
            else:
                self.rewire(t, names=names)
            assert self.board is not None
            self.board.meet([(self._touching(name), CLOSED)])
        elif light is not None:
            if self.board is None:
                self.wake(t, self.events)
            assert self.board is not None
            light.pass_on(self.board)
        assert self.board is not None
        return self.board

    def wire_ahead(self, t: float) -> bool:
        """Wire the candidates that may act in the next of whole steps, where there are any."""
        rows = self.machine.switching
        if not self._whole_steps or rows is None or not rows.places[0]["ahead"]:
            return False
        _, table = self.unwired()
        assert table is not None
        first, near = len(self.program.constraints) + int(rows.places[0]["guards"]), rows.view("near")
        due = near[: int(rows.places[0]["many"])]
        self.rewire(t, names=dict.fromkeys(table.names[g] for g in due if rows.view("crossed")[first + g]))
        return True

    def _unwired_event(self) -> str | None:
        """The candidate whose gap closed, where it is not wired."""
        assert self.board is not None
        places = self.board.rows.places[0]
        which = int(places["event"]) - int(places["rows"]) - len(self.board.guards)
        return self._unwired_names()[which] if which >= 0 else None

    def _touching(self, name: str) -> int:
        """The unilateral row of a candidate that is nearest to 0."""
        phi = self.program.measured(float(self._runs["t"][0]), self.x, self.machine.p)[0]
        kind = self.board.rows.view("kind") if self.board is not None else np.zeros(0)
        rows = [i for i in self.program.constraints.rows(name) if kind[i] == UNILATERAL]
        return min(rows, key=lambda i: abs(phi[i]))

    @property
    def events(self) -> Events:
        """What happened so far."""
        if self.board is not None:
            return Events(self.board.events)
        if not self.switched:
            return Events()
        many, captured = len(self.program.constraints), np.ones(len(self.program.candidates.captured))
        none = np.zeros(many, dtype=np.int64), np.zeros(many), captured
        return Events((Event(time=self._t0, what=(), why="start", mode=self.words(), rows=none),))

    def unsolved(self) -> dict[str, int]:
        """How many steps of time-stepping had no solution, for statistics; nothing for other methods."""
        if not self._whole_steps or self.machine.switching is None:
            return {}
        return {"unsolved": int(self.machine.switching.places[0]["unsolved"])}

    def words(self) -> dict[str, str]:
        """What every constraint does now, in a word."""
        if not self.switched and self.board is None:
            return dict.fromkeys(self.program.groups, "engaged")
        declared = self.program.declared
        found = {name: OPEN if name in declared else RELEASED for name in self.program.groups}
        return found if self.board is None else found | self.board.mode()

    def active(self) -> tuple[str, ...]:
        """The constraints that hold or slide now."""
        return tuple(name for name, word in self.words().items() if word not in (OPEN, RELEASED))

    def _check_open(self) -> None:
        """Refuse a state in which something that cannot be penetrated is; limits of a file are left open, and said."""
        assert self.board is not None
        model = self.dynamics.equations.model
        for name, beyond in self.board.pressed():
            stop = next((c for c in model.limit_stops if c.name == name), None)
            if stop is None:
                raise ValueError(
                    f"The initial position is {beyond} beyond {name!r}, expected 0 or less. Start where it is open, "
                    "or declare it with active=False and engage it later."
                )
            self.board.leave_out(name)
            text = f"{stop.coordinate!r} starts {beyond} beyond its limits, so these do not act in this run."
            warn_caller(f'{text} Start within them, or load with limits="ignore".', SimulationWarning)
