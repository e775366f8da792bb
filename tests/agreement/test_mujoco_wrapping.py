"""Tendons that wrap around spheres and cylinders: lengths, rates and forces are MuJoCo's."""

import numpy as np
import pytest

import polhode as ph
from polhode.formats.mjcf import read_mjcf
from polhode.graph import diff, evaluate, symbol
from tests.mechanics import close

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.agreement.test_mujoco_actuators import values_at  # noqa: E402 - it needs MuJoCo
from tests.mujoco_twin import Twin  # noqa: E402

MACHINE = """<mujoco><compiler angle="radian"/>
  <worldbody>
    <site name="ground" pos="0.4 -0.5 0.1"/><site name="above post" pos="0.05 0 1"/>
    <geom name="post" type="cylinder" fromto="0 -1 0.2 0.1 1 0.3" size="0.15"/>
    <body name="arm" pos="0.1 0 0.3" euler="0.2 0.1 0.4"><joint name="shoulder" type="ball"/>
      <inertial pos="0 0.1 0.1" mass="2" diaginertia="0.1 0.2 0.15"/>
      <site name="upper" pos="0.3 0.1 0.2"/>
      <geom name="knob" type="sphere" pos="0.5 0.1 0.2" size="0.12"/><site name="by knob" pos="0.5 0.1 0.4"/>
      <body name="fore" pos="0.6 0 0.1"><joint name="elbow" axis="1 2 2" pos="0.1 0 0"/>
        <inertial pos="0.1 0 0.1" mass="1" diaginertia="0.05 0.04 0.03"/><site name="tip" pos="0.4 0.2 0.1"/>
        <geom name="roll" type="cylinder" pos="0.1 0.1 0" euler="0.5 0.3 0.1" size="0.1 0.3"/>
        <site name="by roll" pos="0.1 0.4 0.1"/></body></body>
    <body name="box" pos="-0.3 0.3 0.2"><freejoint name="free"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      <site name="hook" pos="0.1 0.2 0.4"/><geom name="ball" size="0.3"/></body>
  </worldbody>
  <tendon><spatial name="cord" stiffness="3" damping="0.4">{path}</spatial></tendon>
  <actuator><position name="servo" tendon="cord" kp="4" kv="0.3"/></actuator></mujoco>"""


def path(*names):
    sites = ("ground", "upper", "tip", "hook")
    kinds = ("site" if name in sites else "geom" for name in names)
    pairs = ((kind, *name.partition(" of ")[::2]) for kind, name in zip(kinds, names, strict=True))
    return "".join(
        f'<{kind} {kind}="{name}"' + (f' sidesite="{side}"' if side else "") + "/>" for kind, name, side in pairs
    )


PATHS = {
    "sphere": path("ground", "knob", "tip"),
    "fixed cylinder": path("ground", "post", "tip"),
    "cylinder": path("upper", "roll", "hook"),
    "all": path("ground", "post", "upper", "knob", "tip", "ball", "hook"),
    "side of a sphere": path("ground", "knob of by knob", "tip"),
    "side of a fixed cylinder": path("ground", "post of above post", "tip"),
    "side of a cylinder": path("upper", "roll of by roll", "hook"),
    "pulley": path("upper", "roll", "tip") + '<pulley divisor="3"/>' + path("ground", "ball", "hook"),
}


@pytest.mark.parametrize("name", PATHS)
def test_wrapping_is_mujocos(name):
    text = MACHINE.format(path=PATHS[name])
    theirs, model = mujoco.MjModel.from_xml_string(text), read_mjcf(text)
    eq, wrapped, straight = ph.formulate(model), 0, 0
    for seed in range(120):
        twin = Twin(theirs, seed, reach=0.2)
        found = np.array(evaluate(list(eq.Q), values_at(model, twin)), dtype=float)
        assert close(found, twin.own, 1e-10), seed
        points = twin.data.wrap_obj.ravel()[: twin.data.ten_wrapnum[0]]
        on_geoms = int((points >= 0).sum())
        wrapped, straight = wrapped + (on_geoms > 0), straight + (on_geoms < 2 * (theirs.wrap_type > 3).sum())
    assert wrapped > 4  # some of the states have either
    assert straight > 4


@pytest.mark.parametrize("name", ["sphere", "cylinder", "all", "side of a sphere", "side of a cylinder"])
def test_rates_are_derivatives_of_lengths(name):
    """The moment arms, which come from the straight parts alone, beside the derivative of the length as a whole."""
    from polhode.formats import mjcf_tendons

    lengths = []
    act = mjcf_tendons._act

    def keep(element, name, path, *rest):
        lengths.append(path)
        return act(element, name, path, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mjcf_tendons, "_act", keep)
        model = read_mjcf(MACHINE.format(path=PATHS[name]))
    (path,) = lengths
    theirs = mujoco.MjModel.from_xml_string(MACHINE.format(path=PATHS[name]))
    for seed in range(10):
        at = values_at(model, Twin(theirs, seed, reach=0.2))
        slope = evaluate([diff(path.length, symbol("elbow"))], at)[0]
        assert slope == pytest.approx(evaluate([path.rates.get("elbow_dot", symbol("elbow") * 0)], at)[0], abs=1e-12)
