"""Shapes of beams: roots against published ones, integrals against Gauss points of shapes written another way."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from polhode.graph import as_expr
from polhode.model.ends import ENDS, exact, held_free, polynomial, root
from polhode.model.sections import Section
from polhode.model.shapes import ONE, Series, outboard, product, swept

T, W = np.polynomial.legendre.leggauss(20)
X = np.concatenate([(i + (T + 1) / 2) / 8 for i in range(8)])  # eight parts
W = np.concatenate([W / 16] * 8)

# Blevins, Formulas for Natural Frequency and Mode Shape, table 8-1
BLEVINS = {
    "clamped-free": (1.87510407, 4.69409113, 7.85475744, 10.99554073, 14.13716839),
    "clamped-pinned": (3.92660231, 7.06858275, 10.21017612, 13.35176878, 16.49336143),
    "pinned-pinned": tuple(n * math.pi for n in range(1, 6)),
}

EQUATIONS = {
    "clamped-free": lambda x, R: mpmath.cos(x) * mpmath.cosh(x) + 1,
    "clamped-pinned": lambda x, R: mpmath.tan(x) - mpmath.tanh(x),
    "pinned-pinned": lambda x, R: mpmath.sin(x),
    "clamped-mass": lambda x, R: (
        1 + mpmath.cos(x) * mpmath.cosh(x) - R * x * (mpmath.sin(x) * mpmath.cosh(x) - mpmath.cos(x) * mpmath.sinh(x))
    ),
}


def textbook(ends, n, R=0.0):
    """cosh - cos - s (sinh - sin) by mpmath, scaled by its largest value at 2,001 points; f, f', f''."""
    k = mpmath.findroot(lambda x: EQUATIONS[ends](x, mpmath.mpf(R)), root(ends, n, R))
    c, s, ch, sh = mpmath.cos(k), mpmath.sin(k), mpmath.cosh(k), mpmath.sinh(k)
    by = {
        "clamped-free": (sh - s) / (ch + c),
        "clamped-pinned": (ch - c) / (sh - s),
        "clamped-mass": (ch + c) / (sh + s),  # no moment at the tip
    }[ends]

    def made(x, order):
        y = k * mpmath.mpf(float(x))
        C, S = mpmath.cos(y), mpmath.sin(y)
        CH, SH = mpmath.cosh(y), mpmath.sinh(y)
        return [CH - C - by * (SH - S), k * (SH + S - by * (CH - C)), k * k * (CH + C - by * (SH + S))][order]

    return made


@pytest.mark.parametrize("ends", BLEVINS)
def test_the_roots_are_the_published_ones(ends):
    assert [root(ends, n) for n in range(1, 6)] == pytest.approx(BLEVINS[ends], abs=6e-9)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("n", [1, 2, 3, 10, 40, 100])
def test_the_roots_are_right_to_the_last_digit(ends, n):
    with mpmath.workdps(400):
        found = root(ends, n, 0.7)
        precise = mpmath.findroot(lambda x: EQUATIONS[ends](x, mpmath.mpf(0.7)) / mpmath.cosh(x), found)
        assert abs(found / precise - 1) < 4e-16


def test_a_mass_lowers_each_root_to_that_of_a_pin():
    for n in (1, 2, 3):
        found = [root("clamped-mass", n, R) for R in (0, 0.01, 1, 100, 1e4)]
        assert found == sorted(found, reverse=True)
        assert found[0] == root("clamped-free", n)
    assert root("clamped-mass", 3, 1e4) == pytest.approx(root("clamped-pinned", 2), rel=1e-4)
    assert root("clamped-mass", 1, 1e4) == pytest.approx((3 / 1e4) ** 0.25, rel=1e-4)  # a spring 3 EI/L^3 and a mass


@pytest.mark.parametrize("ends", ["clamped-free", "clamped-pinned", "clamped-mass"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_shapes_are_those_of_the_textbook(ends, n):
    f, x = exact(ends, n, 0.7), np.linspace(0, 1, 201)
    with mpmath.workdps(40):
        made = textbook(ends, n, 0.7)
        for order, g in enumerate((f, f.slope, f.slope.slope)):
            whole = np.array([float(made(e, order)) for e in x])
            if order == 0:
                scale = (f(x) @ whole) / (whole @ whole)
            assert np.abs(g(x) - scale * whole).max() < 1e-13 * np.abs(scale * whole).max()


@pytest.mark.parametrize("ends", ENDS)
def test_shapes_keep_to_their_ends_and_are_1_at_most(ends):
    x = np.linspace(0, 1, 4001)
    for made in (lambda n: exact(ends, n, 0.7), lambda n: polynomial(ends, n)):
        for n in (1, 2, 3, 7):
            f = made(n)
            assert abs(f(x)).max() == pytest.approx(1, abs=1e-4)
            assert abs(f(x)).max() <= 1 + 1e-14
            assert float(f(np.array(0.0))) == pytest.approx(0, abs=1e-14)
            if ends.startswith("clamped"):
                assert float(f.slope(np.array(0.0))) == pytest.approx(0, abs=1e-12)
            if ends.endswith("pinned"):
                assert float(f(np.array(1.0))) == pytest.approx(0, abs=1e-14)
                assert f(x)[1] > 0
            else:
                assert float(f(np.array(1.0))) > 0
            if ends == "clamped-free":
                assert float(f(np.array(1.0))) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("ends", ENDS)
def test_shapes_are_orthogonal(ends):
    fs = [exact(ends, n, 0.7) for n in (1, 2, 3, 4, 20)]
    R = 0.7 if ends == "clamped-mass" else 0.0
    tips = [float(f(np.array(1.0))) for f in fs]
    for i, f in enumerate(fs):
        for j, g in enumerate(fs):
            M = product(f, g) + R * tips[i] * tips[j]
            K = product(f.slope.slope, g.slope.slope)
            if i == j:
                assert pytest.approx(f.k**4 * M, rel=3e-13) == K
            else:
                assert abs(M) < 1e-13
                assert K == 0  # dust is cleared
    if ends == "clamped-free":
        assert [product(f, f) for f in fs] == [0.25] * 5


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("power", [0, 1, 2])
def test_closed_integrals_are_those_of_gauss_points(ends, power):
    fs = [*(exact(ends, n, 0.7) for n in (1, 2, 5, 10)), held_free(1), held_free(2)]
    fs += [f.slope.times(1 / f.k) for f in fs[:3]]
    for f, g in itertools.product(fs, [*fs, ONE]):
        whole = np.sum(W * X**power * f(X) * g(X))
        assert product(f, g, power) == pytest.approx(whole, abs=3e-15)


def test_the_hundredth_mode_neither_overflows_nor_loses_digits():
    x = np.concatenate([(i + X) / 20 for i in range(20)])
    w = np.concatenate([W / 20] * 20)
    with np.errstate(all="raise", under="ignore"):
        for ends in ENDS:
            f, g = exact(ends, 100, 0.7), exact(ends, 99, 0.7)
            for a, b, power in ((f, f, 0), (f, f, 2), (f, g, 1)):
                assert product(a, b, power) == pytest.approx(np.sum(w * x**power * a(x) * b(x)), abs=1e-13)
            assert np.isfinite(swept(f.slope, g.slope, np.linspace(0, 1, 11))).all()


def test_polynomials_are_integrated_as_exact_fractions():
    """Of x^2 P_{n-1}(2x - 1): against powers, in rational numbers of mpmath."""
    with mpmath.workdps(60):
        for n, m in ((1, 1), (2, 5), (10, 10), (9, 12)):
            powers = [mpmath.taylor(lambda x, d=d: x**2 * mpmath.legendre(d - 1, 2 * x - 1), 0, 16) for d in (n, m)]
            whole = sum(a * b / (i + j + 1) for i, a in enumerate(powers[0]) for j, b in enumerate(powers[1]))
            f, g = polynomial("clamped-free", n), polynomial("clamped-free", m)
            assert product(f, g) == pytest.approx(float(whole), abs=1e-16)


def test_polynomials_of_powers():
    f = Series.of_powers((0, 0, 1.5, -0.5))
    assert f(X) == pytest.approx(1.5 * X**2 - 0.5 * X**3, abs=1e-15)
    assert f.slope(X) == pytest.approx(3 * X - 1.5 * X**2, abs=1e-14)
    assert product(f) == pytest.approx(3 / 8)
    assert product(exact("clamped-free", 2), f) == pytest.approx(np.sum(W * exact("clamped-free", 2)(X) * f(X)))


@pytest.mark.parametrize("made", [lambda n: exact("clamped-mass", n, 2.0), lambda n: polynomial("clamped-free", n)])
def test_integrals_from_the_root_to_a_point(made):
    f, g = made(1).slope, made(3).slope
    for end in (0.0, 0.3, 0.77, 1.0):
        whole = end * np.sum(W * f(end * X) * g(end * X))
        assert float(swept(f, g, np.array(end))) == pytest.approx(whole, abs=1e-14)
    for power in (0, 1):
        whole = sum(w * x**power * float(swept(f, g, np.array(x))) for x, w in zip(X, W, strict=True))
        assert outboard(f, g, power, Section(as_expr(1))) == pytest.approx(whole, abs=1e-13)
        table = Section(as_expr(1), table=((0.0, 1.0), (0.5, 1.0), (0.5, 1.0), (1.0, 1.0)))
        assert outboard(f, g, power, table) == pytest.approx(whole, abs=1e-13)


def test_integrals_over_sections_that_step():
    f, g = exact("clamped-free", 1), exact("clamped-free", 3)
    table = Section(as_expr(1), table=((0.0, 2.0), (0.3, 1.0), (0.3, 5.0), (1.0, 4.0)))
    first, last = 0.3 * X, 0.3 + 0.7 * X
    whole = np.sum(0.3 * W * f(first) * g(first) * (2 - first / 0.3))
    whole += np.sum(0.7 * W * f(last) * g(last) * (5 - (last - 0.3) / 0.7))
    assert product(f, g, 0, table) == pytest.approx(whole, abs=1e-14)
