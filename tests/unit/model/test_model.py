"""Models: checked as a whole, merged, reported, drawn."""

import pickle

import numpy as np
import pytest

from polhode.graph import evaluate, matrix, symbols, vector, zeros
from polhode.model import Builder, ModelError, free, prismatic, revolute, spherical, weld
from polhode.spatial import Inertia, Pose

M, L, G = symbols("m L g")


def arm():
    build = Builder("arm", gravity=(0, 0, -G))
    build.body("upper", joint=revolute("y", name="shoulder"), mass=M, com=(0, 0, -L / 2))
    build.body("lower", parent="upper", joint=revolute("y", name="elbow"), at=(0, 0, -L), mass=2)
    build.body("hand", parent="lower", joint=weld(), at=(0, 0, -1), mass=3, inertia=(1, 1, 1))
    build.marker("tip", body="hand", at=(0, 0, -0.5))
    build.marker("anchor", body="world", at=(1, 0, 0))
    return build


def faults(build):
    with pytest.raises(ModelError) as caught:
        build.build()
    return caught.value.faults


def test_names_and_sizes():
    model = arm().build()
    assert model.coordinates == ("shoulder", "elbow")
    assert model.speeds == ("shoulder_dot", "elbow_dot")
    assert (model.nq, model.nu) == (2, 2)
    assert model.parameters == (L, G, M)
    assert model.frames == ("upper", "lower", "hand", "tip", "anchor")
    assert model.body("lower").parent == "upper"


def test_a_joint_takes_the_name_of_its_body():
    build = Builder()
    build.body("link", joint=spherical(), mass=1)
    assert build.build().coordinates == ("link_x", "link_y", "link_z")


def test_bodies_are_ordered_depth_first():
    build = Builder()
    for name, parent in (("d", "b"), ("a", "world"), ("c", "world"), ("b", "a"), ("e", "c")):
        build.body(name, parent=parent, joint=revolute(), mass=1)
    model = build.build()
    assert [body.name for body in model.bodies] == ["a", "b", "d", "c", "e"]
    assert model.coordinates == ("a", "b", "d", "c", "e")
    assert model.speeds == ("a_dot", "b_dot", "d_dot", "c_dot", "e_dot")


def test_equal_descriptions_are_equal_models():
    assert arm().build() == arm().build()
    other = arm()
    other.gravity = vector([0, 0, -G - 1])
    assert other.build() != arm().build()


def test_models_pickle():
    assert pickle.loads(pickle.dumps(arm().build())) == arm().build()


def test_the_tree_is_drawn():
    build = arm()
    build.spring("tip", "anchor", stiffness=1, length=0, name="band")
    assert (
        str(build.build())
        == """\
arm: 3 bodies, nq = 2, nu = 2
gravity (0, 0, -g)
parameters L, g, m
world  · anchor
└─ upper [revolute shoulder, mass m]
   └─ lower [revolute elbow, 2 kg]
      └─ hand [weld, 3 kg]  · tip
band"""
    )


def test_branches_are_drawn():
    build = Builder("two")
    build.body("a", joint=free(quaternion=True), mass=1)
    build.body("b", parent="a", joint=revolute(), mass=1)
    build.body("c", joint=prismatic(), mass=1)
    assert str(build.build()).splitlines()[2:] == [
        "world",
        "├─ a [free(a_qw, a_qx, a_qy, a_qz, a_x, a_y, a_z), 1 kg]",
        "│  └─ b [revolute, 1 kg]",
        "└─ c [prismatic, 1 kg]",
    ]


# faults


def test_faults_of_the_whole_come_together():
    build = Builder()
    build.body("a", parent="b", joint=revolute(), mass=1)
    build.body("b", parent="a", joint=revolute(), mass=-1)
    build.body("c", parent="nobody", joint=revolute(name="a"), mass=1, inertia=(1, 1, 3))
    build.marker("m", body="zz")
    build.spring("m", "yy", stiffness=1, length=1)
    build.force("a_dt", 1)
    build.coupling("a", "q9")
    text = "\n".join(faults(build))
    for part in (
        "Bodies 'a' on 'b' on 'a' form a cycle",
        "Body 'b': mass is -1, expected 0 or more.",
        "Body 'c': its parent 'nobody' does not exist.",
        "Joint 'a' exists 2 times",
        "Variable 'a' exists 2 times",
        "Body 'c': principal moments of inertia are 1, 1, 3, expected none above the sum of the other two.",
        "Marker 'm': body 'zz' does not exist.",
        "marker 'yy' does not exist.",
        "speed 'a_dt' does not exist. Did you mean 'a_dot'",
        "coordinate 'q9' does not exist.",
    ):
        assert part in text, part


def test_a_cycle_is_named_once():
    build = Builder()
    for name, parent in (("a", "c"), ("b", "a"), ("c", "b"), ("on top", "a")):
        build.body(name, parent=parent, joint=revolute(), mass=1)
    assert [fault for fault in faults(build) if "cycle" in fault] == [
        "Bodies 'a' on 'c' on 'b' on 'a' form a cycle, expected a tree that ends at 'world'."
    ]


WRONG_NAMES = [
    (("a", "a"), "Body 'a' exists 2 times, expected once. Rename all but one."),
    (("",), "Body without a name"),
    (("world",), "belongs to the ground"),
    (("t",), "belongs to time"),
    (("a", "a_dot"), "Variable 'a_dot' exists 2 times"),
]


@pytest.mark.parametrize(("names", "text"), WRONG_NAMES, ids=[str(names) for names, _ in WRONG_NAMES])
def test_wrong_names(names, text):
    build = Builder()
    for name in names:
        build.body(name, joint=revolute(), mass=1)
    assert any(text in fault for fault in faults(build))


WRONG_BODIES = {
    "mass": ({"mass": float("nan")}, "Body 'a': mass is nan, expected a finite number."),
    "text": ({"mass": "2*"}, "Body 'a': mass is '2*', expected a number or an expression: invalid syntax."),
    "code": ({"mass": "__import__('os').getpid()"}, "Body 'a': mass is \"__import__('os').getpid()\""),
    "a truth": ({"mass": True}, "Body 'a': mass is True, expected a number or an expression."),
    "joint": ({"joint": "weld"}, "expected a joint such as"),
    "at": ({"at": (1, 2)}, "Body 'a': at has 2 entries, expected 3."),
    "com": ({"com": 3}, "Body 'a': com is 3, expected 3 numbers"),
    "turned twice": ({"rpy": (0, 0, 0), "quaternion": (1, 0, 0, 0)}, "only one of them"),
    "quaternion": ({"quaternion": (0, 0, 0, 0)}, "quaternion has length 0"),
    "rotation": ({"rotation": [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}, "not a rotation matrix"),
    "inertia": ({"inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "not symmetric: xy is 2, yx is 0"),
    "inertia size": ({"inertia": (1, 2)}, "inertia has 2 entries, expected 3 principal moments"),
}


@pytest.mark.parametrize("name", WRONG_BODIES)
def test_wrong_bodies(name):
    options, text = WRONG_BODIES[name]
    with pytest.raises(ModelError) as caught:
        Builder().body("a", **({"joint": revolute(), "mass": 1} | options))
    assert text in str(caught.value)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("scale", [1, M], ids=str)
def test_an_inertia_symmetric_to_rounding_is_taken(size, scale):
    c, s = np.cos(0.3), np.sin(0.3)
    R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    turned = size * (R @ np.diag([2.0, 3.0, 4.0]) @ R.T)
    turned[0, 1] += 2e-16 * size
    turned[2, 0] -= 1e-16 * size
    assert (turned != turned.T).any()
    build = Builder()
    build.body("a", joint=spherical(), mass=1, inertia=matrix(turned) * scale)
    found = build.build().body("a").inertia
    assert found == found.T
    assert np.allclose(evaluate(found, {M: 2.0}), turned * (1 if scale == 1 else 2), rtol=1e-14, atol=1e-15 * size)
    turned[0, 1] += 1e-6 * size
    with pytest.raises(ModelError, match="not symmetric: xy"):
        build.body("b", joint=spherical(), mass=1, inertia=matrix(turned) * scale)


def test_neutral_coordinates_are_an_array():
    build = Builder()
    build.body("a", joint=free(quaternion=True), mass=1)
    build.body("b", parent="a", joint=revolute(), mass=1)
    found = build.build().neutral()
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float64
    assert found.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert Builder().build().neutral().shape == (0,)


def test_a_quantity_of_a_body_is_no_variable():
    build = arm()
    build.body("late", joint=prismatic(), mass=symbols("elbow x")[0])
    assert "depends on elbow, a coordinate, speed, state or time" in faults(build)[0]


def test_a_potential_has_no_speeds():
    build = arm()
    build.potential(symbols("elbow_dot x")[0])
    assert "depends on elbow_dot" in faults(build)[0]


def test_a_wrench_says_its_axes():
    with pytest.raises(ModelError, match='expected "world" or "marker"'):
        arm().wrench("tip", axes="body")


def test_unphysical_inertias_are_faults_unless_literal():
    build = Builder(literal=True)
    build.body("a", joint=revolute(), mass=1, inertia=(1, 1, 3))
    assert "above the sum" in str(build.build().report())
    build.literal = False
    assert "above the sum" in faults(build)[0]


# frames, merging, report


def test_frames():
    model = arm().build()
    assert model.frame("tip") == ("hand", Pose.at((0, 0, -0.5)))
    assert model.frame("upper") == ("upper", Pose.identity())
    assert model.frame("world") == ("world", Pose.identity())
    with pytest.raises(KeyError, match="Did you mean 'tip'"):
        model.frame("tpi")
    with pytest.raises(KeyError, match="no body 'uper'"):
        model.body("uper")


def test_welded_bodies_merge():
    model = arm().build()
    merged = model.merged()
    assert [body.name for body in merged.bodies] == ["upper", "lower"]
    assert merged.frame("hand") == ("lower", Pose.at((0, 0, -1)))
    assert merged.frame("tip") == ("lower", Pose.at((0, 0, -1.5)))
    # the hand, 3 kg one metre below, about the origin of the lower arm
    assert merged.body("lower").welded.m == 3
    assert merged.body("lower").welded.h == vector([0, 0, -3])
    assert matrix([[4, 0, 0], [0, 4, 0], [0, 0, 1]]) == merged.body("lower").welded.I
    assert merged.body("lower").total.m == 5
    assert merged.merged() is merged


def test_what_is_welded_to_the_world_has_no_mass():
    build = Builder()
    build.body("table", joint=weld(), mass=100, at=(0, 0, 1))
    build.body("arm", parent="table", joint=revolute(), mass=1)
    (body,) = build.build().merged().bodies
    assert body.parent == "world"
    assert body.pose.p == vector([0, 0, 1])
    assert body.welded == Inertia.zero()


def test_the_total_inertia_is_about_the_origin():
    total = arm().build().body("upper").total
    assert total.h == vector([0, 0, -L * M / 2])
    assert evaluate(total.I[0, 0], {M: 2.0, L: 3.0}) == pytest.approx(2 * 1.5**2)
    assert total.I[2] == zeros(3)


def test_nothing_to_report():
    assert str(arm().build().report()) == "arm: nothing to report."


def test_limits_are_reported():
    build = Builder("bounded")
    build.body("a", joint=revolute(limits=(-1, 1)), mass=1, com=(1, 0, 0))
    build.body("b", joint=revolute(limits=(-float("inf"), float("inf"))), mass=1, com=(1, 0, 0))
    build.body("c", joint=revolute(limits={"effort": 3}), mass=1, com=(1, 0, 0))
    effort = "Limits of speed or effort of 'c' are kept, but do not act in simulations."
    assert build.build().report().findings == (
        "Limits of 'a' are stops in simulations; limits=\"ignore\" in load(...) or Builder(...) leaves them out.",
        effort,
    )
    build.limits = "ignore"
    assert build.build().report().findings == ("Limits of 'a' are kept, but do not act in simulations.", effort)


@pytest.mark.parametrize(
    ("limits", "doubtful"),
    [
        ((-180, 180), True),
        ((0, 90), True),
        ((-10, 10), False),
        ((-6.2832, 6.2832), False),
        ((-62.8319, 62.8319), False),
    ],
)
def test_limits_that_look_like_degrees_are_reported(limits, doubtful):
    build = Builder("arm")
    build.body("a", joint=revolute(limits=limits), mass=1, com=(1, 0, 0))
    build.body("slide", joint=prismatic(limits=(-500, 500)), mass=1)
    said = "Limits of 'a' are many turns, and look like degrees. They are in radians."
    assert (said in build.build().report().findings) is doubtful


def test_the_report():
    build = Builder("odd")
    build.body("ghost", joint=revolute(), mass=0)
    build.body("gear", joint=revolute(), mass=1, com=(1, 0, 0))
    build.coupling("ghost", "gear", ratio=2)
    build.note("read from nowhere")
    text = str(build.build().report())
    assert text.startswith("odd: 3 findings\n  - read from nowhere\n")
    assert "nothing with inertia moves with the speed 'ghost_dot'" in text
    assert "'ghost' should follow 'gear'" in text
