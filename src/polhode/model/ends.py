"""Shapes of beams by what holds their ends: exact ones of uniform beams, and polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from .shapes import Series, Shape, Wave

ENDS = ("clamped-free", "pinned-pinned", "clamped-pinned", "clamped-mass")
HEAVIEST = 1e4  # a mass at the tip in masses of the beam, beyond which exact shapes lose digits

_FACTORS = {  # what vanishes where an end is held: powers of x and of 1 - x
    "clamped-free": (2, 0),
    "clamped-mass": (2, 0),
    "pinned-pinned": (1, 1),
    "clamped-pinned": (2, 1),
}


@lru_cache(maxsize=512)
def root(ends: str, n: int, ratio: float = 0.0) -> float:
    """The n-th root lambda = k L of the frequency equation; its angular frequency is lambda^2 sqrt(EI / (mu L^4)).

    clamped-free    cos + sech = 0
    clamped-pinned  sin - cos tanh = 0
    clamped-mass    cos + sech = ratio lambda (sin - cos tanh), ratio = tip mass / mass of the beam
    pinned-pinned   sin = 0
    """
    if ends == "pinned-pinned":
        return n * math.pi
    if ends == "clamped-free":
        return _bisected(_free, (n - 1) * math.pi, n * math.pi)
    if ends == "clamped-pinned":
        return _bisected(_pinned, n * math.pi, (n + 0.5) * math.pi)
    if ratio == 0:
        return root("clamped-free", n)
    low = root("clamped-pinned", n - 1) if n > 1 else 0.0  # a mass lowers each root, at most to that of a pin
    return _bisected(lambda x: _free(x) - ratio * x * _pinned(x), low, root("clamped-free", n))


def _free(x: float) -> float:
    return math.cos(x) + 2 * math.exp(-x) / (1 + math.exp(-2 * x))


def _pinned(x: float) -> float:
    return math.sin(x) - math.cos(x) * math.tanh(x)


def _bisected(f: Callable[[float], float], low: float, high: float) -> float:
    """The root between two points, to the last digit."""
    rising = f(high) > 0 if f(high) != 0 else f(low) < 0
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if (f(middle) > 0) == rising else (middle, high)
    return low if abs(f(low)) < abs(f(high)) else high


@lru_cache(maxsize=512)
def exact(ends: str, n: int, ratio: float = 0.0) -> Shape:
    """The n-th shape of a uniform beam in bending; its largest displacement is 1, at the tip where that is free."""
    k = root(ends, n, ratio)
    if ends == "pinned-pinned":
        return Wave(k, s=1.0)
    e, c, s = math.exp(-k), math.cos(k), math.sin(k)
    match ends:
        case "clamped-pinned":
            a, by = c - s - e, 1 - e * e - 2 * e * s
            turn = 1 + e * e - 2 * e * c
        case "clamped-mass" if ratio > 0:
            a, by = s - c - e, 1 - e * e + 2 * e * s
            turn = 1 + e * e + 2 * e * c
        case _:
            a, by = e + c + s, 1 + 2 * e * c + e * e
            turn = 1 - e * e - 2 * e * s
    return scaled(Wave(k, a / by, (1 + turn / by) / 2, -1.0, turn / by))


@lru_cache(maxsize=64)
def held_free(n: int) -> Shape:
    """The n-th shape of twist or stretch: sin((n - 1/2) pi x), held at 0 and free at the tip, where it is 1."""
    return Wave((n - 0.5) * math.pi, s=float((-1) ** (n - 1)))


@lru_cache(maxsize=512)
def polynomial(ends: str, n: int) -> Shape:
    """Legendre's polynomial times what vanishes at the ends that are held: x^2 P_{n-1}(2x - 1) for a clamped beam."""
    at_start, at_end = _FACTORS.get(ends, (1, 0))  # twist and stretch are held at 0
    made = Series((*(0.0,) * (n - 1), 1.0))
    for _ in range(at_start):
        made = made.multiplied(Series((0.5, 0.5)))
    for _ in range(at_end):
        made = made.multiplied(Series((0.5, -0.5)))
    return scaled(made)


def scaled(f: Shape) -> Shape:
    """Make the largest displacement 1, and the tip's positive; where that does not move, the first hump's."""
    tip = float(f(np.array(1.0)))
    most = _largest(f)
    if abs(tip) > 1e-9 * most:
        return f.times(math.copysign(1 / max(most, abs(tip)), tip))
    return f.times(math.copysign(1 / most, float(f(np.array(0.025 / f.waves**2)))))


def _largest(f: Shape) -> float:
    """The largest displacement: at the best of many points, then where the slope is 0."""
    x = np.linspace(0, 1, 1 + 40 * math.ceil(f.waves))
    found = abs(f(x))
    at, slope = x[np.argmax(found)], f.slope
    bend = slope.slope
    if 0 < at < 1:
        for _ in range(5):
            at = at - float(slope(at)) / float(bend(at))
    return max(float(found.max()), abs(float(f(np.array(at)))))


def violations(f: Shape, ends: str, kind: str) -> list[str]:
    """What a shape does at an end that holds it: in words, none where it is in order."""
    slope = f.slope
    most = float(abs(f(np.linspace(0, 1, 201))).max())
    steep = float(abs(slope(np.linspace(0, 1, 201))).max())
    at_start, at_end = _FACTORS[ends] if kind in ("y", "z") else (1, 0)
    start, tip, turn = (float(g(np.array(x))) for g, x in ((f, 0.0), (f, 1.0), (slope, 0.0)))
    found = []
    if abs(start) > 1e-9 * most:
        found.append(f"is {start:.4g} at x = 0, expected 0")
    if at_start == 2 and abs(turn) > 1e-9 * steep:
        found.append(f"has the slope {turn:.4g} at x = 0, expected 0")
    if at_end and abs(tip) > 1e-9 * most:
        found.append(f"is {tip:.4g} at x/L = 1, expected 0")
    return found
