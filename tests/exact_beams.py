"""Exact natural frequencies of frames of uniform Euler-Bernoulli beams, for tests.

Each beam has a dynamic stiffness: the forces and moments at its ends by their displacements and turns that swing with
omega, without any assumption of shapes. The frequencies below omega are counted, so none is missed:

    N(omega) = sum of the frequencies below omega of each beam with both ends clamped
               + number of negative eigenvalues of K(omega)

Reference: W. H. Wittrick, F. W. Williams, A general algorithm for computing natural frequencies of elastic
structures, Quarterly Journal of Mechanics and Applied Mathematics 24 (1971).
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bar:
    """A uniform beam: length, mass per length, bending stiffness."""

    L: float
    mu: float
    EI: float

    def wave(self, omega):
        """lambda = L (mu omega^2 / EI)^(1/4)."""
        return self.L * (self.mu * omega**2 / self.EI) ** 0.25

    def stiffness(self, omega):
        """(4, 4), of [w, w'] at x = 0 and at x = L; hyperbolic functions by exp(-lambda), which do not overflow."""
        x = self.wave(omega)
        e = np.exp(-x)
        c, s, sech, T = np.cos(x), np.sin(x), 2 * e / (1 + e * e), (1 - e * e) / (1 + e * e)
        L, gap = self.L, sech - c  # (1 - cos cosh) / cosh
        a, b = x**3 * (c * T + s), x**2 * s * T * L
        d, f = x**3 * (s * sech + T), x**2 * (1 - c * sech) * L
        g, h = x * (s - c * T) * L**2, x * (T - s * sech) * L**2
        return self.EI / L**3 / gap * np.array([[a, b, -d, f], [b, g, -f, h], [-d, -f, a, -b], [f, h, -b, g]])

    def clamped(self, omega):
        """How many frequencies it has below omega with both ends clamped."""
        x = self.wave(omega)
        full = int(x / np.pi)
        sign = np.sign(2 * np.exp(-x) / (1 + np.exp(-2 * x)) - np.cos(x))
        return full - round((1 - (-1) ** full * sign) / 2)


@dataclass(frozen=True)
class Lump:
    """A rigid body at an end: mass, inertia about its centre of mass, which is `ahead` of the end along the beam."""

    m: float = 0.0
    I: float = 0.0
    ahead: float = 0.0

    def stiffness(self, omega):
        """(2, 2), of [w, w'] of the end."""
        m, h, I = self.m, self.m * self.ahead, self.I + self.m * self.ahead**2
        return -(omega**2) * np.array([[m, h], [h, I]])


def frequencies(bars, stiffness, many, floor=0.05, top=1e7):
    """The lowest angular frequencies of K(omega) d = 0 above a floor, by bisection of their number."""

    def below(omega):
        return sum(bar.clamped(omega) for bar in bars) + int((np.linalg.eigvalsh(stiffness(omega)) < 0).sum())

    found = []
    drifting = below(floor)
    for n in range(drifting + 1, drifting + many + 1):
        low, high = floor, floor
        while below(high) < n:
            low, high = high, high * 2
            assert high < top
        while high - low > 4e-16 * high:
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (low, middle) if below(middle) >= n else (middle, high)
        found.append(high)
    return np.array(found)


def assembled(size, *parts):
    """Sum of (matrix, map): the map (n, size) says how the ends of a part move with the unknowns."""
    total = np.zeros((size, size))
    for K, T in parts:
        total += np.asarray(T, float).T @ K @ np.asarray(T, float)
    return total


def single(bar, many, tip=None, hub=None, pinned=False):
    """One beam on a clamp, or on a hinge with a hub that turns with it; with a body at its tip, or a pin there."""
    moves = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]  # of turn at the root, displacement and turn of the tip
    free = ([0] if hub is not None else []) + ([2] if pinned else [1, 2])

    def stiffness(omega):
        parts = [(bar.stiffness(omega), moves)]
        parts += [] if hub is None else [([[-(omega**2) * hub]], [[1, 0, 0]])]
        parts += [] if tip is None else [(tip.stiffness(omega), [[0, 1, 0], [0, 0, 1]])]
        return assembled(3, *parts)[np.ix_(free, free)]

    return frequencies([bar], stiffness, many)


def two_links(first, second, many, hub, elbow, tip, bend=0.0, locked=()):
    """Two beams in the plane, hinged at a hub and at an elbow; at rest with the elbow bent by an angle.

    Unknown are the turns of the hub and of both sides of the elbow, the displacement of the elbow across the first
    beam, and those of the tip across the second beam with its turn. Neither gets longer: along itself the second
    moves as a rigid body with the elbow; across, its root moves by cos(bend) of the elbow's displacement.
    """
    c, s = np.cos(bend), np.sin(bend)
    names = ["hub", "w", "left", "right", "tip", "turn"]
    eye = dict(zip(names, np.eye(6), strict=True))
    if "elbow" in locked:
        eye["right"] = eye["left"]
    heavy = elbow.m + s * s * (second.mu * second.L + tip.m)

    def stiffness(omega):
        K = assembled(
            6,
            (first.stiffness(omega), [0 * eye["hub"], eye["hub"], eye["w"], eye["left"]]),
            (second.stiffness(omega), [c * eye["w"], eye["right"], eye["tip"], eye["turn"]]),
            (tip.stiffness(omega), [eye["tip"], eye["turn"]]),
            ([[-(omega**2) * hub]], [eye["hub"]]),
            (Lump(heavy, elbow.I).stiffness(omega), [eye["w"], eye["left"]]),
        )
        keep = [i for i, name in enumerate(names) if not (name == "hub" and "hub" in locked)]
        keep = [i for i in keep if not (names[i] == "right" and "elbow" in locked)]
        return K[np.ix_(keep, keep)]

    return frequencies([first, second], stiffness, many)


def hanging(bar, g, many, pinned=False, elements=60):
    """A beam that hangs: cubic finite elements, with the tension mu g (L - x), converged to 1e-8."""
    h = bar.L / elements
    K, M = (np.zeros((2 * elements + 2, 2 * elements + 2)) for _ in range(2))
    x, weight = np.polynomial.legendre.leggauss(6)
    x, weight = (x + 1) / 2, weight / 2
    shapes = np.polynomial.Polynomial
    cubic = [shapes([1, 0, -3, 2]), shapes([0, h, -2 * h, h]), shapes([0, 0, 3, -2]), shapes([0, 0, -h, h])]
    for e in range(elements):
        own = slice(2 * e, 2 * e + 4)
        tension = bar.mu * g * (bar.L - h * (e + x))
        w, dw, ddw = (np.array([(f.deriv(k) if k else f)(x) / h**k for f in cubic]) for k in range(3))
        K[own, own] += h * (bar.EI * (ddw * weight) @ ddw.T + (dw * weight * tension) @ dw.T)
        M[own, own] += h * bar.mu * (w * weight) @ w.T
    free = slice(1 if pinned else 2, None)
    L = np.linalg.cholesky(M[free, free])
    values = np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, K[free, free]).T))
    return np.sqrt(values[:many])
