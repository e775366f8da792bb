"""The one integration loop, and the methods that attempt its steps.

    advance(method, m, run, x, grid, rows, room) -> status

is a kernel that can be called again and again, and goes on where it stopped. A method only
attempts a step and offers the polynomial between its ends; the loop chooses sizes, writes
output and takes the new state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import across, after, events, explicit, loads, moreau, near, search, stiff, turns, within
from .hold import start
from .kernel import helper, inlined, kernel
from .machine import OK, TORN
from .record import begin, is_due, record
from .settle import is_pulled_far
from .sizing import Rule, cause, conclude, judge, place, propose, ready
from .stepping import DONE, EVENT, FULL, MORE, Array, Room, straight, weigh
from .tableaus import (
    DOP853,
    DOPRI5,
    EULER,
    GAUSS,
    MIDPOINT,
    NO_EXPLICIT,
    NO_GAUSS,
    NO_ROSENBROCK,
    RK4,
    RODAS5P,
    Explicit,
    Gauss,
    Rosenbrock,
)


class Method(NamedTuple):
    """How steps are sized, and the coefficients of one kind of method or the other: one type, so one kernel for all.

    gauss : for steps across dead points, where a method takes such
    """

    rule: Rule
    tableau: Explicit = NO_EXPLICIT
    rosenbrock: Rosenbrock = NO_ROSENBROCK
    gauss: Gauss = NO_GAUSS


def _fixed(tableau: Explicit) -> Method:
    last = len(tableau.c) - 1
    return Method(Rule(fixed=1, implicit=0, last=last, chained=0, stages=last + 1, degree=3), tableau)


METHODS = {
    "dop853": Method(
        Rule(0, 0, last=12, chained=1, stages=16, degree=7, errors=2, power=8.0, memory=0.02, least=0.333, most=6.0),
        DOP853,
        gauss=GAUSS,
    ),
    "dopri5": Method(
        Rule(0, 0, last=6, chained=1, stages=7, degree=4, errors=1, power=5.0, memory=0.04, least=0.2, most=10.0),
        DOPRI5,
        gauss=GAUSS,
    ),
    "rodas5p": Method(
        Rule(0, 1, last=0, chained=0, stages=9, degree=4, errors=1, power=5.0, memory=0.02, least=0.2, most=6.0),
        rosenbrock=RODAS5P,
    ),
    "euler": _fixed(EULER),
    "midpoint": _fixed(MIDPOINT),
    "rk4": _fixed(RK4),
    "moreau": Method(Rule(fixed=1, implicit=0, last=0, chained=0, stages=4, degree=3, whole=1)),
}


def room_of(method: Method, n: int, slopes: tuple[int, int] = (0, 0)) -> Room:
    """Room for a method to move a state of n entries, and for as many derivatives as native code writes."""
    rule, square, points = method.rule, n if method.rule.implicit else 0, len(method.gauss.c)
    return Room(
        stages=np.zeros((rule.stages, n)),
        y=np.zeros(n),
        errors=np.zeros((2, n)),
        polynomial=np.zeros((rule.degree, n)),
        points=np.zeros((points, n)),
        wide=np.zeros((points, n)),
        J=np.zeros((square, square)),
        F=np.zeros((square, square)),
        drift=np.zeros(square),
        slopes=np.zeros(slopes if square else (0, 0)),
        pivots=np.zeros(square, dtype=np.int64),
    )


@kernel
def advance(method: Method, m: Any, runs: Array, x: Array, grid: Array, rows: Array, room: Room) -> int:
    """Take steps until run.stop, or until the budget or the record of steps is used up.

    m    : the Machine
    runs : (1,), the Run
    x    : the state at run.t, after the last step
    grid : output times, ascending; rows[i] is the state at grid[i]. Both are written where every step is recorded
    """
    run, rule = runs[0], method.rule
    begin(run, grid, rows, x)
    place(rule, run)
    last = run.accepted + run.budget
    while run.t < run.stop:
        if run.accepted >= last:
            return MORE
        if run.every and run.row >= grid.size:
            return FULL

        # what a step starts from
        fresh = run.rated == 0
        status = ready(rule, m, run, x, room)
        if status == OK and rule.implicit:
            status = stiff.linearize(m, run, x, room)
        if status != OK:
            return int(status)

        watch_from(m, m.constrained, m.switching, run, x, room)
        if run.event:
            return EVENT  # in the jump of the last one

        # attempts, until the error is small enough; a dead point ahead is crossed at once, where that can be
        places = len(method.gauss.c)
        start(m.constrained, False)
        error = across.attempt(method.gauss, rule.last, m, m.constrained, run, x, room)
        if error < 0.0:
            near.ready(places, m, m.constrained, m.switching, run, fresh, x, room)
        while error < 0.0:
            start(m.constrained, True)
            propose(rule, run)
            if run.h == 0.0:
                return cause(m.counted, run, x, room)
            status = _attempt(method, m, m.switching, run, x, room)
            if rule.fixed:
                if status != OK:
                    return int(status)
                error = 0.0
            else:
                if status == OK and not run.near:
                    far = is_pulled_far(m.constrained, room.y, run.rtol, run.atol)
                    if far or near.ends_close(places, m, m.constrained, m.switching):
                        status = TORN
                strain = _strain(method, m, run) if status == OK else 0.0
                error = judge(rule, m.counted, status, strain, run, x, room)

        # the step is good, up to the first event in it
        if status == OK:
            status = _watch(method, m, m.constrained, m.switching, run, x, room)
            if status == EVENT:
                return EVENT  # where the step starts
            if status != OK:
                return int(status)

        # what happens between its ends is read off its polynomial
        if is_due(run, grid):
            status = _dense(method, m, m.switching, run, x, room)
        if status == OK:
            status = record(m, run, grid, rows, x, room)
        if status != OK:
            return int(status)
        conclude(rule, error, run, x, room)
        if run.event:
            return EVENT
        if run.halt:
            run.halt = 0
            return MORE
    return DONE


@kernel
def advance_whole(method: Method, m: Any, runs: Array, x: Array, grid: Array, rows: Array, room: Room) -> int:
    """Do as `advance` does, by steps of `moreau`, which take all that happens in them at once."""
    run, rule = runs[0], method.rule
    begin(run, grid, rows, x)
    place(rule, run)
    last = run.accepted + run.budget
    while run.t < run.stop:
        if run.accepted >= last:
            return MORE
        if run.every and run.row >= grid.size:
            return FULL
        propose(rule, run)
        if run.h == 0.0:
            return cause(m.counted, run, x, room)
        run.event = 0
        status = moreau.attempt(m, m.constrained, m.switching, run, x, room)
        if status == OK:
            _crossed(m, m.switching, run, x, room)
            straight(x, room.y, room.polynomial)
            status = record(m, run, grid, rows, x, room)
        if status != OK:
            return int(status)
        conclude(rule, 0.0, run, x, room)
        if run.event:
            return EVENT
        if run.halt:
            run.halt = 0
            return MORE
    return DONE


@inlined
def _crossed(m: Any, w: Any, run: Any, x: Array, room: Room) -> None:
    if w is not None:
        after.look(m, w, run, x, room)


@inlined
def watch_from(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> None:
    """Know what must stay above 0 where a step starts."""
    run.event = 0
    if w is not None:
        events.ready(m, h, w, run, x, room.stages[0])


@inlined
def _watch(method: Method, m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> int:
    """Look for events in a step that is good, and take it anew up to the first; OK, or what went wrong.

    EVENT where it happens at once, so that no step is taken.
    """
    run.event = 0
    if w is None:
        return OK
    last, found = method.rule.last, search.SHORTER
    while found == search.SHORTER:
        status = events.look(m, h, w, run, x, room, last)
        early = _followed(method, h, w, run) if status == OK else 1.0
        if status == OK and early == 1.0 and run.event == events.UNSURE:
            status = _look_into(method, m, h, w, run, x, room)
        if status == OK and early == 1.0 and not run.event:
            early = _broken(method, h, w, run)
            if early == 1.0:
                events.turn(h, w)
                return OK
        if status == OK and early < 1.0:
            run.h *= early
            run.end = run.t + run.h
            status = _shorter(method, m, h, run, x, room)
            if status == OK:
                continue
        if status != OK:
            return int(status)
        status = shared_dense(method, m, run, x, room)
        if status != OK:
            return int(status)
        found = search.locate(m, h, w, run, x, room)
        if found == search.FOUND:
            for _ in range(5):
                if run.h <= 4e-15 * abs(run.t) or run.h <= 0.0:
                    return EVENT
                status = _again(method, m, h, run, x, room)
                if status != OK or search.is_there(m, h, w, run, room, last):
                    break
            if status != OK or _is_end(method, m, h, w, run, x, room):
                return int(status)
            search.go_back(w)
            found, run.end = search.SHORTER, run.t + run.h
        if found == search.SHORTER:
            status = _shorter(method, m, h, run, x, room)
            if status != OK:
                return int(status)
            events.ready(m, h, w, run, x, room.stages[0])
    return OK


@inlined
def _is_good(method: Method, m: Any, run: Any, x: Array, room: Room) -> bool:
    """Whether the error of a step that was taken anew is small; else run.step is what to try.

    A longer one may have passed over what has an error here, with stages beyond the event only: a slide that turns in
    space goes on as it was where its speed along its direction passed 0.
    """
    if method.rule.fixed:
        return True
    return bool(judge(method.rule, m.counted, OK, _strain(method, m, run), run, x, room) >= 0.0)


@inlined
def _is_end(method: Method, m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> bool:
    """Whether a step that was taken anew, up to an event, may end there; else run.h is what to try."""
    if method.rule.fixed:
        return bool(turns.rests(h, w, run))
    if _is_good(method, m, run, x, room):
        return True
    run.h = run.step
    return False


@inlined
def _followed(method: Method, h: Any, w: Any, run: Any) -> float:
    """The part of a step of one size in which it follows how slides turn."""
    return float(turns.followed(h, w, run)) if method.rule.fixed else 1.0


@inlined
def _shorter(method: Method, m: Any, h: Any, run: Any, x: Array, room: Room) -> int:
    """Take the step anew, and shorter where its error is large; OK, or what went wrong."""
    status = _again(method, m, h, run, x, room)
    while status == OK and not _is_good(method, m, run, x, room):
        propose(method.rule, run)
        if run.h == 0.0:
            return cause(m.counted, run, x, room)
        status = _again(method, m, h, run, x, room)
    return int(status)


@inlined
def _strain(method: Method, m: Any, run: Any) -> float:
    """The error of loads."""
    if method.rule.implicit:
        return float(loads.error(m.constrained, m.switching, method.rosenbrock.E, run))
    return float(loads.error(m.constrained, m.switching, method.tableau.E[0], run))


@inlined
def _broken(method: Method, h: Any, w: Any, run: Any) -> float:
    """When in a step a load is first seen to pass its bound, of the step; 1 where none is, or the step is short."""
    rule = method.rule
    if rule.fixed or run.h <= 1e4 * events.AT_ONCE * max(1.0, abs(run.t)):
        return 1.0
    if rule.implicit:
        return float(loads.broken(h, w, method.rosenbrock.c, run))
    return float(loads.broken(h, w, method.tableau.c[: rule.last], run))


@inlined
def _again(method: Method, m: Any, h: Any, run: Any, x: Array, room: Room) -> int:
    """Take the step anew, which has another end."""
    start(h, True)
    run.across = 0
    return int(shared_attempt(method, m, run, x, room))


@inlined
def _look_into(method: Method, m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> int:
    """Ask whether the ends of a step tell what is in it; where a polynomial takes evaluations, a cubic is asked."""
    rule, status = method.rule, OK
    run.sketched = int(not (run.across or run.near or rule.implicit or rule.stages <= rule.last + 1))
    if run.sketched:
        told = within.sketch(method.tableau.c, rule.last, run.h, x, room)
    else:
        status = shared_dense(method, m, run, x, room)
        told = status == OK
    if told:
        search.is_told(m, h, w, run, x, room)
    run.sketched = 0
    return int(status)


@inlined
def _attempt(method: Method, m: Any, w: Any, run: Any, x: Array, room: Room) -> int:
    """The same code as where steps are taken anew, where they are; else a part of the loop."""
    if w is None:
        return int(attempt(method, m, run, x, room))
    return int(shared_attempt(method, m, run, x, room))


@helper
def shared_attempt(method: Method, m: Any, run: Any, x: Array, room: Room) -> int:
    return int(attempt(method, m, run, x, room))


@inlined
def _dense(method: Method, m: Any, w: Any, run: Any, x: Array, room: Room) -> int:
    if w is None:
        return int(dense(method, m, run, x, room))
    return int(shared_dense(method, m, run, x, room))


@helper
def shared_dense(method: Method, m: Any, run: Any, x: Array, room: Room) -> int:
    return int(dense(method, m, run, x, room))


@inlined
def attempt(method: Method, m: Any, run: Any, x: Array, room: Room) -> int:
    """Try the step that `propose` chose; OK where room.y is a state that can be taken."""
    if run.near:
        return _nearly(method, m, m.constrained, run, x, room)
    if method.rule.implicit:
        return int(stiff.attempt(method.rosenbrock, m, run, x, room))
    return int(explicit.attempt(method.tableau, method.rule, m, run, x, room))


@inlined
def dense(method: Method, m: Any, run: Any, x: Array, room: Room) -> int:
    """Write the polynomial of the step that was attempted last to room.polynomial, or to room.wide."""
    if run.across:
        weigh(method.gauss.D, 1, run.h, room.points, room.wide)
        return OK
    if run.near:
        return _nearly_dense(method, m, m.constrained, run, x, room)
    if method.rule.implicit:
        stiff.dense(method.rosenbrock, x, room)
        return OK
    return int(explicit.dense(method.tableau, method.rule, m, run, x, room))


@inlined
def _nearly(method: Method, m: Any, h: Any, run: Any, x: Array, room: Room) -> int:
    return OK if h is None else int(near.attempt(method.tableau, method.rule, m, h, run, x, room))


@inlined
def _nearly_dense(method: Method, m: Any, h: Any, run: Any, x: Array, room: Room) -> int:
    return OK if h is None else int(near.dense(method.tableau, method.rule, m, h, run, x, room))
