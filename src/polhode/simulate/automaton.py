"""The machine as a finite state machine: its modes, each with embedded equations compiled ahead, and what leads from
one to the other.

Reference: [Gillespie, section 4].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from polhode.equations import Dynamics
from polhode.equations.modes import ModeProgram, NotEmbeddedError, idle_rows
from polhode.equations.program import Program, program_of
from polhode.graph import op_counts, vector
from polhode.kernels.mode import EQUAL, HELD, OFF, SLIDES, TANGENT, UNILATERAL
from polhode.model import Stop
from polhode.model.errors import closest
from polhode.trajectory import Trajectory
from polhode.trajectory.events import OPEN, RELEASED

from .asked import movable
from .inputs import read_inputs
from .run import simulated_until
from .stages import StagedSimulation, keyed

MOST = 64  # modes that are compiled ahead
GENERAL = "by the loop for all modes"

# what leads from one word to another, where it is not a command
WHY = {
    **{(OPEN, word): "closes" for word in ("closed", "lower", "upper", "sticks", "slides")},
    **{(word, OPEN): "opens" for word in ("closed", "lower", "upper", "sticks", "slides")},
    ("sticks", "slides"): "slips",
    ("slides", "sticks"): "sticks",
    ("holds", "slips"): "slips",
    ("slips", "holds"): "sticks",
    (RELEASED, "engaged"): "engage",
    (RELEASED, "holds"): "engage",
    (RELEASED, "slips"): "engage",
    ("engaged", RELEASED): "release",
    ("holds", RELEASED): "release",
    ("slips", RELEASED): "release",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One mode of a machine.

    words       : what each constraint does, as in `Event.mode`
    rows        : what each row does, as numbers
    independent : the speeds that its equations keep
    operations  : of its rate of change; of the factors of all rows where it has no equations of its own
    program     : its native code; None where it is left to the loop for all modes
    why         : why it is left there
    """

    words: Mapping[str, str]
    rows: tuple[int, ...]
    independent: tuple[str, ...]
    operations: int
    program: ModeProgram | None = None
    why: str = ""

    @property
    def title(self) -> str:
        """What holds or slides in it."""
        active = [f"{name} {word}" for name, word in self.words.items() if word not in (OPEN, RELEASED)]
        return ", ".join(active) or "nothing holds"

    def __str__(self) -> str:
        kept = ", ".join(self.independent) or "no speed"
        rest = f"; {GENERAL}: {self.why}" if self.program is None else ""
        return f"{self.title}: {kept}; {self.operations:,} operations{rest}"


@dataclass(frozen=True, slots=True)
class Transition:
    """What leads from one mode to another, both by number: a constraint and what it does."""

    start: int
    end: int
    constraint: str
    why: str

    def __str__(self) -> str:
        command = self.why in ("engage", "release")
        return f"{self.why} {self.constraint}" if command else f"{self.constraint} {self.why}"


class Automaton:
    """The modes of a machine whose constraints come and go, and what leads from one to the other.

    modes       : each with its embedded equations, compiled ahead
    transitions : between modes that differ in one constraint; events may change several at once

    `simulate` goes from mode to mode. Between events the state moves by the equations of the mode alone; events,
    impulses and the mode that follows are found as in `polhode.simulate`, and so is the motion in modes that have
    no equations of their own: those in which friction slides by a reaction, or rows repeat others.
    """

    def __init__(self, dynamics: Dynamics, over: Iterable[str] | None = None, most: int = MOST) -> None:
        self.dynamics = movable(dynamics, "automaton")
        kin = dynamics.equations.kinematics
        if kin is not kin.joints:
            raise ValueError(
                "automaton: the equations have speeds of their own, expected those of the joints, from which each mode "
                f"keeps what is independent. Use formulate(model, {dynamics.equations.method!r}, embed=False), "
                "without speeds=."
            )
        self._program = program_of(dynamics)
        self._states = states_of(self._program, over)
        count = math.prod(len(words) for words in self._states.values())
        if count > most:
            raise ValueError(
                f"automaton: {len(self._states)} constraints that come and go make {count:,} modes, more than {most}. "
                "Name those that do in your machine with over=[...], or give most=; the others stay as declared."
            )
        self._made: dict[Any, dict[tuple[int, ...], ModeProgram | str]] = {}
        self.modes: tuple[Mode, ...] = tuple(self._modes())
        for mode in self.modes:
            if mode.program is not None:
                mode.program.watch(())  # native code, before anything runs
                mode.program.room((None, 0), self._program.machine())

    def _modes(self) -> Iterator[Mode]:
        names = [str(s.value) for s in self.dynamics.equations.u]
        programs = self._programs(self._program)
        for chosen in product(*self._states.values()):
            words = {name: word for name, (word, _) in zip(self._states, chosen, strict=True)}
            rows = self._rows(dict(zip(self._states, (rows for _, rows in chosen), strict=True)))
            found = programs[rows]
            if isinstance(found, ModeProgram):
                kept = tuple(str(s.value) for s in found.equations.u)
                yield Mode(words=words, rows=rows, independent=kept, operations=found.operations, program=found)
            else:
                yield Mode(words=words, rows=rows, independent=tuple(names), operations=self._general, why=found)

    @cached_property
    def _general(self) -> int:
        """Operations of the native code that serves all modes."""
        found = self._program._rows
        return 0 if found is None else sum(op_counts(vector(found.rows)).values())

    def _rows(self, chosen: Mapping[str, Mapping[int, int]]) -> tuple[int, ...]:
        """What each row does in a mode; constraints that are not among those that change stay as declared."""
        program, idle = self._program, idle_rows(self._program)
        found = []
        for i, (name, law) in enumerate(zip(program.constraints.names, program.row_laws, strict=True)):
            mode = HELD if law.kind == EQUAL and name in program.declared else OFF
            found.append(OFF if i in idle else chosen[name].get(i, OFF) if name in chosen else mode)
        return tuple(found)

    def _programs(self, program: Program) -> dict[tuple[int, ...], ModeProgram | str]:
        """The programs of all modes, or why there is none, for inputs that a program of the machine has."""
        key = program.work, *program.laws.items()
        if key not in self._made:
            made: dict[tuple[int, ...], ModeProgram | str] = {}
            for chosen in product(*self._states.values()):
                rows = self._rows(dict(zip(self._states, (rows for _, rows in chosen), strict=True)))
                if rows not in made:
                    try:
                        made[rows] = ModeProgram(program, rows)
                    except NotEmbeddedError as error:
                        made[rows] = str(error)
            self._made[key] = made
        return self._made[key]

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        places = {tuple(mode.words.values()): k for k, mode in enumerate(self.modes)}
        found = []
        for k, mode in enumerate(self.modes):
            for j, (name, states) in enumerate(self._states.items()):
                words = list(mode.words.values())
                for word, _ in states:
                    why = WHY.get((words[j], word))
                    if why is not None:
                        end = places[(*words[:j], word, *words[j + 1 :])]
                        found.append(Transition(k, end, name, why))
        return tuple(found)

    # motion

    def simulation(self, q0: Any = None, u0: Any = None, **given: Any) -> StagedSimulation:
        """A `Simulation` that moves by the equations of the mode it is in; it takes the same arguments."""
        return self._simulation(self.dynamics, q0=q0, u0=u0, **given)

    def _simulation(self, dynamics: Dynamics, _driven: bool = True, **given: Any) -> StagedSimulation:
        inputs = read_inputs(given.get("tau"), self.dynamics.equations, given.get("controls"))
        if inputs.continuous is not None:
            raise TypeError(
                "automaton: tau is a function of t, q, u, which modes with fewer speeds cannot call. Give expressions "
                "by name, or Sampled(...)."
            )
        method = given.get("method", "dop853")
        program = program_of(dynamics, inputs.laws, _driven, stepping=method == "euler")
        usable = method not in ("rodas5p", "moreau") and not program.stepping
        programs = self._programs(program) if usable else {}
        found = {rows: made for rows, made in programs.items() if isinstance(made, ModeProgram)}
        return StagedSimulation(found, dynamics, _driven=_driven, **given)

    def simulate(self, q0: Any = None, u0: Any = None, t_end: float | None = None, **given: Any) -> Trajectory:
        """Move the machine from a state to t_end, mode by mode; arguments are those of `polhode.simulate`."""
        return simulated_until(self.dynamics, t_end, make=self._simulation, q0=q0, u0=u0, **given)

    # to look at

    @property
    def graph(self) -> str:
        """The modes and what leads from each to others, as text."""
        lines = []
        for k, mode in enumerate(self.modes):
            lines.append(f"{k}  {mode}")
            for edge in self.transitions:
                if edge.start == k:
                    lines.append(f"     {edge} -> {edge.end}")
        return "\n".join(lines)

    def plot(self, path: Any = None, costs: Any = None) -> Any:
        """Draw the modes with their operations, and what leads from one to the other; the matplotlib Figure.

        path  : also write it, as PNG, SVG or PDF by its ending
        costs : what `step_cost` found, to write beside the modes
        """
        from polhode.view.graph import Edge, Node, draw

        nodes = []
        for mode in self.modes:
            active = [f"{name} {word}" for name, word in mode.words.items() if word not in (OPEN, RELEASED)]
            speeds = "1 speed" if len(mode.independent) == 1 else f"{len(mode.independent)} speeds"
            lines = [f"{speeds}, {mode.operations:,} operations"]
            if costs is not None:
                cost = costs.of(mode)
                step, switch = (f"{x * 1e6:.2f}" if x < 1e-5 else f"{x * 1e6:,.0f}" for x in (cost.median, cost.switch))
                lines.append(f"{step} us a step, {switch} us to switch")
            nodes.append(Node(active or ["nothing holds"], lines, mode.program is None))
        edges = [Edge(e.start, e.end, e.constraint, e.why) for e in self.transitions]
        title = f"Modes of {self.dynamics.equations.model.name!r}"
        return draw(nodes, edges, title, path)

    def __str__(self) -> str:
        return self.graph

    def __repr__(self) -> str:
        own = sum(mode.program is not None for mode in self.modes)
        name = self.dynamics.equations.model.name
        return f"Automaton of {name!r}: {len(self.modes)} modes, {own} with equations of their own."


def states_of(program: Program, over: Iterable[str] | None) -> dict[str, list[tuple[str, dict[int, int]]]]:
    """What each constraint that comes and goes may do: a word, and the rows that hold or slide then."""
    known = list(program.groups)
    wanted = known if over is None else [over] if isinstance(over, str) else list(over)
    for name in wanted:
        if name not in known:
            raise KeyError(f"automaton: there is no constraint {name!r}. {closest(name, known)}")
    stops = {c.name for c in program.equations.model.candidates if isinstance(c, Stop)}
    laws = program.row_laws
    return {name: _words(program.constraints.rows(name), laws, name in stops) for name in wanted}


def _words(rows: list[int], laws: list[Any], stop: bool) -> list[tuple[str, dict[int, int]]]:
    kind = laws[rows[0]].kind
    if kind == EQUAL:
        return [(RELEASED, {}), ("engaged", dict.fromkeys(rows, HELD))]
    if kind == TANGENT:
        return [(RELEASED, {}), ("holds", {rows[0]: HELD}), ("slips", {rows[0]: SLIDES})]
    assert kind == UNILATERAL
    if stop and len(rows) == 2:
        return [(OPEN, {}), ("lower", {rows[0]: HELD}), ("upper", {rows[1]: HELD})]
    if len(rows) == 1:
        return [(OPEN, {}), ("closed", {rows[0]: HELD})]
    first, *rest = rows
    return [(OPEN, {}), *((word, {first: HELD} | dict.fromkeys(rest, mode)) for word, mode in
                          (("sticks", HELD), ("slides", SLIDES)))]  # fmt: skip


__all__ = ["Automaton", "Mode", "Transition", "keyed"]
