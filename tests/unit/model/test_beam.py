"""Beams: their constants against brute force over their points, symbols against numbers, and every message."""

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.graph import evaluate, free_symbols, vector
from polhode.model import ModelError, beam
from polhode.model.ends import root

PANEL, WEIGHT = np.polynomial.legendre.leggauss(24)
X, W = (PANEL + 1) / 2, WEIGHT / 2


def number(m, at=None):
    return np.array(evaluate(m, at or {}), dtype=float)


def cantilever(n):
    """cosh - cos - s (sinh - sin), 1 at the tip, and its slope."""
    k = root("clamped-free", n)
    s = (math.sinh(k) - math.sin(k)) / (math.cosh(k) + math.cos(k))

    def f(x):
        return np.cosh(k * x) - np.cos(k * x) - s * (np.sinh(k * x) - np.sin(k * x))

    def slope(x):
        return k * (np.sinh(k * x) + np.sin(k * x) - s * (np.cosh(k * x) - np.cos(k * x)))

    tip = f(1.0)
    return lambda x: f(x) / tip, lambda x: slope(x) / tip


def held(n):
    return lambda x: (-1) ** (n - 1) * np.sin((n - 0.5) * np.pi * x)


class Brute:
    """Points of a beam with modes y1, y2, z1, twist1, stretch1, each section four masses, turned by true rotations."""

    def __init__(self, L, mu, J_y, J_z, frame, start, rotary, breaks=(0.0, 1.0)):
        self.L, self.rotary, self.frame, self.start = L, rotary, np.array(frame, dtype=float), np.array(start)
        self.x = np.concatenate([a + (b - a) * X for a, b in pairwise(breaks)])
        w = np.concatenate([(b - a) * W for a, b in pairwise(breaks)])
        self.dm = w * L * mu(self.x)
        self.y = np.sqrt(2 * J_z(self.x) / mu(self.x))
        self.z = np.sqrt(2 * J_y(self.x) / mu(self.x))
        (y1, s1), (y2, s2) = cantilever(1), cantilever(2)
        self.shapes, self.slopes, self.held = (y1, y2, y1), (s1, s2, s1), held(1)

    def points(self, d):
        """(sections, 4, 3), in the axes of the body."""
        x, L = self.x, self.L
        (s1, s2, s3), f = self.slopes, [g(x) for g in self.shapes]
        y, z = d[0] * f[0] + d[1] * f[1], d[2] * f[2]
        dy, dz = (d[0] * s1(x) + d[1] * s2(x)) / L, d[2] * s3(x) / L
        inner = np.outer(x, X)  # from the root to each section
        squares = ((d[0] * s1(inner) + d[1] * s2(inner)) / L) ** 2 + (d[2] * s3(inner) / L) ** 2
        short = L * x * (squares @ W) / 2
        axis = np.stack([L * x + d[4] * self.held(x) - short, y, z], axis=1)
        twist = d[3] * self.held(x)
        bent = (-dz, dy) if self.rotary else (0 * dz, 0 * dy)
        R = Rotation.from_rotvec(np.stack([twist, *bent], axis=1)).as_matrix()
        o = 0 * self.y
        r = np.stack([np.stack(p, axis=1) for p in ((o, self.y, o), (o, -self.y, o), (o, o, self.z), (o, o, -self.z))])
        turned = np.einsum("nij,pnj->npi", R, r)
        return self.start + (axis[:, None, :] + turned) @ self.frame.T

    def first(self, d):
        return np.einsum("n,npi->i", self.dm / 4, self.points(d))

    def second(self, d, e):
        """Of s(d) s(e)^T."""
        return np.einsum("n,npi,npj->ij", self.dm / 4, self.points(d), self.points(e))


def unit(k, size=5):
    return np.eye(size)[k]


def slope(f, k):
    """df/dd_k at 0, with Richardson's correction."""
    rough = [(f(h * unit(k)) - f(-h * unit(k))) / (2 * h) for h in (2e-3, 1e-3)]
    return (4 * rough[1] - rough[0]) / 3


def curvature(f, k, l):
    return slope(lambda d: slope(lambda e: f(d + e), l), k)


CASES = {
    "plain": ({}, False),
    "rotary": ({"rotary": True}, True),
    "skew": ({"axis": (2, -1, 3), "start": (0.3, -0.2, 0.1), "rotary": True}, True),
    "along y": ({"axis": "y", "across": "z", "start": (0.3, 0.0, 0.1)}, False),
}


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_constants_are_those_of_points_that_turn_and_keep_their_distance(case, varying):
    """P, C1, C2, H2 and G2 are first and second derivatives of sums over the points at true rotations."""
    given, rotary = CASES[case]
    L, breaks = 1.7, (0.0, 1.0)
    mu, J_y, J_z = (lambda x: 2.3 + 0 * x), (lambda x: 0.02 + 0 * x), (lambda x: 0.05 + 0 * x)
    said = {"mu": 2.3, "J_y": 0.02, "J_z": 0.05}
    if varying:
        breaks = (0.0, 0.4, 1.0)
        J_y = np.vectorize(lambda x: 0.02 * math.exp(-x))
        mu = np.vectorize(lambda x: 3 - x if x < 0.4 else 1.0)
        said = {
            "mu": [(0, 3), (0.4, 2.6), (0.4, 1), (1, 1)],
            "J_y": lambda x: 0.02 * math.exp(-x),
            "J_z": 0.05,
        }
    modes = {"y": 2, "z": 1, "twist": 1, "stretch": 1}
    made = beam(length=L, **said, EI_y=40.0, EI_z=30.0, GJ=20.0, EA=1e5, modes=modes, **given)
    brute = Brute(L, mu, J_y, J_z, number(made.frame), number(made.start), rotary, breaks)
    I, zero = made.inertia, np.zeros(5)
    assert made.modes == ("y1", "y2", "z1", "twist1", "stretch1")
    assert float(I.m) == pytest.approx(brute.dm.sum(), rel=1e-13)
    assert number(I.h) == pytest.approx(brute.first(zero), abs=1e-12)
    assert number(I.S) == pytest.approx(brute.second(zero, zero), abs=1e-12)
    for k in range(5):
        assert number(I.P[k]) == pytest.approx(slope(brute.first, k), abs=1e-10)
        assert number(I.C1[k]) == pytest.approx(slope(lambda d: brute.second(zero, d), k), abs=1e-10)
        for l in range(k, 5):
            both = slope(lambda d, l=l: slope(lambda e, d=d: brute.second(d, e), l), k)
            assert number(I.C2[k][l]) == pytest.approx(both, abs=5e-9)
            assert number(I.H2[k][l]) == pytest.approx(curvature(brute.first, k, l), abs=2e-8)
            assert number(I.G2[k][l]) == pytest.approx(curvature(lambda d: brute.second(zero, d), k, l), abs=2e-8)
            assert I.H2[k][l] == I.H2[l][k]
            assert I.G2[k][l] == I.G2[l][k]
            assert I.C2[k][l] == I.C2[l][k].T
    assert I.S == I.S.T


@pytest.mark.parametrize("order", ["full", "paper"])
def test_the_linear_field_has_no_second_order(order):
    made = beam(length=2, mu=1, EI_y=1, EI_z=2, GJ=1, J=0.1, order=order)
    I = made.inertia
    assert not any(e != 0 for part in (I.H2, I.G2) for row in part for block in row for e in block.entries)
    assert made.station(vector([1, 0, 0]), "x").g == ()


def test_symbols_stay_and_give_what_numbers_do():
    names = ph.symbols("L mu EI_y EI_z GJ EA J zeta eta")
    at = dict(zip(names, (1.3, 0.7, 3.0, 5.0, 2.0, 900.0, 0.03, 0.01, 1e-4), strict=True))
    L, mu, EI_y, EI_z, GJ, EA, J, zeta, eta = names
    more = {"ends": "clamped-mass", "modes": {"y": 3, "z": 2, "twist": 2, "stretch": 1}, "rotary": True}
    made = beam(
        length=L, mu=mu, EI_y=EI_y, EI_z=EI_z, GJ=GJ, EA=EA, J=J, damping=zeta, eta=eta, tip_mass=2 * mu * L, **more
    )
    numbers = [at[s] for s in names]
    L, mu, EI_y, EI_z, GJ, EA, J, zeta, eta = numbers
    other = beam(
        length=L, mu=mu, EI_y=EI_y, EI_z=EI_z, GJ=GJ, EA=EA, J=J, damping=zeta, eta=eta, tip_mass=2 * mu * L, **more
    )
    assert free_symbols(made.quantities()) == set(names)
    assert np.array(evaluate(made.quantities(), at)) == pytest.approx(
        np.array(evaluate(other.quantities(), {})), rel=1e-13
    )
    a, b = made.station(vector([0.5 * names[0], 0.1, 0]), "x"), other.station(vector([0.65, 0.1, 0]), "x")
    for one, two in ((a.p, b.p), (a.Phi, b.Phi), (a.Psi, b.Psi), (a.g[0][1], b.g[0][1])):
        assert number(one, at) == pytest.approx(number(two), rel=1e-13)


@pytest.mark.parametrize("ends", ["clamped-free", "pinned-pinned", "clamped-pinned"])
@pytest.mark.parametrize("shapes", ["exact", "polynomial"])
def test_frequencies_are_the_roots(ends, shapes):
    """K v = w^2 M v with M of the modes alone, which is that of a beam whose joint is held."""
    L, mu, EI = 2.0, 3.0, 50.0
    made = beam(length=L, mu=mu, EI_z=EI, modes=3 if shapes == "exact" else 9, ends=ends, shapes=shapes)
    M = number(made.inertia.at([ph.symbol("d")] * len(made.modes)).M)
    found = np.sqrt(eigh(number(made.stiffness), M, eigvals_only=True)[:3])
    exact = [root(ends, n) ** 2 * math.sqrt(EI / (mu * L**4)) for n in (1, 2, 3)]
    assert found == pytest.approx(exact, rel=1e-12 if shapes == "exact" else 1e-5)


def test_frequencies_with_a_tip_mass_twist_and_stretch():
    L, mu, EI, GJ, EA, J, tip = 2.0, 3.0, 50.0, 20.0, 1e4, 0.3, 4.0
    made = beam(
        length=L, mu=mu, EI_z=EI, GJ=GJ, EA=EA, J=J, ends="clamped-mass", tip_mass=tip,
        modes={"y": 3, "twist": 2, "stretch": 2},
    )  # fmt: skip
    M, K = number(made.inertia.at([ph.symbol("d")] * 7).M), number(made.stiffness)
    tips = number(made.station(vector([L, 0, 0]), "tip").Phi)[1]
    found = np.sqrt(eigh(K[:3, :3], (M + tip * np.outer(tips, tips))[:3, :3], eigvals_only=True))
    exact = [root("clamped-mass", n, tip / (mu * L)) ** 2 * math.sqrt(EI / (mu * L**4)) for n in (1, 2, 3)]
    assert found == pytest.approx(exact, rel=1e-12)
    for block, speed in ((slice(3, 5), math.sqrt(GJ / J)), (slice(5, 7), math.sqrt(EA / mu))):
        found = np.sqrt(eigh(K[block, block], M[block, block], eigvals_only=True))
        assert found == pytest.approx([(n - 0.5) * math.pi * speed / L for n in (1, 2)], rel=1e-12)


def test_rotary_inertia_is_that_of_rayleigh():
    """Between pins: w^2 = (n pi/L)^4 EI / (mu + J (n pi/L)^2)."""
    L, mu, EI, J = 2.0, 3.0, 50.0, 0.4
    made = beam(length=L, mu=mu, EI_z=EI, J_z=J, rotary=True, ends="pinned-pinned")
    M = number(made.inertia.at([ph.symbol("d")] * 3).M)
    found = eigh(number(made.stiffness), M, eigvals_only=True)
    assert found == pytest.approx([(k := n * math.pi / L) ** 4 * EI / (mu + J * k**2) for n in (1, 2, 3)], rel=1e-12)


def test_a_tapered_cantilever_has_the_published_frequency():
    """A wedge of constant width, mu ~ 1 - x, EI ~ (1 - x)^3: w = 5.315 sqrt(EI/mu)/L^2 [Kirchhoff 1879]."""
    tiny = 1e-9
    made = beam(
        length=1, mu=lambda x: 1 - x + tiny, EI_z=lambda x: (1 - x + tiny) ** 3, modes=8, shapes="polynomial"
    )  # fmt: skip
    M = number(made.inertia.at([ph.symbol("d")] * 8).M)
    found = np.sqrt(eigh(number(made.stiffness), M, eigvals_only=True))
    assert found[0] == pytest.approx(5.315, abs=5e-4)


WRIGHT = {0: (3.5160, 22.0345, 61.6972), 1: (3.6817, 22.1810, 61.8418), 3: (4.7973, 23.3203, 62.9850),
          12: (13.1702, 37.6031, 79.6145)}  # fmt: skip


@pytest.mark.parametrize(("shapes", "many", "close"), [("polynomial", 10, 1e-6), ("exact", 10, 4e-5)])
@pytest.mark.parametrize("spin", WRIGHT)
def test_rotating_beams_stiffen_as_published(spin, shapes, many, close):
    """Flapping: K + spin^2 Kh, of the shortening alone.

    Reference: [Wright, Smith, Thresher and Wang 1982, Vibration modes of centrifugally stiffened beams].
    """
    made = beam(length=1, mu=1, EI_y=1, modes=many, shapes=shapes)
    I, every = made.inertia, range(many)
    M = np.array([[float(I.C2[k][l][2, 2]) for l in every] for k in every])
    Kh = np.array([[-float(I.G2[k][l][0, 0]) for l in every] for k in every])
    found = np.sqrt(eigh(number(made.stiffness) + spin**2 * Kh, M, eigvals_only=True)[:3])
    assert found == pytest.approx(WRIGHT[spin], abs=6e-5, rel=close)


@pytest.mark.parametrize("shapes", ["exact", "polynomial"])
def test_damping_ratios_are_those_of_the_modes(shapes):
    zeta = [0.01, 0.02, 0.03, 0.05]
    made = beam(length=1.5, mu=2, EI_z=30, GJ=3, J=0.1, shapes=shapes, damping=zeta)
    M = number(made.inertia.at([ph.symbol("d")] * 4).M)
    w2, V = eigh(number(made.stiffness)[:3, :3], M[:3, :3])
    modal = V.T @ number(made.damping)[:3, :3] @ V
    assert modal == pytest.approx(np.diag(2 * np.array(zeta[:3]) * np.sqrt(w2)), abs=1e-10 * w2[-1])
    assert made.damping == made.damping.T
    # twist alone is one mode of one shape
    assert float(made.damping[3, 3]) == pytest.approx(2 * 0.05 * math.sqrt(float(made.stiffness[3, 3]) * M[3, 3]))
    assert beam(length=1, mu=1, EI_z=1, eta=0.1).damping == beam(length=1, mu=1, EI_z=1).stiffness * 0.1
    by_kind = beam(length=1.5, mu=2, EI_z=30, GJ=3, J=0.1, damping={"twist": 0.05})
    assert float(by_kind.damping[0, 0]) == 0
    assert float(by_kind.damping[3, 3]) > 0


def test_damping_ratios_are_those_with_the_tip_mass_of_the_shapes():
    made = beam(length=1.5, mu=2, EI_z=30, ends="clamped-mass", tip_mass=5, damping=0.03)
    tips = number(made.station(vector([1.5, 0, 0]), "tip").Phi)[1]
    M = number(made.inertia.at([ph.symbol("d")] * 3).M) + 5 * np.outer(tips, tips)
    w2, V = eigh(number(made.stiffness), M)
    assert V.T @ number(made.damping) @ V == pytest.approx(np.diag(0.06 * np.sqrt(w2)), abs=1e-11 * w2[-1])


def test_varying_sections_that_do_not_vary_are_uniform():
    said = {"mu": 2.0, "EI_y": 7.0, "EI_z": 5.0, "GJ": 3.0, "EA": 90.0, "J": 0.1}
    more = {"length": 1.3, "damping": 0.01, "rotary": True}
    plain = beam(**said, **more)
    for vary in (lambda v: lambda x: v, lambda v: [(0, v), (0.3, v), (1, v)]):
        made = beam(**{name: vary(v) for name, v in said.items()}, **more)
        found, expected = np.array(evaluate(made.quantities(), {})), np.array(evaluate(plain.quantities(), {}))
        assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


def test_stations_are_what_the_field_does():
    made = beam(length=1.7, mu=1, EI_y=1, EI_z=1, GJ=1, J=0.1, EA=1, modes={"y": 2, "z": 1, "twist": 1, "stretch": 1})
    brute = Brute(1.7, lambda x: 1 + 0 * x, lambda x: 0 * x, lambda x: 0 * x, np.eye(3), (0, 0, 0), True)
    d = np.array([0.03, -0.02, 0.05, 0.2, 0.01])
    points = brute.points(d)[:, 0]
    for x, p in zip(brute.x[::5], points[::5], strict=True):
        s = made.station(vector([1.7 * x, 0.4, -0.2]), "x")
        g = np.array([[number(e) for e in row] for row in s.g])
        assert number(s.p) == pytest.approx([1.7 * x, 0, 0])
        assert number(s.p) + number(s.Phi) @ d + np.einsum("k,l,kli", d, d, g) / 2 == pytest.approx(p, abs=1e-12)
    (_, s1), (_, s2) = cantilever(1), cantilever(2)
    theta = number(made.station(vector([1.7, 0, 0]), "tip").Psi) @ d
    slopes = (0.05 * s1(1.0) / 1.7, (0.03 * s1(1.0) - 0.02 * s2(1.0)) / 1.7)
    assert theta == pytest.approx([0.2, -slopes[0], slopes[1]])


def test_a_pinned_end_turns_and_a_clamped_one_is_still():
    pinned = beam(length=2, mu=1, EI_z=1, EI_y=1, modes=2, ends="pinned-pinned")
    at = pinned.station(vector([0, 0, 0]), "joint")
    assert number(at.Psi)[2] == pytest.approx([math.pi / 2, math.pi, 0, 0])
    assert number(at.Psi)[1] == pytest.approx([0, 0, -math.pi / 2, -math.pi])
    assert not at.still
    assert all(e == 0 for e in at.Phi.entries)
    assert all(e == 0 for e in pinned.station(vector([2, 0, 0]), "end").Phi.entries)
    for ends in ("clamped-free", "clamped-pinned"):
        for shapes in ("exact", "polynomial"):
            clamped = beam(length=2, mu=1, EI_z=1, GJ=1, J=1, EA=1, ends=ends, shapes=shapes)
            assert clamped.station(vector([0, 0, 0]), "joint").still


def test_a_free_tip_moves_by_the_amplitude():
    for shapes in ("exact", "polynomial"):
        made = beam(length=2, mu=1, EI_z=1, EI_y=1, GJ=1, J=1, EA=1, modes=4, shapes=shapes)
        tip = made.station(vector([2, 0, 0]), "tip")
        assert [e.number for e in tip.Phi[1]] == [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
        assert [e.number for e in tip.Psi[0]] == [0] * 8 + [1, 0]


@pytest.mark.parametrize("axis", ["x", "y", "z", "-x", "-y", "-z", (1, 2, 2), (-3, 0, 1e-9)])
def test_the_axes_of_a_beam_are_right_handed(axis):
    frame = number(beam(length=1, mu=1, EI_z=1, axis=axis).frame)
    assert frame.T @ frame == pytest.approx(np.eye(3), abs=1e-15)
    assert np.linalg.det(frame) == pytest.approx(1)
    given = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}
    along = np.array(given.get(axis, axis), dtype=float)
    assert frame[:, 0] == pytest.approx(along / np.linalg.norm(along))
    if axis in ("x", "y", "-x", "-y"):
        assert frame[:, 2].tolist() == [0, 0, 1]  # a beam in the plane bends in it by EI_z


def test_modes_by_number_and_by_kind():
    all_of_them = {"length": 1, "mu": 1, "EI_y": 1, "EI_z": 1, "GJ": 1, "EA": 1, "J": 1}
    assert beam(**all_of_them).modes == ("y1", "y2", "y3", "z1", "z2", "z3", "twist1", "stretch1")
    assert beam(**all_of_them, modes=1).modes == ("y1", "z1", "twist1", "stretch1")
    assert beam(**all_of_them, modes={"twist": 2, "y": 1}).modes == ("y1", "twist1", "twist2")
    assert beam(length=1, mu=1, EI_y=1).modes == ("z1", "z2", "z3")
    assert beam(length=1, mu=1, EI_z=1, shapes=[[0, 0, 1], [0, 0, 0, 1]]).modes == ("y1", "y2")


def test_shapes_of_ones_own():
    made = beam(length=2, mu=3, EI_z=5, shapes=[[0, 0, 1], np.polynomial.Polynomial([0, 0, 0, 1])])
    assert number(made.stiffness) == pytest.approx(5 / 8 * np.array([[4, 6], [6, 12]]))
    assert number(made.inertia.P[1]) == pytest.approx([0, 3 * 2 / 4, 0])
    mixed = beam(length=2, mu=3, EI_z=5, EI_y=5, shapes={"y": [[0, 0, 1]]}, modes={"y": 1, "z": 2})
    assert mixed.modes == ("y1", "z1", "z2")
    f = cantilever(1)[0]
    assert number(mixed.inertia.C2[0][1])[1, 2] == pytest.approx(6 * np.sum(W * X**2 * f(X)))


def test_lines_and_equality():
    made = beam(length=2, mu=3, EI_z=5)
    (line,) = made.lines
    assert [float(s.p[0]) for s in line] == pytest.approx(np.linspace(0, 2, 21))
    assert len(beam(length=2, mu=3, EI_z=5, modes=4).lines[0]) == 41
    assert made == beam(length=2, mu=3, EI_z=5)
    assert made != beam(length=2, mu=3, EI_z=6)
    assert pickle.loads(pickle.dumps(made)) == made
    assert repr(made) == "beam of length 2 with modes y1, y2, y3"


def test_a_hundred_modes():
    made = beam(length=2, mu=3, EI_z=5, modes=100, order="full")
    assert np.isfinite(np.array(evaluate(made.stiffness.entries, {}))).all()


GOOD = {"length": 1.0, "mu": 1.0, "EI_z": 1.0}
FAULTS = [
    ({"length": 0}, "Beam: length is 0, expected more than 0."),
    ({"length": "?"}, "Beam: length"),
    ({"mu": -1}, "Beam: mu is -1, expected more than 0."),
    ({"mu": None}, "Beam: mu is None, expected a number or an expression."),
    ({"EI_z": -2}, "Beam: EI_z is -2, expected more than 0."),
    ({"GJ": 0, "J": 1}, "Beam: GJ is 0, expected more than 0."),
    ({"EI_z": None}, "Beam: has no stiffness, expected one or more of EI_y, EI_z, GJ and EA."),
    ({"modes": 0}, "Beam: modes is 0, expected a whole number from 1 to 200."),
    ({"modes": 2.5}, "Beam: modes is 2.5, expected a whole number"),
    ({"modes": True}, "Beam: modes is True, expected a whole number"),
    ({"modes": {}}, "Beam: modes is empty"),
    ({"modes": {"y": -1}}, "Beam: modes of 'y' is -1, expected a whole number"),
    ({"modes": {"yy": 1}}, "Beam: a key of modes is 'yy', expected 'y' or 'z' or 'twist' or 'stretch'. Did"),
    ({"modes": {"y": 1, "stretch": 1}}, "Beam: has modes of 'stretch' without EA, which resists them. Give EA=..."),
    ({"modes": {"z": 1}}, "Beam: has modes of 'z' without EI_y"),
    ({"GJ": 1}, "Beam: its twist moves nothing without J"),
    ({"GJ": 1, "J_y": ph.symbol("a"), "J_z": [(0, 1), (1, 2)], "damping": 0.1}, "so that twist is damped"),
    ({"J": 1, "J_y": 1}, "Beam: has J and J_y or J_z"),
    ({"rotary": True}, "Beam: rotary inertia is 0 without J_y and J_z"),
    ({"rotary": 1}, "Beam: rotary is 1, expected True or False."),
    ({"ends": "clamped-pined"}, "Did you mean 'clamped-pinned'"),
    ({"shapes": "polynomial", "modes": 60}, "modes has 60 polynomials of one kind, expected 30 at most"),
    ({"ends": "clamped-mass"}, 'Beam: ends="clamped-mass" needs tip_mass'),
    ({"tip_mass": 1}, "Beam: tip_mass is given with ends='clamped-free'"),
    ({"ends": "clamped-mass", "tip_mass": ph.symbol("m")}, "shapes need their ratio as a number"),
    ({"ends": "clamped-mass", "tip_mass": 1e5}, "Beam: tip_mass is 1e+05 times the beam's, expected at most 10000"),
    ({"ends": "clamped-mass", "tip_mass": -1}, "Beam: tip_mass is -1, expected more than 0."),
    ({"order": "third"}, "Beam: order is 'third', expected 'first' or 'second' or 'full' or 'paper'."),
    ({"rotation": "linar"}, "Did you mean 'linear'"),
    ({"axis": "w"}, "Beam: axis is 'w', expected"),
    ({"axis": (0, 0, 0)}, "Beam: axis has length 0"),
    ({"axis": (ph.symbol("a"), 0, 1)}, "expected numbers. Turn the joint instead"),
    ({"across": (1, 1, 0)}, "expected numbers at right angles to the axis"),
    ({"start": (-3, 0, 0)}, "Beam: its joint is at 3 of the length of its beam"),
    ({"start": (0, 0)}, "Beam: start has 2 entries, expected 3."),
    ({"damping": -0.1}, "Beam: damping is -0.1, expected 0 or more."),
    ({"damping": [0.1]}, "Beam: damping has 1 entries, expected 3"),
    ({"damping": {"z": 0.1}}, "Beam: a key of damping is 'z', expected 'y'."),
    ({"eta": -1}, "Beam: eta is -1, expected 0 or more."),
    ({"shapes": "exakt"}, "Did you mean 'exact'"),
    ({"shapes": 3}, "Beam: shapes of 'y' are 3, expected one or more lists of coefficients"),
    ({"shapes": [lambda x: x]}, "expected the coefficients of a polynomial in x/L"),
    ({"shapes": [[0, 1, 1]]}, "Beam: shapes of 'y', number 1, has the slope 1 at x = 0, expected 0"),
    ({"shapes": [[0, 0, 1], [1, 0, 1]]}, "Beam: shapes of 'y', number 2, is 1 at x = 0, expected 0"),
    ({"shapes": [[0, 1, 0.5]], "ends": "pinned-pinned"}, "is 1.5 at x/L = 1, expected 0 where the beam is pinned-pin"),
    ({"shapes": [[0, 0, 0]]}, "Beam: shapes of 'y', number 1, moves nothing"),
    ({"shapes": [[0, 0, 1e-9]]}, "number 1, has the largest displacement 1e-09, expected about 1. Scale it."),
    ({"shapes": [[0, 0, 1e200]]}, "number 1, has the largest displacement 1e+200, expected about 1. Scale it."),
    ({"shapes": [[0, 0, 1], [0, 0, 2]]}, "Beam: shapes of 'y' depend on each other"),
    ({"shapes": [[0, 0, 1]], "modes": 2}, "Beam: has 1 shapes of 'y', expected 2 as modes says."),
    ({"shapes": {"z": [[0, 0, 1]]}}, "Beam: has modes of 'z' without EI_y"),
    ({"shapes": [[0, 0, ph.symbol("a")]]}, "expected numbers, the coefficients of"),
    ({"mu": [(0, 1)]}, "Beam: mu is [(0, 1)], expected a table of x/L and values"),
    ({"mu": [(0, 1), (2, 1)]}, "expected them to rise from 0 to 1"),
    ({"mu": [(0, 1), (1, -1)]}, "Beam: mu is -1 at x/L = 1, expected more than 0."),
    ({"mu": [(0, 1), (0.5, 1), (0.5, 2), (0.5, 3), (1, 1)]}, "expected each once, or twice"),
    ({"mu": [(0, 1), (1, ph.symbol("a"))]}, "expected numbers. Symbols stand for constants alone."),
    ({"mu": lambda x: 1 - 2 * x}, "expected more than 0."),
    ({"mu": lambda x: 1 / (x - x)}, "Beam: mu: its function of x/L fails between 0 and 1"),
    ({"mu": lambda x: 1 if x < 0.3 else 2}, "Give a table with x/L twice where it steps"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), FAULTS)
def test_every_fault_has_a_message(given, said):
    with pytest.raises(ModelError) as error:
        beam(**GOOD | given)
    assert said in str(error.value)


def test_what_is_before_a_clamped_end_is_a_rigid_hub():
    r = ph.symbol("r")
    for start in (0.3, r):
        made = beam(length=2, mu=1, EI_z=1, start=(start, 0.1, 0))
        hub = made.station(vector([start / 2, 0, 0.5]), "x")
        assert hub.still
        assert number(hub.p, {r: 0.3}) == pytest.approx([0.15, 0.1, 0])
        assert made.root.still
        assert not made.station(vector([start + 1, 0, 0]), "x").still
    middle = beam(length=2, mu=1, EI_z=1, start=(-1, 0, 0)).root
    assert number(middle.Phi)[1] == pytest.approx([cantilever(n)[0](0.5) for n in (1, 2, 3)])
    with pytest.raises(
        ModelError, match=r"Beam: its joint is at -0.15 of the length of its beam, expected from 0 to 1"
    ):
        beam(length=2, mu=1, EI_z=1, start=(0.3, 0, 0), ends="pinned-pinned")


def test_points_beyond_the_beam_and_places_that_depend_on_symbols():
    made = beam(length=2, mu=1, EI_z=1, start=(1, 0, 0))
    assert float(made.station(vector([3 + 1e-12, 0, 0]), "x").p[0]) == 3
    with pytest.raises(
        ModelError, match=r"Marker 'tip' is at 1.25 of the length of its beam.*\(1, 0, 0\) to \(3, 0, 0\)"
    ):
        made.station(vector([3.5, 0, 0]), "Marker 'tip'")
    L, a = ph.symbols("L a")
    made = beam(length=L, mu=1, EI_z=1)
    with pytest.raises(ModelError, match=r"Marker 'tip' has x = a along a beam of the length L, expected a fixed part"):
        made.station(vector([a, 0, 0]), "Marker 'tip'")
    assert number(made.station(vector([L / 3, a, 0]), "x").p, {L: 3}) == pytest.approx([1, 0, 0])
