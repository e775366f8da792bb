"""Elements of the inertia and convective matrices by the decoupled natural orthogonal complement.

Everything in the axes of the world, twists at the centres of mass, as the paper
has it; trees sum over children, joints with several speeds have several columns.

Reference: [SahaGoel, sections 2 and 3].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polhode.graph import Expr, Matrix, cross, identity, matrix, tidy, vector, zeros
from polhode.kinematics import Kinematics
from polhode.model import Body
from polhode.model.errors import closest
from polhode.spatial import skew


@dataclass(frozen=True)
class Elements:
    """The factors of t = T_l T_d u, and what the elements are made of."""

    kin: Kinematics

    @cached_property
    def c(self) -> list[Matrix]:
        """Centres of mass c_i in the world; the origin of a link without mass."""
        return [
            X @ (link.inertia.h / link.inertia.m) if link.inertia.m != 0 else X.p
            for X, link in zip(self.kin.X_W, self.kin.links, strict=True)
        ]

    @cached_property
    def w(self) -> list[Matrix]:
        """Angular velocities in the world."""
        return [X.R @ V.w for X, V in zip(self.kin.X_W, self.kin.V, strict=True)]

    @cached_property
    def c_dot(self) -> list[Matrix]:
        """Velocities of the centres of mass in the world."""
        found = []
        for k, (X, V) in enumerate(zip(self.kin.X_W, self.kin.V, strict=True)):
            found.append(X.R @ V.v + cross(self.w[k], self.c[k] - X.p))
        return found

    @cached_property
    def p(self) -> list[Matrix]:
        """Joint twists at the centres of mass, (6, r) each. Reference: [eq. 5]."""
        found = []
        for k, (X, link) in enumerate(zip(self.kin.X_W, self.kin.links, strict=True)):
            columns = []
            for h in link.H:
                e = X.R @ h.w
                columns.append(vector([*e, *(X.R @ h.v + cross(e, self.c[k] - X.p))]))
            found.append(matrix(columns).T)
        return found

    def B(self, i: int, j: int) -> Matrix:
        """B_ij takes the twist of link j to link i, as if they were one. Reference: [eq. 5]."""
        return _blocks(identity(3), zeros(3, 3), skew(self.c[j] - self.c[i]), identity(3))

    def B_dot(self, i: int, j: int) -> Matrix:
        """The time derivative of B_ij."""
        return _blocks(zeros(3, 3), zeros(3, 3), skew(self.c_dot[j] - self.c_dot[i]), zeros(3, 3))

    def V(self, i: int) -> Matrix:
        """diag(w x, w x): p_dot = V p. Reference: [eq. 19]."""
        turn = skew(self.w[i])
        return _blocks(turn, zeros(3, 3), zeros(3, 3), turn)

    @cached_property
    def M(self) -> list[Matrix]:
        """Masses of the links alone, at their centres of mass. Reference: [eq. 9]."""
        found = []
        for k, (X, link) in enumerate(zip(self.kin.X_W, self.kin.links, strict=True)):
            about_center = link.inertia.rotated(X.R).shifted(X.p - self.c[k])
            found.append(_blocks(about_center.I, zeros(3, 3), zeros(3, 3), identity(3) * link.inertia.m))
        return found

    @cached_property
    def composite(self) -> list[Matrix]:
        """Masses of the composite bodies: M~_i = M_i + sum B^T M~ B over children. Reference: [eq. 15]."""
        found = list(self.M)
        for k in reversed(range(len(found))):
            j = self.kin.links[k].parent
            if j >= 0:
                B = self.B(k, j)
                found[j] = found[j] + B.T @ found[k] @ B
        return found

    @cached_property
    def gyroscopic(self) -> list[Matrix]:
        """W M summed over the composite bodies. Reference: [after eq. 21]."""
        found = []
        for k in range(len(self.M)):
            turn: Matrix = skew(self.w[k]) @ self.M[k][:3, :3]
            found.append(_blocks(turn, zeros(3, 3), zeros(3, 3), zeros(3, 3)))
        for k in reversed(range(len(found))):
            j = self.kin.links[k].parent
            if j >= 0:
                found[j] = found[j] + found[k]
        return found

    @cached_property
    def beyond(self) -> list[Matrix]:
        """For each link the sum of B^T H~ over its children, H~_i = M~_i B_dot_(i, parent) + beyond_i.

        Reference: [eq. 21].
        """
        found = [zeros(6, 6)] * len(self.M)
        for k in reversed(range(len(found))):
            j = self.kin.links[k].parent
            if j >= 0:
                found[j] = found[j] + self.B(k, j).T @ (self.composite[k] @ self.B_dot(k, j) + found[k])
        return found

    def path(self, i: int, j: int) -> bool:
        """Whether j is on the way from link i to the world, i itself included."""
        return j in set(self.kin.ancestors(i))

    def inertia(self, i: int, j: int) -> Matrix:
        """The block i_ij = p_i^T M~_i B_ij p_j, j at or before i. Reference: [eq. 16]."""
        block: Matrix = self.p[i].T @ self.composite[i] @ self.B(i, j) @ self.p[j]
        return block

    def convective(self, i: int, j: int) -> Matrix:
        """The block c_ij. Reference: [eq. 20]."""
        if self.path(j, i):  # i at or before j
            inner = self.B(j, i).T @ (self.composite[j] @ self.V(j) + self.beyond[j]) + self.gyroscopic[j]
        elif self.path(i, j):
            moved = self.composite[i] @ (self.B(i, j) @ self.V(j) + self.B_dot(i, j))
            inner = moved + self.beyond[i] + self.gyroscopic[i]
        else:
            return zeros(self.p[i].shape[1], self.p[j].shape[1])
        block: Matrix = self.p[i].T @ inner @ self.p[j]
        return block


def _require_rigid(kin: Kinematics) -> None:
    if any(link.modes is not None for link in kin.links):
        bent = next(body.name for body in kin.model.bodies if body.flexible is not None)
        raise ValueError(
            f"Model {kin.model.name!r}: {bent!r} deforms, and the elements of Saha and Goel are those of rigid bodies. "
            "Read eq.M and eq.C."
        )


def _blocks(a: Matrix, b: Matrix, c: Matrix, d: Matrix) -> Matrix:
    return matrix([*([*a[i], *b[i]] for i in range(3)), *([*c[i], *d[i]] for i in range(3))])


def inertia_matrix(kin: Kinematics) -> Matrix:
    """I by elements, (nu, nu), with the armatures. Reference: [SahaGoel, eq. 16]."""
    _require_rigid(kin)
    parts = Elements(kin)
    n = len(kin.u)
    found: list[list[Expr]] = [[zeros(1)[0]] * n for _ in range(n)]
    for i, link in enumerate(kin.links):
        for j in kin.ancestors(i):
            block, other = parts.inertia(i, j), kin.links[j]
            for a in range(len(link.H)):
                for b in range(len(other.H)):
                    row, column = link.at[a], other.at[b]
                    found[row][column] = found[column][row] = block[a, b]
        for a, armature in enumerate(link.armature):
            found[link.at[a]][link.at[a]] = found[link.at[a]][link.at[a]] + armature
    return matrix(found) if n else zeros(0, 0)


def convective_matrix(kin: Kinematics) -> Matrix:
    """C by elements, (nu, nu), with C u the velocity terms and M_dot - 2 C skew.

    M_dot - 2 C = T_dot^T M T - T^T M T_dot - T^T (W M + M W) T: three skew matrices.
    Reference: [SahaGoel, eq. 20, 21].
    """
    _require_rigid(kin)
    parts = Elements(kin)
    n = len(kin.u)
    found: list[list[Expr]] = [[zeros(1)[0]] * n for _ in range(n)]
    for i, link in enumerate(kin.links):
        for j, other in enumerate(kin.links):
            block = parts.convective(i, j)
            for a in range(len(link.H)):
                for b in range(len(other.H)):
                    found[link.at[a]][other.at[b]] = block[a, b]
        # armatures on speeds whose axes do not commute: -c_b[l, a] a_l u_l, skew in a and b
        for b, c in enumerate(link.part.structure[: len(link.H)]):
            for a in range(len(link.H)):
                for l, (u, armature) in enumerate(zip(link.speeds, link.armature, strict=False)):
                    row, column = link.at[a], link.at[b]
                    found[row][column] = found[row][column] - u * c[l, a] * armature
    return matrix(found) if n else zeros(0, 0)


def explain(kin: Kinematics, row: str, column: str, of: str = "M") -> str:
    """Say in words and symbols what an element of the inertia or convective matrix is made of.

    row, column : names of speeds
    of          : "M" or "C"
    """
    if of not in ("M", "C"):
        raise ValueError(f'of={of!r}: expected "M" or "C".')
    _require_rigid(kin)
    names = [str(u.value) for u in kin.u]
    for name in (row, column):
        if name not in names:
            raise KeyError(f"There is no speed {name!r}. {closest(name, names)}")
    bodies = _bodies(kin)
    (i, a), (j, b) = (_place(kin, names.index(name)) for name in (row, column))
    parts = Elements(kin)
    head = f"{of}[{row}, {column}]"
    joints = " and ".join(f"{bodies[k].joint.name!r} ({bodies[k].joint.kind})" for k in dict.fromkeys([i, j]))
    if not parts.path(i, j) and not parts.path(j, i):
        return f"{head} = 0\njoints {joints} are on different branches: no body moves with both"
    outer = i if parts.path(i, j) else j
    moved = [bodies[k].name for k in range(len(kin.links)) if parts.path(k, outer) and k in kin.carriers.values()]
    formulas = {
        ("M", True): "p_i^T M~_i B_ij p_j",
        ("M", False): "p_i^T B_ji^T M~_j p_j",
        ("C", True): "p_i^T (M~_i B_ij V_j + H~_ij + W~_i) p_j",
        ("C", False): "p_i^T (B_ji^T (M~_j V_j + H~ beyond j) + W~_j) p_j",
    }
    formula = formulas[of, outer == i and (of == "M" or i != j)]
    block = parts.convective(i, j) if of == "C" else parts.inertia(i, j) if outer == i else parts.inertia(j, i).T
    armature = kin.links[i].armature[a] if of == "M" and row == column else zeros(1)[0]
    return (
        f"{head} = {formula}, i of {row}, j of {column}\n"
        f"joints {joints}\n"
        f"composite body {', '.join(moved)}\n"
        f"= {tidy(block[a, b] + armature)}"
    )


def _bodies(kin: Kinematics) -> list[Body]:
    """The body that each link belongs to."""
    found: list[Body] = []
    for body in kin.model.bodies:
        found += [body] * (kin.carriers[body.name] + 1 - len(found))
    return found


def _place(kin: Kinematics, index: int) -> tuple[int, int]:
    """The link of a speed, and which of its columns."""
    for k, link in enumerate(kin.links):
        if index in link.at:
            return k, link.at.index(index)
    raise IndexError(index)
