"""What is given where something else is expected is refused by name, with what to give."""

import re
import warnings

import pytest

import polhode as ph
from polhode.interact import CouplerWarning, Link, Scripted, Udp, coupler, echo, effective_mass, realtime, suggest


@pytest.fixture(scope="module")
def build():
    made = ph.Builder("sledge", gravity=(0, 0, 0))
    made.body("sledge", joint=ph.prismatic("x", name="x"), mass=2)
    return made


@pytest.fixture(scope="module")
def dynamics(build):
    return ph.formulate(build.build()).compile()


def test_models_are_no_dynamics(build, dynamics):
    model = build.build()
    for verb, call in {
        "realtime": realtime,
        "suggest": lambda given: suggest(given, "sledge", rate=1000),
        "effective_mass": lambda given: effective_mass(given, "sledge", [0.0]),
    }.items():
        with pytest.raises(TypeError, match=rf"^{verb} takes a Dynamics, found the model 'sledge'. Make one with"):
            call(model)
    with pytest.raises(TypeError, match=re.escape("found Dynamics. Give its model: dynamics.equations.model.")):
        coupler(dynamics, "sledge", stiffness=1, damping=1)
    with pytest.raises(TypeError, match=re.escape("found Builder. Give what it builds: build.build().")):
        coupler(build, "sledge", stiffness=1, damping=1)
    assert coupler(dynamics.equations.model, "sledge", stiffness=1, damping=1).marker == "sledge"


def test_a_link_needs_a_device(build):
    held = coupler(build.build(), "sledge", stiffness=1, damping=1)
    loop = realtime(ph.formulate(held.model).compile())
    with pytest.raises(TypeError, match=r"the device 3 has no read, write, stale, .*expected a device with read"):
        Link(loop, held, 3)
    assert loop.links == []


def test_controllers_and_their_rates_are_refused_apart(dynamics):
    loop = realtime(dynamics)
    with pytest.raises(TypeError, match="control: found 3, expected a function"):
        loop.control(3)
    with pytest.raises(ValueError, match=r"control: rate is 10000.0, expected calls a second, up to the 1000 of"):
        loop.control(lambda t, q, u: [0.0], rate=1e4)


def test_ports_that_are_none(capsys):
    with pytest.raises(ValueError, match="Udp: port is 99999, expected 0 to 65535"):
        Udp(99999)
    with pytest.raises(SystemExit):
        echo.main(["--port", "-1"])
    assert "port is -1" in capsys.readouterr().err


def test_what_a_warning_tells_to_take_is_taken_without_one(build):
    def warned(stiffness, damping, b):
        held = coupler(build.build(), "sledge", stiffness=stiffness, damping=damping)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            Link(realtime(ph.formulate(held.model).compile()), held, Scripted(lambda t: (0, 0, 0), damping=b))
        return [str(each.message) for each in seen if each.category is CouplerWarning]

    for b in (0.7, 2.0, 3.3):
        (said,) = warned(1e5, 0.5, b)
        stiffness, damping = re.search(r"Take stiffness (\S+) N/m and damping (\S+) N s/m", said).groups()
        assert warned(float(stiffness), float(damping), b) == []
        assert warned(1.01 * float(stiffness), float(damping), b)
