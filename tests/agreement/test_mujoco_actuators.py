"""Actuators of MJCF against MuJoCo: their forces on the speeds, the rates of their activations, and motion."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.formats.mjcf import read_mjcf
from polhode.graph import evaluate, symbol
from polhode.model.drives import acted
from polhode.model.forces import SpeedForce
from tests.mechanics import close
from tests.robots import missing_packages

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.agreement.test_mujoco_files import ALL, QUICK, both, pair  # noqa: E402 - it needs MuJoCo
from tests.mujoco_twin import Twin, check  # noqa: E402


@cache
def driven():
    """The files with actuators that both engines read."""
    return {name: both(name) for name in QUICK if not isinstance(both(name), str) and both(name)[1].nu}


def values_at(model, twin):
    """The values of a model's variables at the state of a twin."""
    names = (*model.coordinates, *model.speeds, *(state.name for state in model.states))
    found = dict(zip(map(symbol, names), [*twin.q, *twin.u, *twin.data.act], strict=True))
    return found | dict(zip(model.controls, twin.data.ctrl, strict=True))


def pushed(model, at):
    """What actuators on speeds do, (nu,)."""
    places = {speed: k for k, speed in enumerate(model.speeds)}
    found = np.zeros(model.nu)
    own = {f"{a.name} on {speed}" for a in model.actuators for speed, _ in a.along}
    forces = [force for force in acted(model).forces if isinstance(force, SpeedForce) and force.name in own]
    for force, x in zip(forces, evaluate([force.value for force in forces], at), strict=True):
        found[places[force.speed]] += x
    return found


def activation_rates(model, at):
    return evaluate([state.rate for state in acted(model).states], at)


def kinds(theirs):
    """What the actuators are: dynamics, gain, bias and transmission."""
    rows = zip(
        theirs.actuator_dyntype,
        theirs.actuator_gaintype,
        theirs.actuator_biastype,
        theirs.actuator_trntype,
        strict=True,
    )
    enums = (mujoco.mjtDyn, mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtTrn)
    return Counter(
        " ".join(kind(x).name.split("_")[1].lower() for kind, x in zip(enums, row, strict=True)) for row in rows
    )


def test_sixty_files_with_actuators_are_compared():
    if missing := missing_packages():
        pytest.skip(f"NOT TESTED: the packages {', '.join(missing)} are not installed. Use make .venv/robots")
    found = sum((kinds(theirs) for _, theirs in driven().values()), Counter())
    print(f"{len(driven())} files, {sum(found.values())} actuators: {dict(found)}")
    assert len(driven()) >= 60
    assert sum(found.values()) >= 500


@pytest.mark.parametrize("name", ALL)
def test_the_actuators_of_a_file_push_as_in_mujoco(name):
    model, theirs = pair(name)
    if not theirs.nu:
        pytest.skip("no actuators")
    assert len(model.actuators) == theirs.nu
    for seed in (1, 2, 3):
        twin = Twin(theirs, seed)
        at = values_at(model, twin)
        assert close(pushed(model, at), twin.pushed)
        assert close(activation_rates(model, at), twin.data.act_dot)


MACHINE = """<mujoco>
  <compiler angle="radian"/>{before}
  <default>{default}<site type="sphere"/></default>
  <worldbody>
    <site name="ground" pos="0.3 -0.2 0.1" euler="0.3 0.5 -0.7"/>
    <body name="base" pos="0 0 1" quat="0.9 0.1 -0.2 0.3"><freejoint name="free"/>
      <inertial pos="0.1 0.2 0" mass="3" diaginertia="0.3 0.2 0.4"/><site name="on base" pos="0 0.1 0.2"/>
      <body name="arm" pos="0.2 0 0.1" euler="0.2 0.1 0.4">
        <joint name="elbow" axis="1 2 2" pos="0.1 0 0" ref="0.3" range="-1 2" springref="0.2"{elbow}/>
        <inertial pos="0 0.1 0.1" mass="2" diaginertia="0.1 0.2 0.15"/><site name="on arm" pos="0.3 0 0"/>
        <body name="wrist" pos="0.3 0 0.1"><joint name="ball" type="ball" pos="0 0.1 0"/>
          <inertial pos="0.1 0 0.1" mass="1" diaginertia="0.05 0.04 0.03"/>
          <site name="on wrist" pos="0.1 0.2 0.1" euler="1 0.3 0.2"/>
          <body name="hand" pos="0 0 0.2"><joint name="slide" type="slide" axis="0 1 1" range="-0.5 1"/>
            <joint name="finger" axis="1 0 0"/><inertial pos="0.1 0 0.1" mass="1" diaginertia="0.05 0.04 0.03"/>
            <site name="tip" pos="0.1 0 0.3" euler="0.5 0.6 0.7"/></body></body></body></body>
    <body name="post" pos="1 0 0"><joint name="turn" axis="0 1 0"/>
      <inertial pos="0.1 0 0.1" mass="1" diaginertia="0.05 0.04 0.03"/><site name="on post" pos="0.1 0.2 0.4"/></body>
  </worldbody>
  <tendon><fixed name="sum"{tendon}><joint joint="elbow" coef="2"/><joint joint="slide" coef="-0.7"/></fixed>
    <spatial name="cord"{cord}><site site="on arm"/><site site="on wrist"/><site site="tip"/><pulley divisor="2"/>
      <site site="ground"/><site site="on base"/></spatial></tendon>
  <actuator>{actuators}</actuator>{after}
</mujoco>"""
PARTS = ("before", "default", "elbow", "tendon", "cord", "actuators", "after")
MADE = ("position", "velocity", "intvelocity", "damper", "cylinder", "muscle")
POST = """<mujoco><option timestep="1e-5" integrator="RK4"><flag contact="disable"/></option>
  <worldbody><body name="post"><joint name="turn" axis="0 1 0"/>
    <inertial pos="0.1 0 0.1" mass="1" diaginertia="0.05 0.04 0.03"/></body></worldbody>
  <actuator>{}</actuator></mujoco>"""


def grown(actuators="", **parts):
    """The machine in both engines."""
    text = MACHINE.format(**dict.fromkeys(PARTS, "") | parts | {"actuators": actuators})
    theirs = mujoco.MjModel.from_xml_string(text)
    return read_mjcf(text), theirs


def same_forces(model, theirs, seeds=(1, 2), tolerance=1e-10):
    """Compare all forces of the model, by a formulation, and the rates of activations."""
    eq = ph.formulate(model)
    for seed in seeds:
        twin = Twin(theirs, seed)
        at = values_at(model, twin)
        found = np.array(evaluate(list(eq.Q), at))
        assert np.abs(twin.own).max() > 1e-3
        assert close(found, twin.own, tolerance), (found, twin.own)
        assert close(activation_rates(model, at), stopped(theirs, twin.data))


def stopped(theirs, data):
    """Rates of activations that stop at their limits, where MuJoCo clamps after a step."""
    found = data.act_dot.copy()
    for k in np.flatnonzero(theirs.actuator_actlimited):
        at, (low, high) = theirs.actuator_actadr[k], theirs.actuator_actrange[k]
        if (data.act[at] <= low and found[at] < 0) or (data.act[at] >= high and found[at] > 0):
            found[at] = 0
    return found


JOINTS = ('joint="elbow" gear="-2"', 'joint="slide"', 'tendon="sum" gear="3"', 'tendon="cord" gear="-0.5"')
TURNING = (
    'joint="ball" gear="0.3 -0.5 0.7"',
    'jointinparent="ball" gear="0.3 -0.5 0.7"',
    'site="tip" refsite="on arm" gear="0 0 0 0.3 0.2 -0.4"',
)
PLACED = (
    'joint="free" gear="1 2 3 0.4 0.5 0.6"',
    'jointinparent="free" gear="1 2 3 0.4 0.5 0.6"',
    'site="tip" gear="1 2 3 0.4 0.5 0.6"',
    'site="tip" refsite="ground" gear="1 2 3 0 0 0"',
    'site="tip" refsite="on arm" gear="1 0 3 0.1 0 0.2"',
    'site="on post" refsite="tip" gear="0 1 1 0 0 0"',
    'cranksite="on wrist" slidersite="on arm" cranklength="0.9" gear="2"',
    'cranksite="tip" slidersite="ground" cranklength="0.1"',
)
LAWS = (
    "<motor {}/>",
    '<motor {} ctrlrange="-0.5 1" forcerange="-0.3 0.4"/>',
    '<position {} kp="7" kv="0.5" ctrlrange="-1 0.4"/>',
    '<position {} kp="7" dampratio="0.8" timeconst="0.2"/>',
    '<velocity {} kv="3"/>',
    '<intvelocity {} kp="4" dampratio="1.1" actrange="-0.6 0.7"/>',
    '<general {} dyntype="filter" dynprm="0.3" gainprm="5" biastype="affine" biasprm="0.2 -5 -1"/>',
    '<damper {} kv="3" ctrlrange="0.1 1.5"/>',
    '<cylinder {} timeconst="0.3" diameter="0.7" bias="0.1 -2 -0.3"/>',
    '<general {} dyntype="integrator" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="4 5 6"/>',
)
MUSCLES = (
    '<muscle {} lengthrange="-2 5"/>',
    '<muscle {} lengthrange="-3 4" range="0.6 1.4" force="50" vmax="0.7" fpmax="2" fvmax="1.6" tausmooth="0.8"/>',
    '<muscle {} lengthrange="-1 0.5" scale="70" lmin="0.4" lmax="1.9" timeconst="0.1 0.3" forcerange="-8 8"/>',
    '<general {} gaintype="muscle" gainprm="0.7 1.1 20 1 0.5 1.6 1.5 1.3 1.2" biastype="affine" lengthrange="0 2"/>',
)


@pytest.mark.parametrize("law", [*LAWS, *MUSCLES])
def test_every_law_on_hinges_slides_and_tendons(law):
    same_forces(*grown("".join(law.format(target) for target in JOINTS)))


@pytest.mark.parametrize("law", LAWS)
def test_every_law_on_what_turns(law):
    same_forces(*grown("".join(law.format(target) for target in TURNING)))


@pytest.mark.parametrize("target", PLACED)
def test_every_place_to_act_on(target):
    laws = ("<motor {}/>", '<general {} biastype="affine" gainprm="2" biasprm="0.3 -1.5 -0.7"/>')
    same_forces(*grown("".join(law.format(target) for law in laws)))


@pytest.mark.parametrize("target", [*JOINTS, *TURNING[:2], *PLACED])
def test_ratios_of_critical_damping_and_forces_by_mass_are_those_of_the_pose_in_the_file(target):
    muscle = f'<general {target} biastype="muscle" biasprm="0.6 1 -1 3 0.2 1.1 1 2 1" lengthrange="-1 0.1"/>'
    if target.startswith("site") and "refsite" not in target:
        muscle = ""  # its length is 0
    same_forces(*grown(f'<position {target} kp="20" dampratio="0.7"/>{muscle}'))


@pytest.mark.parametrize(
    ("parts", "actuators"),
    [
        ({"elbow": ' actuatorfrcrange="-0.3 0.5"'}, '<motor joint="elbow" gear="-2" forcerange="-0.1 2"/>'),
        ({"tendon": ' actuatorfrcrange="-0.3 0.5"'}, '<motor tendon="sum" gear="-2" forcerange="-0.1 2"/>'),
        ({"after": '<option><flag clampctrl="disable"/></option>'}, '<motor joint="elbow" ctrlrange="-0.1 0.1"/>'),
        ({"after": '<option actuatorgroupdisable="1 3"/>'}, '<motor joint="elbow" gear="2"/>'),
        ({"tendon": ' stiffness="5" damping="0.7"'}, ""),
        (
            {
                "tendon": ' stiffness="5" springlength="0.2 0.4"',
                "cord": ' stiffness="30" springlength="0.2" damping="2"',
            },
            "",
        ),
        ({"cord": ' stiffness="30"', "elbow": ' stiffness="2"'}, ""),
        ({}, '<position joint="elbow" inheritrange="0.2" gear="3"/><intvelocity joint="slide" inheritrange="0.1"/>'),
        ({"tendon": ' range="-0.1 0.1"'}, '<position tendon="sum" inheritrange="1.2" gear="3"/>'),
        ({}, '<position joint="elbow" inheritrange="0" ctrlrange="-0.1 0.1" kp="3"/>'),
        ({}, '<position joint="elbow" kp="3" damping="0.3" gear="2"/><motor joint="elbow" damping="0.2"/>'),
        (
            {"before": '<compiler><lengthrange uselimit="true"/></compiler>'},
            '<muscle joint="elbow" gear="2"/><muscle tendon="sum" lengthrange="-1 2"/>',
        ),
    ],
)
def test_limits_tendons_and_options(parts, actuators):
    same_forces(*grown(actuators, **parts))


def test_the_armature_and_damping_of_actuators_are_reflected_through_their_gear():
    actuators = (
        '<position joint="elbow" kp="3" dampratio="1" armature="0.2" gear="3"/><muscle joint="slide" armature="2"/>'
    )
    model, theirs = grown(actuators.replace("<muscle", '<muscle lengthrange="-1 1"'))
    check(model, [Twin(theirs, 3)], methods=("poincare",))


def settings(draw, tag):
    """A few attributes of an actuator."""
    numbers = {
        "general": ("gainprm", "biasprm", "dynprm"),
        "position": ("kp", "kv", "timeconst", "dampratio"),
        "velocity": ("kv",),
        "intvelocity": ("kp", "kv", "dampratio"),
        "damper": ("kv",),
        "cylinder": ("timeconst", "area", "diameter"),
        "muscle": ("force", "tausmooth", "scale", "vmax", "fpmax", "fvmax"),
        "motor": (),
    }[tag]
    found = {key: f"{draw.uniform(0.2, 3):.3g}" for key in numbers if draw.random() < 0.5}
    if tag == "general" and draw.random() < 0.7:
        found |= {key: " ".join(f"{x:.3g}" for x in draw.normal(size=3)) for key in ("gainprm", "biasprm")}
        found |= {"gaintype": draw.choice(["fixed", "affine"]), "biastype": draw.choice(["none", "affine"])}
        found |= {"dyntype": draw.choice(["none", "integrator", "filter", "filterexact"])}
    for key in ("ctrlrange", "forcerange"):
        if draw.random() < 0.3:
            low = draw.uniform(0, 0.4)
            found[key] = f"{low:.3g} {low + 1:.3g}"
    if draw.random() < 0.5:
        found["gear"] = " ".join(f"{x:.3g}" for x in draw.normal(size=draw.integers(1, 4)))
    if "kv" in found:
        found.pop("dampratio", None)
    return f"<{tag} " + " ".join(f'{key}="{text}"' for key, text in found.items())


def test_default_classes_are_resolved_as_in_mujoco():
    compared = Counter()
    for seed in range(150):
        draw = np.random.default_rng(seed)
        tags = [*map(str, draw.choice(["general", "motor", *MADE], size=4))]
        first, second, inner, own = (settings(draw, tag) + "/>" for tag in tags)
        own = own.replace("/>", ' class="x" joint="turn"' + (' lengthrange="-1 1"/>' if draw.random() < 0.8 else "/>"))
        default = f'{first}{second if draw.random() < 0.5 else ""}<default class="x">{inner}</default>'
        try:
            model, theirs = grown(own, default=default)
        except ValueError as refusal:
            if isinstance(refusal, ph.ModelError):
                raise
            continue  # MuJoCo refuses it: a damper without ctrlrange, a muscle whose lengths it does not find
        if not model.actuators:
            assert "has no lengthrange" in model.notes[-1]
            continue
        twin = Twin(theirs, seed)
        if not np.isfinite(twin.pushed).all():
            continue  # a ratio of critical damping where kp is negative
        at = values_at(model, twin)
        assert close(pushed(model, at), twin.pushed), (seed, default, own)
        assert close(activation_rates(model, at), twin.data.act_dot), (seed, default, own)
        compared[tags[3]] += 1
    assert min(compared[tag] for tag in ("general", "motor", *MADE)) >= 5, compared


@pytest.mark.parametrize(
    "actuator",
    [
        '<position name="it" joint="turn" kp="30" dampratio="0.3" timeconst="0.02"/>',
        '<muscle name="it" joint="turn" lengthrange="-1.5 1.5" force="9"/>',
        '<intvelocity name="it" joint="turn" kp="40" kv="1" actrange="-0.03 0.05"/>',
    ],
)
def test_what_is_driven_moves_as_in_mujoco(actuator):
    text = POST.format(actuator)
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.ctrl[0] = 0.6
    while data.time < 0.2 - 1e-9:
        mujoco.mj_step(theirs, data)
    model = read_mjcf(text)
    ours = ph.simulate(ph.formulate(model).compile(), t_end=0.2, tau={"it": 0.6})
    assert abs(ours.q[-1, 0] - data.qpos[0]) < 2e-4 * max(1, abs(data.qpos[0]))
    assert abs(ours.z[-1, 0] - data.act[0]) < 2e-4
    assert abs(data.qpos[0]) > 0.01
