"""URDF transmissions: actuators with their reductions, and what is noted."""

import pytest

from polhode.formats.urdf import read_urdf
from tests.unit.formats.test_urdf import inertial, joint, link, robot


def end(tag, name, reduction=None, role=""):
    inside = f"<role>{role}</role>" if role else ""
    inside += "" if reduction is None else f"<mechanicalReduction>{reduction}</mechanicalReduction>"
    return f'<{tag} name="{name}"><hardwareInterface>EffortJointInterface</hardwareInterface>{inside}</{tag}>'


def transmission(kind, *ends, name="t"):
    return f'<transmission name="{name}"><type>transmission_interface/{kind}</type>{"".join(ends)}</transmission>'


def read(*transmissions):
    links = [link(name, inertial()) for name in "abc"]
    joints = [
        joint("j1", "a", "b", "continuous"),
        joint("j2", "b", "c", "prismatic", '<limit effort="1" velocity="1"/>'),
    ]
    return read_urdf(robot(*links, *joints, *transmissions))


def found(*transmissions):
    return {a.name: {name: float(e) for name, e in a.along} for a in read(*transmissions).actuators}


def test_a_simple_transmission_is_an_actuator_times_its_reduction():
    assert found(transmission("SimpleTransmission", end("joint", "j1"), end("actuator", "m", " 50 "))) == {
        "m": {"j1_dot": 50}
    }
    assert found(transmission("SimpleTransmission", end("joint", "j2"), end("actuator", "m"))) == {"m": {"j2_dot": 1}}


def test_an_old_one_has_its_type_and_reduction_outside():
    old = '<transmission type="SimpleTransmission" name="t"><actuator name="m"/><joint name="j1"/>'
    assert found(f"{old}<mechanicalReduction>-79.25</mechanicalReduction></transmission>") == {"m": {"j1_dot": -79.25}}


def test_a_name_that_is_a_speed_is_changed():
    model = read(transmission("SimpleTransmission", end("joint", "j1"), end("actuator", "j2_dot")))
    assert [a.name for a in model.actuators] == ["j2_dot2"]
    assert "Actuator 'j2_dot' is called 'j2_dot2' here: that name is another's." in model.notes


def test_a_joint_that_is_missing_or_named_twice_is_told():
    unknown = read(transmission("SimpleTransmission", end("joint", "nobody"), end("actuator", "m")))
    assert "Transmission 't' is not read: there is no joint 'nobody'." in unknown.notes
    twice = [end("joint", "j1", 2), end("joint", "j1", 3), end("actuator", "m1"), end("actuator", "m2")]
    model = read(transmission("DifferentialTransmission", *twice))
    assert "Transmission 't' is not read: it has the joint 'j1' twice, expected two joints." in model.notes
    assert (*unknown.actuators, *model.actuators) == ()


ACTUATORS = end("actuator", "m2", 7, "actuator2") + end("actuator", "m1", 5, "actuator1")
JOINTS = end("joint", "j2", 3, "joint2") + end("joint", "j1", 2, "joint1")


def rates_of(x1, x2):
    """Velocities of actuators as ros_control has those of joints, solved for them: (linkage, differential)."""
    return {"m1": 5 * 2 * x1, "m2": 7 * (x1 + 3 * x2)}, {"m1": 5 * (2 * x1 + 3 * x2), "m2": 7 * (2 * x1 - 3 * x2)}


@pytest.mark.parametrize(("k", "kind"), [(0, "FourBarLinkageTransmission"), (1, "DifferentialTransmission")])
def test_transmissions_of_two_have_the_power_of_their_actuators(k, kind):
    drives = found(transmission(kind, ACTUATORS, JOINTS))
    for name, along in drives.items():
        assert along.get("j1_dot", 0) == rates_of(1, 0)[k][name]
        assert along.get("j2_dot", 0) == rates_of(0, 1)[k][name]
    assert [*drives] == ["m1", "m2"]


def test_joints_are_what_ros_control_says_where_actuators_turn():
    """Its positions: j1, j2 = (m1/n ± m2/n) / 2n of a differential, and j2 = (m2/n - m1/(n n)) / n of the linkage."""
    linkage, differential = rates_of(0.3, -0.8)
    m1, m2 = differential["m1"] / 5, differential["m2"] / 7
    assert ((m1 + m2) / 4, (m1 - m2) / 6) == pytest.approx((0.3, -0.8))
    assert (linkage["m2"] / 7 - linkage["m1"] / 10) / 3 == pytest.approx(-0.8)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (transmission("Hey5Reducer"), "<transmission> of type 'Hey5Reducer' is not read."),
        (
            transmission("SimpleTransmission", "<mechanicalReducton/>"),
            "<mechanicalReducton> in <transmission> is not read",
        ),
        (transmission("SimpleTransmission", end("joint", "j1")), "'t' is not read: it has 1 joints and 0 actuators"),
        (
            link("d")
            + joint("x", "c", "d", "fixed")
            + transmission("SimpleTransmission", end("joint", "x"), end("actuator", "m")),
            "Transmissions of 'x' are not read: these joints do not turn",
        ),
        (
            transmission("SimpleTransmission", end("joint", "j1"), end("actuator", "m", 0)),
            "mechanicalReduction is '0', expected a number other than 0.",
        ),
        (transmission("SimpleTransmission", end("joint", "j1"), end("actuator", "m", "fast")), "is 'fast', expected a"),
        (
            transmission("SimpleTransmission", end("joint", "j1"), end("actuator", "m")),
            "hardwareInterface of transmissions",
        ),
        (transmission("FourBarLinkageTransmission", ACTUATORS, JOINTS), "its forces have the power of its velocities"),
        (
            transmission("SimpleTransmission", end("joint", "j1"), end("actuator", "m"))
            + transmission("SimpleTransmission", end("joint", "j2"), end("actuator", "m")),
            "Actuator 'm' is called 'm2' here",
        ),
    ],
)
def test_what_is_not_read_is_noted(text, note):
    assert note in str(read(text).report())
