"""The second order of the displacements of a frame: members that bend come closer, and carry the next ones along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .beam_element import BeamElement

_AT = (np.polynomial.legendre.leggauss(6)[0] + 1) / 2  # places along an element: its polynomials have degree 4
_FIT = np.linalg.inv(np.vander(_AT, increasing=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecondOrder:
    """Displacements of second order of the axis, g (q, 3, m, m), and rotations of second order, r (q, 3, m, m)."""

    g: np.ndarray
    r: np.ndarray


def along_tree(
    elements: Sequence[BeamElement], shapes: np.ndarray, root: int
) -> tuple[SecondOrder, list[SecondOrder]] | None:
    """Integrate from the root what keeps the lengths and the curvatures of members; None where they form no tree.

    A section turns by R = 1 + th~ + th~^2/2 + r~/2, so that the curvature R^T R' has no second order: r' = th x th'.
    The axis follows it, stretched by e: (1 + e) R t, where t is its direction: g' = th x (th x t) + r x t + 2 e th x t.
    Both with th = sum_k d_k th_k, so that entries k, l are the mean of both orders. Along a straight member without
    torsion and stretch that is the shortening g' = -t (phi_k'.phi_l').

    shapes : (n, 6, m), displacements and rotations of the nodes
    Returns that of the nodes, and of each element at the places of its `points`.
    """
    n, _, many = shapes.shape
    g_at: dict[int, tuple[np.ndarray, np.ndarray]] = {root: (np.zeros((3, many, many)), np.zeros((3, many, many)))}
    of: dict[int, SecondOrder] = {}
    at_node: dict[int, list[int]] = {}
    for e, element in enumerate(elements):
        for node in (element.i, element.j):
            at_node.setdefault(node, []).append(e)
    waiting = [root]
    while waiting:
        near = waiting.pop()
        for e in at_node.get(near, []):
            if e in of:
                continue
            element = elements[e]
            far = element.j if near == element.i else element.i
            if far in g_at:
                return None
            of[e], g_at[far] = _across(element, shapes, g_at[near], near == element.i)
            waiting.append(far)
    if len(g_at) < n or len(of) < len(elements):
        return None
    nodes = SecondOrder(g=np.stack([g_at[i][0] for i in range(n)]), r=np.stack([g_at[i][1] for i in range(n)]))
    return nodes, [of[e] for e in range(len(elements))]


def _across(
    element: BeamElement, shapes: np.ndarray, near: tuple[np.ndarray, np.ndarray], forward: bool
) -> tuple[SecondOrder, tuple[np.ndarray, np.ndarray]]:
    g0, r0 = near
    d = shapes[[element.i, element.j]].reshape(12, -1)
    _, th, bent = (part @ d for part in element.field(_AT))
    t = element.R[:, 0]
    start = 0.0 if forward else 1.0

    def integrated(rate: np.ndarray, to: np.ndarray) -> np.ndarray:
        powers = np.arange(1, len(_AT) + 1)
        weights = (to[:, None] ** powers - start**powers) / powers @ _FIT * element.length
        return np.asarray(np.einsum("pq,qakl->pakl", weights, rate))

    wound = _pairs(th, bent)
    r = r0 + integrated(wound, _AT)
    stretch = t @ (d[6:9] - d[:3]) / element.length
    sideways = np.cross(th, t[None, :, None], axis=1)
    pulled = 2 * sideways[:, :, :, None] * stretch
    rate = _pairs(th, sideways) + np.cross(r, t[None, :, None, None], axis=1) + (pulled + pulled.swapaxes(2, 3)) / 2
    at = element.points()[1]
    end = np.array([1.0 - start])
    inside = SecondOrder(g=g0 + integrated(rate, at), r=r0 + integrated(wound, at))
    return inside, ((g0 + integrated(rate, end))[0], (r0 + integrated(wound, end))[0])


def of_section(th: np.ndarray, r: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The second order of points of sections that are off the axis by an offset: (q, 3, m, m)."""
    turned = np.cross(r, offset[:, :, None, None], axis=1)
    return np.asarray(_pairs(th, np.cross(th, offset[:, :, None], axis=1)) + turned)


def _pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a_k x b_l for all k and l, the mean of both orders."""
    every = np.cross(a[:, :, :, None], b[:, :, None, :], axis=1)
    return np.asarray((every + every.swapaxes(2, 3)) / 2)
