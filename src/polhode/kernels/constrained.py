"""Constraints of a machine as kernels see them: two arrays, and a record of what lies where in them."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np

from .parts import laid, seen

Array = np.ndarray

# sizes: rows among the speeds, these and the embedded ones; speeds, speeds of the joints where they are others,
# the larger of both; coordinates; entries beside the accelerations, of constraints that move by themselves;
# rows again where native code eliminates them with the speeds, else 0, and how many of them it does; entries of J, B, L
# and K that are not 0
SIZES = "rows held n joints most nq carried moving direct alone j_entries b_entries l_entries k_entries".split()

REALS: dict[str, tuple[str, ...]] = {
    # native code: residuals and the squares of the sizes they are measured by
    "phi": ("held",), "psi": ("rows",), "reach2": ("held",), "pace2": ("rows",),
    # and the motions that remove those of positions and of speeds, by the elimination of speeds and rows
    "closing_motion": ("n",), "turn": ("n",),
    # native code: b, gamma and J; M = L D L^T, D and the diagonal of M; what W_ii could be, W = J M^-1 J^T;
    # minus the speeds of constraints that move by themselves
    "f_carried": ("carried",), "f_b": ("n",), "f_gamma": ("rows",), "f_J": ("j_entries",), "L": ("l_entries",),
    "pivots": ("n",), "inertias": ("n",), "rho2": ("rows",), "f_moving": ("moving",),
    # and of the elimination of speeds and rows together: what each row has left of its own, and had before other rows
    # took their parts; reactions and udot; its lower triangle and the inverses of its pivots
    "left": ("direct",), "had": ("direct",), "direct_lam": ("direct",), "direct_udot": ("n",), "K": ("k_entries",),
    # native code: the equations, and the reference of J
    "t_carried": ("carried",), "M": ("n", "n"), "b": ("n",), "J": ("rows", "n"), "gamma": ("rows",),
    "E2": ("rows", "n"), "t_moving": ("moving",),
    # native code: positions in the speeds of the joints, where the equations have others
    "joint_inertias": ("joints",), "joint_J": ("held", "joints"), "joint_phi": ("held",),
    "joint_E2": ("held", "joints"),
    # the least of its reference that a row must have of its own
    "least": ("held",),
    # B = D^-1 L^-1 J^T and W = J M^-1 J^T, where native code does not solve for the rows that hold
    "B": ("b_entries",), "W": ("rows", "rows"),
    # Cholesky factors and reactions of the rows chosen in W, of all and of those about positions
    "F": ("rows", "rows"), "lam_f": ("rows",), "F_q": ("rows", "rows"), "lam_q": ("rows",),
    # elimination: 1 / sqrt of the inertia of each speed, the size of each row in these units, the table, room
    "d": ("most",), "rho": ("held",), "table": ("held", "most +2"), "normal": ("most", "most"),
    "step": ("most",), "basis": ("most", "held"), "lam": ("held",),
    # dead points: the least that an independent row has of its own, of its reference, where a state was evaluated
    # last; the same and the time where the last step began, and the one before
    "margin": ("1",), "earlier": ("4",),
    # near one: where on the axis it is, and the spacing of places there; their margins, room for their weights
    "chart": ("2",), "margins": ("10",), "weights": ("10",),
    # coordinates and a small motion, and how it changes them
    "trial": ("nq +most",), "moved": ("nq",),
    # how far the last state that was settled was moved
    "pulled": ("nq +n",),
}  # fmt: skip

WHOLES: dict[str, tuple[str, ...]] = {
    # rows that hold, those of them that are about positions, those with coefficients from geometry;
    # those found independent, of all and of those about positions
    "active": ("held",), "closing": ("held",), "geometric": ("held",), "used": ("held",), "used_q": ("held",),
    # rows that native code eliminates with the speeds; rows chosen in W
    "solved": ("rows",), "chosen": ("rows",), "chosen_q": ("rows",),
    # where each row of J and B and each column of L starts, the speeds of their entries; the order of L
    "j_start": ("rows +1",), "j_index": ("j_entries",), "b_start": ("rows +1",), "b_index": ("b_entries",),
    "l_start": ("n +1",), "l_index": ("l_entries",), "order": ("n",),
    # the body that each speed moves, and each speed of the joints where they are others
    "bodies": ("n",), "joint_bodies": ("joints",),
    # the order of rows and speeds in the elimination; the first ones are dependent
    "places": ("held",), "columns": ("most",),
    # near a dead point: the dependent speeds, then the independent ones
    "tied": ("n",),
}  # fmt: skip

# whether all rows hold, and whether all that hold are about positions; independent rows where an attempt
# began, and where its step did; whether the factors are those of a state nearby, whether K is of the rows that hold
# there, and whether W is of that state; rows chosen in it among the speeds and among positions, or one of the next two;
# rows of the last elimination; ANY; near a dead point: whether there is a chart, its axis, independent rows beside it
STATE = (
    "all closing_all rank started nearby whole known count count_q eliminated any idle reacting near axis full".split()
)
UNKNOWN, UNDECIDED = -2, -1
ANY = 1 << 30  # as a rank: no step has begun


class Places(ctypes.Structure):
    """Sizes, where each part starts, and what is known of the last evaluation; see above."""

    _fields_ = tuple((name, ctypes.c_int64) for name in (*SIZES, *REALS, *WHOLES, *STATE))


class Constrained(NamedTuple):
    """The arrays with all parts, and the record, (1,), of Places."""

    real: Array
    whole: Array
    places: Array

    def view(self, name: str) -> Array:
        """A part by its name."""
        if name in REALS:
            return seen(self.real, self.places, name, REALS[name], SIZES)
        return seen(self.whole, self.places, name, WHOLES[name], SIZES)


def make(**sizes: int) -> Constrained:
    """Room for constraints of these sizes."""
    sizes["most"] = max(sizes["n"], sizes["joints"])
    found = Constrained(*laid(Places, sizes, REALS, WHOLES))
    places = found.places
    places[0]["rank"] = places[0]["started"] = places[0]["any"] = ANY
    return found
