"""Sections of beams from sizes and materials, and arguments that are misspelt."""

import math

import numpy as np
import pytest

import polhode as ph
from polhode.model import ModelError


def counted(inside, half=0.5, n=2000):
    """Area and second moments of a figure, by its points on a grid."""
    at = (np.arange(n) + 0.5) / n * 2 * half - half
    y, z = np.meshgrid(at, at)
    cell = (2 * half / n) ** 2 * inside(y, z)
    return cell.sum(), (cell * z**2).sum(), (cell * y**2).sum()


FIGURES = [
    ({"width": 0.6, "height": 0.2}, lambda y, z: (abs(y) <= 0.3) & (abs(z) <= 0.1)),
    ({"diameter": 0.9}, lambda y, z: np.hypot(y, z) <= 0.45),
    ({"diameter": 0.9, "wall": 0.1}, lambda y, z: (np.hypot(y, z) <= 0.45) & (np.hypot(y, z) >= 0.35)),
]


@pytest.mark.parametrize(("sizes", "inside"), FIGURES)
def test_areas_and_moments_are_those_of_the_figure(sizes, inside):
    found = ph.section(E=7.0, rho=3.0, stretch=True, **sizes)
    area, I_y, I_z = counted(inside)
    expected = {"mu": 3 * area, "EI_y": 7 * I_y, "EI_z": 7 * I_z, "J_y": 3 * I_y, "J_z": 3 * I_z, "EA": 7 * area}
    assert {name: float(e) for name, e in found.items()} == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("ratio", "beta"), [(1, 0.1406), (1.5, 0.196), (2, 0.229), (4, 0.281), (10, 0.312)])
def test_torsion_of_rectangles_is_as_printed(ratio, beta):
    """K = beta a b^3. Reference: [Timoshenko and Goodier, section 109, table of k1]."""
    for sizes in ({"width": ratio, "height": 1}, {"width": 1, "height": ratio}):
        found = ph.section(E=1, rho=1, G=1, **sizes)["GJ"]
        assert float(found) / ratio == pytest.approx(beta, abs=6e-4)


def test_rods_twist_with_their_polar_moment_also_as_symbols():
    d, G = ph.symbols("d G")
    rod = ph.section(E=1, rho=1, G=G, diameter=d)
    assert ph.evaluate(rod["GJ"], {d: 2.0, G: 3.0}) == pytest.approx(3 * math.pi * 2**4 / 32)
    with pytest.raises(ModelError, match="needs numbers for width and height"):
        ph.section(E=1, rho=1, G=G, width=d, height=1)


def test_a_steel_strip_has_the_frequency_of_its_sizes():
    E, rho, w, h, L = 210e9, 7850, 0.03, 0.003, 0.6
    build = ph.Builder("strip", gravity=(0, 0, 0))
    strip = ph.beam(length=L, modes={"z": 3}, **ph.section(E=E, rho=rho, width=w, height=h))
    build.body("strip", joint=ph.weld(), flexible=strip)
    first = ph.linearize(ph.formulate(build.build()).compile()).modes().frequencies[0]
    assert first == pytest.approx(1.8751041**2 / (2 * math.pi * L**2) * math.sqrt(E * h**2 / (12 * rho)), rel=1e-6)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"width": 1}, "expected width and height of a rectangle, or the diameter"),
        ({"width": 1, "height": 1, "diameter": 1}, "expected width and height of a rectangle, or the diameter"),
        ({"width": 1, "height": 1, "wall": 0.1}, "wall is that of a round tube"),
        ({"diameter": 1, "wall": 0.6}, "wall is 0.6, more than half of the diameter 1"),
        ({"diameter": -1}, "diameter is -1, expected more than 0"),
    ],
)
def test_sections_that_cannot_be_are_refused(given, said):
    with pytest.raises(ModelError, match=said):
        ph.section(E=1, rho=1, **given)


MISSPELT = [
    (
        lambda: ph.beam(length=1, mu=1, EI=1),
        "beam: there is no 'EI'. Give EI_z, which resists bending along y, or EI_y",
    ),
    (lambda: ph.beam(length=1, mu=1, EIz=1), "beam: there is no 'EIz'. Did you mean 'EI_z'?"),
    (lambda: ph.beam(length=1, E=1, I=2), "beam: there is no 'E'. Make mu, EI_y"),
    (lambda: ph.beam(1, 2), "beam: takes no values without a name, found 2. Write length=... instead."),
    (lambda: ph.flexible([], stifness=1), "flexible: there is no 'stifness'. Did you mean 'stiffness'?"),
    (lambda: ph.Frame({}).flexible(rot="a"), "Frame.flexible: there is no 'rot'. Did you mean 'root'?"),
    (lambda: ph.Frame({}).beam("a", "b", EIz=1), "Frame.beam: there is no 'EIz'. Did you mean 'EI_z'?"),
    (lambda: ph.Builder("b").body("a", jont=1), "build.body: there is no 'jont'. Did you mean 'joint'?"),
    (lambda: ph.Builder("b").marker("a", "b"), "build.marker: takes 1 value without a name, found 2. Write body=..."),
]


@pytest.mark.parametrize(("ask", "said"), MISSPELT)
def test_misspelt_arguments_name_those_that_were_meant(ask, said):
    with pytest.raises(TypeError) as caught:
        ask()
    assert str(caught.value).startswith(said)
