"""Forces and torques of constraints as arrows, against J^T lam of machines in space: they do the same power."""

import numpy as np
import pytest

import polhode as ph
from polhode.equations.program import program_of
from polhode.interact.arrows import Arrows

LOOPS = ("point", "axis", "plane", "distance", "parallel", "orientation", "hinge", "cylinder", "slider", "weld")


def space(name="space"):
    """Two chains on a tilted base, with skew axes, and a carriage between."""
    build = ph.Builder(name, gravity=(0, 0, -9.81))
    solid = {"inertia": (0.02, 0.03, 0.04), "com": (0.05, 0.02, -0.1)}
    build.body("base", joint=ph.free(name="base"), mass=2.0, **solid)
    for side, y in (("left", 0.4), ("right", -0.5)):
        joint = ph.revolute((0.2, 0.6, 0.3 * y), name=f"{side}1")
        build.body(f"{side}1", parent="base", at=(0.1, y, 0), joint=joint, mass=1.0, **solid)
        joint = ph.spherical(name=f"{side}2")
        build.body(f"{side}2", parent=f"{side}1", at=(0.3, 0, 0.2), joint=joint, mass=1.0, **solid)
        build.marker(side, body=f"{side}2", at=(0.1, 0.05, -0.3), rpy=(0.3, -0.4, 0.8 * y))
    build.marker("tilted ground", body="base", at=(0, 0, -0.3), rpy=(0.2, 0.1, 0.4))
    build.body("cart", parent="base", joint=ph.planar("z", name="floor"), mass=1.0, **solid)
    build.body("swing", parent="cart", at=(0, 0, 0.2), joint=ph.universal(("x", "y"), name="swing"), mass=1.0, **solid)
    build.body("slide", parent="swing", at=(0, 0.1, 0), joint=ph.prismatic((1, 2, 2), name="slide"), mass=1, **solid)
    build.body("nut", parent="slide", joint=ph.cylindrical((0, 1, 1), name="nut"), mass=1, **solid)
    return build


def power_of(dyn, arrows, place, q, lam, rows):
    """J^T of all arrows, (nu,), beside J^T lam of the rows: both by numbers."""
    found = np.zeros(len(dyn.equations.u))
    for name in dict.fromkeys(rows.names):
        for arrow in both_sides(arrows, name, lam[[n == name for n in rows.names]], place):
            found += work(dyn, arrow, place, q)
    return found


def both_sides(arrows, name, lam, place):
    """An arrow and what acts on the other side of the constraint."""
    c, found = arrows.elements[name], arrows.of(name, lam, place)
    if len(found) == 2:
        return found
    (arrow,) = found
    ends = getattr(c, "ends", None)
    if ends is None and hasattr(c, "ground"):
        return [arrow, arrow.opposite(c.ground)]
    if ends is None and hasattr(c, "marker"):
        return [arrow]
    other = ends[0] if arrow.on == ends[1] else ends[1]
    return [arrow, arrow.opposite(other)]


def placed(dyn, q):
    return lambda name: np.eye(4) if name == "world" else dyn.pose(name)(q)


def compare(build, state, seed):
    """The arrows do the power of the rows, whatever these carry."""
    dyn = ph.formulate(build.build()).compile()
    rng = np.random.default_rng(seed)
    q = state(dyn, 0.7 * rng.normal(size=len(dyn.equations.q)))
    program = program_of(dyn)
    rows, x = program.constraints, np.concatenate([q, np.zeros(len(dyn.equations.u))])
    p = program.captured(np.zeros(1), x[None], np.zeros(0)).ravel()
    J = program.assembled(0.0, x, p, positions=False)[1]
    arrows, place = Arrows(dyn.equations.kinematics.joints, {}), placed(dyn, q)
    assert len(rows)
    for _ in range(3):
        lam = rng.normal(size=len(rows))
        found = power_of(dyn, arrows, place, q, lam, rows)
        np.testing.assert_allclose(found, J.T @ lam, atol=1e-8 * (1 + np.abs(J).max()))
    return arrows, place


def anywhere(dyn, guess):
    return guess


def assembled(dyn, guess):
    return ph.assemble(dyn, guess).q


PAIRS = [("left", "right"), ("right", "base"), ("tilted ground", "left")]


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("ends", PAIRS)
def test_latches_do_the_power_of_their_rows(kind, ends):
    """Also of bodies of which one carries the other, and of the world."""
    build = space()
    build.latch(*ends, kind, axis=(0.5, 1, 0.2), name="tie", active=False)
    compare(build, anywhere, LOOPS.index(kind))


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("ends", [("left", "nut"), ("world", "left"), ("nut", "tilted ground")])
def test_loops_do_the_power_of_their_rows(kind, ends):
    build = space()
    build.loop(*ends, kind, axis=(0.5, 1, 0.2), name="tie", **({"length": 0.7} if kind == "distance" else {}))
    compare(build, assembled, LOOPS.index(kind))


@pytest.mark.parametrize("ground", ["world", "tilted ground"])
def test_what_touches_and_rolls_does_the_power_of_its_rows(ground):
    x, y = ph.symbols("x y")
    build = space()
    build.contact("left", ground=ground, friction=0.3, name="point")
    build.contact("right", ground=ground, radius=0.2, shape="sphere", friction=0.3, name="ball")
    build.contact("slide", ground=ground, radius=0.3, shape="disc", axis=(0.2, 1, 0.1), friction=0.5, name="disc")
    build.contact("nut", ground=ground, friction=0.3, relief=0.1 * ph.sin(2 * x) + 0.2 * x * y, name="hills")
    build.contact("swing", ground=ground, name="smooth")
    build.knife_edge("left", axis=(0.3, 0.2, 1), name="blade", active=False)
    compare(build, anywhere, 3)
    build = space()
    build.rolling("right", ground=ground, radius=0.2, axis=(0.2, 1, 0.1), name="wheel")
    build.rolling("left", ground=ground, radius=0.1, shape="sphere", name="ball")
    compare(build, assembled, 4)


def test_a_rope_does_the_power_of_its_row():
    """Where it is taut: at a state, and of the length that its ends are apart there."""
    bare = ph.formulate(space().build()).compile()
    guess = 0.7 * np.random.default_rng(5).normal(size=len(bare.equations.q))
    far = np.linalg.norm(bare.pose("left")(guess)[:3, 3] - bare.pose("right")(guess)[:3, 3])
    build = space()
    build.rope("left", "right", length=far, name="rope")
    arrows, place = compare(build, lambda *_: guess, 5)
    one, other = arrows.of("rope", np.array([2.0]), place)
    assert one.force @ (place("left")[:3, 3] - place("right")[:3, 3]) == pytest.approx(2 * far)  # it pulls
    np.testing.assert_allclose(one.force, -other.force)


def test_what_holds_a_joint_does_the_power_of_its_rows():
    """Brakes, locks, clutches and stops: on turns and slides, of joints with more than one, too."""
    build = space()
    build.lock("slide", name="slide lock", active=False)
    build.lock("nut", name="nut lock", active=False)
    build.brake("left1_dot", capacity=3.0, name="left brake")
    build.clutch("left1_dot", "right1_dot", ratio=-2.5, name="clutch", active=False)
    build.stop("slide", lower=-1.0, upper=2.0, name="ends")
    build.stop("left1", upper=2.0, name="far")
    speeds = next(b for b in build.bodies if b.name == "cart").joint.speeds()
    for speed in speeds:
        build.brake(speed, name=f"brake {speed}", active=False)
    compare_joints(build)


def compare_joints(build):
    """As `compare`; the opposite of what holds a joint acts on the body before."""
    dyn = ph.formulate(build.build()).compile()
    rng = np.random.default_rng(8)
    q = 0.7 * rng.normal(size=len(dyn.equations.q))
    program = program_of(dyn)
    rows, eq = program.constraints, dyn.equations
    J = program.assembled(0.0, np.concatenate([q, np.zeros(len(eq.u))]), program.completed(None), positions=False)[1]
    arrows, place = Arrows(eq.kinematics.joints, {}), placed(dyn, q)
    parents = {body.name: body.parent for body in eq.model.bodies}
    seen = set()
    for name in dict.fromkeys(rows.names):
        mine = np.array([n == name for n in rows.names])
        lam = rng.normal(size=mine.sum())
        found = np.zeros(len(eq.u))
        for arrow in arrows.of(name, lam, place):
            found += work(dyn, arrow, place, q) + work(dyn, arrow.opposite(parents[arrow.on]), place, q)
            seen.add(name)
        np.testing.assert_allclose(found, J[mine].T @ lam, atol=1e-9, err_msg=name)
    assert seen == set(rows.names)


def work(dyn, arrow, place, q):
    """The forces on the speeds that an arrow makes, (nu,)."""
    if arrow.on == "world":
        return np.zeros(len(dyn.equations.u))
    J = dyn.jacobian(arrow.on)(q)
    at = J[3:] + np.cross(J[:3].T, arrow.at - place(arrow.on)[:3, 3]).T
    return J[:3].T @ arrow.torque + at.T @ arrow.force
