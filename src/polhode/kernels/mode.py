"""The mode of a machine whose constraints come and go: which rows hold, which slide, and what they need.

As in `constrained`, two arrays and a record of what lies where in them.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from .coulomb import ints_for, room_for
from .parts import laid, seen

Array = np.ndarray

OFF, HELD, SLIDES = 0, 1, 2  # modes of a row
EQUAL, UNILATERAL, TANGENT = 0, 1, 2  # kinds of laws

# rows of all constraints; constraints; conditions that are watched beside them; values captured where
# constraints engage; speeds; entries of the state; room of the complementarity; gaps of what is not wired, and
# pairs of bodies that they are between
SIZES = "rows groups guards captures n entries room ints gaps pairs".split()

REALS: dict[str, tuple[str, ...]] = {
    # native code: of each row, where it slides and where it sticks; of unilateral ones
    "bound": ("rows",), "grip": ("rows",), "restitution": ("rows",),
    # native code: values where a constraint engages; guards and their rates
    "captured": ("captures",), "guard": ("guards",), "guard_rate": ("guards",),
    # reactions at the last evaluation; the direction that a tangent set slides in;
    # reactions that a search begins with, where they are not determined
    "lam": ("rows",), "slip": ("rows",), "warm": ("rows",),
    # what must stay above 0, its rate where that is known, and the least that counts: of rows, then of guards, then of
    # gaps that are not wired; where a step starts and where it was looked at last
    "value0": ("rows +guards +gaps",), "rate0": ("rows +guards +gaps",), "value": ("rows +guards +gaps",),
    "rate": ("rows +guards +gaps",), "least": ("rows +guards +gaps",),
    # loads of rows with a law, and what bounds them, in the stages of a step; the largest that each carried in a mode
    "loads": ("18", "rows"), "bounds": ("18", "rows"), "heft": ("rows",),
    # what rounding makes of them, by the forces that cancel where the mode begins
    "floor": ("rows",),
    # that of the run, for states
    "tolerance": ("1",),
    # by how much slides in space turned at most in the stages of a step
    "turned": ("1",),
    # what rounding of the state makes of guards
    "noise": ("guards",),
    # the same where the step ends, and at a place in between
    "value1": ("rows +guards +gaps",), "rate1": ("rows +guards +gaps",), "least1": ("rows +guards +gaps",),
    "middle": ("rows +guards +gaps",), "middle_rate": ("rows +guards +gaps",),
    # where in a step each becomes 0
    "when": ("rows +guards +gaps",),
    # an event: impulses, those of one strike, psi before it, speeds before, energy that it took, when what comes to
    # rest does so
    "impulse": ("rows",), "total": ("rows",), "psi_before": ("rows",), "u_before": ("n",), "lost": ("1",),
    "rest": ("1",),
    # complementarity: W without what rows that stay equal take up, what is given, reactions, laws, room
    "A": ("rows", "rows"), "b": ("rows",), "c": ("rows",), "found": ("rows",), "mu": ("rows",), "mu_s": ("rows",),
    "F": ("rows", "rows"), "X": ("rows", "rows"), "y": ("rows",), "part": ("rows",), "room_at": ("room",),
    # rows of a combination of states that is tried: what is given, reactions, laws
    "trial_b": ("rows",), "trial_lam": ("rows",), "trial_bound": ("rows",),
    # where nothing reacts: D^-1 L^-1 b of the speeds, and the accelerations of all rows
    "g": ("n",), "r": ("rows",),
    # by what acceleration a row is pressed beside those that held before an event
    "pressed": ("rows",),
    # the time of the last event
    "latest": ("1",),
    # a rate of change
    "rate_room": ("entries",),
    # gaps that are not wired, see `gaps`: their numbers, and where they are due in the heaps of their pairs; of each
    # pair how far it travelled, how far its points are from its origin, how fast these were at most where it was looked
    # at last, and poses: where a step starts, where one was looked at last, and in between
    "gap_row": ("gaps", "11"), "due": ("gaps",), "travel": ("pairs",), "reach": ("pairs",), "pace1": ("pairs",),
    "pose": ("pairs", "24"), "pose1": ("pairs", "24"), "pose_at": ("pairs", "24"),
}  # fmt: skip

WHOLES: dict[str, tuple[str, ...]] = {
    # of each row: its law, the rows of a tangent set at its first, the row that bounds it or -1, its constraint
    "kind": ("rows",), "size": ("rows",), "of": ("rows",), "group": ("rows",), "mode": ("rows",),
    # of each constraint: whether it may hold; what is wanted of it, 1 to engage, -1 to release
    "engaged": ("groups",), "wanted": ("groups",),
    # of each captured value: its constraint
    "owner": ("captures",),
    # of each guard: the sign that it has, or 0 before it is known; which way it counts, -1, 0 or 1
    "sign": ("guards",), "way": ("guards",),
    # the sign of each guard where the step in hand starts; whether it passed 0 in a jump
    "sign0": ("guards",), "jumped": ("guards",),
    # rows of the complementarity: which they are, their laws, the states that they may have and have
    "equal": ("rows",), "which": ("rows",), "kinds": ("rows",), "sizes": ("rows",), "ofs": ("rows",),
    "allowed": ("rows",), "states": ("rows",), "closed": ("rows",), "ints_at": ("ints",),
    # rows of a combination of states that is tried: which they are, and their laws
    "trial_row": ("rows",), "trial_kind": ("rows",), "trial_size": ("rows",), "trial_of": ("rows",),
    # whether a row is about positions, and its restitution Poisson's; what happens at once
    # at an event, of rows, guards and gaps that are not wired: the cause of each, or 0
    "holonomic": ("rows",), "poisson": ("rows",), "crossed": ("rows +guards +gaps",),
    # gaps that are not wired: kinds and pairs; those of the heaps, of which those of a pair start at `pair_start` and
    # `waiting` are there; and those that were due in a step
    "gap_kind": ("gaps",), "gap_pair": ("gaps",), "heap": ("gaps",), "pair_start": ("pairs",), "waiting": ("pairs",),
    "near": ("gaps",),
    # states of rows, as those of few contacts, that ended at the time of the last event
    "ended": ("rows",),
}  # fmt: skip

# how many rows slide, and rows that stay equal are independent; where captured values are in p, and the work of
# friction and impacts in x; what an event is about: a row, or rows + a guard; its cause; whether several solutions
# were found; whether the state was changed by an event; how many rows that hold are independent; steps of
# time-stepping whose impulses were not solved for; gaps that were due in a step, whether all were looked at before, and
# how many may act in the next step of time-stepping; how many events there were before at the same time; rows
# that carry loads with a law, and whether these are not determined
STATE = """sliding equals captured_at losses event cause several fresh count unsolved many begun ahead repeats laws
spread""".split()

# causes of an event; STEPPED is one of time-stepping, in which something changed or was struck
NOTHING, CLOSED, OPENED, SLIPPED, STUCK, GUARD, COMMAND, START, STEPPED = range(9)


class Places(ctypes.Structure):
    """Sizes, where each part starts, and what is known of the last event; see above."""

    _fields_ = tuple((name, ctypes.c_int64) for name in (*SIZES, *REALS, *WHOLES, *STATE))


class Switching(NamedTuple):
    """The arrays with all parts, and the record, (1,), of Places."""

    real: Array
    whole: Array
    places: Array

    def view(self, name: str) -> Array:
        """A part by its name."""
        if name in REALS:
            return seen(self.real, self.places, name, REALS[name], SIZES)
        return seen(self.whole, self.places, name, WHOLES[name], SIZES)


def make_switching(**sizes: int) -> Switching:
    """Room for a mode of these sizes."""
    sizes = {"gaps": 0, "pairs": 0} | sizes
    sizes["room"], sizes["ints"] = room_for(sizes["rows"]), ints_for(sizes["rows"])
    return Switching(*laid(Places, sizes, REALS, WHOLES))
