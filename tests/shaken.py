"""A machine grown from a seed that is switched, struck and run, and looked at after everything that happens.

Every constraint is measured here from poses and velocities of markers, not from the rows that hold it.
"""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np

import polhode as ph
from polhode.model.grow import grow
from polhode.simulate.switchboard import SwitchError
from tests.mechanics import random_state

OFF = ("open", "released")
JOINTS = ["revolute", "prismatic", "universal", "cylindrical", "spherical", "screw"]
NEAR = 1e-9


def bare(seed, many, free, draw):
    kinds = [str(kind) for kind in draw.choice(JOINTS, many)]
    return grow(seed, ["free quaternion", *kinds] if free else kinds)


def floats(seed):
    """Whether a machine that starts with a free joint has no other on the world."""
    model = bare(seed, 4, True, np.random.default_rng(seed))
    return sum(body.parent == "world" for body in model.bodies) == 1


@lru_cache(maxsize=4)
def grown(seed, many=4, free=False):
    """A grown mechanism with a constraint of every kind, and the state its loop is closed at."""
    draw = np.random.default_rng(seed)
    model = bare(seed, many, free, draw)
    build = ph.Builder(f"switched {seed}", gravity=(0, 0, 0) if free else model.gravity)
    build.bodies.extend(model.bodies)
    build.markers.extend(model.markers)
    tree = ph.formulate(model).compile()
    q0, _ = random_state(tree.equations, seed, 0.3)
    joints = [body.joint for body in model.bodies][int(free) :]
    speeds = [name for joint in joints for name in joint.speeds()]
    angles = [name for joint in joints for name in joint.coordinates() if f"{name}_dot" in speeds]
    a, b = (f"tip{1 + int(k)}" for k in draw.choice(len(model.bodies), 2, replace=False))
    places = [tree.pose(tip)(q0)[:3, 3] for tip in (a, b)]

    def pick(count=1):
        return [str(name) for name in draw.choice(speeds, count, replace=False)]

    build.lock(joints[0].name, name="lock", active=False)
    build.brake(*pick(), name="brake", active=False)
    build.brake(*pick(), capacity=3.0, name="slipping brake", active=False)
    build.clutch(*pick(2), ratio=-0.7, name="clutch", active=False)
    build.clutch(*pick(2), ratio=1.3, capacity=2.0, name="slipping clutch", active=False)
    build.latch(a, b, str(draw.choice(["point", "distance", "axis", "plane"])), name="latch", active=False)
    if angles:  # not of a machine with ball joints alone
        watched = str(draw.choice(angles))
        here = q0[model.coordinates.index(watched)]
        bounce = float(draw.choice([0.0, 0.5]))
        build.stop(watched, lower=here - 0.4, upper=here + 0.5, restitution=bounce, name="stop")
    build.rope(a, b, length=np.linalg.norm(places[0] - places[1]) + 0.3, restitution=0.2, name="rope")
    if not free:
        low, mu = min(places[0][2], places[1][2]) - 0.4, float(draw.choice([0.3, 0.7]))
        build.marker("peg", body="world", at=places[0])
        build.marker("floor", body="world", at=(0, 0, low))
        build.loop(a, "peg", "point", name="loop", active=False)
        build.contact(a, "floor", restitution=0.3, friction=mu, name="contact a")
        build.contact(b, "floor", friction=mu, static=mu + 0.1, name="contact b")
    return ph.formulate(build.build()).compile(), q0


class Shaken:
    """A simulation that is switched at random, and looked at after every switch."""

    def __init__(self, seed, free=False):
        self.dyn, self.q0 = grown(seed, free=free)
        self.model, self.free = self.dyn.equations.model, free
        self.parts = {c.name: c for c in self.model.candidates}
        self.draw = np.random.default_rng(seed + 1000)
        self.switches = self.refused = 0
        self.restart()

    def restart(self):
        u = self.draw.uniform(-1, 1, self.model.nu)
        self.sim = ph.Simulation(self.dyn, self.q0, u, rtol=1e-8, atol=1e-8, longest=0.05)
        self.seen = 0
        self.tied = {}

    def kinetic(self):
        return 0.5 * self.sim.u @ self.dyn.mass_matrix(self.sim.q) @ self.sim.u

    def place(self, marker):
        return np.zeros(3) if marker == "world" else self.dyn.pose(marker)(self.sim.q)[:3, 3]

    def velocity(self, marker):
        return np.zeros(3) if marker == "world" else self.dyn.velocity(marker)(self.sim.q, self.sim.u)[3:]

    def momentum(self):
        """Linear and angular momentum of all bodies about the origin, from the speeds of each."""
        dyn, q, u, found = self.dyn, self.sim.q, self.sim.u, np.zeros(6)
        for body in self.model.bodies:
            X, V = dyn.pose(body.name)(q), dyn.velocity(body.name)(q, u)
            mass = body.mass.number
            R, com = X[:3, :3], np.array([e.number for e in body.com.entries])
            arm = R @ com
            v = V[3:] + np.cross(V[:3], arm)
            about = R @ np.array([e.number for e in body.inertia.entries]).reshape(3, 3) @ R.T
            found[3:] += mass * v
            found[:3] += about @ V[:3] + mass * np.cross(X[:3, 3] + arm, v)
        return found

    # what happens

    def switch(self, strikes=True):
        """Engage, release or strike at random."""
        names = self.switchable
        chosen = [str(name) for name in self.draw.choice(names, self.draw.integers(1, 4), replace=False)]
        what = self.draw.random() * (1.0 if strikes else 0.85)
        if what < 0.5:
            self.engage(*chosen)
        elif what < 0.85:
            self.release(*chosen)
        elif what < 0.95 or self.free:
            self.strike(self.draw.integers(1, len(self.model.bodies) + 1), self.draw.uniform(-1, 1, 3))
        else:
            self.restart()
            self.engage("loop", forget=False)

    @property
    def switchable(self):
        """What can be engaged anywhere: a loop only where it is closed."""
        return [name for name in self.parts if name != "loop"]

    def engage(self, *names, forget=True):
        self.happen(lambda: self.sim.engage(*names), names if forget else ())

    def release(self, *names):
        self.happen(lambda: self.sim.release(*names))

    def strike(self, tip, impulse):
        self.happen(lambda: self.sim.strike(f"tip{tip}", impulse), outside=True)

    def happen(self, switch, engaged=(), outside=False):
        """Switch, or be refused with nothing changed; without an impulse from outside no energy is made."""
        sim, before = self.sim, self.kinetic()
        state, mode = (sim.q, sim.u), sim.mode
        try:
            switch()
        except SwitchError as error:
            if "beyond" not in str(error):
                raise
            assert np.array_equal(sim.q, state[0])
            assert np.array_equal(sim.u, state[1])
            assert sim.mode == mode
            self.refused += 1
            return
        self.switches += 1
        if not outside:
            assert self.kinetic() <= before * (1 + 1e-9) + 1e-12, sim.events[-1]
            assert sim.events[-1].lost >= -1e-12 * (1 + before)
        self.look(engaged)

    def scale(self, share):
        """Set the speeds by hand to a share of themselves, which all constraints that hold allow, and go on."""
        self.sim.u = share * self.sim.u
        self.go_on(1e-6)

    def go_on(self, span):
        """Move on, with events of its own; begin anew where it left the region of interest."""
        sim = self.sim
        with warnings.catch_warnings():
            warnings.simplefilter("error", ph.SimulationWarning)
            try:
                outcome = sim.run(sim.t + span)
            except ph.SimulationWarning as warning:
                raise AssertionError(f"{warning} after {sim.events[-3:]}") from None
        assert outcome.finished
        for event in sim.events[self.seen :]:
            self.switches += any(why in event.why for why in ("closes", "opens", "slips", "sticks"))
            assert event.lost >= -1e-9
        self.seen = len(sim.events)
        self.look(())
        if np.abs(sim.q).max() > 20 or np.abs(sim.u).max() > 20 or len(sim.events) > 200:
            self.restart()

    # what must hold

    def look(self, engaged):
        sim = self.sim
        assert np.isfinite(sim.q).all()
        assert np.isfinite(sim.u).all()
        size, fast = 1 + np.abs(sim.q).max(), 1 + np.abs(sim.u).max()
        u = dict(zip(self.model.speeds, sim.u, strict=True))
        for name, word in sim.mode.items():
            if word == "released" or name in engaged:
                self.tied.pop(name, None)
            off, slow = self.residuals(self.parts[name], word, u)
            assert np.all(np.abs(off) <= NEAR * size), (name, word, off, sim.events[-3:])
            assert np.all(np.abs(slow) <= NEAR * fast), (name, word, slow, sim.events[-3:])

    def residuals(self, part, word, u):
        """How far a constraint is off, and how fast, from markers; where it is open, how far beyond."""
        kind = type(part).__name__
        if kind == "Stop":
            return self.of_stop(part, word, u)
        if kind in ("Rope", "Contact"):
            return self.of_gap(part, word, kind)
        if word in (*OFF, "slips"):
            return 0.0, 0.0
        if kind == "Lock":
            joint = next(body.joint for body in self.model.bodies if body.joint.name == part.joint)
            q = dict(zip(self.model.coordinates, self.sim.q, strict=True))
            now = np.array([q[name] for name in joint.coordinates()])
            return now - self.tied.setdefault(part.name, now), [u[name] for name in joint.speeds()]
        if kind == "Brake":
            return 0.0, u[part.speed]
        if kind == "Clutch":
            return 0.0, u[part.ends[0]] - part.ratio.number * u[part.ends[1]]
        return self.of_markers(part, kind)

    def of_stop(self, part, word, u):
        q = self.sim.q[self.model.coordinates.index(part.coordinate)]
        low, high, speed = q - part.lower.number, part.upper.number - q, u[part.coordinate + "_dot"]
        if word == "released":
            return 0.0, 0.0
        if word == "open":
            return [min(low, 0.0), min(high, 0.0)], 0.0
        return low if word == "lower" else high, speed

    def of_gap(self, part, word, kind):
        a, b = part.ends if kind == "Rope" else (part.marker, part.ground)
        d, v = self.place(a) - self.place(b), self.velocity(a) - self.velocity(b)
        if kind == "Rope":
            length = float(np.linalg.norm(d))
            gap, rate, slip = part.length.number - length, -(v @ d) / length, np.zeros(2)
        else:
            gap, rate, slip = d[2], v[2], v[:2]
        if word == "released":
            return 0.0, 0.0
        if word == "open":
            return min(gap, 0.0), 0.0
        return gap, [rate, *(slip if word == "sticks" else ())]

    def carries(self, a, b):
        """Whether the body of marker a carries that of marker b."""
        parent = {body.name: body.parent for body in self.dyn.equations.model.bodies}
        at, end = ({m.name: m.body for m in self.dyn.equations.model.markers}[name] for name in (a, b))
        while end in parent and end != at:
            end = parent[end]
        return end == at

    def of_markers(self, part, kind):
        """Loops that meet, and latches that keep what they had, of points and their distance."""
        a, b = part.ends
        d, v = self.place(a) - self.place(b), self.velocity(a) - self.velocity(b)
        if kind == "Loop":
            return d, v
        if part.kind == "distance":
            length = np.linalg.norm(d)
            return length - self.tied.setdefault(part.name, length), v @ d / length
        turning = b if part.kind == "point" and self.carries(b, a) else a
        R, w = self.dyn.pose(turning)(self.sim.q)[:3, :3], self.dyn.velocity(turning)(self.sim.q, self.sim.u)[:3]
        rows = {"point": slice(0, 3), "axis": slice(0, 2), "plane": slice(2, 3)}[part.kind]
        d, v = (R.T @ d)[rows], (R.T @ (v - np.cross(w, d)))[rows]
        return d - self.tied.setdefault(part.name, d), v


def shake(shaken, switches):
    while shaken.switches < switches:
        shaken.switch()
        if shaken.draw.random() < 0.4:
            shaken.go_on(float(shaken.draw.uniform(0.001, 0.05)))
