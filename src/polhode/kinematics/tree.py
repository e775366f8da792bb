"""The tree of simple joints, and what follows from it alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from polhode.graph import Expr, Matrix, as_expr, cross, identity, matrix, symbol, vector, zeros
from polhode.model import WORLD, Joint, Model, ModelError, Part
from polhode.model.algebra import coordinates, rank, twists
from polhode.model.body import Body
from polhode.model.drives import acted
from polhode.model.flexible import Flexible, Station
from polhode.spatial import Inertia, Pose, Twist
from polhode.spatial.vectors import combine

from . import linear
from .bent import Bent, Modes, bent, seen_from_joint
from .joint import block_diagonal, joint_map, kinematic_matrix, part_configuration, shares
from .motion import Motion, require_axes


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One simple joint, or a section of a body that deforms, and the frame it carries.

    A body on a joint of several parts has a link for each; the last carries
    the inertia, the ones before it are frames without mass. A section that
    something stands on is a frame too, on the link of its body: its speeds are
    those of the body's modes, which other sections have as well.

    parent   : index of the link before it, -1 for the world
    coordinates : the coordinates q of the joint
    X        : X_PL(q), pose in the parent link
    at       : places of its speeds among all
    H        : its twists by unit speeds, in its own frame; constant for a joint
    speeds   : the speeds u along them
    inertia  : rigid, or as if it were at the amplitudes that its modes have
    armature : inertia that each speed drives besides the bodies'
    bend     : the rate of H u where the speeds are constant; 0 for a joint
    modes    : what deforms of its body, None for a rigid one
    station  : the section that it is, None where a joint or nothing moves it
    """

    parent: int
    part: Part
    coordinates: tuple[Expr, ...]
    X: Pose
    at: tuple[int, ...]
    H: tuple[Twist, ...]
    speeds: tuple[Expr, ...]
    inertia: Inertia
    armature: tuple[Expr, ...]
    bend: Twist = field(default_factory=Twist.zero)
    modes: Modes | None = None
    station: Station | None = None

    @property
    def section(self) -> bool:
        """Whether it is moved by the modes of a body, or by nothing, and not by a joint."""
        return self.part.nu == 0

    @property
    def motion(self) -> Twist:
        """The twist that its own speeds add: H u."""
        return combine(self.H, self.speeds)


@dataclass(frozen=True, kw_only=True)
class Kinematics(Motion):
    """A model's links with their poses, twists and Jacobians, in the speeds of its joints.

    rates     : kinematic matrix of every joint, the diagonal blocks of N
    carriers  : the link of each body
    places    : of markers on bodies that deform: the link of their section, and the pose in it
    stands_on : the body before each body, and of each marker, as the user said: welded ones too
    """

    links: tuple[Link, ...]
    rates: tuple[Matrix, ...]
    carriers: dict[str, int]
    stands_on: dict[str, str]
    places: dict[str, tuple[int, Pose]] = field(default_factory=dict)

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
                found[self.links[i].at[j]] = found[self.links[i].at[j]] + column.vector()
        return matrix(found).T if found else zeros(6, 0)

    @cached_property
    def first_moment(self) -> Matrix:
        """Mass times centre of mass of everything that moves, in the world."""
        if linear.is_linear(self):
            return linear.first_moment(self)
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
    laid = _Layout()
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
        laid.add(body, joint.parts, names, speeds, len(u))
        _require_rank(body.joint)
        blocks.append(kinematic_matrix(joint, names))
        if rates:
            quasi |= _quasi(body.joint, names, speeds)
        q += [*names, *map(symbol, body.modes)]
        u += [*speeds, *map(symbol, body.speeds[len(body.joint.speeds()) :])]
        blocks += [identity(len(body.modes))] if body.modes else []
    places = {
        m.name: laid.place(m.body, m.pose, f"Marker {m.name!r}") for m in merged.markers if m.body in laid.flexible
    }
    return Kinematics(
        model=merged,
        links=tuple(laid.links),
        q=vector(q),
        u=vector(u),
        rates=tuple(blocks),
        quasi=quasi,
        carriers=laid.carriers,
        places=places,
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


class _Layout:
    """The links of a model as they are laid out, body by body.

    links    : so far
    carriers : the link of each body
    flexible : the bodies that deform
    sections : the links of their sections, by body and place
    """

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.carriers: dict[str, int] = {}
        self.flexible: dict[str, Flexible] = {}
        self.sections: dict[tuple[str, Station], int] = {}

    def add(self, body: Body, parts: tuple[Part, ...], q: list[Expr], u: list[Expr], first: int) -> None:
        """Lay out one body, from its parent outward: the last part of its joint comes first."""
        parent, base = self.place(body.parent, body.pose, f"Body {body.name!r}")
        total = body.total
        modes = _modes(body, total, first + len(u)) if body.flexible is not None else None
        root = None if body.flexible is None else body.flexible.root
        held = modes is not None and root is not None and not root.still  # its frame moves in its joint
        for part, share, offset in reversed(shares(parts, q)):
            last = part is parts[0] and not held
            X = part_configuration(part, share)
            self.links.append(
                Link(
                    parent=parent,
                    part=part,
                    coordinates=tuple(share),
                    X=base @ X,
                    at=tuple(range(first + offset, first + offset + part.nu)),
                    H=tuple(twists(part.H)),
                    speeds=tuple(u[offset : offset + part.nu]),
                    inertia=Inertia.zero() if not last else total if modes is None else modes.body.inertia,
                    armature=body.joint.armature[offset : offset + part.nu],
                    modes=modes if last else None,
                )
            )
            parent, base = len(self.links) - 1, Pose.identity()
        if held and modes is not None and root is not None:
            seen = seen_from_joint(root, modes.d, modes.rates)
            self.links.append(_section(parent, modes, replace(seen, X=base @ seen.X), modes.body.inertia, modes))
        elif not parts:
            inertia = total if modes is None else modes.body.inertia
            self.links.append(_fixed(parent, base, inertia, modes))
        self.carriers[body.name] = len(self.links) - 1
        if body.flexible is not None:
            self.flexible[body.name] = body.flexible

    def place(self, name: str, pose: Pose, what: str) -> tuple[int, Pose]:
        """The link that a pose on a body belongs to, and the pose in it: a section's where the body deforms."""
        k = self.carriers.get(name, -1)
        if name not in self.flexible:
            return k, pose
        station = self.flexible[name].station(pose.p, f"{what} on {name!r}")
        if station.still:
            return k, pose
        if (name, station) not in self.sections:
            modes = self.links[k].modes
            assert modes is not None
            moved = _section(k, modes, bent(station, modes.d, modes.rates), Inertia.zero(), None)
            self.links.append(replace(moved, station=station))
            self.sections[name, station] = len(self.links) - 1
        return self.sections[name, station], Pose(pose.R, pose.p - station.p)


def _modes(body: Body, hub: Inertia, first: int) -> Modes:
    """What deforms of a body, its hub counted in."""
    assert body.flexible is not None
    d = tuple(map(symbol, body.modes))
    rates = tuple(map(symbol, body.rates))
    alone = body.flexible.inertia.at(d)
    at = tuple(range(first, first + len(d)))
    whole = replace(alone, inertia=alone.inertia + hub)
    return Modes(at=at, d=d, rates=rates, body=whole, flexible=body.flexible)


_NO_JOINT = Part(zeros(6, 0), zeros(6, 0))


def _section(parent: int, moved: Modes, seen: Bent, inertia: Inertia, modes: Modes | None) -> Link:
    """A frame that the modes of a body move."""
    return Link(
        parent=parent,
        part=_NO_JOINT,
        coordinates=(),
        X=seen.X,
        at=moved.at,
        H=seen.H,
        speeds=moved.rates,
        inertia=inertia,
        armature=(as_expr(0),) * len(moved.at),
        bend=seen.bend,
        modes=modes,
    )


def _fixed(parent: int, X: Pose, inertia: Inertia, modes: Modes | None) -> Link:
    """A frame that nothing moves in its parent, of a body that deforms or is welded to one."""
    return Link(
        parent=parent, part=_NO_JOINT, coordinates=(), X=X, at=(), H=(), speeds=(), inertia=inertia, armature=(),
        modes=modes,
    )  # fmt: skip
