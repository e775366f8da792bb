"""The forces in a machine that runs, as arrows for a page: of constraints, of what yields, of hands and devices."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from typing import Any

import numpy as np

from polhode.graph import Expr, Matrix, free_symbols, symbol, vector
from polhode.kinematics.compliant import compliant_loads, stop_forces
from polhode.model import Compliant, CompliantContact, CompliantRope, CompliantStop
from polhode.view.solid import numbers

from .arrows import NOTHING, Arrow, Arrows
from .at_state import AtState
from .hand import Hand
from .loop import Realtime, State
from .picture import Picture
from .reactions import Reactions

HAND, DEVICE = "hand", "device"
WIDE = 10  # float32 of each arrow: its place among the names, where, force, torque


class Forces:
    """What acts in a machine, when somebody looks.

    names  : of what may act, constraints first
    weight : of the machine, N; 0 without gravity
    """

    def __init__(self, loop: Realtime, picture: Picture) -> None:
        self._loop, self._picture = loop, picture
        kin = loop.dynamics.equations.kinematics.joints
        self._p, self._values = loop.p, dict(picture.values)
        self._arrows, self._places = Arrows(kin, self._values), dict(picture.frames.places)
        self._lengths = _with_lengths(loop, picture)
        self._yielding = [force for force in kin.model.forces if isinstance(force, Compliant)]
        acting = dict.fromkeys([*self._arrows.elements, *(force.name for force in self._yielding), HAND, DEVICE])
        self.names = tuple(acting)
        self._number = {name: k for k, name in enumerate(self.names)}
        self.weight = picture.weight
        self._reactions: Reactions | None = None

    def rest(self) -> None:
        """Nobody looks: begin anew when somebody does."""
        self._reactions = None

    def frame(self, state: State, poses: np.ndarray, hands: Iterable[Hand]) -> bytes:
        """All arrows at a picture, WIDE float32 each; of what has no place in the machine it is NaN."""
        U = self._picture.upright
        found = np.zeros((0, WIDE))
        rows = [(self._number[name], *(U @ a.at), *(U @ a.force), *(U @ a.torque))
                for name, a in self.now(state, poses, hands)]  # fmt: skip
        if rows:
            found = np.array(rows)
        return bytes(found.astype("<f4").tobytes())

    def now(self, state: State, poses: np.ndarray, hands: Iterable[Hand] = ()) -> list[tuple[str, Arrow]]:
        """What acts, with the names of what it is of; poses : (n, 4, 4), of all frames."""
        if self._reactions is None:
            self._reactions = Reactions(self._loop)
        place = partial(self._place, poses)
        self._measure()
        self._values |= self._captured()
        self._reactions.look()
        found: list[tuple[str, Arrow]] = []
        for name, lam in _by_name(self._reactions):
            arrows = self._arrows.of(name, lam, place)
            found += [(name, each) for each in arrows]
            if not arrows:
                found.append((name, Arrow("", np.full(3, np.nan), np.array([np.linalg.norm(lam), 0, 0]), NOTHING)))
        found += self._of_what_yields(state, place)
        for hand in hands:
            X = place(hand.body)
            found.append((HAND, Arrow(hand.body, X[:3, :3] @ hand.point + X[:3, 3], hand.force, NOTHING)))
        for link in self._loop.links:
            if np.any(link.wrench):
                torque, force = np.split(np.asarray(link.wrench, dtype=float), 2)
                found.append((DEVICE, Arrow(link.marker, place(link.marker)[:3, 3], force, torque)))
        return found

    def _place(self, poses: np.ndarray, name: str) -> np.ndarray:
        k, X = self._places[name]
        found: np.ndarray = poses[k] @ X
        return found

    def _measure(self) -> None:
        """Have lengths be those of the parameters that act: shapes stay as they are drawn, forces do not."""
        p = self._loop.p
        if np.array_equal(p, self._p):
            return
        self._p[:] = p
        self._values |= dict(zip(map(symbol, self._loop.dynamics.parameters), p.tolist(), strict=True))
        for name, X in self._lengths.items():
            self._places[name] = self._places[name][0], numbers(X.entries, self._values).reshape(4, 4)
        self._arrows = Arrows(self._loop.dynamics.equations.kinematics.joints, self._values)

    def _captured(self) -> dict[Expr, float]:
        """What latches captured where they engaged: what turned since then has its reactions in axes of that moment."""
        board = self._loop._sim._modes.board
        if board is None:
            return {}
        symbols = (s for _, s, _ in board.program.candidates.captured)
        return dict(zip(symbols, board.captured.tolist(), strict=True))

    @cached_property
    def _loads(self) -> AtState:
        """Torque and force of all that yields, then the forces of stops."""
        eq = self._loop.dynamics.equations
        kin = eq.kinematics.joints
        wrenches = [vector([*torque, *force]) for _, torque, force in compliant_loads(kin)]
        return AtState(self._loop.dynamics, self._p, [*wrenches, *(vector([e]) for _, e in stop_forces(kin))])

    def _of_what_yields(self, state: State, place: Any) -> list[tuple[str, Arrow]]:
        """The forces of contacts, ropes and stops that yield."""
        if not self._yielding:
            return []
        loads, found = iter(self._loads(state)), []
        for force in self._yielding:
            if isinstance(force, CompliantContact):
                at, _ = self._arrows.foot(force, place)
                found.append((force.name, Arrow(force.marker, at, next(loads)[3:], NOTHING)))
                next(loads)
            elif isinstance(force, CompliantRope):
                for end in force.ends:
                    found.append((force.name, Arrow(end, place(end)[:3, 3], next(loads)[3:], NOTHING)))
        for force in self._yielding:
            if isinstance(force, CompliantStop):
                total = sum(float(next(loads)[0]) for bound in (force.lower, force.upper) if bound is not None)
                arrow = self._arrows.along(force.coordinate, total, place)
                found += [] if arrow is None else [(force.name, arrow)]
        return [(name, a) for name, a in found if a.force.any() or a.torque.any()]


def _with_lengths(loop: Realtime, picture: Picture) -> dict[str, Matrix]:
    """The poses of markers in their bodies that parameters change, of which values may be set; not in what deforms."""
    model, free = loop.dynamics.equations.model.merged(), set(map(symbol, loop.dynamics.parameters))
    stiff = {k for k, name in enumerate(picture.names) if k < 1 + len(picture.frames.bodies)}
    found = {}
    for marker in model.markers:
        X = model.frame(marker.name)[1].matrix()
        if picture.frames.places[marker.name][0] in stiff and free & set(free_symbols(X)):
            found[marker.name] = X
    return found


def _by_name(reactions: Reactions) -> Iterable[tuple[str, np.ndarray]]:
    """The reactions of each constraint that carries something."""
    names = np.array(reactions.names)
    for name in dict.fromkeys(reactions.names):
        lam = reactions.lam[names == name]
        if lam.any():
            yield name, lam
