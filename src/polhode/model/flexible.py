"""What a body that deforms says of itself, whatever it was made from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, zeros
from polhode.spatial.modal import ModalInertia

ORDERS = ("first", "second", "full", "paper")
SHORTENING = ("first", "second")  # those that have what displacements have of second order
ROTATIONS = ("proper", "linear")


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """A section of a flexible body and how the m modes move it, in the axes of the body.

    It is at  p + Phi d + 1/2 sum_kl d_k d_l g_kl  and turned by  exp(skew(Psi d)).

    p        : (3,), where it is undeformed
    Phi, Psi : (3, m), displacements and small rotations of the modes
    g        : (3,) each, k by l, symmetric: the second order, as of beams that get shorter as they bend; () where
               the field is linear
    """

    p: Matrix
    Phi: Matrix
    Psi: Matrix
    g: tuple[tuple[Matrix, ...], ...] = ()

    @property
    def still(self) -> bool:
        """Whether no mode moves it."""
        shortened = [e for row in self.g for g in row for e in g.entries]
        return not any(e != 0 for e in (*self.Phi.entries, *self.Psi.entries, *shortened))


class Flexible(ABC):
    """The modes of a body: shapes that its amplitudes d multiply, and what they weigh and resist.

    The body's frame is where its joint is. Subclasses are frozen dataclasses of what the user said.

    order    : "first" is right to first order in d, with the shortening of what bends; "second" has it, too, and leaves
               out nothing of what it does to the kinetic energy; "full" is exact for the field that is linear in d,
               without it; "paper" is that of [Book, eq. 37], for method="book" alone
    rotation : of sections, "proper" or as [Book, eq. 7] "linear", the latter for "book" and "lagrange" alone
    """

    order: str
    rotation: str

    @property
    @abstractmethod
    def modes(self) -> tuple[str, ...]:
        """A short name of each mode: y1, y2, z1, twist1, stretch1. A coordinate is called "<body>_y1"."""

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each amplitude: rad for twists, m for others."""
        return tuple("rad" if mode.startswith("twist") else "m" for mode in self.modes)

    @property
    @abstractmethod
    def inertia(self) -> ModalInertia:
        """Integrals over its mass; H2 and G2 are 0 where the order has no shortening, `second` is for that order."""

    @property
    @abstractmethod
    def stiffness(self) -> Matrix:
        """(m, m), symmetric. Reference: [Book, eq. 42]."""

    @property
    @abstractmethod
    def damping(self) -> Matrix:
        """(m, m), symmetric."""

    @abstractmethod
    def station(self, p: Matrix, what: str) -> Station:
        """The section that carries a point given where it is undeformed; `what` names the point in messages."""

    @property
    def root(self) -> Station:
        """The section that the body's joint holds; the others are seen from there."""
        return self.station(zeros(3), "Its joint")

    @property
    @abstractmethod
    def lines(self) -> tuple[tuple[Station, ...], ...]:
        """Stations along lines that a picture draws."""

    @property
    @abstractmethod
    def length(self) -> Expr:
        """The length that deflections are small beside."""

    def said(self) -> list[Expr]:
        """Every expression that the user gave."""
        return self.quantities()

    def quantities(self) -> list[Expr]:
        """Every constant expression."""
        I = self.inertia
        squares = [e for part in (I.C2, I.H2, I.G2) for row in part for block in row for e in block.entries]
        lines = [*I.P, *I.C1, self.stiffness, self.damping, I.h, I.S]
        if I.second is not None:
            lines += [
                *I.second.A,
                *I.second.whole.P,
                *I.second.whole.C1,
                *(e for row in I.second.whole.C2 for e in row),
            ]
        return [I.m, *squares, *(e for block in lines for e in block.entries)]
