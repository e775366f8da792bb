"""Frames of straight beams, meshed by finite elements: a small way to make flexible bodies that are no single beam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from .beam_element import BeamElement
from .errors import closest, fault
from .flexible import SHORTENING
from .nodal import Nodal, Region
from .nodal_input import losses, reduced
from .nodal_moments import fields_of_points, of_points
from .reduction import LARGEST
from .shortening import SecondOrder, along_tree, of_section
from .spelling import spelled


class Frame:
    """Nodes, beams between them and masses on them; `flexible` makes a body of them.

    >>> frame = Frame({"hub": (0, 0, 0), "elbow": (1, 0, 0), "tip": (1, 0.5, 0)})
    >>> section = dict(EA=7e6, EI_y=60, EI_z=60, GJ=45, mu=0.27)
    >>> frame.beam("hub", "elbow", **section)
    >>> frame.beam("elbow", "tip", **section)
    >>> arm = frame.flexible(root="hub", modes=4)
    >>> arm.frequencies.round(2)
    array([ 28.18,  28.3 ,  90.01, 115.1 ])
    """

    def __init__(self, nodes: Mapping[str, Any]) -> None:
        self.nodes = {name: _triple(p, f"Frame: node {name!r}") for name, p in nodes.items()}
        self._points: list[np.ndarray] = [*self.nodes.values()]
        self._places = {name: i for i, name in enumerate(self.nodes)}
        self._elements: list[BeamElement] = []
        self._lumps: list[tuple[int, np.ndarray, np.ndarray]] = []  # node, masses (q,), offsets (q, 3)

    def __repr__(self) -> str:
        return f"frame of the nodes {', '.join(self.nodes)} with {len(self._elements)} elements"

    @spelled("Frame.beam")
    def beam(
        self, start: str, end: str, *, EA: float, EI_y: float, EI_z: float, GJ: float, mu: float,
        radii: tuple[float, float] = (0.0, 0.0), up: Any = None, elements: int = 8,
    ) -> None:  # fmt: skip
        """Add a straight beam of equal elements, rigidly joined to what meets at its ends.

        EA, GJ     : stiffness along and about its axis x, N and N m^2
        EI_y, EI_z : against turning about y and z of a section, N m^2: EI_z resists deflection along y
        mu         : mass by length, kg/m
        radii      : of gyration of a section about its y and z, m. With 0 sections have no inertia of their own, and a
                     straight beam no modes of torsion
        up         : a direction whose part across the beam is z of its sections; None is z of the frame, or x
                     where the beam is along z
        """
        what = f"Frame: beam from {start!r} to {end!r}"
        i, j = self._node(start, what), self._node(end, what)
        for name, value in (("EA", EA), ("EI_y", EI_y), ("EI_z", EI_z), ("GJ", GJ), ("mu", mu)):
            if not _positive(value):
                raise fault(f"{what}: {name} is {value!r:.60}, expected a number above 0.")
        if not isinstance(elements, int) or elements < 1 or 6 * (len(self._points) + elements) > LARGEST:
            raise fault(f"{what}: elements is {elements!r:.60}, expected 1, 2, ... and {LARGEST // 6} nodes in all.")
        spread = np.asarray(radii, dtype=float)
        if spread.shape != (2,) or not np.isfinite(spread).all() or (spread < 0).any():
            raise fault(f"{what}: radii is {radii!r:.60}, expected two lengths, 0 or more.")
        span = self._points[j] - self._points[i]
        length = float(np.linalg.norm(span))
        if not length > 0:
            raise fault(f"{what}: both are at one point, expected a length.")
        R = _axes(span / length, up, what)
        inner = [self._points[i] + span * k / elements for k in range(1, elements)]
        chain = [i, *range(len(self._points), len(self._points) + elements - 1), j]
        self._points += inner
        for a, b in pairwise(chain):
            self._elements.append(
                BeamElement(
                    i=a, j=b, length=length / elements, R=R, mu=float(mu), EA=float(EA), EI_y=float(EI_y),
                    EI_z=float(EI_z), GJ=float(GJ), radii=(float(spread[0]), float(spread[1])),
                )
            )  # fmt: skip

    def mass(self, node: str, mass: float, inertia: Any = (0, 0, 0)) -> None:
        """Add a rigid body to a node: its mass and its inertia about the node, (xx, yy, zz) or 3 x 3."""
        what = f"Frame: mass at {node!r}"
        i = self._node(node, what)
        if not _positive(mass):
            raise fault(f"{what}: it is {mass!r:.60}, expected a number above 0.")
        given = np.asarray(inertia, dtype=float)
        I = np.diag(given) if given.shape == (3,) else given
        if I.shape != (3, 3) or not np.isfinite(I).all() or np.abs(I - I.T).max() > 1e-9 * max(np.abs(I).max(), 1e-300):
            raise fault(f"{what}: inertia is {inertia!r:.60}, expected (xx, yy, zz) or 3 x 3, symmetric.")
        # pairs of points on the principal axes, with the second moments tr(I)/2 - I
        moments, axes = np.linalg.eigh(np.trace(I) / 2 * np.eye(3) - I)
        if moments[0] < -1e-9 * max(moments[2], 1e-300):
            raise fault(f"{what}: no body has the inertia {inertia!r:.60}: one moment is above the sum of the others.")
        out = axes.T * np.sqrt(3 * np.maximum(moments, 0) / mass)[:, None]
        self._lumps.append((i, np.full(6, mass / 6), np.concatenate([out, -out])))

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes (n, 3), mass and stiffness (6 n, 6 n): node by node its displacements, then its rotations.

        The nodes of the beams' insides come after those with names.
        """
        n = len(self._points)
        M, K = np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n))
        for element in self._elements:
            at = np.ix_(*[[6 * k + a for k in (element.i, element.j) for a in range(6)]] * 2)
            mass, _, B = _field(element)
            M[at] += np.einsum("q,qax,qay->xy", mass, B, B)
            K[at] += element.stiffness()
        for i, mass, offset in self._lumps:
            B = _rigid(offset)
            at = np.ix_(*[[6 * i + a for a in range(6)]] * 2)
            M[at] += np.einsum("q,qax,qay->xy", mass, B, B)
        return np.array(self._points), (M + M.T) / 2, (K + K.T) / 2

    @spelled("Frame.flexible")
    def flexible(
        self, *, root: str, modes: int = 6, interfaces: Sequence[str] = (), supports: Sequence[str] = (),
        keep: int | None = None, damping: Any = 0.0, order: str = "first", rotation: str = "proper",
    ) -> Nodal:  # fmt: skip
        """Reduce it to a flexible body, whose frame is at the root node with the axes of the frame.

        modes      : how many normal modes with the interfaces held
        interfaces : nodes where joints and loads act: each adds up to 6 modes, so that they act there as on the whole
        supports   : further nodes that are clamped to the body's frame
        keep       : how many modes remain, those of the lowest frequencies
        damping    : a ratio of the critical one, of all modes or of each, or a matrix
        """
        named = {name: self._node(name, "Frame: interface") for name in interfaces}
        held = [self._node(name, "Frame: root") for name in (root, *supports)]
        if not self._elements:
            raise fault("Frame: has no beams, expected one at least.")
        x, M, K = self.matrices()
        x = x - x[held[0]]
        self._require_joined(held)
        phi, stiff = reduced(x, M, K, modes, held, [[i] for i in named.values()], keep)
        tree = along_tree(self._elements, phi, held[0]) if not supports else None
        if tree is None and order in SHORTENING:
            raise fault(
                f'Frame: its beams form a loop, or are clamped at several nodes: order="{order}" needs one way from '
                'the root to each node. Give order="full": without stiffening by tension.'
            )
        mass, places, moved, bent = self._quadrature(x, phi, tree)
        moments = of_points(mass, places, moved, bent)
        return Nodal(
            names=tuple(str(k + 1) for k in range(phi.shape[2])),
            nodes=x,
            shapes=np.ascontiguousarray(phi[:, :3]),
            rotations=np.ascontiguousarray(phi[:, 3:]),
            second=None if tree is None else tree[0].g,
            moments=moments,
            rigidity=stiff,
            losses=losses(damping, stiff, np.einsum("klaa->kl", moments.C2)),
            regions={name: Region(at=x[i], nodes=(i,)) for name, i in {root: held[0], **named}.items()},
            edges=tuple((element.i, element.j) for element in self._elements),
            order=order,
            rotation=rotation,
            fields=fields_of_points(mass, places, moved, bent) if order == "second" and bent is not None else None,
        )

    def _quadrature(
        self, x: np.ndarray, phi: np.ndarray, tree: tuple[SecondOrder, list[SecondOrder]] | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Masses, places, displacements and their second order at points: of the elements, then of the masses."""
        masses, places, shapes, bent = [], [], [], []
        for e, element in enumerate(self._elements):
            mass, offset, B = _field(element)
            at = element.points()[1]
            d = phi[[element.i, element.j]].reshape(12, -1)
            masses.append(mass)
            places.append(x[element.i] + np.outer(at * element.length, element.R[:, 0]) + offset)
            shapes.append(B @ d)
            if tree is not None:
                bent.append(tree[1][e].g + of_section(element.field(at)[1] @ d, tree[1][e].r, offset))
        for i, mass, offset in self._lumps:
            masses.append(mass)
            places.append(x[i] + offset)
            shapes.append(_rigid(offset) @ phi[i])
            if tree is not None:
                many = [i] * len(mass)
                bent.append(tree[0].g[many] + of_section(phi[many, 3:], tree[0].r[many], offset))
        g = np.concatenate(bent) if bent else None
        return np.concatenate(masses), np.concatenate(places), np.concatenate(shapes), g

    def _require_joined(self, held: Sequence[int]) -> None:
        reached, waiting = {*held}, [*held]
        while waiting:
            here = waiting.pop()
            for e in self._elements:
                for a, b in ((e.i, e.j), (e.j, e.i)):
                    if a == here and b not in reached:
                        reached.add(b)
                        waiting.append(b)
        for name, i in self._places.items():
            if i not in reached:
                raise fault(f"Frame: no beam leads from the root to node {name!r}. Join it, or leave it out.")

    def _node(self, name: str, what: str) -> int:
        if name not in self._places:
            raise fault(f"{what}: there is no node {name!r}. {closest(name, self._places)}")
        return self._places[name]


def _field(element: BeamElement) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masses, offsets and displacements (q, 3, 12) of the points of an element: u + th x offset."""
    mass, at, offset = element.points()
    u, th, _ = element.field(at)
    return mass, offset, u + np.cross(th, offset[:, :, None], axis=1)


def _rigid(offset: np.ndarray) -> np.ndarray:
    """Displacements (q, 3, 6) of points that are rigid with a node."""
    turned = np.cross(np.eye(3)[None], offset[:, None]).transpose(0, 2, 1)
    return np.concatenate([np.broadcast_to(np.eye(3), turned.shape), turned], axis=2)


def _axes(t: np.ndarray, up: Any, what: str) -> np.ndarray:
    given = _triple(up, f"{what}: up") if up is not None else np.eye(3)[0 if abs(t[2]) > 0.999 else 2]
    z = given - t * (t @ given)
    if np.linalg.norm(z) <= 1e-6 * np.linalg.norm(given):
        raise fault(f"{what}: up is {up!r:.60}, along the beam, expected a direction across it.")
    z = z / np.linalg.norm(z)
    return np.column_stack([t, np.cross(z, t), z])


def _positive(value: object) -> bool:
    return isinstance(value, Real) and 0 < float(value) < np.inf


def _triple(value: Any, what: str) -> np.ndarray:
    try:
        found = np.array(value, dtype=float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise fault(f"{what} is {value!r:.60}, expected three numbers.")
    return found
