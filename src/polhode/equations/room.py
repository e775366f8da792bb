"""Room for the constraints of a run: what the compiled loops know of them, and where they work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.kernels.constrained import Constrained, make
from polhode.kernels.mode import Switching, make_switching
from polhode.kinematics.candidates import Law

from . import native

if TYPE_CHECKING:
    from .program import Program

# the least of its reference that a row must have of its own: files round geometry to six digits and
# more; coefficients of the user's own, gears of 1 : 1e6 among them, are what they are
GEOMETRIC, GIVEN = 1e-5, 1e-12


def constrained(program: Program, active: Iterable[str] | None) -> Constrained:
    """Room for the rows of constraints, of which the named ones hold."""
    held, found = program.held, program._rows
    indices = {name: getattr(found, f"{name}_index") if found else [] for name in "jbl"}
    order = found.order if found else None
    made = make(
        rows=len(program.constraints),
        held=len(held),
        n=len(program.equations.u),
        joints=len(program.base.u) if program.closure else 0,
        nq=len(program.equations.q),
        carried=program._sizes[0],
        moving=program._sizes[1],
        direct=len(program.constraints) if order else 0,
        alone=sum(order.independent) if order else 0,
        k_entries=found.whole_size if found else 0,
        **{f"{name}_entries": sum(map(len, index)) for name, index in indices.items()},
    )
    on = np.array([name in program.holding(active) for name in held.names], dtype=np.int64)
    parts: dict[str, Any] = {"active": on, "closing": on * held.holonomic, "geometric": held.geometric}
    parts |= {"joint_bodies": native.bodies(program.base)} if program.closure else {}
    parts["bodies"] = native.bodies(program.equations.kinematics)
    made.places[0]["all"], made.places[0]["closing_all"] = on.all(), all(held.holonomic)
    made.places[0]["reacting"] = len(program.candidates) > 0
    parts |= {"used": 1, "used_q": 1, "least": np.where(held.geometric, GEOMETRIC, GIVEN)}
    if found:
        for name, index in indices.items():
            parts |= {f"{name}_start": _starts(index), f"{name}_index": [j for row in index for j in row]}
        parts["order"] = found.speeds
    if order:
        parts["solved"] = order.independent
    for name, values in parts.items():
        made.view(name)[...] = values
    return made


def switching(program: Program, guards: int) -> Switching:
    """Room for a mode of constraints that come and go, and for guards."""
    m, first, names = len(program.constraints), len(program.equations.constraints), program.groups
    made = make_switching(
        rows=m, groups=len(names), guards=guards, captures=len(program.candidates.captured), n=len(program.equations.u),
        entries=len(program.x),
    )  # fmt: skip
    laws = [Law()] * first + list(program.candidates.laws)
    parts: dict[str, Any] = {
        "kind": [law.kind for law in laws],
        "size": [law.size for law in laws],
        "of": [i + law.of if law.of else -1 for i, law in enumerate(laws)],
        "group": [names.index(name) for name in program.constraints.names],
        "holonomic": program.constraints.holonomic,
        "poisson": [law.poisson for law in laws],
        "engaged": [name in program.declared for name in names],
        "owner": [names.index(name) for name, _, _ in program.candidates.captured],
    }
    for name, values in parts.items():
        made.view(name)[...] = values
    places = made.places[0]
    places["captured_at"] = len(program.dynamics.parameters) + program.stepping
    work = len(program.x) - len(program.work)
    places["losses"] = work + program.work.index("losses") if "losses" in program.work else -1
    return made


def _starts(lists: Sequence[Sequence[int]]) -> np.ndarray:
    """Where each of several lists starts when they follow one another, and where the last one ends."""
    return np.cumsum([0, *map(len, lists)])
