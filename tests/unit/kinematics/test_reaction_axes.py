"""The rows of a loop carry what docs/simulate.md says, in the axes that it says: a mass held at rest."""

import numpy as np
import pytest

import polhode as ph
from tests.mechanics import At

MASS, COM = 2.0, np.array([0.5, 0.2, -0.1])
TURN = (0.3, 0.2, 0.1)
SECOND = (-0.5, 0.4, 0.9)
AXES = {
    "z": "xy",
    "x": "yz",
    "y": "zx",
    "-z": "xY",
    "-x": "yZ",
    "-y": "zX",
}  # and the directions across, capitals: negative
UNITS = dict(zip("xyzXYZ", [*np.eye(3), *-np.eye(3)], strict=True))


def rotation(roll, pitch, yaw):
    (a, b, c), (s, p, w) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    Rx = np.array([[1, 0, 0], [0, a, -s], [0, s, a]])
    Ry = np.array([[b, 0, p], [0, 1, 0], [-p, 0, b]])
    return np.array([[c, -w, 0], [w, c, 0], [0, 0, 1]]) @ Ry @ Rx


def held(kind, axis="z", base=True, method=None):
    """A free body whose frame is at rest at that of the wall: what each row carries, and the wall's rotation."""
    build = ph.Builder()
    if base:
        build.body("base", joint=ph.weld(), at=(1, 2, 3), rpy=TURN, mass=1)
        build.body("bracket", parent="base", joint=ph.weld(), at=(0, 0, 1), rpy=SECOND, mass=1)
    at, rpy = ((0.2, 0.1, 0), (0.1, 0, 0)) if base else ((0, 0, 0), TURN)
    build.marker("wall", body="bracket" if base else "world", at=at, rpy=rpy)
    build.body("beam", parent="bracket" if base else "world", joint=ph.free(), at=at, rpy=rpy, mass=MASS, com=COM)
    build.loop("wall", "beam", kind, axis=axis)
    eq = ph.formulate(build.build(), method=method)
    at_rest = At(eq, np.zeros(6), np.zeros(6))
    lam = np.linalg.lstsq(at_rest(eq.constraints.J).T, at_rest(eq.c), rcond=None)[0]
    return dict(zip([label.partition(".")[2] for label in eq.constraints.labels], lam, strict=True)), at_rest


def expected(at):
    """Force and moment about the beam's origin that hold its weight, in the world."""
    X = at(at.eq.pose("beam"))
    force = np.array([0, 0, MASS * 9.81])
    return X[:3, :3], force, np.cross(X[:3, :3] @ COM, force)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize("kind", ["hinge", "cylinder"])
def test_forces_and_moments_across_an_axis(axis, base, kind):
    """What it does not carry, along its axis, is left out: the rest is the least that is needed."""
    build_axis = np.array([{"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}[axis[-1]]]) * (-1 if axis[0] == "-" else 1)
    first, second = (UNITS[letter] for letter in AXES[axis])
    assert np.allclose(np.cross(first, second), build_axis)
    rows, at = held(kind, axis, base)
    R, force, moment = expected(at)
    force, moment = R.T @ force, R.T @ moment
    assert rows["tilt x"] == pytest.approx(moment @ second)
    assert rows["tilt y"] == pytest.approx(-moment @ first)
    if kind == "cylinder":
        assert rows["off x"] == pytest.approx(force @ first)
        assert rows["off y"] == pytest.approx(force @ second)


@pytest.mark.parametrize("kind", ["weld", "hinge", "point"])
@pytest.mark.parametrize("axis", ["z", "-z"])
def test_forces_of_a_point_are_in_the_axes_of_the_last_body_though_it_is_welded(kind, axis):
    rows, at = held(kind, axis)
    R = rotation(*TURN) @ rotation(*SECOND)  # of the bracket
    wanted = R.T @ expected(at)[1]
    assert [rows[k] for k in "xyz"] == pytest.approx(list(wanted))
    if kind == "weld":
        beam, _, moment = expected(at)
        assert [rows[f"turn {k}"] for k in "xyz"] == pytest.approx(list(beam.T @ moment))


def test_forces_between_bodies_on_the_world_are_in_its_axes():
    rows, at = held("weld", base=False)
    assert [rows[k] for k in "xyz"] == pytest.approx([0, 0, MASS * 9.81])
    beam, _, moment = expected(at)
    assert [rows[f"turn {k}"] for k in "xyz"] == pytest.approx(list(beam.T @ moment))


def test_a_body_welded_between_two_that_move():
    """Arms on a plate that is welded, turned, to a body that moves: rows are in the plate's axes."""
    build = ph.Builder(gravity=(0, 0, 0))
    build.body("cart", joint=ph.free(quaternion=True), mass=1, inertia=(1, 1, 1))
    build.body("plate", parent="cart", joint=ph.weld(), rpy=TURN, mass=1)
    build.body("left", parent="plate", joint=ph.prismatic("x"), mass=1)
    build.body("right", parent="plate", at=(0, 0, 1), joint=ph.prismatic("y"), mass=1)
    build.loop("left", "right", "point")
    eq = ph.formulate(build.build())
    at = At(eq, [1, 0, 0, 0, 0, 0, 0, 0.3, -0.2], np.zeros(8))
    assert at(eq.constraints.phi) == pytest.approx([-0.3, -0.2, 1])
    assert at(eq.constraints.J)[:, 6:] == pytest.approx(np.array([[-1, 0], [0, 1], [0, 0]]))
