"""A machine on a table that several people stand around: what each may do, and what all see."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from polhode.model.errors import closest

from .forces import Forces
from .hand import Hand, Hands
from .link import Link
from .loop import Realtime
from .messages import Message
from .modegraph import ModeGraph
from .parameters import Parameters
from .picture import Picture
from .placed import Placed
from .pulls import Pulls
from .quantities import Quantities
from .ranges import ranges
from .sample import Device, Sample
from .slow import Pushed, Smoothed

SHOWN = ("forces",)  # what pages may ask for beside the picture
REACH = 2.0  # sizes of the machine, beyond which a hand pulls no more
FASTEST, SLOWEST = 10.0, 0.01  # speeds that may be asked for


class Table:
    """A loop in real time, and the hands and sliders on it. One thread calls it: that of the server.

    names    : of the inputs, forces on speeds and controls; sliders : those that no law sets; ranges : of all
    inputs   : that act, without what hands add
    hands    : what each guest holds, with each of its hands
    switches : the constraints that may be engaged and released
    parameters : those that are not compiled in, as they are set
    graph    : of the modes that these lead to
    """

    def __init__(self, loop: Realtime) -> None:
        self.loop = loop
        self.parameters = Parameters(loop)
        self.picture = Picture(loop.dynamics, self.parameters.p, loop.state)
        self._acting = b""  # the forces of the last picture
        self.forces, self._shown = Forces(loop, self.picture), set[Hashable]()
        self._hands = Hands(loop.dynamics, self.parameters.p, REACH * self.picture.scene.size)
        self.hands: dict[tuple[Hashable, int], Hand] = {}
        inputs = loop._sim._inputs
        self.names = tuple(inputs.names)
        self.ranges = dict(zip(self.names, ranges(loop.dynamics, loop.state.q, loop.p), strict=True))
        self._pulls = Pulls.of(loop)
        self.quantities = Quantities(loop, self.names)
        powered = (a for a in loop.dynamics.equations.model.actuators if a.force is not None and a.force.number == 0)
        others = {*loop.lawful, *(a.name for a in powered)}
        self.sliders = tuple(name for name in self.names if name not in others)
        rows = loop.dynamics.equations
        embedded = set(rows.kinematics.embedded)
        declared = (*rows.constraints.names, *(c.name for c in rows.model.candidates))
        self.switches = tuple(name for name in dict.fromkeys(declared) if name not in embedded)
        self.graph = ModeGraph(loop, self.switches)

    def do(self, guest: Hashable, asked: Message) -> None:
        """Do what a guest asks for; ValueError or KeyError says why not."""
        self.parameters.look()
        getattr(self, f"_{asked.action}")(guest, asked)

    def leave(self, guest: Hashable) -> None:
        """Let go of what a guest holds, and of what it watches."""
        self.quantities.leave(guest)
        self._shown.discard(guest)
        held = [key for key in self.hands if key[0] == guest]
        for key in held:
            del self.hands[key]
        if held:
            self.push()

    @property
    def link(self) -> Link | None:
        """That of a device on the machine, the last where there are several; None where there is none."""
        return next((link for link in reversed(self.loop.links) if isinstance(link, Link)), None)

    @property
    def inputs(self) -> np.ndarray:
        self._pulls.look()
        return self._pulls.inputs

    @property
    def acts(self) -> bool:
        """Whether `push` is to be called again and again."""
        return bool(self.hands) or not self._pulls.settled

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
        self.parameters.act()
        self._pulls.begin()
        self.graph.begin()

    def _speed(self, guest: Hashable, asked: Message) -> None:
        if not SLOWEST <= asked.value <= FASTEST:
            raise ValueError(f"speed is {asked.value:g}, expected {SLOWEST:g} to {FASTEST:g}.")
        self.loop.speed = asked.value

    def _input(self, guest: Hashable, asked: Message) -> None:
        if asked.name not in self.sliders:
            raise KeyError(f"There is no input {asked.name!r:.60} to set. {closest(asked.name, self.sliders)}")
        self._pulls.set(asked.name, asked.value)

    def _parameter(self, guest: Hashable, asked: Message) -> None:
        self.parameters.set(asked.name, asked.value, lambda: self._hands.mass(self.loop.state))

    def _watch(self, guest: Hashable, asked: Message) -> None:
        self.quantities.watch(guest, asked.names)

    def _show(self, guest: Hashable, asked: Message) -> None:
        for name in asked.names:
            if name not in SHOWN:
                raise KeyError(f"There is nothing {name!r:.60} to show. {closest(name, SHOWN)}")
        (self._shown.add if asked.names else self._shown.discard)(guest)

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
        self.hands[guest, asked.hand] = self._hands.take(picture.names[host], inside, state)

    def _drag(self, guest: Hashable, asked: Message) -> None:
        if (guest, asked.hand) not in self.hands:
            raise ValueError("drag: nothing is held. Grab a body first.")
        self.hands[guest, asked.hand].target = self.picture.upright.T @ np.array(asked.point)

    def _drop(self, guest: Hashable, asked: Message) -> None:
        if self.hands.pop((guest, asked.hand), None) is not None:
            self.push()

    def _push(self, guest: Hashable, asked: Message) -> None:
        pushed = self._pushed()
        if pushed is None:
            raise ValueError("push: there is no device that a page pushes. See polhode view --device page.")
        x, y, z = (self.picture.upright.T @ np.array(asked.point)).tolist()
        pushed.push(Sample(t=self.loop.state.t, position=(x, y, z), buttons=int(asked.grip)))

    def _pushed(self) -> Pushed | None:
        """The device that pages push, where the link has one."""
        link = self.link
        device: Device | None = None if link is None else link.device
        while isinstance(device, Smoothed | Placed):
            device = device.device
        return device if isinstance(device, Pushed) else None

    def push(self) -> None:
        """Have all hands act, beside whatever else does."""
        self.parameters.look()
        state = self.loop.state
        try:
            forces = [hand.forces(state, self.loop.lasts) for hand in self.hands.values()]
        except np.linalg.LinAlgError:  # the machine is where nothing can be said of it
            self.hands.clear()
            forces = []
        self._pulls.pull(self, sum(forces[1:], forces[0]) if forces else None)

    # what all see

    def frame(self) -> bytes:
        """The machine now, for a page."""
        self.parameters.look()
        loop, state = self.loop, self.loop.state
        kinetic, potential = self.picture.energy(state)
        self.quantities.take(state, (kinetic, potential))
        late = loop.lateness
        head = {
            "t": state.t, "kinetic": kinetic, "potential": potential, "running": float(loop.running),
            "speed": loop.speed, "ticks": float(loop.ticks), "late": late.p99, "missed": float(late.missed),
        }  # fmt: skip
        poses = self.picture.poses(state)
        if self._shown:
            self._acting = self.forces.frame(state, poses, self.hands.values())
        else:
            self._acting = b""
            self.forces.rest()
        return self.picture.frame(head, poses)

    def beside(self, guest: Hashable) -> bytes:
        """What a guest is sent behind the picture: the forces, where it asked for them."""
        return self._acting if guest in self._shown else b""

    def words(self) -> dict[str, Any]:
        """What changes now and then: modes, inputs, what is held, how late the loop is."""
        self.parameters.look()
        found, late = self.loop._sim.mode, self.loop.lateness
        return {
            "modes": {name: found.get(name, "released") for name in self.switches},
            "inputs": dict(zip(self.names, self.inputs.tolist(), strict=True)),
            "parameters": self.parameters.values,
            "held": [hand.body for hand in self.hands.values()],
            "lateness": str(late),
            "loop": late.told,
            "failure": self.loop.failure or self.loop.refused,
            **self._felt(),
            "seen": self.graph.seen(),
        }

    def _felt(self) -> dict[str, Any]:
        """What the device does: the marker that it holds, whether it does, the force that it shows, what is wrong."""
        if (link := self.link) is None:
            return {}
        coupler = link.coupler
        failure = link.failure or getattr(link.device, "failure", "")
        return {"device": {
            "holds": bool(self.loop.tau[self.names.index(coupler.controls[-1])]), "failure": failure,
            "force": float(np.linalg.norm(link.shown[3:])),
            "most": coupler.most_force if np.isfinite(coupler.most_force) else None,
        }}  # fmt: skip

    def description(self) -> dict[str, Any]:
        """What a page has to know once."""
        return self.picture.description() | {
            "rate": self.loop.rate, "switches": list(self.switches), "inputs": list(self.sliders),
            "quantities": self.quantities.groups, "graph": self.graph.description(), "forces": list(self.forces.names),
            "weight": self.forces.weight, "units": self.quantities.units, "efforts": self.quantities.inputs,
            "ranges": self.ranges,
            "parameters": dict(zip(self.parameters.names, self.parameters.first.tolist(), strict=True)),
            "device": "" if (link := self.link) is None else link.marker, "pushed": self._pushed() is not None,
        }  # fmt: skip
