"""A device on a machine in real time: samples in, wrenches out."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from .coupler import Coupler
from .passivity import Passivity
from .realtime import Realtime, State
from .sample import Device, Sample, limited
from .stiffness import effective_mass, warn_if_active

NOTHING: tuple[float, ...] = (0.0,) * 6


class Link:
    """Connects a device to a machine through a coupler.

    rt        : the machine, `realtime(ph.formulate(coupler.model).compile(), ...)`
    passivity : counts the energy of the device's translation, and takes out what was made; None for none

    wrench : on the machine, [torque, force], in the last tick
    shown  : to the device
    stored : energy in the coupler, J
    failure : what ended the thread that serves the device, if anything did

    A device that has no sample, is stale, or does not press its first button has let go: no force on either side.
    """

    def __init__(self, rt: Realtime, coupler: Coupler, device: Device, passivity: Passivity | None = None) -> None:
        self.rt, self.coupler, self.device, self.passivity = rt, coupler, device, passivity
        self._felt = coupler.felt(rt.dynamics)
        self._last, self._inputs = Sample(), {}  # type: tuple[Sample, dict[str, float]]
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self.failure = ""
        self.wrench, self.shown, self.stored = np.zeros(6), NOTHING, 0.0
        given = rt._begin["p"]
        self._p: dict[str, Any] = {} if given is None else {"p": given}
        eq = rt.dynamics.equations
        self._N = rt.dynamics._compile("N", {"q": eq.q}, eq.N)
        self._check()

    def _check(self) -> None:
        """Warn of a coupler that makes energy at the state that is now."""
        c, rate = self.coupler, self.rt.rate
        turning, moving = effective_mass(self.rt.dynamics, c.marker, self.rt.state.q, **self._p)
        if np.isfinite(moving):
            warn_if_active(c.stiffness, c.damping, moving, rate, self.device.damping or None)
        if np.isfinite(turning) and c.turns:
            warn_if_active(c.turning_stiffness, c.turning_damping, turning, rate, None, turning=True)

    def tick(self) -> None:
        """Read the device, take a step of the machine that is paused, and show the force of that step."""
        self._take()
        before = self.rt.state
        self.rt.step()
        self._show(before, self.rt.state)

    def start(self, rate: float | None = None) -> Link:
        """Serve the device beside a machine that runs, in a thread of Python, at its rate or a lower one."""
        self._ended.clear()
        self._thread = threading.Thread(target=self._serve, args=(1 / (rate or self.rt.rate),), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Let go of the machine, show no force, and end."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None
        self._let_go()
        self.shown = NOTHING
        self.device.write(NOTHING)

    def __enter__(self) -> Link:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _serve(self, period: float) -> None:
        due = time.monotonic()
        try:
            while not self._ended.is_set():
                self._take()
                self._show(self.rt.state)
                due = max(due + period, time.monotonic() - period)
                self._ended.wait(max(due - time.monotonic(), 0.0))
        except Exception as error:  # of a device, whatever it may be
            self.failure = f"The device failed: {type(error).__name__}: {error}. It was let go."
        finally:  # nothing goes on to pull
            self._let_go()

    def _take(self) -> None:
        """Have the machine know where the device is."""
        sample = self.device.read()
        holds = sample is not None and not self.device.stale and sample.buttons & 1 and sample.finite()
        if not holds or sample is None:
            self._let_go()
            return
        if not self._inputs.get(self.coupler.controls[-1]):
            self._last = sample  # it grips: nothing was moved before
        self._moved = np.subtract(sample.position, self._last.position)
        self._last, self._inputs = sample, self.coupler.inputs(sample)
        self.rt.tau = self._inputs

    def _let_go(self) -> None:
        self._moved = np.zeros(3)
        self._inputs = self.coupler.inputs(self._last, grip=0.0)
        self.rt.tau = self._inputs

    def _show(self, state: State, after: State | None = None) -> None:
        """Show the device the opposite of the force in the step from a state, to the state after if it is known."""
        q, u = self._middle(state, after)
        self.wrench, stretch = self._felt(q, u, self._inputs, t=state.t, z=state.z, **self._p)
        holds = self._inputs[self.coupler.controls[-1]] > 0
        self.stored = self.coupler.stored(stretch) if holds else 0.0
        felt = self.wrench.copy()
        if self.passivity is not None:
            felt[3:] = self.passivity.tick(felt[3:], self._moved, self._last.twist[3:])
        if not holds:
            felt[:] = 0.0
        self.shown = limited(tuple((-felt).tolist()), self.device.most_force, self.device.most_torque)
        if self.passivity is not None:
            self.passivity.limit(-np.array(self.shown[3:]))
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
