"""The same in the axes of the links: what proper rotations leave of the 4 x 4 matrices.

Where R R^T = 1 every trace may be taken in the axes of its link, Tr{W A Y W^T} = Tr{A Y}, which the paper does in (72)
and (73). All slopes of W are then of the form hat(V) = [0 0; v skew(w)], and of a matrix Y only its first row f and the
axial vector n of its 3 x 3 block meet one:

    Tr{ hat(V) Y } = v.f + w.n,      Y = [0 f^T; 0 N],  n = axial(N)

So of every 4 x 4 matrix six numbers are carried, of W^-1 W'' = [0 0; a  skew(w_dot) + skew(w)^2] nine, and W itself is
not needed. This is where the operations go that the paper counts in its section 6.
"""

from __future__ import annotations

from collections.abc import Sequence

from polhode.graph import Expr, Matrix, as_expr, cross, matrix, mirrored, vector, zeros
from polhode.graph.matrix import dot
from polhode.spatial import Pose, Wrench
from polhode.spatial.rotation import turned
from polhode.spatial.vectors import combine

from .axes import Axes
from .frames import Frame
from .masses import Pseudo


class LinkAxes(Axes[Pseudo, Wrench]):
    """Angular velocities, W^-1 Wdd by blocks, and momenta as wrenches.

    udot : accelerations, 0 for the right-hand side
    fall : minus the acceleration of free fall
    """

    def __init__(self, frames: Sequence[Frame], udot: Matrix, fall: Matrix) -> None:
        self.frames = frames
        self.udot = udot
        self.w: list[Matrix] = []
        w_dot: list[Matrix] = []
        self.S: list[Matrix] = []
        self.a: list[Matrix] = []
        for frame in frames:  # eq. 10, 15; 64, 65
            R, p = frame.X.R, frame.X.p
            own = combine(frame.H, frame.speeds)
            rate = combine(frame.H, [udot[at] for at in frame.at]) + frame.bend
            if frame.parent < 0:
                turning, carried, moved = zeros(3), zeros(3), fall
            else:
                turning, carried = R.T @ self.w[frame.parent], R.T @ w_dot[frame.parent]
                moved = self.a[frame.parent] + self.S[frame.parent] @ p
            self.w.append(turning + own.w)
            w_dot.append(carried + cross(turning, own.w) + rate.w)
            self.a.append(R.T @ moved + cross(turning * 2 + own.w, own.v) + rate.v)
            still = own.w == zeros(3) == rate.w and R == Pose.identity().R and frame.parent >= 0
            self.S.append(self.S[frame.parent] if still else _spin(self.w[-1], w_dot[-1]))

        self.swept = [frame.H if frame.swept is None else frame.swept for frame in frames]

    def at(self, k: int) -> tuple[int, ...]:
        return self.frames[k].at if self.swept[k] else ()

    def inertia(self, k: int) -> Pseudo:
        mass = self.frames[k].mass
        return Pseudo(m=as_expr(0), h=zeros(3), S=zeros(3, 3)) if mass is None else mass.G

    def inward(self, k: int, inertia: Pseudo, beyond: Pseudo) -> Pseudo:
        """m, R h + m p, R S R^T + p (R h)^T + (R h + m p) p^T."""
        X = self.frames[k].X
        h = X.R @ beyond.h
        moved = h + X.p * beyond.m
        S = turned(X.R, beyond.S)
        rows = [[S[i, j] + dot([X.p[i], moved[i]], [h[j], X.p[j]]) for j in range(3)] for i in range(3)]
        return inertia + Pseudo(m=beyond.m, h=moved, S=mirrored(matrix(rows)))

    def momentum(self, k: int, i: int, inertia: Pseudo) -> Wrench:
        """F hat(h)^T."""
        h = self.swept[k][i]
        return Wrench(_swept(inertia.S, h.w) + cross(inertia.h, h.v), h.v * inertia.m + cross(h.w, inertia.h))

    def along(self, k: int, i: int, momentum: Wrench) -> Expr:
        return self.swept[k][i].dot(momentum)

    def carried(self, k: int, momentum: Wrench) -> Wrench:
        return self.frames[k].X @ momentum

    def sum(self, one: Wrench, other: Wrench) -> Wrench:
        return one + other

    def modal(self, k: int) -> list[Wrench]:
        mass = self.frames[k].mass
        assert mass is not None
        return [Wrench(axial(D), P) for P, D in zip(mass.P, mass.D, strict=True)]

    def own(self, k: int, e: int, f: int) -> Expr:
        """Reference: [Book, eq. 72], shortened."""
        mass = self.frames[k].mass
        assert mass is not None
        return _trace(mass.C[e][f])

    def load(self, k: int) -> Wrench:
        """f = m a + S h, n = h x a + axial(G S^T), and 2 (sum_k d_k' D_k) hat(w)^T + sum_k dd_k D_k."""
        mass = self.frames[k].mass
        if mass is None:
            return Wrench.zero()
        G, w, S, a = mass.G, self.w[k], self.S[k], self.a[k]
        f, n = a * G.m + S @ G.h + mass.H2, cross(G.h, a) + _axial_of_product(G.S, S) + axial(mass.G2)
        P, D = zeros(3), zeros(3, 3)
        for P_k, D_k, rate, at in zip(mass.P, mass.D, mass.rates, mass.at, strict=True):
            P, D = P + P_k * rate, D + D_k * rate
            f, n = f + P_k * self.udot[at], n + axial(D_k) * self.udot[at]
        return Wrench(n + _swept(D.T, w) * 2, f + cross(w, P) * 2)

    def modal_loads(self, k: int) -> list[Expr]:
        """P_f.a + Tr{S D_f} + 2 w.sum_k d_k' axial(C_kf) + sum_k dd_k Tr C_kf + Tr B_f."""
        mass = self.frames[k].mass
        assert mass is not None
        found = []
        for f, (P, D) in enumerate(zip(mass.P, mass.D, strict=True)):
            total, around = P @ self.a[k], zeros(3)
            for i in range(3):
                total = total + dot(self.S[k].T[i], D[i])
            for e, (rate, at) in enumerate(zip(mass.rates, mass.at, strict=True)):
                around = around + axial(mass.C[e][f]) * rate
                total = total + _trace(mass.C[e][f]) * self.udot[at]
            found.append(total + (self.w[k] @ around) * 2 + (_trace(mass.B[f]) if mass.B else 0))
        return found


def axial(N: Matrix) -> Matrix:
    """Of s r^T: s x r. Tr{skew(w) N} = w.axial(N)."""
    return vector([N[1, 2] - N[2, 1], N[2, 0] - N[0, 2], N[0, 1] - N[1, 0]])


def _trace(N: Matrix) -> Expr:
    return N[0, 0] + N[1, 1] + N[2, 2]  # type: ignore[no-any-return]


def _swept(N: Matrix, w: Matrix) -> Matrix:
    """axial(N^T skew(w)^T) = tr(N) w - N w, the diagonal without what cancels."""
    x, y, z = (N[i, i] for i in range(3))
    sums = (y + z, x + z, x + y)
    return vector([dot([sums[i] if i == j else -N[i, j] for j in range(3)], w) for i in range(3)])


def _spin(w: Matrix, w_dot: Matrix) -> Matrix:
    """skew(w_dot) + skew(w)^2."""
    x, y, z = w
    xy, xz, yz = (dot([a], [b]) for a, b in ((x, y), (x, z), (y, z)))
    xx, yy, zz = x * x, y * y, z * z
    a, b, c = w_dot
    return matrix([[-(yy + zz), xy - c, xz + b], [xy + c, -(xx + zz), yz - a], [xz - b, yz + a, -(xx + yy)]])


def _axial_of_product(G: Matrix, S: Matrix) -> Matrix:
    """axial(G S^T) of a symmetric G, in five multiplications a row."""
    rows = []
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        rows.append(
            dot(
                [G[i, j], -G[i, k], G[j, j], -G[k, k], G[j, k]],
                [S[k, i], S[j, i], S[k, j], S[j, k], S[k, k] - S[j, j]],
            )
        )
    return vector(rows)
