"""A machine in real time: one step for each period of the clock, in a thread of its own."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.kernels.stepping import EVENT
from polhode.simulate import Simulation
from polhode.simulate.asked import is_number, values_of
from polhode.simulate.bounds import check_bounds
from polhode.simulate.switchboard import SwitchError
from polhode.trajectory.events import RELEASED

from .commands import Command, Commands, Happening, address
from .controlling import Controller
from .lateness import Lateness
from .privileges import privileged, released
from .session import Log, Session, in_order
from .ticking import AHEAD, BINS, DUE, FAILED, FULL, OVERRUN, SKIP, SLOW, STOP, Block, entry

POLICIES = {"slow": SLOW, "skip": SKIP, "stop": STOP}
SPIN = 60e-6  # s before a deadline, that a sleep may end late by
PATIENCE = 10.0  # s, for the thread to begin
TIDY = 0.2  # s, between looks at what the loop wrote down
TRIALS = 100  # steps, to measure what one costs
SWITCHES = 16  # of these, what one costs is measured too
HAPPENED = 1000  # of the last things that happened, that are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A machine at a tick: time, coordinates, speeds and states beside motion."""

    t: float
    q: np.ndarray
    u: np.ndarray
    z: np.ndarray


class Realtime:
    """A machine that moves with the clock; see `realtime`."""

    def __init__(
        self, dynamics: Dynamics, rate: float, overrun: str, begin: dict[str, Any], record: bool = True
    ) -> None:
        self.dynamics, self.rate, self._keep = dynamics, float(rate), record
        self._begin = begin
        self._wake = threading.Condition(threading.RLock())
        self._thread: threading.Thread | None = None
        self._wanted = "paused"  # or "running", "ended"
        self._controllers: list[Controller] = []
        self._ready = threading.Event()
        self._todo: list[Callable[[], None]] = []  # between two ticks
        self._speed, self._policy = 1.0, POLICIES[overrun]
        self._ticks, self._do_commands = entry()
        self._clock = ctypes.CDLL(None)
        self.failure = ""
        self.privileges = ""
        self.cost = self.bound = 0.0  # s: of a step, and of one with a switch before it
        self.refused = ""  # why a constraint was last not engaged or released while it ran
        self._prepare()

    # the machine and the memory that the loop works on

    def _prepare(self) -> None:
        """Lay out the machine at its beginning."""
        self._sim = sim = Simulation(self.dynamics, **self._begin)
        sim._open(np.zeros(0))  # nothing is recorded there
        if sim._modes.can_switch and sim._modes.switched:
            sim._modes.need(sim.t)
        n, m, k = sim._x.size, sim._machine.tau.size, len(self.dynamics.parameters)
        # what others write has room beside it, where the loop takes it to
        self._tau, self._p, self._rest = np.zeros(2 * max(m, 1)), np.zeros(2 * max(k, 1)), np.zeros(max(m, 1))
        self._out, self._bins = np.zeros(1 + n), np.zeros(BINS, dtype=np.int64)
        self._tau[:m] = self._rest[:m] = sim._machine.tau
        self._p[:k] = sim._values
        self._out[0], self._out[1:] = sim.t, sim._x
        self._done: list[tuple[int, Command]] = []
        self._seen = 0
        self._happened: deque[Happening] = deque(maxlen=HAPPENED)
        self._commands: Commands | None = None
        self._block: Any = Block(
            gettime=address(self._clock.clock_gettime),
            sleep=address(self._clock.clock_nanosleep),
            run=sim._record.ctypes.data,
            x=sim._x.ctypes.data,
            size=n,
            inputs=m,
            parameters=k,
            tau_in=self._tau.ctypes.data,
            p_in=self._p.ctypes.data,
            rest=self._rest.ctypes.data,
            out=self._out.ctypes.data,
            bins=self._bins.ctypes.data,
            spin=int(SPIN * 1e9),
            policy=self._policy,
            ask=1,
            left=-1,
        )
        self._log = Log(self._block, m + k, self._keep)
        self._pace()
        self._go_on()

    def _go_on(self) -> None:
        """Have the loop go on from where the simulation is, in the mode that it is in."""
        sim, block = self._sim, self._block
        sim._modes.watch = None  # one machine for all modes, so that a switch changes no code
        sim._modes.select()
        sim._advance = sim._taken()
        sim._now.rated = sim._now.tries = 0
        sim._now.stop, sim._now.budget = np.inf, 1
        bound: Any = sim._advance
        self._bound = bound  # kept alive: the loop has its address
        block.advance, block.words = address(bound.func), bound.args[0]
        block.tau, block.p = sim._modes.used.tau.ctypes.data, sim._modes.used.p.ctypes.data
        due = sim._modes.next_time() - 0.5 / self.rate
        block.due = struct.unpack("q", struct.pack("d", due))[0]
        board = sim._modes.board
        if board is None or (board.guards and not board.whole):
            self._commands, block.board = None, 0
        elif self._commands is None or self._commands.board is not board:
            self._tidy()
            waiting = [] if self._commands is None else self._commands.unsent()
            self._commands, self._seen = Commands(board, sim._record.ctypes.data), 0
            for asked in waiting:
                self._commands.send(asked)
            block.board = ctypes.addressof(self._commands.block)

    def _pace(self) -> None:
        self._block.period = round(1e9 / (self.rate * self._speed))

    # the thread

    def start(self) -> Realtime:
        """Run, from where it is."""
        self._ask("running")
        self._ready.wait(PATIENCE)  # to lock much memory takes a while
        return self

    def pause(self) -> None:
        """Stand still after the tick in hand, until `start`."""
        self._ask("paused")

    def step(self, ticks: int = 1) -> None:
        """Take ticks at once, without the clock; only while it does not run."""
        if not isinstance(ticks, int) or isinstance(ticks, bool) or ticks < 1:
            raise ValueError(f"step: ticks is {ticks!r:.40}, expected a whole number, 1 or more.")
        if self.running:
            raise RuntimeError("step: the machine is running. Pause it first.")
        for _ in range(ticks):
            self._once()
        self._tidy()

    def _once(self) -> None:
        """One tick at once, by the same loop."""
        block = self._block
        block.next, block.ask, block.left = time.monotonic_ns() - 1, 0, 1
        code = self._ticks(ctypes.addressof(block))
        if code == FULL:
            self._log.gather()
            code = self._ticks(ctypes.addressof(block))
        block.ask, block.left = 1, -1
        self._came_back(code)

    def stop(self) -> None:
        """End: the thread is gone after this, and controllers with it."""
        for controller in self._controllers:
            controller.stop()
        self._controllers.clear()
        self._ask("ended")
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._wanted = "paused"
        self._tidy()

    def reset(self) -> None:
        """Go back to the beginning, and stand still there."""
        self.stop()
        self.failure = self.refused = ""
        self._prepare()

    def __enter__(self) -> Realtime:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._wanted == "running"

    def _ask(self, wanted: str) -> None:
        with self._wake:
            self._wanted = wanted
            self._block.ask = 1
            if self._thread is None and wanted == "running":
                self._ready.clear()
                self._thread = threading.Thread(target=self._run, name="polhode real time", daemon=True)
                self._thread.start()
            self._wake.notify_all()

    def _run(self) -> None:
        self.privileges = privileged()
        self._ready.set()
        ended = threading.Event()
        keeper = threading.Thread(target=self._keep_tidy, args=(ended,), name="polhode log", daemon=True)
        keeper.start()
        try:
            self._beat()
        finally:
            ended.set()
            released()
            keeper.join()

    def _keep_tidy(self, ended: threading.Event) -> None:
        """Take away what the loop wrote down, beside it."""
        while not ended.wait(TIDY):
            with self._wake:
                self._tidy()

    def _beat(self) -> None:
        """Run the loop, and do between its ticks what is asked for."""
        block = self._block
        block.next = time.monotonic_ns() + block.period
        while True:
            with self._wake:
                for do in self._todo:
                    try:
                        do()
                    except SwitchError as error:  # nothing was changed
                        self.refused = str(error)
                self._todo.clear()
                if self._wanted == "paused":
                    self._wake.wait_for(lambda: self._wanted != "paused" or self._todo)
                    block.next = time.monotonic_ns() + block.period
                    if self._todo:
                        continue
                if self._wanted == "ended":
                    return
                block.ask = 0
            if not self._came_back(self._ticks(ctypes.addressof(block))):
                with self._wake:
                    self._wanted = "paused"

    def _came_back(self, code: int) -> bool:
        """Do what the loop came back for, if anything; False where it cannot go on."""
        sim = self._sim
        try:
            if code == DUE:
                half = 0.5 / self.rate
                sim._switch(partial(sim._modes.switch, sim.t, sim._modes.due(sim.t + half)))
                self._noted()
            elif code == AHEAD:
                with self._wake:
                    sim._modes.wire_ahead(sim.t)
                    self._go_on()
            elif code == FULL:
                self._log.gather()
            elif code == FAILED and self._block.status == EVENT:
                sim._look(EVENT)
                self._noted()
                self._show()
            elif code in (FAILED, OVERRUN):
                self._fail(code)
                return False
        except RuntimeError as error:
            self.failure = str(error)
            return False
        return True

    def _noted(self) -> None:
        """Keep what happened in Python's part of the simulation, of which the board keeps the last one alone."""
        board = self._sim._modes.board
        if board is not None:
            self._happened += [Happening(t=e.time, tick=self.ticks, mode=dict(e.mode)) for e in board.events[1:]]
            del board.events[:-1]
        with self._wake:
            self._go_on()

    def _show(self) -> None:
        """Hand out the state that Python's part of the simulation led to."""
        block = self._block
        block.out_count += 1  # odd: not to be read
        self._out[0], self._out[1:] = self._sim.t, self._sim._x
        block.out_count += 1
        block.ticks += 1

    def _fail(self, code: int) -> None:
        if code == OVERRUN:
            self.failure = f"Stopped at t = {self.state.t:.6g} s: a deadline was missed by a period or more."
        else:
            from polhode.simulate.ending import ended

            self._block.log_row = max(self._block.log_row - 1, 0)  # of a tick that was not
            self.failure = str(ended(self._sim, int(self._block.status)))

    def _tidy(self) -> None:
        """See what became of commands, and what happened."""
        self._log.gather()
        if self._commands is None:
            return
        self._commands.gather()
        if self._keep:
            self._done += self._commands.done
        self._commands.done.clear()
        self.refused = self._commands.refused or self.refused
        self._commands.refused = ""
        self._seen, new = self._commands.happenings(self._seen)
        self._happened += new

    # what goes in

    @property
    def tau(self) -> np.ndarray:
        """The forces that were set last, on the speeds and of the controls."""
        return self._tau[: self._block.inputs].copy()

    @tau.setter
    def tau(self, given: Any) -> None:
        found = values_of(given, self._sim._inputs.names, self.tau.tolist(), "tau")
        block = self._block
        block.tau_count += 1  # odd: not to be read
        self._tau[: len(found)] = found
        block.tau_count += 1

    @property
    def p(self) -> np.ndarray:
        """The parameters that were set last, in the order of the dynamics' own."""
        return self._p[: self._block.parameters].copy()

    @p.setter
    def p(self, given: Any) -> None:
        found = values_of(given, list(self.dynamics.parameters), self.p.tolist(), "p")
        check_bounds(self.dynamics, np.asarray(found, dtype=float))
        block = self._block
        block.p_count += 1
        self._p[: len(found)] = found
        block.p_count += 1

    def watchdog(self, seconds: float) -> None:
        """Have the forces of the beginning act again where none were set for so long; 0 for never.

        The loop itself counts, so that a controller or a device that hangs does not go on to push.
        """
        if not is_number(seconds) or not 0 <= seconds < np.inf:
            raise ValueError(f"watchdog: seconds is {seconds!r:.40}, expected a number of 0 or more; 0 for none.")
        self._block.silent = 0
        self._block.patience = max(1, round(seconds * self.rate)) if seconds else 0

    @property
    def stale(self) -> int:
        """How often forces were let go by the watchdog."""
        return int(self._block.stale)

    def control(self, function: Callable[[float, np.ndarray, np.ndarray], Any], rate: float = 100.0) -> None:
        """Have a Python function of (t, q, u) set tau at a rate of its own, in a thread of its own, until `stop`.

        It runs beside the loop, which never waits for it: a slow function acts late, and the loop goes on with what it
        gave last.
        """
        if not callable(function) or not is_number(rate) or not 0 < rate <= self.rate:
            raise ValueError(
                f"control: expected a function of (t, q, u) and a rate of up to {self.rate:g} Hz, found "
                f"{function!r:.40} and {rate!r:.20}."
            )
        self._controllers.append(Controller(self, function, float(rate)))

    def engage(self, *names: str) -> None:
        """Engage constraints before the next tick."""
        self._command(Command(engage=names, release=()))

    def release(self, *names: str) -> None:
        """Release constraints before the next tick."""
        self._command(Command(engage=(), release=names))

    def _command(self, asked: Command) -> None:
        """Put a command into the queue of the loop; at once where it stands still."""
        names = (*asked.engage, *asked.release)
        self._sim._modes.check(names)
        with self._wake:
            if self._commands is None or not set(names) <= set(self._commands.board.names):
                self._by_python(asked)
            elif self.running:
                self._commands.send(asked)
            else:
                self._commands.send(replace(asked, at_once=True))
                before, self.refused = self.refused, ""
                self._do_commands(self._block.board, self.ticks)
                self._tidy()
                why, self.refused = self.refused, before
                if why:
                    raise SwitchError(why, FAILED)

    def _by_python(self, asked: Command) -> None:
        """Command what the loop's own machine cannot, as it is not in its code yet."""

        def do() -> None:
            try:
                if asked.engage:
                    self._sim.engage(*asked.engage)
                if asked.release:
                    self._sim.release(*asked.release)
                self._done.append((self.ticks, replace(asked, at_once=True)))
            finally:  # also where it was refused
                self._noted()

        if self.running:
            self._todo.append(do)
            self._block.ask = 1
            self._wake.notify_all()
        else:
            do()

    # what comes out

    @property
    def state(self) -> State:
        """The machine after the last tick; what is read was there at one moment."""
        block = self._block
        while True:
            count = block.out_count
            x = self._out.copy()
            if count % 2 == 0 and block.out_count == count:
                break
        sim, x0 = self._sim, x[1:]
        return State(t=float(x[0]), q=x0[sim._q].copy(), u=x0[sim._u].copy(), z=x0[sim._z].copy())

    @property
    def mode(self) -> dict[str, str]:
        """What every constraint does now, in a word."""
        return self._sim.mode

    @property
    def events(self) -> tuple[Happening, ...]:
        """The last things that happened: commands that took effect, touches, what slips and sticks."""
        with self._wake:
            self._tidy()
            return tuple(self._happened)

    @property
    def ticks(self) -> int:
        return int(self._block.ticks)

    @property
    def lateness(self) -> Lateness:
        """How late ticks began, and how long they took, since the beginning."""
        b = self._block
        return Lateness.of(self._bins.copy(), int(b.ticks), int(b.missed), int(b.worst), int(b.busy), int(b.busy_worst),
                           1 / self.rate, self.privileges)  # fmt: skip

    @property
    def speed(self) -> float:
        """Seconds of the machine by those of the clock: 0.5 is slow motion."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        if not is_number(value) or not 0 < value < np.inf:
            raise ValueError(f"speed is {value!r:.40}, expected a number above 0: 0.5 for slow motion.")
        self._speed = float(value)
        self._pace()

    @property
    def session(self) -> Session:
        """What went in so far, to be replayed."""
        if self.running:
            raise RuntimeError("session: the machine is running. Pause it first.")
        if not self._keep:
            raise RuntimeError("session: nothing was kept, as it was asked for with record=False.")
        self._tidy()
        self._log.rest()
        at, inputs = self._log.changes()
        return Session(begin=self._begin, ticks=self.ticks, at=at, inputs=inputs, commands=in_order(self._done))

    def __repr__(self) -> str:
        word = "running" if self.running else "paused"
        return f"{self.dynamics.equations.model.name!r} at {self.rate:g} Hz, {word} at t = {self.state.t:.6g} s"


def realtime(
    dynamics: Dynamics, q0: Any = None, u0: Any = None, *, rate: float = 1000, method: str = "moreau", tau: Any = None,
    p: Any = None, overrun: str = "slow", z0: Any = None, record: bool = True,
) -> Realtime:  # fmt: skip
    """Prepare a machine that moves with the clock: one step of 1/rate for each period.

    rate    : ticks a second
    method  : of fixed step: "moreau", whose cost is bounded whatever happens, or "euler", "midpoint", "rk4"
    tau     : constant forces at first, or expressions; numbers may be set while it runs
    overrun : where a deadline is missed by a period or more: "slow" falls behind the clock, "skip" leaves out the ticks
              and stays in phase, "stop" stops
    record  : whether inputs and commands are kept for `session`

    `start()` and `stop()`, or `with ph.realtime(...) as rt:`.
    """
    if not is_number(rate) or not 0 < rate <= 1e5:
        raise ValueError(f"realtime: rate is {rate!r:.40}, expected ticks a second, up to 100,000.")
    if overrun not in POLICIES:
        raise ValueError(f"realtime: overrun is {overrun!r:.40}, expected one of {', '.join(map(repr, POLICIES))}.")
    if method not in ("moreau", "euler", "midpoint", "rk4"):
        raise ValueError(f'realtime: method is {method!r:.40}, expected one of fixed step: "moreau", "rk4", "midpoint" '
                         'or "euler".')  # fmt: skip
    comes = [c.name for c in dynamics.equations.model.candidates if c.law != "equal"]
    if comes and method != "moreau":
        raise ValueError(
            f"realtime: {comes[0]!r} comes and goes by itself, and method={method!r} stops at such events for a time "
            'that has no bound. Use method="moreau".'
        )
    if tau is not None and callable(tau):
        raise TypeError("realtime: tau is a function, which the loop cannot call. Give it to rt.control(function).")
    begin = {"q0": q0, "u0": u0, "z0": z0, "tau": tau, "p": p, "method": method, "step": 1 / rate}
    made = Realtime(dynamics, rate, overrun, begin, record)
    made.cost, made.bound = _measured(made)
    if max(made.cost, made.bound) > 1 / rate:
        what = "a step takes" if made.cost > 1 / rate else "a step with a switch takes up to"
        raise ValueError(
            f"realtime: {what} {max(made.cost, made.bound) * 1e6:.3g} us here, and a period is {1e6 / rate:.3g} us. "
            "Lower the rate, or use a faster method."
        )
    return made


def _measured(machine: Realtime) -> tuple[float, float]:
    """What a step costs in seconds, the middle one of many; and with a switch before it, of that which costs most.

    Each switch is tried three times, and the shortest counts: what other programs took is no part of the bound.
    What the loop may need is loaded by this.
    """
    trial = Realtime(machine.dynamics, machine.rate, "slow", machine._begin, record=False)
    spans = [_spent(trial) for _ in range(TRIALS) if not trial.failure]
    first = Realtime(machine.dynamics, machine.rate, "slow", machine._begin, record=False)._commands
    names = () if first is None else first.board.names[:SWITCHES]
    worst = [min(filter(None, (_switched(machine, name) for _ in range(3))), default=0.0) for name in names]
    return float(np.median(spans)), max(worst, default=float(np.median(spans)))


def _spent(trial: Realtime) -> float:
    """Seconds of one tick."""
    before = int(trial._block.busy)
    trial._once()
    return (int(trial._block.busy) - before) * 1e-9


def _switched(machine: Realtime, name: str) -> float:
    """Seconds of a tick with a command, at the beginning; 0 where that cannot be engaged or released there."""
    trial = Realtime(machine.dynamics, machine.rate, "slow", machine._begin, record=False)
    assert trial._commands is not None
    is_on = trial._commands.board.mode()[name] != RELEASED
    trial._commands.send(Command(engage=() if is_on else (name,), release=(name,) if is_on else ()))
    spent = _spent(trial)
    trial._tidy()
    return 0.0 if trial.refused or trial.failure else spent


def replay(dynamics: Dynamics, session: Session) -> list[State]:
    """Run a session again, tick by tick without a clock; the states are those that were there, bit for bit."""
    again = Realtime(dynamics, 1 / session.begin["step"], "slow", session.begin, record=False)
    states, due, m = [again.state], list(session.commands), again._block.inputs
    rows = dict(zip(session.at.tolist(), session.inputs, strict=True))
    for k in range(session.ticks):
        for asked in _of_tick(due, k, at_once=True):
            again._command(asked)
        if k in rows:
            again.tau = rows[k][:m]
            if len(rows[k]) > m:
                again.p = rows[k][m:]
        for asked in _of_tick(due, k, at_once=False):
            assert again._commands is not None
            again._commands.send(asked)
        again.step()
        states.append(again.state)
    return states


def _of_tick(due: list[tuple[int, Command]], tick: int, at_once: bool) -> Sequence[Command]:
    """Take the next commands that came before a tick, of one kind."""
    found = []
    while due and due[0][0] == tick and due[0][1].at_once == at_once:
        found.append(due.pop(0)[1])
    return found
