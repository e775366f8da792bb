"""Audits of a motion: energy against work, momentum, constraints.

    d/dt (T + V) = u . tau + u . Q + dV_el/dt + lam . J u

and at states that were set by hand and at strikes, what they bring; at impacts, -lost.
V_el is the part of V that Q has the forces of: springs and potentials. What is
left of u . Q after them is dampers, friction and wrenches. Constraints do work
where they slide, and where they move with time, J u = -d phi/dt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.equations.code import WORK
from polhode.graph import Matrix, as_expr, substitute
from polhode.kinematics import Motion
from polhode.spatial import Wrench

from .interpolate import thirds
from .quantities import run

if TYPE_CHECKING:
    from .trajectory import Trajectory


def momentum(kin: Motion) -> Matrix:
    """Angular momentum about the world's origin and linear momentum, (6,), summed outside in."""
    links = kin.joints.links
    found = []
    for link, V in zip(links, kin.V, strict=True):
        rates = () if link.modes is None else [kin.quasi.get(u, u) for u in link.modes.rates]
        found.append(link.inertia @ V if link.modes is None else link.modes.body.momentum(V, rates)[0])
    total = Wrench.zero()
    for k in reversed(range(len(found))):
        link = links[k]
        if link.parent < 0:
            total = total + link.X @ found[k]
        else:
            found[link.parent] = found[link.parent] + link.X @ found[k]
    return total.vector()


def work(traj: Trajectory) -> np.ndarray:
    """Work since the start, (k, 4): of tau, of the model's own forces, none of losses, of constraints that move.

    Simpson's rule between outputs, where the run did not count it.
    """
    start, middle, end = traj.powers
    steps = np.diff(traj.t)[:, None] / 6 * (start + 4 * middle + end)
    return np.concatenate([np.zeros((1, len(WORK))), np.cumsum(steps, axis=0)])


def powers(traj: Trajectory) -> np.ndarray:
    """Power at the start, the middle and the end of every interval, (3, k - 1, 4)."""
    eq = traj.dynamics.equations
    found = np.zeros((3, len(traj) - 1, len(WORK)))
    if len(traj) == 1:
        return found
    middle = (traj.t[:-1] + traj.t[1:]) / 2
    q, u = traj.at(middle)
    states = [(traj.t[:-1], traj.q[:-1], traj.u[:-1]), (middle, q, u), (traj.t[1:], traj.q[1:], traj.u[1:])]
    beside = thirds(traj.t, traj.z, False)
    if traj.tau.any():
        forces = thirds(traj.t, traj.tau, traj.sampled is not None)
        nu = len(eq.u)
        found[..., WORK.index("input")] = [
            np.einsum("kn,kn->k", x[2], f[:, :nu]) for x, f in zip(states, forces, strict=True)
        ]
    if eq.model.actuators:
        forces = thirds(traj.t, traj.tau, traj.sampled is not None)
        found[..., WORK.index("input")] += [
            run(traj, [eq.actuator_power], *x, f, z)[0] for x, f, z in zip(states, forces, beside, strict=True)
        ]
    own = eq.own_power
    if own != 0:
        found[..., WORK.index("own")] = [
            run(traj, [own], *x, np.zeros((len(x[0]), traj.tau.shape[1])), z)[0]
            for x, z in zip(states, beside, strict=True)
        ]
    if _moves(traj):
        moved = eq.constraints.J @ eq.u
        forces = thirds(traj.t, traj.tau, traj.sampled is not None)
        lam = [traj.respond(*x, f, z)[1] for x, f, z in zip(states, forces, beside, strict=True)]
        rates = [run(traj, [moved], *x, f, z)[0] for x, f, z in zip(states, forces, beside, strict=True)]
        found[..., WORK.index("constraints")] = [np.einsum("km,km->k", r, f) for r, f in zip(rates, lam, strict=True)]
    return found


def _vague(traj: Trajectory) -> float:
    """How much work may be wrong because outputs are far apart, from the difference to the trapezoidal rule."""
    start, _, end = traj.powers.sum(axis=2)
    flat = np.diff(traj.t) / 2 * (start + end)
    size = float(np.abs(flat).sum())
    off = float(np.abs(np.diff(traj.work.sum(axis=1)) - flat).sum())
    return off * min(off / size, 1.0) if size > 0 else off


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What should be conserved or balanced, and how well it is.

    energies   : kinetic, potential, total at the start, before what happened there, and at the end, (2, 3)
    work       : of tau, of the model's own forces, of impacts and friction, of moving constraints, (4,)
    by_hand    : energy of states that were set between steps, and of strikes
    impacts    : how many events took energy at once, and how much they took of it
    drift      : the largest energy that none of these accounts for
    scale      : the energy it is measured by: the largest kinetic energy or change of potential energy
    momenta    : sizes of angular and linear momentum at the start, at the end, and of their largest change, (3, 2)
    residuals  : the largest of every constraint, by name
    caveat     : what the balance of energy leaves out, "" where it is whole
    """

    name: str
    span: tuple[float, float]
    energies: np.ndarray
    work: np.ndarray
    drift: float
    scale: float
    momenta: np.ndarray
    residuals: dict[str, float]
    caveat: str = ""
    by_hand: float = 0.0
    impacts: tuple[int, float] = (0, 0.0)

    @classmethod
    def of(cls, traj: Trajectory) -> Audit:
        E, p = traj.energy, traj.momentum.reshape(-1, 2, 3)
        taken = traj.work[0].sum()  # by events at the start, where the first output is the state after them
        worst = () if traj.residuals is None else np.abs(traj.residuals).max(axis=0)
        return cls(
            name=traj.dynamics.equations.model.name,
            span=(float(traj.t[0]), float(traj.t[-1])),
            energies=E[[0, -1]] - np.array([[taken, 0.0, taken], [0.0, 0.0, 0.0]]),
            work=traj.work[-1],
            drift=_largest(traj.energy_drift),
            scale=_scale(traj),
            momenta=np.stack([_sizes(p[0]), _sizes(p[-1]), _sizes(p - p[0]).max(axis=0)]),
            residuals=dict(zip(traj.constraint_names, map(float, worst), strict=False)),
            caveat=_caveat(traj),
            by_hand=float(traj.set_by_hand[-1]),
            impacts=(sum(e.lost > 0 for e in traj.events), float(sum(e.lost for e in traj.events))),
        )

    @property
    def relative_drift(self) -> float:
        """The drift by the scale of the energies; 0 where nothing moved."""
        return self.drift / self.scale if self.scale > 0 else 0.0

    def __str__(self) -> str:
        lines = [f"Audit of {self.name!r}, t = {self.span[0]:g} to {self.span[1]:g} s", ""]
        lines.append(_row("", "start", "end", "change"))
        for k, name in enumerate(("kinetic", "potential", "total")):
            a, b = self.energies[:, k]
            lines.append(_row(f"{name} energy [J]", a, b, b - a))
        sources = ("inputs", "its own forces", "impacts and friction", "moving constraints")
        rows = [(f"work of {name}", value) for name, value in zip(sources, self.work, strict=True)]
        many, taken = self.impacts
        rows[3:3] = [(f"  of this {many} impact{'s' * (many > 1)}", -taken)]
        lines += [_row(f"{name} [J]", "", "", value) for name, value in [*rows, ("set by hand", self.by_hand)] if value]
        lines.append(_row("unaccounted for, at most [J]", "", "", self.drift))
        lines += ["", _row("", "start", "end", "largest change")]
        for k, (name, unit) in enumerate((("angular", "N m s"), ("linear", "N s"))):
            lines.append(_row(f"{name} momentum [{unit}]", *self.momenta[:, k]))
        if self.residuals:
            lines += ["", _row("constraint", "", "", "largest residual")]
            lines += [_row(name, "", "", value) for name, value in self.residuals.items()]
        verdict = f"Energy is accounted for to {self.relative_drift:.1e} of {self.scale:.4g} J, the most that moved."
        return "\n".join([*lines, "", verdict, *([self.caveat] if self.caveat else [])])

    __repr__ = __str__


def _moves(traj: Trajectory) -> bool:
    """Whether a constraint moves: what it asks of the speeds does not vanish with them."""
    eq = traj.dynamics.equations
    at_rest = substitute(eq.constraints.psi, dict.fromkeys(eq.u, as_expr(0)))
    return any(e != 0 for e in at_rest)


def _caveat(traj: Trajectory) -> str:
    counted = traj.work_done is not None
    if not counted and (vague := _vague(traj)) > max(1e-3 * _scale(traj), _largest(traj.energy_drift)):
        return f"Outputs are far apart: the work between them is known to {vague:.1g} J at best. Make them denser."
    if any(e != 0 for e in traj.dynamics.equations.kinematics.drift):
        return "Embedded constraints or speeds move with time: their work is not in the balance."
    if not counted and _jumps_between(traj):
        return "The controller changed its forces between outputs: their work is not known. Give output= its period."
    return ""


def _jumps_between(traj: Trajectory) -> bool:
    """Whether a sampled control was called between two outputs."""
    if traj.sampled is None:
        return False
    first, period = traj.sampled
    calls = (traj.t - first) / period
    return bool((np.ceil(calls[1:] - 1e-6) > np.floor(calls[:-1] + 1e-6) + 1).any())


def _scale(traj: Trajectory) -> float:
    """The energy that moved most."""
    return max(float(traj.energy[:, 0].max()), float(np.ptp(traj.energy[:, 1])))


def _sizes(vectors: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.linalg.norm(vectors, axis=-1)
    return found


def _largest(x: np.ndarray) -> float:
    return float(np.abs(x).max())


def _row(name: str, *cells: Any) -> str:
    shown = [cell if isinstance(cell, str) else f"{cell:.6g}" for cell in cells]
    return (f"{name:<32}" + "".join(f"{cell:>17}" for cell in shown)).rstrip()
