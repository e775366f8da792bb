"""The tree of simple joints, and what follows from it alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from polhode.graph import Expr, Matrix, cross, matrix, symbol, vector, zeros
from polhode.model import WORLD, Joint, Model, ModelError, Part
from polhode.model.algebra import coordinates, rank, twists
from polhode.model.body import Body
from polhode.model.drives import acted
from polhode.spatial import Inertia, Pose, Twist
from polhode.spatial.vectors import combine

from .joint import block_diagonal, joint_map, kinematic_matrix, part_configuration, shares
from .motion import Motion, require_axes


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One simple joint and the frame it carries.

    A body on a joint of several parts has a link for each; the last carries
    the inertia, the ones before it are frames without mass.

    parent   : index of the link before it, -1 for the world
    coordinates : the coordinates q of the joint
    X        : X_PL(q), pose in the parent link
    first    : index of its first speed
    H        : joint twists, constant in the link's own frame
    speeds   : the speeds u along them
    armature : inertia that each speed drives besides the bodies'
    """

    parent: int
    part: Part
    coordinates: tuple[Expr, ...]
    X: Pose
    first: int
    H: tuple[Twist, ...]
    speeds: tuple[Expr, ...]
    inertia: Inertia
    armature: tuple[Expr, ...]

    @property
    def motion(self) -> Twist:
        """The twist that its own speeds add: H u."""
        return combine(self.H, self.speeds)


@dataclass(frozen=True, kw_only=True)
class Kinematics(Motion):
    """A model's links with their poses, twists and Jacobians, in the speeds of its joints.

    rates     : kinematic matrix of every joint, the diagonal blocks of N
    carriers  : the link of each body
    stands_on : the body before each body, and of each marker, as the user said: welded ones too
    """

    links: tuple[Link, ...]
    rates: tuple[Matrix, ...]
    carriers: dict[str, int]
    stands_on: dict[str, str]

    @property
    def joints(self) -> Kinematics:
        return self

    @property
    def embedded(self) -> frozenset[str]:
        return frozenset()

    def written(self, rows: Matrix) -> Matrix:
        return rows

    @cached_property
    def N(self) -> Matrix:
        """The kinematic matrix, (nq, nu): q_dot = N u."""
        return block_diagonal(self.rates)

    @cached_property
    def q_dot(self) -> Matrix:
        """Rates of the coordinates, (nq,)."""
        found: list[Expr] = []
        first = 0
        for block in self.rates:
            found += (block @ self.u[first : first + block.shape[1]]).entries
            first += block.shape[1]
        return vector(found)

    @cached_property
    def drift(self) -> Matrix:
        """The part of q_dot without speeds, (nq,)."""
        return zeros(len(self.q))

    def pulled(self, slopes: Matrix) -> Matrix:
        """N^T times a vector of the coordinates, joint by joint."""
        found: list[Expr] = []
        first = 0
        for block in self.rates:
            found += (block.T @ slopes[first : first + block.shape[0]]).entries
            first += block.shape[0]
        return vector(found)

    @cached_property
    def poses(self) -> list[Pose]:
        """Pose of every link in the world."""
        found: list[Pose] = []
        for link in self.links:
            found.append(link.X if link.parent < 0 else found[link.parent] @ link.X)
        return found

    @cached_property
    def V(self) -> list[Twist]:
        """Twist of every link, in its own frame: V_k = X^-1 V_p + H u.

        Reference: [KwatnyBlankenship, eq. 47].
        """
        found: list[Twist] = []
        for k, link in enumerate(self.links):
            found.append(self.carried(k, found) + link.motion)
        return found

    def carried(self, k: int, V: list[Twist]) -> Twist:
        """The twist that link k has from its parent, in its own frame."""
        link = self.links[k]
        return Twist.zero() if link.parent < 0 else link.X.back(V[link.parent])

    def ancestors(self, k: int) -> Iterator[int]:
        """Link k and all before it, outermost first."""
        while k >= 0:
            yield k
            k = self.links[k].parent

    @cached_property
    def composite(self) -> list[Inertia]:
        """Inertia of every link and all beyond it, in its own frame: phi^T M phi summed outside in.

        Reference: [KwatnyBlankenship, eq. 52b].
        """
        found = [link.inertia for link in self.links]
        for k in reversed(range(len(found))):
            link = self.links[k]
            if link.parent >= 0:
                found[link.parent] = found[link.parent] + link.X @ found[k]
        return found

    def carriers_of_both(self, i: int, j: int) -> set[int]:
        """The links that carry two links."""
        return {*self.ancestors(i)} & {*self.ancestors(j)}

    def carrier_of_both(self, a: str, b: str) -> str:
        """The last body that carries two frames, be it welded; the world where none does."""
        under = [a]
        while under[-1] != WORLD:
            under.append(self.stands_on[under[-1]])
        while b not in under:
            b = self.stands_on[b]
        return b

    def jacobian(self, name: str, axes: str = "world") -> Matrix:
        """The (6, nu) matrix from the speeds to the velocity of a marker or body."""
        require_axes(axes)
        k, _ = self.frame(name)
        found = [zeros(6)] * len(self.u)
        here = self.pose(name)
        for i in self.ancestors(k):
            for j, h in enumerate(self.links[i].H):
                w = self.X_W[i].R @ h.w
                column = Twist(w, self.X_W[i].R @ h.v + cross(w, here.p - self.X_W[i].p))
                if axes == "marker":
                    column = Twist(here.R.T @ column.w, here.R.T @ column.v)
                found[self.links[i].first + j] = column.vector()
        return matrix(found).T if found else zeros(6, 0)

    @cached_property
    def first_moment(self) -> Matrix:
        """Mass times centre of mass of everything that moves, in the world."""
        moments = [(link.inertia.m, link.inertia.h) for link in self.links]
        whole = zeros(3)
        for k in reversed(range(len(moments))):
            (m, h), link = moments[k], self.links[k]
            moved = link.X.R @ h + link.X.p * m
            if link.parent < 0:
                whole = whole + moved
            else:
                above = moments[link.parent]
                moments[link.parent] = (above[0] + m, above[1] + moved)
        return whole


def derive(model: Model, rates: bool = False) -> Kinematics:
    """Lay out a model as links.

    rates : split every joint into single columns, so that the speeds are the
            rates of the coordinates (Lagrange's choice V = I)
    """
    merged = acted(model.merged())
    links: list[Link] = []
    carriers: dict[str, int] = {}
    q: list[Expr] = []
    u: list[Expr] = []
    blocks = []
    quasi: dict[Expr, Expr] = {}
    taken = {*merged.coordinates, *merged.speeds, *(str(s.value) for s in merged.parameters)}
    taken |= {state.name for state in merged.states} | {actuator.name for actuator in model.actuators}
    for body in merged.bodies:
        joint = body.joint.split(taken) if rates else body.joint
        names = [symbol(name) for name in joint.coordinates()]
        speeds = [symbol(name) for name in joint.speeds()]
        parent = -1 if body.parent == WORLD else carriers[body.parent]
        links += _links(body, joint.parts, names, speeds, parent, len(links), len(u))
        carriers[body.name] = len(links) - 1
        _require_rank(body.joint)
        blocks.append(kinematic_matrix(joint, names))
        if rates:
            quasi |= _quasi(body.joint, names, speeds)
        q += names
        u += speeds
    return Kinematics(
        model=merged,
        links=tuple(links),
        q=vector(q),
        u=vector(u),
        rates=tuple(blocks),
        quasi=quasi,
        carriers=carriers,
        stands_on={b.name: b.parent for b in model.bodies} | {m.name: m.body for m in model.markers},
    )


def _require_rank(joint: Joint) -> None:
    """Refuse a compound joint whose axes repeat a motion wherever it is."""
    if len(joint.parts) > 1:
        found = rank(joint_map(joint, [symbol(name) for name in joint.coordinates()]))
        if found < joint.nu:
            text = f"Joint {joint.name!r} ({joint.kind}): its {joint.nu} speeds make {found} independent motions, "
            raise ModelError([text + "wherever it is. Leave out the axes that repeat one."])


def _quasi(joint: Joint, q: list[Expr], rates: list[Expr]) -> dict[Expr, Expr]:
    """The speeds of a joint in terms of the rates of its coordinates: H beta = B(q) q_dot, part by part."""
    found: dict[Expr, Expr] = {}
    names = [symbol(name) for name in joint.speeds()]
    for part, share, first in shares(joint.parts, q):
        single = Joint(kind="", parts=(part,), q=tuple(str(s.value) for s in share)).split()
        own = coordinates(part.H, joint_map(single, share)) @ vector(rates[first : first + part.nu])
        found |= dict(zip(names[first : first + part.nu], own, strict=True))
    return found


def _links(
    body: Body, parts: tuple[Part, ...], q: list[Expr], u: list[Expr], parent: int, index: int, first: int
) -> list[Link]:
    """The links of one body, from its parent outward: the last part of the joint comes first."""
    divided = shares(parts, q)
    found: list[Link] = []
    for part, share, offset in reversed(divided):
        X = part_configuration(part, share)
        found.append(
            Link(
                parent=parent if not found else index + len(found) - 1,
                part=part,
                coordinates=tuple(share),
                X=body.pose @ X if not found else X,
                first=first + offset,
                H=tuple(twists(part.H)),
                speeds=tuple(u[offset : offset + part.nu]),
                inertia=body.total if len(found) == len(divided) - 1 else Inertia.zero(),
                armature=body.joint.armature[offset : offset + part.nu],
            )
        )
    return found
