"""Quadrupeds on point feet against Pinocchio: accelerations, forces and impulses of contacts to 1e-9."""

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from tests.agreement.test_pinocchio import Twin
from tests.robots import path_of

pin = pytest.importorskip("pinocchio", reason="NOT TESTED: the package pin is not installed")

ROBOTS = {
    "solo_description/robots/solo12.urdf": ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
    "anymal_b_simple_description/robots/anymal.urdf": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
}
CLOSE = {"rel": 1e-9, "abs": 1e-9}


class Standing:
    """A quadruped whose feet stand each on a ground of its own, and its twin."""

    def __init__(self, name):
        path, self.feet = path_of(name), ROBOTS[name]
        loaded = ph.load(path, floating=True)
        draw = np.random.default_rng(3)
        self.q = self.stance(loaded, draw)
        tree = ph.formulate(loaded).compile()
        build = ph.Builder("standing", limits="ignore", literal=loaded.literal)
        build.bodies.extend(loaded.bodies)
        build.markers.extend(loaded.markers)
        for foot in self.feet:
            build.marker(f"under {foot}", body="world", at=tree.pose(foot)(self.q)[:3, 3])
            build.contact(foot, f"under {foot}", friction=5.0, name=foot)
        model = build.build()
        self.dyn = ph.formulate(model).compile()
        self.twin = Twin(path, True, model.coordinates, model.speeds)
        self.u, self.tau = draw.uniform(-1, 1, model.nu), draw.uniform(-1, 1, model.nu)
        self.hold = 0.02 * self.tau  # little enough that feet stay

    @staticmethod
    def stance(model, draw):
        """Knees bent, nothing quite symmetric."""
        q = np.array(model.neutral(), dtype=float)
        q[6] = 0.4
        for i, name in enumerate(model.coordinates):
            front = name[:2] in ("FL", "FR", "LF", "RF")
            bend = {"HFE": 0.8, "KFE": -1.6}.get(name[-3:], 0.0) * (1 if front else -1)
            q[i] += (bend + draw.uniform(-0.05, 0.05)) * (i >= 7)
        return q

    def constrained(self, feet, q, v, tau):
        """Pinocchio's constraint dynamics with points at feet, all in its own order; forces along the world's axes."""
        model, data = self.twin.model, self.twin.data
        limbs, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for foot in feet:
            frame = model.frames[model.getFrameId(foot)]
            kind, axes = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            limbs.append(pin.RigidConstraintModel(kind, model, frame.parentJoint, frame.placement, axes))
            datas.append(limbs[-1].createData())
        pin.initConstraintDynamics(model, data, limbs, datas)
        found = pin.constraintDynamics(model, data, q, v, tau, limbs, datas, pin.ProximalSettings(1e-14, 0.0, 10))
        return found.copy(), np.array([each.contact_force.linear for each in datas])

    def jacobian(self, feet, q):
        model, data = self.twin.model, self.twin.data
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.vstack([pin.getFrameJacobian(model, data, model.getFrameId(foot), axes)[:3] for foot in feet])

    def response(self, feet, q, u, tau):
        """Pinocchio's accelerations, and forces on each foot, (feet, 3), along the axes of the world."""
        twin = self.twin
        udot, forces = self.constrained(feet, *twin.state(q, u), tau[twin.ours])
        return twin.back(udot), forces

    def struck(self, feet, q, u):
        """Pinocchio's speeds after feet stop, and the impulses on them."""
        twin = self.twin
        at, v = twin.state(q, u)
        J = self.jacobian(feet, at)
        pin.impulseDynamics(twin.model, twin.data, at, v, J, 0.0, 0.0)
        return twin.back(twin.data.dq_after.copy()), twin.data.impulse_c.reshape(-1, 3).copy()

    def settled(self, feet):
        """A state in which feet are at rest, as Pinocchio has it."""
        return self.struck(feet, self.q, self.u)[0]

    def of_feet(self, lam, feet):
        """Entries of rows (height, slip x, slip y) of feet as forces along x, y, z."""
        names = [row.split(".")[0] for row in self.rows]
        return np.array([[lam[names.index(foot) + k] for k in (1, 2, 0)] for foot in feet])

    @property
    def rows(self):
        return self.dyn.equations.rows.labels


@pytest.fixture(scope="module", params=ROBOTS)
def standing(request):
    return Standing(request.param)


def some_feet(standing):
    return [feet for n in (1, 2, 4) for feet in list(combinations(standing.feet, n))[:2]]


def test_accelerations_and_forces_with_feet_named_as_active(standing):
    for feet in some_feet(standing):
        u = standing.settled(feet)
        udot, lam = standing.dyn.response(standing.q, u, standing.tau, active=feet)
        expected, forces = standing.response(feet, standing.q, u, standing.tau)
        assert udot == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
        assert standing.of_feet(lam, feet) == pytest.approx(forces, rel=1e-9, abs=1e-9 * np.abs(forces).max())


@pytest.mark.parametrize("restitution", [0.0, 0.4])
def test_speeds_after_feet_strike(standing, restitution):
    for feet in some_feet(standing):
        after, impulse = standing.dyn.impulse(standing.q, standing.u, active=feet, restitution=restitution)
        twin = standing.twin
        at, v = twin.state(standing.q, standing.u)
        J = standing.jacobian(feet, at)
        pin.impulseDynamics(twin.model, twin.data, at, v, J, restitution, 0.0)
        assert after == pytest.approx(twin.back(twin.data.dq_after), **CLOSE)
        assert standing.of_feet(impulse, feet) == pytest.approx(twin.data.impulse_c.reshape(-1, 3), **CLOSE)


def test_a_quadruped_lands_on_four_feet(standing):
    """All feet come down at 0.5 m/s and stay: the impulses of Pinocchio's four feet, which all push."""
    u = np.zeros_like(standing.u)
    u[5] = -0.5
    expected, impulses = standing.struck(standing.feet, standing.q, u)
    assert (impulses[:, 2] > 0).all()
    assert (np.hypot(impulses[:, 0], impulses[:, 1]) < 5.0 * impulses[:, 2]).all()
    sim = ph.Simulation(standing.dyn, standing.q, u, tau=standing.hold)
    event = sim.events[0]
    assert sim.u == pytest.approx(expected, **CLOSE)
    found = [[event.impulses[f"{foot}.{row}"] for row in ("slip x", "slip y", "height")] for foot in standing.feet]
    assert np.array(found) == pytest.approx(impulses, **CLOSE)
    assert set(sim.mode.values()) == {"sticks"}


def test_a_quadruped_moves_on_four_feet(standing):
    """It sinks on its feet, each of them a contact, as Pinocchio's constraint dynamics integrated apart."""
    u = np.zeros_like(standing.u)
    sim = ph.Simulation(standing.dyn, standing.q, u, tau=standing.hold, rtol=1e-11, atol=1e-11)
    assert set(sim.mode.values()) == {"sticks"}
    sim.run(0.02)
    twin, nv = standing.twin, standing.twin.model.nv
    start, _ = twin.state(standing.q, u)

    def slope(_, x):
        q = pin.integrate(twin.model, start, x[:nv])
        a, _ = standing.constrained(standing.feet, q, x[nv:], standing.hold[twin.ours])
        # rates of the tangent at the start that moves there: dIntegrate d' = v
        J = pin.dIntegrate(twin.model, start, x[:nv])[1]
        return np.concatenate([np.linalg.solve(J, x[nv:]), a])

    end = solve_ivp(slope, (0, 0.02), np.zeros(2 * nv), method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    assert sim.u == pytest.approx(twin.back(end[nv:]), rel=1e-8, abs=2e-9)
    assert np.abs(sim.u).max() > 0.05
    _, forces = standing.response(standing.feet, sim.q, sim.u, standing.hold)
    assert (forces[:, 2] > 0).all()
    reactions = sim.trajectory(reacting=True).reactions[-1]
    assert standing.of_feet(reactions, standing.feet) == pytest.approx(forces, rel=1e-7)
