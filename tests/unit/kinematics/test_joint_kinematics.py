"""The kinematics of joints: closed forms, odd bases, messages."""

import numpy as np
import pytest

import polhode as ph
from polhode.graph import diff_along, evaluate, op_counts, topological
from polhode.kinematics import exponential
from polhode.spatial import Twist

I6 = np.eye(6, dtype=int)
draw = np.random.default_rng(5)
MAPS = {
    "spherical": I6[:, :3],
    "spherical, other order": I6[:, [2, 0, 1]],
    "free": I6,
    "free, sliding first": I6[:, [3, 4, 5, 0, 1, 2]],
    "free, alternating": I6[:, [3, 0, 4, 1, 5, 2]],
    "oblique spherical": np.vstack([draw.normal(size=(3, 3)), np.zeros((3, 3))]),
    "oblique free": draw.normal(size=(6, 6)),
    "planar": I6[:, [2, 3, 4]],
    "planar, turning between": I6[:, [3, 2, 4]],
    "planar by two turns": np.array([[0, 0, 0], [0, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 0.5], [0, 0, 0]]),
    "planar screw": np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.3, 0, 0]]),
    "Schoenflies": I6[:, [3, 4, 5, 2]],
    "sliding in space": I6[:, 3:],
    "cylindrical, oblique": np.array([[0, 0], [0, 0], [1, 1], [0, 0], [0, 0], [0, 1]])[:, [1, 0]],
}


@pytest.mark.parametrize("name", MAPS)
def test_rates_and_pose_belong_together(name):
    """X_dot = X H beta with q_dot = Gamma beta, for any basis that closes."""
    joint = ph.joint(MAPS[name])
    q = ph.symbols([f"q{i}" for i in range(joint.nq)])
    X, gamma = ph.configuration(joint, q).matrix(), ph.kinematic_matrix(joint, q)
    at = dict(zip(q, draw.uniform(-1, 1, len(q)), strict=True))
    pose = np.reshape(evaluate(X, at), (4, 4))
    rates = np.reshape(evaluate(gamma, at), gamma.shape)
    for j in range(joint.nu):
        change = np.reshape(evaluate(diff_along(X, q, list(map(float, rates[:, j]))), at), (4, 4))
        twist = np.linalg.solve(pose, change)
        found = [twist[2, 1], twist[0, 2], twist[1, 0], *twist[:3, 3]]
        assert np.allclose(found, MAPS[name][:, j], atol=1e-11)


def test_a_symbolic_screw_has_a_closed_form():
    s, y = ph.symbols("s y")
    X = exponential(Twist.of([0, 0, 1, 0, 0, s]), y)
    assert str(X.p) == "[0, 0, s*y]"
    assert str(X.R[0, 0]) == "cos(y)"


def test_a_turn_about_an_axis_beside_the_origin_leaves_the_axis_in_place():
    y = ph.symbol("y")
    joint = ph.revolute("z", at=(1, 2, 0))
    X = ph.configuration(joint, [y]).matrix()
    at = np.reshape(evaluate(X, {"y": 0.8}), (4, 4))
    assert np.allclose(at @ [1, 2, 5, 1], [1, 2, 5, 1])


def test_no_pole_where_there_is_no_singularity():
    """Only the middle angle can lock: no other is in a denominator."""
    joint = ph.free()
    q = ph.symbols("ax ay az x y z")
    gamma = ph.kinematic_matrix(joint, q)
    below = {str(e.args[1]) for e in topological(gamma) if e.op == "div" and e.args[1].op != "const"}
    assert below == {"cos(ay)"}
    assert sum(op_counts(gamma).values()) < 40


def test_compound_joints_have_block_diagonal_rates():
    joint = ph.compound([ph.spherical(), ph.prismatic("x")])
    q = ph.symbols("a b c d")
    gamma = ph.kinematic_matrix(joint, q)
    assert gamma.shape == (4, 4)
    assert gamma[3, 3] == 1
    assert all(gamma[3, j] == 0 and gamma[j, 3] == 0 for j in range(3))


def test_a_name_for_every_coordinate_is_needed():
    with pytest.raises(ValueError, match="has 3 coordinates, found 2"):
        ph.configuration(ph.spherical(), ph.symbols("a b"))
