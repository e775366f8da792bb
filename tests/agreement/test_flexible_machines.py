"""A flexible arm through everything that a model goes through: each result in two ways."""

import numpy as np
import pytest

import polhode as ph
from polhode.compile import compile
from tests.mechanics import close

START = {"shoulder": 0.3, "elbow": -0.5}
STATE = np.array([0.3, 0.002, 0.001, -0.5, 0.001, -0.0005]), np.array([0.5, 0.1, 0.1, -0.3, 0.2, 0.1])


def arm(add=lambda build: None, damping=0.01, EI=(400, 200)):
    """Two beams in a vertical plane, with hubs, and a tool welded to the tip off its line."""
    build = ph.Builder("arm")
    upper, fore = (
        ph.beam(length=length, mu=mu, EI_y=stiff, modes=2, damping=damping)
        for length, mu, stiff in ((1, 1, EI[0]), (0.8, 0.6, EI[1]))
    )
    build.body("upper", joint=ph.revolute("y", name="shoulder"), mass=0.5, inertia=(0.01, 0.02, 0.01), flexible=upper)
    build.body("fore", parent="upper", at=(1, 0, 0), joint=ph.revolute("y", name="elbow"), mass=0.2,
               inertia=(0.01, 0.01, 0.01), flexible=fore)  # fmt: skip
    build.body("tool", parent="fore", joint=ph.weld(), at=(0.8, 0, 0), mass=0.3, com=(0.05, 0, 0.02))
    build.marker("tip", body="fore", at=(0.8, 0, 0))
    build.marker("seat", body="upper", at=(0.95, 0, 0))
    add(build)
    return build.build()


def compiled(add=lambda build: None, method="denoc", **options):
    return ph.formulate(arm(add), method, **options).compile()


def same_motion(a, b, names=("shoulder", "elbow", "upper_z1", "fore_z2"), tolerance=1e-7):
    assert a.outcome.finished
    assert b.outcome.finished
    for name in names:
        assert close(a[name], b[name], tolerance)


def test_reactions_are_what_the_joints_need():
    """The moment along a joint's axis is its force by inverse dynamics; the tool's are its weight and inertia."""
    eq = ph.formulate(arm())
    udot = eq.kane.udot
    parts = {"shoulder": eq.reaction("shoulder"), "elbow": eq.reaction("elbow"), "tool": eq.reaction("tool"),
             "needed": eq.M @ udot + eq.c - eq.Q, "A": eq.acceleration("tool"), "X": eq.pose("tool")}  # fmt: skip
    values = compile({"q": eq.q, "u": eq.u, "udot": udot}, parts)(*STATE, np.linspace(-1, 1, 6))
    shoulder, elbow, tool, needed, A, X = values
    assert close([shoulder[1], elbow[1]], needed[[0, 3]])
    force = 0.3 * (A[3:] + np.cross(A[:3], X[:3, :3] @ [0.05, 0, 0.02]) + [0, 0, 9.81])
    w = compile({"q": eq.q, "u": eq.u}, eq.velocity("tool"))(*STATE)[:3]
    force += 0.3 * np.cross(w, np.cross(w, X[:3, :3] @ [0.05, 0, 0.02]))
    assert close(X[:3, :3] @ tool[3:], force)


def test_accelerations_of_markers_are_the_changes_of_their_velocities():
    dyn = compiled()
    q, u = STATE
    udot, h = dyn.forward_dynamics(q, u, np.zeros(6)), 1e-6
    ahead, behind = (dyn.velocity("tip")(q + s * u + s * s / 2 * udot, u + s * udot) for s in (h, -h))
    assert close(dyn.acceleration("tip")(q, u, np.zeros(6)), (ahead - behind) / (2 * h), 1e-7)


def test_locks_by_constraint_by_model_and_by_embedding():
    lock = lambda build: build.lock("elbow", name="lock")  # noqa: E731
    held = ph.simulate(compiled(lock), START, None, 0.2)
    embedded = ph.simulate(ph.formulate(arm(lock), embed=True, method="kane").compile(), START, None, 0.2)
    welded = ph.simulate(ph.formulate(ph.locked(arm(), {"elbow": -0.5})).compile(), {"shoulder": 0.3}, None, 0.2)
    same_motion(held, embedded)
    same_motion(held, welded, ("shoulder", "upper_z1", "fore_z1"))


@pytest.mark.parametrize("kind", ["brake", "lock", "clutch"])
def test_what_engages_and_lets_go_accounts_for_energy(kind):
    calls = {
        "brake": lambda build: build.brake("elbow_dot", name="held", active=False),
        "lock": lambda build: build.lock("elbow", name="held", active=False),
        "clutch": lambda build: build.clutch("shoulder_dot", "elbow_dot", name="held", active=False),
    }
    traj = ph.simulate(
        compiled(calls[kind]), START, None, 0.3, switches=[ph.at(0.1, engage="held"), ph.at(0.2, release="held")]
    )
    assert [event.time for event in traj.events] == [0, 0.1, 0.2]
    assert np.abs(traj.energy_drift).max() < 1e-9
    assert traj.work[-1, 2] < -1e-4  # what the impact took
    other = "shoulder_dot" if kind == "clutch" else None
    rest = traj["elbow_dot"] - (traj[other] if other else 0)
    assert np.abs(rest[(traj.t > 0.101) & (traj.t < 0.199)]).max() < 1e-9


def floor(restitution):
    def add(build):
        build.marker("floor", body="world", at=(0, 0, -0.5))
        build.contact("tip", "floor", friction=0.3, restitution=restitution, name="floor contact")

    return add


def test_a_tip_that_strikes_the_ground():
    """Event by event with explicit and with stiff steps, and by steps of impulses, which tend to the same."""
    dyn, start = compiled(floor(0.0)), {"shoulder": 0.1, "elbow": 0.2}
    by_events, stiff = (ph.simulate(dyn, start, None, 0.22, method=m) for m in ("dop853", "rodas5p"))
    assert [str(e) for e in by_events.events] == [str(e) for e in stiff.events]
    assert len(by_events.events) >= 3
    same_motion(by_events, stiff, tolerance=1e-6)
    assert np.abs(by_events.energy_drift).max() < 1e-9
    coarse, fine = (
        np.abs(ph.simulate(dyn, start, None, 0.22, method="moreau", step=h).q[-1] - by_events.q[-1]).max()
        for h in (4e-4, 1e-4)
    )
    assert fine < coarse / 2
    assert fine < 1e-3


def test_a_stop_of_a_joint():
    dyn = compiled(lambda build: build.stop("elbow", lower=-0.6, upper=0.6, restitution=0.3, name="stop"))
    traj = ph.simulate(dyn, START, None, 0.3)
    assert traj["elbow"].min() > -0.6 - 1e-9
    assert np.abs(traj.energy_drift).max() < 1e-9
    assert any("stop" in str(event) for event in traj.events)


def geared(build):
    build.motor("S", drives={"shoulder": 1}, inertia=1e-4, ratio=50, constant=0.05, resistance=0.5, inductance=1e-3)
    build.motor("E", drives={"elbow": 1}, inertia=1e-3, ratio=20, axis="y", on="seat")


def test_motors_with_gears_on_beams():
    """One of them stands on a section, and turns with it."""
    runs = [
        ph.simulate(compiled(geared, method), START, None, 0.2, controls={"S": 3.0, "E": 0.1})
        for method in ("denoc", "quasicoordinate", "kane", "book")
    ]
    for run in runs[1:]:
        same_motion(runs[0], run)


def test_a_prescribed_joint_needs_what_inverse_dynamics_says():
    t = ph.TIME
    dyn = compiled(lambda build: build.prescribe("shoulder", 0.3 + ph.sin(5 * t) / 5, name="drive"))
    traj = ph.simulate(dyn, START, {"shoulder_dot": 1.0}, 0.2, reacting=True)
    assert close(traj["shoulder"], 0.3 + np.sin(5 * traj.t) / 5, 1e-8)
    bare = compiled()
    k = len(traj) // 2
    tau = bare.inverse_dynamics(traj.q[k], traj.u[k], traj.accelerations[k])
    assert close(tau, [traj.reactions[k, 0], 0, 0, 0, 0, 0], 1e-6)


def hooked(build):
    build.marker("hook", body="world", at=(1.2, 0, -0.4))
    build.loop("hook", "tip", "axis", axis="y", name="closed")


def test_loops_through_beams_by_rows_and_embedded():
    dyn = compiled(hooked)
    q, u = ph.assemble(dyn, {"shoulder": 0.2, "elbow": 0.5})
    assert (q[[1, 2, 4, 5]] == 0).all()  # what the joints can do, the beams need not
    rows = ph.simulate(dyn, q, u, 0.15)
    assert np.abs(rows.energy_drift).max() < 1e-8
    for way in ("substitution", "recombination"):
        embedded = ph.formulate(arm(hooked), embed=True, embed_by=way).compile()
        same_motion(rows, ph.simulate(embedded, q, None, 0.15))


def test_speeds_of_ones_own():
    s = {name: ph.symbol(name) for name in arm().speeds}
    mine = {"u1": s["shoulder_dot"], "u2": s["shoulder_dot"] + s["elbow_dot"], "u3": 3 * s["upper_z1_dot"],
            "u4": s["upper_z2_dot"], "u5": s["fore_z1_dot"] + s["upper_z1_dot"], "u6": s["fore_z2_dot"]}  # fmt: skip
    q, v = STATE
    G = np.array([[1, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [0, 3, 0, 0, 0, 0],
                  [0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]])  # fmt: skip
    found = ph.formulate(arm(), speeds=mine).compile().forward_dynamics(q, G @ v, np.zeros(6))
    assert close(found, G @ compiled().forward_dynamics(q, v, np.zeros(6)), 1e-11)


def test_values_put_into_symbolic_beams():
    L, mu, EI, m = ph.symbols("L mu EI m")

    def pendulum(L, mu, EI, m):
        build = ph.Builder("pendulum")
        flexible = ph.beam(length=L, mu=mu, EI_y=EI, modes=2, damping=0.01)
        build.body("arm", joint=ph.revolute("y"), mass=m, com=(0.1, 0, 0), flexible=flexible)
        build.body("bob", parent="arm", joint=ph.weld(), at=(L / 2, 0, 0.1), mass=m)
        return build.build()

    values = {"L": 1.2, "mu": 0.7, "EI": 30.0, "m": 0.4}
    symbolic, q, u = pendulum(L, mu, EI, m), [0.3, 0.02, -0.01], [0.5, 0.1, 0.2]
    expected = ph.formulate(pendulum(**values)).compile().forward_dynamics(q, u, np.zeros(3))
    substituted = ph.formulate(symbolic.substituted(values)).compile()
    left_open, folded = ph.formulate(symbolic).compile(), ph.formulate(symbolic).compile(values)
    p = [values[name] for name in left_open.parameters]
    assert close(substituted.forward_dynamics(q, u, np.zeros(3)), expected)
    assert close(folded.forward_dynamics(q, u, np.zeros(3)), expected)
    assert close(left_open.forward_dynamics(q, u, np.zeros(3), p=p), expected)
    with pytest.raises(ValueError, match="the length is -1"):
        symbolic.substituted({"L": -1})
    with pytest.raises(ValueError, match="stiffness of its mode 'z1' is -"):
        symbolic.substituted({**values, "EI": -30})


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_targets(target):
    dyn = ph.formulate(arm(), "denoc").compile(target=target)
    assert close(dyn.forward_dynamics(*STATE, np.zeros(6)), compiled().forward_dynamics(*STATE, np.zeros(6)), 1e-12)


def test_exported_python():
    space = {}
    exec(str(ph.formulate(arm()).to_python()), space)
    found = space["dynamics"](*STATE, np.zeros(6))
    assert close(found["udot"], compiled().forward_dynamics(*STATE, np.zeros(6)), 1e-11)


@pytest.mark.parametrize(("method", "step", "near"), [
    ("dopri5", None, 1e-8), ("rodas5p", None, 1e-8), ("rk4", 1e-4, 1e-8), ("midpoint", 1e-4, 1e-5),
    ("euler", 1e-5, 1e-4), ("moreau", 1e-4, 1e-5),
])  # fmt: skip
def test_integrators(method, step, near):
    dyn = compiled()
    expected = ph.simulate(dyn, START, None, 0.1, rtol=1e-11, atol=1e-12).q[-1]
    assert np.abs(ph.simulate(dyn, START, None, 0.1, method=method, step=step).q[-1] - expected).max() < near


def test_many_runs_at_once():
    EI, far = np.array([300.0, 400.0]), ph.symbol("EI")
    dyn = ph.formulate(arm(EI=(far, 200)), "denoc").compile()
    many = ph.simulate_many(dyn, START, None, 0.05, p={"EI": EI}, step=1e-4)
    for k, stiff in enumerate(EI):
        one = ph.simulate(
            ph.formulate(arm(EI=(stiff, 200)), "denoc").compile(), START, None, 0.05, method="rk4", step=1e-4
        )
        assert close(many.q[k, -1], one.q[-1])


def test_steps_one_by_one():
    """Also the first, before anything is recorded."""
    sim = ph.Simulation(compiled(), [0.3, 0, 0, -0.5, 0, 0], None, method="rk4", step=1e-4)
    for _ in range(5):
        sim.step()
    sim.run(until=0.01)
    assert close(sim.q, ph.simulate(compiled(), START, None, 0.01, method="rk4", step=1e-4).q[-1], 1e-12)
    with pytest.warns(ph.SimulationWarning, match="'upper' bends by more than 10 %"):
        ph.Simulation(compiled(), [0, 0.3, 0, 0, 0, 0], None, method="rk4", step=1e-4).step()


def test_damping_is_the_work_that_is_missing():
    traj = ph.simulate(compiled(), {"upper_z1": 0.02}, None, 0.3)
    assert np.abs(traj.energy_drift).max() < 1e-9
    assert traj.work[-1, 1] < -0.01


def test_a_beam_that_can_spin_about_its_own_line_is_refused():
    """It has inertia about it where it is bent, and none where it is straight."""
    build = ph.Builder("spinning")
    build.body("rod", joint=ph.spherical(), flexible=ph.beam(length=1, mu=1, EI_y=10, EI_z=10, modes=2))
    model = build.build()
    assert "'rod_wx'" in str(model.report())
    dyn = ph.formulate(model).compile()
    for ask in (
        lambda: dyn.forward_dynamics(model.neutral(), np.zeros(7), np.zeros(7)),
        lambda: ph.simulate(dyn, t_end=1.0),
        lambda: ph.linearize(dyn),
    ):
        with pytest.raises(ValueError, match=r"nothing with inertia moves with 'rod_wx'.* Give the beam J="):
            ask()


def test_a_beam_spins_about_its_own_line_by_its_polar_inertia_without_twisting():
    """J alone: no GJ, and no mode of twist; a free spin about the line keeps its speed and turns as a rigid rod."""
    build = ph.Builder("spinning", gravity=(0, 0, 0))
    beam = ph.beam(length=1, mu=1, EI_y=10, EI_z=10, J=2e-3, modes=1)
    build.body("rod", joint=ph.spherical(), flexible=beam)
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, u0={"rod_wx": 3.0}, t_end=1.0)
    assert traj["rod_wx"] == pytest.approx(np.full(len(traj.t), 3.0))
    pushed = dyn.forward_dynamics(dyn.equations.model.neutral(), np.zeros(5), [0.5, 0, 0, 0, 0])
    assert pushed[0] == pytest.approx(0.5 / 2e-3)  # tau / (J L)


def test_elements_of_rigid_bodies_are_refused():
    for ask in (lambda: ph.formulate(arm(), "denoc").explain("elbow_dot", "shoulder_dot"),
                lambda: ph.formulate(arm(), "quasicoordinate").transformations()):  # fmt: skip
        with pytest.raises(ValueError, match="'upper' deforms"):
            ask()
