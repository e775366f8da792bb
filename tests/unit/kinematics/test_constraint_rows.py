"""Rows of constraints: phi, psi, J and gamma fit each other, and mean what they say, on grown trees."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import polhode as ph
from polhode.compile import compile
from polhode.graph import cos, sin, symbol
from polhode.kinematics import constrain, derive
from polhode.model.constraints import LOOPS
from polhode.model.grow import grow
from tests.mechanics import At, close, random_state

# each with six motions or more between tip1, or the world, and the last tip
TREES = {
    "angles": (5, ["free", "revolute", "universal", "map", "spherical"], "poincare"),
    "quaternions": (1, ["free quaternion", "spherical quaternion", "cylindrical", "skate", "revolute"], "poincare"),
    "rates": (3, ["screw", "free", "compound", "revolute", "planar"], "lagrange"),
}
AXES = [(0, 0, 1), (0.48, 0.6, -0.64)]
T, H = 0.3, 1e-5


def loop(kind, axis=(0, 0, 1)):
    return lambda b, m: b.loop("tip1", "tip5", kind, axis=axis, length=1.3 if kind == "distance" else None)


def speed_relation(build, model):
    q, u = [symbol(name) for name in model.coordinates], [symbol(name) for name in model.speeds]
    build.constraint(cos(q[0]) * u[-1] + ph.TIME * sin(q[-1]) * u[0] + 3 * u[1] - sin(ph.TIME) * q[1])


OTHERS = {
    "knife edge": lambda b, m: b.knife_edge("tip5", axis=(0.6, 0, 0.8)),
    "disc": lambda b, m: b.rolling("tip5", radius=0.7, axis=(0.48, 0.6, -0.64)),
    "disc on a body": lambda b, m: b.rolling("tip5", "tip1", radius=0.7),
    "sphere": lambda b, m: b.rolling("tip5", radius=0.7, shape="sphere"),
    "sphere on a body": lambda b, m: b.rolling("tip5", "tip1", radius=0.7, shape="sphere"),
    "relation": lambda b, m: b.constraint(sin(symbol(m.coordinates[-1])) - symbol(m.coordinates[0]) * ph.TIME),
    "relation with speeds": speed_relation,
    "gear": lambda b, m: b.gear(m.speeds[0], m.speeds[-1], 2.5),
    "law": lambda b, m: b.prescribe(m.coordinates[-1], sin(3 * ph.TIME)),
    "coupling": lambda b, m: b.coupling(m.coordinates[-1], m.coordinates[0], 2, 0.1),
}
SKEW = {f"{kind}, skew": loop(kind, AXES[1]) for kind in ("axis", "plane", "parallel", "hinge", "cylinder", "slider")}
KINDS = {kind: loop(kind) for kind in LOOPS} | SKEW | OTHERS


class Rows:
    """The constraints of a mechanism as arrays: rows(q, u).phi."""

    def __init__(self, eq):
        self.eq, self.held = eq, eq.constraints
        inputs = {"q": eq.q, "u": eq.u, "t": ph.vector([eq.t])}
        outputs = {name: getattr(self.held, name) for name in ("phi", "psi", "J", "gamma")} | {"N": eq.N}
        self.function = compile(inputs, outputs, target="numpy")
        self.names = list(outputs)
        self.fixed = np.array(self.held.holonomic)

    def __call__(self, q, u, t=T):
        return SimpleNamespace(**dict(zip(self.names, self.function(q, u, [t]), strict=True)))

    def along(self, q, u):
        """Changes with time at constant speeds, by central differences."""
        dq = self(q, u).N @ u
        ahead, behind = self(q + H * dq, u, T + H), self(q - H * dq, u, T - H)
        return SimpleNamespace(**{n: (getattr(ahead, n) - getattr(behind, n)) / (2 * H) for n in ("phi", "psi")})

    def closed(self, q):
        """Coordinates nearby that satisfy the positions, by Newton's method."""
        still = np.zeros(len(self.eq.u))
        for _ in range(200):
            now = self(q, still)
            if np.abs(now.phi).max() < 1e-13:
                return q
            step = -np.linalg.pinv(now.J[self.fixed]) @ now.phi[self.fixed]
            q = q + now.N @ step * min(1, 0.3 / np.abs(step).max())
            for link in self.eq.kinematics.links:
                if link.part.quaternion:
                    k = list(self.eq.q).index(link.coordinates[0])
                    q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
        raise AssertionError(f"not closed: {now.phi}")

    def moving(self, q, seed):
        """Random speeds that satisfy the constraints."""
        u = np.random.default_rng(seed).normal(size=len(self.eq.u))
        now = self(q, u)
        return u - np.linalg.pinv(now.J) @ now.psi


@cache
def constrained(tree, kind):
    """The rows of one constraint on a tree."""
    seed, kinds, method = TREES[tree]
    model = grow(seed, kinds)
    build = ph.Builder()
    KINDS[kind](build, model)
    made = replace(model, constraints=tuple(build.constraints))
    return Rows(ph.formulate(made, method=method))


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("kind", KINDS)
def test_rates_and_slopes_are_those_of_the_rows(tree, kind):
    rows = constrained(tree, kind)
    eq, held = rows.eq, rows.held
    assert len(held) == len(held.labels) == sum(c.rows for c in eq.model.constraints)
    q, u = random_state(eq, 5)
    now, change = rows(q, u), rows.along(q, u)
    assert close(now.psi, now.J @ u + rows(q, 0 * u).psi)  # psi = J u + b
    assert close(change.psi, now.gamma, 1e-7)  # gamma = d psi / dt where udot = 0
    # psi = d phi / dt: of turns only where phi = 0
    anywhere = [i for i, label in enumerate(held.labels) if held.holonomic[i] and ".turn" not in label]
    assert close(change.phi[anywhere], now.psi[anywhere], 1e-7)
    q = rows.closed(q)
    assert close(rows.along(q, u).phi[rows.fixed], rows(q, u).psi[rows.fixed], 1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_do_not_depend_on_the_speeds_they_are_written_in(kind):
    theirs = constrained("rates", kind)
    ours = Rows(ph.formulate(theirs.eq.model))
    q, u = random_state(ours.eq, 1)
    now = ours(q, u)
    assert close(now.psi, theirs(q, now.N @ u).psi)
    assert ours.held.labels == theirs.held.labels


# what loops mean


def relative(eq, q, a, b):
    """The pose of one marker in the other, and the (6, nu) matrix to its twist there, in the axes of the first."""
    at = At(eq, q, np.zeros(len(eq.u)))
    X_A, X_B = at(eq.pose(a)), at(eq.pose(b))
    J_A, J_B = at(eq.jacobian(a)), at(eq.jacobian(b))
    R, d = X_A[:3, :3], X_B[:3, 3] - X_A[:3, 3]
    lever = np.cross(J_A[:3].T, d).T
    return np.linalg.inv(X_A) @ X_B, np.vstack([R.T @ (J_B - J_A)[:3], R.T @ (J_B[3:] - J_A[3:] - lever)])


def held_motions(kind, axis, d):
    """Directions of the relative twist that a loop forbids, as rows (w, v) in the axes of the first marker."""
    axis = np.array(axis)
    across, every, none = np.linalg.svd(axis[None])[2][1:], np.eye(3), np.zeros((0, 3))
    turn = {
        "parallel": across,
        "hinge": across,
        "cylinder": across,
        "orientation": every,
        "slider": every,
        "weld": every,
    }
    move = {"point": every, "hinge": every, "weld": every, "axis": across, "cylinder": across, "slider": across}
    move |= {"plane": axis[None], "distance": d[None]}
    w, v = turn.get(kind, none), move.get(kind, none)
    return np.block([[w, np.zeros_like(w)], [np.zeros_like(v), v]])


def projection(J):
    _, s, V = np.linalg.svd(J)
    rank = int((s > 1e-9 * max(s[0], 1e-300)).sum())
    return V[:rank].T @ V[:rank], rank


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("name", [*LOOPS, *SKEW])
def test_a_closed_loop_holds_what_its_name_says(tree, name):
    rows = constrained(tree, name)
    eq, axis, kind = rows.eq, AXES[name in SKEW], name.partition(",")[0]
    q = rows.closed(random_state(eq, 7)[0])
    X, D = relative(eq, q, "tip1", "tip5")
    d, R, n = X[:3, 3], X[:3, :3], np.array(axis)
    if kind in ("point", "hinge", "weld"):
        assert close(d, np.zeros(3))
    if kind in ("axis", "cylinder", "slider"):
        assert close(d, n * (n @ d))
    if kind == "plane":
        assert abs(n @ d) < 1e-10
    if kind == "distance":
        assert np.linalg.norm(d) == pytest.approx(1.3, rel=1e-10)
    if kind in ("parallel", "hinge", "cylinder"):
        assert abs(n @ R @ n) == pytest.approx(1, rel=1e-10)
    if kind in ("orientation", "slider", "weld"):
        assert close(R, np.eye(3))
    # it forbids those motions and no other, each once
    found, rank = projection(rows(q, np.zeros(len(eq.u))).J)
    assert rank == LOOPS[kind]
    assert close(found, projection(held_motions(kind, axis, d) @ D)[0], 1e-8)


@pytest.mark.parametrize("kind", ["orientation", "weld"])
def test_half_a_turn_is_not_closed(kind):
    build = ph.Builder()
    build.body("a", joint=ph.spherical(quaternion=True), mass=1, inertia=(1, 1, 1))
    build.loop("world", "a", kind)
    rows, still = Rows(ph.formulate(build.build())), np.zeros(3)
    for q in ([0, 1, 0, 0], [0, 0.6, 0, 0.8], [1e-9, 0, 1, 0]):
        assert np.abs(rows(q, still).phi).max() > 1e4
        assert np.abs(rows(q, still).J).max() == pytest.approx(1)
    assert close(rows([np.cos(1), np.sin(1), 0, 0], still).phi[-3:], [2 * np.tan(1), 0, 0])


def test_a_loop_inside_a_branch_does_not_know_of_the_rest():
    """The rows of a loop have no columns for what carries both of its ends."""
    build = ph.Builder()
    build.body("base", joint=ph.free(quaternion=True), mass=1)
    for name in ("left", "right"):
        build.body(name, parent="base", joint=ph.spherical(quaternion=True), mass=1)
        build.marker(f"{name} tip", body=name, at=(1, 0, 0))
    build.loop("left tip", "right tip", "weld")
    eq = ph.formulate(build.build())
    assert all(e == 0 for row in eq.constraints.J.rows() for e in row[:6])


def test_a_loop_through_a_welded_body():
    build = ph.Builder()
    build.body("arm", joint=ph.revolute("y"), mass=1)
    build.body("hand", parent="arm", joint=ph.weld(), at=(1, 0, 0), mass=1)
    build.body("post", joint=ph.weld(), at=(0, 0, -1), mass=1)
    build.loop("hand", "post")
    rows = Rows(ph.formulate(build.build()))
    assert close(rows([np.pi / 2], [0]).phi, [0, 0, 0])
    assert rows.held.rows("point hand post") == [0, 1, 2]
    assert rows.held.labels[2] == "point hand post.z"


# rolling


def twist(eq, name, q, u):
    """Pose, angular velocity and velocity of the origin, in the world."""
    at = At(eq, q, u)
    return at(eq.pose(name)), *np.split(at(eq.jacobian(name)) @ u, 2)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("kind", ["disc", "disc on a body", "sphere", "sphere on a body"])
def test_the_lowest_point_touches_and_has_no_velocity(tree, kind):
    rows = constrained(tree, kind)
    eq = rows.eq
    q = rows.closed(random_state(eq, 3)[0])
    u = rows.moving(q, 4)
    roll = eq.model.constraints[0]
    (X, w, v), (G, w_G, v_G) = twist(eq, "tip5", q, u), twist(eq, roll.ground, q, u)
    n = G[:3, 2]
    # the point of the rim that is deepest below, found by looking
    axis = X[:3, :3] @ np.array(list(map(float, roll.axis)))
    if "sphere" in kind:
        down = -0.7 * n
    else:
        angles = np.linspace(0, 2 * np.pi, 200001)
        first, second = np.linalg.svd(axis[None])[2][1:]
        rim = 0.7 * (np.outer(np.cos(angles), first) + np.outer(np.sin(angles), second))
        down = rim[np.argmin(rim @ n)]
    touch = X[:3, 3] + down
    assert abs(n @ (touch - G[:3, 3])) < 1e-8
    slip = v + np.cross(w, down) - v_G - np.cross(w_G, touch - G[:3, 3])
    assert np.abs(slip).max() < 1e-4  # as near as the rim was looked at
    assert projection(rows(q, u).J)[1] == 3


def disc():
    """A disc that yaws, leans and spins: the textbook's coordinates."""
    build = ph.Builder("disc")
    place = ph.compound([ph.prismatic("z"), ph.prismatic("y"), ph.prismatic("x")], q=list("zyx"), u=["vz", "vy", "vx"])
    turn = ph.compound([ph.revolute("y"), ph.revolute("x"), ph.revolute("z")], q=["spin", "lean", "yaw"])
    build.body("centre", joint=place, mass=0)
    build.body("disc", parent="centre", joint=turn, mass=1, inertia=(1, 2, 1))
    build.rolling("disc", radius=0.5, axis="y")
    return Rows(ph.formulate(build.build()))


@pytest.mark.parametrize("seed", range(4))
def test_a_disc_leaves_its_track_as_in_the_textbook(seed):
    """Its point of contact moves by r d(spin) along the heading, whatever the lean and its rate do."""
    rows = disc()
    names = [str(s.value) for s in rows.eq.q]
    q = rows.closed(np.random.default_rng(seed).uniform(-1, 1, 6))
    u = rows.moving(q, seed)
    at, rate = dict(zip(names, q, strict=True)), dict(zip(names, rows(q, u).N @ u, strict=True))

    def contact(yaw, lean):
        return np.array([np.sin(yaw) * np.sin(lean), -np.cos(yaw) * np.sin(lean), np.cos(lean)]) * -0.5

    assert at["z"] == pytest.approx(0.5 * np.cos(at["lean"]), abs=1e-12)
    swing = (
        contact(at["yaw"] + H * rate["yaw"], at["lean"] + H * rate["lean"])
        - contact(at["yaw"] - H * rate["yaw"], at["lean"] - H * rate["lean"])
    ) / (2 * H)
    track = np.array([rate["x"], rate["y"], rate["z"]]) + swing
    heading = np.array([np.cos(at["yaw"]), np.sin(at["yaw"]), 0])
    assert close(track, 0.5 * rate["spin"] * heading, 1e-8)


def test_a_ball_rolls_by_its_angular_velocity():
    build = ph.Builder()
    build.body("ball", joint=ph.free(quaternion=True), mass=1, inertia=(1, 1, 1))
    build.rolling("ball", radius=0.3, shape="sphere")
    rows = Rows(ph.formulate(build.build()))
    q = rows.closed(random_state(rows.eq, 1)[0])
    u = rows.moving(q, 2)
    _, w, v = twist(rows.eq, "ball", q, u)
    assert q[-1] == pytest.approx(0.3)
    assert close(v, np.cross(w, [0, 0, 0.3]))


def test_a_blade_has_no_velocity_across():
    rows = constrained("quaternions", "knife edge")
    q, _ = random_state(rows.eq, 1)
    u = rows.moving(q, 2)
    X, _, v = twist(rows.eq, "tip5", q, u)
    assert abs((X[:3, :3] @ [0.6, 0, 0.8]) @ v) < 1e-12
    assert np.linalg.norm(v) > 0.1


# relations


def test_relations_come_in_their_order_and_are_named():
    build = ph.Builder()
    for name in "abc":
        build.body(name, joint=ph.revolute("y"), mass=1)
    build.prescribe("c", sin(2 * ph.TIME))
    build.coupling("a", of="b", ratio=-3, offset=symbol("o"))
    build.gear("b_dot", "c_dot", 2)
    rows = constrain(derive(build.build()))
    assert rows.names == ("law of c", "coupling of a", "gear b_dot c_dot")
    assert rows.holonomic == (True, True, False)
    a, b, c, t = (symbol(s) for s in "abct")
    assert list(rows.phi) == [c - sin(2 * t), a + 3 * b - symbol("o"), 0]
    assert [list(row) for row in rows.J.rows()] == [[0, 0, 1], [1, 3, 0], [0, 1, -2]]
    assert list(rows.gamma) == [4 * sin(2 * t), 0, 0]
