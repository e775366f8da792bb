"""What a beam is per length, from the shape of its section and its material."""

from __future__ import annotations

import math
from typing import Any

from polhode.graph import Expr, as_expr, pi

from .errors import fault
from .sections import positive
from .spelling import spelled

_TERMS = 9  # odd ones of the series of a rectangle's torsion, whose next is below 1e-7 of the first


@spelled("section")
def section(
    *, E: Any, rho: Any, G: Any = None, width: Any = None, height: Any = None, diameter: Any = None, wall: Any = None,
    stretch: bool = False,
) -> dict[str, Expr]:  # fmt: skip
    """Make mu, EI_y, EI_z, J_y, J_z of a rectangle, a rod or a tube, for `beam(length=..., **section(...))`.

    >>> strip = section(E=70e9, rho=2700, width=0.03, height=0.002)  # m: along y and z of the section
    >>> {name: round(float(value), 4) for name, value in strip.items()}
    {'mu': 0.162, 'EI_y': 1.4, 'EI_z': 315.0, 'J_y': 0.0, 'J_z': 0.0}

    E, G, rho     : Pa and kg/m^3; with G also GJ, so that a beam twists
    width, height : of a rectangle, along y and z
    diameter      : outside, of a rod, or of a tube with `wall`
    stretch       : also EA, so that a beam stretches; that is fast, and seldom wanted

    mu = rho A;  EI = E I, I_y = int z^2 dA = w h^3 / 12, I_z = int y^2 dA = h w^3 / 12, of a circle pi d^4 / 64;
    J = rho I, so that J_y + J_z is the polar moment of inertia per length; GJ = G K, K = I_y + I_z of a circle,
    a b^3 (1/3 - 64 b / (pi^5 a) sum_{n = 1, 3, ...} tanh(n pi a / 2 b) / n^5) of a rectangle a >= b.

    Reference: [Timoshenko and Goodier, Theory of Elasticity, 3rd ed., section 109, eq. 170].
    """
    e, density = positive(E, "Section: E"), positive(rho, "Section: rho")
    if (width is None) != (height is None) or (width is None) == (diameter is None):
        raise fault("Section: expected width and height of a rectangle, or the diameter of a rod or tube.")
    if diameter is not None:
        area, I_y, I_z = _round(diameter, wall)
        K = I_y + I_z
    elif wall is not None:
        raise fault("Section: wall is that of a round tube, expected it with diameter. Give mu=, EI_y=, ... of others.")
    else:
        w, h = positive(width, "Section: width"), positive(height, "Section: height")
        area, I_y, I_z = w * h, w * h**3 / 12, h * w**3 / 12
        K = _torsion(w, h) if G is not None else area
    found = {"mu": density * area, "EI_y": e * I_y, "EI_z": e * I_z, "J_y": density * I_y, "J_z": density * I_z}
    if G is not None:
        found["GJ"] = positive(G, "Section: G") * K
    return found | {"EA": e * area} if stretch else found


def _round(diameter: Any, wall: Any) -> tuple[Expr, Expr, Expr]:
    """Area and second moments of a rod, or of a tube."""
    d = positive(diameter, "Section: diameter")
    area, I = pi * d**2 / 4, pi * d**4 / 64
    if wall is not None:
        inner = d - 2 * positive(wall, "Section: wall")
        if inner.number is not None and inner.number < 0:
            raise fault(f"Section: wall is {wall!r:.60}, more than half of the diameter {diameter!r:.60}.")
        area, I = area - pi * inner**2 / 4, I - pi * inner**4 / 64
    return area, I, I


def _torsion(width: Expr, height: Expr) -> Expr:
    """The torsion constant of a rectangle."""
    if width.number is None or height.number is None:
        raise fault("Section: GJ of a rectangle needs numbers for width and height. Leave G out, and give GJ= and J=.")
    a, b = sorted((float(width.number), float(height.number)), reverse=True)
    series = sum(math.tanh(n * math.pi * a / (2 * b)) / n**5 for n in range(1, 2 * _TERMS, 2))
    return as_expr(a * b**3 * (1 / 3 - 64 * b / (math.pi**5 * a) * series))
