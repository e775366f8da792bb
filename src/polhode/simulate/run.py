"""From an initial state to a trajectory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, TypeGuard

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.program import WORK, Program, program_of
from polhode.kernels.hold import LOOSE, evaluate, settle
from polhode.kernels.loop import METHODS, Method, advance, room_of
from polhode.kernels.machine import NOT_FINITE, OK, Machine
from polhode.kernels.stepping import COLLAPSE, DONE, FULL, MORE, Run
from polhode.model.errors import closest
from polhode.trajectory import Outcome, Trajectory

from .assemble import parameters_of, values_of
from .ending import ending
from .inputs import Inputs, read_inputs
from .interrupt import PATIENCE, stoppable

STUCK = 100_000  # steps of an adaptive method, after which it is asked how far they led
MOST = 100_000_000  # outputs


def simulate(
    dynamics: Dynamics,
    q0: Any = None,
    u0: Any = None,
    t_end: float | None = None,
    *,
    tau: Any = None,
    p: Any = None,
    method: str = "dop853",
    step: float | None = None,
    output: Any = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    longest: float = np.inf,
    t0: float = 0.0,
    reacting: bool = False,
    progress: bool | None = None,
) -> Trajectory:
    """Move a machine from a state at t0 to t_end.

    q0, u0   : the state, arrays or values by name; at rest where nothing is given.
               With a row for each of many states, use `simulate_many`
    tau      : forces on the speeds: an array, numbers and expressions of q, u, t by name, a function
               of t, q, u, or a `Sampled` controller
    p        : values of parameters that were not compiled in
    method   : "dop853", "dopri5", adaptive; "rodas5p", adaptive for stiff systems; "rk4",
               "midpoint", "euler" (semi-implicit), of a fixed step
    step     : of a fixed-step method
    output   : times of the result: an array, a spacing, or "steps" for every step; 501 by default
    longest  : the longest step an adaptive method may take
    reacting : also compute the reactions of constraints at every output
    progress : show a bar; by default on a terminal

    A run that cannot go on returns what it has; `outcome` says why it ended. Ctrl-C too.
    """
    method_of(method, step, t0, t_end)
    assert t_end is not None
    if not isinstance(dynamics, Dynamics):
        raise TypeError(f"simulate takes a Dynamics, found {dynamics!r:.60}. Make one with formulate(model).compile().")
    if not len(dynamics.equations.q):
        raise ValueError(f"Model {dynamics.equations.model.name!r}: no body has a joint, so nothing can move.")
    tolerances, grid = _tolerances(rtol, atol, longest), times(output, t0, t_end)
    inputs = read_inputs(tau, dynamics.equations)
    program = program_of(dynamics, inputs.laws, tau is not None)
    eq = dynamics.equations
    values = parameters_of(dynamics, p)
    q = values_of(q0, [str(s.value) for s in eq.q], eq.model.neutral(), "q0")
    u = values_of(u0, [str(s.value) for s in eq.u], [0.0] * len(eq.u), "u0")
    machine = program.machine(inputs.constant, values, inputs.address(len(q)))
    x = program.unit(np.concatenate([q, u, np.zeros(len(program.work))]))
    _begin(program, machine, t0, x)
    run = _Run(program, machine, method, inputs, x, (t0, float(t_end)), grid)
    run.now.rtol, run.now.atol, run.now.longest = tolerances
    run.now.step = step or 0.0
    with _watching(progress, t0, t_end) as seen:
        run.prepare()
        status = run.go(seen)
    return run.trajectory(status, values, reacting)


def method_of(name: str, step: float | None, t0: float, t_end: float | None) -> Method:
    """The integrator of a name, for steps of this size in this span."""
    if name not in METHODS:
        raise ValueError(f"Method {name!r} is unknown. {closest(name, METHODS)}")
    if not (_is_number(t0) and np.isfinite(t0)):
        raise ValueError(f"t0 is {t0!r:.60}, expected a time.")
    if not (_is_number(t_end) and t0 < t_end < np.inf):
        raise ValueError(f"t_end is {t_end!r:.60}, expected a time after t0 = {t0:g}.")
    found = METHODS[name]
    if found.rule.fixed and step is None:
        raise ValueError(f"Method {name!r} has a fixed step, found none. Give step=1e-3, or what suits.")
    if found.rule.fixed and not (_is_number(step) and 0 < step <= (t_end - t0) * (1 + 1e-12)):
        raise ValueError(f"step is {step!r:.60}, expected more than 0 and at most the {t_end - t0:g} s to simulate.")
    if not found.rule.fixed and step is not None:
        raise ValueError(f"Method {name!r} chooses its own steps, found step={step!r}. Give longest=, rtol= and atol=.")
    return found


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def _tolerances(rtol: float, atol: float, longest: float) -> tuple[float, float, float]:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not (_is_number(value) and 0 <= value < np.inf):
            raise ValueError(f"{name} is {value!r:.60}, expected a tolerance, 0 or more.")
    if not rtol + atol > 0:
        raise ValueError("rtol and atol are both 0, expected one of them to be more. Give rtol=1e-9.")
    if not (_is_number(longest) and longest > 0):
        raise ValueError(f"longest is {longest!r:.60}, expected the seconds of a step, more than 0.")
    return rtol, atol, longest


def times(output: Any, t0: float, t_end: float) -> np.ndarray | None:
    """Times of the output; None for every step."""
    if isinstance(output, str):
        if output != "steps":
            raise ValueError(f'output is {output!r:.60}, expected times, a spacing, or "steps".')
        return None
    if output is None:
        return np.linspace(t0, t_end, 501)
    found = np.array(output, dtype=float)  # contiguous, and our own
    if found.ndim == 0:
        if not 0 < found < np.inf:
            raise ValueError(f"output is {output!r:.60}, expected a spacing of more than 0 seconds.")
        if found > (t_end - t0) * (1 + 1e-12):
            raise ValueError(f"output is {output!r:.60}, a spacing longer than the {t_end - t0:g} s to simulate.")
        whole = int((t_end - t0) / found * (1 + 1e-12))
        if whole > MOST:
            raise ValueError(f"output is {output!r:.60}, which gives {whole:,} outputs, expected at most {MOST:,}.")
        found = t0 + found * np.arange(whole + 1)
        if abs(t_end - found[-1]) > 1e-9 * (t_end - t0):
            return np.append(found, t_end)
        found[-1] = t_end
        return found
    if found.ndim != 1 or not found.size or not np.isfinite(found).all() or (np.diff(found) < 0).any():
        raise ValueError(f"output is {output!r:.60}, expected times in ascending order, at least one.")
    if found[0] < t0 or found[-1] > t_end:
        raise ValueError(f"output has times from {found[0]:g} to {found[-1]:g}, expected between {t0:g} and {t_end:g}.")
    return found


def _begin(program: Program, machine: Machine, t0: float, x: np.ndarray) -> None:
    """Check that the state satisfies the constraints, and settle it."""
    if machine.constrained is None:
        return
    phi, psi, reach, pace = program.measured(t0, x, machine.p)
    for what, rest, sizes in (("position", phi, reach), ("speed", psi, pace)):
        for label, off, size in zip(program.held.labels, rest, sizes, strict=False):
            if not abs(off) <= LOOSE * size:
                raise ValueError(
                    f"The initial {what} does not satisfy {label!r}: it is {off:.3g} off. "
                    "Find a state that does with q0, u0 = assemble(dynamics, q0, u0)."
                )
    evaluate(machine, t0, x, np.zeros_like(x), True)  # which rows are independent
    if settle(machine, t0, x) != OK:
        raise ValueError("The constraints cannot be satisfied near the initial state. Use assemble(dynamics, q0, u0).")


class _Run:
    """One integration: the arrays that the kernel works on, and what it has written."""

    def __init__(
        self, program: Program, machine: Machine, method: str, inputs: Inputs, x: np.ndarray,
        span: tuple[float, float], grid: np.ndarray | None,
    ) -> None:  # fmt: skip
        self.program, self.machine, self.method, self.inputs, self.x = program, machine, method, inputs, x
        self.t0, self.t_end = span
        self.every_step = grid is None
        self.grid = np.zeros(4096) if grid is None else grid
        self.rows = np.zeros((self.grid.size, x.size))
        self.forces: list[np.ndarray] = []  # tau at each output, where a controller set it
        self.now, runs = Run.of(t=self.t0, every=self.every_step)
        found = METHODS[method]
        self.fixed = bool(found.rule.fixed)
        self.kernel = partial(advance, found, machine, runs, x, self.grid, self.rows, room_of(found, x.size))
        self.saved: list[tuple[np.ndarray, np.ndarray]] = []
        self.mark = (0, self.t0)  # steps and time when its progress was last looked at
        self.seconds = 0.0
        self.interrupted = False

    def prepare(self) -> None:
        """Have the kernel compiled: the first use of a method after installation takes some seconds."""
        self.now.stop, self.now.budget = self.t_end, 0
        self._advance()
        self.now.rated = 0

    def go(self, seen: Callable[[float], None]) -> int:
        """Integrate until the end, a failure, or Ctrl-C."""
        began = time.perf_counter()
        status, sample, budget = MORE, 0, 1
        if self.every_step:
            self._record_first()
        with suppress(KeyboardInterrupt), stoppable() as wish:
            self.interrupted = True  # unless the loop comes to its end
            while status == MORE:
                if wish.pressed:
                    raise KeyboardInterrupt
                stop = self.t_end
                if self.inputs.sampled is not None:
                    period = self.inputs.sampled.period
                    if self.now.t >= self.t0 + sample * period:
                        if not self._sample():
                            status = NOT_FINITE
                            break
                        sample += 1
                    stop = min(stop, self.t0 + sample * period)
                self.now.stop = stop
                self.now.budget = budget
                tick = time.perf_counter()
                status = self._advance()
                self._keep_forces()
                if self.inputs.failure is not None:
                    raise self.inputs.failure
                spent = time.perf_counter() - tick
                if status == MORE and spent > 0:
                    budget = int(np.clip(budget * PATIENCE / spent, 1, 1e9)) if spent > 1e-4 else budget * 10
                if status == DONE and stop < self.t_end:
                    status = MORE
                if status == MORE and self._stuck():
                    status = COLLAPSE
                seen(self.now.t)
            self.interrupted = False
        self.seconds = time.perf_counter() - began
        return status

    def _stuck(self) -> bool:
        """Would the rest take thousands of millions of steps?"""
        steps, t = self.now.accepted + self.now.rejected, self.now.t
        if self.fixed or steps - self.mark[0] < STUCK:
            return False
        (_, before), self.mark = self.mark, (steps, t)
        return t - before < 1e-4 * (self.t_end - self.t0)

    def _advance(self) -> int:
        status = int(self.kernel())
        if status == FULL:
            self.saved.append((self.grid.copy(), self.rows.copy()))
            self.now.row, status = 0, MORE
        return status

    def _record_first(self) -> None:
        self.grid[0], self.rows[0] = self.t0, self.x
        self.now.row = 1

    def _sample(self) -> bool:
        """Ask a sampled controller; False where it gives no number."""
        nq, t = self.machine.nq, self.now.t
        assert self.inputs.sampled is not None
        found = self.inputs.call(self.inputs.sampled.function, t, self.x[:nq], self.x[nq : nq + self.machine.nu])
        if self.inputs.not_finite is not None:
            return False
        self.machine.tau[:] = found
        self.now.rated = 0  # the rate at this state changed with the force
        return True

    def _keep_forces(self) -> None:
        """Keep the force of a controller for the rows that are new."""
        if self.inputs.sampled is not None:
            self.forces += [self.machine.tau.copy()] * (self.rows_written - len(self.forces))

    @property
    def rows_written(self) -> int:
        return sum(len(t) for t, _ in self.saved) + self.now.row

    def trajectory(self, status: int, values: np.ndarray, reacting: bool) -> Trajectory:
        program, machine = self.program, self.machine
        done = self.now.row
        parts = [*self.saved, (self.grid[:done], self.rows[:done])]
        t, x = np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])
        if status != DONE and (not len(t) or t[-1] < self.now.t):  # where it stopped
            t, x = np.append(t, self.now.t), np.vstack([x, self.x])
        nq, nu, m = machine.nq, machine.nu, len(program.constraints)
        tau = self._tau(t, x)
        residuals = None
        if len(program.held):
            phi, psi, _, _ = program.measured(t, x, machine.p)
            residuals = np.hstack([np.where(program.constraints.holonomic, phi[:, :m], psi), phi[:, m:]])
        return Trajectory(
            dynamics=program.dynamics,
            t=t,
            q=x[:, :nq],
            u=x[:, nq : nq + nu],
            tau=tau,
            work_done=work_of(program, x),
            parameters=values,
            outcome=self._outcome(status),
            statistics={
                "method": self.method,
                "steps": self.now.accepted,
                "rejected": self.now.rejected,
                "evaluations": self.now.evaluations,
                "seconds": self.seconds,
            }
            | (
                {"constraint rows": m, "independent": int(machine.constrained.places[0]["rank"])}
                if machine.constrained and m
                else {}
            ),
            residuals=residuals,
            reactions=program.respond(t, x, tau, machine.p)[1] if reacting and m else None,
            constraint_names=program.held.labels,
            sampled=(self.t0, self.inputs.sampled.period) if self.inputs.sampled is not None else None,
        )

    def _tau(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The forces on the speeds at every output."""
        if self.inputs.sampled is not None:
            last = [self.machine.tau] * (len(t) - len(self.forces))
            return np.array([*self.forces, *last]).reshape(len(t), len(self.inputs.names))
        if self.inputs.continuous is None:
            return self.inputs.along(self.program, t, x, self.machine.p)
        nq = self.machine.nq
        calls = [
            self.inputs.call(self.inputs.continuous, float(s), row[:nq], row[nq : nq + len(self.inputs.names)])
            for s, row in zip(t, x, strict=True)
        ]
        return np.array(calls).reshape(len(t), len(self.inputs.names))

    def _outcome(self, status: int) -> Outcome:
        t, steps, which = self.now.t, self.now.accepted, self.now.blamed
        if self.interrupted:
            return Outcome(finished=False, reason=f"Interrupted at t = {t:.6g} s of {self.t_end:g} s.", time=t)
        found = ending(self.program, self.machine, status, t, self.x, steps, which)
        when, bad = self.inputs.not_finite or (-np.inf, "")
        if status != NOT_FINITE or when < t:
            return found
        reason = f"Stopped at t = {t:.6g} s: the control gave a force on {bad!r} that is NaN or infinite."
        return replace(found, reason=reason, culprit=bad, remedy="Look at what it does with the state at that time.")


def work_of(program: Program, x: np.ndarray) -> np.ndarray:
    """Work since the start, of all kinds, (..., 3), from states."""
    found = np.zeros((*x.shape[:-1], len(WORK)))
    found[..., [WORK.index(name) for name in program.work]] = x[..., x.shape[-1] - len(program.work) :]
    return found


@contextmanager
def _watching(progress: bool | None, t0: float, t_end: float) -> Iterator[Callable[[float], None]]:
    """Show how far a long run is, with an estimate of what is left."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda t: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("compiling the integrator, once", total=None)
    bar.start()

    def seen(t: float) -> None:
        text = f"{t:.4g} of {t_end:.4g} s"
        bar.update(task, completed=t - t0, total=t_end - t0, description=text)

    try:
        yield seen
    finally:
        bar.stop()
