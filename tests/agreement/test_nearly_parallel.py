"""Axes that are parallel but for the digits of a file: the frames of "denoc" against "poincare", which has none.

They share the inertia matrix' and gravity's formulas, but not frames and inertias; the velocity terms and the
recursions are each their own. MuJoCo is a third opinion.
"""

import numpy as np
import pytest

import polhode as ph
from polhode.graph import vector
from polhode.kinematics import derive, reduced
from tests.mechanics import At, random_state

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")
DECADES = [10.0**-k for k in range(2, 13)]


def chain(seed, tilt, size=1.0, links=4, slides=False):
    """Hinges, and slides, about one direction but for a tilt of each; branches, offsets and inertias at random."""
    draw = np.random.default_rng(seed)
    build = ph.Builder("nearly parallel", gravity=draw.normal(size=3) * 9.81 * size)
    axis = draw.normal(size=3) if seed % 2 else np.array([0.0, 1.0, 0.0])
    for i in range(links):
        A = draw.normal(size=(3, 3)) * size
        about = axis + tilt * np.linalg.norm(axis) * draw.normal(size=3)
        about /= np.linalg.norm(about)
        kind = ph.prismatic if slides and i % 3 == 1 else ph.revolute
        at, com = draw.uniform(-0.5, 0.5, 3) * size, draw.uniform(-0.3, 0.3, 3) * size
        parent = f"b{i - 1 - (i == links - 1 > 1)}" if i else "world"
        build.body(
            f"b{i}",
            parent=parent,
            at=at,
            joint=kind(about),
            mass=1 + i,
            com=com,
            inertia=np.trace(A @ A.T) * np.eye(3) - A @ A.T,
        )
    return build.build()


def differences(model, seed, size=1.0):
    """Of M, c and the accelerations, each row and column measured by the inertia of its speed."""
    ours, theirs = (ph.formulate(model, method=method) for method in ("denoc", "poincare"))
    q, u = random_state(ours, seed)
    slides = np.array([body.joint.kind == "prismatic" for body in model.bodies])
    q, u = np.where(slides, q * size, q), np.where(slides, u * size, u)
    at, beside = At(ours, q, u), At(theirs, q, u)
    M, N = at(ours.M), beside(theirs.M)
    inertia = np.sqrt(np.diag(N))
    tau = vector(ph.symbols([f"tau{i}" for i in range(len(u))]))
    given = np.random.default_rng(seed).normal(size=len(u)) * inertia
    at.values[tau] = list(given)
    c, d = at(ours.c) / inertia, beside(theirs.c) / inertia
    found, udot = at(ours.terms.forward(tau)) * inertia, np.linalg.solve(N, given - beside(theirs.c)) * inertia
    yield np.abs((M - N) / np.outer(inertia, inertia)).max()
    yield np.abs(c - d).max() / np.abs(d).max()
    yield np.abs(found - udot).max() / np.abs(udot).max() / np.linalg.cond(N / np.outer(inertia, inertia))


@pytest.mark.parametrize("tilt", DECADES)
@pytest.mark.parametrize("seed", range(3))
def test_nearly_parallel_axes_keep_their_inertia(tilt, seed):
    for links, slides in ((2, False), (5, True)):
        assert max(differences(chain(seed, tilt, links=links, slides=slides), seed)) < 1e-10


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("tilt", [1e-3, 1e-6, 1e-7, 1e-9, 1e-11])
def test_at_every_size(size, tilt):
    assert max(differences(chain(4, tilt, size, links=5, slides=True), 2, size)) < 1e-10


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_frames_do_not_depend_on_the_unit_of_length(size):
    one, other = reduced(derive(chain(2, 1e-3))), reduced(derive(chain(2, 1e-3, size)))
    for a, b in zip(one.links, other.links, strict=True):
        numbers = [np.array(ph.evaluate(link.X.p, dict.fromkeys(one.q, 0.3))) for link in (a, b)]
        assert numbers[1] / size == pytest.approx(numbers[0], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("tilt", [7e-6, 1e-7])
def test_two_hinges_as_a_robots_file_has_them(tilt):
    build = ph.Builder()
    build.body("a", joint=ph.revolute((0, 1, 0)), mass=1, com=(0.2, 0, 0.1), inertia=(0.01, 0.02, 0.03))
    there = {"mass": 2, "com": (0.1, 0.1, 0), "inertia": (0.03, 0.02, 0.01)}
    build.body("b", parent="a", at=(0.4, 0.05, 0.1), joint=ph.revolute((0, 1, tilt)), **there)
    assert max(differences(build.build(), 1)) < 1e-13


@pytest.mark.parametrize("tilt", [1e-3, 7e-6, 1e-7])
def test_as_mujoco_has_it(tilt, tmp_path):
    body = '<inertial pos="{}" mass="1.5" diaginertia="0.01 0.02 0.025"/><joint axis="{}"/>'
    axes = ["0 1 0", f"{tilt} 1 0", f"0 1 {tilt}"]
    text = "</body></body></body>"
    for k, axis in reversed(list(enumerate(axes))):
        text = f'<body name="b{k}" pos="0.4 {0.05 * k} 0.1">' + body.format(f"0.2 {0.1 * k} 0", axis) + text
    text = f'<mujoco><compiler autolimits="true"/><worldbody>{text}</worldbody></mujoco>'
    (tmp_path / "chain.xml").write_text(text)
    eq = ph.formulate(ph.load(tmp_path / "chain.xml"), method="denoc")
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:] = q = [0.3, -0.5, 0.8]
    mujoco.mj_forward(theirs, data)
    M = np.zeros((3, 3))
    for row, one in zip(M, np.eye(3), strict=True):
        mujoco.mj_mulM(theirs, data, row, one)
    assert np.abs(At(eq, q, np.zeros(3))(eq.M) - M).max() < 1e-12 * np.abs(M).max()


@pytest.mark.parametrize("tilt", [1e-4, 1e-6, 1e-8])
def test_links_that_would_change_keep_their_frames(tilt, monkeypatch):
    """However far frames may go, what comes out is compared with what went in."""
    monkeypatch.setattr("polhode.kinematics.reduce.FAR", 1e12)
    assert max(differences(chain(1, tilt), 1)) < 1e-10
