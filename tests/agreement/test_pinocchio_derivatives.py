"""Derivatives of the dynamics, and regressors, against Pinocchio's analytical ones, at random states."""

import numpy as np
import pytest

import polhode as ph
from tests.mechanics import close
from tests.robots import path_of

pin = pytest.importorskip("pinocchio", reason="NOT TESTED: the package pin is not installed")

UR5 = "ur_description/urdf/ur5_robot.urdf"
PANDA = "panda_description/urdf/panda.urdf"
TALOS = "talos_data/robots/talos_reduced.urdf"
SOLO = "solo_description/robots/solo12.urdf"


class Twin:
    """A robot here and there at a random state; what Pinocchio finds comes in our order, by our small changes.

    order : our place of each of its speeds, (nv,); turned : from its small changes of q to ours, (nx, nv)
    """

    def __init__(self, name, floating, seed=1):
        path = path_of(name)
        self.model = ph.load(path, floating=floating, actuators=False)
        self.theirs = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
        self.data = self.theirs.createData()
        self.dyn = ph.formulate(self.model).compile()
        draw, nu = np.random.default_rng(seed), self.model.nu
        self.q = np.asarray(self.dyn.unit(draw.uniform(-1, 1, self.model.nq)))
        self.u, self.x = draw.normal(size=(2, nu))
        self.order = np.zeros(nu, int)
        self.turned = np.zeros((len(self.dyn.derivatives.coordinates), nu))
        q = pin.neutral(self.theirs)
        for joint, joint_name in list(zip(self.theirs.joints, self.theirs.names, strict=True))[1:]:
            if joint_name == "root_joint":
                q[:7] = [*self.q[4:7], *self.q[1:4], self.q[0]]
                self.order[:6] = [3, 4, 5, 0, 1, 2]
                # its positions move along the axes of the base, ours along those of the world
                self.turned[:3, 3:6], self.turned[3:6, :3] = np.eye(3), pin.Quaternion(q[3:7]).matrix()
            else:
                place = self.model.speeds.index(f"{joint_name}_dot")
                angle = self.q[self.model.coordinates.index(joint_name)]
                self.order[joint.idx_v] = place
                self.turned[place, joint.idx_v] = 1  # as many small changes as speeds
                q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        self.there = q, self.u[self.order], self.x[self.order]

    def rows(self, found):
        back = np.empty_like(found)
        back[self.order] = found
        return back

    def both(self, found):
        back = np.empty_like(found)
        back[np.ix_(self.order, self.order)] = found
        return back


MACHINES = [(UR5, False), (PANDA, False), (SOLO, True), (TALOS, False), (TALOS, True)]
IDS = ["UR5", "Panda", "Solo12 floating", "Talos fixed", "Talos floating"]


@pytest.mark.parametrize(("name", "floating"), MACHINES[:3], ids=IDS[:3])
def test_derivatives_of_inverse_and_forward_dynamics(name, floating):
    _compare(Twin(name, floating))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "floating"), MACHINES[3:], ids=IDS[3:])
def test_derivatives_of_whole_humanoids(name, floating):
    _compare(Twin(name, floating))


def _compare(twin):
    dyn = twin.dyn
    by_q, by_u, M = pin.computeRNEADerivatives(twin.theirs, twin.data, *twin.there)
    M = np.triu(M) + np.triu(M, 1).T
    found = dyn.derivatives.inverse_dynamics(twin.q, twin.u, twin.x)
    assert close(found.q @ twin.turned, twin.rows(by_q))
    assert close(found.u, twin.both(by_u))
    assert close(found.udot, twin.both(M))
    assert close(found.value, dyn.inverse_dynamics(twin.q, twin.u, twin.x))
    if dyn.equations.constraints:  # its fingers are coupled here, and are not there
        found = dyn.derivatives.forward_dynamics(twin.q, twin.u, twin.x, active=())
    else:
        found = dyn.derivatives.forward_dynamics(twin.q, twin.u, twin.x)
    pin.computeABADerivatives(twin.theirs, twin.data, *twin.there)
    inverse = np.triu(twin.data.Minv) + np.triu(twin.data.Minv, 1).T
    assert close(found.value, twin.rows(twin.data.ddq.copy()))
    assert close(found.q @ twin.turned, twin.rows(twin.data.ddq_dq.copy()))
    assert close(found.u, twin.both(twin.data.ddq_dv.copy()))
    assert close(found.tau, twin.both(inverse))


def test_the_regressor_is_that_of_pinocchio():
    twin = Twin(UR5, False)
    there = pin.computeJointTorqueRegressor(twin.theirs, twin.data, *twin.there)
    found = twin.dyn.equations.regressor()
    Y = found.compile()(twin.q, twin.u, twin.x)
    # its parameters of a body: m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz, about the joint's frame, which is the body's here
    order = [0, 1, 2, 3, 4, 6, 9, 5, 7, 8]
    for k, name in enumerate(list(twin.theirs.names)[1:]):
        body = next(b.name for b in twin.dyn.equations.kinematics.model.bodies if b.joint.name == name)
        ours = [i for i, n in enumerate(found.names) if n.endswith(f"_{body}")]
        assert close(Y[:, ours], twin.rows(there[:, 10 * k : 10 * k + 10])[:, order])
