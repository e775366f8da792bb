"""Contacts with friction in space that come to rest: tables that rock, and what stops together with brakes."""

import warnings

import numpy as np
import pytest

import polhode as ph


def quietly(dyn, q, u, t_end):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ph.simulate(dyn, q, u, t_end, output="steps")


def test_a_table_with_friction_rocks_to_rest_on_a_sprung_plate():
    draw = np.random.default_rng(4)
    frictions = draw.uniform(0.05, 0.9, 3)
    feet = np.array([[0.3, 0.0, -0.2], [-0.2, 0.25, -0.2], [-0.15, -0.3, -0.2]]) + draw.normal(size=(3, 3)) * 0.03
    turned, along, mass = draw.uniform(-0.3, 0.3, 3), draw.normal(size=3), 10 ** draw.uniform(-1, 1)
    inertia = (0.05 * mass, 0.06 * mass, 0.07 * mass)
    build = ph.Builder("table")
    build.body("top", joint=ph.free(quaternion=True, name="f"), mass=mass, com=(0.02, 0.01, 0.05), inertia=inertia)
    slide = ph.prismatic(tuple(along), name="x", stiffness=300)
    build.body("plate", joint=slide, at=(0.1, 0.2, -0.3), rpy=tuple(turned), mass=5)
    tilt = ph.revolute((1, 0.4, 0.1), name="a", stiffness=200, damping=3)
    build.body("tilt", parent="plate", joint=tilt, at=(0.05, 0, 0), mass=3, inertia=(0.5, 0.6, 0.8), com=(0, 0.1, 0))
    build.marker("ground", body="tilt", at=(0, 0, 0.1), rpy=(0.1, -0.05, 0.4))
    for k in range(3):
        build.marker(f"foot {k}", body="top", at=tuple(feet[k]))
        build.contact(f"foot {k}", "ground", friction=frictions[k], name=f"c{k}")
    q = np.concatenate([[1, 0.02, -0.03, 0.1], draw.normal(size=2) * 0.05, [0.35], [0.0, 0.0]])
    q[:4] /= np.linalg.norm(q[:4])
    u = draw.normal(size=8) * np.array([0.5] * 3 + [0.6] * 3 + [0.1, 0.1])
    traj = quietly(ph.formulate(build.build()).compile(), q, u, 0.55)
    assert traj.outcome.finished
    assert traj.mode["c0"][-1] == traj.mode["c2"][-1] == "sticks"
    ground = traj.pose("ground")
    for k in (0, 2):  # both stay where they are on the plate
        place = np.einsum("tji,tj->ti", ground[:, :3, :3], traj.pose(f"foot {k}")[:, :3, 3] - ground[:, :3, 3])
        late = traj.t > 0.5
        assert np.ptp(place[late], axis=0) == pytest.approx([0, 0, 0], abs=1e-9)


def test_a_contact_a_brake_and_friction_come_to_rest_in_one_event():
    build = ph.Builder("mix")
    build.body("hang", joint=ph.revolute("y", name="th"), mass=1.5, com=(0, 0, -0.4), inertia=(0.02, 0.03, 0.01))
    knee = ph.revolute((0.2, 1, 0), name="ph", friction=0.05, limits=(-1.1, 0.6))
    build.body("bob", parent="hang", joint=knee, at=(0, 0, -0.8), mass=0.7, com=(0, 0, -0.3))
    build.body("cart", joint=ph.prismatic("x", name="x"), at=(0, 0, -1.6), mass=2)
    build.marker("tip", body="bob", at=(0, 0, -0.5))
    build.marker("deck", body="cart", at=(0, 0, 0.35), rpy=(0, 0.05, 0.3))
    build.contact("tip", "deck", friction=0.4, static=0.6, restitution=0.3, name="deck")
    build.brake("x_dot", capacity="3+sin(5*t)", name="br", active=False)
    build.state("s", rate="x_dot**2-s", start=0.1)
    build.force("x_dot", "2*s")
    build.switch(at=0.7, engage="br")
    traj = quietly(ph.formulate(build.build()).compile(), {"th": 0.9}, {"x_dot": 0.3}, 1.5)
    assert traj.outcome.finished
    assert len(traj.events) < 30
    assert traj.events[-1].time == pytest.approx(0.751321, abs=2e-6)
    assert {traj.mode[name][-1] for name in ("deck", "br", "friction of ph")} == {"sticks", "holds"}
    assert np.abs(traj.u[-1]).max() < 1e-12


DROPPED = {  # feet, restitution, height, speeds, friction
    "turns in a step": (2, 0.4, 0.38572645739358546, (-1.7581372352369962, -1.4789146865473786, -0.5055687849216093,
                             0.37753946049315945, 0.5165226023249898, 0.6926978694817114), 0.6310716948120232),
    "creeps between what is slow and not": (1, 0.0, 0.27677237403432164, (0.7688890985793195, 0.5415471995628431,
                                            -0.49394989764923114, 0.4179326841285478, -0.4283643335901376,
                                            -0.15335752068318975), 0.7383471088776168),
    "leaves from below 0": (3, 0.4, 0.45142525787531995, (1.458278166548785, -1.9104454820438872, 1.200890890307193,
                            0.4572921212726744, 0.44827871747511505, 0.023486800841935662), 0.7621053530191738),
}  # fmt: skip


@pytest.mark.parametrize("case", DROPPED)
def test_bodies_dropped_on_feet_keep_account_of_their_energy(case):
    feet, restitution, height, speeds, friction = DROPPED[case]
    build = ph.Builder("dropped")
    free = ph.free(quaternion=True, name="b")
    build.body("b", joint=free, mass=1.0, inertia=(0.05, 0.06, 0.07), com=(0.02, -0.01, 0.03))
    for k, z in zip(range(feet), (-0.1, -0.17, -0.1), strict=False):
        angle = 2 * np.pi * k / feet
        build.marker(f"m{k}", body="b", at=(0.3 * np.cos(angle), 0.3 * np.sin(angle), z))
        build.contact(f"m{k}", restitution=restitution, friction=friction, name=f"c{k}")
    u = dict(zip(("b_wx", "b_wy", "b_wz", "b_vx", "b_vy", "b_vz"), speeds, strict=True))
    traj = quietly(ph.formulate(build.build()).compile(), {"b_qw": 1.0, "b_z": height}, u, 1.2)
    assert traj.outcome.finished
    assert abs(traj.energy_drift).max() < 2e-7
