"""Frames of beam elements against what is published, or known in closed form, of beams."""

from pathlib import Path

import numpy as np
import pytest

import polhode as ph

ROOTS = np.array([1.875104068711961, 4.694091132974175, 7.854757438237613])
SIGMA = np.array([0.734095513, 1.018467319, 0.999224497])


def cantilever(L=2.0, EI_y=5.0, EI_z=5000.0, GJ=1e4, mu=3.0, radii=(0.0, 0.0), elements=16, **options):
    frame = ph.Frame({"root": (0, 0, 0), "tip": (L, 0, 0)})
    frame.beam("root", "tip", EA=1e9, EI_y=EI_y, EI_z=EI_z, GJ=GJ, mu=mu, radii=radii, elements=elements)
    return frame.flexible(root="root", **options)


def test_clamped_free_beam():
    """w = (b L)^2 sqrt(EI / mu L^4), and integrals of its shapes: 2 sigma / b, 2 / b^2, L; the tip is at 2.

    Reference: [Blevins 1979, Formulas for natural frequency and mode shape, table 8-1].
    """
    L, EI, mu = 2.0, 5.0, 3.0
    arm = cantilever(L, EI, mu=mu, modes=3)
    b = ROOTS / L
    assert arm.frequencies == pytest.approx(b**2 * np.sqrt(EI / mu), rel=1e-4)
    sign = np.sign(arm.shapes[1, 2])
    assert sign * arm.moments.P[:, 2] == pytest.approx(mu * SIGMA / b * [1, -1, 1], rel=1e-3)
    assert np.abs(arm.moments.C1[:, 0, 2]) == pytest.approx(mu / b**2, rel=1e-3)
    assert np.einsum("kkaa->k", arm.moments.C2) == pytest.approx([mu * L / 4] * 3, rel=1e-3)


def test_rotating_beam():
    """Flapping of a beam that rotates, w and Omega by sqrt(EI / mu L^4).

    Reference: [Wright, Smith, Thresher and Wang 1982, Vibration modes of centrifugally stiffened beams, table 1].
    """
    arm = cantilever(L=1.0, EI_y=1.0, EI_z=1e6, mu=1.0, elements=30, modes=8)
    I = arm.moments
    M = np.einsum("klaa->kl", I.C2)
    for spin, expected in ((0, 3.5160), (1, 3.6817), (2, 4.1373), (5, 6.4495), (10, 11.2023), (12, 13.1702)):
        turned = I.C2 + I.G2  # about z: -Omega^2 along x and y
        K = arm.rigidity - spin**2 * (turned[:, :, 0, 0] + turned[:, :, 1, 1])
        lowest = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real.min())
        assert lowest == pytest.approx(expected, rel=3e-4)


def test_euler_buckling():
    """P = pi^2 EI / 4 L^2: the second order of the tip along the axis is the geometric stiffness of a force there."""
    arm = cantilever(L=2.0, EI_y=5.0, modes=4, interfaces=["tip"])
    softer = np.linalg.eigvals(np.linalg.solve(arm.rigidity, -arm.second[1, 0])).real.max()
    assert 1 / softer == pytest.approx(np.pi**2 * 5.0 / 16, rel=1e-4)


def test_lateral_buckling():
    """P = 4.0126 sqrt(EI GJ) / L^2 of a narrow cantilever, loaded across at its tip.

    Bending moments couple torsion and bending: the part of the second order that is no shortening.
    Reference: [Timoshenko and Gere 1961, Theory of elastic stability, eq. 6.22].
    """
    L, EI, GJ = 2.0, 5.0, 3.0
    found = []
    for elements in (10, 40):
        arm = cantilever(L, 1e5, EI, GJ, radii=(0.02, 0.03), elements=elements, modes=16, interfaces=["tip"])
        loads = np.linalg.eigvals(np.linalg.solve(arm.rigidity, arm.second[1, 2])).real
        found.append(1 / loads.max() / np.sqrt(EI * GJ) * L**2)
    assert found[1] == pytest.approx(4.0126, rel=3e-4)
    assert abs(found[1] - 4.0126) < 0.1 * abs(found[0] - 4.0126)


def test_portal_frame():
    """Swaying of a portal of three equal beams, clamped at both feet, by exact dynamic stiffness.

    Each member has the stiffness of cos, sin, cosh and sinh; the beam moves along itself as a rigid mass.
    Reference: [Kolousek 1973, Dynamics in engineering structures, chapter 4].
    """
    frame = ph.Frame({"a": (0, 0, 0), "b": (0, 0, 1), "c": (1, 0, 1), "d": (1, 0, 0)})
    for start, end in ("ab", "bc", "cd"):
        frame.beam(start, end, EA=1e7, EI_y=1.0, EI_z=1e4, GJ=1e4, mu=1.0)
    arm = frame.flexible(root="a", supports=["d"], modes=1, order="full")

    def member(b):
        at = np.array([
            [1, 0, 1, 0], [0, b, 0, b], [np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)],
            [-b * np.sin(b), b * np.cos(b), b * np.sinh(b), b * np.cosh(b)],
        ])  # fmt: skip
        third = b**3 * np.array([[0, -1, 0, 1], [np.sin(b), -np.cos(b), np.sinh(b), np.cosh(b)]])
        bent = b**2 * np.array([[-1, 0, 1, 0], [-np.cos(b), -np.sin(b), np.cosh(b), np.sinh(b)]])
        return np.stack([third[0], -bent[0], -third[1], bent[1]]) @ np.linalg.inv(at)

    def swaying(b):
        k = member(b)
        turn = 2 * k[3, 3] + 2 * (k[1, 1] + k[1, 3])  # both corners turn alike
        return np.linalg.det([[2 * k[2, 2] - b**4, 2 * k[2, 3]], [2 * k[2, 3], turn]])

    low, high = 1.5, 2.2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if swaying(low) * swaying(middle) > 0 else (low, middle)
    assert low == pytest.approx(1.79, abs=5e-3)
    assert arm.frequencies[0] == pytest.approx(low**2, rel=2e-4)


def test_spinning_bar_against_calculix():
    """A bar that spins, prestressed, of solid elements: its stiffening is that of our shortening."""
    table = (Path(__file__).parents[1] / "data/calculix/spin.dat").read_text().splitlines()
    rows = [line.split() for line in table if line.strip()[:2] in ("1 ", "2 ")]
    flap, lag = (float(row[2]) for row in rows)
    b, h, E, rho = 0.06, 0.04, 2.1e11, 7850.0
    A, I_y, I_z = b * h, b * h**3 / 12, h * b**3 / 12
    frame = ph.Frame({"root": (0, 0, 0), "tip": (1, 0, 0)})
    radii = (np.sqrt(I_y / A), np.sqrt(I_z / A))
    frame.beam("root", "tip", EA=E * A, EI_y=E * I_y, EI_z=E * I_z, GJ=8e10 * I_y, mu=rho * A, radii=radii, elements=12)
    arm = frame.flexible(root="root", modes=8)
    M = np.einsum("klaa->kl", arm.moments.C2)
    turned = arm.moments.C2 + arm.moments.G2
    K = arm.rigidity - 100.0**2 * (turned[:, :, 0, 0] + turned[:, :, 1, 1])
    w = np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real))
    rest = (213.3101, 318.5844)  # clamped.dat: a mesh of 8 solids is 1.5 % too stiff
    added = [(spun**2 - still**2) / 100.0**2 for spun, still in zip((flap, lag), rest, strict=True)]
    ours = (w[:2] ** 2 - np.sort(arm.frequencies)[:2] ** 2) / 100.0**2
    assert arm.frequencies[:2] == pytest.approx(rest, rel=0.02)
    assert ours[0] == pytest.approx(added[0], rel=0.02)
    assert ours[0] - ours[1] == pytest.approx(added[0] - added[1], rel=0.01)  # 1, but for thickness
