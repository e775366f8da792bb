"""Accelerations and reactions of constrained machines in any units, against 50 digits.

Machines are grown from a seed, and their constraints put where they hold at a state drawn for them. Masses, lengths
and times are multiples of three parameters, so one compiled machine serves all sizes. The reference knows
nothing of the kernels: it chooses independent rows and solves the equations in mpmath.
"""

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from mpmath import mp

import polhode as ph
from polhode.equations.program import program_of
from polhode.graph import matrix
from polhode.kernels.hold import evaluate
from polhode.model import WORLD, Builder
from polhode.model.constraints import LOOPS
from polhode.model.grow import grow
from polhode.spatial import Pose

DIGITS = 50
MASS, LENGTH, TIME = ph.symbols("mass length time")
SCALES = [
    (1.0, 1.0, 1.0),
    *((10.0**e, 1.0, 1.0) for e in (-6, 6)),
    *((1.0, 10.0**e, 1.0) for e in (-6, -3, 6)),
    *((1.0, 1.0, 10.0**e) for e in (-6, 6)),
    *((1e6, 1e-6, 1e-3), (1e-6, 1e6, 1e6), (1e-6, 1e-6, 1e-6), (1e3, 1e6, 1e-6)),
]


# machines in units of three parameters


def in_units(model):
    """The model with its numbers in the units of MASS, LENGTH and TIME."""

    def placed(pose):
        return Pose(pose.R, pose.p * LENGTH)

    def mapped(H):  # what turns advances by lengths, what slides has a coordinate in them
        columns = [list(h) for h in H.T.rows()]
        return matrix([h if _slides(h) else [*h[:3], *(e * LENGTH for e in h[3:])] for h in columns]).T

    def sized(body):
        parts = tuple(replace(part, H=mapped(part.H), basis=mapped(part.basis)) for part in body.joint.parts)
        inertia = body.inertia * (MASS * LENGTH**2)
        joint, pose = replace(body.joint, parts=parts), placed(body.pose)
        return replace(body, joint=joint, pose=pose, mass=body.mass * MASS, com=body.com * LENGTH, inertia=inertia)

    bodies = tuple(map(sized, model.bodies))
    markers = tuple(replace(marker, pose=placed(marker.pose)) for marker in model.markers)
    return replace(model, bodies=bodies, markers=markers, gravity=model.gravity * (LENGTH / TIME**2))


def _slides(column):
    return all(e == 0 for e in list(column)[:3])


def slides(model):
    """Whether each coordinate, and each speed, is a length."""
    q, u = [], []
    for part in (part for body in model.bodies for part in body.joint.parts):
        along = list(map(_slides, part.basis.T.rows()))
        q += [False] * 4 + along[3:] if part.quaternion else along
        u += map(_slides, part.H.T.rows())
    return np.array(q), np.array(u)


def _body_of_speeds(model):
    return [body.name for body in model.bodies for _ in range(body.joint.nu)]


def drawn(model, seed):
    """Coordinates, with quaternions of length 1."""
    draw, found = np.random.default_rng(seed), []
    for part in (part for body in model.bodies for part in body.joint.parts):
        q = draw.uniform(-1, 1, part.nq)
        if part.quaternion:
            q[:4] /= np.linalg.norm(q[:4])
        found += [*q]
    return np.array(found)


class Grown:
    """A grown tree at a state, to which constraints are added that hold there."""

    def __init__(self, seed, kinds):
        self.draw = random.Random(seed)
        tree = grow(seed, kinds)
        self.q = drawn(tree, seed)
        self.eq = ph.formulate(tree)
        self.values = dict(zip(self.eq.q, self.q, strict=True))
        self.build = Builder(tree.name)
        self.tree = in_units(tree)
        self.build.gravity, self.build.bodies, self.build.markers = self.tree.gravity, list(self.tree.bodies), []
        self.bodies = [body.name for body in tree.bodies]
        self.count = 0

    def place(self, name):
        return np.array(ph.evaluate(self.eq.pose(name), self.values), dtype=float) if name != WORLD else np.eye(4)

    def marker(self, body, X):
        """A marker on a body where X is, in the world."""
        name = f"p{len(self.build.markers)}"
        own = np.linalg.inv(self.place(body)) @ X
        U, _, V = np.linalg.svd(own[:3, :3])
        at = [float(e) * LENGTH for e in own[:3, 3]]
        self.build.marker(name, body=body, at=at, rotation=(U @ V).tolist())
        return name

    def somewhere(self, body):
        """A random pose not far from a body."""
        draw = np.random.default_rng(self.draw.randrange(10**9))
        X = self.place(body)
        U, _, V = np.linalg.svd(draw.normal(size=(3, 3)))
        X[:3, :3] = U @ V * np.linalg.det(U @ V)
        X[:3, 3] += draw.uniform(-0.7, 0.7, 3)
        return X

    def loop(self, kind, a, b, times=1):
        X = self.somewhere(a)
        A = self.marker(a, X)
        options = {}
        if kind == "distance":
            away = np.array([self.draw.uniform(0.2, 1) for _ in range(3)])
            X = X.copy()
            X[:3, 3] += away
            options["length"] = float(np.linalg.norm(away)) * LENGTH
        elif kind not in ("point", "orientation", "weld"):
            options["axis"] = [self.draw.uniform(0.2, 1) for _ in range(3)]
        B = self.marker(b, X)
        for k in range(times):
            self.build.loop(A, B, kind, name=f"{kind} {self.count} {k}", **options)
        self.count += 1

    def gear(self, a, b, ratio):
        """A speed that is a multiple of another, in the units of both."""
        names, u = self.tree.speeds, slides(self.tree)[1]
        unit = LENGTH ** (int(u[a]) - int(u[b]))
        self.build.constraint(ph.symbol(names[a]) - ratio * unit * ph.symbol(names[b]), name=f"gear {self.count}")
        self.count += 1

    def roll(self, body, shape):
        """A wheel on a plane that passes below it, carried by the world."""
        X = self.somewhere(body)
        wheel = self.marker(body, X)
        radius = self.draw.uniform(0.2, 1)
        ground = np.eye(4)
        ground[:3, :3] = self.somewhere(body)[:3, :3]
        n = ground[:3, 2]
        side = np.cross(X[:3, 1], n)
        height = radius * (1.0 if shape == "sphere" else np.linalg.norm(side))
        ground[:3, 3] = X[:3, 3] - n * height + 0.3 * ground[:3, 0]
        plane = self.marker(WORLD, ground)
        self.build.rolling(wheel, ground=plane, radius=radius * LENGTH, shape=shape, name=f"roll {self.count}")
        self.count += 1


KINDS = "revolute prismatic screw cylindrical universal planar spherical free map skewed compound".split()


def machine(seed):
    """A grown machine by its seed: loops of every kind, some doubled, gears, lead screws, wheels."""
    draw = random.Random(7000 + seed)
    kinds = [draw.choice([*KINDS, "free quaternion", "spherical quaternion"]) for _ in range(draw.choice([2, 3, 4]))]
    if draw.random() < 0.5:
        kinds.append("free quaternion")
    made = Grown(seed, kinds)
    room, n = made.tree.nu - 1, made.tree.nu
    for _ in range(draw.choice([1, 2, 3])):
        what = draw.choice(["loop", "loop", "loop", "gear", "roll"])
        a, b = draw.sample([*made.bodies, WORLD], 2)
        if what == "loop":
            kind = draw.choice([kind for kind in sorted(LOOPS) if LOOPS[kind] <= max(room, 1)])
            made.loop(kind, a, b, times=draw.choice([1, 1, 2]))
            room -= LOOPS[kind]
        elif what == "gear" and n > 1 and room > 0:
            i, j = draw.sample(range(n), 2)
            made.gear(i, j, draw.choice([-1, 1]) * 10 ** draw.uniform(-4, 4))
            room -= 1
        elif room >= 3:
            made.roll(draw.choice(made.bodies), draw.choice(["disc", "sphere"]))
            room -= 3
    if not made.build.constraints:
        made.loop("plane", made.bodies[-1], WORLD)
    return made


@cache
def compiled(seed):
    made = machine(seed)
    eq = ph.formulate(made.build.build())
    return made, eq, eq.compile()


# the reference


class Exact:
    """Independent rows, accelerations and least reactions at a state, in 50 digits."""

    def __init__(self, eq, values, tau):
        rows = eq.constraints
        M, c, Q, J, gamma, E2 = (
            ph.evaluate(e, values, digits=DIGITS) for e in (eq.M, eq.c, eq.Q, rows.J, rows.gamma, rows.reference)
        )
        with mp.workdps(DIGITS):
            b = [Q[i] + mp.mpf(float(tau[i])) - c[i] for i in range(len(tau))]
            self.d = self._inertias(eq, M, E2)
            self.rho = [mp.sqrt(sum(e / d for e, d in zip(row, self.d, strict=True))) for row in E2]
            self.least = [1e-5 if geometric else 1e-12 for geometric in rows.geometric]
            self._solve(M, b, J, gamma)

    @staticmethod
    def _inertias(eq, M, E2):
        """M_jj, and for a light body what makes it count as a millionth of what it is tied to."""
        n = len(M)
        found, body = [M[j, j] for j in range(n)], _body_of_speeds(eq.model)
        for row in E2:
            mobility = [row[j] / M[j, j] for j in range(n)]
            for j in range(n):
                own = sum(mobility[k] for k in range(n) if body[k] == body[j])
                others = sum(mobility[k] for k in range(n) if body[k] != body[j])
                if mp.mpf(10) ** -12 * (own + others) < others < mp.mpf(10) ** -6 * (own + others):
                    found[j] = max(found[j], mp.mpf(10) ** -6 * row[j] / others)
        return found

    def _solve(self, M, b, J, gamma):
        m, n, roots = len(J), len(M), list(map(mp.sqrt, self.d))
        # independent rows and columns, by elimination with complete pivoting
        table = [[J[i, j] / (self.rho[i] * roots[j]) if self.rho[i] else mp.mpf(0) for j in range(n)] for i in range(m)]
        left, self.rows, columns, self.pivots = [row[:] for row in table], [], [], []
        self.margin = mp.inf  # how clear the decision is
        while True:
            rest = [(abs(left[i][j]) / self.least[i], i, j) for i in range(m) for j in range(n) if i not in self.rows]
            size, i, j = max(rest, default=(mp.mpf(0), 0, 0))
            if size <= 1 or len(self.rows) == n:
                self.margin = min(self.margin, 1 / size if size else mp.inf)
                break
            self.margin = min(self.margin, size)
            self.rows.append(i)
            columns.append(j)
            for k in range(m):
                if k not in self.rows:
                    factor = left[k][j] / left[i][j]
                    left[k] = [x - factor * y for x, y in zip(left[k], left[i], strict=True)]
        # the equations, all in these units
        r = len(self.rows)
        whole, right = mp.zeros(n + r), mp.zeros(n + r, 1)
        for i in range(n):
            right[i] = b[i] / roots[i]
            for j in range(n):
                whole[i, j] = M[i, j] / (roots[i] * roots[j])
        for k, i in enumerate(self.rows):
            right[n + k] = -gamma[i] / self.rho[i]
            for j in range(n):
                whole[n + k, j], whole[j, n + k] = table[i][j], -table[i][j]
        solved = mp.lu_solve(whole, right)
        self.v = [solved[j] for j in range(n)]
        # the least reactions of all rows with the same effect
        effect = [sum(table[i][j] * solved[n + k] for k, i in enumerate(self.rows)) for j in columns]
        A = mp.matrix([[table[i][j] for i in range(m)] for j in columns]) if r else mp.zeros(1, m)
        y = A.T * mp.lu_solve(A * A.T, mp.matrix(effect)) if r else mp.zeros(m, 1)
        self.y = [y[i] for i in range(m)]
        # where all is balanced; where nothing can move, only rounding of what pushes is left
        self.pushed = max(abs(right[i]) for i in range(n)) / (1 if r == n else 10**6)

    def off(self, udot=None, lam=None):
        """How far accelerations, or reactions, are off, in units of their size."""
        with mp.workdps(DIGITS):
            if udot is not None:
                found = [mp.mpf(float(a)) * mp.sqrt(d) - v for a, d, v in zip(udot, self.d, self.v, strict=True)]
            else:
                found = [mp.mpf(float(x)) * rho - y for x, rho, y in zip(lam, self.rho, self.y, strict=True)]
            size = max(map(abs, [*self.v, self.pushed] if udot is not None else self.y))
            return float(max(map(abs, found)) / size)


def state(seed, scale):
    """A state of a machine that satisfies its constraints, and forces on it."""
    made, eq, dyn = compiled(seed)
    mass, length, time = scale
    along_q, along_u = slides(made.tree)
    draw = np.random.default_rng(seed)
    speeds = draw.uniform(-1, 1, len(eq.u)) * np.where(along_u, length, 1) / time
    tau = draw.uniform(-3, 3, len(eq.u)) * np.where(along_u, length, length**2) * mass / time**2
    given = dict(zip(("mass", "length", "time"), scale, strict=True))
    p = {name: given[name] for name in dyn.parameters}
    guess = made.q * np.where(along_q, length, 1)
    q, u = ph.assemble(dyn, guess, speeds, p=p)
    np.testing.assert_allclose(q / np.where(along_q, length, 1), made.q, atol=1e-12)  # it was closed
    return q, u, tau, p


def fast(dyn, q, u, tau, p):
    """Accelerations as simulations have them, by the factors of M where these can tell."""
    program = program_of(dyn)
    room = program.machine(tau=tau, p=[p[name] for name in dyn.parameters])
    x = program.state(q, u)
    dx = np.zeros_like(x)
    assert evaluate(room, 0.0, x, dx, True) == 0
    return dx[len(q) : len(q) + len(u)], int(room.constrained.places[0]["rank"])


def compare(seed, scale):
    """How far accelerations, reactions and the accelerations of simulations are off."""
    _, eq, dyn = compiled(seed)
    q, u, tau, p = state(seed, scale)
    exact = Exact(eq, {eq.q: list(q), eq.u: list(u), **p}, tau)
    udot, lam = dyn.response(q, u, tau, p=p)
    within, rank = fast(dyn, q, u, tau, p)
    if exact.margin <= 10:
        pytest.skip("which rows count is a close decision, and a comparison tests nothing")
    assert rank == len(exact.rows)
    return {"accelerations": exact.off(udot=udot), "reactions": exact.off(lam=lam), "fast": exact.off(udot=within)}


@pytest.mark.parametrize("seed", range(14))
def test_grown_machines_in_any_units(seed):
    for scale in SCALES:
        found = compare(seed, scale)
        assert max(found.values()) < 1e-9, (scale, found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(14, 150))
def test_many_grown_machines_in_any_units(seed):
    for scale in SCALES:
        found = compare(seed, scale)
        assert max(found.values()) < 1e-9, (scale, found)


def test_the_machines_are_of_all_sorts():
    """Loops of every kind, gears, wheels, rows that repeat others, quaternions: the tests above could fail."""
    made = [machine(seed) for seed in range(150)]
    kinds = {str(c.name).split()[0] for one in made for c in one.build.constraints}
    assert kinds == {*LOOPS, "gear", "roll"}
    few = [machine(seed) for seed in range(14)]
    assert any(str(c.name).endswith(" 1") for one in few for c in one.build.constraints)
    assert any(part.quaternion for one in few for body in one.tree.bodies for part in body.joint.parts)


# machines that are ugly on purpose


def checked(build, q, u, tau):
    """Compare a machine without parameters, at speeds near to those given."""
    eq = ph.formulate(build.build())
    dyn = eq.compile()
    q, u = ph.assemble(dyn, q, u)
    exact = Exact(eq, {eq.q: list(q), eq.u: list(u)}, tau)
    udot, lam = dyn.response(q, u, tau)
    within, rank = fast(dyn, q, u, tau, {})
    assert rank == len(exact.rows)
    assert max(exact.off(udot=udot), exact.off(lam=lam), exact.off(udot=within)) < 1e-9
    return rank


@pytest.mark.parametrize("ratio", [1e-11, 1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e11])
def test_light_and_heavy_bodies_in_turn(ratio):
    """Free bodies in a row, on hinges of five rows: all thirteen rows count whatever the one in the middle weighs."""
    build = Builder("row")
    for k, m in enumerate((1.0, ratio, 1.0)):
        build.body(
            f"b{k}", joint=ph.free(quaternion=True, name=f"f{k}"), mass=m, inertia=[m * 0.08, m * 0.09, m * 0.02]
        )
        build.marker(f"top{k}", body=f"b{k}", at=(0, 0, 0.5))
        build.marker(f"end{k}", body=f"b{k}", at=(0, 0, -0.5))
    build.loop("end0", "top1", "hinge", name="first")
    build.loop("end1", "top2", "hinge", axis="y", name="second")
    build.loop(WORLD, "top0", "point", name="pivot")
    q = {"f0_z": -0.5, "f1_z": -1.5, "f2_z": -2.5}
    speeds = np.random.default_rng(1).uniform(-1, 1, 18)
    assert checked(build, q, speeds, np.zeros(18)) == 13


@pytest.mark.parametrize("ratio", [1e-9, 1e-3, 1e3, 1e12])
def test_light_and_heavy_links_of_a_chain(ratio):
    build, parent = Builder("chain"), WORLD
    for k in range(5):
        m = ratio if k % 2 else 1.0
        joint, at = ph.universal(("x", "y"), name=f"j{k}"), (0, 0, -1 if k else 0)
        inertia = [m * 0.08, m * 0.09, m * 0.02]
        build.body(f"b{k}", parent=parent, at=at, joint=joint, mass=m, com=(0, 0, -0.5), inertia=inertia)
        parent = f"b{k}"
    build.marker("end", body="b4", at=(0, 0, -1))
    build.marker("ground", body=WORLD, at=(1.5, 0.3, -3))
    build.loop("ground", "end", name="close")
    draw = np.random.default_rng(0)
    assert checked(build, draw.uniform(-0.5, 0.5, 10), draw.uniform(-1, 1, 10), np.zeros(10)) == 3


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6, 1e7])
def test_gears_that_repeat_one_another(ratio):
    """Two motors on one wheel, geared back to another that is also locked to it."""
    build = Builder("gears")
    for name, inertia in {"d": 1.0, "a": 1e-4, "b": 1e-4, "e": 1.0}.items():
        build.body(name, joint=ph.revolute("z", name=name), mass=1, inertia=[inertia] * 3)
    for name in "ab":
        build.coupling(name, "d", ratio=ratio)
    build.constraint(ph.symbol("e_dot") - ph.symbol("a_dot") / ratio, name="back")
    build.constraint(ph.symbol("e_dot") - ph.symbol("d_dot"), name="locked")
    assert checked(build, [0.0] * 4, [0.0] * 4, [0, 1, 0.3, 0.2]) == 3


@pytest.mark.parametrize("angle", [0.3, 3e-2, 3e-3, 1e-3])
def test_a_parallelogram_that_is_nearly_flat(angle):
    build = Builder("parallelogram")
    for name, x in (("a", 0), ("c", 2)):
        joint = ph.revolute("y", name=name)
        build.body(name, at=(x, 0, 0), joint=joint, mass=1, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    joint = ph.revolute("y", name="b")
    build.body("r", parent="a", at=(1, 0, 0), joint=joint, mass=1, com=(1, 0, 0), inertia=(0, 0.3, 0.3))
    build.marker("tip", body="r", at=(2, 0, 0))
    build.marker("top", body="c", at=(1, 0, 0))
    build.loop("top", "tip", name="close")
    assert checked(build, {"a": angle, "b": -angle, "c": angle}, [1, -1, 1.0], [1, 2, 3]) == 2
