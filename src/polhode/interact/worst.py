"""What a step may take at most: iterations that it is limited to, and the operations of these.

A step of "moreau" looks for impulses in a few problems, see `polhode.kernels.moreau`: each takes steps of Newton's
method and sweeps over its rows, up to a number; corrections of what stays equal have one too. What is left of a step is
the same each time, and measured. Seconds come from operations by SPEED, which is less than was measured; so they say
of what order the worst is. Switches before a step are beside this, up to 20 strikes each: see `machine.bound`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polhode.kernels import complementarity as lcp
from polhode.kernels.mode import EQUAL
from polhode.kernels.rebound import SHARES

from .lateness import spelled

if TYPE_CHECKING:
    from .loop import Realtime

CORRECTIONS = 30  # of what stays equal, see `kernels.settle`
SPEED = 1e9  # operations a second in small matrices
NEWTON = (lcp.ROUNDS + 2) * lcp.STEPS + lcp.MOST  # steps of one problem
SWEPT = lcp.ROUNDS * lcp.SWEEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """Of one step.

    rows        : that may carry in a problem; equal : that stay equal beside them
    problems    : of impulses
    newton      : steps of Newton's method in all of them; sweeps : over the rows
    corrections : of what stays equal
    operations  : of all these
    seconds     : of the whole step, about
    """

    rows: int
    equal: int
    problems: int
    newton: int
    sweeps: int
    corrections: int
    operations: int
    seconds: float

    def __str__(self) -> str:
        said = [f"{self.problems} problems of {self.rows} rows, {self.newton} steps of Newton's method, "
                f"{self.sweeps} sweeps"] * bool(self.problems)  # fmt: skip
        said += [f"{self.corrections} corrections"] * bool(self.corrections)
        return f"{', '.join(said) or 'the same each time'}: about {spelled(self.seconds)}"


def worst_of(machine: Realtime) -> Worst:
    """What a step of a machine may take, by what is in its code now."""
    board = machine._sim._modes.board
    kind = () if board is None else board.rows.view("kind")
    equal = sum(int(k == EQUAL) for k in kind)
    rows = len(kind) - equal if board is not None and board.whole else 0
    problems = 0
    if rows:
        assert board is not None
        bounces = any(getattr(c, "restitution", 0) != 0 for c in machine.dynamics.equations.model.candidates)
        problems = 1 + (len(SHARES) if bounces else 1) + int(board.rows.view("poisson").any())
    corrections = CORRECTIONS if equal else 0
    newton = 2 * rows**3 // 3 + 14 * rows**2  # to make the matrix, factor it, and see what is left, three times
    each = NEWTON * newton + SWEPT * 2 * rows**2 + 2 * (rows + equal) ** 3
    operations = problems * each
    seconds = machine.cost * (1 + corrections) + operations / SPEED
    return Worst(rows=rows, equal=equal, problems=problems, newton=problems * NEWTON, sweeps=problems * SWEPT,
                 corrections=corrections, operations=operations, seconds=seconds)  # fmt: skip
