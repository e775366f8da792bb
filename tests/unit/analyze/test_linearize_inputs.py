"""The inputs of linear models that nobody named."""

import polhode as ph


def arm(joint):
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body("arm", joint=joint, flexible=ph.beam(length=1, mu=1, EI_z=10, modes=2), mass=1, inertia=(1, 1, 1))
    return ph.formulate(build.build()).compile()


def test_amplitudes_are_no_inputs_unless_asked_for_or_alone():
    hinged = arm(ph.revolute("z", name="hub"))
    assert ph.linearize(hinged).inputs == ("hub_dot",)
    asked = ph.linearize(hinged, inputs=["arm_y1_dot", "hub_dot"])
    assert asked.inputs == ("arm_y1_dot", "hub_dot")
    assert asked.B.shape == (6, 2)
    assert (asked.B[:, 1:] == ph.linearize(hinged).B).all()
    assert ph.linearize(arm(ph.weld())).inputs == ("arm_y1_dot", "arm_y2_dot")
