"""Stiffness and damping of the modes of a beam."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, matrix, sqrt, zeros

from .beam_reading import RESISTS
from .errors import fault
from .sections import Section, times
from .shapes import ONE, Shape, product

if TYPE_CHECKING:
    from .beam import Beam

BENDING = ("y", "z")
Rows = list[list[Expr]]


def stiffness(beam: Beam) -> Matrix:
    """EI int f'' f'' / L^3 of bending, GJ int f' f' / L of twist, EA int f' f' / L of stretch.

    Reference: [Book, eq. 42 to 45], which has no stretch.
    """

    def block(kind: str, shapes: list[Shape]) -> Rows:
        rigid, K = _stiffness(beam, kind, shapes)
        scale = rigid / beam.length ** (3 if kind in BENDING else 1)
        return [[times(scale, e) for e in row] for row in K.tolist()]

    return _blocks(beam, block)


def damping(beam: Beam) -> Matrix:
    """2 zeta omega of each mode of the beam held as its ends say, and eta K.

    D = 2 M V diag(zeta_k omega_k) V^T M,  K V = M V diag(omega^2),  V^T M V = 1, for each kind of mode; with exact
    shapes it is diagonal, 2 zeta_k sqrt(K_kk M_kk). M has the tip mass of the shapes, and no rotary inertia.
    """
    many = len(beam.modes)
    ratios = dict(zip(beam.modes, beam.zeta, strict=True))

    def block(kind: str, shapes: list[Shape]) -> Rows:
        zeta = [ratios[f"{kind}{n}"] for n in range(1, len(shapes) + 1)]
        (rigid, K), (heavy, M) = _stiffness(beam, kind, shapes), _mass(beam, kind, shapes)
        scale = 2 * sqrt(rigid * heavy) / (beam.length if kind in BENDING else 1)
        return _damped(zeta, scale, K, M)

    own = _blocks(beam, block) if any(e != 0 for e in beam.zeta) else zeros(many, many)
    return own if beam.eta == 0 else own + stiffness(beam) * beam.eta


def _stiffness(beam: Beam, kind: str, shapes: list[Shape]) -> tuple[Expr, np.ndarray]:
    """The stiffness of one kind: a scale, without its power of the length, and a matrix of numbers."""
    given: Section = getattr(beam, RESISTS[kind])
    return given.scale, _products([f.slope.slope if kind in BENDING else f.slope for f in shapes], given)


def _mass(beam: Beam, kind: str, shapes: list[Shape]) -> tuple[Expr, np.ndarray]:
    """The inertia of the modes of one kind by the length, likewise, with what is at the tip of their shapes."""
    if kind == "twist":
        return _polar(beam, shapes)
    found = _products(shapes, beam.mu)
    if beam.ends == "clamped-mass" and kind in BENDING:
        tips = np.array([float(f(np.array(1.0))) for f in shapes])
        found = found + beam.ratio * product(ONE, weight=beam.mu) * np.outer(tips, tips)
    return beam.mu.scale, found


def _polar(beam: Beam, shapes: list[Shape]) -> tuple[Expr, np.ndarray]:
    both = [J for J in (beam.J_y, beam.J_z) if J is not None]
    if all(J.uniform for J in both):
        return sum((J.scale for J in both), as_expr(0)), _products(shapes, both[0])
    numbers = [(J.scale.number, _products(shapes, J)) for J in both]
    if any(scale is None for scale, _ in numbers):
        raise fault("Beam: J_y and J_z are a symbol and one that varies: expected numbers, so that twist is damped.")
    return as_expr(1), np.sum([scale * M for scale, M in numbers if scale is not None], axis=0)


def _blocks(beam: Beam, block: Callable[[str, list[Shape]], Rows]) -> Matrix:
    """A matrix of blocks, one for each kind."""
    many = len(beam.modes)
    found = [[as_expr(0)] * many for _ in range(many)]
    first = 0
    for kind, count in beam.counts:
        rows = block(kind, [mode.shape for mode in beam.parts[first : first + count]])
        for i, row in enumerate(rows):
            found[first + i][first : first + count] = row
        first += count
    return matrix(found)


def _products(shapes: list[Shape], weight: Section) -> np.ndarray:
    """Of each two, symmetric to the last digit."""
    found = np.zeros((len(shapes), len(shapes)))
    for k, f in enumerate(shapes):
        for l in range(k, len(shapes)):
            found[k, l] = found[l, k] = product(f, shapes[l], weight=weight)
    return found


def _damped(zeta: list[Expr], scale: Expr, K: np.ndarray, M: np.ndarray) -> Rows:
    """M V diag(zeta omega) V^T M times a scale."""
    L = np.linalg.cholesky(M)
    if not (M - np.diag(np.diag(M))).any() and not (K - np.diag(np.diag(K))).any():
        omega, Y = np.sqrt(np.diag(K) / np.diag(M)), L  # Y = M V
    else:
        squares, W = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, K).T))
        omega, Y = np.sqrt(np.maximum(squares, 0)), L @ W
    roots = Y * np.sqrt(omega)
    total = zeros(len(zeta), len(zeta))
    for z, y in zip(zeta, roots.T, strict=True):
        total = total + matrix([[times(scale, x) * z for x in row] for row in np.outer(y, y).tolist()])
    return [list(row) for row in total]
