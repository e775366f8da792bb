"""A machine in a scripted hand, over UDP: what is felt, and where the energy is after each tick."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polhode.interact import Coupler, Driver, Link, Passivity, Realtime, Scripted, Udp


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt:
    """A run, a row a tick.

    moved, force : of the hand from where it began, m, and that it is shown, N
    marker       : where the coupler holds the machine, m
    put, has     : J that the arm has done so far; that hand, machine and the coupler's store have of it
    gained       : J of the machine in the tick, beyond what the coupler's force did where the marker went
    counted      : J that the passivity observer has
    taken        : J that its damper took in all
    """

    moved: np.ndarray
    force: np.ndarray
    marker: np.ndarray
    put: np.ndarray
    has: np.ndarray
    gained: np.ndarray
    counted: np.ndarray
    taken: float


def felt(rt: Realtime, made: Coupler, hand: Scripted, ticks: int, there: float = 0.0) -> Felt:
    """Move a machine by a hand, tick by tick without the clock, all that they say to each other by UDP."""
    dyn, T, now, rows = rt.dynamics, 1 / rt.rate, [0.0], []
    begun, pose = hand.x.copy(), dyn.pose(made.marker)
    watch = Passivity(T, hand.mass / T, there=there)
    with Udp(clock=lambda: now[0], damping=hand.damping) as device, Driver(device.address) as driver:
        link, first = Link(rt, made, device, watch), None
        for _ in range(ticks):
            driver.send(hand.read())
            assert select.select([device._socket], [], [], 10)[0]
            x, E = pose(rt.state.q)[:3, 3], float(dyn.energy(rt.state.q, rt.state.u).sum())
            first = E if first is None else first
            link.tick()
            shown = driver.receive(wait=10)
            assert shown == link.shown
            hand.write(shown)
            hand.advance(T)
            now[0] += T
            marker, energy = pose(rt.state.q)[:3, 3], float(dyn.energy(rt.state.q, rt.state.u).sum())
            stored = 0.5 * made.stiffness * np.sum((hand.x - marker) ** 2)
            gained = energy - E - link.wrench[3:] @ (marker - x)
            rows.append([*(hand.x - begun), *shown[3:], *marker, hand.worked, hand.kinetic + energy - first + stored,
                         gained, watch.energy])  # fmt: skip
        assert device.ignored == 0
    found = np.array(rows)
    return Felt(moved=found[:, :3], force=found[:, 3:6], marker=found[:, 6:9], put=found[:, 9], has=found[:, 10],
                gained=found[:, 11], counted=found[:, 12], taken=watch.taken)  # fmt: skip


def felt_by_the_clock(
    rt: Realtime, made: Coupler, hand: Scripted, ends: Callable[[Realtime, Scripted], bool]
) -> tuple[np.ndarray, str]:
    """Move a machine that runs by the clock until something ended; rows of place and force, and what failed, if any.

    The hand moves in steps of 1 ms however late it comes to them, and so is the same hand on a machine that is busy.
    """
    rows = []
    with Udp(damping=hand.damping, timeout=5.0) as device, Driver(device.address, timeout=5.0) as driver:
        patience = time.monotonic() + 60
        with rt, Link(rt, made, device) as link:
            while not ends(rt, hand) and time.monotonic() < patience:
                driver.send(hand.read())
                hand.write(driver.receive())
                hand.advance(1e-3)
                rows.append([*hand.x, *hand._force])
                time.sleep(1e-3)
            failure = link.failure or rt.failure
    return np.array(rows), failure
