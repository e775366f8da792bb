"""Admittance display: the force of the hand is read, and the device is moved to where the marker is.

The wrench is held over a step, in which the machine takes up just the work that it does. What the hand feels of the
motion comes a step later. An arm of stiffness k and damping b that holds a mass m, by forces of the last tick, has

    x+ = x + T v + T^2 F / 2 m,   v+ = v + T F / m,   F = -k x - b v

which is stable where k T / 2 < b < 2 m / T: as of [Colgate, Schenkel 1997] for the arm, and a machine not too light for
it.

Reference: [Yoshikawa et al. 1995], as cited in [Gillespie, section 1].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from polhode.graph import symbol, vector
from polhode.model import Model
from polhode.model.drives import CONTROL
from polhode.model.errors import closest
from polhode.model.forces import MarkerWrench

from .coupler import carriers
from .loop import Realtime
from .sample import NOTHING, Sample, limited
from .serving import Serving
from .turning import quaternion

KEYS = ("tx", "ty", "tz", "fx", "fy", "fz")


class Moved(Protocol):
    """A device that feels a force and goes where it is told.

    read_wrench : [torque, force] of the hand on it, in the axes of the world; None where none came yet
    move        : go to a pose, with a twist
    stale       : whether the last wrench is too old to act on
    most_force, most_torque : beyond which a wrench is limited, N, N m
    """

    most_force: float
    most_torque: float

    def read_wrench(self) -> tuple[float, ...] | None: ...

    def move(self, to: Sample) -> None: ...

    @property
    def stale(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Admittance:
    """A model with a wrench from outside at a marker; `admittance` makes one."""

    model: Model
    marker: str
    name: str

    @property
    def controls(self) -> tuple[str, ...]:
        """What its inputs are called: torque and force, in the axes of the world."""
        return tuple(f"{self.name}_{key}" for key in KEYS)


def admittance(model: Model, marker: str, *, name: str = "hand") -> Admittance:
    """Let the wrench of a hand act at a marker or body of a model."""
    frames = [*(body.name for body in model.bodies), *(m.name for m in model.markers)]
    if marker not in frames:
        raise ValueError(f"admittance: there is no marker {marker!r:.60}. {closest(marker, frames)}")
    made = Admittance(model=model, marker=marker, name=name)
    given = [symbol(CONTROL.format(key)) for key in made.controls]
    wrench = MarkerWrench(name=name, marker=marker, torque=vector(given[:3]), force=vector(given[3:]), axes="world")
    return replace(made, model=replace(model, forces=(*model.forces, *carriers(made.controls, marker), wrench)))


class AdmittanceLink(Serving):
    """Moves a device as a marker of the machine moves, and has the force of the hand act there.

    A device without a wrench, or whose wrench is stale, does not push; it goes on to be moved.
    """

    def __init__(self, rt: Realtime, admittance: Admittance, device: Moved) -> None:
        super().__init__(rt)
        self.admittance, self.device, self.wrench = admittance, device, NOTHING
        dyn = rt.dynamics
        self._pose, self._velocity = dyn.pose(admittance.marker), dyn.velocity(admittance.marker)
        rt.links.append(self)

    @property
    def marker(self) -> str:
        return self.admittance.marker

    def tick(self) -> None:
        """Read the force, take a step of the machine that is paused, and move the device to where it is then."""
        self._take()
        self.rt.step()
        self._move()

    def _exchange(self) -> None:
        self._take()
        self._move()

    def _rest(self) -> None:
        self.wrench = NOTHING
        self.rt.tau = self._released()

    def _released(self) -> dict[str, float]:
        return dict.fromkeys(self.admittance.controls, 0.0)

    def _take(self) -> None:
        found = self.device.read_wrench()
        idle = found is None or self.device.stale
        self.wrench = NOTHING if idle or found is None else limited(
            tuple(found), self.device.most_force, self.device.most_torque
        )  # fmt: skip
        self.rt.tau = dict(zip(self.admittance.controls, self.wrench, strict=True))

    def _move(self) -> None:
        s = self.rt.state
        X, V = self._pose(s.q, t=s.t, **self._p), self._velocity(s.q, s.u, t=s.t, **self._p)
        x, y, z = X[:3, 3].tolist()
        w, i, j, k = quaternion(X[:3, :3]).tolist()
        self.device.move(Sample(t=s.t, position=(x, y, z), rotation=(w, i, j, k), twist=tuple(V.tolist())))
