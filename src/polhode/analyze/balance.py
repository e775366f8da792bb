"""What must vanish where a machine stays as it is, with exact derivatives.

    F = (rates of coordinates that matter, udot, zdot, phi, psi) = 0

of which the independent rates and accelerations are taken: constraints tie the others to them, so that a wheel that
rolls in a circle is steady, although its speeds along the axes of the world change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from polhode.equations import Equations
from polhode.equations.tangent import Tangent

from .columns import Rows, Solved, solved
from .near import Near
from .operating import Operating
from .turns import charts_of

_ASIDE = (0.05, 0.31)  # of what coordinates and speeds are measured by: where else it is asked what matters
_NOTHING = 1e-8  # of the largest of its row: does not matter


class Balance(Near):
    """A machine near any state, whose constraints need not be satisfied; speeds far from the ground are independent.

    So bodies of a vehicle turn at independent speeds, and where it is follows. With states that were chosen before, as
    many rows count as then: away from closed positions those that repeat others do not.
    """

    def _require_regular(self, at: Operating, positions: Rows) -> None:
        return

    def _solved(self, rows: Rows, prefer: Sequence[int], keep: Sequence[int], first: int) -> Solved:
        if keep:
            rows = replace(rows, most=rows.A.shape[1] - len(keep))
        if not first or not rows.A.size:
            found = solved(rows, prefer, keep)
            return found if found is not None else super()._solved(rows, prefer, (), first)
        inward = _outward(self.eq)[::-1]
        at = {j: k for k, j in enumerate(inward)}
        turned = replace(rows, A=rows.A[:, inward], reach=rows.reach[inward])
        back = solved(turned, (), [at[j] for j in keep]) or solved(turned)
        assert back is not None, "with nothing to keep, rows can be solved"
        order = sorted(range(len(back.free)), key=lambda k: inward[back.free[k]])
        places = [at[j] for j in range(len(inward))]
        return Solved(
            free=tuple(inward[back.free[k]] for k in order), G=back.G[np.ix_(places, order)], H=back.H[places]
        )


def _outward(eq: Equations) -> list[int]:
    """The speeds by number, from the ground outward: a compound joint names first what is next to its body."""
    speeds = list(dict.fromkeys(s for link in eq.kinematics.joints.links for s in link.speeds))
    places = {s: j for j, s in enumerate(eq.u)}
    return [places[s] for s in speeds] if {*speeds} == {*places} else list(range(len(eq.u)))


@dataclass(frozen=True, kw_only=True)
class Balanced:
    """F at a point, and its derivatives by everything: coordinates, speeds, z, inputs, parameters.

    F     : (m,); by : (m, n); names : of the equations
    sizes : what counts as 1 of each, (m,); noise : how far rounding may have each off, (m,)
    states : the independent ones, by name
    rates : of coordinates and turns, by name; lam : (rows,)
    """

    F: np.ndarray
    by: np.ndarray
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    sizes: np.ndarray
    noise: np.ndarray
    states: tuple[str, ...]
    lam: np.ndarray
    rates: dict[str, float]


def near(at: Operating, tangent: Tangent, states: Sequence[str] = ()) -> Balance:
    """The machine near a point."""
    return Balance(at, tangent, charts_of(at), tuple(states))


def balance(at: Operating, tangent: Tangent, states: Sequence[str], matter: frozenset[str]) -> Balanced:
    """What must vanish at a point, with the states as they were chosen; `matter` are those that others depend on."""
    found = near(at, tangent, states)
    by = [part for part in ("x", "tau", "p") if part in found.slopes["R"]]
    whole = np.hstack([found.clean_rates(part) for part in by])
    nx, nq = found.nx, len(found.eq.q)
    own = np.eye(whole.shape[1] - nx + nq)  # from changes of coordinates to those of turns
    own = np.vstack([np.hstack([found.charts.inverse, np.zeros((nx, len(own) - nq))]), own[nq:]])
    drift = found.drift
    speeds = range(found.nx, found.nx + found.nu)
    rows = [i for i in found.free if i in speeds or found.whole[i] in matter]
    phi, psi = (np.hstack([found.slopes[part][b] for b in by]) for part in ("phi", "psi"))
    places, paces = found.rows_of(at)
    held = [at.program.held.labels[i] for i in at.closed]
    sped = [at.program.constraints.labels[i] for i in at.rows]
    units = np.zeros((len(starts := at.program.quaternions()), own.shape[1]))
    for k, first in enumerate(starts):
        units[k, first : first + 4] = at.point.x[first : first + 4]
    kinds = ["speed" if i in speeds else "state" if i > speeds.stop - 1 else "coordinate" for i in rows]
    return Balanced(
        F=np.concatenate([drift[rows], found.values["phi"], found.values["psi"], np.zeros(len(units))]),
        by=np.vstack([np.vstack([whole[rows], phi, psi]) @ own, units]),
        names=(*(found.whole[i] for i in rows), *held, *sped, *["quaternion"] * len(units)),
        kinds=(*kinds, *["position"] * len(held), *["pace"] * len(sped), *["unit"] * len(units)),
        sizes=np.concatenate(
            [np.maximum(1.0, np.abs(whole[rows, : len(found.whole)]).sum(axis=1)), places, paces, np.ones(len(units))]
        ),
        noise=np.concatenate([found.noise[rows], np.zeros(len(phi) + len(psi) + len(units))]),
        states=found.states,
        lam=found.at.lam,
        rates=dict(zip(found.charts.names, drift[: found.nx].tolist(), strict=True)),
    )


def mattering(at: Operating, tangent: Tangent, states: Sequence[str]) -> frozenset[str]:
    """Coordinates and other states on which accelerations or rates depend, here or nearby; the others are cyclic."""
    draw, used = np.random.default_rng(4), np.zeros(0, dtype=bool)
    found = near(at, tangent, states)
    names = found.states
    first, last = found.sizes[0], found.sizes[0] + found.sizes[1]
    used = np.zeros((len(names), len(names)), dtype=bool)
    for share in (0.0, *_ASIDE):
        try:
            moved = _aside(at, found, tangent, names, share, draw)
            A = (moved._whole_rates("x") @ moved.lift)[moved.free]
            noise = moved._rounding("x") @ np.abs(moved.lift)
        except (ValueError, np.linalg.LinAlgError):
            continue
        if moved.states == names:
            used |= np.abs(A) > np.maximum(
                noise[moved.free], _NOTHING * np.abs(A).max(axis=1, keepdims=True, initial=0)
            )
    kept = set(range(len(names)))
    while idle := [j for j in kept if not first <= j < last and not used[sorted(kept), j].any()]:
        kept -= {*idle}
    return frozenset(names[j] for j in kept if not first <= j < last)


def _aside(
    at: Operating, here: Balance, tangent: Tangent, names: Sequence[str], share: float, draw: np.random.Generator
) -> Balance:
    """The machine beside a point, with speeds that satisfy the constraints."""
    nq, nx = len(here.eq.q), here.nx
    x = at.point.x.copy()
    reach, pace = here.extents(at)
    x[:nq] += here.charts.T @ (share * reach * draw.normal(size=nx))
    x[nq : nq + here.nu] += share * pace * draw.normal(size=here.nu)
    x = at.program.unit(at.program.whole(x))[: len(x)]
    moved = replace(at, point=replace(at.point, x=x))
    found = near(moved, tangent, names)
    for _ in range(2):
        off = found.sped.H @ found.values["psi"]
        if not np.abs(off).max(initial=0) > 0:
            break
        x = x.copy()
        x[nq : nq + here.nu] -= off
        moved = replace(moved, point=replace(moved.point, x=x))
        found = near(moved, tangent, names)
    return found
