"""Bodies that are clouds of points, each with shapes of its own: flexible bodies whose integrals are sums."""

from dataclasses import dataclass, replace

import numpy as np

from polhode.graph import Matrix, as_expr, matrix, vector, zeros
from polhode.model import Builder
from polhode.model.flexible import Flexible, Station
from polhode.model.named import prismatic, revolute
from polhode.model.nodal_moments import fields_of_points
from polhode.spatial.modal import ModalInertia

GRAVITY = (1.3, -2.0, -9.0)


@dataclass(frozen=True)
class Points:
    """Points of mass m at s0 + phi d + d g d / 2: m (N,), s0 (N, 3), phi (N, 3, n), g (N, 3, n, n)."""

    m: np.ndarray
    s0: np.ndarray
    phi: np.ndarray
    g: np.ndarray

    @classmethod
    def random(cls, draw, many, modes):
        g = draw.uniform(-0.4, 0.4, (many, 3, modes, modes))
        return cls(
            draw.uniform(0.2, 1, many),
            draw.uniform(-1, 1, (many, 3)),
            draw.uniform(-0.5, 0.5, (many, 3, modes)),
            g + g.transpose(0, 1, 3, 2),
        )


@dataclass(frozen=True)
class Held:
    """A section: p (3,), Phi and Psi (3, n), g (3, n, n)."""

    p: np.ndarray
    Phi: np.ndarray
    Psi: np.ndarray
    g: np.ndarray

    @classmethod
    def random(cls, draw, modes, planar=False):
        g = draw.uniform(-0.4, 0.4, (3, modes, modes))
        Psi = draw.uniform(-0.6, 0.6, (3, modes))
        if planar:
            Psi[[0, 1]] = 0
        return cls(draw.uniform(-1, 1, 3), draw.uniform(-0.5, 0.5, (3, modes)), Psi, g + g.transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class Cloud(Flexible):
    """A flexible body of points, held in sections by their places; the first of `held` is that of the joint."""

    points: Points
    held: tuple[Held, ...]
    order: str = "first"
    rotation: str = "proper"
    stiffnesses: tuple[float, ...] = ()

    @property
    def modes(self):
        return tuple(f"a{k + 1}" for k in range(self.points.phi.shape[2]))

    @property
    def inertia(self):
        P, n = self.points, len(self.modes)
        g = P.g if self.order in ("first", "second") else 0 * P.g

        def over(text, *arrays):
            return np.einsum("p," + text, P.m, *arrays)

        C2, H2 = over("pak,pbl->klab", P.phi, P.phi), over("pakl->kla", g)
        G2 = over("pa,pbkl->klab", P.s0, g)
        C1 = over("pa,pbk->kab", P.s0, P.phi)
        return ModalInertia(
            m=as_expr(float(P.m.sum())),
            h=vector(over("pa->a", P.s0).tolist()),
            S=matrix(over("pa,pb->ab", P.s0, P.s0).tolist()),
            P=tuple(vector(row) for row in over("pak->ka", P.phi).tolist()),
            C1=tuple(matrix(C1[k].tolist()) for k in range(n)),
            C2=tuple(tuple(matrix(C2[k, l].tolist()) for l in range(n)) for k in range(n)),
            H2=tuple(tuple(vector(H2[k, l].tolist()) for l in range(n)) for k in range(n)),
            G2=tuple(tuple(matrix(G2[k, l].tolist()) for l in range(n)) for k in range(n)),
            second=self._fields() if self.order == "second" else None,
        )

    def _fields(self):
        P = self.points
        found = fields_of_points(P.m, P.s0, P.phi, P.g)
        return None if found is None else found.second()

    @property
    def stiffness(self):
        n = len(self.modes)
        return matrix([[self.stiffnesses[i] if i == j and self.stiffnesses else 0 for j in range(n)] for i in range(n)])

    @property
    def damping(self):
        return zeros(len(self.modes), len(self.modes))

    def at(self, p):
        """The section at a place."""
        return next(held for held in self.held if np.allclose(held.p, p))

    def station(self, p, what):
        held, n = self.at([float(e.value) for e in p]), len(self.modes)
        g = tuple(tuple(vector(held.g[:, k, l].tolist()) for l in range(n)) for k in range(n))
        return Station(
            p=vector(held.p.tolist()),
            Phi=Matrix((3, n), held.Phi.ravel().tolist()),
            Psi=Matrix((3, n), held.Psi.ravel().tolist()),
            g=g if self.order in ("first", "second") else (),
        )

    @property
    def lines(self):
        return ()

    @property
    def length(self):
        return as_expr(1)


@dataclass(frozen=True)
class Piece:
    """A body of an arm: where it stands, its joint, and its points."""

    parent: int
    at: np.ndarray
    turning: bool
    axis: np.ndarray
    cloud: Cloud


def random_arm(seed, order="first", rotation="proper", bodies=4, planar=False, pinned=False, chain=False):
    """Clouds on joints that turn or slide, some rigid, in a tree."""
    draw = np.random.default_rng(seed)
    found = []
    for k in range(bodies):
        modes = 0 if k % 3 == 2 else int(draw.integers(1, 4))
        root = Held(np.zeros(3), np.zeros((3, modes)), np.zeros((3, modes)), np.zeros((3, modes, modes)))
        if pinned and modes:
            root = replace(Held.random(draw, modes), p=np.zeros(3))
        held = (root, Held.random(draw, modes, planar), Held.random(draw, modes, planar))
        cloud = Cloud(Points.random(draw, 4, modes), held, order, rotation)
        parent = k - 1 if chain else int(draw.integers(-1, k))
        at = draw.uniform(-1, 1, 3) if parent < 0 else found[parent].cloud.held[int(draw.integers(1, 3))].p
        axis = draw.normal(size=3)
        found.append(Piece(parent, at, draw.random() < 0.7, axis / np.linalg.norm(axis), cloud))
    return found


def model_of(arm):
    """The model of an arm; a body without modes is rigid."""
    build = Builder("clouds", gravity=GRAVITY)
    for k, piece in enumerate(arm):
        cloud, axis = piece.cloud, piece.axis.tolist()
        P = cloud.points
        com = P.m @ P.s0 / P.m.sum()
        S = np.einsum("p,pa,pb->ab", P.m, P.s0 - com, P.s0 - com)
        whole = {"mass": float(P.m.sum()), "com": com.tolist(), "inertia": (np.trace(S) * np.eye(3) - S).tolist()}
        build.body(
            f"b{k}",
            parent="world" if piece.parent < 0 else f"b{piece.parent}",
            at=piece.at.tolist(),
            joint=(revolute if piece.turning else prismatic)(axis, name=f"j{k}"),
            **({"flexible": cloud} if cloud.modes else whole),
        )
    return build.build()


__all__ = ["GRAVITY", "Cloud", "Held", "Piece", "Points", "model_of", "random_arm"]
