"""Rows of geometry and rows that users wrote, which count from shares that differ by 1e7, solved together."""

import numpy as np

from polhode.analyze.columns import Rows, solved
from polhode.kinematics.constraints import GEOMETRIC, WRITTEN


def rows(seed, ratio):
    draw = np.random.default_rng(seed)
    A = draw.normal(size=(4, 7))
    A[3], A[:, 6] = 0, 0
    A[3, [1, 6]] = -ratio, 1
    reach = np.array([1, 1, 1e-3, 1, 1, 1, ratio])
    least = np.array([GEOMETRIC] * 3 + [WRITTEN])
    return Rows(A=A, size=np.linalg.norm(A * reach, axis=1), least=least, reach=reach)


def test_what_rows_leave_is_exact():
    for seed, ratio in enumerate((3.0, 200.0, 2e4)):
        given = rows(seed, ratio)
        found = solved(given)
        bound = [j for j in range(7) if j not in found.free]
        G = np.zeros((7, 3))
        G[list(found.free)] = np.eye(3)
        G[bound] = -np.linalg.solve(given.A[:, bound], given.A[:, list(found.free)])
        assert np.allclose(found.G, G, rtol=1e-12, atol=1e-12 * abs(G).max(axis=1, keepdims=True))
        assert np.allclose(given.A @ found.H, np.eye(4), rtol=0, atol=1e-11 * ratio)


def test_rows_that_repeat_others_to_the_digits_of_a_file_count_once():
    given = rows(7, 50.0)
    A = np.vstack([given.A, given.A[0] + 1e-7 * given.A[2], given.A[3] * 2])
    size, least = np.linalg.norm(A * given.reach, axis=1), np.append(given.least, [GEOMETRIC, WRITTEN])
    more = Rows(A=A, size=size, least=least, reach=given.reach)
    assert more.rank == given.rank == 4
    assert solved(more).free == solved(given).free
    assert np.allclose(solved(more).G, solved(given).G, rtol=0, atol=1e-5)
