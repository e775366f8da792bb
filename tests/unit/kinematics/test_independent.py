"""Rows that are only rounding are no constraints: embedded machines keep their freedom however they stand."""

from dataclasses import replace

import numpy as np
import pytest

import polhode as ph
from polhode.graph import evaluate, symbol
from polhode.kinematics import derive
from polhode.kinematics.numeric import mass_matrix
from polhode.model.grow import grow
from tests.mechanics import At, close, random_state

TURN = (0.3, 0.2, 0.1)
AXES = {"y": (0, 1, 0), "skew": (0.48, 0.6, -0.64)}


def four_bar(rpy=(0, 0, 0), size=1.0, kind="hinge", axis="y", off=0.0):
    """Three rods between parallel hinges on a base that is turned; `off` tilts one of them."""
    build = ph.Builder("four-bar", gravity=(0, 0, -9.81 * size))
    build.body("base", joint=ph.weld(), rpy=rpy, mass=1)
    n = np.array(AXES[axis], dtype=float)
    along = np.cross(n, [0.36, 0.48, 0.8]) if axis == "skew" else np.array([1.0, 0, 0])
    along /= np.linalg.norm(along)
    other = n + off * np.cross(n, along)

    def rod(name, parent, at, length, about):
        inertia = np.eye(3) * 0.1 * size**2
        joint = ph.revolute(about / np.linalg.norm(about), name=name)
        com = along * length * size / 2
        build.body(name, parent=parent, at=along * at * size, joint=joint, mass=1, com=com, inertia=inertia)

    rod("crank", "base", 0, 0.5, n)
    rod("rod", "crank", 0.5, 1.0, other)
    rod("rocker", "base", 1.2, 0.8, n)
    build.marker("tip", body="rod", at=along * size)
    build.marker("top", body="rocker", at=along * 0.8 * size)
    build.loop("top", "tip", kind, axis=n)
    return build.build()


def moved(model, size=1.0, off=0.0):
    """The inertia of the mechanism's one speed, that of the crank, with its angle at 0.4."""
    eq = ph.formulate(model, embed=True, independent=["crank_dot"])
    held = ph.formulate(model).constraints
    q = np.array([0.4, 1.0, 2.0])
    for _ in range(50):
        at = At(ph.formulate(model), q, np.zeros(3))
        phi, J = at(held.phi), at(held.J)[:, 1:]
        q[1:] -= np.linalg.lstsq(J / size, phi / size, rcond=1e-9)[0]
    assert np.abs(phi[:3]).max() < (1e-12 + off) * size
    return At(eq, q, np.zeros(1))(eq.M)[0, 0] / size**2


@pytest.mark.parametrize("kind", ["point", "hinge", "axis", "cylinder"])
@pytest.mark.parametrize("axis", AXES)
def test_a_four_bar_on_a_turned_base_keeps_its_freedom(kind, axis):
    straight, turned = four_bar(kind=kind, axis=axis), four_bar(TURN, kind=kind, axis=axis)
    assert moved(turned) == pytest.approx(moved(straight), rel=1e-10)
    assert len(ph.formulate(turned, embed=True).u) == 1


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
def test_whatever_its_size(size):
    assert moved(four_bar(TURN, size), size) == pytest.approx(moved(four_bar()), rel=1e-9)


@pytest.mark.parametrize("off", [1e-12, 1e-9, 4e-7])
def test_axes_off_by_the_digits_of_a_file_are_parallel(off):
    assert moved(four_bar(TURN, off=off), off=off) == pytest.approx(moved(four_bar()), rel=1e-5)


def test_a_prescribed_crank_on_a_turned_base():
    model = four_bar(TURN)
    build = ph.Builder()
    build.prescribe("crank", ph.TIME)
    driven = replace(model, constraints=(*model.constraints, *build.constraints))
    eq = ph.formulate(driven, embed=True)
    assert len(eq.u) == 0
    assert len(eq.kinematics.speeds.embedded) == 3


@pytest.mark.parametrize("rpy", [(0, 0, 0), TURN, (0.7, -0.4, 1.1)])
@pytest.mark.parametrize(("shape", "left"), [("disc", 3), ("sphere", 3)])
def test_rolling_on_a_turned_ground(rpy, shape, left):
    build = ph.Builder()
    build.marker("slope", body="world", rpy=rpy)
    build.body("wheel", joint=ph.free(quaternion=True), mass=1, inertia=(1, 2, 1))
    build.rolling("wheel", "slope", radius=0.5, axis="y", shape=shape)
    eq = ph.formulate(build.build(), embed=True)
    assert len(eq.u) == left
    assert eq.kane.repeated == ()


def test_a_wheel_in_a_plane_that_is_turned():
    """It can only roll, straight on: of its five rows and speeds one motion is left."""
    build = ph.Builder()
    build.marker("slope", body="world", rpy=TURN)
    slides = ph.compound([ph.revolute("y"), ph.prismatic("z"), ph.prismatic("x")], q=["spin", "z", "x"])
    build.body("wheel", joint=slides, rpy=TURN, mass=1, inertia=(1, 2, 1))
    build.rolling("wheel", "slope", radius=0.5, axis="y")
    eq = ph.formulate(build.build(), embed=True)
    assert len(eq.u) == 1
    assert len(eq.kane.repeated) == 1


@pytest.mark.parametrize("ratio", [1, 20_000, 1e6, 1e-6])
def test_gears_of_any_ratio_count(ratio):
    build = ph.Builder()
    for name in "ab":
        build.body(name, joint=ph.revolute("y"), mass=1, inertia=(1, 1, 1))
    build.gear("a_dot", "b_dot", ratio)
    assert len(ph.formulate(build.build(), embed=True).u) == 1


def test_massless_bodies_are_measured_by_what_they_are_tied_to():
    build = ph.Builder()
    build.body("slide", joint=ph.prismatic("x"), mass=0)
    build.body("arm", joint=ph.revolute("y"), mass=1e-3, com=(0.01, 0, 0))
    build.marker("end", body="arm", at=(0.02, 0, 0))
    build.loop("end", "slide", "plane", axis="x")
    model = build.build()
    eq = ph.formulate(model, embed=True, independent=["arm_dot"])
    at = At(eq, [0.02 * np.cos(0.3), 0.3], [1.0])
    assert at(eq.M)[0, 0] == pytest.approx(1e-3 * 0.01**2)


@pytest.mark.parametrize("seed", range(6))
def test_the_inertia_by_numbers_is_that_of_the_equations(seed):
    model = grow(seed, 5, symbolic=seed % 2 == 1)
    eq = ph.formulate(model, method="lagrange")
    own = derive(model)
    q, _ = random_state(ph.formulate(model, method="poincare"), seed)
    values = {s: 0.7 + 0.1 * i for i, s in enumerate(eq.parameters)}
    point = {**dict(zip(own.q, q, strict=True)), **values}
    N = np.reshape(evaluate(own.N, point), own.N.shape)
    M = np.reshape(evaluate(eq.M, {**point, **dict.fromkeys(eq.u, 0.0)}), eq.M.shape)
    assert close(mass_matrix(own, point), N.T @ M @ N)
    assert symbol("m1") in values or not seed % 2
