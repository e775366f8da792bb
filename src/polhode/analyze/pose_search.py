"""The search for coordinates at which a marker is where it is wanted: see `reach`.

Motions are counted in extents: turns in radians, slides in sizes of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from polhode.compile import Function
from polhode.equations import Dynamics
from polhode.equations.program import program_of
from polhode.model import Limits
from polhode.model.errors import listed
from polhode.model.implied import limited
from polhode.simulate.asked import parameters_of, values_of
from polhode.simulate.assemble import Closing

STEPS = 200  # of one start
MET = 1e-10  # of the size of the machine, or radians: the target is met
STILL = 1e-9  # of a step: nothing gets nearer
HOME = 60  # steps towards q0 along what the target leaves free
LONGEST = 0.5  # of one step: radians, or sizes of the machine
RANK = 1e-8  # of the largest singular value, below which a motion does not count
_KNOWN: WeakKeyDictionary[Dynamics, dict[str, Function]] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True, eq=False)
class Reached:
    """What `reach` found: the coordinates nearest to the target.

    q        : coordinates, (nq,), at which the constraints hold
    reached  : whether the marker is where it is wanted
    distance : between where it is and where it is wanted, m; angle : the same of its axes, rad, 0 where none were given
    reason   : one sentence
    limits   : names of the coordinates that are at a limit
    steps    : of the start that found it; starts : how many were tried
    """

    q: np.ndarray
    reached: bool
    distance: float
    angle: float
    reason: str
    limits: tuple[str, ...]
    steps: int
    starts: int

    def __bool__(self) -> bool:
        return self.reached

    def __repr__(self) -> str:
        turned = f" and {self.angle:.3g} rad" if self.angle else ""
        return self.reason if self.reached else f"{self.reason} {self.distance:.3g} m{turned} off."


@dataclass(frozen=True, kw_only=True)
class _Look:
    """How far the target is, (3,) or (6,), and how that changes, (.., nv): radians and sizes, by motions in extents."""

    left: np.ndarray
    J: np.ndarray

    @property
    def cost(self) -> float:
        return float(np.linalg.norm(self.left))


class Search:
    """One machine and one target, with motions in extents: radians, and sizes of the machine."""

    def __init__(
        self, dynamics: Dynamics, marker: str, wanted: tuple[np.ndarray, np.ndarray | None], q0: Any, limits: bool,
        t: float, z: Any, p: Any,
    ) -> None:  # fmt: skip
        program = program_of(dynamics)
        eq = program.equations
        values = parameters_of(dynamics, p)
        self.names = [str(s.value) for s in eq.q]
        states = values_of(z, [str(s.value) for s in eq.z], program.starts(values), "z")
        self.program, self.closing = program, Closing(program, values, float(t), states)
        self.position, self.axes = wanted
        self.code = _seen(dynamics, marker)
        self.home = program.unit(values_of(q0, self.names, eq.model.neutral(), "q0"))
        bounds = dict(limited(eq.model.bodies)) if limits else {}
        rows = [bounds.get(name, Limits()) for name in self.names]
        self.low = np.array([-np.inf if row.lower is None else row.lower for row in rows])
        self.high = np.array([np.inf if row.upper is None else row.upper for row in rows])
        far = self._far(self.home)
        _, lever = self._at(self.home)
        self.size = max(float(np.linalg.norm(lever[3:] * far, axis=0).max(initial=0.0)), 1e-9)

    # the machine at coordinates

    def _far(self, q: np.ndarray) -> np.ndarray:
        return self.closing.rows(q, np.zeros(self.closing.nu), True)[2]

    def _at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pose, (3, 4), and Jacobian, (6, nv)."""
        x = np.concatenate([q, np.zeros(self.closing.nu), self.closing.rest])
        found = self.code(np.array([self.closing.t]), x, self.closing.p)
        return found[:12].reshape(3, 4), found[12:].reshape(6, -1)

    def _look(self, q: np.ndarray, far: np.ndarray) -> _Look:
        X, J = self._at(q)
        left, rows = (self.position - X[:, 3]) / self.size, J[3:] * far / self.size
        if self.axes is not None:
            left, rows = np.concatenate([_turn(self.axes @ X[:, :3].T), left]), np.vstack([J[:3] * far, rows])
        return _Look(left=left, J=rows)

    def _rates(self, q: np.ndarray, far: np.ndarray) -> np.ndarray:
        """How coordinates change by motions, (nq, nv)."""
        n = self.closing.nv
        return np.asarray(self.program.moved(self.closing.t, np.tile(q, (n, 1)), np.diag(far), self.closing.p)).T

    def _moved(self, q: np.ndarray, step: np.ndarray, far: np.ndarray, fixed: list[int]) -> np.ndarray:
        """Coordinates after a motion, closed again."""
        found = self.closing.moved(q, far * step)
        if self.closing.about.any():
            found, _ = self.closing.closed(found, fixed)
        return np.clip(found, self.low, self.high) if np.isfinite([*self.low, *self.high]).any() else found

    def _step(
        self, q: np.ndarray, far: np.ndarray, solve: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, list[int]]:
        """A motion that keeps constraints and limits, and the coordinates that it leaves at a limit.

        solve : of motions v = v0 + Z y the y, (k,), from v0 and Z
        """
        phi, rows, _ = self.closing.rows(q, np.zeros(self.closing.nu), True)
        rates, least = self._rates(q, far), self.closing.least[self.closing.about]
        fixed: list[int] = []
        while True:
            held = np.array([self.high[i] if over else self.low[i] for i, over in self._over(fixed)]) - q[fixed]
            C, c = np.vstack([rows, rates[fixed]]), np.concatenate([-phi / least, held])
            v0, Z = _split(C, c)
            v = v0 + Z @ solve(v0, Z)
            longest = np.abs(v).max(initial=0.0)
            v = v * min(1.0, LONGEST / longest) if longest > 0 else v
            after = q + rates @ v
            beyond = [i for i in range(len(q)) if i not in fixed and not self.low[i] <= after[i] <= self.high[i]]
            if not beyond or len(fixed) >= len(q):
                return v, fixed
            worst = max(beyond, key=lambda i: max(self.low[i] - after[i], after[i] - self.high[i]))
            self._side[worst] = after[worst] > self.high[worst]
            fixed.append(worst)

    def _over(self, fixed: list[int]) -> list[tuple[int, bool]]:
        return [(i, self._side[i]) for i in fixed]

    # the search

    def cost(self, found: Reached) -> float:
        return float(np.hypot(found.distance / self.size, found.angle))

    def guess(self, draw: np.random.Generator) -> np.ndarray:
        """Coordinates at random: within limits where there are any, else up to half a turn or the machine's size."""
        aside = draw.uniform(-1, 1, self.closing.nv)
        found = self.closing.moved(self.home, self._far(self.home) * aside)
        for i, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if np.isfinite(low) and np.isfinite(high):
                middle, half = (low + high) / 2, min((high - low) / 2, np.pi)
                found[i] = np.clip(draw.uniform(middle - half, middle + half), low, high)
            elif i not in self._quaternions:
                found[i] += draw.uniform(-2, 2) * (1.0 if abs(found[i]) < np.pi else 0.0)
        return found

    @cached_property
    def _quaternions(self) -> set[int]:
        return {first + k for first in self.program.quaternions() for k in range(4)}

    def run(self, q: np.ndarray) -> Reached:
        """Search from one start."""
        self._side: dict[int, bool] = {}
        q = np.clip(self.closing.moved(q, np.zeros(self.closing.nv)), self.low, self.high)
        if self.closing.about.any():
            q = np.clip(self.closing.positions(q, set()), self.low, self.high)
        far = self._far(q)
        look, damping, fixed, still = self._look(q, far), 1e-2, list[int](), False
        steps = 0
        while steps < STEPS and look.cost > MET:
            steps += 1
            here, weight = look, damping * look.cost**2 + 1e-12

            def solve(v0: np.ndarray, Z: np.ndarray, here: _Look = here, weight: float = weight) -> np.ndarray:
                A, b = here.J @ Z, here.left - here.J @ v0
                return np.asarray(np.linalg.solve(A.T @ A + weight * np.eye(A.shape[1]), A.T @ b))

            v, fixed = self._step(q, far, solve)
            if np.abs(v).max(initial=0.0) < STILL:
                still = True
                break
            trial = self._moved(q, v, far, fixed)
            far_then = self._far(trial)
            then = self._look(trial, far_then)
            if then.cost < look.cost * (1 - 1e-12):
                still = look.cost - then.cost < 1e-14 * look.cost
                q, far, look, damping = trial, far_then, then, max(damping / 5, 1e-8)
            else:
                damping *= 5
                still = damping > 1e12
            if still:
                break
        if look.cost <= MET:
            q, fixed = self._homeward(q)
            look = self._look(q, self._far(q))
        return self._reached(q, look, fixed, still, steps)

    def _homeward(self, q: np.ndarray) -> tuple[np.ndarray, list[int]]:
        """Towards q0 along what the target leaves free."""
        fixed: list[int] = []
        away, share = self._away(q), 1.0
        for _ in range(HOME):
            far = self._far(q)
            look = self._look(q, far)

            def solve(v0: np.ndarray, Z: np.ndarray, J: np.ndarray = look.J, back: np.ndarray = away) -> np.ndarray:
                _, free = _split(J @ Z, np.zeros(len(J)))
                return np.asarray(free @ (free.T @ (Z.T @ back)))

            v, fixed = self._step(q, far, solve)
            if np.abs(v).max(initial=0.0) < 1e-8:
                break
            trial = self._moved(q, share * v, far, fixed)
            for _ in range(5):  # back on the target
                far_then = self._far(trial)
                then = self._look(trial, far_then)
                if then.cost <= MET:
                    break

                def nearest(v0: np.ndarray, Z: np.ndarray, then: _Look = then) -> np.ndarray:
                    return np.asarray(np.linalg.lstsq(then.J @ Z, then.left - then.J @ v0, rcond=RANK)[0])

                w, fixed = self._step(trial, far_then, nearest)
                trial = self._moved(trial, w, far_then, fixed)
            there = self._away(trial)
            if np.linalg.norm(there) < np.linalg.norm(away) and self._look(trial, self._far(trial)).cost <= MET:
                q, away, share = trial, there, min(1.0, 2 * share)
            else:
                share /= 2
                if share < 1e-4:
                    break
        return q, fixed

    def _away(self, q: np.ndarray) -> np.ndarray:
        """The motion that leads home, in extents."""
        far = self._far(q)
        home = self.home.copy()
        for first in self.program.quaternions():  # of the two quaternions of one turn the nearer
            part = slice(first, first + 4)
            home[part] *= 1.0 if home[part] @ q[part] >= 0 else -1.0
        return np.asarray(np.linalg.lstsq(self._rates(q, far), home - q, rcond=None)[0])

    def _reached(self, q: np.ndarray, look: _Look, fixed: list[int], still: bool, steps: int) -> Reached:
        at = [i for i in range(len(q)) if q[i] in (self.low[i], self.high[i])]
        pushed = [self.names[i] for i in fixed if i in at]
        reached = look.cost <= MET
        if reached:
            reason = "Reached."
        elif not still:
            reason = f"Not reached after {STEPS} steps, and still getting nearer."
        elif pushed:
            reason = f"Not reached: no motion gets nearer within the limits of {listed(pushed)}."
        else:
            reason = "Not reached: no small motion gets nearer, so it is out of reach, or another start does."
        turn, off = (look.left[:3], look.left[3:]) if self.axes is not None else (np.zeros(3), look.left)
        return Reached(
            q=q, reached=reached, distance=float(np.linalg.norm(off)) * self.size, angle=float(np.linalg.norm(turn)),
            reason=reason, limits=tuple(self.names[i] for i in at), steps=steps, starts=1,
        )  # fmt: skip


def _split(C: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest v with C v = c, and a basis of the motions that C leaves, (n, k)."""
    n = C.shape[1]
    if not len(C):
        return np.zeros(n), np.eye(n)
    left, sizes, right = np.linalg.svd(C)
    rank = int((sizes > RANK * max(sizes.max(initial=0.0), 1e-300)).sum())
    return right[:rank].T @ ((left[:, :rank].T @ c) / sizes[:rank]), right[rank:].T


def _turn(R: np.ndarray) -> np.ndarray:
    """The vector of a turn: its axis times its angle."""
    axial = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    sine, cosine = float(np.linalg.norm(axial)), (np.trace(R) - 1) / 2
    angle = float(np.arctan2(sine, cosine))
    if sine > 1e-6 * max(-cosine, 0.0) and sine > 0:
        return axial * (angle / sine)
    if cosine > 0:
        return axial
    k = int(np.argmax(np.diag(R)))  # half a turn: R = 2 a a^T - 1
    a = R[k] + np.eye(3)[k]
    return np.asarray(a / np.linalg.norm(a) * angle)


def _seen(dynamics: Dynamics, marker: str) -> Function:
    """The call (t, x, p) -> pose and Jacobian of a marker, by the speeds of the joints, made once."""
    known = _KNOWN.setdefault(dynamics, {})
    if marker not in known:
        joints = program_of(dynamics).base
        pose, J = joints.pose(marker).matrix()[:3, :], joints.jacobian(marker)
        known[marker] = program_of(dynamics).compiled("reach", [*pose.entries, *J.entries])
    return known[marker]
