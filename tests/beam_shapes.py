"""Polynomial shapes of beams, and points that have the inertia of one exactly, for references."""

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import Legendre


def lobatto(n):
    """Places and weights of Lobatto's rule on 0 to 1: exact up to degree 2 n - 3."""
    P = Legendre.basis(n - 1)
    x = np.concatenate([[-1.0], np.sort(P.deriv().roots().real), [1.0]])
    return (x + 1) / 2, 1 / (n * (n - 1) * P(x) ** 2)


def shapes(modes, ends="clamped-free"):
    """Legendre's polynomials of 2 x - 1, times x^2 where clamped at 0 and free at 1, times x (1 - x) where pinned."""
    to, held = Polynomial([-1, 2]), Polynomial([0, 0, 1] if ends == "clamped-free" else [0, 1, -1])
    return [held * Legendre.basis(k).convert(kind=Polynomial)(to) for k in range(modes)]
