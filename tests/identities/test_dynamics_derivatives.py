"""Derivatives of the dynamics of machines grown from a seed, against differences and against each other."""

import numpy as np
import pytest

import polhode as ph
from polhode.formulations.denoc import inverse_dynamics
from polhode.formulations.denoc_slopes import inverse_slopes
from polhode.graph import evaluate, jacobian, vector_of
from polhode.kinematics import derive
from polhode.kinematics.reduce import reduced
from polhode.kinematics.small import small_changes
from polhode.model.grow import JOINTS, grow
from tests.mechanics import close, random_state
from tests.slopes import forward_slopes

TREES = [
    ["free quaternion", "revolute"],
    ["spherical quaternion", "prismatic"],
    ["revolute", "skewed"],
    ["nonholonomic", "revolute", "compound"],
    ["map", "spherical", "screw", "revolute"],
    ["planar", "cylindrical"],
]


@pytest.mark.parametrize("kind", sorted(JOINTS))
def test_closed_forms_are_plain_derivatives_of_the_recursion(kind):
    kin = derive(grow(4, ["revolute", kind, "spherical quaternion", "prismatic"]))
    udot, small = vector_of("a", len(kin.u)), small_changes(kin)
    for kept in (kin, reduced(kin)):
        found, tau = inverse_slopes(kept, udot), inverse_dynamics(kept, udot)
        point = dict(zip([*kin.q, *kin.u, *udot], np.random.default_rng(1).uniform(-1, 1, 99).tolist(), strict=False))
        for place, _, _ in small.blocks:
            turn = [kin.q[place + k] for k in range(4)]
            size = sum(point[e] ** 2 for e in turn) ** 0.5
            point |= {e: point[e] / size for e in turn}

        def at(m, point=point):
            return np.array(evaluate([*m.entries], point), dtype=float)

        assert close(at(found.q), at(small.slopes(tau)))
        assert close(at(found.u), at(jacobian(tau, kin.u)))


def test_armatures_on_axes_that_do_not_commute_count():
    build = ph.Builder("ball")
    build.body(
        "ball", joint=ph.spherical(armature=(0.3, 0.2, 0.1)), mass=1, com=(0.1, 0.2, 0), inertia=(0.1, 0.2, 0.15)
    )
    build.body("arm", parent="ball", joint=ph.revolute("y", armature=0.2), at=(0, 0, 1), mass=1, com=(0.5, 0, 0))
    kin = derive(build.build())
    udot = vector_of("a", 4)
    found, tau = inverse_slopes(kin, udot), inverse_dynamics(kin, udot)
    point = dict(zip([*kin.q, *kin.u, *udot], np.linspace(0.2, 1, 12).tolist(), strict=True))
    assert close(evaluate([*found.u.entries], point), evaluate([*jacobian(tau, kin.u).entries], point))


@pytest.mark.parametrize("kinds", TREES[:2], ids=" ".join)
def test_derivatives_of_accelerations_are_their_slopes(kinds):
    _compare(*_grown(kinds, "denoc"))


@pytest.mark.slow
@pytest.mark.parametrize("kinds", TREES, ids=" ".join)
@pytest.mark.parametrize("method", ["denoc", "poincare"])
def test_derivatives_of_accelerations_are_their_slopes_by_any_method(kinds, method):
    _compare(*_grown([*kinds, "universal"], method))


def test_other_methods_differentiate_what_they_have():
    """Plain derivatives of Poincare's terms."""
    _compare(*_grown(["spherical", "prismatic"], "poincare"))


def _grown(kinds, method):
    model = grow(len(kinds) + len(kinds[0]), kinds, forces=True)
    dyn = ph.formulate(model, method).compile()
    return dyn, *random_state(dyn.equations, 5, size=0.6), np.random.default_rng(6).normal(size=model.nu)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_bodies_that_deform(seed):
    model = grow(seed, ["free quaternion", "revolute", "universal"], forces=True, flexible=0.4)
    dyn = ph.formulate(model, "denoc").compile()
    q, u = random_state(dyn.equations, seed, size=0.6, bent=0.02)
    _compare(dyn, q, u, np.random.default_rng(6).normal(size=model.nu), 1e-8)


def _compare(dyn, q, u, tau, tolerance=1e-9):
    found = dyn.derivatives.forward_dynamics(q, u, tau)
    assert close(found.value, dyn.forward_dynamics(q, u, tau))
    for name, expected in forward_slopes(dyn, q, u, tau).items():
        assert close(getattr(found, name), expected, tolerance), name
    # and of the forces that these accelerations need: M udot' = -tau'
    needed = dyn.derivatives.inverse_dynamics(q, u, found.value)
    assert close(needed.udot, dyn.mass_matrix(q))
    assert close(needed.udot @ found.q, -needed.q, 1e-9)
    assert close(needed.udot @ found.u, -needed.u, 1e-9)
    assert close(needed.udot @ found.tau, np.eye(len(u)), 1e-9)


@pytest.mark.parametrize("seed", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(8, marks=pytest.mark.slow)])
def test_closed_machines(seed):
    model = grow(seed, ["free quaternion", "revolute", "prismatic"], forces=True, loops=True)
    dyn = ph.formulate(model).compile()
    q, u = random_state(dyn.equations, seed, size=0.6)
    tau = np.random.default_rng(6).normal(size=model.nu)
    q, u = ph.assemble(dyn, q, u)
    found = dyn.derivatives.forward_dynamics(q, u, tau)
    assert found.lam.q.shape == (4, model.nu)
    for part, call in ((found, dyn.forward_dynamics), (found.lam, dyn.reactions)):
        for name, expected in forward_slopes(dyn, q, u, tau, call, check=False).items():
            assert close(getattr(part, name), expected, 1e-7), name
