"""Poses, twists, wrenches and inertias against their 4 x 4 and 6 x 6 matrices."""

import numpy as np
import pytest

from polhode.graph import Matrix, evaluate, symbol, symbols, vector
from polhode.spatial import (
    Inertia,
    Pose,
    Twist,
    Wrench,
    axis_angle,
    quaternion_rates,
    quaternion_rotation,
    roll_pitch_yaw,
    skew,
)


def array(m):
    return np.reshape(evaluate(m.entries, {}), m.shape)


@pytest.fixture(params=range(3))
def draw(request):
    return np.random.default_rng(request.param)


def some_pose(draw):
    return Pose(roll_pitch_yaw(*draw.normal(size=3)), vector(draw.normal(size=3)))


def some_twist(draw):
    return Twist.of(list(draw.normal(size=6)))


def some_wrench(draw):
    return Wrench(vector(draw.normal(size=3)), vector(draw.normal(size=3)))


def adjoint(X):
    """The 6 x 6 matrix that takes twists from B to A, written out."""
    R, p = array(X.R), array(X.p)
    P = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    return np.block([[R, np.zeros((3, 3))], [P @ R, R]])


def test_poses_multiply_as_their_matrices(draw):
    X, Y = some_pose(draw), some_pose(draw)
    assert np.allclose(array((X @ Y).matrix()), array(X.matrix()) @ array(Y.matrix()))
    assert np.allclose(array((X @ X.inverse()).matrix()), np.eye(4))


def test_twists_and_wrenches_change_frames_by_the_adjoint(draw):
    X, V, F = some_pose(draw), some_twist(draw), some_wrench(draw)
    assert np.allclose(array((X @ V).vector()), adjoint(X) @ array(V.vector()))
    assert np.allclose(array((X @ F).vector()), np.linalg.inv(adjoint(X)).T @ array(F.vector()))
    assert np.allclose(array(X.back(X @ V).vector()), array(V.vector()))
    assert np.allclose(array(X.back(X @ F).vector()), array(F.vector()))


def test_power_does_not_depend_on_the_frame(draw):
    X, V, F = some_pose(draw), some_twist(draw), some_wrench(draw)
    assert np.isclose(float((X @ V).dot(X @ F)), float(V.dot(F)))


def matrix_of(V):
    w, v = array(V.w), array(V.v)
    return np.block([[array(skew(vector(w))), v[:, None]], [np.zeros((1, 4))]])


def test_the_bracket_is_the_commutator(draw):
    V, W, F = some_twist(draw), some_twist(draw), some_wrench(draw)
    A, B = matrix_of(V), matrix_of(W)
    assert np.allclose(matrix_of(V.bracket(W)), A @ B - B @ A)
    assert np.isclose(float(V.bracket(W).dot(F)), float(W.dot(V.cobracket(F))))


def test_inertias_change_frames_like_quadratic_forms(draw):
    X, V = some_pose(draw), some_twist(draw)
    A = draw.normal(size=(3, 3))
    I = Inertia.of_body(1.7, draw.normal(size=3), Matrix((3, 3), (A @ A.T).ravel()))
    assert np.allclose(array((I @ V).vector()), array(I.matrix()) @ array(V.vector()))
    there = X @ I
    inverse = np.linalg.inv(adjoint(X))
    assert np.allclose(array(there.matrix()), inverse.T @ array(I.matrix()) @ inverse)
    assert np.isclose(float((X @ V).dot(there @ (X @ V))), float(V.dot(I @ V)))
    assert np.allclose(array((I + I).matrix()), 2 * array(I.matrix()))


def test_an_axis_of_any_length_turns_by_length_times_angle(draw):
    a = draw.normal(size=3)
    k = np.linalg.norm(a)
    assert np.allclose(array(axis_angle(a, 0.7)), array(axis_angle(a / k, 0.7 * k)))
    R = array(axis_angle(a, 0.7))
    assert np.allclose(R @ a, a)
    assert np.allclose(R @ R.T, np.eye(3))


def test_right_angles_are_exact():
    q = symbol("q")
    R = axis_angle((0, 0, 1), q)
    assert R[2, 2] == 1
    assert R[0, 2] == 0
    assert str(R[0]) == "[cos(q), -sin(q), 0]"


def test_a_quaternion_turns_as_its_axis_and_angle(draw):
    a = draw.normal(size=3)
    a /= np.linalg.norm(a)
    angle = 1.1
    turn = [np.cos(angle / 2), *(np.sin(angle / 2) * a)]
    assert np.allclose(array(quaternion_rotation(*turn)), array(axis_angle(a, angle)))
    # R_dot = R skew(w) with the rates of the quaternion
    w = draw.normal(size=3)
    rates = array(quaternion_rates(*turn)) @ w
    step = 1e-6
    moved = [array(quaternion_rotation(*(np.array(turn) + s * step * rates))) for s in (1, -1)]
    R = array(quaternion_rotation(*turn))
    assert np.allclose((moved[0] - moved[1]) / (2 * step), R @ array(skew(vector(w))), atol=1e-8)


def test_symbols_stay_symbols():
    m, L = symbols("m L")
    rod = Inertia.of_body(m, [0, 0, L / 2], Matrix((3, 3), [m * L**2 / 12, 0, 0, 0, m * L**2 / 12, 0, 0, 0, 0]))
    values = {"m": 3, "L": 2}
    assert evaluate(rod.I[0, 0], values) == pytest.approx(3 * 4 / 3)
    assert rod.I[2, 2] == 0


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_turn_about_one_axis_turns_matrices_like_any_other(order, sign, draw):
    from polhode.spatial.rotation import turned

    q = symbol("q")
    P = np.eye(3, dtype=int)[list(order)]
    P[2] *= sign
    R = Matrix((3, 3), P.ravel().tolist()) @ axis_angle((0, 0, 1), q)
    A = Matrix((3, 3), draw.normal(size=9))
    at = {"q": 0.7}
    expected = evaluate((R @ A @ R.T).entries, at)
    assert np.allclose(evaluate(turned(R, A).entries, at), expected)
