"""Polhode against Pinocchio on every robot of example-robot-data, at random states, to 1e-10."""

import numpy as np
import pytest

import polhode as ph
from polhode.graph import solve, symbols, vector
from tests.mechanics import At, close, random_state
from tests.robots import path_of, urdfs

pin = pytest.importorskip("pinocchio", reason="NOT TESTED: the package pin is not installed")

REFUSED = {"ur_description/urdf/ur3.urdf": "no links"}
INDEFINITE = ("romeo.urdf", "romeo_laas_small.urdf")  # joints that carry nothing: no forward dynamics
ROBOTS = [name for name in urdfs() if name not in REFUSED]


def test_there_are_enough_robots():
    assert len(ROBOTS) >= 25 or not urdfs()


@pytest.mark.parametrize("name", [name for name in REFUSED if name in urdfs()])
def test_a_file_without_a_robot_is_refused_with_the_reason(name):
    with pytest.raises(ph.ModelError, match=REFUSED[name]):
        ph.load(path_of(name))


class Twin:
    """A robot in Pinocchio, at the same state; arrays come in our order."""

    def __init__(self, path, floating, coordinates, speeds):
        root = [pin.JointModelFreeFlyer()] if floating else []
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        self.coordinates, self.speeds = coordinates, speeds
        self.ours = np.zeros(self.model.nv, int)  # our index of each of its speeds
        for joint, name in self.joints():
            if name == "root_joint":
                self.ours[joint.idx_v : joint.idx_v + 6] = [3, 4, 5, 0, 1, 2]
            else:
                self.ours[joint.idx_v] = speeds.index(f"{name}_dot")

    def joints(self):
        """Every joint but the universe, with its name."""
        return list(zip(self.model.joints, self.model.names, strict=True))[1:]

    def state(self, q, u):
        found = pin.neutral(self.model)
        for joint, name in self.joints():
            if name == "root_joint":
                found[:7] = [*q[4:7], *q[1:4], q[0]]
            else:
                angle = q[self.coordinates.index(name)]
                found[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        return found, u[self.ours]

    def back(self, values):
        found = np.empty_like(values)
        if values.ndim == 1:
            found[self.ours] = values
        else:
            found[np.ix_(self.ours, self.ours)] = values
        return found


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_moves_as_in_pinocchio(name, floating):
    path = path_of(name)
    model = ph.load(path, floating=floating)
    twin = Twin(path, floating, model.coordinates, model.speeds)
    assert (model.nu, model.nq >= model.nu) == (twin.model.nv, True)
    if not model.nu:
        return
    eq = ph.formulate(model, method="poincare")
    at = At(eq, *random_state(eq, 1))
    q, v = twin.state(at.q, at.u)
    M = pin.crba(twin.model, twin.data, q)
    M = np.triu(M) + np.triu(M, 1).T
    assert close(at(eq.M), twin.back(M))
    assert close(at(eq.c), twin.back(pin.nle(twin.model, twin.data, q, v)))
    assert close(at(eq.gravity), twin.back(pin.computeGeneralizedGravity(twin.model, twin.data, q)))
    assert close(at(eq.kinetic), pin.computeKineticEnergy(twin.model, twin.data, q, v))
    assert close(at(eq.potential), pin.computePotentialEnergy(twin.model, twin.data, q))
    assert close(at(eq.center_of_mass), pin.centerOfMass(twin.model, twin.data, q))
    if not name.endswith(INDEFINITE):
        tau = tau_of(model)
        inputs = vector(symbols([f"tau{i}" for i in range(model.nu)]))
        at.values[inputs] = list(tau)
        udot = at(solve(eq.M, eq.Q + inputs - eq.c))
        assert close(udot, twin.back(pin.aba(twin.model, twin.data, q, v, tau[twin.ours])))
    _check_frames(eq, at, twin, q, v)
    _check_recursion(
        ph.formulate(model, method="denoc"), at, None if name.endswith(INDEFINITE) else udot, tau_of(model)
    )


def tau_of(model):
    return np.random.default_rng(2).normal(size=model.nu)


def _check_recursion(eq, at, udot, tau):
    """DeNOC's recursions give the same numbers, where right angles are written to twelve digits too."""
    assert close(at(eq.M), at(at.eq.M))
    assert close(at(eq.c), at(at.eq.c))
    inputs = vector(symbols([f"tau{i}" for i in range(len(at.u))]))
    at.values[inputs] = list(tau)
    assert close(at(eq.terms.inverse(inputs)), at(at.eq.M) @ tau + at(at.eq.c))
    if udot is not None:
        assert close(at(eq.terms.forward(eq.Q + inputs)), udot)


def _check_frames(eq, at, twin, q, v):
    """Poses of all links, and the Jacobian and velocity of the last."""
    pin.forwardKinematics(twin.model, twin.data, q, v)
    pin.computeJointJacobians(twin.model, twin.data, q)
    pin.updateFramePlacements(twin.model, twin.data)
    links = [frame for frame in twin.model.frames if frame.type == pin.FrameType.BODY and frame.name != "universe"]
    ours = {"world": "world_link"} if eq.model.bodies[0].name == "world_link" else {}
    index = [twin.model.getFrameId(frame.name, pin.FrameType.BODY) for frame in links]
    for frame, k in zip(links, index, strict=True):
        X = eq.kinematics.pose(ours.get(frame.name, frame.name)).matrix()
        assert close(at(X), twin.data.oMf[k].homogeneous)
    last = links[-1].name
    V = pin.getFrameVelocity(twin.model, twin.data, index[-1], pin.LOCAL_WORLD_ALIGNED)
    assert close(at(eq.velocity(last)), [*V.angular, *V.linear])
    J = pin.getFrameJacobian(twin.model, twin.data, index[-1], pin.LOCAL)
    J = np.vstack([J[3:], J[:3]])
    assert close(at(eq.jacobian(last, axes="marker"))[:, twin.ours], J)


@pytest.mark.parametrize(
    ("name", "floating"),
    [
        ("panda_description/urdf/panda.urdf", False),
        ("ur_description/urdf/ur5_robot.urdf", False),
        ("solo_description/robots/solo12.urdf", True),
    ],
)
def test_compiled_calls_agree_in_batches(name, floating):
    path = path_of(name)
    model = ph.load(path, floating=floating)
    twin = Twin(path, floating, model.coordinates, model.speeds)
    dyn = ph.formulate(model).compile()
    states = [random_state(dyn.equations, seed) for seed in range(11)]
    q, u = (np.array(rows) for rows in zip(*states, strict=True))
    tau = np.random.default_rng(3).normal(size=u.shape)
    udot = dyn.tree_dynamics(q, u, tau)  # the fingers of a hand are coupled, and Pinocchio's are not
    M, c, energy = dyn.mass_matrix(q), dyn.bias(q, u), dyn.energy(q, u)
    assert close(dyn.inverse_dynamics(q, u, udot), tau)
    for k in range(len(q)):
        pq, pv = twin.state(q[k], u[k])
        assert close(udot[k], twin.back(pin.aba(twin.model, twin.data, pq, pv, tau[k][twin.ours])))
        assert close(c[k], twin.back(pin.nle(twin.model, twin.data, pq, pv)))
        assert close(M[k] @ udot[k], tau[k] - c[k])
        assert close(energy[k, 0], pin.computeKineticEnergy(twin.model, twin.data, pq, pv))
        weight = 9.81 * pin.computeTotalMass(twin.model)  # energies near 0 are differences of m g h
        assert close(energy[k, 1] / weight, pin.computePotentialEnergy(twin.model, twin.data, pq) / weight)
