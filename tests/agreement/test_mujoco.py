"""Polhode against MuJoCo: MJCF files of Gymnasium, mechanisms of our own, and the URDFs MuJoCo accepts."""

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.formats.urdf import read_urdf
from tests.mechanics import At, close
from tests.robots import path_of, urdfs
from tests.unit.formats.test_mjcf import MECHANISMS

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

FREE, BALL = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL
GYMNASIUM = find_spec("gymnasium")
FILES = [] if GYMNASIUM is None else sorted((Path(GYMNASIUM.origin).parent / "envs/mujoco/assets").glob("*.xml"))


def test_the_files_of_gymnasium_are_there():
    if not FILES:
        pytest.skip("NOT TESTED: the package gymnasium is not installed")
    assert len(FILES) >= 14


class Twin:
    """A mechanism in MuJoCo at a random state, seen in our coordinates and speeds.

    Its joints come in the order of ours. A free joint has its position first and
    its velocity in the world: qvel = B u.
    """

    def __init__(self, model, seed):
        self.model, self.data = model, mujoco.MjData(model)
        draw = np.random.default_rng(seed)
        qpos, step = model.qpos0.copy(), draw.normal(size=model.nv)
        mujoco.mj_integratePos(model, qpos, step, 1.0)
        self.data.qpos[:], self.data.qvel[:] = qpos, draw.normal(size=model.nv)
        self.data.qfrc_applied[:] = draw.normal(size=model.nv)
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        model.opt.density = model.opt.viscosity = 0
        mujoco.mj_forward(model, self.data)
        self.q, self.B = [], np.eye(model.nv)
        drift = np.zeros(model.nv)  # B_dot u
        v = self.data.qvel
        for kind, at, dof in zip(model.jnt_type, model.jnt_qposadr, model.jnt_dofadr, strict=True):
            if kind == FREE:
                turn = qpos[at + 3 : at + 7]
                self.q += [*turn, *qpos[at : at + 3]]
                R = np.zeros(9)
                mujoco.mju_quat2Mat(R, turn)
                R = R.reshape(3, 3)
                self.B[dof : dof + 6, dof : dof + 6] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
                drift[dof : dof + 3] = np.cross(R @ v[dof + 3 : dof + 6], v[dof : dof + 3])
            else:
                self.q += [*qpos[at : at + (4 if kind == BALL else 1)]]
        self.u = np.linalg.solve(self.B, v)
        M = np.zeros((model.nv, model.nv))
        try:
            mujoco.mj_fullM(model, self.data, M)
        except TypeError:
            mujoco.mj_fullM(model, M, self.data.qM)  # before MuJoCo 4
        self.M = self.B.T @ M @ self.B
        self.c = self.B.T @ (M @ drift + self.data.qfrc_bias)
        self.tau = self.B.T @ self.data.qfrc_applied
        self.passive = self.B.T @ self.data.qfrc_passive
        self.udot = np.linalg.solve(self.B, self.data.qacc_smooth - drift)


def check(model, twin, tolerance=1e-10):
    for method in ("poincare", "denoc"):
        eq = ph.formulate(model, method=method)
        at = At(eq, twin.q, twin.u)
        assert close(at(eq.M), twin.M, tolerance)
        assert close(at(eq.c), twin.c, tolerance)
        assert close(at(eq.Q), twin.passive, tolerance)
        assert close(at.udot(twin.tau), twin.udot, tolerance * max(1.0, np.linalg.cond(twin.M) / 1e3))
    for k in range(1, twin.model.nbody):
        name = twin.model.body(k).name
        if name in model.frames:
            X = at(eq.pose(name))
            assert close(X[:3, 3], twin.data.xpos[k], tolerance)
            assert close(X[:3, :3].ravel(), twin.data.xmat[k], tolerance)
    mass = float(eq.kinematics.mass)
    moving = twin.model.body_weldid != 0
    center = (twin.model.body_mass[moving] @ twin.data.xipos[moving]) / twin.model.body_mass[moving].sum()
    assert mass == pytest.approx(twin.model.body_mass[moving].sum(), rel=1e-10)
    assert close(at(eq.center_of_mass), center, tolerance)
    twin.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    mujoco.mj_forward(twin.model, twin.data)
    assert close(at(eq.kinetic), twin.data.energy[1], tolerance)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_file_of_gymnasium_moves_as_in_mujoco(path, seed):
    check(ph.load(path), Twin(mujoco.MjModel.from_xml_path(str(path)), seed))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_mechanism_of_ours_moves_as_in_mujoco(name, seed, tmp_path):
    path = tmp_path / "mechanism.xml"
    path.write_text(MECHANISMS[name])
    check(ph.load(path), Twin(mujoco.MjModel.from_xml_string(MECHANISMS[name]), seed))


# what MuJoCo reads differently, with the reason
DIFFERENT = {
    "bolt_description/robots/bolt.urdf": "its feet have inertia without mass, which MuJoCo drops and Pinocchio keeps",
    "ur_description/urdf/ur3.urdf": "it has no links",
}


def _without_shapes(text):
    """The URDF without what MuJoCo would look for in other files."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    for tag in ("visual", "collision", "gazebo", "transmission"):
        text = re.sub(rf"<{tag}\b[^>]*?/>|<{tag}\b.*?</{tag}>", "", text, flags=re.DOTALL)
    return text


@pytest.mark.parametrize("name", urdfs())
def test_a_urdf_that_mujoco_accepts_moves_as_there(name):
    if name in DIFFERENT:
        pytest.skip(DIFFERENT[name])
    text = _without_shapes(path_of(name).read_text())
    try:
        theirs = mujoco.MjModel.from_xml_string(text)
    except ValueError as refusal:
        pytest.skip(f"MuJoCo refuses it: {str(refusal).splitlines()[0][:90]}")
    theirs.dof_damping[:] = 0
    ours = read_urdf(text, source=name, floating=None, passive=False)
    if len(ours.bodies) != theirs.njnt or not theirs.njnt:
        pytest.skip("MuJoCo merges other bodies than we do")
    by_name = [theirs.joint(j).name for j in range(theirs.njnt)]
    assert by_name == [body.joint.name for body in ours.bodies]
    check(ours, Twin(theirs, 1), 1e-9)
