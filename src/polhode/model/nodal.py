"""Flexible bodies that are known at nodes: from finite elements, or from arrays of any origin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, matrix, vector
from polhode.spatial.modal import ModalInertia

from .errors import fault
from .flexible import SHORTENING, Flexible, Station
from .nodal_moments import NOISE, Fields, Moments

NEAR = 1e-6  # of the size of the body: a point is at a node
DRAWN = 400  # stations in a picture at most


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """Nodes that carry a joint or a marker together: it moves as they do on average, and turns with them.

    at    : (3,), the mean of their places
    nodes : which they are
    """

    at: np.ndarray
    nodes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Nodal(Flexible):
    """A flexible body of n nodes and m modes, in the axes of the body, whose joint is at the origin.

    names     : of the modes
    nodes     : (n, 3)
    shapes    : (n, 3, m), displacements of the nodes at an amplitude of 1
    rotations : (n, 3, m), small rotations; NaN at nodes whose rotation is not known
    second    : (n, 3, m, m), the second order of the displacements, or None where it is not known
    moments   : integrals over the mass
    fields    : the second order as fields, with the order "second"
    rigidity, losses : (m, m), stiffness and damping of the modes
    regions   : interfaces by name
    edges     : pairs of nodes that pictures join
    """

    names: tuple[str, ...]
    nodes: np.ndarray
    shapes: np.ndarray
    rotations: np.ndarray
    second: np.ndarray | None
    moments: Moments
    rigidity: np.ndarray
    losses: np.ndarray
    regions: dict[str, Region] = field(default_factory=dict)
    edges: tuple[tuple[int, int], ...] = ()
    order: str = "first"
    rotation: str = "proper"
    fields: Fields | None = None

    def __repr__(self) -> str:
        return f"flexible body of {len(self.nodes)} nodes with modes {', '.join(self.names)}"

    @property
    def modes(self) -> tuple[str, ...]:
        return self.names

    @property
    def units(self) -> tuple[str, ...]:
        """m, and rad of modes that only turn nodes: about the axis of a beam."""
        return tuple("m" if self._moves(k) else "rad" for k in range(len(self.names)))

    def _moves(self, k: int) -> bool:
        known = np.abs(self.rotations[:, :, k])
        spun = float(known[np.isfinite(known)].max(initial=0.0))
        return bool(np.abs(self.shapes[:, :, k]).max() > 1e-6 * self.size * spun)

    @property
    def root(self) -> Station:
        """The body's frame: shapes are relative to it, so it does not move."""
        still = np.zeros((3, len(self.names)))
        return self._station(np.zeros(3), still, still, None)

    @cached_property
    def inertia(self) -> ModalInertia:
        found = self.moments.inertia(self.order in SHORTENING)
        return found if self.fields is None else replace(found, second=self.fields.second())

    @cached_property
    def stiffness(self) -> Matrix:
        return _without_noise(self.rigidity)

    @cached_property
    def damping(self) -> Matrix:
        return _without_noise(self.losses)

    @property
    def frequencies(self) -> np.ndarray:
        """Of the clamped body, rad/s, rising."""
        M = np.einsum("klaa->kl", self.moments.C2)
        L = np.linalg.inv(np.linalg.cholesky(M))
        return np.sqrt(np.maximum(np.linalg.eigvalsh(L @ self.rigidity @ L.T), 0))

    @property
    def places(self) -> dict[str, tuple[float, float, float]]:
        """Where the interfaces are, for `at=` of what they carry."""
        return {name: tuple(region.at.tolist()) for name, region in self.regions.items()}

    @cached_property
    def size(self) -> float:
        """The largest distance of a node from the origin, and of the nodes from each other along an axis."""
        return float(max(np.linalg.norm(self.nodes, axis=1).max(), np.ptp(self.nodes, axis=0).max()))

    @property
    def length(self) -> Expr:
        return as_expr(self.size)

    def said(self) -> list[Expr]:
        """None: it is all numbers."""
        return []

    def station(self, p: Matrix, what: str) -> Station:
        """The interface or the node at a point; at the origin the body's frame itself."""
        found = [e.number for e in p.entries]
        if any(x is None for x in found):
            raise fault(
                f"{what}: its place on a flexible body of nodes is {tuple(map(str, p.entries))}, expected numbers. "
                "Parameters move no nodes; give the place of one."
            )
        point = np.array(found, dtype=float)
        if np.linalg.norm(point) <= NEAR * self.size:
            return self.root
        for region in self.regions.values():
            if np.linalg.norm(region.at - point) <= NEAR * self.size:
                return self._region(region, what)
        away = np.linalg.norm(self.nodes - point, axis=1)
        nearest = np.argsort(away, kind="stable")
        if away[nearest[0]] > NEAR * self.size:
            known = [f"{name!r} at {_place(region.at)}" for name, region in self.regions.items()][:4]
            near = [f"node {i} at {_place(self.nodes[i])}" for i in nearest[:3]]
            raise fault(
                f"{what}: no node of the flexible body is at {_place(point)}, expected one within "
                f"{NEAR * self.size:.2g} m. Nearest: {'; '.join([*known, *near])}. "
                "Attach there, or mesh it with a node there."
            )
        return self._node(int(nearest[0]), what)

    def _node(self, i: int, what: str) -> Station:
        turned = self.rotations[i]
        if not np.isfinite(turned).all():
            raise fault(
                f"{what}: node {i} at {_place(self.nodes[i])} has no rotation that is known. Name an interface of "
                "three nodes or more there, or give rotations= or edges= with the shapes."
            )
        return self._station(self.nodes[i], self.shapes[i], turned, None if self.second is None else self.second[i])

    def _region(self, region: Region, what: str) -> Station:
        """Mean displacement, and the rotation closest to the displacements about it."""
        if len(region.nodes) == 1:
            return self._node(region.nodes[0], what)
        among = list(region.nodes)
        rows = averages(self.nodes[among])
        moved = np.einsum("rna,nak->rk", rows, self.shapes[among])
        bent = None if self.second is None else self.second[among].mean(axis=0)
        return self._station(region.at, moved[:3], moved[3:], bent)

    def _station(self, p: np.ndarray, Phi: np.ndarray, Psi: np.ndarray, g: np.ndarray | None) -> Station:
        many = range(len(self.names))
        bent: tuple[tuple[Matrix, ...], ...] = ()
        if self.order in SHORTENING and g is not None and g.any():
            clean = _clean(g, float(np.abs(self.second).max()) if self.second is not None else 0.0)
            bent = tuple(tuple(vector(clean[:, k, l].tolist()) for l in many) for k in many)
        largest = float(np.abs(self.shapes).max())
        return Station(
            p=vector(p.tolist()),
            Phi=matrix(_clean(Phi, largest).tolist()),
            Psi=matrix(_clean(Psi, largest / self.size).tolist()),
            g=bent,
        )

    @cached_property
    def lines(self) -> tuple[tuple[Station, ...], ...]:
        """Chains of edges; shorter or every second, third, ... where they are too many for a picture.

        Without edges spokes from the joint to the nodes that move most.
        """
        if not self.edges:
            far = dict.fromkeys(np.linalg.norm(self.shapes, axis=1).argmax(axis=0).tolist())
            return tuple((self.root, self._drawn(i)) for i in far)
        chains = _chains(self.edges)
        while sum(map(len, chains)) > DRAWN and any(len(chain) > 2 for chain in chains):
            chains = [chain if len(chain) < 3 else [*chain[:-1:2], chain[-1]] for chain in chains]
        every = -(-sum(map(len, chains)) // DRAWN)
        drawn = chains[:: max(every, 1)]
        at = {i: self._drawn(i) for chain in drawn for i in chain}
        return tuple(tuple(at[i] for i in chain) for chain in drawn)

    def _drawn(self, i: int) -> Station:
        """A node in a picture, where its rotation need not be known."""
        known = np.where(np.isfinite(self.rotations[i]), self.rotations[i], 0.0)
        return self._station(self.nodes[i], self.shapes[i], known, None if self.second is None else self.second[i])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Nodal):
            return NotImplemented
        return self._told() == other._told()

    def __hash__(self) -> int:
        return hash(self._told())

    def _told(self) -> tuple[object, ...]:
        arrays = [self.nodes, self.shapes, self.rotations, self.second, self.rigidity, self.losses]
        arrays += [getattr(self.moments, name) for name in ("m", "h", "S", "P", "C1", "C2", "H2", "G2")]
        if self.fields is not None:
            arrays += [self.fields.A, self.fields.whole.C1, self.fields.whole.C2]
        told = tuple(b"" if a is None else np.ascontiguousarray(a + 0.0).tobytes() for a in arrays)
        regions = tuple((name, region.at.tobytes(), region.nodes) for name, region in self.regions.items())
        return (self.names, self.order, self.rotation, self.edges, regions, *told)


def averages(nodes: np.ndarray) -> np.ndarray:
    """Rows (6, n, 3) that make of displacements of n nodes their mean, and the rotation that is closest to them.

    w = J^-1 sum_i r_i x u_i with r_i from the mean place and J = sum_i (|r_i|^2 1 - r_i r_i^T); about an axis on
    which all nodes are, it is 0.
    """
    n = len(nodes)
    r = nodes - nodes.mean(axis=0)
    J = np.einsum("ia,ia->", r, r) * np.eye(3) - r.T @ r
    crossed = np.cross(r[:, None], np.eye(3)[None]).transpose(2, 0, 1)  # (r x e_c)_a as [a, n, c]
    means = np.broadcast_to(np.eye(3)[:, None] / n, (3, n, 3))
    return np.concatenate([means, np.einsum("ab,bnc->anc", np.linalg.pinv(J, rcond=1e-9), crossed)])


def _chains(edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Join edges that follow on each other into lines."""
    chains: list[list[int]] = []
    ends: dict[int, list[int]] = {}
    for a, b in edges:
        before = ends.pop(a, None)
        chain = before if before is not None else [a]
        chain.append(b)
        if before is None:
            chains.append(chain)
        ends[b] = chain
    return chains


def _place(p: np.ndarray) -> str:
    return f"({', '.join(f'{x:.6g}' for x in p)})"


def _clean(values: np.ndarray, largest: float) -> np.ndarray:
    return np.where(np.abs(values) < NOISE * largest, 0.0, values)


def _without_noise(values: np.ndarray) -> Matrix:
    """A symmetric matrix without entries that are rounding of its diagonal."""
    own = np.sqrt(np.abs(np.diag(values)))
    return matrix(np.where(np.abs(values) < NOISE * own * own[:, None], 0.0, values).tolist())
