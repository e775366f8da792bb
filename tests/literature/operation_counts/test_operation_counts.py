"""Operations of inverse dynamics, against published counts.

UR5: 182 + 130 in our first trial. PUMA 560 with the parameters of Armstrong, Khatib
and Burdick (1986). RX-90 with base parameters: 253 + 238, Khalil and Dombre,
Modeling, Identification and Control of Robots (2002).
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.graph import as_expr, op_counts, pi, vector
from polhode.spatial import Inertia

UR5 = Path(__file__).parents[3] / "examples/ur5.urdf"


def chain(name, geometry):
    """Revolute joints about z by (turn about x in right angles, distance along x, along z), as in Khalil's notation."""
    build = ph.Builder(name, literal=True)
    for i, (turn, a, d) in enumerate(geometry):
        at = (a, -turn * d, 0) if turn else (a, 0, d)
        joint = ph.revolute("z", name=f"q{i + 1}")
        parent = f"link{i}" if i else "world"
        build.body(f"link{i + 1}", parent=parent, at=at, rpy=(turn * pi / 2, 0, 0), joint=joint, mass=0)
    return build


def puma():
    build = chain(
        "PUMA 560", [(0, 0, 0), (-1, 0, 0.2435), (0, 0.4318, -0.0934), (1, -0.0203, 0.4331), (-1, 0, 0), (1, 0, 0)]
    )
    masses = [0, 17.4, 4.8, 0.82, 0.34, 0.09]
    centers = [(0, 0, 0), (0.068, 0.006, -0.016), (0, -0.07, 0.014), (0, 0, -0.019), (0, 0, 0), (0, 0, 0.032)]
    moments = [
        (0, 0, 0.35),
        (0.13, 0.524, 0.539),
        (0.066, 0.0125, 0.086),
        (1.8e-3, 1.8e-3, 1.3e-3),
        (0.3e-3, 0.3e-3, 0.4e-3),
        (0.15e-3, 0.15e-3, 0.04e-3),
    ]
    for i, row in enumerate(zip(masses, centers, moments, strict=True)):
        mass, com, (xx, yy, zz) = row
        inertia = ph.matrix([[xx, 0, 0], [0, yy, 0], [0, 0, zz]])
        build.bodies[i] = replace(build.bodies[i], mass=as_expr(mass), com=vector(com), inertia=inertia)
    return build.build()


def rx90():
    """Every base parameter a symbol: of the first link ZZ, of the others XX XY XZ YZ ZZ MX MY."""
    D3, RL4 = ph.symbols("D3 RL4")
    build = chain("RX-90", [(0, 0, 0), (1, 0, 0), (0, D3, 0), (-1, 0, RL4), (1, 0, 0), (-1, 0, 0)])
    build.gravity = vector([0, 0, -ph.symbol("G3")])
    for i in range(6):
        xx, xy, xz, yz, zz, mx, my = ph.symbols([f"{name}{i + 1}" for name in "XX XY XZ YZ ZZ MX MY".split()])
        if i == 0:
            xx = xy = xz = yz = mx = my = as_expr(0)
        I = ph.matrix([[xx, xy, xz], [xy, 0, yz], [xz, yz, zz]])
        build.bodies[i] = replace(build.bodies[i], welded=Inertia(as_expr(0), vector([mx, my, 0]), I))
    return build.build()


@pytest.mark.parametrize(
    ("make", "multiplications", "additions"),
    [(lambda: ph.load(UR5), 182, 130), (puma, 238, 207), (rx90, 253, 238)],
    ids=["UR5", "PUMA 560", "RX-90"],
)
def test_inverse_dynamics_takes_no_more_operations_than_published(make, multiplications, additions):
    eq = ph.formulate(make(), method="denoc")
    udot = vector(ph.symbols([f"udot{i}" for i in range(len(eq.u))]))
    tau = eq.terms.inverse(udot)
    counts = op_counts(tau)
    print(f"{eq.model.name}: {counts}")
    assert counts["mul"] <= multiplications
    assert counts["add"] <= additions
    # and it is the same inverse dynamics
    poincare = ph.formulate(eq.model, method="poincare")
    draw = np.random.default_rng(0)
    values = {s: float(draw.uniform(0.3, 1)) for s in (*eq.q, *eq.u, *udot, *poincare.parameters)}
    expected = (poincare.M @ udot + poincare.c).entries
    assert np.allclose(ph.evaluate(tau, values), ph.evaluate(expected, values))
