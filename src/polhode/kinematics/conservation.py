"""Whether two ways to write a mechanism have the same inertia: its matrix by numbers, at one configuration."""

from __future__ import annotations

import random
from typing import Any

from polhode.graph import evaluate, free_symbols, zeros

from .tree import Kinematics, Link

EQUAL = 2e-11  # of sqrt(M_ii M_jj); digits of an angle that were cleared are up to 5e-12


def altered(kin: Kinematics, other: Kinematics) -> set[int]:
    """The links whose rows of M are not the same in both, at a configuration drawn at random.

    |M_ij - M'_ij| > EQUAL sqrt(M_ii M_jj), whatever the units.
    """
    import numpy as np

    point = _point(kin)
    M, N = _mass_matrix(kin, point), _mass_matrix(other, point)
    size = np.sqrt(np.abs(np.diag(M)))
    wrong = ~(np.abs(M - N) <= EQUAL * np.outer(size, size))
    return {k for k, link in enumerate(kin.links) if wrong[link.first : link.first + len(link.H)].any()}


def _point(kin: Kinematics) -> dict[Any, float]:
    """Any values for coordinates and parameters, slides as far as the links are long; quaternions at rest."""
    draw = random.Random(11)
    point: dict[Any, float] = {}
    for link in kin.links:
        still = [1.0, *[0.0] * (link.part.nq - 1)] if link.part.quaternion else []
        some = still or [draw.uniform(-1.5, 1.5) for _ in range(link.part.nq)]
        point |= dict(zip(link.coordinates, some, strict=True))
    rest = free_symbols([e for link in kin.links for e in _numbers(link)]) - point.keys()
    point |= {s: draw.uniform(0.5, 1.5) for s in sorted(rest, key=lambda s: str(s.value))}
    slides = [s for link in kin.links if all(h.w == zeros(3) for h in link.H) for s in link.coordinates]
    places = evaluate([e for link in kin.links for e in link.X.p], point | dict.fromkeys(slides, 0.0))
    length = max(map(abs, places), default=0.0) or 1.0
    return point | {s: length * point[s] for s in slides}


def _numbers(link: Link) -> list[Any]:
    body = link.inertia
    return [
        *link.X.R.entries,
        *link.X.p,
        *body.matrix().entries,
        *link.armature,
        *(e for h in link.H for e in h.vector()),
    ]


def _mass_matrix(kin: Kinematics, point: dict[Any, float]) -> Any:
    """M by composite bodies, (nu, nu)."""
    import numpy as np

    n = len(kin.u)
    every = [_numbers(link) for link in kin.links]
    values = iter(evaluate([e for row in every for e in row], point))
    moves, bodies, H = [], [], []
    M = np.zeros((n, n))
    for link, row in zip(kin.links, every, strict=True):
        here = np.array([next(values) for _ in row])
        R, (x, y, z), inertia = here[:9].reshape(3, 3), here[9:12], here[12:48].reshape(6, 6)
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        moves.append(np.block([[R, cross @ R], [np.zeros((3, 3)), R]]))  # of wrenches, to the parent
        bodies.append(inertia)
        nu = len(link.H)
        own = slice(link.first, link.first + nu)
        M[own, own] = np.diag(here[48 : 48 + nu])
        H.append(here[48 + nu :].reshape(nu, 6).T)
    for k in reversed(range(len(kin.links))):
        link = kin.links[k]
        own = slice(link.first, link.first + len(link.H))
        if link.parent >= 0:
            bodies[link.parent] = bodies[link.parent] + moves[k] @ bodies[k] @ moves[k].T
        F = bodies[k] @ H[k]
        M[own, own] += H[k].T @ F
        for i in kin.ancestors(k):
            above = kin.links[i].parent
            if above < 0:
                break
            F = moves[i] @ F
            other = slice(kin.links[above].first, kin.links[above].first + len(kin.links[above].H))
            M[other, own] = H[above].T @ F
            M[own, other] = M[other, own].T
    return M
