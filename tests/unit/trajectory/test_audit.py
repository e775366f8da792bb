"""Energy against work, and momentum."""

import dataclasses

import numpy as np
import pytest

import polhode as ph
from polhode.graph import diff_along
from polhode.model.grow import grow
from tests.motions import made, pendulum, runge_kutta, swing


def test_energy_is_balanced_by_the_work_of_inputs_and_dampers():
    traj = swing()
    assert abs(traj.work[-1]).min() == 0
    assert abs(traj.work[-1, :2]).min() > 0.05
    assert np.abs(traj.energy_drift).max() < 5e-7
    audit = traj.audit()
    assert audit.relative_drift < 1e-7
    for text in ("work of inputs", "its own forces", "Energy is accounted for to"):
        assert text in str(audit)
    # springs are energy, wrenches are work
    model = ph.formulate(grow(3, ["revolute", "prismatic"], forces=True)).compile()
    pulled = runge_kutta(model, [0.1, 0.2], [0.5, -0.5], 1)
    assert abs(pulled.work[-1, 1]) > 0.1
    assert np.abs(pulled.energy_drift).max() < 1e-6


def test_held_inputs_are_balanced_where_others_would_not_be():
    dyn, drifts = pendulum(), []
    rows = [(0.0, [1.0], [0.0], [0.0])]
    for k in range(40):
        force = np.array([np.sin(4 * rows[-1][0])])
        last = runge_kutta(dyn, *rows[-1][1:3], 0.05, tau=lambda t, q, u, force=force: force, p=(0.7,))
        rows.append((0.05 * (k + 1), last.q[-1], last.u[-1], force))
    fields = dict(zip(("t", "q", "u", "tau"), map(np.array, zip(*rows, strict=True)), strict=True))
    for held in (True, False):
        drifts.append(
            np.abs(made(dyn, **fields, parameters=[0.7], sampled=(0.0, 0.1) if held else None).energy_drift).max()
        )
    assert drifts[0] < 1e-4
    assert drifts[1] > 1e-2


def test_moving_constraints_do_work_and_accelerations_know_them():
    build = ph.Builder("shaker", gravity=(0, 0, 0))
    build.body("table", joint=ph.prismatic("x", name="x"), mass=2)
    build.body("load", joint=ph.prismatic("x", name="y"), mass=1)
    build.prescribe("x", ph.sin(ph.TIME), name="drive")
    build.coupling("y", of="x", ratio=2)
    dyn = ph.formulate(build.build()).compile()
    t = np.linspace(0, 3, 61)
    x, zero = np.stack([np.sin(t), 2 * np.sin(t)], axis=1), np.zeros((61, 2))
    u = np.stack([np.cos(t), 2 * np.cos(t)], axis=1)
    # table: 2 x'' = drive - 2 coupling, load: y'' = coupling
    lam = np.stack([-2 * np.sin(t), -6 * np.sin(t)], axis=1)
    fields = {
        "t": t,
        "q": x,
        "u": u,
        "tau": zero,
        "residuals": zero,
        "constraint_names": dyn.equations.constraints.labels,
    }
    for reactions in (lam, None):
        traj = made(dyn, **fields, reactions=reactions)
        assert np.allclose(traj.accelerations, -x)
    traj = made(dyn, **fields, reactions=lam)
    assert np.abs(traj.work[:, 3]).max() > 1
    assert np.abs(traj.energy_drift).max() < 1e-6
    assert "drive" in str(traj.audit())
    assert "residual drive" in traj.to_numpy()


def test_quaternions_keep_their_length_and_momentum_is_conserved():
    build = ph.Builder("satellite", gravity=(0, 0, 0))
    build.body("hull", joint=ph.free(quaternion=True), mass=3, com=(0.1, 0, 0), inertia=(1, 2, 2.5))
    build.body("arm", parent="hull", at=(1, 0, 0), joint=ph.revolute("z"), mass=1, com=(0.5, 0.2, 0), inertia=(1, 1, 1))
    dyn = ph.formulate(build.build()).compile()
    traj = runge_kutta(dyn, [1, 0, 0, 0, 1, 2, 3, 0.4], [1, 2, 0.5, 0.3, 0.2, 0.1, -2], 2, every=100)
    q, _ = traj.at(np.linspace(0, 2, 33))
    assert np.abs(np.linalg.norm(q[:, :4], axis=1) - 1).max() < 1e-15
    assert np.abs(traj.momentum - traj.momentum[0]).max() < 1e-9
    eq = dyn.equations
    velocity = diff_along(eq.center_of_mass, eq.q, eq.kinematics.q_dot)
    assert np.allclose(traj.momentum[:, 3:], 4 * traj.evaluate(velocity), atol=1e-12)
    assert traj.units["hull_qw"] == "1"
    assert traj.units["hull_x"] == "m"
    assert traj.units["tau_hull_vx"] == "N"


def test_work_is_known_however_far_outputs_are():
    build = ph.Builder("damped")
    build.body("bob", joint=ph.revolute("y", name="theta", damping=0.5), mass=1, com=(0, 0, -1))
    dyn = ph.formulate(build.build()).compile()
    for spacing in (0.04, 0.5, 20.0):
        traj = ph.simulate(dyn, {"theta": 2.0}, t_end=20.0, output=spacing)
        assert abs(traj.energy_drift).max() < 1e-7
        assert traj.work[-1, 1] < -13
        # by Simpson's rule between outputs, where a trajectory has none, far ones are said to be vague
        assert ("Make them denser" in str(dataclasses.replace(traj, work_done=None).audit())) == (spacing > 0.1)
        assert "Make them denser" not in str(traj.audit())


@pytest.mark.parametrize("law", [3 * ph.TIME, 2 * ph.TIME + ph.sin(ph.TIME)])
def test_a_drive_of_constant_speed_does_work_too(law):
    build = ph.Builder("fan", gravity=(0, 0, 0))
    build.body("rotor", joint=ph.revolute("z", name="a", damping=0.5), mass=1, inertia=(1, 1, 1))
    build.prescribe("a", law)
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, *ph.assemble(dyn), t_end=3.0, reacting=True)
    assert abs(traj.energy_drift).max() < 1e-9
    assert traj.work[-1, 3] > 1
