"""States of contacts: against the solutions of every combination by NumPy, and Painleve's rod."""

from itertools import product

import numpy as np
import pytest

from polhode.kernels.complementarity import SOLVED, run_solve
from polhode.kernels.coulomb import EQUAL, NORMAL, TANGENT, ints_for, room_for
from polhode.kernels.modes import HELD, MOST, OPEN, SLIDES, SLIP_MINUS, SLIP_PLUS, TOO_MANY, run_modes

ANY = OPEN | HELD | SLIP_PLUS | SLIP_MINUS


def integers(*values):
    return np.array(values, np.int64)


def contacts(n, *friction):
    """Kind, size, of, and a bound for each of `friction`, of n contacts in the plane."""
    kind = np.tile(integers(NORMAL, TANGENT), n)
    of = np.where(kind == TANGENT, np.arange(2 * n) - 1, -1)
    return kind, (kind == TANGENT).astype(np.int64), of, *[np.where(kind == TANGENT, mu, 0.0) for mu in friction]


def modes(A, b, kind, size, of, bound, grip, allowed=None):
    k = len(b)
    state, lam = np.zeros(k, np.int64), np.full(k, np.nan)
    allowed = np.full(k, ANY) if allowed is None else integers(*allowed)
    room, ints = np.full(room_for(k) + 1, np.nan), np.full(ints_for(k) + 1, 7)
    values = [np.ascontiguousarray(v, float) for v in (A, b, bound, grip)]
    found = run_modes(*values[:2], kind, size, of, *values[2:], state, allowed, lam, room, ints)
    assert np.isnan(room[-1])
    assert ints[-1] == 7
    return found, state.tolist(), lam


def every(A, b, of, bound, grip):
    """All solutions of contacts in the plane as (opens, slips, w, lam), each combination as one linear system."""
    n, k = len(b) // 2, len(b)
    for choice in product((HELD, SLIP_PLUS, SLIP_MINUS, OPEN), repeat=n):
        # unknown [w, lam]; the first rows are w - A lam = b
        system, right = np.zeros((2 * k, 2 * k)), np.zeros(2 * k)
        system[:k] = np.hstack([np.eye(k), -A])
        right[:k] = b
        for c, state in enumerate(choice):
            N, T = 2 * c, 2 * c + 1
            system[k + N, k + N if state == OPEN else N] = 1
            system[k + T, T if state == HELD else k + T] = 1
            if state in (SLIP_PLUS, SLIP_MINUS):
                system[k + T, k + N] = bound[T] if state == SLIP_PLUS else -bound[T]
        solution = np.linalg.lstsq(system, right, rcond=1e-12)[0]
        w, lam = solution[:k], solution[k:]
        lawful = abs(system @ solution - right).max() < 1e-9
        for c, state in enumerate(choice):
            N, T = 2 * c, 2 * c + 1
            lawful &= w[N] > -1e-9 and lam[N] > -1e-9
            lawful &= state != HELD or abs(lam[T]) < grip[T] * lam[N] + 1e-9
            lawful &= state != SLIP_PLUS or w[T] > -1e-9
            lawful &= state != SLIP_MINUS or w[T] < 1e-9
        if lawful:
            slips = sum(state in (SLIP_PLUS, SLIP_MINUS) for state in choice)
            yield choice.count(OPEN), slips, w, lam


@pytest.mark.parametrize("mu", [0.3, 3.0])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_solutions_are_those_of_every_combination(n, mu):
    rng = np.random.default_rng(10 * n)
    counts = set()
    for _ in range(60):
        J, a = rng.normal(size=(2 * n, 2 * n + 1)), rng.normal(size=2 * n + 1)
        A, b = J @ J.T, J @ a
        kind, size, of, bound, grip = contacts(n, mu, 1.2 * mu)
        expected = list(every(A, b, of, bound, grip))
        found, state, lam = modes(A, b, kind, size, of, bound, grip)
        distinct = {tuple(np.round(w, 6) + 0.0) for _, _, w, _ in expected}
        counts.add(found)
        assert found == min(len(distinct), 2)
        if found:
            opens, slips, _, force = min(expected, key=lambda each: each[:2])
            assert (state[::2].count(OPEN), sum(s in (SLIP_PLUS, SLIP_MINUS) for s in state)) == (opens, slips)
            same = [f for o, s, _, f in expected if (o, s) == (opens, slips)]
            assert any(np.allclose(lam, f, atol=1e-8) for f in same), (lam, force)
    assert counts >= ({1, 2} if mu > 1 else {1})


def test_a_single_solution_is_that_of_complementarity():
    rng = np.random.default_rng(4)
    for _ in range(30):
        J, a = rng.normal(size=(8, 9)), rng.normal(size=9)
        A, b = J @ J.T, J @ a
        kind, size, of, bound = contacts(4, 0.2)
        found, _, lam = modes(A, b, kind, size, of, bound, bound)
        other = np.zeros(8)
        room, ints = np.empty(room_for(8)), np.empty(ints_for(8), np.int64)
        code = run_solve(A, b, kind, size, of, bound, other, room, ints, False)
        assert (found, code) == (1, SOLVED)
        np.testing.assert_allclose(lam, other, atol=1e-9)


def rod(omega, theta=1.1):
    """A rod of 1 kg and half-length 1 on its lower end: A and b of [normal, tangent]."""
    to_end = -np.array([np.cos(theta), np.sin(theta)])
    J = np.array([[0, 1, to_end[0]], [1, 0, -to_end[1]]])
    return (J * [1, 1, 3]) @ J.T, J @ [0, -9.81, 0] - omega**2 * to_end[::-1]


@pytest.mark.parametrize(("omega", "expected"), [(0.0, 0), (4.0, 2)])
def test_painleves_rod_has_no_solution_or_two(omega, expected):
    A, b = rod(omega)
    mu = 2.0
    assert mu > (1 + 3 * np.cos(1.1) ** 2) / (3 * np.sin(1.1) * np.cos(1.1))
    folded = A[0, 0] + mu * A[0, 1]  # it slides backwards, with the tangent force mu lam_N
    alone = integers(NORMAL), integers(0), integers(-1), [0.0], [0.0]
    found, state, lam = modes([[folded]], b[:1], *alone)
    assert (found, state) == (expected, [HELD] if expected else [0])
    # the same, with the tangent as a row that slides
    whole = modes(A, b, *contacts(1, mu, mu), allowed=[OPEN | HELD, SLIP_MINUS | SLIDES])
    assert whole[0] == expected
    if expected:
        assert lam[0] == pytest.approx(-b[0] / folded)
        assert whole[1] == [HELD, SLIP_MINUS]
        np.testing.assert_allclose(whole[2], [lam[0], mu * lam[0]], rtol=1e-12)


def test_less_friction_gives_the_rod_one_solution():
    A, b = rod(0.0)
    found, state, lam = modes(A, b, *contacts(1, 1.0, 1.0), allowed=[OPEN | HELD, SLIP_MINUS | SLIDES])
    assert (found, state) == (1, [HELD, SLIP_MINUS])
    assert lam[0] == pytest.approx(9.81 / (A[0, 0] + A[0, 1]))


def test_what_holds_comes_before_what_slips_and_a_state_can_be_banned():
    A, b = np.eye(2), [-10.0, 4.0]  # pushed with more than kinetic, less than static friction
    law = contacts(1, 0.3, 0.5)
    assert modes(A, b, *law)[:2] == (2, [HELD, HELD])
    found, state, lam = modes(A, b, *law, allowed=[ANY, ANY & ~HELD])
    assert (found, state) == (1, [HELD, SLIP_PLUS])
    np.testing.assert_allclose(lam, [10, -3])
    assert modes(A, b, *law, allowed=[ANY, SLIP_MINUS])[0] == 0
    assert modes(A, [1.0, 4.0], *law, allowed=[ANY, SLIP_MINUS])[:2] == (1, [OPEN, OPEN])


def test_contacts_that_share_a_load_have_one_motion():
    at = np.array([-1.0, 0.0, 1.0])  # a block on three points: J = [1, x] of height and tilt, and one of sliding
    J = np.zeros((6, 3))
    J[::2, 0], J[::2, 1], J[1::2, 2] = 1.0, at, 1.0
    found, state, lam = modes(J @ J.T, J @ [-9.0, 0.0, 1.0], *contacts(3, 0.5, 0.5))
    assert (found, state) == (1, [HELD] * 6)
    np.testing.assert_allclose(J.T @ lam, [9, 0, -1], atol=1e-9)
    np.testing.assert_allclose(lam[:2], lam[4:], rtol=1e-5)


def test_brakes_and_constraints_beside_contacts():
    # a cart (x) that a brake holds, tied to a second one that is pushed
    J = np.array([[1.0, 0.0], [1.0, -1.0]])
    law = integers(TANGENT, EQUAL), integers(1, 0), integers(-1, -1)
    found, state, lam = modes(J @ J.T, J @ [0.0, 3.0], *law, [2.0, 0], [4.0, 0])
    assert (found, state) == (2, [HELD, HELD])
    np.testing.assert_allclose(lam, [-3, 3])
    found, state, lam = modes(J @ J.T, J @ [0.0, 5.0], *law, [2.0, 0], [4.0, 0])
    assert (found, state) == (1, [SLIP_PLUS, HELD])
    np.testing.assert_allclose(J @ ([0, 5] + J.T @ lam), [1.5, 0], atol=1e-12)


def test_a_tangent_that_no_force_moves_holds_where_it_is_still_and_slips_where_it_is_not():
    found, state, lam = modes(np.diag([1.0, 0.0]), [-1.0, 0.0], *contacts(1, 0.3, 0.3))
    assert (found, state, lam.tolist()) == (1, [HELD, HELD], [1.0, 0.0])
    found, state, lam = modes(np.diag([1.0, 0.0]), [-1.0, 0.5], *contacts(1, 0.3, 0.3))
    assert (found, state, lam.tolist()) == (1, [HELD, SLIP_PLUS], [1.0, -0.3])
    found, state, lam = modes(np.diag([1.0, 0.0]), [-1.0, -0.5], *contacts(1, 0.3, 0.3))
    assert (found, state, lam.tolist()) == (1, [HELD, SLIP_MINUS], [1.0, 0.3])


def test_constraints_that_contradict_have_no_solution():
    law = integers(EQUAL, EQUAL), integers(0, 0), integers(-1, -1), np.zeros(2), np.zeros(2)
    assert modes(np.ones((2, 2)), [1.0, 2.0], *law)[0] == 0
    assert modes(np.ones((2, 2)), [1.0, 1.0], *law)[0] == 1
    assert modes(np.ones((2, 2)), [1.0, np.nan], *law)[0] == 0


def test_too_many_combinations_are_refused():
    assert 6**5 < MOST < 6**6
    assert modes(np.eye(12), -np.ones(12), *contacts(6, 0.3, 0.3))[0] == TOO_MANY
