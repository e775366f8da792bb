"""What is said of a description that cannot be: the object that was written, and a remedy."""

import re
from pathlib import Path

import pytest

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_elements import element_keys
from polhode.formats.urdf import read_urdf


def arm():
    build = ph.Builder("arm")
    build.body("link", joint=ph.revolute("y", name="j"), mass=1, com=(0, 0, -1))
    build.body("hand", parent="link", joint=ph.revolute("y", name="k"), mass=1, com=(0, 0, -1))
    return build


@pytest.mark.parametrize(("relief", "name"), [("0.1*j", "j"), ("0.1*sin(t)", "t"), ("x*j_dot", "j_dot")])
@pytest.mark.parametrize("options", [{}, {"stiffness": 1e4}])
def test_a_relief_is_of_places_on_the_ground(relief, name, options):
    build = arm()
    build.contact("link", relief=relief, name="foot", **options)
    with pytest.raises(ph.ModelError, match=f"'foot': its relief depends on {name}, expected x and y, places on the"):
        build.build()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[switch]\nat = 1\n[[switch]]\nat = 2\n', "two brackets each time"),
        ('[[switch]]\nat = 1\n[switch]\nat = 2\n', "two brackets each time"),
        ('name = "a"\nname = "b"\n', "A name stands for one value"),
        ('name = "arm\ngravity = [0, 0, -1]\n', "Text ends with the quote it begins with"),
        ("name = 'arm", "Text ends with the quote it begins with"),
        ("[[body]]\nmass = 2*m\n", "Expressions go in quotes"),
        ("[[body]]\nmass = m\n", "Expressions go in quotes"),
    ],
)  # fmt: skip
def test_text_that_is_no_toml_is_told_why(text, said):
    with pytest.raises(ph.ModelError, match=said) as found:
        read_toml(text)
    assert ("Expressions go" in str(found.value)) == ("Expressions go" in said)


def test_calls_that_do_not_exist_are_told_of_calls():
    with pytest.raises(AttributeError, match=r"no 'damper'\. Give a joint its damping=, or make it a spring"):
        arm().damper("link", "world", 1)
    with pytest.raises(AttributeError, match=r"Did you mean 'spring'\?"):
        _ = arm().sprng
    with pytest.raises(AttributeError) as found:
        _ = arm().nam
    assert "'name'" not in str(found.value)
    build = arm()
    build.spring("link", "world", stiffness=0, length=0, damping=2)  # the remedy
    assert build.build()


def test_the_motor_is_named_and_not_what_it_is_made_of():
    build = arm()
    build.motor("M", drives={"j": 1}, inertia=0.1, on="hnd")
    with pytest.raises(ph.ModelError, match=r"Motor 'M': on is 'hnd', expected a body or marker\. Did you mean 'hand'"):
        build.build()
    with pytest.raises(ph.ModelError) as found:
        arm().motor("M", drives={"j": 1}, lower=2, upper=-2)
    assert found.value.faults == ("Motor 'M': its control is limited from 2 to -2, expected the lower limit first.",)


def test_what_is_not_yet_equations_or_not_yet_compiled():
    model = arm().build()
    with pytest.raises(TypeError, match=r"found the model 'arm'\. Make one with formulate\(model\)\.compile\(\)"):
        ph.simulate(model, t_end=1.0)
    with pytest.raises(TypeError, match=r"found Equations\. Compile them: equations\.compile\(\)"):
        ph.simulate(ph.formulate(model), t_end=1.0)
    with pytest.raises(ValueError, match=r"There is no method 'quasicordinate'\. Did you mean 'quasicoordinate'\?"):
        ph.formulate(model, "quasicordinate")


def test_controls_that_are_functions_go_with_tau():
    build = arm()
    build.actuator("push", {"j_dot": 1})
    dynamics = ph.formulate(build.build()).compile()
    with pytest.raises(TypeError, match=r"controls is a function, .* Give it as tau=: it may name actuators"):
        ph.simulate(dynamics, t_end=0.1, controls=lambda t, q, u: {"push": 1.0})
    with pytest.raises(TypeError, match="controls is a Sampled controller"):
        ph.simulate(dynamics, t_end=0.1, controls=ph.Sampled(lambda t, q, u: {"push": 1.0}, 0.01))
    traj = ph.simulate(dynamics, t_end=0.1, tau=lambda t, q, u: {"push": 1.0})  # the remedy
    assert traj.outcome.finished


def test_two_joints_of_one_role_are_noted():
    joint = '<joint name="{}" type="revolute"><parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/>{}</joint>'
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    links = "".join(
        f'<link name="{n}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>" for n in "abc"
    )  # fmt: skip
    ends = '<joint name="j1"><role>joint1</role></joint><joint name="j2"><role>{}</role></joint>'
    drives = '<actuator name="m1"/><actuator name="m2"/>'
    kind = "<type>transmission_interface/DifferentialTransmission</type>"
    joints = joint.format("j1", "a", "b", limit) + joint.format("j2", "b", "c", limit)
    text = f'<robot name="r">{links}{joints}<transmission name="t">{kind}{drives}{ends}</transmission></robot>'
    assert len(read_urdf(text.format("joint2")).actuators) == 2
    model = read_urdf(text.format("joint1"))
    assert not model.actuators
    said = "Transmission 't' is not read: 2 of its joints have the role 'joint1', expected one of them."
    assert said in model.notes


def test_long_expressions_are_cut_with_an_ellipsis():
    build = arm()
    short, long = "j - 2*k", " + ".join(f"{n}.5*sin({n}*j)*cos(k)" for n in range(1, 9))
    build.constraint(short, name="short", active=False)
    build.constraint(long, name="long", active=False)
    build.state("s", rate=long)
    build.switch(when=f"{long} > 1", engage="short")
    model = build.build()
    said = [model.constraints[0].described(), model.constraints[1].described(), model.states[0].described()]
    assert "..." not in said[0]
    assert said[1].endswith(" ... = 0")
    assert said[2].endswith(" ...")
    assert str(model.switches[0]).endswith(" ...")
    assert max(map(len, said)) < 80


def test_one_of_a_thing_is_said_in_the_singular():
    build = arm()
    build.constraint("j - 2*k", name="tie")
    (said,) = build.build().report().findings
    assert said.startswith("The constraint has 1 equation: 'tie' 1. Simulations hold it;")
    build.constraint("j - 3*k", name="other")
    (said,) = build.build().report().findings
    assert said.startswith("The constraints have 2 equations: 'tie' 1, 'other' 1. Simulations hold them;")
    dynamics = ph.formulate(arm().build()).compile()
    run = {"method": "rk4", "output": "steps"}
    assert str(ph.simulate(dynamics, t_end=0.1, step=0.1, **run).outcome).endswith("in 1 step.")
    assert str(ph.simulate(dynamics, t_end=0.1, step=0.05, **run).outcome).endswith("in 2 steps.")


def test_every_table_of_toml_is_in_the_documentation():
    text = (Path(__file__).parents[3] / "docs/models.md").read_text(encoding="utf-8")
    rows = {m[1]: set(re.findall(r"`(\w+)`", m[2])) for m in re.finditer(r"\| `\[\[(\w+)\]\]` \|(.*)\|\n", text)}
    for table, (_, known) in element_keys().items():
        assert table in rows, table
        yielding = rows.get(f"compliant_{table}", set())  # which the row refers to
        if table != "motor":  # whose keys are in docs/drives.md
            assert known - {"active"} <= rows[table] | yielding, table


def test_commands_that_change_nothing_are_no_events_and_switches_are():
    build = arm()
    build.brake("j_dot", name="brake")
    dynamics = ph.formulate(build.build()).compile()
    sim = ph.Simulation(dynamics)
    sim.run(0.1)
    sim.engage("brake")
    assert len(sim.events) == 1
    traj = ph.simulate(dynamics, t_end=0.2, switches=[ph.at(0.1, engage="brake")])
    assert [str(event).partition(", ")[2] for event in traj.events[1:]] == ["at 0.1 s: nothing changes"]


@pytest.mark.parametrize("call", ["gear", "clutch"])
def test_a_ratio_of_0_is_refused(call):
    build = arm()
    with pytest.raises(ph.ModelError, match="'mesh': its ratio is 0, expected more or less than 0"):
        getattr(build, call)("j_dot", "k_dot", ratio=0, name="mesh")


def test_a_control_that_is_written_wrongly_is_no_parameter():
    build = arm()
    build.actuator("jet", {"j_dot": 1}, force="10*jet_contrl")
    with pytest.raises(ph.ModelError, match="'jet_contrl', and nothing has its control"):
        build.build()
    build.force("k_dot", "2*jet_control")  # used elsewhere: then it is a parameter
    assert "jet_contrl" in map(str, build.build().parameters)


@pytest.mark.parametrize("call", [ph.formulate, ph.simulate, ph.linearize, ph.check, ph.assemble])
def test_a_builder_is_no_model_yet(call):
    name = call.__name__.rpartition(".")[2]  # `simulate` is a call and a folder
    with pytest.raises(TypeError, match=rf"{name} takes .*, found the builder 'arm'.*build\.build\(\)"):
        call(arm(), **({"t_end": 1} if call is ph.simulate else {}))


def test_a_law_is_a_prescribed_coordinate():
    with pytest.raises(AttributeError, match=r"no 'law'.*build\.prescribe\("):
        arm().law("j", "t")


def test_an_inertia_of_two_entries_says_all_that_is_allowed():
    with pytest.raises(ph.ModelError, match="inertia has 2 entries, expected 3 principal moments, 6 entries"):
        arm().body("foot", joint=ph.revolute("y"), mass=1, inertia=[3, 3])


def test_a_speed_that_follows_from_a_motor_says_from_which():
    build = arm()
    build.motor("M", inertia=1e-3, ratio=50, axis="y").drives({"j": 1})
    dynamics = ph.formulate(build.build(), "quasicoordinate").compile()
    with pytest.raises(KeyError, match="tau: 'j_dot' is no speed of these equations, in which it follows from 'M_dot'"):
        ph.simulate(dynamics, t_end=1, tau={"j_dot": 5})
    free = ph.formulate(build.build(), "quasicoordinate", embed=False).compile()  # as it advises
    assert ph.simulate(free, t_end=0.01, tau={"j_dot": 5}).outcome.finished
    with pytest.raises(ValueError, match="controls of 'M' is nan"):
        ph.simulate(dynamics, t_end=1, controls={"M": float("nan")})
    with pytest.raises(ValueError, match=r"z0? has shape \(1,\), expected \(0,\): there are none"):
        ph.linearize(dynamics, z=[1])
    with pytest.raises(ValueError, match=r"^step_cost: the equations have speeds of their own"):
        dynamics.step_cost()


def test_an_event_that_is_not_there_says_how_many_there_are():
    build = arm()
    build.brake("j_dot", name="brake")
    events = ph.simulate(ph.formulate(build.build()).compile(), t_end=0.1).events
    with pytest.raises(IndexError, match="There is no event 99: the run has 1"):
        events[99]


def test_a_distance_of_0_that_is_latched_alone_says_what_to_do():
    build = arm()
    build.latch("link", "world", "distance", name="tie", active=False)
    sim = ph.Simulation(ph.formulate(build.build()).compile())
    with pytest.raises(RuntimeError, match=r"'tie' cannot be engaged at t = 0 s: no speeds satisfy it.*kind=\"point\""):
        sim.engage("tie")
