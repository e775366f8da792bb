"""Constraints that are engaged and released while a machine runs: commands, switches, and the mode they lead to."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.equations.program import Program
from polhode.graph import Expr, evaluate, symbol
from polhode.kernels.after import impose
from polhode.kernels.choice import JAMMED
from polhode.kernels.events import AT_ONCE, coincide
from polhode.kernels.machine import FACTORS, OK, SINGULAR, Machine
from polhode.kernels.mode import (
    CLOSED,
    COMMAND,
    GUARD,
    HELD,
    OFF,
    OPENED,
    SLIDES,
    SLIPPED,
    START,
    STEPPED,
    STUCK,
    Switching,
)
from polhode.kernels.switch import REFUSED, adopt, resolve
from polhode.kinematics.candidates import EQUAL, TANGENT, UNILATERAL
from polhode.model import Latch, Rope, Stop
from polhode.model.errors import listed
from polhode.trajectory.events import OPEN, RELEASED, Event
from polhode.trajectory.pictures import coordinate_units

from .switches import At, When, guards_of

GUARDED = ("sign", "guard", "guard_rate")  # what is known of each guard: its sign before, its value and rate now
BEYOND = 1e-6  # of the size that a row is measured by: what is further beyond a bound is refused
IDLE = 1e-9  # of the sizes that the coefficients of a row could have: what is less is rounding
_WORDS = {CLOSED: "closes", OPENED: "opens", SLIPPED: "slips", STUCK: "sticks", COMMAND: "command", START: "start"}


class Rows:
    """The parts of a mode by name, each found once."""

    def __init__(self, rows: Switching) -> None:
        self.rows, self.whole, self.places = rows, rows.whole, rows.places
        self._found: dict[str, np.ndarray] = {}

    def view(self, name: str) -> np.ndarray:
        """A part by its name."""
        if name not in self._found:
            self._found[name] = self.rows.view(name)
        return self._found[name]


class Switchboard:
    """What may be switched in a run, and what was.

    names  : constraints that can be engaged and released
    events : so far
    whole  : whether steps are whole, with impulses of their own: then what happens in one is noted where it ends
    """

    def __init__(
        self, program: Program, machine: Machine, runs: np.ndarray, x: np.ndarray, switches: Sequence[At | When],
        whole: bool = False,
    ) -> None:  # fmt: skip
        assert machine.switching is not None
        self.program, self.machine, self.x = program, machine, x
        self.names, self.rows = program.groups, Rows(machine.switching)
        self._solves = bool(machine.code[FACTORS]) or not len(program.constraints)  # links without mass have no factors
        self._resolve = (impose if whole else resolve).bind(machine, runs, x)
        self._coincide = None if whole else coincide.bind(machine, runs, x)
        self.whole = whole
        self.events: list[Event] = []
        self.times = sorted((s for s in switches if isinstance(s, At)), key=lambda s: s.time)
        self.guards = guards_of(switches, program.equations)
        groups = self.rows.view("group")
        self._of = [np.flatnonzero(groups == g) for g in range(len(self.names))]
        kind = self.rows.view("kind")
        self._bouncing = {n for n, rows in zip(self.names, self._of, strict=True) if kind[rows[0]] == UNILATERAL}
        model = program.equations.model
        self._latches = {c.name for c in model.candidates if isinstance(c, Latch)}
        self._stops = {c.name: c for c in model.candidates if isinstance(c, Stop)}

    # when

    def next_time(self) -> float:
        """The next time at which a switch is due."""
        return self.times[0].time if self.times else np.inf

    def due(self, t: float) -> list[At]:
        """The switches that are due at a time, which are then done."""
        found = []
        while self.times and self.times[0].time <= t + AT_ONCE * max(1.0, abs(t)):
            found.append(self.times.pop(0))
        return found

    # what happens

    def start(self, t: float, since: float | None = None) -> None:
        """Find the mode of a state, which was that of the initial one and lasts since then."""
        self.rows.view("wanted")[:] = self.rows.view("engaged")
        self._happen(t, START, "start", first=True)
        if since is not None and since < t:
            self.events[-1] = replace(self.events[-1], time=float(since), states=None)

    def take_over(self, before: Switchboard, captured: np.ndarray) -> None:
        """Go on from another switchboard of the same machine, with the values that were captured there.

        Rows and constraints that it did not have are off, and as declared.
        """
        self.events = before.events
        self.times = [switch for switch in self.times if switch in before.times or switch.time > before.now]
        for name in before.names:
            engaged = before.rows.view("engaged")[before.names.index(name)]
            self.rows.view("engaged")[self.names.index(name)] = engaged
        new = {label: i for i, label in enumerate(self.program.constraints.labels)}
        place = [new[label] for label in before.program.constraints.labels]
        for part in ("mode", "slip", "warm"):
            self.rows.view(part)[place] = before.rows.view(part)
        symbols = {s: k for k, (_, s, _) in enumerate(self.program.candidates.captured)}
        known = [symbols[s] for _, s, _ in before.program.candidates.captured]
        first = int(self.rows.places[0]["captured_at"])
        self.machine.p[[first + k for k in known]] = captured
        sizes = (len(new), place), (len(new), place), (len(symbols), known)
        if len(place) < len(new):
            self.events[:] = [replace(event, rows=_widened(event.rows, sizes)) for event in self.events]
        self.rows.places[0]["unsolved"] = before.rows.places[0]["unsolved"]
        signs = min(len(self.guards), len(before.guards))
        self.rows.view("sign")[:signs] = before.rows.view("sign")[:signs]
        self.passing[:signs] = before.passing[:signs]
        adopt(self.machine)

    @property
    def now(self) -> float:
        """The time of the last event."""
        return self.events[-1].time if self.events else -np.inf

    @property
    def passing(self) -> np.ndarray:
        """Which guards pass 0 at the last event, not 0 for those that do."""
        return self.rows.view("crossed")[int(self.rows.places[0]["rows"]) :]

    def meet(self, rows: Iterable[tuple[int, int]], guards: Iterable[int] = ()) -> None:
        """Have happen at once what the loop of another machine met: rows, each with its cause, and guards."""
        crossed = self.rows.view("crossed")
        crossed[:] = 0
        for row, cause in rows:
            crossed[row] = cause
        self.passing[list(guards)] = GUARD

    def let_go(self) -> None:
        """Have only what stays equal hold, before a mode is found anew."""
        self.rows.view("mode")[self.rows.view("kind") != EQUAL] = OFF
        adopt(self.machine)

    def command(self, t: float, engage: Iterable[str], release: Iterable[str], why: str) -> bool:
        """Engage and release constraints now, as one event; True where the run is to end there."""
        self.meet(())
        return self._at_once(t, [(engage, release, why)])

    def switch(self, t: float, switches: Sequence[At]) -> bool:
        """Do what switches that are due at one time say, as one event; of what they say of one constraint, the last."""
        self.meet(())
        return self._at_once(t, [(switch.engage, switch.release, str(switch)) for switch in switches])

    def _want(self, engage: Iterable[str], release: Iterable[str]) -> None:
        wanted = self.rows.view("wanted")
        for names, value in ((engage, 1), (release, -1)):
            for name in names:
                wanted[self.names.index(name)] = value

    def is_noted(self) -> bool:
        """Whether the event that the loop found is only to be noted: the state is as it should be."""
        return bool(self.rows.places[0]["cause"] == STEPPED)

    def event(self, t: float, due: Sequence[At] = ()) -> bool:
        """Go through the event that the loop found, with switches that are due; True where the run is to end there."""
        if self.is_noted():
            self._note(t)
            return False
        return self._at_once(t, [(switch.engage, switch.release, str(switch)) for switch in due])

    def _at_once(self, t: float, said: Sequence[tuple[Iterable[str], Iterable[str], str]]) -> bool:
        """Have all happen that does so at one time, as one event: laws of rows, guards, then what is said.

        said : what to engage, what to release, and why
        """
        if self._coincide is not None:
            self._coincide()
        elif self._changed():
            self._note(t)
        self.passing[len(self.guards) :] = 0  # gaps that are not wired, which are seen again in the next step
        rows, passing = self.rows.view("crossed")[: len(self.rows.view("kind"))], self._passing
        guards = list(dict.fromkeys(self.guards[k].switch for k in sorted(passing) if self._comes_true(k, passing)))
        if self.whole and not guards and not said:
            self.rows.view("sign")[sorted(passing)] *= -1
            return False
        for engage, release, _ in (*((s.engage, s.release, "") for s in guards), *said):
            self._want(engage, release)
        words = [_WORDS[cause] for cause in sorted({*rows.tolist()} - {0})]
        why = ", ".join(dict.fromkeys([*words, *map(str, guards), *(text for _, _, text in said)]))
        struck = {self.program.constraints.names[i] for i in np.flatnonzero(rows)}
        self._happen(t, GUARD if guards else COMMAND, why, struck)
        return any(not (switch.engage or switch.release) for switch in guards)

    @property
    def _passing(self) -> set[int]:
        """The places of guards that pass 0."""
        return set(np.flatnonzero(self.passing[: len(self.guards)]).tolist())

    def passes_over(self) -> bool:
        """Whether comparisons became true, but none of the conditions that they are part of; then they are noted."""
        passing = self._passing
        if self.whole or not passing or self.rows.view("crossed")[: len(self.rows.view("kind"))].any():
            return False
        if any(self._comes_true(k, passing) for k in passing):
            return False
        self.rows.view("sign")[sorted(passing)] *= -1
        self.rows.places[0]["fresh"] = 1
        return True

    def _comes_true(self, which: int, crossed: set[int]) -> bool:
        """Whether what the switch of a guard waits for happens as guards are crossed; other comparisons stay.

        Of those that are 0 now, it counts where they go, and what they were where they stay.
        """
        switch, first = self.guards[which].switch, self.guards[which].first
        own = [k for k, guard in enumerate(self.guards) if guard.first == first]
        if len(own) == 1:
            return True
        sign, value, rate = (self.rows.view(name) for name in GUARDED)
        ahead = value + AT_ONCE * max(1.0, abs(float(self.machine.time[0]))) * rate
        before = [bool(sign[k] + np.sign(ahead[k]) > 0 and ahead[k] >= 0) and k not in crossed for k in own]
        after = [k in crossed or true for k, true in zip(own, before, strict=True)]
        return switch.holds(after) and not switch.holds(before)

    def _note(self, t: float) -> None:
        """Write down what changed in a step, or was struck, at its end."""
        before, mode, impulses = self.events[-1].mode, self.mode(), self._impulses()
        changed = self._changed()
        news = [(before.get(name, OPEN), mode[name]) for name in changed]
        why = next((_became(*each) for each in news if each[0] != each[1]), "closes")
        self._write(t, changed, why, mode, impulses)

    def _changed(self) -> list[str]:
        """What changed since the last event, or was struck, in a step."""
        before, mode = self.events[-1].mode, self.mode()
        pushed = (self.rows.view("kind") == UNILATERAL) & (self.rows.view("impulse") > 0)
        struck = {self.program.constraints.names[i] for i in np.flatnonzero(pushed)}
        return [
            n for n in self.names if mode[n] != before.get(n, OPEN) or (n in struck and before.get(n, OPEN) == OPEN)
        ]

    def _impulses(self) -> dict[str, float]:
        labels, impulse = self.program.constraints.labels, self.rows.view("impulse")
        most = np.abs(impulse).max(initial=0.0)
        return {labels[i]: float(impulse[i]) for i in np.flatnonzero(np.abs(impulse) > 1e-14 * most)}

    def _happen(self, t: float, cause: int, why: str, struck: Collection[str] = (), first: bool = False) -> None:
        """Resolve what is wanted at a state, and write it down."""
        board, places = self.rows, self.rows.places[0]
        before = {} if first else self.events[-1].mode if self.whole else self.mode()
        state = self.x.copy()
        kept = [array.copy() for array in self._changing]
        wished = [self.names[g] for g in np.flatnonzero(board.view("wanted") > 0)]
        places["cause"] = cause
        self._refuse_beyond(t, first)
        status = self._resolve() if self._solves else SINGULAR
        vague = self._vague(t) if status == OK else ""
        if status != OK or vague:
            reason = vague or self.why_not(status, t, wished, *self._open_row())
            for array, before_it in zip(self._changing, kept, strict=True):
                array[...] = before_it
            board.view("wanted")[:] = 0
            adopt(self.machine)
            raise SwitchError(reason, status)
        mode, impulses, labels = self.mode(), self._impulses(), self.program.constraints.labels
        owners = {self.program.constraints.names[labels.index(label)] for label in impulses}
        pushed = owners - {name for name in owners if mode[name] == before.get(name) and name not in self._bouncing}
        changed = [name for name in self.names if mode[name] != before.get(name) or name in pushed or name in struck]
        if first:
            always = set(self.program.equations.constraints.names) - owners
            changed = [name for name in changed if mode[name] not in (OPEN, RELEASED) and name not in always]
        idle = self._idle(t, [name for name in changed if mode[name] == "engaged" != before.get(name)])
        self._write(t, changed, why, mode, impulses, (state, self.x.copy()), idle)

    def _write(
        self, t: float, changed: list[str], why: str, mode: dict[str, str], impulses: dict[str, float],
        states: tuple[np.ndarray, np.ndarray] | None = None, idle: str = "",
    ) -> None:  # fmt: skip
        board, several = self.rows, self.rows.places[0]["several"]
        notes = ["several modes are consistent, this one has the most that hold"] * bool(several) + [idle] * bool(idle)
        rest = float(board.view("rest")[0])
        self.events.append(
            Event(
                time=float(t),
                what=tuple(changed),
                why=why,
                mode=mode,
                impulses=impulses,
                touched=self._touched(t, impulses, mode),
                lost=float(board.view("lost")[0]),
                rest=rest if rest > t else None,
                rows=self._rows(),
                states=states,
                note="; ".join(notes),
            )
        )

    def _idle(self, t: float, names: Sequence[str]) -> str:
        """Say which latches of these restrict no speed where they are, be they engaged: their rows of J are 0."""
        names = [name for name in names if name in self._latches]
        if not names:
            return ""
        program = self.program
        _, J, E, _ = program.assembled(float(t), self.x, program.completed(self.machine.p), positions=False)
        rows = {name: self._of[self.names.index(name)] for name in names}
        free = [name for name, k in rows.items() if np.abs(J[k]).max(initial=0.0) <= IDLE * E[k].max(initial=0.0)]
        return f"{listed(free)} restrict{'s' * (len(free) == 1)} nothing here" if free else ""

    def _touched(self, t: float, impulses: dict[str, float], mode: dict[str, str]) -> tuple[str, ...]:
        """What was struck and is open, but does not leave with a speed."""
        names, labels = self.program.constraints.names, self.program.constraints.labels
        struck = [i for i, label in enumerate(labels) if label in impulses and mode[names[i]] == OPEN]
        if not struck:
            return ()
        _, psi, _, pace = self.program.measured(float(t), self.x, self.machine.p)
        bounced = {names[i] for i in struck if psi[i] > BEYOND * pace[i]}
        return tuple(dict.fromkeys(names[i] for i in struck if names[i] not in bounced))

    @property
    def captured(self) -> np.ndarray:
        """What constraints captured where they engaged, in the order of the program's own."""
        first, many = int(self.rows.places[0]["captured_at"]), int(self.rows.places[0]["captures"])
        return self.machine.p[first : first + many].copy()

    def _rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The modes and directions of rows, and what they captured where they engaged."""
        return self.rows.view("mode").copy(), self.rows.view("slip").copy(), self.captured

    @property
    def _changing(self) -> tuple[np.ndarray, ...]:
        """What a switch changes: the state, what is captured, and the mode."""
        return self.x, self.machine.p, self.rows.whole, self.rows.places, self.rows.view("slip")

    def _refuse_beyond(self, t: float, first: bool) -> None:
        """Refuse to engage what cannot be penetrated where it is."""
        wanted, group, kind = (self.rows.view(name) for name in ("wanted", "group", "kind"))
        asked: Any = [] if first else np.flatnonzero((kind == UNILATERAL) & (wanted[group] > 0))
        if not len(asked):
            return
        phi, _, reach, _ = self.program.measured(float(t), self.x, self.machine.p)
        bad = [i for i in asked if phi[i] < -BEYOND * reach[i]]
        if bad:
            wanted[:] = 0
            raise SwitchError(self.said_beyond(int(bad[0]), t, float(phi[bad[0]])), REFUSED)

    def said_beyond(self, row: int, t: float, phi: float) -> str:
        """What to say of a row that is to be engaged beyond its bound."""
        return (
            f"Constraint {self.program.constraints.names[row]!r} cannot be engaged at t = {t:.6g} s: the position is "
            f"{self._beyond(row, phi)} beyond it, expected 0 or less. Engage it where it is open."
        )

    def _vague(self, t: float) -> str:
        """What to say of a constraint that is engaged and whose speed is no number; nothing where there is none."""
        if self.machine.constrained is None:
            return ""
        engaged, group = self.rows.view("engaged"), self.rows.view("group")
        psi = self.machine.constrained.view("psi")[: len(group)]
        for row in np.flatnonzero(np.isnan(psi)):
            if engaged[group[row]]:
                return self.said_vague(int(row), t)
        return ""

    def said_vague(self, row: int, t: float) -> str:
        """What to say of a row whose speed is no number."""
        label, name = self.program.constraints.labels[row], self.program.constraints.names[row]
        return (
            f"Constraint {name!r} at t = {t:.6g} s: the speed of {label!r} is not a number. A disc that lies "
            "flat has no lowest point: give it three or more contacts at points of its rim instead."
        )

    def _open_row(self) -> tuple[int, float]:
        """The row that the last switch was refused for, if it was, and how far it is open."""
        row, held = int(self.rows.places[0]["event"]), self.machine.constrained
        return row, float(held.view("phi")[row]) if held is not None and 0 <= row < len(held.view("phi")) else 0.0

    def why_not(self, status: int, t: float, wished: Sequence[str], row: int, off: float) -> str:
        """What to say of a switch that cannot be; of an open loop, its row and how far it is off."""
        if status == REFUSED:
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
        if status == SINGULAR:
            where = (
                "in this position. Start in another one, or give" if self._solves else "without its constraints. Give"
            )
            return (
                f"The mode at t = {t:.6g} s cannot be found: the inertia matrix is singular {where} the bodies mass "
                "and inertia all around, or their joints an armature."
            )
        kind, engaged = self.rows.view("kind"), self.rows.view("engaged")
        held = [name for g, name in enumerate(self.names) if engaged[g] and kind[self._of[g][0]] == EQUAL]
        if not held:
            return (
                f"The mode at t = {t:.6g} s cannot be found: the inertia matrix is singular in this position. Start in "
                "another one, or give the bodies mass and inertia all around, or their joints an armature."
            )
        if not wished:
            return f"The mode at t = {t:.6g} s cannot be found: {listed(held)} contradict each other."
        others = [name for name in held if name not in wished]
        if not others and len(wished) == 1:
            distance = wished[0] in self._latches and len(self._of[self.names.index(wished[0])]) == 1
            advice = ' A "distance" of 0 has no direction: where markers meet, use kind="point".' if distance else ""
            return f"{wished[0]!r} cannot be engaged at t = {t:.6g} s: no speeds satisfy it.{advice}"
        beside = f" beside {listed(others)}" if others else " together"
        return (
            f"{listed(wished)} cannot be engaged{beside} at t = {t:.6g} s: no speeds satisfy them all. "
            "Release one of those that contradict each other."
        )

    # what holds

    def mode(self) -> dict[str, str]:
        """What every constraint does now, in a word."""
        return self.words(self.rows.view("mode"), self.rows.view("engaged"))

    def words(self, modes: np.ndarray, engaged: np.ndarray) -> dict[str, str]:
        """What every constraint does, in a word, by the modes of rows and what is engaged."""
        kind = self.rows.view("kind")
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

    def active(self) -> tuple[str, ...]:
        """The constraints that hold or slide now."""
        return tuple(name for name, word in self.mode().items() if word not in (OPEN, RELEASED))

    def leave_out(self, name: str) -> None:
        """Let a constraint do nothing from the start."""
        self.rows.view("engaged")[self.names.index(name)] = 0

    def pressed(self) -> list[tuple[str, str]]:
        """Unilateral rows that are violated at the state, with how far they are, in words."""
        kind, engaged, group = (self.rows.view(name) for name in ("kind", "engaged", "group"))
        program, machine = self.program, self.machine
        t = float(machine.time[0])
        phi, _, reach, _ = program.measured(t, self.x, machine.p)
        bad = [int(i) for i in np.flatnonzero(kind == UNILATERAL) if engaged[group[i]] and phi[i] < -BEYOND * reach[i]]
        return [(program.constraints.names[i], self._beyond(i, float(phi[i]))) for i in bad]

    def _beyond(self, row: int, phi: float) -> str:
        """How far a row is beyond its bound, with its unit: of a rope the length that is too much."""
        model, name = self.program.equations.model, self.program.constraints.names[row]
        part = next(c for c in model.candidates if c.name == name)
        if isinstance(part, Rope):  # phi = (length^2 - distance^2) / (2 length)
            length = self._number(part.length)
            return f"{math.sqrt(length**2 - 2 * length * phi) - length:.3g} m"
        unit = coordinate_units(self.program.equations.kinematics)[part.coordinate] if isinstance(part, Stop) else "m"
        return f"{-phi:.3g} {unit}"

    def _number(self, e: Expr) -> float:
        """The value of an expression of parameters."""
        dynamics = self.program.dynamics
        given = dict(zip(map(symbol, dynamics.parameters), self.machine.p.tolist(), strict=False))
        return float(evaluate(e, given | {s: float(x) for s, x in dynamics.values.items()}))


def _became(before: str, after: str) -> str:
    """Why a mode follows another, in a word."""
    if before in (OPEN, RELEASED):
        return _WORDS[CLOSED]
    if after in (OPEN, RELEASED):
        return _WORDS[OPENED]
    return _WORDS[SLIPPED] if after in ("slides", "slips") else _WORDS[STUCK]


def _widened(rows: Any, sizes: Sequence[tuple[int, list[int]]]) -> Any:
    """The rows of an event in a machine that has more of them now."""
    found = []
    for old, (many, place) in zip(rows, sizes, strict=True):
        wide = np.zeros(many, dtype=old.dtype)
        wide[place] = old
        found.append(wide)
    return tuple(found)


class SwitchError(RuntimeError):
    """A switch that cannot be: nothing was changed."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status
