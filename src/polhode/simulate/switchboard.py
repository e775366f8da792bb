"""Constraints that are engaged and released while a machine runs: commands, switches, and the mode they lead to."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from polhode.equations.program import Program
from polhode.kernels.machine import OK, Machine
from polhode.kernels.mode import CLOSED, COMMAND, GUARD, HELD, OPENED, SLIDES, SLIPPED, START, STUCK
from polhode.kernels.switch import JAMMED, REFUSED, adopt, react_along, resolve
from polhode.kinematics.candidates import EQUAL, TANGENT, UNILATERAL
from polhode.model import Stop
from polhode.model.errors import closest
from polhode.trajectory.events import OPEN, RELEASED, Event, places_at

from .switches import At, When

BEYOND = 1e-6  # of the size that a row is measured by: what is further beyond a bound is refused
_WORDS = {CLOSED: "closes", OPENED: "opens", SLIPPED: "slips", STUCK: "sticks", COMMAND: "command", START: "start"}


class Switchboard:
    """What may be switched in a run, and what was.

    names  : constraints that can be engaged and released
    events : so far
    """

    def __init__(
        self, program: Program, machine: Machine, runs: np.ndarray, x: np.ndarray, switches: Sequence[At | When]
    ) -> None:
        assert machine.switching is not None
        self.program, self.machine, self.x = program, machine, x
        self.names, self.rows = program.groups, machine.switching
        self._resolve = resolve.bind(machine, runs, x)
        self.events: list[Event] = []
        self.commands: deque[tuple[tuple[str, ...], tuple[str, ...]]] = deque()
        self.times = sorted((s for s in switches if isinstance(s, At)), key=lambda s: s.time)
        self.guards = [s for s in switches if isinstance(s, When)]
        for switch in switches:
            self.check((*switch.engage, *switch.release))
        groups = self.rows.view("group")
        self._of = [np.flatnonzero(groups == g) for g in range(len(self.names))]
        model = program.equations.model
        self._stops = {c.name: c for c in model.candidates if isinstance(c, Stop)}

    def check(self, names: Iterable[str]) -> None:
        """Refuse names of constraints that cannot be switched."""
        for name in names:
            if name in self.names:
                continue
            if name in self.program.equations.kinematics.embedded:
                raise KeyError(
                    f"Constraint {name!r} is embedded in the equations, so it cannot be released. Formulate without "
                    "it: embed=[...] names those that stay."
                )
            raise KeyError(f"There is no constraint {name!r} to engage or release. {closest(name, self.names)}")

    # when

    def next_time(self) -> float:
        """The next time at which a switch is due."""
        return self.times[0].time if self.times else np.inf

    def due(self, t: float) -> list[At]:
        """The switches that are due at a time, which are then done."""
        found = []
        while self.times and self.times[0].time <= t:
            found.append(self.times.pop(0))
        return found

    # what happens

    def start(self, t: float) -> None:
        """Find the mode of the initial state."""
        self.rows.view("wanted")[:] = self.rows.view("engaged")
        self._happen(t, START, "start", first=True)

    def take_over(self, before: Switchboard, captured: np.ndarray) -> None:
        """Go on from another switchboard of the same machine, with the values that were captured there.

        Rows and constraints that it did not have are off, and as declared.
        """
        self.events, self.commands = before.events, before.commands
        self.times = [switch for switch in self.times if switch in before.times or switch.time > before.now]
        for name in before.names:
            engaged = before.rows.view("engaged")[before.names.index(name)]
            self.rows.view("engaged")[self.names.index(name)] = engaged
        new = {label: i for i, label in enumerate(self.program.constraints.labels)}
        place = [new[label] for label in before.program.constraints.labels]
        for part in ("mode", "slip", "warm"):
            self.rows.view(part)[place] = before.rows.view(part)
        symbols = {s: k for k, (_, s, _) in enumerate(self.program.candidates.captured)}
        first = len(self.machine.p) - len(symbols)
        for (_, s, _), value in zip(before.program.candidates.captured, captured, strict=True):
            self.machine.p[first + symbols[s]] = value
        signs = min(len(self.guards), len(before.guards))
        self.rows.view("sign")[:signs] = before.rows.view("sign")[:signs]
        adopt(self.machine)

    @property
    def now(self) -> float:
        """The time of the last event."""
        return self.events[-1].time if self.events else -np.inf

    def close(self, row: int) -> None:
        """Have the gap of a row close, which the loop saw otherwise."""
        self.rows.places[0]["cause"], self.rows.places[0]["event"] = CLOSED, row

    def command(self, t: float, engage: Iterable[str], release: Iterable[str], why: str) -> None:
        """Engage and release constraints now, as one event."""
        self.check((*engage, *release))
        self._want(engage, release)
        self._happen(t, COMMAND, why)

    def switch(self, t: float, switches: Sequence[At]) -> None:
        """Do what switches that are due at one time say, as one event; of what they say of one constraint, the last."""
        for switch in switches:
            self._want(switch.engage, switch.release)
        self._happen(t, COMMAND, ", ".join(dict.fromkeys(map(str, switches))))

    def _want(self, engage: Iterable[str], release: Iterable[str]) -> None:
        wanted = self.rows.view("wanted")
        for names, value in ((engage, 1), (release, -1)):
            for name in names:
                wanted[self.names.index(name)] = value

    def event(self, t: float) -> bool:
        """Go through the event that the loop found; True where the run is to end there."""
        places = self.rows.places[0]
        cause, which = int(places["cause"]), int(places["event"])
        if cause != GUARD:
            self._happen(t, cause, _WORDS[cause], struck=self.program.constraints.names[which])
            return False
        switch = self.guards[which - int(places["rows"])]
        self._want(switch.engage, switch.release)
        self._happen(t, GUARD, str(switch))
        return not (switch.engage or switch.release)

    def _happen(self, t: float, cause: int, why: str, struck: str | None = None, first: bool = False) -> None:
        """Resolve what is wanted at a state, and write it down."""
        board, places = self.rows, self.rows.places[0]
        before = {} if first else self.mode()
        places["cause"] = cause
        kept = [board.view(name).copy() for name in ("engaged", "mode", "slip")], self.machine.p.copy()
        self._refuse_beyond(t, first)
        status = self._resolve()
        if status != OK:
            board.view("wanted")[:] = 0
            board.view("engaged")[:], self.machine.p[:] = kept[0][0], kept[1]
            why = self._why_not(status, t)
            self._set(*kept[0][1:])
            raise SwitchError(why, status)
        mode = self.mode()
        labels, impulse = self.program.constraints.labels, board.view("impulse")
        most = np.abs(impulse).max(initial=0.0)
        impulses = {labels[i]: float(impulse[i]) for i in np.flatnonzero(np.abs(impulse) > 1e-14 * most)}
        owners = {self.program.constraints.names[labels.index(label)] for label in impulses}
        changed = [name for name in self.names if mode[name] != before.get(name) or name in owners or name == struck]
        if first:
            changed = [name for name in changed if mode[name] not in (OPEN, RELEASED)]
        rest = float(board.view("rest")[0])
        self.events.append(
            Event(
                time=float(t),
                what=tuple(changed),
                why=why,
                mode=mode,
                impulses=impulses,
                lost=float(board.view("lost")[0]),
                rest=rest if rest > t else None,
                rows=(board.view("mode").copy(), board.view("slip").copy()),
                note="several modes are consistent, this one has the most that hold" if places["several"] else "",
            )
        )

    def _refuse_beyond(self, t: float, first: bool) -> None:
        """Refuse to engage what cannot be penetrated where it is."""
        wanted, group, kind = (self.rows.view(name) for name in ("wanted", "group", "kind"))
        asked = [] if first else np.flatnonzero((kind == UNILATERAL) & (wanted[group] > 0))
        if not len(asked):
            return
        phi, _, reach, _ = self.program.measured(float(t), self.x, self.machine.p)
        bad = [i for i in asked if phi[i] < -BEYOND * reach[i]]
        if bad:
            wanted[:] = 0
            name = self.program.constraints.names[bad[0]]
            raise SwitchError(
                f"Constraint {name!r} cannot be engaged at t = {t:.6g} s: the position is {-phi[bad[0]]:.3g} beyond "
                "it, expected 0 or less. Engage it where it is open.",
                REFUSED,
            )

    def _why_not(self, status: int, t: float) -> str:
        if status == REFUSED:
            row = int(self.rows.places[0]["event"])
            assert self.machine.constrained is not None
            off = float(self.machine.constrained.view("phi")[row])
            label, name = self.program.constraints.labels[row], self.program.constraints.names[row]
            return (
                f"Constraint {name!r} cannot be engaged at t = {t:.6g} s: {label!r} is {off:.3g} off, expected 0. "
                "Engage it where it is closed, or declare a latch, which ties markers as they are."
            )
        if status == JAMMED:
            return (
                f"At t = {t:.6g} s no mode of contacts, stops and friction is consistent, and no impulse makes one: "
                "the machine jams. Smaller coefficients of friction may have one."
            )
        return f"The mode at t = {t:.6g} s cannot be found: the inertia matrix is singular, or constraints contradict."

    # what holds

    def mode(self) -> dict[str, str]:
        """What every constraint does now, in a word."""
        modes, engaged, kind = self.rows.view("mode"), self.rows.view("engaged"), self.rows.view("kind")
        return {
            name: self._word(name, kind[rows], modes[rows], bool(engaged[g]))
            for g, (name, rows) in enumerate(zip(self.names, self._of, strict=True))
        }

    def _word(self, name: str, kind: np.ndarray, mode: np.ndarray, engaged: bool) -> str:
        if not engaged:
            return RELEASED
        if kind[0] == EQUAL:
            return "engaged"
        if kind[0] == TANGENT:
            return "slips" if mode[0] == SLIDES else "holds"
        if not (mode == HELD).any():
            return OPEN
        if name in self._stops and len(mode) == 2:
            return ("lower", "upper")[int(mode[1] == HELD)]
        if len(mode) > 1 and kind[1] == TANGENT:
            return "slides" if mode[1] == SLIDES or mode[-1] == SLIDES else "sticks"
        return "closed"

    def reactions(self, t: np.ndarray, x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The reactions of all rows at states of the run, (k, m), each in the mode that lasted there."""
        now = self.rows.view("mode").copy(), self.rows.view("slip").copy(), self.machine.tau.copy()
        found = np.zeros((len(t), len(self.program.constraints)))
        place = places_at(self.events, t)
        for k in np.unique(place):
            here = np.flatnonzero(place == k)
            rows = self.events[k].rows
            assert rows is not None
            self._set(*rows)
            lam = np.zeros((len(here), found.shape[1]))
            react_along(self.machine, t[here].copy(), x[here].copy(), np.ascontiguousarray(tau[here]), lam)
            found[here] = lam
        self._set(*now[:2])
        self.machine.tau[:] = now[2]
        return found

    def _set(self, mode: np.ndarray, slip: np.ndarray) -> None:
        """Have rows in another mode hold."""
        self.rows.view("mode")[:], self.rows.view("slip")[:] = mode, slip
        adopt(self.machine)

    def active(self) -> tuple[str, ...]:
        """The constraints that hold or slide now."""
        return tuple(name for name, word in self.mode().items() if word not in (OPEN, RELEASED))

    def leave_out(self, name: str) -> None:
        """Let a constraint do nothing from the start."""
        self.rows.view("engaged")[self.names.index(name)] = 0

    def pressed(self) -> list[tuple[str, float]]:
        """Unilateral rows that are violated at the state, with how far they are."""
        kind, engaged, group = (self.rows.view(name) for name in ("kind", "engaged", "group"))
        program, machine = self.program, self.machine
        t = float(machine.time[0])
        phi, _, reach, _ = program.measured(t, self.x, machine.p)
        bad = [i for i in np.flatnonzero(kind == UNILATERAL) if engaged[group[i]] and phi[i] < -BEYOND * reach[i]]
        return [(program.constraints.names[i], float(phi[i])) for i in bad]


class SwitchError(RuntimeError):
    """A switch that cannot be: nothing was changed."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status
