"""Linear models against Pinocchio's derivatives, and of walking machines against differences."""

import sys
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from tests.differences import agrees
from tests.mechanics import random_state

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    for name in ("walker", "hexapod"):
        sys.modules.pop(name, None)


def pinocchio(path, floating, dyn, q, u, tau):
    """d udot by turns, slides and angles, by speeds, and by forces, in our order."""
    pin = pytest.importorskip("pinocchio", reason="NOT TESTED: the package pin is not installed")
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    data, names = model.createData(), [str(s.value) for s in dyn.equations.u]
    ours, place = np.zeros(model.nv, int), pin.neutral(model)
    coordinates = [str(s.value) for s in dyn.equations.q]
    for joint, name in list(zip(model.joints, model.names, strict=True))[1:]:
        if name == "root_joint":
            ours[:6] = [3, 4, 5, 0, 1, 2]
            place[:7] = [*q[4:7], *q[1:4], q[0]]
        else:
            ours[joint.idx_v] = names.index(f"{name}_dot")
            place[joint.idx_q] = q[coordinates.index(name)]
    found = pin.computeABADerivatives(model, data, place, u[ours], tau[ours])
    back = np.argsort(ours)
    return [np.array(part)[np.ix_(back, back)] for part in found]


@pytest.mark.parametrize("seed", range(3))
def test_a_ur5_has_the_derivatives_of_pinocchio(seed):
    path = EXAMPLES / "ur5.urdf"
    dyn = ph.formulate(ph.load(path)).compile()
    q, u = random_state(dyn.equations, seed)
    tau = np.random.default_rng(seed).normal(size=6)
    lin = ph.linearize(dyn, q, u, tau)
    for found, of in zip(
        pinocchio(path, False, dyn, q, u, tau), (lin.A[6:, :6], lin.A[6:, 6:], lin.B[6:]), strict=True
    ):
        assert np.abs(found - of).max() < 1e-10 * max(1, np.abs(found).max())
    assert np.array_equal(lin.A[:6], np.eye(12)[6:])


def test_a_floating_ur5_has_the_derivatives_of_pinocchio():
    """There a place changes along the axes of the body, here along those of the world: dp = R dx."""
    path = EXAMPLES / "ur5.urdf"
    dyn = ph.formulate(ph.load(path, floating=True)).compile()
    q, u = random_state(dyn.equations, 5)
    tau = np.random.default_rng(5).normal(size=12)
    lin = ph.linearize(dyn, q, u, tau)
    assert lin.states[0].startswith("turn_")
    by_q, by_u, by_tau = pinocchio(path, True, dyn, q, u, tau)
    w, x, y, z = q[:4]
    R = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    A = lin.A[12:, :12].copy()
    A[:, 3:6] = A[:, 3:6] @ R
    for found, of in ((by_q, A), (by_u, lin.A[12:, 12:]), (by_tau, lin.B[12:])):
        assert np.abs(found - of).max() < 1e-9 * max(1, np.abs(found).max())
    spin = lin.A[:3, :3]  # dr/dt = dw - w x r
    assert np.allclose(spin, -np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]]), atol=1e-14)


@pytest.mark.parametrize("method", ["quasicoordinate", "denoc"])
def test_a_walker_with_currents_is_that_of_differences(examples, method):
    """Transmissions as changes of speeds, and as 17 rows; currents of motors are states, their voltages inputs."""
    from walker import walker

    dyn = ph.formulate(walker(constant=0.05, resistance=0.5, inductance=1e-3), method).compile()
    q, u = ph.assemble(dyn, [0.1] * len(dyn.equations.q), {"B_dot": 0.4})
    lin = ph.linearize(dyn, q, u, {"B": 1.0}, z={"F_top_current": 0.3})
    assert lin.inputs == ("B", "F_bottom", "T_bottom", "F_top", "T_top")
    assert lin.sizes == (28, 11, 5)
    assert agrees(dyn, lin, 1e-8, h=2e-4, tau={"B": 1.0})


def test_a_hexapod_is_that_of_differences(examples):
    """36 degrees of freedom, 30 actuators."""
    from hexapod import hexapod

    dyn = ph.formulate(hexapod()).compile()
    draw = np.random.default_rng(0)
    q = 0.2 * draw.normal(size=36)
    q[5] = 0.13  # some feet in the ground
    lin = ph.linearize(dyn, q, draw.normal(size=36))
    assert (len(lin.states), len(lin.inputs)) == (72, 30)
    assert agrees(dyn, lin, 1e-8, h=1e-4)
