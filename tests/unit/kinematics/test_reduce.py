"""Frames on the axes and regrouped inertias: other links, the same equations."""

import numpy as np
import pytest

import polhode as ph
from polhode.formulations.denoc import articulated, inverse_dynamics
from polhode.formulations.poincare import gravity_terms, velocity_terms
from polhode.graph import vector
from polhode.kinematics import derive, reduced
from polhode.kinematics.composite import mass_matrix
from tests.mechanics import At, close, random_state

MAPS = [  # of any length, beside the origin, with pitch
    [0, 0, 2, 0, 0, 0],
    [0, 0, 0, 0, 3, 0],
    [1, 1, 0, 0.2, -0.2, 0.7],
    [0, -1, 0, 0, 0, 0],
    [0, 0, 0, 1, 1, 0],
    [0, 0, 1, 0.5, -0.3, 0],
]


@pytest.fixture(params=range(3))
def at(request):
    draw = np.random.default_rng(request.param)
    build = ph.Builder("odd", gravity=draw.normal(size=3))
    parent = "world"
    for i, h in enumerate(MAPS):
        place = {"at": draw.normal(size=3), "rpy": draw.normal(size=3), "com": draw.normal(size=3)}
        build.body(
            f"b{i}", parent=parent, joint=ph.joint(h, armature=0.1 * i), mass=1.5, inertia=(1, 1.2, 1.4), **place
        )
        parent = f"b{i}"
    build.body("c", parent="b1", joint=ph.free(quaternion=True), mass=1.0, inertia=(1, 1, 1))
    build.body("d", parent="c", joint=ph.revolute("y"), at=(1, 2, 3), mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    eq = ph.formulate(build.build(), method="poincare")
    return At(eq, *random_state(eq, request.param))


def test_reduced_links_give_the_same_terms(at):
    kin = derive(at.eq.model)
    light = reduced(kin)
    for term in (mass_matrix, velocity_terms, gravity_terms):
        assert close(at(term(light)), at(term(kin)))


def test_recursions_do_not_depend_on_the_frames(at):
    kin = derive(at.eq.model)
    x = vector(ph.symbols([f"x{i}" for i in range(len(at.u))]))
    at.values[x] = list(np.random.default_rng(1).normal(size=len(at.u)))
    for recursion in (inverse_dynamics, articulated):
        assert close(at(recursion(reduced(kin), x)), at(recursion(kin, x)))


def test_axes_are_on_z_and_masses_move_to_the_base():
    light = reduced(derive(ph.load("examples/ur5.urdf")))
    for link in light.links:
        assert [str(e) for e in link.H[0].vector()] == ["0", "0", "1", "0", "0", "0"]
        assert link.inertia.I[1, 1] == 0 or link.inertia.m != 0
    assert light.links[-1].inertia.m == 0
    assert light.links[0].inertia.m == 0  # and what the base carries is gone


def test_locked_joints_hold_their_place():
    model = ph.load("examples/ur5.urdf")
    held = ph.locked(model, {"elbow": 0.7, "wrist_3": 0.0})
    assert held.coordinates == ("shoulder_pan", "shoulder_lift", "wrist_1", "wrist_2")
    whole, part = ph.formulate(model), ph.formulate(held)
    a = At(whole, [0.1, 0.2, 0.7, 0.3, 0.4, 0.0], np.zeros(6))
    b = At(part, [0.1, 0.2, 0.3, 0.4], np.zeros(4))
    assert close(a(whole.pose("tool")), b(part.pose("tool")))
    free = [0, 1, 3, 4]
    assert close(a(whole.M)[np.ix_(free, free)], b(part.M))
    with pytest.raises(KeyError, match="Did you mean 'elbow'"):
        ph.locked(model, ["elbo"])


def test_an_actuator_keeps_its_shares_of_what_still_moves():
    build = ph.Builder("arm")
    build.body("a", joint=ph.revolute("y", name="hip"), mass=1, inertia=(1, 1, 1))
    build.body("b", parent="a", at=(0, 0, 1), joint=ph.revolute("y", name="knee"), mass=1, inertia=(1, 1, 1))
    build.state("z", rate="both_control + knees_control")
    build.actuator(
        "both", along={"hip_dot": 2, "knee_dot": 3}, force="both_control - hip_dot - 5*knee_dot + z + 4*knees_control"
    )
    build.actuator("knees", along={"knee_dot": 1})
    left = ph.locked(build.build(), ["knee"])
    (both,) = left.actuators
    hip_dot, control, z = ph.symbols("hip_dot both_control z")
    assert both.along == (("hip_dot", 2),)
    assert both.force == control - hip_dot + z
    assert left.states[0].rate == control
    assert left.parameters == ()
