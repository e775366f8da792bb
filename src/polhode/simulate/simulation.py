"""A run that is taken step by step, or up to a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from polhode.equations.warning import warn_caller
from polhode.kernels.machine import NOT_FINITE
from polhode.kernels.stepping import DONE, EVENT, FULL, MORE
from polhode.model.errors import closest
from polhode.trajectory import Outcome, Trajectory

from .angles import MANY, angles_near
from .asked import is_number, times, values_of
from .bending import bent_far
from .driver import Driver
from .ending import ended
from .result import forces_along, trajectory_of, work_of
from .switchboard import SwitchError
from .switches import When, ending_of, on_the_verge
from .warning import SimulationWarning, warn
from .watching import watching

__all__ = ["Simulation", "work_of"]

_SETTABLE = ("q", "u", "z", "tau")


class Simulation(Driver):
    """A machine at a state, moved in time by one method.

    Arguments are those of `simulate`. `step()` takes one step of the method and `run(until)` as many as
    it needs; every step is recorded, unless `run` is given output=. Between steps, q, u, z and tau may be set: to an
    array, or by name.

    t       : the time now
    q, u, z : the state now, copies; z are states that are not motion
    tau     : forces on the speeds now, (nu,)
    outcome : how the last run ended
    """

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what is no part of a simulation: sim.p = ... would change nothing."""
        if not name.startswith("_") and name not in ("dynamics", "method", *_SETTABLE):
            raise AttributeError(
                f"A simulation has no {name!r} that can be set. {closest(name, _SETTABLE)} Parameters stay as they are."
            )
        super().__setattr__(name, value)

    # the state

    @property
    def q(self) -> np.ndarray:
        return self._part(self._q)

    @q.setter
    def q(self, given: Any) -> None:
        self._set(self._q, given, "q")

    @property
    def u(self) -> np.ndarray:
        return self._part(self._u)

    @u.setter
    def u(self, given: Any) -> None:
        self._set(self._u, given, "u")

    @property
    def z(self) -> np.ndarray:
        return self._part(self._z)

    @z.setter
    def z(self, given: Any) -> None:
        self._set(self._z, given, "z")

    @property
    def tau(self) -> np.ndarray:
        return _final(forces_along(self, np.array([self.t]), self._x[None], self._machine.tau[None])[0])

    @tau.setter
    def tau(self, given: Any) -> None:
        if self._inputs.sampled is not None or self._inputs.continuous is not None:
            raise TypeError("tau comes from a control, so it cannot be set. Have the control give another force.")
        self._push(values_of(given, self._inputs.names, self._machine.tau, "tau"))

    def _part(self, where: slice) -> np.ndarray:
        return _final(self._x[where].copy())

    def _set(self, where: slice, given: Any, what: str) -> None:
        x = self._x.copy()
        x[where] = values_of(given, self._names[where], x[where].tolist(), what)
        x = self._program.unit(x)
        self._flush()
        if -np.inf < self._recording.last < self.t:  # outputs may have ended before now
            self._recording.add(np.array([self.t]), self._x[None])
        self._x[:] = x
        self._changed, self._stepping = True, False

    # what holds

    @property
    def active(self) -> tuple[str, ...]:
        """The constraints that hold or slide now, by name."""
        return self._modes.active()

    @property
    def mode(self) -> dict[str, str]:
        """What every constraint does now, in a word: see `Event`."""
        return self._modes.words()

    def engage(self, *names: str | Sequence[str]) -> None:
        """Engage constraints: at once; called while it runs by another thread, after the step in hand.

        Speeds change by the impulse that brings them along, M du = J^T Lam; positions stay. What is engaged stays so,
        and is no event.
        """
        self._command(_flat(names), ())

    def release(self, *names: str | Sequence[str]) -> None:
        """Release constraints, likewise; nothing jumps."""
        self._command((), _flat(names))

    def _command(self, engage: tuple[str, ...], release: tuple[str, ...]) -> None:
        self._modes.check((*engage, *release))
        if self._inputs.asked and threading.get_ident() == self._runner:
            raise RuntimeError(
                f"The control called {'engage' if engage else 'release'} while a step is taken, whose stages ask it at "
                "states that may never be. Use tau=ph.Sampled(...), which is called between steps, or "
                "switches=ph.when(...)."
            )
        if not self._modes.commands and not self._modes.would_change(engage, release):
            return
        if self._running:
            self._modes.commands.append((engage, release))
            self._now.halt = 1
            return
        self._switch(lambda: self._modes.command(self.t, engage, release, "command"))

    def strike(self, marker: str, impulse: Any) -> None:
        """Strike a marker with an impulse from outside, in the axes of the world: three entries, N s; at once."""
        found = np.asarray(impulse, dtype=float)
        if found.shape != (3,) or not np.isfinite(found).all():
            raise ValueError(f"strike: impulse is {impulse!r:.60}, expected three finite numbers, N s.")
        if self._running:
            raise RuntimeError("strike: the simulation is running. Strike between two runs or steps.")
        given = {"p": self._values} if len(self._values) else {}
        J = self.dynamics.jacobian(marker)(self.q, **given)[3:]
        M = self.dynamics.mass_matrix(self.q, **given)
        try:
            du = np.linalg.solve(M, J.T @ found)
        except np.linalg.LinAlgError:
            raise RuntimeError(
                "strike: the inertia matrix is singular without the constraints of the machine. Give the bodies mass "
                "and inertia all around, or their joints an armature."
            ) from None
        if not self._modes.can_switch:
            self.u = self.u + du
            return
        board = self._modes.need(self.t)

        def struck() -> None:
            before = self.u
            self._x[self._u] += du
            try:
                board.command(self.t, (), (), f"strike at {marker}")
            except SwitchError:
                self._x[self._u] = before
                raise

        self._switch(struck)
        self._recording.set_rows.append(self._recording.rows - 1)

    # motion

    def step(self) -> None:
        """Take one step of the method and record it; adaptive methods choose its size, longest= bounds it.

        Raises RuntimeError where it cannot go on.
        """
        if not self._stepping:
            self._warn_of_states(*self._begun())
            self._open(None)
            self._now.stop, self._now.budget, self._stepping = np.inf, 1, self._inputs.sampled is None
        if self._inputs.sampled is not None:
            self._now.stop = self._sampled()
            if self._modes.commands:
                self._look(MORE)
        self._now.stop = min(self._now.stop, self._modes.next_time())
        status = self._advance() if self._now.stop > -np.inf else NOT_FINITE
        if status != MORE or self._inputs.failure is not None or self._modes.board is not None:
            self._look(status)

    def _look(self, status: int) -> None:
        """See what is to be done after a call of `step` that did not just take a step."""
        if status == FULL:
            self._flush()
            status = self._advance()
        self._raise_failure()
        if self._modes.board is not None or self._modes.commands or status == EVENT:
            status = self._switch_now(status)
            self._stepping = False
        if status not in (MORE, DONE):
            self._outcome, self._stepping = ended(self, status), False
            raise RuntimeError(str(self.outcome))

    def run(self, until: float | When, output: Any = "steps", progress: bool | None = False) -> Outcome:
        """Move on to a time, or until something happens; how that ended.

        until    : a time, or `when(...)`, or its text
        output   : times to record, or their spacing, instead of every step
        progress : show a bar; None for one on a terminal

        A run that cannot go on stays where it got to, and warns. So does one after Ctrl-C, without a warning.
        """
        if isinstance(until, (When, str)):
            return self._run_until(ending_of(until), output, progress)
        if not (is_number(until) and self.t < until < np.inf):
            raise ValueError(f"until is {until!r:.60}, expected a time after now, t = {self.t:g}.")
        grid, begun = times(output, self.t, until), self._begun()
        with watching(progress, self.t, until) as seen:
            self._integrate(float(until), grid, seen)
        self._warn_of_states(*begun)
        warn(self.outcome)
        return self.outcome

    def _run_until(self, until: When, output: Any, progress: bool | None) -> Outcome:
        if output != "steps":
            raise ValueError('run: until= what happens has no end to space outputs to. Give a time, or output="steps".')
        before = self._modes.switches
        self._resume()
        self._check_guards([until])
        self._modes.rewire(self.t, switches := [*before, until])
        if self._now.accepted == 0:
            self._modes.wait_below(on_the_verge(switches, self.dynamics, self.t, self._x, self._values))
        self._now.rated, begun = 0, self._begun()
        try:
            with watching(progress, self.t, np.inf) as seen:
                self._integrate(np.inf, None, seen)
        finally:
            self._modes.rewire(self.t, before)
            self._advance = self._taken()
        self._warn_of_states(*begun)
        warn(self.outcome)
        return self.outcome

    @property
    def _deforms(self) -> bool:
        return any(body.flexible is not None for body in self.dynamics.equations.model.bodies)

    def _begun(self) -> tuple[float, np.ndarray, int]:
        """The time, the state and the steps that were taken now."""
        return self.t, self._x.copy(), self._now.accepted

    def _warn_of_states(self, t0: float, x0: np.ndarray, before: int) -> None:
        """Warn where angles were in their singular position since then, or a body bent too far."""
        t, x, steps = np.array([t0]), x0[None], self._now.accepted - before
        if steps > MANY or (steps and self._deforms):
            t, x = self._recording.states()
            t, x = t[t >= t0], x[t >= t0]
        if near := angles_near(self.dynamics, self._values, t, x[:, self._q], steps):
            warn_caller(near, SimulationWarning)
        if self._deforms and (far := bent_far(self.dynamics, self._values, t, x[:, self._q])):
            warn_caller(far, SimulationWarning)

    def trajectory(self, reacting: bool = False) -> Trajectory:
        """Everything recorded so far.

        reacting : also compute the reactions of constraints at every state
        """
        return trajectory_of(self, reacting)

    def __repr__(self) -> str:
        name, steps = self.dynamics.equations.model.name, self._now.accepted
        return f"Simulation of {name!r} by {self.method}: t = {self.t:g} s after {steps:,} steps."


def _flat(names: Sequence[str | Sequence[str]]) -> tuple[str, ...]:
    """Names that were given one by one, or in a list."""
    found = tuple(name for part in names for name in ([part] if isinstance(part, str) else part))
    if not found:
        raise TypeError("engage and release take names of constraints, found none.")
    return found


def _final(array: np.ndarray) -> np.ndarray:
    """An array that cannot be changed: what is written to sim.q[0] would be lost."""
    array.flags.writeable = False
    return array
