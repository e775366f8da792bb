"""What the compiled loops know of a mechanism, and its state's rate of change.

The state x is [q, u, z, w]: coordinates, speeds, states beside motion, work. All
functions here are kernels without the GIL; they call native code by address,
so they are compiled once and serve every model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polhode.compile.invoke import invoke

from .constrained import Constrained
from .kernel import inlined
from .mode import Switching

OK, NOT_FINITE, SINGULAR, LOST, TORN = 0, 10, 11, 12, 14  # what evaluate and settle return

# code
CONTROL, FLOW, RATES, RESIDUALS, FACTORS, TABLE, CLOSURE, MOVES, SLOPES, LAWS, CAPTURE, GUARDS, POSES = range(13)


class Machine(NamedTuple):
    """Addresses, inputs and room to work in; one for each thread.

    nq, nu  : coordinates and speeds, the first entries of the state
    counted : entries of the state whose error matters, the first ones; the rest only adds up
    code    : addresses, see CONTROL and the following; 0 for what there is not
    tau, p  : forces on the speeds, parameters
    units   : first coordinate of each unit quaternion
    time    : (1,), the time given to native code
    work    : for native code
    constrained : None without constraints; loops are compiled apart for such machines
    switching   : None where no constraint comes and goes; the same
    """

    nq: int
    nu: int
    counted: int
    code: np.ndarray
    tau: np.ndarray
    p: np.ndarray
    units: np.ndarray
    time: np.ndarray
    work: np.ndarray
    constrained: Constrained | None
    switching: Switching | None = None


@inlined
def rates(m: Any, t: float, x: np.ndarray, dq: np.ndarray) -> None:
    """Write qdot, (nq,), for the speeds in x."""
    m.time[0] = t
    invoke(m.code[RATES], m.time, x, m.p, dq, m.work)


@inlined
def bring_to_length(m: Any, x: np.ndarray) -> None:
    """Bring quaternions to length 1."""
    for k in range(m.units.size):
        first = m.units[k]
        length = 0.0
        for i in range(first, first + 4):
            length += x[i] * x[i]
        length = np.sqrt(length)
        for i in range(first, first + 4):
            x[i] /= length
