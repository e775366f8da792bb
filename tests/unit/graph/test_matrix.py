"""Matrices: numpy's conventions, checked shapes."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polhode.graph import Matrix, const, cross, evaluate, identity, matrix, symbols, vector, vector_of, zeros

X, Y, Z = symbols("x y z")
SIZE = st.integers(0, 4)


def numbers(*shape):
    return np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape) ** 2


def values(m):
    return np.array([float(e) for e in m.entries]).reshape(m.shape)


@given(SIZE, SIZE, SIZE)
def test_product_equals_numpy(n, k, m):
    a, b = numbers(n, k), -numbers(k, m)
    found = Matrix((n, k), a.ravel()) @ Matrix((k, m), b.ravel())
    assert found.shape == (n, m)
    np.testing.assert_array_equal(values(found), a @ b)


@given(SIZE, SIZE)
def test_transpose_equals_numpy(n, m):
    a = numbers(n, m)
    found = Matrix((n, m), a.ravel()).T
    assert found.shape == (m, n)
    np.testing.assert_array_equal(values(found), a.T)


def test_products_with_vectors():
    m, v = matrix([[X, 1], [0, Y]]), vector([2, Z])
    assert m @ v == vector([2 * X + Z, Y * Z])
    assert v @ m == vector([2 * X, 2 + Y * Z])
    assert v @ v is 4 + Z**2
    assert vector([]) @ vector([]) is const(0)


def test_numpy_arrays_stand_on_either_side():
    m, a = matrix([[X, Y]]), np.array([[2.0], [3.0]])
    assert (m @ a)[0, 0] is 2.0 * X + 3.0 * Y
    assert (a @ m)[1, 0] is 3.0 * X
    assert vector([X, Y]) + np.array([1, 2]) == vector([X + 1, Y + 2])
    assert np.array([1, 2]) - vector([X, Y]) == vector([1 - X, 2 - Y])


def test_arithmetic_is_entrywise():
    v = vector([X, Y])
    assert v + [1, 2] == vector([X + 1, Y + 2])
    assert [1, 2] - v == vector([1 - X, 2 - Y])
    assert 2 * v / 2 == v
    assert -v == vector([-X, -Y])


@pytest.mark.parametrize(
    "index", [(slice(None), 0), (1,), (slice(0, 1), slice(1, None)), (-1, -1), (slice(None, None, -1),)]
)
def test_indexing_equals_numpy(index):
    a = numbers(2, 3)
    found = Matrix((2, 3), a.ravel())[index if len(index) > 1 else index[0]]
    if isinstance(found, Matrix):
        np.testing.assert_array_equal(values(found), a[index])
    else:
        assert float(found) == a[index]


def test_index_out_of_range_is_refused():
    with pytest.raises(IndexError):
        matrix([[X, Y]])[1, 0]


def test_iteration_ends_and_gives_rows():
    assert list(matrix([[X, Y], [Y, X]])) == [vector([X, Y]), vector([Y, X])]
    assert list(vector([X])) == [X]


def test_cross_product_is_orthogonal():
    a, b = vector([X, Y, Z]), vector([1, 2, 3])
    point = {X: 0.5, Y: -1.5, Z: 2.0}
    assert evaluate(cross(a, b) @ a, point) == 0
    assert cross(a, b) == -cross(b, a)
    assert cross(a, a) == zeros(3)


def test_cross_product_of_other_sizes_is_refused():
    with pytest.raises(ValueError, match="three"):
        cross([1, 2], [3, 4])


def test_identity_is_neutral():
    m = matrix([[X, Y], [Y, Z]])
    assert identity(2) @ m == m == m @ identity(2)


@pytest.mark.parametrize("bad", [5, X], ids=str)
def test_adding_a_scalar_names_the_problem(bad):
    with pytest.raises((TypeError, ValueError), match=r"[Mm]atrix|[Ss]hape|vector"):
        vector([X, Y]) + bad


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="Row 1 has 1 entries"):
        matrix([[1, 2], [3]])
    with pytest.raises(ValueError, match=r"\(2, 1\) @ \(2, 1\)"):
        matrix([[X], [Y]]) @ matrix([[X], [Y]])
    with pytest.raises(ValueError, match="differ"):
        vector([X]) + [1, 2]
    with pytest.raises(ValueError, match="expected 4 entries, found 1"):
        Matrix((2, 2), [X])


def test_matrices_pickle():
    m = matrix([[X, Y], [Y, X * Y]])
    assert pickle.loads(pickle.dumps(m)) == m
    assert hash(pickle.loads(pickle.dumps(m))) == hash(m)


def test_vector_of_counts_from_one():
    assert [e.value for e in vector_of("q", 3)] == ["q1", "q2", "q3"]
    assert len(vector_of("q", 0)) == 0
