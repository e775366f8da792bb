"""States that satisfy their constraints, found from a guess."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from polhode.equations import Dynamics, Equations, formulate
from polhode.equations.program import Program, program_of
from polhode.kernels.settle import LOOSE
from polhode.model import Builder, Model
from polhode.model.errors import closest
from polhode.model.spelling import spelled

from .asked import is_number, parameters_of, state_of

_STEPS = 200
_CLOSED = 1e-10
_NOWHERE = 1e6  # the residual where there is none
_LONGEST = 0.5  # of one step: radians, or sizes of the machine


class State(NamedTuple):
    """Coordinates (nq,) and speeds (nu,)."""

    q: np.ndarray
    u: np.ndarray


class AssemblyError(ValueError):
    """A loop that cannot close."""


@spelled("assemble")
def assemble(
    model: Model | Dynamics | Program,
    q0: Any = None,
    u0: Any = None,
    keep: Iterable[str] = (),
    t: float = 0.0,
    p: Any = None,
    z0: Any = None,
) -> State:
    """Find a state that satisfies the constraints, positions first, then speeds, nearest to a guess.

    q0, u0 : arrays, or values by name; at rest where nothing is given
    keep   : names of coordinates and speeds that must stay as they are given
    z0     : states beside motion, likewise; where runs start them where nothing is given

    Bodies that deform keep the shape of the guess where the constraints can be satisfied so.

    Raises AssemblyError that names the constraint which cannot be satisfied.
    """
    program = _program(model)
    eq = program.equations
    values = parameters_of(program.dynamics, p)
    q, u, z = state_of(eq, q0, u0, z0, program.starts(values))
    coordinates, speeds = ([str(s.value) for s in part] for part in (eq.q, eq.u))
    kept = {keep} if isinstance(keep, str) else set(keep)
    for name in kept.difference(coordinates, speeds):
        raise KeyError(f"There is no coordinate or speed {name!r} to keep. {closest(name, [*coordinates, *speeds])}")
    if not (is_number(t) and np.isfinite(t)):
        raise ValueError(f"t is {t!r:.60}, expected a time.")
    solver = Closing(program, values, t, z)
    stiff = kept | {name for body in eq.model.bodies for name in (*body.modes, *(f"{mode}_dot" for mode in body.modes))}
    try:
        closed = solver.positions(q, stiff)
        return State(closed, solver.speeds(closed, u, stiff))
    except AssemblyError:
        if stiff == kept:
            raise
    q = solver.positions(q, kept)
    return State(q, solver.speeds(q, u, kept))


def _program(model: Model | Dynamics | Program) -> Program:
    if isinstance(model, Program):
        return model
    if not isinstance(model, (Model, Dynamics)):
        said = f"{model!r:.60}"
        if isinstance(model, Equations):
            said = "Equations. Compile them: equations.compile()"
        if isinstance(model, Builder):
            said = f"the builder {model.name!r:.60}. Give build.build()"
        raise TypeError(f"assemble takes a Model or a Dynamics, found {said}.")
    return program_of(formulate(model).compile() if isinstance(model, Model) else model)


class Closing:
    """Residuals of a machine as NumPy arrays, without units.

    Turns are measured in radians and slides by the size of the machine; rows by the motion that
    their reference allows, and by the least of it that a row must have of its own to count.
    """

    def __init__(self, program: Program, p: np.ndarray, t: float, z: np.ndarray) -> None:
        self.program, self.p, self.t = program, program.completed(p), float(t)
        self.nu, self.nv = len(program.equations.u), len(program.base.u)
        holding = program.holding(None)  # not what comes and goes
        self.about = np.array([name in holding for name in program.held.names], dtype=bool)
        self.about &= np.array(program.held.holonomic, dtype=bool)
        self.on = np.array([name in holding for name in program.constraints.names], dtype=bool)
        self.least = np.array(program.held.least)
        self.rest = np.concatenate([z, np.zeros(len(program.work))])  # what stands behind q and u

    def rows(self, q: np.ndarray, u: np.ndarray, positions: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residuals and J in units of what counts, of rows about positions or of all, and extents of the speeds.

        Speeds as well are measured by the motions of their reference, in 1/s: fast ones do not change which rows count.
        """
        x = np.concatenate([q, u, self.rest])
        found = self.program.assembled(self.t, x, self.p, positions)
        residual, J, E, far = (np.nan_to_num(part, nan=_NOWHERE) for part in found)
        if positions:
            size = self.program.measured(self.t, x, self.p)[2]
        else:
            size = np.sqrt(((E * far) ** 2).sum(axis=1))
        least, chosen = self.least[: len(residual)], self.about if positions else self.on
        unit = np.where(size > 0, size, 1.0)
        return (residual / unit)[chosen], (J * far / (unit * least)[:, None])[chosen], far

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Coordinates after a small motion along the speeds of the joints."""
        return self.program.unit(q + self.program.moved(self.t, q, step, self.p))

    def positions(self, q: np.ndarray, kept: set[str]) -> np.ndarray:
        """Close the loops from the guess; where that stops short, from guesses around it."""
        q = self.moved(q, np.zeros(self.nv))
        fixed = [i for i, s in enumerate(self.program.equations.q) if str(s.value) in kept]
        found, left = self._closed(q, np.zeros(self.nv), fixed)
        draw = np.random.default_rng(0)
        for attempt in range(12):
            if left.closed:
                return found
            motions = self._motions(q, fixed)
            aside = motions @ draw.normal(size=motions.shape[1]) * 0.1 * (1 + attempt)
            trial, rest = self._closed(q, aside, fixed)
            if rest.worst < left.worst:
                found, left = trial, rest
        names = [n for n, h in zip(self.program.held.names, self.about, strict=True) if h]
        if not left.closed:
            raise self._open(left, names, kept, "positions")
        return found

    def closed(self, q: np.ndarray, fixed: list[int]) -> tuple[np.ndarray, bool]:
        """The nearest coordinates that satisfy the constraints, by small motions that leave the fixed ones; if any."""
        found, left = self._closed(q, np.zeros(self.nv), fixed)
        return found, left.closed

    def _closed(self, q: np.ndarray, away: np.ndarray, fixed: list[int]) -> tuple[np.ndarray, _Left]:
        """Newton's method with the shortest steps, drawn back towards the guess along the constraints.

        away : how far from the guess to begin, in extents
        """
        far = self.rows(q, np.zeros(self.nu), True)[2]
        q = self.moved(q, far * away)
        rest = np.zeros(self.nu)
        phi, J, far = self.rows(q, rest, True)
        least = self.least[self.about]
        for _ in range(_STEPS):
            motions = self._motions(q, fixed)
            A = J @ motions
            back = -motions.T @ away
            step = motions @ (back - _shortest(A, phi / least + A @ back))
            longest = np.abs(step).max(initial=0)
            step *= min(1.0, _LONGEST / longest) if longest > 0 else 1.0
            if longest < 1e-13 or (len(phi) and np.abs(phi).max() < 1e-15 and longest < 1e-9):
                break
            scale = 1.0
            while True:  # shorter where the residual grows
                trial = self.moved(q, scale * far * step)
                found, J_new, far_new = self.rows(trial, rest, True)
                if np.linalg.norm(found) <= (1 + 0.1 * scale) * np.linalg.norm(phi) + 1e-9 or scale < 1e-3:
                    break
                scale /= 2
            q, phi, J, far = trial, found, J_new, far_new
            away = away + scale * step
        # closed to rounding, without the pull
        for _ in range(3):
            if np.abs(phi).max(initial=0) <= 1e-15:
                break
            motions = self._motions(q, fixed)
            trial = self.moved(q, -far * (motions @ _shortest(J @ motions, phi / least)))
            found, J_new, far_new = self.rows(trial, rest, True)
            if np.abs(found).max() >= np.abs(phi).max():
                break
            q, phi, J, far = trial, found, J_new, far_new
        return q, _Left.of(phi, J @ self._motions(q, fixed), least)

    def _motions(self, q: np.ndarray, fixed: list[int]) -> np.ndarray:
        """An orthonormal basis of the motions that leave the fixed coordinates alone, (nv, k), in extents."""
        if not fixed:
            return np.eye(self.nv)
        far = self.rows(q, np.zeros(self.nu), True)[2]
        N = self.program.moved(self.t, np.tile(q, (self.nv, 1)), np.diag(far), self.p)[:, fixed].T
        N = N / np.maximum(np.abs(N).max(axis=1, keepdims=True), 1e-300)
        _, sizes, rows = np.linalg.svd(N)
        return np.asarray(rows[int((sizes > 1e-9 * max(1.0, sizes.max(initial=0))).sum()) :].T)

    def speeds(self, q: np.ndarray, u: np.ndarray, kept: set[str]) -> np.ndarray:
        """The nearest speeds that the constraints allow."""
        free = np.array([str(s.value) not in kept for s in self.program.equations.u], dtype=bool)
        if not self.on.any():
            return u
        least, given = self.least[: len(self.program.constraints)][self.on], u
        for _ in range(3):
            psi, J, far = self.rows(q, u, False)
            u = u.copy()
            u[free] -= far[free] * _shortest(J[:, free], psi / least)
        psi, J, far = self.rows(q, u, False)
        # a part that is held still is measured by the speed it was to have
        both = [self.program.measured(self.t, np.concatenate([q, v, self.rest]), self.p)[1::2] for v in (u, given)]
        residual, pace = both[0][0], np.maximum(both[0][1], both[1][1])
        paces = np.where(pace > 0, pace, 1.0)
        left = _Left.of((residual / paces)[self.on], J[:, free], least)
        if not left.closed:
            names = [name for name, on in zip(self.program.constraints.names, self.on, strict=True) if on]
            raise self._open(left, names, kept, "speeds")
        return u

    @staticmethod
    def _open(left: _Left, names: list[str], kept: set[str], what: str) -> AssemblyError:
        """What cannot be satisfied."""
        sizes: dict[str, float] = {}
        for name, r in zip(names, np.abs(left.residual), strict=True):
            sizes[name] = max(sizes.get(name, 0.0), float(r))
        name = max(sizes, key=lambda n: sizes[n])
        others = [n for n, r in sizes.items() if r > LOOSE and n != name]
        also = f" (with {', '.join(map(repr, others))})" if others else ""
        meanwhile = (
            f" while {', '.join(map(repr, sorted(kept)))} stay" + ("s" if len(kept) == 1 else "") if kept else ""
        )
        return AssemblyError(
            f"Constraint {name!r}{also} cannot be satisfied in its {what}{meanwhile}: it stays {sizes[name]:.3g} off, "
            "of the size of what it ties. Start nearer to a closed state, keep less, or check the lengths."
        )


class _Left(NamedTuple):
    """Residuals that are left, (m,), and the part of them that motions could still remove."""

    residual: np.ndarray
    movable: np.ndarray

    @classmethod
    def of(cls, residual: np.ndarray, J: np.ndarray, least: np.ndarray) -> _Left:
        if not len(residual):
            return cls(residual, residual)
        rows, sizes, _ = np.linalg.svd(J, full_matrices=False)
        rows = rows[:, sizes > 1]
        return cls(residual, least * (rows @ (rows.T @ (residual / least))))

    @property
    def worst(self) -> float:
        return float(np.abs(self.residual).max(initial=0))

    @property
    def closed(self) -> bool:
        """Whether the rows that count are satisfied to rounding, and those that repeat them as well as files are."""
        return bool(np.abs(self.movable).max(initial=0) <= _CLOSED and self.worst <= LOOSE)


def _shortest(A: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The shortest v with A v = r, of the rows that count: in the units of A, 1 or more."""
    if not A.size:
        return np.zeros(A.shape[1])
    rows, sizes, columns = np.linalg.svd(A, full_matrices=False)
    found: np.ndarray = columns.T @ np.where(sizes > 1, (rows.T @ r) / np.maximum(sizes, 1), 0)
    return found
