"""A straight Euler-Bernoulli beam element in space: 12 degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GAUSS = 4  # points along an element: exact for the products of cubic displacements


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BeamElement:
    """From node i to node j; u = [displacement, rotation] of i, then of j, in the axes of the frame.

    R      : (3, 3), its columns are the element's axes x (along it), y and z
    EI_y   : resists rotation about y, so deflection along z
    radii  : of gyration of a section, from its mass: the roots of int z^2 / mass and int y^2 / mass
    """

    i: int
    j: int
    length: float
    R: np.ndarray
    mu: float
    EA: float
    EI_y: float
    EI_z: float
    GJ: float
    radii: tuple[float, float]

    def stiffness(self) -> np.ndarray:
        """(12, 12), in the axes of the frame."""
        L, k = self.length, np.zeros((12, 12))
        for stiff, at in ((self.EA, (0, 6)), (self.GJ, (3, 9))):
            k[np.ix_(at, at)] += stiff / L * np.array([[1, -1], [-1, 1]])
        # deflection along y turns about z; along z it turns the other way about y
        for EI, four, s in ((self.EI_z, (1, 5, 7, 11), 1), (self.EI_y, (2, 4, 8, 10), -1)):
            k[np.ix_(four, four)] += EI / L**3 * np.array([
                [12, 6 * s * L, -12, 6 * s * L],
                [6 * s * L, 4 * L**2, -6 * s * L, 2 * L**2],
                [-12, -6 * s * L, 12, -6 * s * L],
                [6 * s * L, 2 * L**2, -6 * s * L, 4 * L**2],
            ])  # fmt: skip
        T = self._turn()
        return np.asarray(T @ k @ T.T)

    def field(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Displacement, rotation and its derivative along the axis, (q, 3, 12) each, at fractions of the length.

        Cubic across and linear along and about the axis; sections stay normal to the axis.
        """
        L, x = self.length, np.asarray(at, dtype=float)
        one, zero = np.ones_like(x), np.zeros_like(x)
        hermite = [  # value, slope, curvature of each of the four cubics
            (1 - 3 * x**2 + 2 * x**3, (-6 * x + 6 * x**2) / L, (-6 + 12 * x) / L**2),
            (L * (x - 2 * x**2 + x**3), 1 - 4 * x + 3 * x**2, (-4 + 6 * x) / L),
            (3 * x**2 - 2 * x**3, (6 * x - 6 * x**2) / L, (6 - 12 * x) / L**2),
            (L * (x**3 - x**2), 3 * x**2 - 2 * x, (6 * x - 2) / L),
        ]
        u, th, bent = (np.zeros((len(x), 3, 12)) for _ in range(3))
        u[:, 0, 0], u[:, 0, 6] = 1 - x, x
        th[:, 0, 3], th[:, 0, 9] = 1 - x, x
        bent[:, 0, 3], bent[:, 0, 9] = zero - one / L, one / L
        for (value, slope, curve), y, z, s in zip(hermite, (1, 5, 7, 11), (2, 4, 8, 10), (1, -1, 1, -1), strict=True):
            u[:, 1, y], th[:, 2, y], bent[:, 2, y] = value, slope, curve
            u[:, 2, z], th[:, 1, z], bent[:, 1, z] = s * value, -s * slope, -s * curve
        T = self._turn()
        return self.R @ u @ T.T, self.R @ th @ T.T, self.R @ bent @ T.T

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A rule of quadrature over its mass: masses (q,), fractions along the axis (q,), and offsets (q, 3) in the
        axes of the frame. Four points of a section, on its axes y and z, have the moments of the section."""
        x, weight = np.polynomial.legendre.leggauss(GAUSS)
        at, mass = (x + 1) / 2, self.mu * self.length * weight / 2
        about_y, about_z = self.radii
        if not any(self.radii):
            return mass, at, np.zeros((GAUSS, 3))
        y, z = np.sqrt(2) * about_z * self.R[:, 1], np.sqrt(2) * about_y * self.R[:, 2]
        return np.repeat(mass / 4, 4), np.repeat(at, 4), np.tile([y, -y, z, -z], (GAUSS, 1))

    def _turn(self) -> np.ndarray:
        return np.kron(np.eye(4), self.R)
