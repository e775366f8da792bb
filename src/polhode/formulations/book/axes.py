"""What the recursions of the paper ask of 4 x 4 matrices, whatever axes these are written in.

Two kinds of quantity pass through the frames: inertias like jFt_h [Book, eq. 67] and matrices like Q_j [Book, eq. 88],
which are momenta or their rates. Both are summed, carried from a frame to its parent, and met by slopes of W in traces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from polhode.graph import Expr

from .frames import Frame

F = TypeVar("F")  # of inertia
Y = TypeVar("Y")  # of momentum


class Axes(ABC, Generic[F, Y]):
    """An arm in motion, in axes of the base or of its links."""

    frames: Sequence[Frame]

    @abstractmethod
    def inertia(self, k: int) -> F:
        """G of the body that ends in frame k, 0 where none does. Reference: [Book, eq. 37]."""

    @abstractmethod
    def inward(self, k: int, inertia: F, beyond: F) -> F:
        """The inertia of the parent with that beyond frame k: F_p + T F_k T^T. Reference: [Book, eq. 79]."""

    def at(self, k: int) -> tuple[int, ...]:
        """Places of the speeds whose slopes are taken in frame k."""
        return self.frames[k].at

    @abstractmethod
    def momentum(self, k: int, i: int, inertia: F) -> Y:
        """F (dW_k/dz)^T, what all beyond frame k has of a unit of its speed i. Reference: [Book, eq. 66, 70]."""

    @abstractmethod
    def along(self, k: int, i: int, momentum: Y) -> Expr:
        """Tr{ dW_k/dz Y } for its speed i. Reference: [Book, eq. 66, 84]."""

    @abstractmethod
    def carried(self, k: int, momentum: Y) -> Y:
        """T Y, the same seen from the parent. Reference: [Book, eq. 78, 88]."""

    @abstractmethod
    def sum(self, one: Y, other: Y) -> Y:
        """Of two momenta."""

    @abstractmethod
    def modal(self, k: int) -> list[Y]:
        """D_kf W_k^T of each mode of the body that ends in frame k. Reference: [Book, eq. 68, 69]."""

    @abstractmethod
    def own(self, k: int, e: int, f: int) -> Expr:
        """Tr{ W_k C_kef W_k^T } of two of its modes. Reference: [Book, eq. 72]."""

    @abstractmethod
    def load(self, k: int) -> Y:
        """What moves the body that ends in frame k. Reference: [Book, eq. 38, 87]."""

    @abstractmethod
    def modal_loads(self, k: int) -> list[Expr]:
        """The same along its modes. Reference: [Book, eq. 39, 85]."""
