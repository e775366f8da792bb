"""Joints: from joint maps, by name, and what is refused."""

from fractions import Fraction

import pytest

from polhode.graph import const, matrix, symbols, zeros
from polhode.model import (
    Limits,
    ModelError,
    compound,
    cylindrical,
    free,
    joint,
    planar,
    prismatic,
    revolute,
    screw,
    spherical,
    universal,
    weld,
)

L, M = symbols("L m")
TURN_AND_SLIDE = matrix([[0, 0], [0, 0], [1, 0], [0, 1], [0, 0], [0, 0]])  # about z, along x


def column(*six):
    return matrix([[e] for e in six])


NAMED = {
    "revolute": (revolute("y", name="j"), [(0, 1, 0, 0, 0, 0)], ("j",), ("j_dot",)),
    "revolute at a point": (revolute("z", at=(L, 0, 0), name="j"), [(0, 0, 1, 0, -L, 0)], ("j",), ("j_dot",)),
    "prismatic": (prismatic("-x", name="j"), [(0, 0, 0, -1, 0, 0)], ("j",), ("j_dot",)),
    "screw": (screw("z", pitch=L, name="j"), [(0, 0, 1, 0, 0, L)], ("j",), ("j_dot",)),
    "cylindrical": (
        cylindrical("x", name="j"),
        [(1, 0, 0, 0, 0, 0), (0, 0, 0, 1, 0, 0)],
        ("j_angle", "j_slide"),
        ("j_angle_dot", "j_slide_dot"),
    ),
    "planar": (
        planar("z", name="j"),
        [(0, 0, 1, 0, 0, 0), (0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0)],
        ("j_angle", "j_x", "j_y"),
        ("j_w", "j_vx", "j_vy"),
    ),
    "spherical": (
        spherical(name="j"),
        [(1, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0)],
        ("j_x", "j_y", "j_z"),
        ("j_wx", "j_wy", "j_wz"),
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_joints_and_their_maps(name):
    made, columns, q, u = NAMED[name]
    (part,) = made.parts
    assert part.H == matrix(columns).T
    assert part.basis == part.H
    assert made.coordinates() == q
    assert made.speeds() == u


def test_a_free_joint():
    made = free(name="base")
    assert made.coordinates() == tuple(f"base_{e}" for e in ("ax", "ay", "az", "x", "y", "z"))
    assert made.speeds() == tuple(f"base_{e}" for e in ("wx", "wy", "wz", "vx", "vy", "vz"))
    turned = free(quaternion=True, name="base")
    assert (turned.nq, turned.nu) == (7, 6)
    assert turned.coordinates()[:4] == ("base_qw", "base_qx", "base_qy", "base_qz")


def test_a_universal_joint_is_compound():
    made = universal(("x", "y"), name="j")
    assert [part.H for part in made.parts] == [column(1, 0, 0, 0, 0, 0), column(0, 1, 0, 0, 0, 0)]
    assert made.coordinates() == ("j_1", "j_2")
    assert made.speeds() == ("j_1_dot", "j_2_dot")


def test_a_weld_does_not_move():
    assert (weld().nq, weld().nu) == (0, 0)


@pytest.mark.parametrize("axis", [(1, 2, 2), (2, 4, 4), (0.5, 1, 1)], ids=str)
def test_axes_are_scaled_to_length_1(axis):
    H = revolute(axis).parts[0].H
    assert [float(e) for e in H.entries[:3]] == pytest.approx([1 / 3, 2 / 3, 2 / 3], abs=1e-15)


def test_whole_numbers_stay_exact():
    assert revolute((1, 2, 2)).parts[0].H[0, 0] == Fraction(1, 3)


def test_a_slanted_plane_is_closed_and_right_handed():
    made = planar((1, 1, 1))
    assert made.nq == made.nu == 3


def test_columns_that_do_not_close_are_refused_with_both_remedies():
    with pytest.raises(ModelError) as caught:
        joint(TURN_AND_SLIDE, name="skate")
    assert str(caught.value) == (
        "Joint 'skate': columns 1 and 2 of the joint map do not close under the Lie bracket: "
        "[h1, h2] = [0, 0, 0, 0, 1, 0] leaves their span, so no 2 coordinates describe this joint. "
        "Give split=[1, 1] for the compound joint with these axes, "
        "or nonholonomic=True to keep these speeds with more coordinates."
    )


def test_the_remedies_work():
    split = joint(TURN_AND_SLIDE, split=[1, 1])
    assert (len(split.parts), split.nq, split.nu) == (2, 2, 2)
    skate = joint(TURN_AND_SLIDE, nonholonomic=True, name="skate")
    assert (skate.nq, skate.nu) == (3, 2)
    assert skate.parts[0].H == TURN_AND_SLIDE
    assert skate.parts[0].basis[:, 2] == zeros(6) + [0, 0, 0, 0, 1, 0]
    assert skate.coordinates() == ("skate_1", "skate_2", "skate_3")
    assert skate.speeds() == ("skate_u1", "skate_u2")


def test_two_turns_generate_three():
    made = joint([[1, 0], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]], nonholonomic=True)
    assert made.nq == 3


def test_structure_constants_of_rotation():
    c = spherical().parts[0].structure
    assert c[0] == matrix([[0, 0, 0], [0, 0, -1], [0, 1, 0]])  # [h1, h2] = h3, [h1, h3] = -h2


def test_symbols_in_a_map():
    made = joint([[1, 0], [0, 0], [0, 0], [0, L], [0, 0], [0, 0]])  # turn about x, slide along it
    assert made.nq == 2
    assert made.quantities[7] is L


WRONG = {
    "shape": (lambda: joint([1, 2, 3]), r"shape \(3, 1\), expected \(6, r\)"),
    "text": (lambda: joint("abc"), "expected six rows"),
    "rank": (lambda: joint([[1, 2], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]), "rank 1, expected independent columns"),
    "zero": (lambda: joint([0, 0, 0, 0, 0, 0]), "rank 0"),
    "split": (lambda: joint(TURN_AND_SLIDE, split=[1, 2]), "does not divide the 2 columns"),
    "empty split": (lambda: joint(TURN_AND_SLIDE, split=[]), "does not divide"),
    "NaN": (lambda: joint([float("nan"), 0, 0, 0, 0, 0]), "expected a finite number"),
    "quaternion": (
        lambda: joint(TURN_AND_SLIDE, quaternion=True, nonholonomic=True),
        "does not turn in every direction",
    ),
    "zero axis": (lambda: revolute((0, 0, 0), name="elbow"), "Joint 'elbow': axis has length 0"),
    "axis name": (lambda: revolute("w"), "axis is 'w', expected \"x\""),
    "axis of two": (lambda: revolute((1, 0)), "has 2 entries, expected 3"),
    "three axes": (lambda: universal(("x", "y", "z")), "expected two"),
    "unknown option": (lambda: revolute("x", dampng=1), "unknown option 'dampng'"),
    "negative damping": (lambda: revolute("x", damping=-1), "damping is -1, expected 0 or more"),
    "friction speed": (
        lambda: revolute("x", friction=1, friction_speed=-1),
        "friction_speed is -1, expected the speed",
    ),
    "friction": (lambda: revolute("x", friction=-1), "friction is -1, expected 0 or more"),
    "stiff quaternion": (lambda: spherical(quaternion=True, stiffness=1), "Add a potential instead"),
    "names": (lambda: cylindrical("x", q=["a"]), "names of its 2 coordinates"),
    "name": (lambda: revolute("x", name=3), "expected text"),
    "limits": (lambda: cylindrical("x", limits=(0, 1)), "1 limits for 2 coordinates"),
    "limit keys": (lambda: revolute("x", limits={"low": 1}), r"expected \(lower, upper\)"),
    "damping of three": (lambda: revolute("x", damping=[1, 2, 3]), "3 entries, expected 1"),
    "compound": (lambda: compound([]), "expected a list of joints"),
    "compound of text": (lambda: compound(["x"]), "expected a list of joints"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name):
    make, match = WRONG[name]
    with pytest.raises(ModelError, match=match):
        make()


def test_options():
    made = cylindrical("x", damping=[1, 2], armature=L, stiffness=3, rest=[0, M], limits=[(0, 1), Limits(effort=5)])
    assert made.damping == (const(1), const(2))
    assert made.armature == (L, L)
    assert made.rest == (const(0), M)
    assert made.limits == (Limits(lower=0, upper=1), Limits(effort=5))
    assert not revolute("x", friction=1, passive=False).passive


def test_given_names_may_be_symbols():
    made = cylindrical("x", q=symbols("a b"), u=["c", "d"])
    assert made.coordinates() == ("a", "b")
    assert made.speeds() == ("c", "d")


def test_compound_joints_keep_what_their_parts_have():
    made = compound([revolute("x", damping=1), spherical(quaternion=True, damping=[2, 3, 4])])
    assert [part.quaternion for part in made.parts] == [False, True]
    assert made.damping == tuple(const(k) for k in (1, 2, 3, 4))
    assert (made.nq, made.nu) == (5, 4)


def test_split_makes_speeds_the_rates_of_the_coordinates():
    made = spherical(name="hip").split()
    assert len(made.parts) == 3
    assert made.speeds() == ("hip_x_dot", "hip_y_dot", "hip_z_dot")
    with pytest.raises(ModelError, match="Use angles"):
        spherical(quaternion=True, name="hip").split()
    with pytest.raises(ModelError, match="nonholonomic"):
        joint(TURN_AND_SLIDE, nonholonomic=True, name="skate").split()


def test_joints_are_values():
    assert revolute("z", damping=1) == revolute((0, 0, 2), damping=1)
    assert hash(revolute("z")) == hash(revolute("z"))
    assert revolute("z") != revolute("x")
