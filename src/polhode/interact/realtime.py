"""A machine in real time: one step for each period of the clock, in a thread of its own."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.kernels.stepping import EVENT
from polhode.simulate import Simulation
from polhode.simulate.asked import is_number, values_of
from polhode.simulate.switchboard import SwitchError

from .lateness import Lateness
from .ticking import BINS, FAILED, FULL, LEFT, OVERRUN, SKIP, SLOW, STOP, Block, entry

POLICIES = {"slow": SLOW, "skip": SKIP, "stop": STOP}
SPIN = 60e-6  # s before a deadline, that a sleep may end late by
PATIENCE = 10.0  # s, for the thread to begin
TRIALS = 100  # steps, to measure what one costs
LOG = 60_000  # ticks of inputs, after which the loop comes back to have them taken


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A machine at a tick: time, coordinates, speeds and states beside motion."""

    t: float
    q: np.ndarray
    u: np.ndarray
    z: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What went into a run: where it began, the forces of every tick, and commands with the tick they came before.

    begin : arguments of the simulation that it began with
    """

    begin: dict[str, Any]
    tau: np.ndarray
    commands: tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...]


class Realtime:
    """A machine that moves with the clock; see `realtime`."""

    def __init__(self, dynamics: Dynamics, rate: float, overrun: str, begin: dict[str, Any]) -> None:
        self.dynamics, self.rate = dynamics, float(rate)
        self._begin = begin
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._wanted = "paused"  # or "running", "ended"
        self._controllers: list[_Controller] = []
        self._ready = threading.Event()
        self._todo: list[Callable[[], None]] = []  # between two ticks
        self._speed, self._policy = 1.0, POLICIES[overrun]
        self._ticks = entry()
        self._clock = ctypes.CDLL(None)
        self.failure = ""
        self.privileges = ""
        self.cost = 0.0
        self.refused = ""  # why a constraint was last not engaged or released while it ran
        self._prepare()

    # the machine and the memory that the loop works on

    def _prepare(self) -> None:
        """Lay out the machine at its beginning."""
        self._sim = sim = Simulation(self.dynamics, **self._begin)
        sim._open(np.zeros(0))  # nothing is recorded there
        sim._now.stop, sim._now.budget = np.inf, 1
        n, m = sim._x.size, sim._machine.tau.size
        self._in, self._out, self._bins = np.zeros(max(m, 1)), np.zeros(1 + n), np.zeros(BINS, dtype=np.int64)
        self._log = np.zeros((LOG, max(m, 1)))
        self._taken: list[np.ndarray] = []
        self._commands: list[tuple[int, tuple[str, ...], tuple[str, ...]]] = []
        self._in[:m] = sim._machine.tau
        self._out[0], self._out[1:] = sim.t, sim._x
        self._block = Block(
            gettime=_address(self._clock.clock_gettime),
            sleep=_address(self._clock.clock_nanosleep),
            run=sim._record.ctypes.data,
            x=sim._x.ctypes.data,
            size=n,
            inputs=m,
            in_tau=self._in.ctypes.data,
            out=self._out.ctypes.data,
            log=self._log.ctypes.data,
            log_rows=LOG,
            bins=self._bins.ctypes.data,
            spin=int(SPIN * 1e9),
            policy=self._policy,
            ask=1,
        )
        self._pace()
        self._bind()

    def _bind(self) -> None:
        """Have the loop call the integration loop of the mode that is now."""
        bound: Any = self._sim._advance
        self._bound = bound  # kept alive: the loop has its address
        self._block.advance, self._block.words = _address(bound.func), bound.args[0]
        self._block.tau = self._sim._modes.used.tau.ctypes.data

    def _pace(self) -> None:
        self._block.period = round(1e9 / (self.rate * self._speed))

    # the thread

    def start(self) -> Realtime:
        """Run, from where it is."""
        self._ask("running")
        self._ready.wait(PATIENCE)  # to lock much memory takes a while
        return self

    def pause(self) -> None:
        """Stand still after the tick in hand."""
        self._ask("paused")

    def step(self, ticks: int = 1) -> None:
        """Take ticks one after the other without waiting, while it is paused."""
        if not isinstance(ticks, int) or ticks < 1:
            raise ValueError(f"step: ticks is {ticks!r:.40}, expected 1 or more.")
        if self.running:
            raise RuntimeError("step: the machine is running. Pause it first.")
        for _ in range(ticks):
            self._once()

    def _once(self) -> None:
        """One tick at once, by the same loop."""
        block = self._block
        block.next, block.ask, before = time.monotonic_ns() - 1, 0, block.log_rows
        block.log_rows = block.log_row + 1  # come back after it
        code = self._ticks(ctypes.addressof(block))
        block.log_rows, block.ask = before, 1
        if code == FULL or self._happened(code):
            if block.log_row >= LOG:
                self._take_log()
        else:
            self._fail(code)

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
        try:
            self._beat()
        finally:
            released()

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
            code = self._ticks(ctypes.addressof(block))
            if code == FULL or self._happened(code):
                if block.log_row >= LOG:
                    self._take_log()
            elif code != LEFT:
                self._fail(code)
                with self._wake:
                    self._wanted = "paused"

    def _happened(self, code: int) -> bool:
        """Note what happened in the step that the loop came back from, such as a touch, and show the state after it.

        False where it came back for another reason, or cannot go on.
        """
        sim, block = self._sim, self._block
        if code != FAILED or block.status != EVENT:
            return False
        try:
            sim._look(EVENT)
        except RuntimeError:
            return False
        self._resume()
        block.out_count += 1  # odd: not to be read
        self._out[0], self._out[1:] = sim.t, sim._x
        block.out_count += 1
        block.ticks += 1
        return True

    def _resume(self) -> None:
        """Have the loop go on from where the simulation is, in the mode that it is in."""
        self._sim._open(np.zeros(0))
        self._sim._now.stop, self._sim._now.budget = np.inf, 1
        self._bind()

    def _fail(self, code: int) -> None:
        if code == OVERRUN:
            self.failure = f"Stopped at t = {self.state.t:.6g} s: a deadline was missed by a period or more."
        elif code == FAILED:
            from polhode.simulate.ending import ended

            self.failure = str(ended(self._sim, int(self._block.status)))

    def _take_log(self) -> None:
        rows = int(self._block.log_row)
        self._taken.append(self._log[:rows].copy())
        self._block.log_row = 0

    # what goes in

    @property
    def tau(self) -> np.ndarray:
        """The forces that were set last, on the speeds and of the controls."""
        return self._in[: self._block.inputs].copy()

    @tau.setter
    def tau(self, given: Any) -> None:
        found = values_of(given, self._sim._inputs.names, self.tau.tolist(), "tau")
        block = self._block
        block.in_count += 1  # odd: not to be read
        self._in[: len(found)] = found
        block.in_count += 1

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
        self._controllers.append(_Controller(self, function, float(rate)))

    def engage(self, *names: str) -> None:
        """Engage constraints before the next tick."""
        self._command(names, ())

    def release(self, *names: str) -> None:
        """Release constraints before the next tick."""
        self._command((), names)

    def _command(self, engage: Sequence[str], release: Sequence[str]) -> None:
        self._sim._modes.check((*engage, *release))

        def do() -> None:
            try:
                if engage:
                    self._sim.engage(*engage)
                if release:
                    self._sim.release(*release)
                self._commands.append((self.ticks, tuple(engage), tuple(release)))
            finally:  # also where it was refused
                self._resume()

        with self._wake:
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
        rows = [*self._taken, self._log[: self._block.log_row]]
        return Session(begin=self._begin, tau=np.concatenate(rows)[: self.ticks], commands=tuple(self._commands))

    def __repr__(self) -> str:
        word = "running" if self.running else "paused"
        return f"{self.dynamics.equations.model.name!r} at {self.rate:g} Hz, {word} at t = {self.state.t:.6g} s"


class _Controller:
    """A function that sets the forces of a machine, called at a rate."""

    def __init__(self, machine: Realtime, function: Callable[..., Any], rate: float) -> None:
        self.machine, self.function, self.period = machine, function, 1 / rate
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, name="polhode controller", daemon=True)
        self.thread.start()

    def run(self) -> None:
        due = time.monotonic()
        while not self.ended.wait(max(0.0, due - time.monotonic())):
            state = self.machine.state
            try:
                self.machine.tau = self.function(state.t, state.q, state.u)
            except Exception as error:
                self.machine.failure = f"The controller raised {type(error).__name__} at t = {state.t:.6g} s: {error}"
                self.machine.pause()
                return
            due = max(due + self.period, time.monotonic())

    def stop(self) -> None:
        self.ended.set()
        if self.thread is not threading.current_thread():
            self.thread.join()


def _address(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


_locked = 0  # threads in this process that want memory locked


def released() -> None:
    """Let memory go where no other loop runs; the rest went with the thread."""
    global _locked  # noqa: PLW0603 - a right of the whole process
    _locked -= 1
    if _locked == 0:
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).munlockall()


def privileged() -> str:
    """Ask for the rights of a real-time thread, and say what was granted."""
    global _locked  # noqa: PLW0603
    _locked += 1
    said = []
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(80))
        said.append("SCHED_FIFO")
    except (AttributeError, OSError) as error:
        said.append(f"no SCHED_FIFO ({getattr(error, 'strerror', None) or 'not on this system'})")
    try:
        granted = ctypes.CDLL(None, use_errno=True).mlockall(3) == 0
        said.append("memory locked" if granted else f"memory not locked ({os.strerror(ctypes.get_errno())})")
    except (AttributeError, OSError):
        said.append("memory not locked (not on this system)")
    return ", ".join(said)


def realtime(
    dynamics: Dynamics, q0: Any = None, u0: Any = None, *, rate: float = 1000, method: str = "moreau", tau: Any = None,
    p: Any = None, overrun: str = "slow", z0: Any = None,
) -> Realtime:  # fmt: skip
    """Prepare a machine that moves with the clock: one step of 1/rate for each period.

    rate    : ticks a second
    method  : of fixed step: "moreau", whose cost is bounded whatever happens, or "euler", "midpoint", "rk4"
    tau     : constant forces at first, or expressions; numbers may be set while it runs
    overrun : where a deadline is missed by a period or more: "slow" falls behind the clock, "skip" leaves out the ticks
              and stays in phase, "stop" stops

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
    made = Realtime(dynamics, rate, overrun, begin)
    made.cost = _measured(made)
    if made.cost > 1 / rate:
        raise ValueError(
            f"realtime: a step takes {made.cost * 1e6:.3g} us here, and a period is {1e6 / rate:.3g} us. Lower the "
            "rate, or use a faster method."
        )
    return made


def _measured(machine: Realtime) -> float:
    """What a step costs in seconds, the middle one of many; what the loop may need is loaded by this."""
    trial = Realtime(machine.dynamics, machine.rate, "slow", machine._begin)
    spans, before = [], 0
    for _ in range(TRIALS):
        trial._once()
        spans.append(int(trial._block.busy) - before)
        before = int(trial._block.busy)
        if trial.failure:
            break
    names = [c.name for c in machine.dynamics.equations.model.candidates if c.law == "equal"]
    if names and not trial.failure:
        trial.engage(names[0])  # so that the first one in earnest does not wait for its code
        trial._once()
    return float(np.median(spans)) * 1e-9


def replay(dynamics: Dynamics, session: Session) -> list[State]:
    """Run a session again, tick by tick without a clock; the states are those that were there, bit for bit."""
    again = Realtime(dynamics, 1 / session.begin["step"], "slow", session.begin)
    states, due = [again.state], list(session.commands)
    for k, row in enumerate(session.tau):
        while due and due[0][0] == k:
            _, engage, release = due.pop(0)
            again._command(engage, release)
        if not np.array_equal(row[: again._block.inputs], again.tau):
            again.tau = row[: again._block.inputs]
        again.step()
        states.append(again.state)
    return states
