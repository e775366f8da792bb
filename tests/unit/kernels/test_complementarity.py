"""Forces that obey Coulomb's law: the residual by De Saxce's map, and the frictionless ones as a least square."""

import numpy as np
import pytest
from scipy.optimize import nnls

from polhode.kernels.complementarity import JAMMED, SOLVED, UNSOLVED, run_solve
from polhode.kernels.coulomb import EQUAL, NORMAL, TANGENT, ints_for, room_for

GUARD = -77


def integers(*values):
    return np.array(values, np.int64)


def contacts(n, mu, rows=3):
    """Kind, size, of and bound of n contacts with one normal and rows - 1 tangents each."""
    kind = np.tile(integers(NORMAL, *[TANGENT] * (rows - 1)), n)
    size = np.tile(integers(0, rows - 1, *[0] * (rows - 2)), n) if rows > 1 else 0 * kind
    of = np.where(kind == TANGENT, np.repeat(np.arange(n) * rows, rows), -1)
    return kind, size, of, np.where(kind == TANGENT, np.repeat(np.broadcast_to(mu, n), rows), 0.0)


def solve(A, b, kind, size, of, bound, start=None, about=True):
    """Call the kernel with room of just the size that it asks for."""
    k = len(b)
    lam = np.zeros(k) if start is None else np.array(start, float)
    room, ints = np.full(room_for(k) + 1, np.nan), np.full(ints_for(k) + 1, GUARD)
    room[-1] = GUARD
    code = run_solve(
        np.ascontiguousarray(A), np.array(b, float), kind, size, of, np.array(bound, float), lam, room, ints, about
    )
    assert room[-1] == ints[-1] == GUARD
    return code, lam


def onto_cone(y, mu):
    """The nearest point with |y_T| <= mu y_N."""
    normal, tangent = y[0], np.linalg.norm(y[1:])
    if tangent <= mu * normal:
        return y
    along = (normal + mu * tangent) / (1 + mu**2)
    return np.r_[along, mu * along * y[1:] / tangent] if along > 0 else 0 * y


def residual(A, b, bound, lam, rows):
    """De Saxce: lam is the projection of lam - w - mu |w_T| e_N on its cone; of contacts, in units of b."""
    k = len(b)
    blocks = [slice(i, i + rows) for i in range(0, k, rows)]
    scale = np.concatenate([np.full(rows, (np.trace(A[s, s]) / rows) ** -0.5) for s in blocks])
    force, w = lam / scale, scale * (A @ lam + b)
    worst = 0.0
    for s in blocks:
        mu = bound[s][-1]
        y = force[s] - w[s]
        y[0] -= mu * np.linalg.norm(w[s][1:])
        worst = max(worst, abs(force[s] - onto_cone(y, mu)).max())
    return worst / abs(scale * b).max()


# Jacobians of contacts, the inverse of a diagonal mass matrix, and speeds


def lever(rng, at, normal=(0, 0, 1)):
    """Rows of a contact of a rigid body, [linear, angular]: normal and two tangents."""
    normal = np.array(normal) / np.linalg.norm(normal)
    tangent = np.cross(normal, rng.normal(size=3))
    tangent /= np.linalg.norm(tangent)
    R = np.array([normal, tangent, np.cross(normal, tangent)])
    return np.hstack([R, np.cross(at, R)])


def anything(rng, n):
    m = rng.integers(n + 1, 3 * n + 2)
    return rng.normal(size=(3 * n, m)), np.exp(0.5 * rng.normal(size=m)), rng.normal(size=m)


def rigid(rng, n):
    J = np.vstack([lever(rng, (*rng.uniform(-1, 1, 2), -0.4)) for _ in range(n)])
    return J, np.array([1, 1, 1, 3, 4, 2.0]), rng.normal(size=6) - [0, 0, 2, 0, 0, 0]


def quadruped(rng, n):
    J = np.zeros((12, 18))
    for i in range(4):
        rows, at = slice(3 * i, 3 * i + 3), (0.4 * (-1) ** i, 0.2 * (-1) ** (i // 2), -0.4)
        J[rows, :6] = lever(rng, at)
        J[rows, 6 + 3 * i : 9 + 3 * i] = 0.3 * J[rows, :3] @ rng.normal(size=(3, 3))
    return J, np.r_[[1 / 20] * 3, 1.2, 0.8, 0.7, [20] * 12], rng.normal(size=18) - np.eye(18)[2]


def stack(rng, n):
    boxes = (n + 3) // 4
    J = np.zeros((12 * boxes, 6 * boxes))
    for k in range(boxes):
        for i in range(4):
            x, y, row = 0.5 * (-1) ** i, 0.5 * (-1) ** (i // 2), 12 * k + 3 * i
            J[row : row + 3, 6 * k : 6 * k + 6] = above = lever(rng, (x, y, -0.5))
            if k:
                J[row : row + 3, 6 * k - 6 : 6 * k] = -np.hstack([above[:, :3], np.cross((x, y, 0.5), above[:, :3])])
    masses = rng.uniform(0.5, 2, boxes)
    return J, np.kron(1 / masses, [1, 1, 1, 6, 6, 6]), 0.3 * rng.normal(size=6 * boxes) - np.tile(np.eye(6)[2], boxes)


def masses(rng, n):
    """Contacts between bodies of 1e-6 to 1e6 kg, or one and the ground."""
    m = max(1, n // 2)
    J = np.zeros((3 * n, 6 * m))
    for i in range(n):
        rows, normal, other = slice(3 * i, 3 * i + 3), rng.normal(size=3), rng.integers(0, m + 1)
        J[rows, 6 * (i % m) : 6 * (i % m) + 6] = above = lever(rng, rng.uniform(-1, 1, 3), normal)
        if other not in (m, i % m):
            below = -np.hstack([above[:, :3], np.cross(rng.uniform(-1, 1, 3), above[:, :3])])
            J[rows, 6 * other : 6 * other + 6] = below
    return J, np.kron(10 ** rng.uniform(-6, 6, m), [1, 1, 1, 3, 4, 2]), rng.normal(size=6 * m)


def repeated(rng, n):
    J, *rest = (anything if n % 2 else rigid)(rng, max(1, n // 5))
    return np.vstack([J] * 5), *rest


def parallel(rng, n):
    J, *rest = anything(rng, max(1, n // 2))
    return np.vstack([J, J + 1e-5 * rng.normal(size=J.shape)]), *rest


def problem(make, rng, rows, n=None):
    J, inverse, u = make(rng, int(rng.integers(1, 21)) if n is None else n)
    if rows == 2:
        J = J[np.arange(len(J)) % 3 != 2]
    n = len(J) // rows
    mu = rng.uniform(0, 1, n)
    A = (J * inverse) @ J.T
    return (A + A.T) / 2, J @ u, *contacts(n, mu, rows)


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize(
    ("make", "least"),
    [(anything, 98), (rigid, 98), (quadruped, 100), (stack, 96), (masses, 94), (repeated, 98), (parallel, 80)],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("about", [True, False], ids=["about others", "about none"])
def test_random_contacts_are_solved_and_their_residual_is_that_of_the_true_cone(make, least, rows, about):
    rng = np.random.default_rng(3)
    solved = 0
    for _ in range(50):
        case = A, b, _, _, _, bound = problem(make, rng, rows)
        code, lam = solve(*case, about=about)
        normal, tangent = lam[::rows], lam.reshape(-1, rows)[:, 1:]
        assert code in (SOLVED, UNSOLVED)
        assert (normal >= 0).all()
        assert (np.linalg.norm(tangent, axis=1) <= bound[1::rows] * normal * (1 + 1e-12)).all()
        if code == SOLVED:
            solved += 1
            assert residual(A, b, bound, lam, rows) < 1e-8
    assert 2 * solved >= (max(least, 90) if about else least)


def test_what_slides_makes_the_matrix_nonsymmetric_and_the_forces_are_those_of_this_one():
    rng, solved = np.random.default_rng(7), 0
    for _ in range(40):
        n = int(rng.integers(2, 5))
        A, b, *law = problem(rigid, rng, 3, n)
        along = rng.normal(size=2)
        along *= rng.uniform(0, 0.3) / np.linalg.norm(along)
        A[:, 0] -= A[:, 1:3] @ along  # the last contacts may stick, the first slides along a known direction
        keep = np.delete(np.arange(3 * n), [1, 2])
        law = [values[keep] for values in law]
        law[2] = np.where(law[2] > 0, law[2] - 2, law[2])
        A, b = A[np.ix_(keep, keep)], b[keep]
        code, lam = solve(A, b, *law)
        if code == SOLVED:
            solved += 1
            w = A @ lam + b
            size = 1e-8 * abs(b).max()
            assert min(lam[0], w[0]) >= -size
            assert abs(lam[0] * w[0]) <= size * (1 + abs(lam[0]))
            # the others by De Saxce's map, where the first brings what it does
            assert residual(A[1:, 1:], b[1:] + A[1:, 0] * lam[0], law[3][1:], lam[1:], 3) < 1e-8
    assert solved >= 36


def test_without_friction_the_speeds_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n, m = rng.integers(1, 12, 2)
        J, u = rng.normal(size=(n, m)), rng.normal(size=m)
        code, lam = solve(J @ J.T, J @ u, *contacts(n, 0.0, 1))
        expected = J @ (u + J.T @ nnls(J.T, -u)[0])
        assert code == SOLVED
        np.testing.assert_allclose(J @ (u + J.T @ lam), expected, atol=1e-9)


def test_equal_rows_act_as_constraints_that_are_in_the_mass_matrix():
    rng = np.random.default_rng(1)
    for _ in range(30):
        J, u, E = rng.normal(size=(9, 8)), rng.normal(size=8), rng.normal(size=(2, 8))
        E = np.vstack([E, E[:1] + E[1:]])  # one row repeats the others
        within = np.eye(8) - np.linalg.pinv(E) @ E
        law = contacts(3, 0.4)
        inside, alone = solve(J @ within @ J.T, J @ within @ u, *law)
        both = np.vstack([E, J])
        fixed = (np.full(3, EQUAL), np.zeros(3, int), np.full(3, -1), np.zeros(3))
        law = [np.concatenate(pair) for pair in zip(fixed, law, strict=True)]
        law[2][law[2] >= 0] += 3
        outside, lam = solve(both @ both.T, both @ u, *law)
        assert inside == outside == SOLVED
        np.testing.assert_allclose(within @ (u + J.T @ alone), u + both.T @ lam, atol=1e-8)


def test_a_brake_holds_up_to_its_capacity():
    law = integers(TANGENT), integers(1), integers(-1)
    assert solve(np.array([[2.0]]), [4.0], *law, [3.0]) == (SOLVED, pytest.approx([-2.0]))
    assert solve(np.array([[2.0]]), [4.0], *law, [1.0]) == (SOLVED, pytest.approx([-1.0]))
    pair = integers(TANGENT, TANGENT), integers(2, 0), integers(-1, -1)
    code, lam = solve(np.eye(2), [3.0, 4.0], *pair, [1.0, 0.0])
    assert code == SOLVED
    np.testing.assert_allclose(lam, [-0.6, -0.8], rtol=1e-12)


@pytest.mark.parametrize("tiny", [0.0, 1e-33])
def test_a_tangent_that_nothing_moves_carries_nothing_and_disturbs_nothing(tiny):
    A, b = np.diag([1.0, tiny, 2.0]), np.array([-1.0, 0.5, 0.8])
    code, lam = solve(A, b, *contacts(1, 0.3), start=[0, 5.0, 0])
    assert code == SOLVED
    np.testing.assert_allclose(lam, [1.0, 0.0, -0.3], rtol=1e-12)


def test_a_contact_that_nothing_moves_does_not_hide_the_others():
    code, lam = solve(np.diag([1.0, 0.0]), [-1e-3, 2.0], *contacts(2, 0.0, 1))
    assert code == SOLVED
    np.testing.assert_allclose(lam, [1e-3, 0])
    assert solve(np.diag([1.0, 0.0]), [-1.0, -2.0], *contacts(2, 0.0, 1), about=False)[0] == JAMMED


def test_light_contacts_are_as_exact_as_heavy_ones():
    rng = np.random.default_rng(8)
    for _ in range(20):
        light, heavy = problem(rigid, rng, 3, 3), problem(rigid, rng, 3, 3)
        A = np.zeros((18, 18))
        A[:9, :9], A[9:, 9:] = 1e8 * light[0], 1e-8 * heavy[0]
        law = contacts(6, np.r_[light[5][1::3], heavy[5][1::3]])
        code, lam = solve(A, np.r_[light[1], heavy[1]], *law)
        near = lam * np.repeat([1 + 5e-8, 1], 9)
        again, lam = solve(A, np.r_[light[1], heavy[1]], *law, start=near)
        assert code == again == SOLVED
        assert residual(A[:9, :9], light[1], light[5], lam[:9], 3) < 2e-8
        assert residual(A[9:, 9:], heavy[1], heavy[5], lam[9:], 3) < 1e-9


def test_units_of_each_contact_do_not_matter():
    rng = np.random.default_rng(5)
    for _ in range(20):
        A, b, kind, size, of, bound = problem(quadruped, rng, 3)
        code, lam = solve(A, b, kind, size, of, bound)
        units = np.repeat(10 ** rng.uniform(-5, 5, 4), 3)
        other, forces = solve(A * np.outer(units, units), b * units, kind, size, of, bound)
        assert code == other == SOLVED
        np.testing.assert_allclose(forces * units, lam, atol=1e-9 * abs(lam).max())


def test_a_solution_is_where_the_search_may_begin():
    rng = np.random.default_rng(6)
    case = problem(quadruped, rng, 3)
    _, lam = solve(*case)
    code, again = solve(*case, start=lam)
    assert code == SOLVED
    np.testing.assert_allclose(again, lam, rtol=1e-12, atol=1e-14)
    assert solve(*case, start=np.full(12, np.nan))[0] == SOLVED


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_a_block_between_walls_that_approach_is_jammed(mu):
    J = np.array([[1.0, 0], [0, 1], [-1, 0], [0, 1]])
    law = contacts(2, mu, 2)
    assert solve(J @ J.T, [-1, 0.3, -1, 0.3], *law, about=False)[0] == JAMMED
    code, lam = solve(J @ J.T, [-1, 0.3, 1, 0.3], *law)
    assert code == SOLVED
    assert lam[0] - lam[2] == pytest.approx(1.0)


def test_constraints_that_contradict_are_jammed_with_forces_of_a_size():
    law = integers(EQUAL, EQUAL), integers(0, 0), integers(-1, -1), np.zeros(2)
    code, lam = solve(np.ones((2, 2)), [1.0, 2.0], *law, about=False)
    assert code == JAMMED
    assert abs(lam).max() < 1e7


def test_what_is_not_a_number_is_not_solved():
    code, lam = solve(np.eye(3), [-1.0, np.nan, 0.0], *contacts(1, 0.3))
    assert code == UNSOLVED
    assert np.isfinite(lam).all()
