"""Shapes of beams as functions of x/L, and the integrals of their products in closed form.

Two families: waves, whose exponentials are written so that none is large (mode 100 does not overflow), and series of
Legendre polynomials, which are well conditioned where powers are not.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.polynomial import legendre

from .sections import Section, nodes

Floats: TypeAlias = np.ndarray
_DUST = 1e-13  # of the largest that an integral could be


class Shape(ABC):
    """A function f of x/L from 0 to 1."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, x: Floats) -> Floats:
        """Values at points."""

    @property
    @abstractmethod
    def slope(self) -> Shape:
        """df/d(x/L)."""

    @abstractmethod
    def times(self, factor: float) -> Shape:
        """The same shape, larger."""

    @property
    @abstractmethod
    def waves(self) -> float:
        """How fast it changes: the largest rate in its exponents, the degree of a polynomial."""


@dataclass(frozen=True, slots=True)
class Wave(Shape):
    """f = a e^{-k(1-x)} + b e^{-k x} + c cos(k x) + s sin(k x), which the bending of uniform beams is made of."""

    k: float
    a: float = 0.0
    b: float = 0.0
    c: float = 0.0
    s: float = 0.0

    def __call__(self, x: Floats) -> Floats:
        k, x = self.k, np.asarray(x, dtype=float)
        fading = self.a * np.exp(-k * (1 - x)) + self.b * np.exp(-k * x)
        return np.asarray(fading + self.c * np.cos(k * x) + self.s * np.sin(k * x))

    @property
    def slope(self) -> Wave:
        k = self.k
        return Wave(k, k * self.a, -k * self.b, k * self.s, -k * self.c)

    def times(self, factor: float) -> Wave:
        return Wave(self.k, *(factor * e for e in (self.a, self.b, self.c, self.s)))

    @property
    def waves(self) -> float:
        return self.k

    def exponentials(self) -> tuple[Floats, Floats]:
        """Values at 0 and exponents r of its parts v e^{r x}; where r > 0, v is as small as it must be."""
        k, swing = self.k, complex(self.c, -self.s) / 2
        values = [self.a * math.exp(-k), self.b, swing, swing.conjugate()]
        return np.array(values, dtype=complex), np.array([k, -k, 1j * k, -1j * k])

    def parts(self, x: Floats) -> Floats:
        """Values of the parts at points, (4, points); none overflows."""
        k, swing = self.k, np.exp(1j * self.k * x) * (complex(self.c, -self.s) / 2)
        return np.array([self.a * np.exp(-k * (1 - x)), self.b * np.exp(-k * x), swing, swing.conj()])


@dataclass(frozen=True, slots=True)
class Series(Shape):
    """f = sum_n c_n P_n(2x - 1), of Legendre polynomials."""

    terms: tuple[float, ...]

    @classmethod
    def of_powers(cls, coefficients: tuple[float, ...]) -> Series:
        """The polynomial c_0 + c_1 x + c_2 x^2 + ..."""
        total: Floats = np.zeros(1)
        for c in reversed(coefficients):
            total = legendre.legadd(legendre.legmul(total, [0.5, 0.5]), [c])
        return cls(tuple(total.tolist()))

    def __call__(self, x: Floats) -> Floats:
        return np.asarray(legendre.legval(2 * np.asarray(x, dtype=float) - 1, np.array(self.terms)))

    @property
    def slope(self) -> Series:
        return Series(tuple((2 * legendre.legder(np.array(self.terms))).tolist()))

    def times(self, factor: float) -> Series:
        return Series(tuple(factor * c for c in self.terms))

    def multiplied(self, other: Series) -> Series:
        return Series(tuple(legendre.legmul(np.array(self.terms), np.array(other.terms)).tolist()))

    @property
    def waves(self) -> float:
        return float(len(self.terms))


ONE = Series((1.0,))
_X = Series((0.5, 0.5))


@lru_cache(maxsize=4096)
def product(f: Shape, g: Shape = ONE, power: int = 0, weight: Section | None = None) -> float:
    """Integrate x^power f g weight over the beam, from 0 to 1.

    In closed form for two shapes of one family and a constant weight, else by Gauss-Legendre points to rounding. What
    is 0 but for rounding is 0.
    """
    varying = None if weight is None or weight.uniform else weight
    if varying is not None:
        found = _by_points(f, g, power, varying)
    elif isinstance(f, Wave) and (isinstance(g, Wave) or g is ONE):
        found = _of_waves(f, g if isinstance(g, Wave) else None, power)
    elif isinstance(f, Series) and isinstance(g, Series):
        whole = f.multiplied(g)
        for _ in range(power):
            whole = whole.multiplied(_X)
        found = whole.terms[0]
    else:
        found = _by_points(f, g, power, None)
    return _plain(found) if abs(found) > _DUST * _size(f, varying) * _size(g, varying) else 0.0


def _plain(x: float) -> float:
    """A quarter, not 0.24999999999999994: integrals of squares often are, and equal constants are computed once."""
    near = round(8 * x) / 8
    return near if abs(x - near) <= 1e-15 * abs(x) else x


@lru_cache(maxsize=1024)
def _size(f: Shape, weight: Section | None) -> float:
    return math.sqrt(max(_by_points(f, f, 0, weight), 0.0))


def _by_points(f: Shape, g: Shape, power: int, weight: Section | None) -> float:
    x, w = nodes(() if weight is None else weight.breaks, f.waves + g.waves)
    if weight is not None:
        w = w * weight.at(x)
    return float(np.sum(w * x**power * f(x) * g(x)))


def _of_waves(f: Wave, g: Wave | None, power: int) -> float:
    """Of the products v e^{r x} of two shapes, I_0 = (v e^r - v)/r, I_p = (v e^r - p I_{p-1})/r; or a series."""
    start, rates = f.exponentials()
    end = f.parts(np.array(1.0))
    if g is not None:
        (more, other), last = g.exponentials(), g.parts(np.array(1.0))
        start, end = np.outer(start, more).ravel(), np.outer(end, last).ravel()
        rates = np.add.outer(rates, other).ravel()
    slow = abs(rates) < 1
    safe = np.where(slow, 1, rates)
    found = (end - start) / safe
    for p in range(1, power + 1):
        found = (end - p * found) / safe
    return float(np.sum(np.where(slow, start * _slow(np.where(slow, rates, 0), power), found)).real)


def _slow(r: Floats, power: int) -> Floats:
    """Integrate x^power e^{r x} from 0 to 1 as sum_n r^n / (n! (n + power + 1)), for |r| < 1."""
    total, term = np.zeros_like(r), np.ones_like(r)
    for n in range(20):
        total = total + term / (n + power + 1)
        term = term * r / (n + 1)
    return total


def swept(f: Shape, g: Shape, x: Floats) -> Floats:
    """Integrate f g from 0 to each of the points x, in closed form; both of one family."""
    x = np.asarray(x, dtype=float)
    if isinstance(f, Series) and isinstance(g, Series):
        total = legendre.legint(np.array(f.multiplied(g).terms), lbnd=-1) / 2
        return np.asarray(legendre.legval(2 * x - 1, total))
    if not isinstance(f, Wave) or not isinstance(g, Wave):
        raise TypeError("swept: expected two waves or two series.")
    (v, r), (other, more) = f.exponentials(), g.exponentials()
    start, rates = np.outer(v, other), np.add.outer(r, more)
    there = f.parts(x)[:, None] * g.parts(x)[None, :]  # (4, 4, points)
    start, rates = (e.reshape(4, 4, *(1,) * x.ndim) for e in (start, rates))
    slow = abs(rates) < 1
    found = (there - start) / np.where(slow, 1, rates)
    gentle = start * x * _slow(np.where(slow, rates, 0) * x, 0)
    return np.asarray(np.sum(np.where(slow, gentle, found), axis=(0, 1)).real)


def outboard(f: Shape, g: Shape, power: int, weight: Section) -> float:
    """Integrate weight x^power times what `swept` gives: of f g times the moments of what is further out.

    Of slopes: Km and Kh of the shortening by bending, for power 0 and 1.
    """
    if weight.uniform:
        return (product(f, g) - product(f, g, power + 1)) / (power + 1)
    x, w = nodes(weight.breaks, f.waves + g.waves)
    return float(np.sum(w * weight.at(x) * x**power * swept(f, g, x)))
