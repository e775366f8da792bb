"""Bodies that deform in TOML: what was said reads back equal, and every fault is said."""

import pytest

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.model import ModelError

L, m, EI = ph.symbols("L m EI")
EXAMPLES = {
    "plain": {"length": 1.5, "mu": 2, "EI_z": 300},
    "symbols": {"length": L, "mu": m, "EI_z": EI, "EI_y": 2 * EI, "modes": 2, "damping": ph.symbol("zeta")},
    "all kinds": {
        **{"length": 1.5, "mu": 2, "EI_z": 300, "EI_y": 0.1, "GJ": 1, "EA": 2, "J_y": 0.1, "J_z": 0.3},
        **{"modes": {"y": 3, "stretch": 2}, "rotary": True, "damping": {"stretch": 0.1}, "eta": 1e-4},
    },
    "one of twist": {"length": 1.5, "mu": 2, "EI_z": 300, "GJ": 1, "J": 0.3},
    "one thin section": {"length": 1.5, "mu": 2, "GJ": 1, "J_y": 0.3},
    "varying": {
        **{"length": L, "mu": [(0, 2), (0.3, 1), (0.3, 0.5), (1, 0.1)], "EI_z": [(0, 1 / 3), (1, 0.1)], "GJ": 1},
        **{"J": [(0, 0.1), (1, 0.2)], "shapes": "polynomial"},
    },
    "skew": {"length": 1, "mu": 2, "EI_z": 3, "axis": (1, 2, 3), "across": (-2, 1, 0), "start": (L, 0.1, 0)},
    "along -y": {"length": 1, "mu": 2, "EI_z": 3, "axis": "-y", "across": "z"},
    "a mass": {"length": L, "mu": m, "EI_z": 3, "ends": "clamped-mass", "tip_mass": 2 * L * m},
    "words": {"length": 1, "mu": 2, "EI_z": 3, "ends": "pinned-pinned", "order": "full", "rotation": "linear"},
    "own shapes": {"length": 1, "mu": 2, "EI_z": 3, "EI_y": 3, "shapes": [[0, 0, 1], [0, 0, 0.1, 1 / 3]]},
    "shapes of one plane": {"length": 1, "mu": 2, "EI_z": 3, "GJ": 1, "J": 1, "shapes": {"twist": [[0, 1], [0, 0, 1]]}},
}


@pytest.mark.parametrize("hub", [{}, {"mass": 3, "com": (0.1, 0, 0)}])
@pytest.mark.parametrize("name", EXAMPLES)
def test_beams_read_back_equal(name, hub):
    build = ph.Builder("arm")
    build.body("arm", joint=ph.revolute("z"), flexible=ph.beam(**EXAMPLES[name]), **hub)
    model = build.build()
    text = write_toml(model)
    again = read_toml(text)
    assert again == model
    assert again.bodies[0].flexible == ph.beam(**EXAMPLES[name])
    assert ("\nmass = " in text) == bool(hub)


def test_a_beam_as_people_write_it():
    model = read_toml(
        """
        symbols = ["L", "m"]
        [[body]]
        name = "arm"
        joint = { type = "revolute", axis = "z" }
        beam = { length = "L", mu = "m/L", EI_z = "3*m", modes = { y = 2 }, damping = { y = 0.01 }, axis = [0, 2, 0] }
        [[force]]
        speed = "arm_y1_dot"
        value = "-2*arm_y1*m"
        """
    )
    assert model.coordinates == ("arm", "arm_y1", "arm_y2")
    assert model.bodies[0].flexible == ph.beam(length=L, mu=m / L, EI_z=3 * m, modes={"y": 2}, damping=0.01, axis="y")


def test_a_function_cannot_be_written():
    build = ph.Builder("arm")
    build.body("arm", joint=ph.revolute("z"), flexible=ph.beam(length=1, mu=lambda x: 2 - x, EI_z=3))
    with pytest.raises(ModelError, match="Body 'arm': beam: mu is a function of Python, which a file cannot hold"):
        write_toml(build.build())


FAULTS = [
    ("beam = 3", "Body 'arm': beam is 3, expected a table [body.beam]."),
    ("beam = { length = 1, EI_z = 2 }", "Body 'arm': beam: mu is missing. Give mu = ..."),
    ("beam = { length = 1, mu = 2, EI = 2 }", "Body 'arm': beam: unknown key 'EI'. Did you mean 'EI_z' or 'EI_y'?"),
    ("beam = { length = 1, mu = 2, EI_z = -2 }", "Body 'arm': beam: EI_z is -2, expected more than 0."),
    ("beam = { length = 1, mu = 'k', EI_z = 2 }", "Body 'arm': beam: mu is 'k': unknown name k."),
    ("beam = { length = inf, mu = 1, EI_z = 2 }", "Body 'arm': beam: length is inf, expected a finite number."),
    ("beam = { length = 1, mu = 1, EI_z = 2, modes = 'many' }", "Body 'arm': beam: modes is 'many', expected a whole"),
    ("beam = { length = 1, mu = 1, EI_z = 2, ends = 5 }", "Body 'arm': beam: ends is 5, expected 'clamped-free'"),
    ("beam = { length = 1, mu = [[[0]]], EI_z = 2 }", "Body 'arm': beam: mu is [0], expected a number"),
    ("beam = { length = 1, mu = 1, EI_z = 2, damping = { y = [1] } }", "Body 'arm': beam: damping is [1"),
    ("", "Body 'arm': mass is missing. Give mass = ..."),
]


@pytest.mark.parametrize(("line", "said"), FAULTS)
def test_faults_name_the_body_and_come_with_those_of_others(line, said):
    text = f"""
        [[body]]
        name = "arm"
        joint = {{ type = "revolute", axis = "z" }}
        {line}
        [[body]]
        name = "other"
        joint = {{ type = "revolute", axis = "z" }}
        mass = -1
        [[force]]
        speed = "arm_y1_dot"
        value = "-arm_y2"
        """
    with pytest.raises(ModelError) as error:
        read_toml(text)
    assert any(said in text for text in error.value.faults)
    assert any("Body 'other': mass is -1" in text for text in error.value.faults)
    if line:
        assert len(error.value.faults) == 2 + ("unknown key" in said)
