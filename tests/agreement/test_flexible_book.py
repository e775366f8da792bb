"""Book's recursions against Lagrange's equations summed over points, and against the other formulations."""

import numpy as np
import pytest

from flexible_brute_force import equations, names
from flexible_clouds import model_of, random_arm
from mechanics import At, close
from polhode.equations import formulate


def at_random(eq, seed):
    draw = np.random.default_rng(seed)
    return At(eq, draw.uniform(-1, 1, len(eq.q)), draw.uniform(-1, 1, len(eq.u)))


@pytest.mark.parametrize("rotation", ["proper", "linear"])
@pytest.mark.parametrize("order", ["first", "full", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_book_is_lagrange_summed_over_points(seed, order, rotation):
    arm = random_arm(seed, order, rotation, planar=seed == 1, chain=seed == 2)
    eq = formulate(model_of(arm), "book")
    at = at_random(eq, seed)
    own = [[str(e.value) for e in eq.q].index(name) for name in names(arm)]
    M, c, gravity = equations(arm, at.q[own], at.u[own])
    assert close(at(eq.terms.mass())[np.ix_(own, own)], M, 1e-12)
    assert close(at(eq.terms.velocity())[own], c, 1e-12)
    assert close(at(eq.terms.gravity())[own], gravity, 1e-12)


@pytest.mark.parametrize("order", ["first", "full"])
def test_linear_rotations_by_book_and_by_lagrange(order):
    model = model_of(random_arm(5, order, "linear", bodies=3, chain=True))
    book, lagrange = (formulate(model, method) for method in ("book", "lagrange"))
    at = at_random(book, 5)
    other = At(lagrange, at.q, at.u)
    assert close(at(book.M), other(lagrange.M), 1e-12)
    assert close(at(book.c), other(lagrange.c), 1e-12)
