"""A machine in real time: one step for each period of the clock, and what a step costs before it begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.simulate import Sampled
from polhode.simulate.asked import is_number, movable
from polhode.trajectory.events import RELEASED

from .commands import Command
from .lateness import spelled
from .loop import POLICIES, Realtime
from .worst import worst_of

TRIALS = 100  # steps, to measure what one costs
SWITCHES = 16  # of these, what one costs is measured too


def realtime(
    dynamics: Dynamics, q0: Any = None, u0: Any = None, *, rate: float = 1000, method: str = "moreau", tau: Any = None,
    p: Any = None, overrun: str = "slow", z0: Any = None, record: bool = True, strict: bool = False,
) -> Realtime:  # fmt: skip
    """Prepare a machine that moves with the clock: one step of 1/rate for each period.

    rate    : ticks a second
    method  : of fixed step: "moreau", whose cost is bounded whatever happens, or "euler", "midpoint", "rk4"
    tau     : constant forces at first, or expressions, or ph.Sampled({...}, period) of expressions, which are computed
              in the loop every so many ticks; numbers may be set while it runs
    overrun : where a deadline is missed by a period or more: "slow" falls behind the clock, "skip" leaves out the ticks
              and stays in phase, "stop" stops
    record  : whether inputs and commands are kept for `session`
    strict  : refuse a machine of which a step could take longer than a period by the most iterations that it may do,
              instead of one that was measured to do so; see `machine.report()`

    `start()` and `stop()`, or `with ph.realtime(...) as rt:`.
    """
    movable(dynamics, "realtime")
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
    if callable(tau) or (isinstance(tau, Sampled) and callable(tau.function)):
        how = f"function, rate={1 / tau.period:g}" if isinstance(tau, Sampled) else "function"
        raise TypeError(f"realtime: tau is a function, which the loop cannot call. Give it to rt.control({how}).")
    given = {"q0": q0, "u0": u0, "z0": z0, "tau": tau, "p": p}
    kept = {key: value.copy() if hasattr(value, "copy") else value for key, value in given.items()}  # they may change
    begin = kept | {"method": method, "step": 1 / rate}
    made = Realtime(dynamics, rate, overrun, begin, record)
    made.cost, made.bound = _measured(made)
    if max(made.cost, made.bound) > 1 / rate:
        what = "a step takes" if made.cost > 1 / rate else "a step with a switch takes up to"
        raise ValueError(
            f"realtime: {what} {max(made.cost, made.bound) * 1e6:.3g} us here, and a period is {1e6 / rate:.3g} us. "
            "Lower the rate, or use a faster method."
        )
    if strict and (worst := worst_of(made)).seconds > 1 / rate:
        raise ValueError(
            f"realtime: a step may take {worst}, and a period is {spelled(1 / rate)}. Lower the rate, have fewer rows, "
            "or leave out strict=True to go by what is measured."
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
