"""A machine while none of its constraints holds or slides: only what may end that is watched.

Robots from files have stops, which few runs reach. Until then they move as free trees do, and the code
of their rows is not even made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polhode.equations.gaps import Gaps
from polhode.equations.program import Program
from polhode.graph import Expr
from polhode.kernels.machine import Machine
from polhode.kernels.mode import CLOSED
from polhode.kinematics.candidates import UNILATERAL

from .switchboard import GUARDED, Switchboard
from .switches import At, When, guards_of

NEAR = 1e-7  # m, rad: what is closer at the start is looked at more closely
NARROW = 1e-11  # m, rad: this far below 0 a gap is not closed yet
NEVER = 2  # a way in which no guard counts


def may_wait(program: Program) -> bool:
    """Whether a machine can start without any row that holds or slides, as far as the model says."""
    model = program.equations.model
    return not model.holding and all(c.law == "unilateral" or not c.active for c in model.candidates)


class Watch:
    """The light machine, and what each of its guards stands for: gaps of rows, guards of switches, other gaps.

    unwired : gaps of candidates that are not in the code, names and expressions; table : the same as numbers
    """

    def __init__(
        self, program: Program, whole: Machine, switches: Sequence[At | When],
        unwired: Sequence[tuple[str, Expr]] = (), table: Gaps | None = None,
    ) -> None:  # fmt: skip
        eq = program.equations
        first = len(eq.constraints)
        self.gaps = [first + i for i, law in enumerate(program.candidates.laws) if law.kind == UNILATERAL]
        guards = guards_of(switches, eq)
        self.guards, self.table = len(guards), table
        self.unwired = [*(name for name, _ in unwired), *(table.names if table is not None else ())]
        values = [*(program.constraints.phi[i] for i in self.gaps), *(guard.value for guard in guards)]
        values += [phi for _, phi in unwired]
        self.function = program.guards(values) if values else None
        self.machine = program.light(whole, self.gaps, (self.function, len(values)), table)
        assert self.machine.switching is not None
        self.rows = self.machine.switching
        many = len(self.gaps) + len(guards)
        self.rows.view("way")[len(self.gaps) :] = [*(guard.way for guard in guards), *[-1] * len(unwired)]
        self.rows.view("least")[: len(self.gaps)] = self.rows.view("least")[many:] = NARROW
        self.rows.view("sign")[many:] = 1
        self._engaged(np.array([program.constraints.names[i] in program.declared for i in self.gaps], dtype=bool))

    def _engaged(self, on: np.ndarray) -> None:
        self.rows.view("way")[: len(self.gaps)] = np.where(on, -1, NEVER)

    def is_open(self, t: float, x: np.ndarray) -> bool:
        """Whether every gap that may close is open at a state."""
        still = np.zeros_like(x)
        if self.table is not None and not (self.table.measured(t, x, still, self.machine.p)[0] > NEAR).all():
            return False
        if self.function is None:
            return True
        values = self.function(np.array([t]), x, still, self.machine.p)[: len(self.rows.view("way"))]
        gaps = self.rows.view("way") == -1
        gaps[len(self.gaps) : len(self.gaps) + self.guards] = False
        return bool((values[gaps] > NEAR).all())

    def follow(self, board: Switchboard) -> None:
        """Go on from the mode of the whole machine, in which nothing holds."""
        many, engaged, group = len(self.gaps), board.rows.view("engaged"), board.rows.view("group")
        self._engaged(engaged[group[self.gaps]] > 0)
        self.rows.view("sign")[:many], self.rows.view("sign")[many:] = 1, board.rows.view("sign")
        self.rows.view("guard")[many:] = board.rows.view("guard")
        self.rows.view("crossed")[:many], self.rows.view("crossed")[many:] = 0, board.passing
        self.rows.places[0]["fresh"] = 1

    def unwired_event(self) -> str | None:
        """The candidate whose gap closed, where it is not in the code."""
        which = int(self.rows.places[0]["event"]) - len(self.gaps) - self.guards
        return self.unwired[which] if which >= 0 else None

    def pass_on(self, board: Switchboard) -> None:
        """Hand the event that the light machine met to the whole one."""
        self.tell(board)
        many = len(self.gaps)
        met = np.flatnonzero(self.rows.view("crossed")[: many + self.guards]).tolist()
        board.meet([(self.gaps[k], CLOSED) for k in met if k < many], [k - many for k in met if k >= many])

    def tell(self, board: Switchboard) -> None:
        """Tell the whole machine what is known of guards by now."""
        for name in GUARDED:
            board.rows.view(name)[:] = self.rows.view(name)[len(self.gaps) :]
