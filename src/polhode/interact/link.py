"""A device on a machine in real time: samples in, wrenches out."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from .coupler import Coupler
from .loop import Realtime, State
from .passivity import Passivity
from .sample import NOTHING, Device, Sample, limited
from .serving import Serving
from .stiffness import CouplerWarning, effective_mass, warn_if_active, warn_if_active_together
from .turning import between, inverse, product, quaternion

NEEDS = ("read", "write", "stale", "most_force", "most_torque", "damping")  # of whatever is a device


class Link(Serving):
    """Connects a device to a machine through a coupler.

    rt        : the machine, `realtime(ph.formulate(coupler.model).compile(), ...)`
    passivity : counts the energy of the device, and takes out what was made; None for none. With `most_turning_damping`
                it counts turning, too
    relative  : with each grip, where the device is counts from where the marker is then, as a mouse that was lifted and
                put down; so that nothing is stretched at first

    wrench : on the machine, [torque, force], in the last tick
    shown  : to the device
    stored : energy in the coupler, J
    failure : what ended the thread that serves the device, if anything did

    A device that has no sample, is stale, or does not press its first button has let go: no force on either side. A
    machine that goes back in time, as by a reset, is gripped anew.
    """

    def __init__(
        self, rt: Realtime, coupler: Coupler, device: Device, passivity: Passivity | None = None, relative: bool = False
    ) -> None:
        if missing := [name for name in NEEDS if not hasattr(device, name)]:
            said = f"the device {device!r:.60} has no {', '.join(missing)}"
            raise TypeError(f"Link: {said}, expected a device with {', '.join(NEEDS)}.")
        super().__init__(rt)
        self.coupler, self.device, self.passivity, self.relative = coupler, device, passivity, relative
        self._felt = coupler.felt(rt.dynamics)
        self._last, self._inputs, self._t = Sample(), {}, -np.inf  # type: tuple[Sample, dict[str, float], float]
        self._away, self._turn = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])  # from the device to the marker
        self.wrench, self.shown, self.stored = np.zeros(6), NOTHING, 0.0
        eq = rt.dynamics.equations
        self._N = rt.dynamics._compile("N", {"q": eq.q}, eq.N)
        self._pose = rt.dynamics.pose(coupler.marker)
        self._check()
        rt.links.append(self)

    @property
    def marker(self) -> str:
        return self.coupler.marker

    def _check(self) -> None:
        """Warn of a coupler that makes energy at the state that is now."""
        c, rate, state = self.coupler, self.rt.rate, self.rt.state
        q, given = state.q, self._p | {"t": state.t, "z": state.z, "controls": self._others(state)}
        own = rate if self.rt._begin["method"] == "moreau" else None  # steps of others meet springs differently
        turning, moving = effective_mass(self.rt.dynamics, c.marker, q, own, **given)
        if np.isfinite(moving):
            warn_if_active(c.stiffness, c.damping, moving, rate, self.device.damping or None)
        if np.isfinite(turning) and c.turns:
            rubs = getattr(self.device, "turning_damping", 0.0) if self.device.most_torque else 0.0
            warn_if_active(c.turning_stiffness, c.turning_damping, turning, rate, rubs or None, turning=True)
            both = (c.stiffness, c.damping), (c.turning_stiffness, c.turning_damping)
            warn_if_active_together(*both, self.rt.dynamics, c.marker, rate, q, **given)
        for what, shows, most, unit in (
            ("force", self.device.most_force, c.most_force, "N"),
            ("torque", self.device.most_torque, c.most_torque, "N m"),
        ):
            if 0 < shows < most and (c.turns or what == "force"):
                warnings.warn(
                    f"The coupler has most_{what} {most:.4g} {unit}, and the device shows {shows:.4g} at most: beyond "
                    f"it the machine is given energy that the hand does not give. Take most_{what}={shows:.4g}.",
                    CouplerWarning, stacklevel=3,
                )  # fmt: skip

    def _others(self, state: State) -> dict[str, float]:
        """Inputs by which the couplers of other links hold, unstretched: each takes a part of what a step allows."""
        found: dict[str, float] = {}
        for other in self.rt.links:
            if isinstance(other, Link):
                X = other._pose(state.q, t=state.t, **self._p)
                x, y, z = X[:3, 3].tolist()
                w, i, j, k = quaternion(X[:3, :3]).tolist()
                found |= other.coupler.inputs(Sample(position=(x, y, z), rotation=(w, i, j, k)))
        return found

    def tick(self) -> None:
        """Read the device, take a step of the machine that is paused, and show the force of that step."""
        self._take()
        before = self.rt.state
        self.rt.step()
        self._show(before, self.rt.state)

    def _exchange(self) -> None:
        """Serve the device beside a machine that runs: it is shown the force at the newest state."""
        self._take()
        self._show(self.rt.state)

    def _rest(self) -> None:
        """Let go of the machine, and show no force."""
        try:
            self._let_go()
        finally:
            self.shown, self.wrench = NOTHING, np.zeros(6)
            self.device.write(NOTHING)

    def _released(self) -> dict[str, float]:
        return self.coupler.inputs(self._last, grip=0.0)

    def _take(self) -> None:
        """Have the machine know where the device is."""
        sample = self.device.read()
        holds = sample is not None and not self.device.stale and sample.buttons & 1 and sample.finite()
        if not holds or sample is None:
            self._let_go()
            return
        sample, state = sample.unit(), self.rt.state
        if not self._inputs.get(self.coupler.controls[-1]) or state.t < self._t:
            self._last = self._begin(sample, state)  # it grips: nothing was moved before
        sample, self._t = self._seen(sample), state.t
        turned = (
            between(np.array(self._last.rotation), np.array(sample.rotation)) if self._counts_turning else [0.0] * 3
        )
        self._moved = np.array([*turned, *np.subtract(sample.position, self._last.position)])
        self._last, self._inputs = sample, self.coupler.inputs(sample)
        self.rt.tau = self._inputs

    def _begin(self, sample: Sample, state: State) -> Sample:
        """Where the device is with a new grip."""
        if self.relative:
            X = self._pose(state.q, t=state.t, **self._p)
            self._away = X[:3, 3] - sample.position
            # on the right, so that both turn by the same angular velocity in the world
            self._turn = product(inverse(np.array(sample.rotation)), quaternion(X[:3, :3]))
        return self._seen(sample)

    def _seen(self, sample: Sample) -> Sample:
        if not self.relative:
            return sample
        x, y, z = (self._away + sample.position).tolist()
        a, b, c, d = product(np.array(sample.rotation), self._turn).tolist()
        return replace(sample, position=(x, y, z), rotation=(a, b, c, d))

    def _let_go(self) -> None:
        self._moved = np.zeros(6)
        self._inputs = self._released()
        self.rt.tau = self._inputs

    @property
    def _counts_turning(self) -> bool:
        return self.passivity is not None and self.passivity.turns

    def _show(self, state: State, after: State | None = None) -> None:
        """Show the device the opposite of the force in the step from a state, to the state after if it is known."""
        q, u = self._middle(state, after)
        self.wrench, stretch = self._felt(q, u, self._inputs, t=state.t, z=state.z, **self._p)
        holds = self._inputs[self.coupler.controls[-1]] > 0
        self.stored = self.coupler.stored(stretch) if holds else 0.0
        felt, part = self.wrench.copy(), slice(0 if self._counts_turning else 3, 6)
        if self.passivity is not None:
            felt[part] = self.passivity.tick(felt[part], self._moved[part], self._last.twist[part])
        if not holds:
            felt[:] = 0.0
        self.shown = limited(tuple((-felt).tolist()), self.device.most_force, self.device.most_torque)
        if self.passivity is not None:
            self.passivity.limit(-np.array(self.shown[part]))
        self.device.write(self.shown)

    def _middle(self, state: State, after: State | None) -> tuple[np.ndarray, np.ndarray]:
        """Where `moreau` takes forces: half a step on by the speeds before, with speeds that lead to the state after.

        q_m = q + N u T/2,  q_after = q + T N(q_m) u_m;  u_m is taken to be u where the state after is not known
        """
        dyn, T = self.rt.dynamics, 1 / self.rt.rate
        if self.rt._begin["method"] != "moreau":
            return state.q, state.u
        given = {**self._p, "t": state.t}
        q = dyn.unit(state.q + T / 2 * dyn.rates(state.q, state.u, **given))
        if after is None:
            return q, state.u
        drift = dyn.rates(q, np.zeros_like(state.u), **given | {"t": state.t + T / 2})
        N = self._N(q, **given | {"t": state.t + T / 2})
        return q, np.linalg.lstsq(N, (after.q - state.q) / T - drift, rcond=None)[0]
