"""A mechanism in MuJoCo at a state, seen in Polhode's coordinates and speeds, and the comparison of the two."""

import mujoco
import numpy as np

import polhode as ph
from polhode.equations.dynamics import accelerations
from polhode.equations.inputs import fresh
from tests.mechanics import At, close

FREE, BALL = mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL
LEFT_OUT = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT


class Twin:
    """A mechanism in MuJoCo at a random state, seen in our coordinates and speeds.

    Its joints come in the order of ours. A free joint has its position first and
    its velocity in the world: qvel = B u. What MJCF has and Polhode reports as not
    read is switched off: fluids; and the bare tree moves. Actuators have
    random controls, beyond their ranges too, and activations.

    reach : metres that slides move, and metres a second
    """

    def __init__(self, model, seed, reach=1.0):
        self.model, self.data = model, mujoco.MjData(model)
        draw = np.random.default_rng(seed)
        qpos = model.qpos0.copy()
        slides = model.jnt_dofadr[model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE]
        step, speed = draw.normal(size=(2, model.nv))
        step[slides] *= reach
        speed[slides] *= reach
        mujoco.mj_integratePos(model, qpos, step, 1.0)
        self.data.qpos[:], self.data.qvel[:] = qpos, speed
        self.data.qfrc_applied[:] = draw.normal(size=model.nv)
        model.opt.disableflags |= LEFT_OUT
        model.opt.density = model.opt.viscosity = 0
        self.drive(draw)
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
        self.pushed = self.B.T @ self.data.qfrc_actuator
        self.own = self.B.T @ self.data.qfrc_passive + self.pushed
        self.udot = np.linalg.solve(self.B, self.data.qacc_smooth - drift)

    def drive(self, draw):
        """Draw controls and activations, these within their limits; actearly is about steps of time."""
        model, data = self.model, self.data
        model.actuator_actearly[:] = 0
        data.ctrl[:] = 2 * draw.normal(size=model.nu)
        data.act[:] = draw.normal(size=model.na)
        for k in np.flatnonzero(model.actuator_actlimited):
            at = model.actuator_actadr[k]
            data.act[at] = np.clip(data.act[at], *model.actuator_actrange[k])


def check(model, twins, methods=("poincare", "denoc"), tolerance=1e-10):
    """Demand that each method gives MuJoCo's M, c, Q and accelerations at the states of its twins."""
    for method in methods:
        eq = ph.formulate(model, method=method)
        tau = fresh("tau", eq)
        # by the recursion or the factors that the method gives; by numbers where these are long
        udot = None if eq.terms.forward is None and len(eq.u) > 12 else accelerations(eq, tau)
        for twin in twins:
            at = At(eq, twin.q, twin.u)
            at.values |= {tau: list(twin.tau), eq.controls: list(twin.data.ctrl), eq.z: list(twin.data.act)}
            _check_terms(eq, at, at.udot(twin.tau) if udot is None else at(udot), twin, tolerance)
    for twin in twins:
        _check_places(eq, At(eq, twin.q, twin.u), twin, tolerance)


def _check_terms(eq, at, udot, twin, tolerance):
    """Compare the terms, whatever the units of a speed.

    With s_i = sqrt(M_ii): M_ij / (s_i s_j), forces / s_i and accelerations s_i, each relative to its largest
    entry, which counts as at least max(s): what speeds and accelerations of 1 would need.
    """
    s = np.sqrt(np.diag(twin.M))
    weight, largest = np.outer(s, s), s.max(initial=0)
    assert close(at(eq.M) / weight, twin.M / weight, tolerance), f"M by {eq.method}"
    assert close(at(eq.c) / s / largest, twin.c / s / largest, tolerance), f"c by {eq.method}"
    assert close(at(eq.Q) / s / largest, twin.own / s / largest, tolerance), f"Q by {eq.method}"
    worse = max(1.0, np.linalg.cond(twin.M / weight) / 1e3)
    assert close(udot * s / largest, twin.udot * s / largest, tolerance * worse), f"udot by {eq.method}"


def _check_places(eq, at, twin, tolerance):
    """Poses of all bodies, mass, its centre, kinetic energy."""
    for k in range(1, twin.model.nbody):
        name = twin.model.body(k).name
        if name in eq.model.frames:
            X = at(eq.pose(name))
            assert close(X[:3, 3], twin.data.xpos[k], tolerance)
            assert close(X[:3, :3].ravel(), twin.data.xmat[k], tolerance)
    mass = float(eq.kinematics.mass)
    carrier = twin.model.body_weldid  # what moves a body; a mocap body is held
    moving = (carrier != 0) & (twin.model.body_mocapid[carrier] < 0)
    center = (twin.model.body_mass[moving] @ twin.data.xipos[moving]) / twin.model.body_mass[moving].sum()
    assert close(mass / twin.model.body_mass[moving].sum(), 1.0, tolerance)
    assert close(at(eq.center_of_mass), center, tolerance)
    twin.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    mujoco.mj_forward(twin.model, twin.data)
    assert close(at(eq.kinetic), twin.data.energy[1], tolerance)
