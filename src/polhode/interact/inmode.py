"""The mode that a machine in real time is in: what each row does, and the operations that its motion takes there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from polhode.equations.modes import ModeProgram, NotEmbeddedError
from polhode.equations.program import Program, program_of
from polhode.graph import op_counts, vector
from polhode.kernels.mode import HELD, OFF
from polhode.trajectory.events import OPEN, RELEASED

from .loop import Realtime

LARGEST = 2500  # operations of the code for all modes: beyond, equations of one mode are not derived
ALL = "for all modes at once"


@dataclass(frozen=True, slots=True, kw_only=True)
class InMode:
    """A mode, as it was when it was looked at.

    program : of the machine, without the work of inputs, which the loop keeps account of beside its motion
    rows    : what each row of the program does: OFF, HELD or SLIDES
    words   : what each constraint does
    """

    program: Program
    rows: tuple[int, ...]
    words: Mapping[str, str]

    @classmethod
    def of(cls, loop: Realtime) -> InMode:
        """The mode that a machine is in now."""
        modes = loop._sim._modes
        board, words = modes.board, modes.words()
        program = program_of(loop.dynamics, modes.inputs.laws, wired=modes.wired)
        if board is not None:
            rows = tuple(map(int, board.rows.view("mode")))
            if len(rows) == len(program.constraints):
                return cls(program=program, rows=rows, words=words)
        rows = tuple(OFF if words[name] in (OPEN, RELEASED) else HELD for name in program.constraints.names)
        return cls(program=program, rows=rows, words=words)

    def where(self, does: int) -> list[int]:
        """The rows that do something: HELD or SLIDES."""
        return [i for i, mode in enumerate(self.rows) if mode == does]


def operations(mode: InMode) -> dict[str, Any]:
    """Operations of the rate of change of the state, by equations of this mode alone, and by the code for all.

    own    : those of the mode, by kind; None where it has none, and then `why`
    speeds : that its equations keep
    every  : those of the code that serves all modes, as the loop has it
    """
    rows = mode.program._rows if mode.rows else None
    every = {} if rows is None else op_counts(vector(rows.rows))
    found: dict[str, Any] = {"own": None, "speeds": [str(s.value) for s in mode.program.equations.u], "why": ""}
    if not mode.rows and mode.program.flow is not None:  # nothing comes and goes
        found["own"] = _by_kind(mode.program.flow.op_counts())
    elif sum(every.values()) > LARGEST:
        found["why"] = f"more than {LARGEST:,} operations, so none were derived for it alone"
    else:
        try:
            own = ModeProgram(mode.program, mode.rows)
        except NotEmbeddedError as error:
            found["why"] = str(error)
        else:
            found["own"], found["speeds"] = _by_kind(own.counts), [str(s.value) for s in own.equations.u]
    return found | {"every": _by_kind(every), "title": title(mode.words), "mode": dict(mode.words)}


def title(words: Mapping[str, str]) -> str:
    """What holds or slides in a mode."""
    active = [f"{name} {word}" for name, word in words.items() if word not in (OPEN, RELEASED)]
    return ", ".join(active) or "nothing holds"


def _by_kind(counts: Mapping[str, int]) -> dict[str, int]:
    """Multiplications; additions and subtractions; and all else: divisions, changes of sign, roots, sines."""
    add, mul = counts.get("add", 0), counts.get("mul", 0)
    return {"multiplications": mul, "additions": add, "others": sum(counts.values()) - mul - add}
