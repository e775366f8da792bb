"""From an initial state to a trajectory, in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.warning import warn_caller
from polhode.model.spelling import spelled
from polhode.trajectory import Trajectory

from .angles import singular_angles
from .asked import MEANT, check_span, is_number, method_of, movable, times, whole_steps
from .bending import large_deflections
from .simulation import Simulation
from .switches import When, checked_switches, ending_of, too_late
from .unmoved import unmoved
from .warning import SimulationWarning, warn
from .watching import watching


@spelled("simulate", MEANT)
def simulate(
    dynamics: Dynamics,
    q0: Any = None,
    u0: Any = None,
    t_end: float | None = None,
    *,
    tau: Any = None,
    controls: Any = None,
    p: Any = None,
    method: str = "dop853",
    step: float | None = None,
    output: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    longest: float = np.inf,
    t0: float = 0.0,
    z0: Any = None,
    switches: Any = (),
    until: Any = None,
    reacting: bool = False,
    progress: bool | None = None,
) -> Trajectory:
    """Move a machine from a state at t0 to t_end.

    q0, u0   : the state, arrays or values by name; at rest where nothing is given.
               With a row for each of many states, use `simulate_many`
    z0       : states that are not motion, likewise; where the model starts them where nothing is given
    tau      : forces on the speeds: an array, numbers and expressions of q, u, t by name, a function
               of t, q, u, or a `Sampled` controller; actuators may be named beside speeds
    controls : of actuators alone: an array, or numbers and expressions by name
    p        : values of parameters that were not compiled in
    method   : "dop853", "dopri5", adaptive; "rodas5p", adaptive for stiff systems; "rk4",
               "midpoint", "euler" (semi-implicit), of a fixed step; "moreau", time-stepping with a fixed step
    step     : of a fixed-step method
    output   : times of the result: an array, a spacing, or "steps" for every step; 501 by default,
               of "moreau" at the nearest whole steps
    switches : what engages and releases constraints: `at` a time, `when` something happens, or several of them
    until    : a time, as t_end; or `when(...)` or its text, which ends the run before t_end, where one is given
    rtol, atol, longest : tolerances of an adaptive method, 1e-9 where nothing is said, and its longest step
    reacting : also compute the reactions of constraints at every output
    progress : show a bar; by default on a terminal

    A run that cannot go on returns what it has, and warns (SimulationWarning); `outcome` says why it
    ended. Ctrl-C too. `Simulation` moves a machine step by step.
    """
    return simulated_until(
        dynamics, t_end, until, switches, output, reacting=reacting, progress=progress, q0=q0, u0=u0, z0=z0, tau=tau,
        controls=controls, p=p, method=method, step=step, rtol=rtol, atol=atol, longest=longest, t0=t0,
    )  # fmt: skip


def simulated_until(
    dynamics: Dynamics, t_end: Any, until: Any = None, switches: Any = (), output: Any = None, **given: Any
) -> Trajectory:
    """Do as `simulate` does, with what else `simulated` takes."""
    t_end, until = last_of(t_end, until)
    if t_end == np.inf and output is None:
        output = "steps"
    found = simulated(dynamics, t_end, output, switches=switches, _until=until, **given)
    warn(found.outcome)
    for said in (*doubts(found), *filter(None, [unmoved(found), asked_once(found, t_end)])):
        warn_caller(said, SimulationWarning)
    if t_end is not None and (late := too_late(checked_switches(switches, given.get("t0", 0.0)), t_end)):
        warn_caller(late, SimulationWarning)
    return found


def doubts(traj: Trajectory) -> list[str]:
    """Say where states of a run are not to be trusted, a sentence each: singular angles, large deflections."""
    return [said for said in (singular_angles(traj), large_deflections(traj)) if said]


def asked_once(traj: Trajectory, t_end: Any) -> str:
    """Say that a sampled control had no second turn, as where its rate was given for its period."""
    if traj.sampled is None or not is_number(t_end) or traj.sampled[1] < t_end - traj.sampled[0]:
        return ""
    period = traj.sampled[1]
    return (
        f"The sampled control was asked once: its period is {period:g} s, which is no less than the run. Periods are "
        f"in seconds: {period:g} times a second is period={1 / period:g}."
    )


def last_of(t_end: Any, until: Any) -> tuple[Any, When | None]:
    """When a run ends at the latest, and what may end it before."""
    if until is None:
        return t_end, None
    if not isinstance(until, (When, str)) and is_number(until):
        if t_end is not None:
            raise ValueError(f"t_end={t_end!r:.40} and until={until!r:.40} both say when to end, expected one of them.")
        return until, None
    return np.inf if t_end is None else t_end, ending_of(until)


def simulated(
    dynamics: Dynamics,
    t_end: Any,
    output: Any = None,
    reacting: bool = False,
    progress: bool | None = None,
    *,
    make: Callable[..., Simulation] = Simulation,
    method: str = "dop853",
    **given: Any,
) -> Trajectory:
    """Do as `simulate` does, without a warning; `given` is what a Simulation takes, or what `make` does instead."""
    step, t0 = given.get("step"), given.get("t0", 0.0)
    whole = method_of(method, step, t0).rule.whole
    end = check_span(step, t0, t_end)
    grid = times(output, t0, end)
    if output is None and whole and grid is not None:
        grid = whole_steps(grid, t0, end, step)
    movable(dynamics, "simulate")
    with watching(progress, t0, end) as seen:
        driven = given.get("tau") is not None or given.get("controls") is not None
        run = make(dynamics, method=method, _driven=driven, **given)
        run._integrate(end, grid, seen)
    return run.trajectory(reacting)
