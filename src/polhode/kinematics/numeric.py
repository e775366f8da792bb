"""The inertia of a mechanism by numbers: to compare two ways to write it, and to measure its speeds by."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from polhode.graph import Expr, as_expr, evaluate, free_symbols, zeros
from polhode.model.algebra import twists

from .composite import mass_matrix as composite_matrix
from .tree import Kinematics, Link

BENT = 0.02  # amplitudes of modes beside lengths, or a radian
EQUAL = 2e-11  # of sqrt(M_ii M_jj); digits of an angle that were cleared are up to 5e-12


def altered(kin: Kinematics, other: Kinematics) -> set[int]:
    """The links whose rows of M are not the same in both, at a configuration drawn at random.

    |M_ij - M'_ij| > EQUAL sqrt(M_ii M_jj), whatever the units.
    """
    point = _anywhere(kin)
    M, N = mass_matrix(kin, point), mass_matrix(other, point)
    size = np.sqrt(np.abs(np.diag(M)))
    wrong = ~(np.abs(M - N) <= EQUAL * np.outer(size, size))
    return {k for k, link in enumerate(kin.links) if wrong[list(link.at)].any()}


def _anywhere(kin: Kinematics) -> dict[Expr, float]:
    """Any values for the coordinates, slides as far as the links are long; quaternions at rest."""
    draw = random.Random(11)
    point = {s: draw.uniform(-1.5, 1.5) for s in kin.q}
    for first in unit_quaternions(kin):
        point |= dict(zip(kin.q[first : first + 4], (1.0, 0.0, 0.0, 0.0), strict=True))
    length = extent(kin, point)
    point |= {s: BENT * point[s] for s in amplitudes(kin)}
    return point | {s: length * point[s] for s in slides(kin)}


def _completed(kin: Kinematics, point: Mapping[Expr, float]) -> dict[Expr, float]:
    """The point with values for the parameters that it lacks."""
    draw = random.Random(5)
    rest = free_symbols([e for link in kin.links for e in _numbers(link)]) - point.keys()
    return {**point, **{s: draw.uniform(0.5, 1.5) for s in sorted(rest, key=lambda s: str(s.value))}}


def extent(kin: Kinematics, point: Mapping[Expr, float]) -> float:
    """The longest distance from a link to the next where nothing slides, 1 where there is none."""
    still = _completed(kin, point) | dict.fromkeys(slides(kin) | amplitudes(kin), 0.0)
    return max(map(abs, evaluate([e for link in kin.links for e in link.X.p], still)), default=0.0) or 1.0


def amplitudes(kin: Kinematics) -> set[Expr]:
    """The coordinates that are amplitudes of modes."""
    return {s for link in kin.links if link.modes is not None for s in link.modes.d}


def amplitude_sizes(kin: Kinematics) -> dict[Expr, Expr]:
    """The same with sizes that they have where deflections are small: a part of the body's length, or of a radian."""
    modes = [link.modes for link in kin.links if link.modes is not None]
    return {
        s: (m.flexible.length if unit == "m" else as_expr(1)) * BENT
        for m in modes
        for s, unit in zip(m.d, m.flexible.units, strict=True)
    }


def slides(kin: Kinematics) -> set[Expr]:
    """The coordinates that are lengths."""
    found: set[Expr] = set()
    for link in kin.links:
        if link.part.quaternion:
            found |= set(link.coordinates[4:])
        else:
            straight = [h.w == zeros(3) for h in twists(link.part.basis)]
            found |= {s for s, slide in zip(link.coordinates, straight, strict=False) if slide}
        if link.modes is not None:
            found |= {s for s, unit in zip(link.modes.d, link.modes.flexible.units, strict=True) if unit == "m"}
    return found


def slide_speeds(kin: Kinematics) -> set[Expr]:
    """The speeds of the joints along which nothing turns."""
    every = ((kin.u[link.at[i]], h) for link in kin.links if not link.section for i, h in enumerate(link.H))
    modal = [zip(m.at, m.flexible.units, strict=True) for link in kin.links if (m := link.modes) is not None]
    bent = {kin.u[i] for pairs in modal for i, unit in pairs if unit == "m"}
    return {u for u, h in every if h.w == zeros(3)} | bent


def unit_quaternions(kin: Kinematics) -> list[int]:
    """The place in q of the first coordinate of each unit quaternion."""
    places = {s: i for i, s in enumerate(kin.q)}
    return [places[link.coordinates[0]] for link in kin.links if link.part.quaternion]


def _numbers(link: Link) -> list[Any]:
    body = link.inertia
    return [
        *link.X.R.entries,
        *link.X.p,
        *body.matrix().entries,
        *link.armature,
        *(e for h in link.H for e in h.vector()),
        *(() if link.modes is None else link.modes.flexible.quantities()),
    ]


def mass_matrix(kin: Kinematics, point: Mapping[Expr, float]) -> np.ndarray:
    """M by composite bodies, (nu, nu); parameters without a value have some."""
    n = len(kin.u)
    if any(link.modes is not None for link in kin.links):
        entries = composite_matrix(kin).entries
        return np.array(evaluate(entries, _completed(kin, point)), dtype=float).reshape(n, n)
    every = [_numbers(link) for link in kin.links]
    values = iter(evaluate([e for row in every for e in row], _completed(kin, point)))
    moves, bodies, H = [], [], []
    M = np.zeros((n, n))
    for link, row in zip(kin.links, every, strict=True):
        here = np.array([next(values) for _ in row])
        R, (x, y, z), inertia = here[:9].reshape(3, 3), here[9:12], here[12:48].reshape(6, 6)
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        moves.append(np.block([[R, cross @ R], [np.zeros((3, 3)), R]]))  # of wrenches, to the parent
        bodies.append(inertia)
        nu = len(link.H)
        M[link.at, link.at] = here[48 : 48 + nu]
        H.append(here[48 + nu :].reshape(nu, 6).T)
    for k in reversed(range(len(kin.links))):
        link = kin.links[k]
        if link.parent >= 0:
            bodies[link.parent] = bodies[link.parent] + moves[k] @ bodies[k] @ moves[k].T
        F = bodies[k] @ H[k]
        M[np.ix_(link.at, link.at)] += H[k].T @ F
        for i in kin.ancestors(k):
            above = kin.links[i].parent
            if above < 0:
                break
            F = moves[i] @ F
            other = kin.links[above].at
            M[np.ix_(other, link.at)] = H[above].T @ F
            M[np.ix_(link.at, other)] = M[np.ix_(other, link.at)].T
    return M
