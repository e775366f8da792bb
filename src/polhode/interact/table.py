"""A machine on a table that several people stand around: what each may do, and what all see."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from polhode.model.errors import closest

from .hand import Hand, Hands
from .messages import Message
from .picture import Picture
from .realtime import Realtime

FASTEST, SLOWEST = 10.0, 0.01  # speeds that may be asked for


class Table:
    """A loop in real time, and the hands and sliders on it. One thread calls it: that of the server.

    names    : of the inputs, forces on speeds and controls; sliders : those that no law sets
    inputs   : as the sliders set them
    hands    : what each guest holds
    switches : the constraints that may be engaged and released
    """

    def __init__(self, loop: Realtime) -> None:
        self.loop = loop
        p = np.asarray(loop._sim._values, dtype=float)
        self.picture = Picture(loop.dynamics, p, loop.state)
        self._hands = Hands(loop.dynamics, p)
        self.hands: dict[Hashable, Hand] = {}
        inputs = loop._sim._inputs
        self.names = tuple(inputs.names)
        self.inputs = loop.tau
        self.sliders = tuple(n for n, s in zip(self.names, inputs.symbols, strict=True) if s not in inputs.laws)
        rows = loop.dynamics.equations
        embedded = set(rows.kinematics.embedded)
        declared = (*rows.constraints.names, *(c.name for c in rows.model.candidates))
        self.switches = tuple(name for name in dict.fromkeys(declared) if name not in embedded)

    def do(self, guest: Hashable, asked: Message) -> None:
        """Do what a guest asks for; ValueError or KeyError says why not."""
        getattr(self, f"_{asked.action}")(guest, asked)

    def leave(self, guest: Hashable) -> None:
        """Let go of what a guest holds."""
        if self.hands.pop(guest, None) is not None:
            self.push()

    def _play(self, guest: Hashable, asked: Message) -> None:
        if self.loop.failure:
            raise ValueError("The machine cannot go on from here. Reset it.")
        self.loop.start()

    def _pause(self, guest: Hashable, asked: Message) -> None:
        self.loop.pause()

    def _step(self, guest: Hashable, asked: Message) -> None:
        if self.loop.running:
            raise ValueError("The machine is running. Pause it first.")
        self.push()
        self.loop.step()

    def _reset(self, guest: Hashable, asked: Message) -> None:
        self.hands.clear()
        self.loop.reset()
        self.inputs = self.loop.tau

    def _speed(self, guest: Hashable, asked: Message) -> None:
        if not SLOWEST <= asked.value <= FASTEST:
            raise ValueError(f"speed is {asked.value:g}, expected {SLOWEST:g} to {FASTEST:g}.")
        self.loop.speed = asked.value

    def _input(self, guest: Hashable, asked: Message) -> None:
        if asked.name not in self.sliders:
            raise KeyError(f"There is no input {asked.name!r:.60} to set. {closest(asked.name, self.sliders)}")
        self.inputs[self.names.index(asked.name)] = asked.value
        self.push()

    def _engage(self, guest: Hashable, asked: Message) -> None:
        self._known(asked.name)
        self.loop.engage(asked.name)

    def _release(self, guest: Hashable, asked: Message) -> None:
        self._known(asked.name)
        self.loop.release(asked.name)

    def _known(self, name: str) -> None:
        if name not in self.switches:
            raise KeyError(f"There is no constraint {name!r:.60} to switch. {closest(name, self.switches)}")

    def _grab(self, guest: Hashable, asked: Message) -> None:
        picture = self.picture
        if not 1 <= asked.frame < len(picture.names):
            raise ValueError(f"grab: there is no frame {asked.frame} that moves, of {len(picture.names) - 1}.")
        state, host = self.loop.state, picture.hosts[asked.frame]
        if not 1 <= host <= len(picture.frames.bodies):
            raise ValueError(f"grab: {picture.names[asked.frame]!r} is no body.")
        poses = picture.poses(state)
        inside = np.linalg.solve(poses[host], poses[asked.frame] @ [*asked.point, 1])[:3]
        self.hands[guest] = self._hands.take(picture.names[host], inside, state)

    def _drag(self, guest: Hashable, asked: Message) -> None:
        if guest not in self.hands:
            raise ValueError("drag: nothing is held. Grab a body first.")
        self.hands[guest].target = self.picture.upright.T @ np.array(asked.point)

    def _drop(self, guest: Hashable, asked: Message) -> None:
        self.leave(guest)

    def push(self) -> None:
        """Have all hands and sliders act."""
        tau = self.inputs.copy()
        state = self.loop.state
        for hand in self.hands.values():
            tau[: len(state.u)] += hand.forces(state)
        if np.isfinite(tau).all():
            self.loop.tau = tau

    # what all see

    def frame(self) -> bytes:
        """The machine now, for a page."""
        loop, state = self.loop, self.loop.state
        kinetic, potential = self.picture.energy(state)
        late = loop.lateness
        head = {
            "t": state.t, "kinetic": kinetic, "potential": potential, "running": float(loop.running),
            "speed": loop.speed, "ticks": float(loop.ticks), "late": late.p99, "missed": float(late.missed),
        }  # fmt: skip
        return self.picture.frame(head, self.picture.poses(state))

    def words(self) -> dict[str, Any]:
        """What changes now and then: modes, inputs, what is held, how late the loop is."""
        found = self.loop._sim.mode
        return {
            "modes": {name: found.get(name, "released") for name in self.switches},
            "inputs": dict(zip(self.names, self.inputs.tolist(), strict=True)),
            "held": [hand.body for hand in self.hands.values()],
            "lateness": str(self.loop.lateness),
            "failure": self.loop.failure or self.loop.refused,
        }

    def description(self) -> dict[str, Any]:
        """What a page has to know once."""
        return self.picture.description() | {
            "rate": self.loop.rate, "switches": list(self.switches), "inputs": list(self.sliders),
        }  # fmt: skip
