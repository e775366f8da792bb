"""Systems solved as expressions, rows and speeds chosen at generic points."""

import random

import numpy as np
import pytest

import polhode as ph
from polhode.graph import cos, evaluate, identity, matrix, sin, symbols
from polhode.kinematics import derive
from polhode.kinematics.eliminate import eliminate
from polhode.kinematics.generic import dependent_columns, generic_points, growth, offset, sampled
from polhode.kinematics.independent import independent_rows

X = symbols("x1 x2 x3 x4 x5 x6 x7 x8")


def points(n=6):
    draw = random.Random(3)
    return [{x: draw.uniform(-1.5, 1.5) for x in X} for _ in range(n)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("dense", [0.3, 0.7, 1.0])
def test_the_solution_solves(n, dense):
    draw = random.Random(n)
    rows = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if i == j or draw.random() < dense:
                rows[i][j] = draw.choice([sin, cos])(draw.choice(X)) + (3 if i == j else 0)
    draw.shuffle(rows)
    A = matrix(rows)
    found = eliminate(A, identity(n), points())
    for point in points():
        a, b = (np.reshape(evaluate(m, point), m.shape) for m in (A, found))
        assert np.allclose(a @ b, np.eye(n), atol=1e-9)


def test_what_stands_alone_needs_no_determinant():
    """(50): the third coordinate follows from the first, and one division is left."""
    s2, c2, s3, c3 = sin(X[1]), cos(X[1]), sin(X[2]), cos(X[2])
    Y = matrix([[-s2 * c3, s3, 0], [s2 * s3, c3, 0], [c2, 0, 1]])
    found = eliminate(Y, identity(3), points())
    assert str(found).replace("\n", "") == (
        "[[-cos(x3)/sin(x2), sin(x3)/sin(x2), 0], [sin(x3), cos(x3), 0],"
        " [cos(x2)*cos(x3)/sin(x2), -cos(x2)*sin(x3)/sin(x2), 1]]"
    )


def test_rows_of_any_size_count():
    big, small = 10**6, 1e-6
    A = matrix([[big * sin(X[0]), big], [small, -small * cos(X[1])]])
    found = eliminate(A, identity(2), points())
    for point in points():
        a, b = (np.reshape(evaluate(m, point), m.shape) for m in (A, found))
        assert np.allclose(b @ a, np.eye(2), atol=1e-9)
    assert growth(sampled(A, points()), [0, 1])[0] == 0


@pytest.mark.parametrize("kept", ["a_dot", "c_dot"])
def test_constraints_of_any_size_are_embedded(kept):
    a, b, c = ph.symbols("a_dot b_dot c_dot")
    build = ph.Builder("scaled")
    for name in "abc":
        build.body(name, joint=ph.revolute("y", name=name), mass=1, com=(1, 0, 0))
    build.constraint(1e6 * (a + b), name="large")
    build.constraint(1e-6 * (a + 2 * c - b), name="small")
    eq = ph.formulate(build.build(), embed=True, independent=[kept])
    assert eq.kane.independent == (kept,)
    assert evaluate(eq.M[0, 0], {}) == pytest.approx(3)


def test_what_is_small_is_kept_and_what_cancels_is_not():
    x, y, u = X[0], X[1], X[7]
    small = 1e-15 * sin(x)
    cancels = sin(x + y) - sin(x) * cos(y) - cos(x) * sin(y)
    row = ph.vector([u + small, u - cancels, 2 * u + 1e9 * cancels / cos(x), u + small * (cancels + 2)])
    found = offset(row, ph.vector([u]), points())
    assert found[:3] == ph.vector([small, 0, 0])
    assert found[3] != 0


def test_a_coordinate_follows_the_smallest_law():
    build = ph.Builder("shaken")
    build.body("a", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("b", parent="a", joint=ph.revolute("y", name="y"), mass=1, com=(1, 0, 0))
    build.prescribe("x", 1e-12 * sin(ph.TIME))
    assert ph.formulate(build.build(), embed=True).kane.dependent == {"x_dot": 1e-12 * cos(ph.TIME)}


def test_rows_that_repeat_others_are_found():
    rows = np.array([[[1.0, 0, 0], [2, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 5]]] * 3)
    least = np.full(5, 1e-5)
    assert independent_rows(rows, least) == [0, 2, 4]
    assert independent_rows(rows, least, given=1) == [2, 4]
    assert independent_rows(rows, least, given=1, most=1) == [2]


def test_a_row_that_is_nearly_another_gives_way_to_a_clear_one():
    rows = np.array([[[1.0, 0], [1, 1e-4], [0, 1]]] * 3)
    assert independent_rows(rows, np.full(3, 1e-5)) == [0, 2]


def test_rows_without_error_come_before_those_that_have_some():
    rows = np.array([[[1.0, 4e-7], [1, 0], [0, 1e-7]]] * 3)
    assert independent_rows(rows, np.array([1e-5, 1e-12, 1e-5])) == [1]
    assert independent_rows(rows, np.array([1e-5, 1e-12, 1e-12])) == [1, 2]


def test_dependent_speeds_are_those_that_are_determined_everywhere():
    """(59): the caster's own rate never vanishes from the row."""
    L2, L3 = X[6], X[7]
    row = matrix([[-sin(X[3]), L2 * cos(X[3]), -L3]])
    where = [{**point, X[7]: 1.0} for point in points()]
    values = sampled(row, [{**where[0], X[3]: 0.0}, *where])
    assert dependent_columns(row, values) == [2]
    assert growth(values, [0])[0] == 1  # at rest the row does not determine u1
    many = matrix([[sin(x) for x in X] * 4 for _ in range(3)])
    assert len(dependent_columns(many, np.random.default_rng(0).normal(size=(4, 3, 32)))) == 3


def test_generic_points_are_on_the_constraints():
    build = ph.Builder("four bars")
    parent, at = "world", (0, 0, 0)
    for name, length in (("crank", 0.5), ("coupler", 1.3), ("rocker", 0.9)):
        build.body(name, parent=parent, at=at, joint=ph.revolute("y"), mass=1, com=(1, 0, 0))
        parent, at = name, (length, 0, 0)
    build.marker("end", body="rocker", at=at)
    build.marker("ground", body="world", at=(1.2, 0, 0))
    build.loop("ground", "end", kind="point")
    kin = derive(build.build())
    from polhode.kinematics import constrain

    phi = constrain(kin).phi
    found = generic_points(kin, phi)
    assert len(found) == 8
    assert max(abs(e) for point in found for e in evaluate(phi, point)) < 1e-9
    # quaternions are of unit length; what cannot close is sampled anywhere
    build = ph.Builder("ball")
    build.body("ball", joint=ph.free(quaternion=True, name="f"), mass=1, inertia=(1, 1, 1))
    kin = derive(build.build())
    for point in generic_points(kin, ph.vector([])):
        assert sum(point[q] ** 2 for q in kin.q[:4]) == pytest.approx(1)
    assert len(generic_points(kin, ph.vector([kin.q[4] ** 2 + 1]))) == 8
