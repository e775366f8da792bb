"""States that satisfy their constraints, found from a guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polhode.equations import Dynamics, formulate
from polhode.equations.program import Program, program_of, row_sizes
from polhode.model import Model
from polhode.model.errors import closest

_STEPS = 200
_CLOSED = 1e-10
_NOWHERE = 1e6  # the residual where there is none
_LONGEST = 0.5  # of one step: radians or metres


class State(NamedTuple):
    """Coordinates (nq,) and speeds (nu,)."""

    q: np.ndarray
    u: np.ndarray


class AssemblyError(ValueError):
    """A loop that cannot close."""


def assemble(
    model: Model | Dynamics | Program,
    q0: Any = None,
    u0: Any = None,
    keep: Iterable[str] = (),
    t: float = 0.0,
    p: Any = None,
) -> State:
    """Find a state that satisfies the constraints, positions first, then speeds, nearest to a guess.

    q0, u0 : arrays, or values by name; at rest where nothing is given
    keep   : names of coordinates and speeds that must stay as they are given

    Raises AssemblyError that names the constraint which cannot be satisfied.
    """
    program = _program(model)
    eq = program.equations
    q = values_of(q0, [str(s.value) for s in eq.q], eq.model.neutral(), "q0")
    u = values_of(u0, [str(s.value) for s in eq.u], [0.0] * len(eq.u), "u0")
    kept = {keep} if isinstance(keep, str) else set(keep)
    names = [*(str(s.value) for s in eq.q), *(str(s.value) for s in eq.u)]
    for name in kept:
        if name not in names:
            raise KeyError(f"There is no coordinate or speed {name!r} to keep. {closest(name, names)}")
    solver = _Solver(program, parameters_of(program.dynamics, p), t)
    q = solver.positions(q, kept)
    return State(q, solver.speeds(q, u, kept))


def _program(model: Model | Dynamics | Program) -> Program:
    if isinstance(model, Program):
        return model
    if not isinstance(model, (Model, Dynamics)):
        raise TypeError(f"assemble takes a Model or a Dynamics, found {model!r:.60}. Make one with eq.compile().")
    return program_of(formulate(model).compile() if isinstance(model, Model) else model)


class _Solver:
    """Residuals of a machine as NumPy arrays."""

    def __init__(self, program: Program, p: np.ndarray, t: float) -> None:
        self.program, self.p, self.t = program, p if len(p) else np.zeros(1), np.array([t], dtype=float)
        self.nu, self.nv = len(program.equations.u), len(program.base.u)
        self.holonomic = np.array(program.held.holonomic, dtype=bool)
        self.size = np.zeros(len(self.holonomic))  # of the rows, by which residuals are measured

    def closure(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of positions, and their J in the speeds of the joints."""
        found = self.program.positions(self.t[0], np.append(q, np.zeros(self.nu)), self.p)
        phi, J = (np.nan_to_num(part, nan=_NOWHERE) for part in found)
        self.size = np.maximum(self.size, np.abs(J).max(axis=1, initial=0))
        size = np.where(self.size > 1e-9, self.size, 1.0)[self.holonomic]
        return phi[self.holonomic] / size, J[self.holonomic] / size[:, None]

    def residuals(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of speeds, and their J."""
        psi, J = (np.nan_to_num(part, nan=_NOWHERE) for part in self.program.speeds(self.t[0], np.append(q, u), self.p))
        return psi, J

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Coordinates after a small motion along the speeds of the joints."""
        return self.program.unit(q + self.program.moves(self.t, np.concatenate([q, step]), self.p))

    def positions(self, q: np.ndarray, kept: set[str]) -> np.ndarray:
        """Close the loops from the guess; where that stops short, from guesses around it."""
        q = self.moved(q, np.zeros(self.nv))
        held = [i for i, s in enumerate(self.program.equations.q) if str(s.value) in kept]
        found, phi = self._closed(q, np.zeros(self.nv), held)
        draw = np.random.default_rng(0)
        for attempt in range(12):
            if np.abs(phi).max(initial=0) <= _CLOSED * max(1.0, np.abs(found).max(initial=0)):
                return found
            motions = self._motions(q, held)
            aside = motions @ draw.normal(size=motions.shape[1]) * 0.1 * (1 + attempt)
            trial, rest = self._closed(q, aside, held)
            if np.abs(rest).max() < np.abs(phi).max():
                found, phi = trial, rest
        reach = max(1.0, np.abs(found).max(initial=0))
        names = [n for n, h in zip(self.program.held.names, self.holonomic, strict=True) if h]
        self._require(phi, reach, names, kept)
        return found

    def _closed(self, q: np.ndarray, away: np.ndarray, held: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Newton's method with the shortest steps, drawn back towards the guess along the constraints.

        away : how far from the guess to begin
        """
        q = self.moved(q, away)
        phi, J = self.closure(q)
        for _ in range(_STEPS):
            motions = self._motions(q, held)
            A = J @ motions
            inverse = np.linalg.pinv(A, rcond=1e-9)
            back = -motions.T @ away
            step = motions @ (back - inverse @ (phi + A @ back))
            longest = np.abs(step).max(initial=0)
            step *= min(1.0, _LONGEST / longest) if longest > 0 else 1.0
            if longest < 1e-13 or (len(phi) and np.abs(phi).max() < 1e-15 and longest < 1e-9):
                break
            scale = 1.0
            while True:  # shorter where the residual grows
                trial = self.moved(q, scale * step)
                found, J_new = self.closure(trial)
                if np.linalg.norm(found) <= (1 + 0.1 * scale) * np.linalg.norm(phi) + 1e-9 or scale < 1e-3:
                    break
                scale /= 2
            q, phi, J = trial, found, J_new
            away = away + scale * step
        # closed to rounding, without the pull
        for _ in range(3):
            if np.abs(phi).max(initial=0) <= 1e-15:
                break
            motions = self._motions(q, held)
            step = -motions @ np.linalg.pinv(J @ motions, rcond=1e-9) @ phi
            trial = self.moved(q, step)
            found, J_new = self.closure(trial)
            if np.abs(found).max() >= np.abs(phi).max():
                break
            q, phi, J = trial, found, J_new
        return q, phi

    def _motions(self, q: np.ndarray, held: list[int]) -> np.ndarray:
        """An orthonormal basis of the speeds of the joints that leave the held coordinates alone, (nv, k)."""
        if not held:
            return np.eye(self.nv)
        states = np.hstack([np.tile(q, (self.nv, 1)), np.eye(self.nv)])
        N = self.program.moves(self.t, states, self.p)[:, held].T
        _, sizes, rows = np.linalg.svd(N)
        return np.asarray(rows[int((sizes > 1e-9 * max(1.0, sizes.max(initial=0))).sum()) :].T)

    def speeds(self, q: np.ndarray, u: np.ndarray, kept: set[str]) -> np.ndarray:
        """The nearest speeds that the constraints allow."""
        free = np.array([str(s.value) not in kept for s in self.program.equations.u], dtype=bool)
        for _ in range(2):
            psi, J = self.residuals(q, u)
            u = u.copy()
            u[free] -= np.linalg.pinv(J[:, free], rcond=1e-9) @ psi
        psi, J = self.residuals(q, u)
        reach = max(1.0, np.abs(u).max(initial=0))
        self._require(psi / row_sizes(J), reach, list(self.program.constraints.names), kept, "speeds")
        return u

    def _require(
        self, residual: np.ndarray, reach: float, names: list[str], kept: set[str], what: str = "positions"
    ) -> None:
        """Refuse residuals, by the size of their rows, beyond what rounding of values up to `reach` explains."""
        worst = np.abs(residual).max(initial=0)
        if worst <= _CLOSED * reach:
            return
        sizes: dict[str, float] = {}
        for name, r in zip(names, residual, strict=True):
            sizes[name] = max(sizes.get(name, 0.0), abs(float(r)))
        name = max(sizes, key=lambda n: sizes[n])
        others = [n for n, r in sizes.items() if r > _CLOSED and n != name]
        also = f" (with {', '.join(map(repr, others))})" if others else ""
        held = f" while {', '.join(map(repr, sorted(kept)))} stay" + ("s" if len(kept) == 1 else "") if kept else ""
        raise AssemblyError(
            f"Constraint {name!r}{also} cannot be satisfied in its {what}{held}: it stays {sizes[name]:.3g} off. "
            "Start nearer to a closed state, keep less, or check the lengths."
        )


def values_of(given: Any, names: Sequence[str], rest: Sequence[float] | np.ndarray, what: str) -> np.ndarray:
    """An array from an array, or from values by name with the rest at rest."""
    if given is None:
        return np.array(rest, dtype=float)
    if isinstance(given, Mapping):
        found = np.array(rest, dtype=float)
        for key, value in given.items():
            if str(key) not in names:
                raise KeyError(f"{what}: there is no {str(key)!r}. {closest(str(key), names)}")
            found[list(names).index(str(key))] = _number(value, f"{what}: {str(key)!r}")
    else:
        try:
            found = np.array(given, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(f"{what} is {given!r:.60}, expected numbers, in an array or by name.") from None
        if found.shape != (len(names),):
            raise ValueError(f"{what} has shape {found.shape}, expected ({len(names)},): {', '.join(names[:8])}.")
    if not np.isfinite(found).all():
        bad = names[int(np.argmin(np.isfinite(found)))]
        raise ValueError(f"{what}: {bad!r} is NaN or infinite, expected a number.")
    return found


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {value!r:.60}, expected a number.") from None


def parameters_of(dynamics: Dynamics, p: Any) -> np.ndarray:
    """The run-time parameters of a dynamics in their order."""
    names = dynamics.parameters
    if isinstance(p, Mapping) or p is None:
        given = {str(k): v for k, v in (p or {}).items()}
        for name in given:
            if name not in names:
                raise KeyError(f"p: there is no parameter {name!r}. {closest(name, names)}")
        if missing := [name for name in names if name not in given]:
            raise ValueError(
                f"No value for parameter {missing[0]!r}. Give p={{{missing[0]!r}: ...}}, "
                "or fold values in with compile(values=...)."
            )
        return values_of(given, names, [0.0] * len(names), "p")
    return values_of(p, names, [0.0] * len(names), "p")
