"""Rotating beams as published, and two solvers of their equation that share nothing with Polhode.

A uniform beam of length L is clamped to a hub that turns at Omega, its root where the axis is. With x in lengths, time
in units of sqrt(mu L^4/EI) and eta = Omega in those units, bending out of the plane of rotation (flap) is

    w'''' - (T w')' = lam^2 w,   T = eta^2 (1 - x^2)/2,   w(0) = w'(0) = w''(1) = w'''(1) = 0.

Bending in the plane (lag) has lam^2 + eta^2 for lam^2.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import Legendre, leggauss
from scipy.integrate import solve_ivp
from scipy.linalg import eigh
from scipy.optimize import brentq

# A. D. Wright, C. E. Smith, R. W. Thresher, J. L. C. Wang, Vibration modes of centrifugally stiffened beams, J. Applied
# Mechanics 49 (1982) 197-202: flap modes 1 to 3, by eta. To three decimals, as G. Bir has them for a beam with
# EI/(mu L^4) = 1 [Verification of BModes, AIAA 2009-1035, table 3a]. The paper itself was not at hand.
WRIGHT = {
    0: (3.516, 22.035, 61.697),
    1: (3.682, 22.181, 61.842),
    2: (4.137, 22.615, 62.273),
    3: (4.797, 23.320, 62.985),
    4: (5.585, 24.273, 63.967),
    5: (6.450, 25.446, 65.205),
    6: (7.360, 26.809, 66.684),
    7: (8.300, 28.334, 68.386),
    8: (9.257, 29.995, 70.293),
    9: (10.226, 31.771, 72.387),
    10: (11.202, 33.640, 74.649),
    11: (12.184, 35.589, 77.064),
    12: (13.170, 37.603, 79.615),
}


@dataclass(frozen=True, kw_only=True)
class SpinUp:
    """A beam in a plane whose hub is turned up to a speed.

    Omega(t) = speed (t/T - sin(2 pi t/T)/(2 pi)) until T, constant after that.
    """

    length: float
    mu: float
    EI: float
    EA: float
    speed: float
    T: float

    def angle(self, t):
        during = np.minimum(t, self.T)
        turned = during**2 / (2 * self.T) + self.T / (2 * math.pi) ** 2 * (np.cos(2 * math.pi * during / self.T) - 1)
        return self.speed * (turned + np.maximum(t - self.T, 0))

    def rate(self, t):
        during = min(t, self.T)
        return self.speed * (during / self.T - math.sin(2 * math.pi * during / self.T) / (2 * math.pi))

    def change(self, t):
        return self.speed / self.T * (1 - math.cos(2 * math.pi * t / self.T)) if t < self.T else 0.0


# T. R. Kane, R. R. Ryan, A. K. Banerjee, Dynamics of a cantilever beam attached to a moving base, J. Guidance, Control
# and Dynamics 10 (1987) 139-151, with numbers as in J. C. Simo, L. Vu-Quoc, The role of non-linear theories in
# transient dynamic analysis of flexible structures, J. Sound and Vibration 119 (1987) 487-508:
# E A = 2.8e7 N, E I = 1.4e4 N m^2, rho A = 1.2 kg/m; the hub turns by
# (6/15) (t^2/2 + (15/(2 pi))^2 (cos(2 pi t/15) - 1)) until 15 s.
# Neither paper was at hand: beam and law are as public code repeats them (the example of a spin-up in AeroBeams.jl).
KANE = SpinUp(length=10.0, mu=1.2, EI=1.4e4, EA=2.8e7, speed=6.0, T=15.0)
LAG = -0.574  # m, the largest, by `spin_up` below: computed, not printed in a paper


def _ritz(modes):
    """Integrals over 0 to 1 for x^2 times Legendre's polynomials: of f f, f'' f'', (1 - x^2)/2 f' f', x f, and f(1)."""
    x, w = leggauss(modes + 6)
    x, w = (x + 1) / 2, w / 2
    to = Polynomial([-1, 2])
    kept = [Polynomial([0, 0, 1]) * Legendre.basis(k).convert(kind=Polynomial)(to) for k in range(modes)]
    F, D, C = (np.array([f.deriv(k)(x) if k else f(x) for f in kept]) for k in range(3))
    return (F * w) @ F.T, (C * w) @ C.T, (D * (w * (1 - x**2) / 2)) @ D.T, F @ (w * x), np.array([f(1) for f in kept])


def flap(eta, many=3, modes=14):
    """Frequencies by polynomials, which bound them from above."""
    M, K, G, *_ = _ritz(modes)
    return np.sqrt(eigh(K + eta**2 * G, M, eigvals_only=True)[:many])


def _residual(lam, eta, terms=120):
    """How far the power series of w is from a free end: det of w'' and w''' at 1 of the two that are clamped at 0."""
    ends = []
    for first in (2, 3):
        a = np.zeros(terms)
        a[first] = 1
        for k in range(terms - 4):
            pull = eta**2 / 2 * ((k + 2) * (k + 1) * a[k + 2] - k * (k + 1) * a[k])
            a[k + 4] = (pull + lam**2 * a[k]) / ((k + 4) * (k + 3) * (k + 2) * (k + 1))
        w = Polynomial(a)
        ends.append([w.deriv(2)(1), w.deriv(3)(1)])
    return np.linalg.det(ends)


def flap_by_series(eta, many=3):
    """Frequencies as roots of the power series (Frobenius), as in the paper."""
    grid = np.arange(0.5, 7 * eta + 70, 0.5)
    sign = [_residual(lam, eta) for lam in grid]
    brackets = [k for k in range(len(grid) - 1) if sign[k] * sign[k + 1] < 0][:many]
    return np.array([brentq(_residual, grid[k], grid[k + 1], args=(eta,), xtol=1e-11) for k in brackets])


def spin_up(case, t, modes=8, stiffening=True):
    """How far the tip is from the line that the root points along, at times t.

    mu (y'' + Omega' x - Omega^2 y) + EI y'''' - (T y')' = 0,  T = mu Omega^2 (L^2 - x^2)/2;  without T, what linear
    displacements give.
    """
    M, K, G, h, tip = _ritz(modes)
    rigid, pull = case.EI / (case.mu * case.length**4) * K, G if stiffening else 0 * G

    def flow(time, s):
        y, rate, spin = s[:modes], s[modes:], case.rate(time)
        force = spin**2 * (M - pull) @ y - rigid @ y - case.change(time) * case.length * h
        return np.concatenate([rate, np.linalg.solve(M, force)])

    found = solve_ivp(flow, (0, t[-1]), np.zeros(2 * modes), t_eval=t, method="DOP853", rtol=1e-9, atol=1e-10)
    return tip @ found.y[:modes]
