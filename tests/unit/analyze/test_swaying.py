"""Modes as motions that can be seen."""

import numpy as np
import pytest

import polhode as ph


def test_a_mode_moves_by_its_shape(tmp_path):
    build = ph.Builder("pair")
    for name, at in (("a", 0.0), ("b", 1.0)):
        build.body(
            name, at=(at, 0, 0), joint=ph.revolute("y", name=name, damping=0.2 * at), mass=1, com=(0, 0, -1),
            inertia=(0, 0, 0),
        )  # fmt: skip
    build.force("a_dot", "3*(b - a)")
    build.force("b_dot", "3*(a - b)")
    modes = ph.linearize(ph.formulate(build.build()).compile()).modes()
    seen = modes.motion(1)
    shape = modes.shape(1)
    # the phase of one behind the other, by least squares with two periods in four seconds
    angle = np.pi * seen.t
    fit = np.column_stack([np.cos(angle), -np.sin(angle)])
    a, b = (complex(*np.linalg.lstsq(fit, seen[name], rcond=None)[0]) for name in "ab")
    assert a / b == pytest.approx(shape["a"] / shape["b"], abs=1e-9)
    assert abs((a / b).imag) > 1e-3
    assert max(abs(a), abs(b)) == pytest.approx(0.25)
    assert abs(modes.motion(1, amplitude=2.0)["a"]).max() == pytest.approx(2 * abs(seen["a"]).max())
    page = modes.animate(1, tmp_path / "mode.html")
    assert "Mode 1: " in page.read_text(encoding="utf-8")


def test_loops_stay_closed_and_drifts_move():
    build = ph.Builder("crank")
    build.body("crank", joint=ph.revolute("y", name="a"), mass=1, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    build.body("rod", parent="crank", at=(0.3, 0, 0), joint=ph.revolute("y", name="b"), mass=1, com=(0.4, 0, 0))
    build.body("slider", joint=ph.prismatic("x", name="x", stiffness=90.0, rest=0.9), mass=2)
    build.marker("end", body="rod", at=(0.8, 0, 0))
    build.marker("pin", body="slider")
    build.loop("pin", "end", "hinge", axis="y", name="close")
    dyn = ph.formulate(build.build()).compile()
    found = ph.equilibrium(dyn, {"a": 0.8, "b": -1.1, "x": 0.9})
    seen = found.linear().modes().motion(0)
    gap = np.array([np.asarray(dyn.pose("end")(q))[:3, 3] - np.asarray(dyn.pose("pin")(q))[:3, 3] for q in seen.q])
    assert abs(gap[:, [0, 2]]).max() < 1e-8
    assert np.ptp(seen["a"]) > 0.05
