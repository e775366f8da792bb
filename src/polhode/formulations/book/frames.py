"""The transformations of an arm: A_j of its joints, E_j of its flexible links.

    W_j = What_{j-1} A_j,   What_j = W_j E_j                                   [Book, eq. 3, 13]

A joint moves along constant twists, A_j' = A_j hat(H u) and A_j'' = A_j (hat(H u)^2 + hat(H u')), so that
U_jk = A_j hat(h_k) for any joint; the paper's joints are rotary. A link deflects to a section E_j(d), of which one body
may have several, as trees need. It is taken in two steps, a displacement and a turn:

    E_j = [1  0; s(d)  1] [1  0; 0  R(d)]       R = exp(skew(Psi d)), or as the paper has it 1 + skew(Psi d)

With the latter E_j = H_j + sum_k d_k M_jk [Book, eq. 5 to 7]. So A_j and the two steps of E_j are frames alike, each
with slopes by speeds of its own, and one recursion passes through all of them. A rigid link has no E_j: what stands on
it is part of the next A_j, and costs nothing [Book, section 5.2.4].

Homogeneous vectors are [1, x, y, z], as in [Book, eq. 1].
"""

from __future__ import annotations

from dataclasses import dataclass

from polhode.graph import Expr, Matrix, cross, matrix, vector, zeros
from polhode.kinematics import Kinematics, Link
from polhode.kinematics.bent import coefficients
from polhode.kinematics.linear import linear_pose, linear_turns
from polhode.model.flexible import Station
from polhode.spatial import Pose, Twist, skew
from polhode.spatial.modal import weighted
from polhode.spatial.vectors import combine

from .masses import Mass, deformed, rigid


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One step of the chain: A_j, or the displacement or the turn of an E_j.

    parent   : index of the frame before it, -1 for the base
    X        : its place in the parent, the blocks of A_j or E_j; R is no rotation where rotations are linear
    H        : its twists by unit speeds in its own axes; none where rotations are linear
    bend     : the rate of H u where the speeds are constant
    swept    : the twists of all beyond by these speeds, in its own axes, where they are not H: a displacement has
               those of the turn after it with its own, and the turn none
    turns    : where rotations are linear, the slopes of R by the speeds instead
    at       : places of its speeds among all
    speeds   : along H
    armature : inertia of each speed beside that of bodies
    closing  : c_j[l, i] of [h_j, h_i] = sum_l c_j[l, i] h_l
    mass     : of the body that ends here
    """

    parent: int
    X: Pose
    at: tuple[int, ...] = ()
    speeds: tuple[Expr, ...] = ()
    H: tuple[Twist, ...] = ()
    bend: Twist
    swept: tuple[Twist, ...] | None = None
    turns: tuple[Matrix, ...] = ()
    armature: tuple[Expr, ...] = ()
    closing: tuple[Matrix, ...] = ()
    mass: Mass | None = None

    @property
    def T(self) -> Matrix:
        """A_j or a step of E_j, 4 x 4."""
        return homogeneous(1, self.X.p, self.X.R)

    @property
    def slopes(self) -> list[Matrix]:
        """U_jk or M_jk: the slope of T by each speed. Reference: [Book, eq. 7, 11]."""
        if self.turns:
            return [homogeneous(0, zeros(3), turn) for turn in self.turns]
        return [self.T @ hat(h) for h in self.H]

    @property
    def drift(self) -> Matrix:
        """The second rate of T where the speeds are constant: U2_j qdot_j^2, and the curvature of E_j.

        Reference: [Book, eq. 12]; of E_j what proper rotations add to eq. 17.
        """
        if self.turns:
            return zeros(4, 4)
        own = hat(combine(self.H, self.speeds))
        drift: Matrix = self.T @ (own @ own + hat(self.bend))
        return drift


def homogeneous(one: int, p: Matrix, R: Matrix) -> Matrix:
    """Put blocks together: [one 0; p R]. Reference: [Book, eq. 1]."""
    return matrix([[one, 0, 0, 0], *([p[i], *R[i]] for i in range(3))])


def hat(V: Twist) -> Matrix:
    """The rate [0 0; v skew(w)] of a frame that moves with a twist, in its own axes."""
    return homogeneous(0, V.v, skew(V.w))


def frames(kin: Kinematics) -> list[Frame]:
    """Lay out links as the steps of the chain, each after its parent."""
    found: list[Frame] = []
    last: list[int] = []  # the frame in which each link ends
    for k, link in enumerate(kin.links):
        parent = -1 if link.parent < 0 else last[link.parent]
        if link.section and link.modes is None and link.at:
            found += _section(link, kin.links[link.parent], parent, len(found))
        else:
            found.append(_joint(kin, k, parent))
        last.append(len(found) - 1)
    return found


def _joint(kin: Kinematics, k: int, parent: int) -> Frame:
    """A_j; and of a body whose joint holds a section that moves, that section's E^-1."""
    link = kin.links[k]
    return Frame(
        parent=parent,
        X=link.X,
        at=link.at,
        speeds=link.speeds,
        H=link.H,
        bend=link.bend,
        armature=tuple(link.armature),
        closing=tuple(link.part.structure),
        mass=rigid(link.inertia) if link.modes is None else deformed(kin, k, link.modes),
    )


def _section(link: Link, body: Link, parent: int, index: int) -> list[Frame]:
    """The displacement and the turn of E_j. Reference: [Book, eq. 5 to 7]."""
    assert body.modes is not None
    assert link.station is not None
    d = body.modes.d
    slides, drawn = _slides(link.station, d, link.speeds)
    turning = [i for i, h in enumerate(link.H) if h.w != zeros(3)]
    linear = body.modes.flexible.rotation == "linear"
    lefts = [zeros(3)] * len(d) if linear else _lefts(link.station, d)
    moved = Frame(
        parent=parent,
        X=Pose.at(link.X.p),
        at=link.at,
        speeds=link.speeds,
        H=tuple(Twist(zeros(3), slide) for slide in slides),
        bend=Twist(zeros(3), drawn),
        swept=tuple(Twist(left, slide) for left, slide in zip(lefts, slides, strict=True)),
    )
    if not turning:
        return [moved]
    at, speeds = tuple(link.at[i] for i in turning), tuple(link.speeds[i] for i in turning)
    if linear:
        slopes = linear_turns(link)
        turns = tuple(slopes[i] for i in turning)
        X = Pose(linear_pose(link, body).R, zeros(3))
        own = Frame(parent=index, X=X, at=at, speeds=speeds, turns=turns, bend=Twist.zero())
    else:
        H = tuple(Twist(link.H[i].w, zeros(3)) for i in turning)
        bend = Twist(link.bend.w, zeros(3))
        own = Frame(parent=index, X=Pose(link.X.R, zeros(3)), at=at, speeds=speeds, H=H, bend=bend, swept=())
    return [moved, own]


def _slides(station: Station, d: tuple[Expr, ...], rates: tuple[Expr, ...]) -> tuple[list[Matrix], Matrix]:
    """The slopes Phi_k + sum_l g_kl d_l of a section's place, and its second rate sum_kl g_kl d_k' d_l'."""
    found, drawn = list(station.Phi.T.rows()), zeros(3)
    for k, row in enumerate(station.g):
        found[k] = weighted(found[k], row, d)
        drawn = drawn + weighted(zeros(3), row, rates) * rates[k]
    return found, drawn


def _lefts(station: Station, d: tuple[Expr, ...]) -> list[Matrix]:
    """The angular velocities of a section by unit speeds in the axes of its body, Jl(th) Psi_k.

    Jl = 1 + b skew(th) + c skew(th)^2, with b and c of `kinematics.bent`.
    """
    psi = list(station.Psi.T.rows())
    used = [i for i in range(3) if any(column[i] != 0 for column in psi)]
    if len(used) < 2:
        return psi
    th = matrix(psi).T @ vector(d)
    b, c, _, _ = coefficients(th @ th)
    return [column + cross(th, column) * b + cross(th, cross(th, column)) * c for column in psi]
