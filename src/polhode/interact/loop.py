"""The loop of a machine in real time: its thread, what goes in and what comes out."""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.graph import Expr
from polhode.kernels.stepping import EVENT
from polhode.simulate import Sampled, Simulation
from polhode.simulate.asked import is_number, values_of
from polhode.simulate.bounds import check_bounds
from polhode.simulate.switchboard import Switchboard, SwitchError

from .commands import Command, Commands, Happening, address
from .controlling import Controller
from .fingerprint import fingerprint
from .held import Held
from .lateness import Lateness, spelled
from .privileges import privileged, released
from .session import Log, Session, in_order
from .ticking import AHEAD, BINS, DUE, FAILED, FULL, OVERRUN, SKIP, SLOW, STOP, Block, entry
from .worst import worst_of

POLICIES = {"slow": SLOW, "skip": SKIP, "stop": STOP}
SPIN = 60e-6  # s before a deadline, that a sleep may end late by
LASTS = 0.02  # s, that the pull of a hand acts without being renewed: a spring of 20 rad/s cannot push too far in it
PATIENCE = 10.0  # s, for the thread to begin
TIDY = 0.2  # s, between looks at what the loop wrote down
MOST_EVENTS = 8  # in one tick, that Python goes through
HAPPENED = 1000  # of the last things that happened, that are kept
LONGEST = 1 << 61  # ns of a period, or periods: what is more would not fit into a word


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
        if sys.platform != "linux":
            raise RuntimeError(
                f"realtime: deadlines are kept by clock_nanosleep of Linux, and this is {sys.platform}. Use Linux, "
                "which under Windows is WSL; simulate(...), and export(...) of what does not touch or slip, work here."
            )
        self.dynamics, self.rate, self._keep = dynamics, float(rate), record
        self._begin = begin
        self._wake = threading.Condition(threading.RLock())
        self._thread: threading.Thread | None = None
        self._wanted = "paused"  # or "running", "ended"
        self._controllers: list[Controller] = []
        self.links: list[Any] = []  # to devices, each with the wrench that acts at a marker
        self._ready = threading.Event()
        self._still = True  # whether the thread is between ticks and takes none
        self._todo: list[Callable[[], None]] = []  # between two ticks
        self._page: Any = None  # in a notebook, where it is shown in one
        self._speed, self._policy = 1.0, POLICIES[overrun]
        self._watched: dict[Any, float] = {}  # s after which forces rest where nobody sets them, by who wants it
        self._lent = False  # whether what acts is the pull of hands, which rests soon where nobody comes by
        self._setting = threading.Lock()  # of who sets forces or parameters: two at once would leave a count odd
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
        sampled = self._begin.get("tau")
        sampled = sampled if isinstance(sampled, Sampled) else None
        self._sim = sim = Simulation(self.dynamics, **self._begin | ({} if sampled is None else {"tau": None}))
        self._held = None if sampled is None else Held(sim, sampled, self.rate)
        sim._open(np.zeros(0))  # nothing is recorded there
        if sim._modes.can_switch and sim._modes.switched:
            sim._modes.need(sim.t)
        n, m, k = sim._x.size, sim._machine.tau.size, len(self.dynamics.parameters)
        # what others write has room beside it, where the loop takes it to
        self._tau, self._p, self._rest = np.zeros(2 * max(m, 1)), np.zeros(2 * max(k, 1)), np.zeros(max(m, 1))
        self._out, self._bins = np.zeros(1 + n), np.zeros(BINS, dtype=np.int64)
        self._spans = np.zeros(BINS, dtype=np.int64)
        self._broken = 0  # ticks that began and were not taken
        self._tau[:m] = self._rest[:m] = sim._machine.tau
        self._first = self._rest.copy()  # the forces of the beginning
        self._p[:k] = sim._values
        self._out[0], self._out[1:] = sim.t, sim._x
        self._done: list[tuple[int, Command]] = []
        self.struck: dict[str, float] = {}  # impulses of rows, by label, of what Python switched
        self._seen = 0
        self._happened: deque[Happening] = deque(maxlen=HAPPENED)
        self._commands: Commands | None = None
        self._made: Commands | None = None  # made ready, for a switchboard that is to be adopted
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
            spans=self._spans.ctypes.data,
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
        if self._held is not None:
            block.advance, block.words = self._held.before(sim, block.advance, block.words)
        block.tau, block.p = sim._modes.used.tau.ctypes.data, sim._modes.used.p.ctypes.data
        board = sim._modes.board
        if board is None or (board.guards and not board.whole):
            self._commands, block.board = None, 0
        elif self._commands is None or self._commands.board is not board:
            self._tidy()
            waiting = [] if self._commands is None else self._commands.unsent()
            self._commands, self._seen = self._commands_of(board), 0
            for asked in waiting:
                self._commands.send(asked)
            block.board = ctypes.addressof(self._commands.block)
        if self._commands is not None:
            self._commands.plan()
        due = sim._modes.next_time() - 0.5 * self._begin["step"] if self._commands is None else np.inf
        block.due = struct.unpack("q", struct.pack("d", due))[0]

    def _commands_of(self, board: Switchboard) -> Commands:
        """The queue of a switchboard; that which was made ready for it, where there is one."""
        if self._made is not None and self._made.board is board:
            return self._made
        return Commands(board, self._sim._record.ctypes.data, 0.5 * self._begin["step"])

    def _pace(self) -> None:
        """Have the loop know the period, and how many of them it waits for forces; both outlive a reset."""
        self._block.period = self._period(self._speed)
        seconds = min(self._watched.values(), default=0.0) * self._speed  # of the clock, whatever the speed is
        if not seconds and self._lent:
            seconds = LASTS * max(self._speed, 1.0)
        self._block.patience = max(1, round(min(seconds * self.rate, LONGEST))) if seconds else 0

    def _period(self, speed: float) -> int:
        """A period in ns; ValueError where no clock has it."""
        period = 1e9 / (self.rate * speed)
        if not 1 <= period < LONGEST:
            raise ValueError(
                f"speed is {speed:g}, with a period of {period:.3g} ns at {self.rate:g} ticks a second, expected 1 ns "
                "to 70 years. Give a speed nearer to 1."
            )
        return round(period)

    # the thread

    def start(self) -> Realtime:
        """Run, from where it is; not without a controller that failed."""
        if any(controller.failed for controller in self._controllers):
            raise RuntimeError(f"start: {self.failure} Call stop(), and give control(...) a function that goes.")
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
        for _ in range(ticks):
            if not self._once():
                break
        self._tidy()

    def _stands(self) -> bool:
        """Whether it stands still, once the tick in hand is done after a pause; to be asked with the lock.

        The loop goes on only when it has the lock: two ticks at a time would spoil what both work on.
        """
        self._wake.wait_for(lambda: self._still or self.running)
        return not self.running

    def _require_still(self, what: str) -> None:
        if not self._stands():
            raise RuntimeError(f"{what}: the machine is running. Pause it first.")

    def _once(self) -> bool:
        """One tick at once, by the same loop; False where it cannot go on."""
        with self._wake:  # others may have something to be done between two ticks
            self._require_still("step")
            block = self._block
            block.next, block.ask, block.left = time.monotonic_ns() - 1, 0, 1
            block.period = LONGEST  # without the clock no deadline is missed
            try:
                code = self._ticks(ctypes.addressof(block))
                if code == FULL:
                    self._log.gather()
                    code = self._ticks(ctypes.addressof(block))
            finally:  # also where somebody interrupts the program
                block.ask, block.left = 1, -1
                self._pace()
            return self._came_back(code)

    def stop(self) -> None:
        """End: the thread is gone after this, with controllers and the page in a notebook."""
        if self._page is not None:
            self._page.close()
        self._end()

    def _end(self) -> None:
        """End the thread and the controllers."""
        with self._wake:
            gone, self._controllers = self._controllers, []
        for controller in gone:
            controller.stop()
        self._ask("ended")
        if (thread := self._thread) is not None:
            thread.join()
        self._tidy()

    def reset(self) -> None:
        """Go back to the beginning, and stand still there."""
        while True:
            self._end()
            with self._wake, self._setting:
                if self._thread is None:  # nobody started it meanwhile
                    self.failure = self.refused = ""
                    self._prepare()
                    return

    def __enter__(self) -> Realtime:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._wanted == "running"

    def _ask(self, wanted: str) -> None:
        with self._wake:
            if wanted == "running":  # who ends it has the word until it has ended
                self._wake.wait_for(lambda: self._wanted != "ended")
            if self._wanted == "ended" or (wanted == "ended" and self._thread is None):
                return
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
            with self._wake:
                self._say_still()
            ended.set()
            released()
            keeper.join()
            with self._wake:  # whoever wants it to run again may begin
                self._thread, self._wanted = None, "paused"
                self._wake.notify_all()

    def _say_still(self) -> None:
        """Say that no tick is in hand."""
        self._still = True
        self._wake.notify_all()

    def _keep_tidy(self, ended: threading.Event) -> None:
        """Take away what the loop wrote down, beside it."""
        while not ended.wait(TIDY):
            with self._wake:
                self._tidy()

    def _beat(self) -> None:
        """Run the loop, and do between its ticks what is asked for."""
        block = self._block
        with self._wake:  # somebody may still be taking a step
            block.next = time.monotonic_ns() + block.period
        while True:
            with self._wake:
                while self._todo:
                    self._do(self._todo.pop(0))
                if self._wanted == "paused":
                    self._say_still()
                    self._wake.wait_for(lambda: self._wanted != "paused" or self._todo)
                    block.next = time.monotonic_ns() + block.period
                    if self._todo:
                        continue
                if self._wanted == "ended":
                    return
                block.ask, self._still = 0, False
            if not self._came_back(self._ticks(ctypes.addressof(block))):
                self._ask("paused")

    def _do(self, do: Callable[[], None]) -> None:
        """Do what was asked for between two ticks; the thread goes on whatever comes of it."""
        try:
            do()
        except SwitchError as error:  # nothing was changed
            self.refused = str(error)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            self._ask("paused")

    def _came_back(self, code: int) -> bool:
        """Do what the loop came back for, if anything; False where it cannot go on."""
        sim = self._sim
        if self._commands is not None:
            self._commands.follow()
        try:
            if code == DUE:
                half = 0.5 * self._begin["step"]
                sim._switch(partial(sim._modes.switch, sim.t, sim._modes.due(sim.t + half)))
                self._noted()
            elif code == AHEAD:
                with self._wake:
                    sim._modes.wire_ahead(sim.t)
                    self._go_on()
            elif code == FULL:
                with self._wake:
                    self._log.gather()
            elif code == FAILED and self._block.status == EVENT:
                self._finish()
                self._noted()
                self._show()
            elif code in (FAILED, OVERRUN):
                self._fail(code)
                return False
        except Exception as error:  # whatever it is, it is said, and the machine stands still
            self.failure = str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}: {error}"
            return False
        return True

    def _finish(self) -> None:
        """Go through an event that a method stopped at within a step, and take the rest of it, by Python."""
        sim, end = self._sim, float(self._out[0]) + self._begin["step"]
        status = EVENT
        for _ in range(MOST_EVENTS):
            sim._look(status)
            if status != EVENT or not sim.t < end:
                return
            sim._now.stop, sim._now.budget = end, 1
            status = sim._advance()
        raise RuntimeError(
            f"More than {MOST_EVENTS} events happened in the tick after t = {self._out[0]:.6g} s. Write the conditions "
            "of its switches so that they do not undo each other, or lower the rate."
        )

    def _noted(self) -> None:
        """Keep what happened in Python's part of the simulation, of which the board keeps the last one alone."""
        board = self._sim._modes.board
        if board is not None:
            news = board.events[1:]
            self._happened += [Happening(t=e.time, tick=self.ticks, mode=dict(e.mode)) for e in news]
            for event in news:
                if event.states is not None:  # not of a step, whose impulses the loop adds up
                    for label, impulse in event.impulses.items():
                        self.struck[label] = self.struck.get(label, 0.0) + impulse
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
        self._broken = int(self._bins.sum()) - self.ticks
        if code == OVERRUN:
            self.failure = f"Stopped at t = {self.state.t:.6g} s: a deadline was missed by a period or more."
        else:
            from polhode.simulate.ending import ended

            self._block.log_row = max(self._block.log_row - 1, 0)  # of a tick that was not
            self.failure = str(ended(self._sim, int(self._block.status)))

    def _tidy(self) -> None:
        """See what became of commands, and what happened."""
        with self._wake:
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
        """The forces on the speeds and of the controls that were set last, or that a watchdog brought back."""
        block = self._block
        rests = block.rests and block.tau_count == block.tau_seen
        return (self._rest if rests else self._tau)[: block.inputs].copy()

    @tau.setter
    def tau(self, given: Any) -> None:
        with self._setting:
            inputs = self._sim._inputs
            found = values_of(given, inputs.names, self.tau.tolist(), "tau")
            if isinstance(given, Mapping) and (ruled := [name for name in map(str, given) if name in self.lawful]):
                law = self._laws[ruled[0]]
                raise ValueError(
                    f"tau: {ruled[0]!r} follows a law, {law}, that was given to realtime and is compiled in. Leave it "
                    "out, or have a parameter in the law."
                )
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
        with self._setting:
            found = values_of(given, list(self.dynamics.parameters), self.p.tolist(), "p")
            check_bounds(self.dynamics, np.asarray(found, dtype=float))
            block = self._block
            block.p_count += 1
            self._p[: len(found)] = found
            block.p_count += 1

    @property
    def lawful(self) -> tuple[str, ...]:
        """The inputs that laws set, also sampled ones: what is given for them in an array has no effect."""
        return tuple(self._laws)

    @property
    def _laws(self) -> dict[str, Expr]:
        """The laws of inputs by name, in the order of these."""
        inputs = self._sim._inputs
        named = zip(inputs.names, inputs.symbols, strict=True)
        known = {name: inputs.laws[s] for name, s in named if s in inputs.laws}
        known |= {} if self._held is None else self._held.laws
        return {name: known[name] for name in inputs.names if name in known}

    def watchdog(self, seconds: float) -> None:
        """Have the forces of the beginning act again where none were set for so long; 0 for never.

        The loop itself counts, so that a controller or a device that hangs does not go on to push. Seconds are those of
        the clock, also in slow motion.
        """
        if not is_number(seconds) or not 0 <= seconds < np.inf:
            raise ValueError(f"watchdog: seconds is {seconds!r:.40}, expected a number of 0 or more; 0 for none.")
        self._watch(None, seconds)

    def _watch(self, who: Any, seconds: float) -> None:
        """Have a watchdog for somebody, 0 for none any more: of several the shortest counts."""
        with self._wake:
            self._watched = {k: each for k, each in (self._watched | {who: float(seconds)}).items() if each}
            self._block.silent = 0
            self._pace()

    def _lend(self, rest: np.ndarray | None) -> None:
        """Have forces that are set act for `lasts` alone, and then those at rest, unless set anew; None for as before.

        So do hands of a page: what pulls must not go on where Python does not come by. Where there is a watchdog
        besides, that counts instead, and has the forces of the beginning act.
        """
        lent = rest is not None and not self._watched
        self._rest[:] = self._first
        if rest is not None and lent:
            self._rest[: self._block.inputs] = rest
        if lent != self._lent:
            with self._wake:
                self._lent, self._block.silent = lent, 0
                self._pace()

    @property
    def lasts(self) -> float:
        """Seconds of the machine that the pull of a hand acts, which is not renewed."""
        return self._block.patience / self.rate if self._watched else LASTS * max(self._speed, 1.0)

    @property
    def stale(self) -> int:
        """How often forces were let go by the watchdog."""
        return int(self._block.stale)

    def control(self, function: Callable[[float, np.ndarray, np.ndarray], Any], rate: float = 100.0) -> None:
        """Have a Python function of (t, q, u) set tau at a rate of its own, in a thread of its own, until `stop`.

        It runs beside the loop, which never waits for it: a slow function acts late, and the loop goes on with what it
        gave last.
        """
        if not callable(function):
            raise TypeError(f"control: found {function!r:.60}, expected a function of (t, q, u) that gives tau.")
        if not is_number(rate) or not 0 < rate <= self.rate:
            raise ValueError(
                f"control: rate is {rate!r:.40}, expected calls a second, up to the {self.rate:g} of the machine."
            )
        with self._wake:
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
            elif not self._stands():
                self._commands.send(asked)
            else:
                self._commands.send(replace(asked, at_once=True))
                before, self.refused = self.refused, ""
                while self._commands.waits:  # others may have come before the machine was paused
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
            finally:  # also where it was refused
                if self._keep:
                    self._done.append((self.ticks, replace(asked, at_once=True)))
                self._noted()

        self._between(do)

    def make_ready(self, names: Iterable[str]) -> None:
        """Have contacts in the code that are not there yet, before they touch; what is wired already is left out.

        The code is made here, in the thread that calls: the loop runs on, and adopts it between two ticks.
        """
        modes, new = self._sim._modes, tuple(names)
        modes.check(new)
        new = tuple(name for name in new if modes.wired is not None and name not in modes.wired)
        if not new or modes.board is None:
            return
        made = modes.aside(new)
        assert made.board is not None
        commands = self._commands_of(made.board)
        self._sim._taken(made.machine)  # laid out, and found when it is adopted

        def do() -> None:
            if self._commands is not None:
                self._commands.follow()
            self._made = commands
            if modes is self._sim._modes and modes.adopt(made):
                if self._keep:
                    self._done.append((self.ticks, Command(engage=(), release=(), at_once=True, wire=new)))
                self._go_on()
            self._made = None

        with self._wake:
            self._between(do)

    def _between(self, do: Callable[[], None]) -> None:
        """Have something done between two ticks; at once where it stands still."""
        if self._stands():
            do()
        else:
            self._todo.append(do)
            self._block.ask = 1
            self._wake.notify_all()

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
    def begun(self) -> int:
        """Ticks that began: one more than were taken while one is in hand."""
        return int(self._bins.sum()) - self._broken

    @property
    def lateness(self) -> Lateness:
        """How late ticks began, and how long they took, since the beginning."""
        return Lateness.of(self._bins.copy(), self._spans.copy(), self._block, 1 / self.rate, self.privileges)

    def report(self) -> str:
        """What a step costs: as measured, by all ticks since the beginning, and at most by the iterations it may do."""
        late, worst, period = self.lateness, worst_of(self), 1 / self.rate
        lines = [
            f"a step         {spelled(self.cost)}, measured before the beginning",
            f"with a switch  {spelled(self.bound)}, of the costliest of those that were tried",
            f"at most        {worst}",
            f"a period       {spelled(period)}" + ", less than that" * (worst.seconds > period),
        ]
        if late.ticks:
            lines.append(
                f"ticks          {spelled(late.busy)} on average, {spelled(late.busy_p999)} (99.9 %), "
                f"{spelled(late.busy_worst)} at worst, of {late.ticks:,}"
            )
        return "\n".join(lines)

    @property
    def speed(self) -> float:
        """Seconds of the machine by those of the clock: 0.5 is slow motion."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        if not is_number(value) or not 0 < value < np.inf:
            raise ValueError(f"speed is {value!r:.40}, expected a number above 0: 0.5 for slow motion.")
        self._period(float(value))
        with self._wake:
            self._speed = float(value)
            self._pace()

    @property
    def session(self) -> Session:
        """What went in so far, to be replayed."""
        if not self._keep:
            raise RuntimeError("session: nothing was kept, as it was asked for with record=False.")
        model = fingerprint(self.dynamics)
        with self._wake:
            self._require_still("session")
            self._tidy()
            self._log.rest()
            at, inputs = self._log.changes()
            return Session(
                begin=self._begin, ticks=self.ticks, at=at, inputs=inputs, commands=in_order(self._done), model=model
            )

    def _repr_html_(self) -> str | None:
        """In a notebook, the live page; plain text without what it needs."""
        from .notebook import shown

        return shown(self)

    def __repr__(self) -> str:
        word = "running" if self.running else "paused"
        return f"{self.dynamics.equations.model.name!r} at {self.rate:g} Hz, {word} at t = {self.state.t:.6g} s"
