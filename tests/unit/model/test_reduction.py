"""Reduction to interfaces and normal modes, on chains of masses and springs and on random structures."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh

import polhode as ph


def chain(n=6, k=100.0, m=2.0):
    """Masses in a row, springs between them."""
    K = k * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    K[0, 0] = K[-1, -1] = k
    return m * np.eye(n), K


def structure(n=24, seed=1):
    draw = np.random.default_rng(seed)
    A, B = draw.normal(size=(n, n)), draw.normal(size=(n, n))
    return A @ A.T / n + 0.1 * np.eye(n), B @ B.T + np.eye(n)


def test_all_modes_are_the_whole_structure():
    M, K = structure()
    exact = np.sqrt(eigh(K[3:, 3:], M[3:, 3:], eigvals_only=True))
    for interface, modes in (((), 21), ((5, 9), 19), (np.random.default_rng(2).normal(size=(3, 24)), 18)):
        basis = ph.craig_bampton(M, K, interface, modes, clamped=range(3))
        assert basis.frequencies == pytest.approx(exact, rel=1e-9)
        assert basis.shapes.T @ M @ basis.shapes == pytest.approx(np.eye(21), abs=1e-9)
        assert basis.shapes.T @ K @ basis.shapes == pytest.approx(np.diag(exact**2), abs=1e-7)
        assert not basis.shapes[:3].any()


def test_few_modes_are_above_the_exact_ones_and_move_the_interface_at_rest_exactly():
    M, K = chain(12)
    exact = np.sqrt(eigh(K[1:, 1:], M[1:, 1:], eigvals_only=True))
    basis = ph.craig_bampton(M, K, [11], 3, clamped=[0])
    assert len(basis.frequencies) == 4
    assert (basis.frequencies >= exact[:4] * (1 - 1e-12)).all()
    assert basis.frequencies[:2] == pytest.approx(exact[:2], rel=1e-2)
    # 11 springs of 100 N/m in a row
    d = basis.shapes[11] / basis.frequencies**2
    assert basis.shapes[11] @ d == pytest.approx(11 / 100)
    plain = ph.craig_bampton(M, K, (), 4, clamped=[0])
    assert plain.shapes[11] @ (plain.shapes[11] / plain.frequencies**2) < 0.999 * 11 / 100


def test_interface_rows_may_be_means():
    M, K = chain(12)
    rows = np.zeros((1, 12))
    rows[0, 10:] = 0.5
    basis = ph.craig_bampton(M, K, rows, 2, clamped=[0])
    load = rows[0]
    exact = np.linalg.solve(K[1:, 1:], load[1:]) @ load[1:]
    assert (basis.shapes.T @ load) @ (basis.shapes.T @ load / basis.frequencies**2) == pytest.approx(exact)


def test_massless_directions_are_left_out():
    M, K = chain()
    M[3, 3] = 0
    basis = ph.craig_bampton(M, K, (), 99, clamped=[0])
    assert len(basis.frequencies) == 4
    kept = np.delete(np.arange(1, 6), 2)  # condensed at rest by hand
    S = K[np.ix_(kept, kept)] - np.outer(K[kept, 3], K[3, kept]) / K[3, 3]
    assert basis.frequencies == pytest.approx(np.sqrt(eigh(S, M[np.ix_(kept, kept)], eigvals_only=True)))


def test_sparse_matrices():
    M, K = chain()
    dense = ph.craig_bampton(M, K, [5], 2, clamped=[0])
    assert ph.craig_bampton(
        sparse.csr_matrix(M), sparse.csc_matrix(K), [5], 2, clamped=[0]
    ).frequencies == pytest.approx(dense.frequencies)


@pytest.mark.parametrize("interface", [(), [5, 40], np.eye(60)[20:30].mean(axis=0)[None]])
def test_large_sparse_matrices_are_reduced_as_dense_ones(monkeypatch, interface):
    """Lanczos' method and factors of SciPy against full matrices of NumPy."""
    M, K = chain(60)
    K = K + np.diag(np.linspace(0, 3, 60))
    dense = ph.craig_bampton(M, K, interface, 4, clamped=[0])
    monkeypatch.setattr("polhode.model.reduction.DENSE", 10)
    for mass in (sparse.csr_matrix(M), M):
        found = ph.craig_bampton(mass, sparse.coo_matrix(K), interface, 4, clamped=[0])
        assert found.frequencies == pytest.approx(dense.frequencies, rel=1e-9)
        assert np.abs(found.shapes) == pytest.approx(np.abs(dense.shapes), abs=1e-7)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clamped": []}, "still moves without resistance.*Clamp all of the joint"),
        ({"stiffness": sparse.csr_matrix(-chain(60)[1])}, "negative along 59 directions"),
        ({"stiffness": sparse.triu(chain(60)[1])}, "not symmetric. If it is one triangle alone"),
        ({"stiffness": sparse.csr_matrix(chain(60)[1] + np.inf)}, "not finite"),
        ({"mass": sparse.csr_matrix(-chain(60)[0])}, "Mass: negative"),
        ({"mass": sparse.csr_matrix(np.ones((60, 50)))}, r"has shape \(60, 50\)"),
    ],
)
def test_faults_of_large_matrices(monkeypatch, change, words):
    monkeypatch.setattr("polhode.model.reduction.DENSE", 10)
    M, K = map(sparse.csr_matrix, chain(60))
    with pytest.raises(ph.ModelError, match=words), np.errstate(invalid="ignore"):
        ph.craig_bampton(**{"mass": M, "stiffness": K, "modes": 2, "clamped": [0], **change})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clamped": []}, "still moves without resistance.*Clamp all of the joint"),
        ({"clamped": [9]}, "clamped has 9, expected places of degrees of freedom, 0 to 5"),
        ({"clamped": range(6)}, "everything is clamped"),
        ({"interface": [0]}, "directions of the interface are 0 independent"),
        ({"interface": np.ones((2, 6))}, "2 directions of the interface are 1 independent"),
        ({"interface": np.ones((2, 5))}, "expected rows of 6"),
        ({"modes": -1}, "modes is -1"),
        ({"modes": 0}, "no mode is asked for"),
        ({"stiffness": np.triu(chain()[1])}, "not symmetric: row 0, column 1.*add the other"),
        ({"stiffness": chain(5)[1]}, "stiffness has 5 rows and mass 6"),
        ({"stiffness": -chain()[1]}, "negative along one direction"),
        ({"stiffness": chain()[1] * np.nan}, "row 0, column 0 is nan"),
        ({"mass": -chain()[0]}, "Mass: negative"),
        ({"mass": np.ones(6)}, r"has shape \(6,\)"),
        ({"mass": "heavy"}, "expected rows of numbers"),
        ({"mass": np.broadcast_to(0.0, (6001, 6001))}, "6001 rows, expected at most 6000, or sparse"),
        ({"mass": sparse.eye(600_000)}, "600000 rows, expected at most 500000"),
    ],
)
def test_faults(change, words):
    M, K = chain()
    given = {"mass": M, "stiffness": K, "interface": (), "modes": 2, "clamped": [0], **change}
    with pytest.raises(ph.ModelError, match=words):
        ph.craig_bampton(**given)
