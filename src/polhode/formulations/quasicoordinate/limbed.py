"""The equations of all limbs, transformed to the speeds of the joints.

    sum over limbs of  T^T [A (T udot + sigma) + h - f] = 0,   T = C^R D_0 D_1 D_2

written out body by body, each with the share that a limb has of it. What D_3 is, transmissions and
other couplings, is left to `projection`: M' = D_3^T M D_3.

Reference: [NelsonQuinn, eq. 16 to 20, 36, 40; section 5.3.2].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    cross,
    gradient,
    identity,
    matrix,
    maximum,
    mirrored,
    sqrt,
    vector,
    zeros,
)
from polhode.kinematics import Kinematics
from polhode.kinematics.compliant import rubbing, stop_depths, taut
from polhode.kinematics.loads import elastic_energy, speed_forces
from polhode.kinematics.touch import touch_of
from polhode.model import WORLD, CompliantContact, CompliantRope, CompliantStop, MarkerWrench, SpringDamper
from polhode.spatial.rotation import skew

from ..passive import passive
from ..terms import Terms
from .chain import Columns, Member, full, gathered, members, none, section
from .deforming import Deforming
from .limbs import Limbs, find_limbs


@dataclass(frozen=True, kw_only=True)
class Limbed:
    """A machine as a set of limbs."""

    kin: Kinematics
    limbs: Limbs

    @cached_property
    def bodies(self) -> dict[str, Member]:
        return {m.name: m for m in members(self.kin)}

    def shares(self) -> Iterator[tuple[Member, Expr]]:
        """Every body of every limb, with the share that the limb has of it; bodies without inertia are left out."""
        for limb in self.limbs:
            own = [*zip(limb.bodies, limb.shares, strict=True), *((name, 1) for name in limb.rotors)]
            for name, share in own:
                body = self.bodies[name]
                if body.modes is None and (body.m != 0 or zeros(3, 3) != body.I):
                    yield body, as_expr(share)

    @cached_property
    def deforming(self) -> list[Deforming]:
        """The bodies that deform, each once: the shares that limbs have of one add up to 1."""
        return [Deforming(body, body.modes) for body in self.bodies.values() if body.modes is not None]

    def mass(self) -> Matrix:
        """M = T^T A T, (nu, nu). Reference: [NelsonQuinn, eq. 18]."""
        n = len(self.kin.u)
        M = [none(n) for _ in range(n)]
        for body, share in self.shares():
            turned = {j: body.I @ c * share for j, c in body.turns.items()}
            moved = {j: c * (body.m * share) for j, c in body.center.items()}
            for i, (w, v) in _both(body).items():
                for j, along in turned.items():
                    if j <= i:
                        M[i][j] = M[i][j] + w @ along + v @ moved[j]
        for i, a in self._armatures.items():
            M[i][i] = M[i][i] + a
        for part in self.deforming:
            part.mass(M)
        return mirrored(matrix(M).T) if n else zeros(0, 0)

    def velocity(self) -> Matrix:
        """T^T (A sigma + h), (nu,): m Gamma along Phi, omega~ I* omega + I* C^R xi. [NelsonQuinn, eq. 19]."""
        total = none(len(self.kin.u))
        for body, share in self.shares():
            gathered(body.center, body.accelerating * (body.m * share), total)
            spun = body.I @ body.turning + cross(body.omega, body.I @ body.omega)
            gathered(body.turns, spun * share, total)
        for i, e in enumerate(self._rotors):
            total[i] = total[i] + e
        for part in self.deforming:
            part.needed(total)
        return vector(total)

    def gravity(self) -> Matrix:
        """-T^T [1^T m g; Phi^T m g], (nu,). Reference: [NelsonQuinn, eq. 19, 20]."""
        total = none(len(self.kin.u))
        for body, share in self.shares():
            gathered(body.center, self.kin.model.gravity * (-body.m * share), total)
        for part in self.deforming:
            part.weight(-self.kin.model.gravity, total)
        return vector(total)

    def convective(self) -> Matrix:
        """C with C u the velocity terms and M_dot - 2 C skew, (nu, nu).

        C = Phi^T m (Phi T)_dot + T^T (I* T_dot - (I* omega)~ T), of the rows of T and Phi T. With bodies that deform
        it is made of the velocity terms.
        """
        n = len(self.kin.u)
        if self.deforming:
            return passive(self.kin, self.mass(), self.velocity())
        C = zeros(n, n)
        for body, share in self.shares():
            turns, center = full(body.turns, n), full(body.center, n)
            spun = body.I @ self.kin.rate(turns) - skew(body.I @ body.omega) @ turns
            C = C + (turns.T @ spun + center.T @ (self.kin.rate(center) * body.m)) * share
        rotors = self._gyroscopic
        return C + matrix(rotors) if any(e != 0 for row in rotors for e in row) else C

    # armatures: rotors that turn with the speeds

    @cached_property
    def _armatures(self) -> dict[int, Expr]:
        """The inertia that speeds of joints drive besides the bodies', by speed."""
        joints = [(link.at, link.armature) for link in self.kin.links if not link.section]
        return {i: a for at, armature in joints for i, a in zip(at, armature, strict=False)}

    @cached_property
    def _rotors(self) -> list[Expr]:
        """What armatures need where the axes of a joint do not commute, as those of a ball joint: Omega~ a Omega."""
        return [sum((e * u for e, u in zip(row, self.kin.u, strict=True)), as_expr(0)) for row in self._gyroscopic]

    @cached_property
    def _gyroscopic(self) -> list[list[Expr]]:
        """The same as a skew matrix by the speeds, as -(a Omega)~ of a ball joint."""
        n = len(self.kin.u)
        total = [none(n) for _ in range(n)]
        for link in self.kin.links:
            a, at = _padded(link.armature, len(link.speeds)), link.at
            for i in range(len(link.speeds)):
                for j, c in enumerate(link.part.structure[: len(link.speeds)]):
                    for l, u in enumerate(link.speeds):
                        if c[l, i] != 0:
                            total[at[i]][at[j]] = total[at[i]][at[j]] - c[l, i] * a[l] * u
        return total

    # forces

    def forces(self) -> Matrix:
        """T^T f: moments on the bodies, and forces along the rows of Phi. Reference: [NelsonQuinn, eq. 12, 15]."""
        kin = self.kin
        total = none(len(kin.u))
        for marker, torque, force in self._loads():
            body, r = self._at(marker)
            if body is not None:
                gathered(body.moves, force, total)
                gathered(body.turns, body.C.T @ torque + cross(r, body.C.T @ force), total)
        index = {u.value: i for i, u in enumerate(kin.u)}
        for name, law in speed_forces(kin):
            total[index[name]] = total[index[name]] + law
        slopes = -gradient(elastic_energy(kin), kin.q)
        return vector(total) + kin.pulled(slopes + self._stops())

    def _stops(self) -> Matrix:
        """The forces of stops that yield, on the coordinates."""
        q, pushes = {str(s.value): i for i, s in enumerate(self.kin.q)}, none(len(self.kin.q))
        for force in self.kin.model.forces:
            if isinstance(force, CompliantStop):
                i = q[force.coordinate]
                for depth, way in stop_depths(force):
                    pushes[i] = pushes[i] + force.push(depth, self.kin.q_dot[i] * -way) * way
        return vector(pushes)

    def _at(self, marker: str) -> tuple[Member | None, Matrix]:
        """The body that a marker is fixed to, None for the world, and its place there."""
        name, X = self.kin.model.frame(marker)
        body = None if name == WORLD else self.bodies[name]
        if body is not None and body.modes is not None:
            body, X = section(body, X, f"Marker {marker!r}")
        return body, X.p

    def _loads(self) -> Iterator[tuple[str, Matrix, Matrix]]:
        """Markers with torques and forces there, in the axes of the world."""
        kin = self.kin
        for force in kin.model.forces:
            if isinstance(force, MarkerWrench):
                R = identity(3) if force.axes == "world" else kin.pose(force.marker).R
                yield force.marker, R @ force.torque, R @ force.force
            elif isinstance(force, SpringDamper):
                yield from self._pulled(force.ends, self._spring(force))
            elif isinstance(force, CompliantRope):
                l = taut(kin, force)[1]
                yield from self._pulled(force.ends, force.push(l - force.length, self._rate(force.ends, l)) / l)
            elif isinstance(force, CompliantContact):
                at = touch_of(kin, force.marker, force)
                lam = force.push(maximum(-at.height, 0), -(at.slip @ at.n))
                pushed = at.n * lam + rubbing(force, at, lam)
                yield force.marker, cross(at.down, pushed), pushed
                yield force.ground, cross(pushed, at.lever), -pushed

    def _pulled(self, ends: tuple[str, str], tension: Expr) -> Iterator[tuple[str, Matrix, Matrix]]:
        """Forces at two markers along the line between them; tension is that by their distance."""
        a, b = ends
        pull = (self.kin.pose(b).p - self.kin.pose(a).p) * tension
        yield a, zeros(3), pull
        yield b, zeros(3), -pull

    def _spring(self, spring: SpringDamper) -> Expr:
        """The tension of a spring and damper by its length."""
        if spring.length == 0 and spring.damping == 0:
            return spring.stiffness  # no length to divide by
        p_AB = self.kin.pose(spring.ends[1]).p - self.kin.pose(spring.ends[0]).p
        l: Expr = sqrt(p_AB @ p_AB)
        rate = self._rate(spring.ends, l) if spring.damping != 0 else as_expr(0)
        return (spring.stiffness * (l - spring.length) + spring.damping * rate) / l

    def _rate(self, ends: tuple[str, str], l: Expr) -> Expr:
        """How fast the distance l of two markers grows."""
        (a, b), total = ends, zeros(3)
        for marker, sign in ((b, 1), (a, -1)):
            body, r = self._at(marker)
            if body is not None:
                moved = _along(body.moves, self.kin.u) + body.C @ cross(body.omega, r)
                total = total + moved * sign
        found: Expr = (self.kin.pose(b).p - self.kin.pose(a).p) @ total / l
        return found


def terms(kin: Kinematics, limbs: Limbs | None = None) -> Terms:
    """Derive the terms of the quasicoordinate equations."""
    made = Limbed(kin=kin, limbs=find_limbs(kin) if limbs is None else limbs)
    return Terms(
        kinematics=kin,
        mass=made.mass,
        velocity=made.velocity,
        gravity=made.gravity,
        forces=made.forces,
        convective=made.convective,
        limbs=made.limbs,
    )


def _both(body: Member) -> dict[int, tuple[Matrix, Matrix]]:
    """The columns of a body: angular velocity, and velocity of its mass centre."""
    return {j: (c, body.center[j]) for j, c in body.turns.items()}


def _along(columns: Columns, u: Matrix) -> Matrix:
    found = zeros(3)
    for j, column in columns.items():
        found = found + column * u[j]
    return found


def _padded(armature: tuple[Expr, ...], n: int) -> list[Expr]:
    return [*armature, *none(n - len(armature))]
