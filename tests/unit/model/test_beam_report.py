"""What the report and the tree say of beams: loads that shapes do not expect, hubs, damping."""

import numpy as np
import pytest

import polhode as ph


def arm(hub=None, load=None, on=None, **said):
    """A beam of 1 m and 1 kg with a hub, and a load on its tip."""
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body(
        "arm", joint=ph.weld(), flexible=ph.beam(**{"length": 1, "mu": 1, "EI_z": 10, "modes": 2} | said), **hub or {}
    )
    if load is not None:
        build.body("load", parent="arm", at=(1, 0, 0), joint=on or ph.weld(), **load)
    return build


def second(**what):
    """The second frequency."""
    return ph.linearize(ph.formulate(arm(**what).build()).compile()).modes().frequencies[1]


TURNING = "its exact shapes do not curve at the free end, where 'load' turns with it"
HEAVY = "its exact shapes are those of a free end, where 'load' is."
LOADS = [
    ({"mass": 0.1}, None),
    ({"mass": 0.1, "inertia": (1e-4, 1e-4, 1e-4)}, None),
    ({"mass": 1}, HEAVY),
    ({"mass": 0.1, "inertia": (0.01, 0.01, 0.01)}, TURNING),
    ({"mass": 0.3, "com": (0.2, 0, 0)}, TURNING),
    ({"flexible": ph.beam(length=1, mu=1, EI_z=10, modes=2)}, TURNING),
]


@pytest.mark.parametrize(("load", "said"), LOADS)
def test_loads_on_a_free_end_are_named_where_two_exact_shapes_are_off_by_more_than_one_per_cent(load, said):
    found = str(arm(load=load).build().report())
    assert ("nothing to report" in found) if said is None else (said in found)
    exact, true = second(load=load), second(load=load, shapes="polynomial", modes=8)
    assert bool(exact / true > 1.012) is (said is not None)


@pytest.mark.parametrize("load", [load for load, said in LOADS if said == TURNING])
def test_the_remedy_converges(load):
    better = arm(load=load, shapes="polynomial", modes=3)
    assert "arm': its exact" not in str(better.build().report())
    true = second(load=load, shapes="polynomial", modes=8)
    assert second(load=load, shapes="polynomial", modes=3) == pytest.approx(true, rel=6e-3)


def test_shapes_that_know_of_the_mass_suffice_for_a_point_and_not_for_a_link():
    known = {"ends": "clamped-mass", "tip_mass": 1}
    assert "nothing to report" in str(arm(load={"mass": 1}, **known).build().report())
    assert TURNING in str(arm(load={"mass": 1, "inertia": (0.1, 0.1, 0.1)}, **known).build().report())
    assert "nothing with mass is there. Weld a body of that mass to it." in str(arm(**known).build().report())


def test_a_load_elsewhere_or_of_symbols_is_no_finding():
    build = arm()
    build.body("load", parent="arm", at=(0.5, 0, 0), joint=ph.weld(), mass=3, inertia=(1, 1, 1))
    assert build.build().report().findings == ()
    L, m, EI, load = ph.symbols("L m EI load")
    build = arm(length=L, mu=m, EI_z=EI)
    build.body("load", parent="arm", at=(L, 0, 0), joint=ph.weld(), mass=load)
    assert build.build().report().findings == ()


def test_a_hub_along_the_beam_is_asked_about():
    assert arm(hub={"mass": 0.5, "com": (0.4, 0, 0)}).build().report().findings == ()
    (said,) = arm(hub={"mass": 0.5, "com": (1, 0, 0)}).build().report().findings
    assert said == (
        "Body 'arm': its mass=0.5 is that of a rigid hub, which does not move as the beam bends, and com= puts it at 1 "
        "of the length. A payload is a body of its own, welded there."
    )


def test_the_tree_says_what_is_beam_and_what_is_hub():
    assert "arm [weld, 1 kg, modes arm_y1, arm_y2]" in str(arm().build())
    assert "arm [weld, beam 1 kg, hub 0.5 kg, modes arm_y1, arm_y2]" in str(arm(hub={"mass": 0.5}).build())
    m = ph.symbol("m")
    assert "arm [weld, beam mass m, hub 0.5 kg, modes arm_y1" in str(arm(hub={"mass": 0.5}, mu=m).build())
    frame = ph.Frame({"a": (0, 0, 0), "b": (1, 0, 0)})
    frame.beam("a", "b", EA=1e6, EI_y=10, EI_z=10, GJ=5, mu=1)
    build = ph.Builder("framed")
    build.body("arm", joint=ph.weld(), flexible=frame.flexible(root="a", modes=1), mass=2)
    assert "flexible 1 kg, hub 2 kg" in str(build.build())


@pytest.mark.parametrize("damping", [0.5, 1, np.float64(0.02)])
def test_damping_below_one_is_no_finding(damping):
    assert arm(damping=damping).build().report().findings == ()


def test_damping_in_per_cent_is_asked_about():
    (said,) = arm(damping=[5, 0.01]).build().report().findings
    assert "the damping ratio of 'y1' is above 1" in said
