"""Chains whose axes are parallel, or at right angles, up to some digit, as CAD programs write them, against MuJoCo.

The common normal of two such axes is as far away as the digit says: what is moved
there, or snapped to the right angle, must not change the motion. Grown from a seed, in
metres and in millimetres, hinges and slides, with a branch.
"""

import numpy as np
import pytest

from polhode.formats.mjcf import read_mjcf

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.mujoco_twin import Twin, check  # noqa: E402 - it needs MuJoCo

GAPS = [10.0**-k for k in range(2, 13)]
METHODS = {1: ("poincare", "lagrange", "kane", "denoc"), 2: ("poincare", "denoc")}  # by seed


def grown(seed, gap, size=1.0, right_angles=False):
    """Five bodies and a sixth on the second, with axes that are parallel, or at right angles in turn, but for `gap`."""
    draw = np.random.default_rng(seed)
    turn = np.linalg.qr(draw.normal(size=(3, 3)))[0]  # the axes all lean alike

    def numbers(values):
        return " ".join(repr(float(x)) for x in values)

    def body(k, inside=""):
        axis = turn[:, 2 * (k % 2) if right_angles else 2] + gap * draw.normal(size=3)
        kind = "slide" if draw.random() < 0.25 else "hinge"
        moments = draw.uniform(1, 1.4, 3) * size**2
        return (
            f'<body name="b{k}" pos="{numbers(draw.normal(size=3) * 0.4 * size)}">'
            f'<inertial pos="{numbers(draw.normal(size=3) * 0.2 * size)}" mass="{draw.uniform(0.5, 2)!r}" '
            f'diaginertia="{numbers(moments)}" quat="{numbers(draw.normal(size=4))}"/>'
            f'<joint name="j{k}" type="{kind}" axis="{numbers(axis)}" '
            f'pos="{numbers(draw.normal(size=3) * 0.1 * size)}"/>'
            f"{inside}</body>"
        )

    tree = ""
    for k in reversed(range(5)):
        tree = body(k, tree + (body(5) if k == 1 else ""))
    return f"<mujoco><compiler angle='radian'/><worldbody>{tree}</worldbody></mujoco>"


@pytest.mark.parametrize("right_angles", [False, True], ids=["parallel", "right angles"])
@pytest.mark.parametrize("size", [1.0, 1e-3], ids=["metres", "millimetres"])
@pytest.mark.parametrize("gap", GAPS)
def test_axes_that_are_nearly_aligned_move_as_in_mujoco(gap, size, right_angles):
    for seed, methods in METHODS.items():
        text = grown(seed, gap, size, right_angles)
        check(read_mjcf(text), [Twin(mujoco.MjModel.from_xml_string(text), seed, size)], methods)
