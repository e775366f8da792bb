"""Rigid ground that is not flat: points that slide, stick, bounce and leave, beside closed forms and other grounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.kinematics.actions import acting
from polhode.kinematics.candidates import candidates

FORMULATIONS = ("poincare", "denoc", "lagrange", "kane", "quasicoordinate")
G = 9.81
x, y, bump = ph.symbols("x y bump")
HILLS = bump * ph.exp(-(x**2 + 2 * y**2)) + 0.05 * ph.sin(3 * x) * ph.cos(2 * y)


def point(marker: dict[str, Any] | None = None, method: str = "denoc", **ground: Any) -> ph.Dynamics:
    """A point of 2 kg in space, on ground of the world or of a marker of it."""
    build = ph.Builder("point")
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("across", parent="along", joint=ph.prismatic("y", name="y"), mass=0)
    build.body("point", parent="across", joint=ph.prismatic("z", name="z"), mass=2)
    build.marker("floor", body="world", **(marker or {}))
    build.contact("point", "floor", name="ground", **ground)
    return ph.formulate(build.build(), method).compile()


def bead(x0: float, v0: float, mu: float, t: np.ndarray, height: float = 0.1, k: float = 4.0) -> Any:
    """A bead on z = height sin(k x), by the arc: s_dot = v, v_dot = -g sin a - mu sign(v) (g cos a + kappa v^2)."""

    def rate(_: float, state: Any) -> list[float]:
        at, v = state
        slope, bend = height * k * np.cos(k * at), -height * k**2 * np.sin(k * at)
        long = np.sqrt(1 + slope**2)
        pressed = G / long + bend / long**3 * v**2  # normal force of a unit of mass
        return [v / long, -G * slope / long - mu * np.sign(v) * pressed]

    found = solve_ivp(rate, (t[0], t[-1]), [x0, v0], t_eval=t, rtol=1e-11, atol=1e-12)
    return found.y


@pytest.mark.parametrize("method", FORMULATIONS)
def test_a_point_slides_on_waves(method: str) -> None:
    """Up a wave, and back, as a bead on a wire: the ODE of its arc."""
    dyn = point(relief=0.1 * ph.sin(4 * x), friction=0.2, method=method)
    slope = 0.4
    start = {"x_dot": 1.5, "z_dot": 1.5 * slope}
    traj = ph.simulate(dyn, None, start, 0.9, reacting=True)
    assert set(traj.mode["ground"]) == {"slides"}
    at, v = bead(0.0, 1.5 * np.sqrt(1 + slope**2), 0.2, traj.t)
    assert traj["x"] == pytest.approx(at, abs=1e-7)
    assert np.hypot(traj["x_dot"], traj["z_dot"]) == pytest.approx(np.abs(v), abs=1e-6)
    assert traj["z"] == pytest.approx(0.1 * np.sin(4 * traj["x"]), abs=1e-9)
    # forces: lam (-h', 0, 1) across the ground, mu times as much along it
    h1, h2 = 0.4 * np.cos(4 * at), -1.6 * np.sin(4 * at)
    long = np.sqrt(1 + h1**2)
    normal = 2 * (G / long + h2 / long**3 * v**2)
    assert traj["reaction ground.height"] == pytest.approx(normal / long, abs=1e-5)
    assert traj["reaction ground.slip x"] == pytest.approx(-0.2 * normal * np.sign(v), abs=1e-5)
    assert np.abs(traj.energy_drift).max() < 1e-7
    assert traj.work[-1, 2] == pytest.approx((v[-1] ** 2 - v[0] ** 2) + 2 * G * traj["z"][-1], abs=1e-6)


def test_it_leaves_where_nothing_presses() -> None:
    """Up to a crest without friction: where the normal force of the bead, g cos a + kappa v^2, passes 0."""
    dyn = point(relief=0.1 * ph.cos(4 * x))
    z, slope = 0.1 * np.cos(1.2), 0.4 * np.sin(1.2)
    along = np.sqrt(10 / (1 + slope**2))
    traj = ph.simulate(dyn, {"x": -0.3, "z": z}, {"x_dot": along, "z_dot": along * slope}, 0.3)
    opened = traj.events[1]
    assert opened.why == "opens"
    at = opened.states[0]
    h1, h2 = -0.4 * np.sin(4 * at[0]), -1.6 * np.cos(4 * at[0])
    v, long = np.hypot(at[3], at[5]), np.sqrt(1 + h1**2)
    assert v**2 == pytest.approx(10 + 2 * G * (z - at[2]), abs=1e-8)
    assert G / long + h2 / long**3 * v**2 == pytest.approx(0, abs=1e-6)


TILT = 0.4


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("run", [{}, {"method": "moreau", "step": 1e-3}], ids=["events", "moreau"])
def test_a_slope_is_a_tilted_plane(law: str, run: dict[str, Any]) -> None:
    """Bounces with friction, then slides: as a relief, tan(a) x, and as a plane across a marker that is tilted."""
    given = {"restitution": 0.6, "restitution_law": law, "friction": 0.3}
    slope = point(relief=float(np.tan(TILT)) * x, **given)
    plane = point({"rpy": (0, -TILT, 0)}, **given)
    start = {"x": 0.1, "z": 0.5}, {"x_dot": 1.0, "y_dot": 0.7}
    one, two = (ph.simulate(dyn, *start, 1.5, **run) for dyn in (slope, plane))
    assert one.q == pytest.approx(two.q, abs=1e-7)
    assert one.u[-1] == pytest.approx(two.u[-1], abs=1e-6)
    assert np.array_equal(one.mode["ground"], two.mode["ground"])
    assert len(one.events) == len(two.events) > 3
    struck = [event.impulses["ground.height"] for event in one.events if event.impulses]
    across = [event.impulses["ground.height"] for event in two.events if event.impulses]
    assert np.array(struck) == pytest.approx(np.array(across) * np.cos(TILT), abs=1e-6)


def test_a_point_stays_where_the_ground_is_flat_enough() -> None:
    """Up to a slope of mu it sticks, in every direction; beyond, it slides down."""
    relief = 0.5 * (x**2 + y**2)
    dyn = point(relief=relief, friction=0.4)
    for angle in np.linspace(0, 6, 5):
        for steep, word in ((0.39, "sticks"), (0.41, "slides")):
            at = steep * np.array([np.cos(angle), np.sin(angle)])
            traj = ph.simulate(dyn, {"x": at[0], "y": at[1], "z": steep**2 / 2}, None, 0.1)
            assert traj.mode["ground"][5] == word
            moved = traj.q[-1, :2] - at
            assert np.linalg.norm(moved) == 0 if word == "sticks" else moved @ at < -1e-5


def test_time_stepping_converges_to_events() -> None:
    """In a bowl with friction, thrown askew: of the first order or better."""
    dyn = point(relief=0.5 * (x**2 + 2 * y**2), friction=0.2, restitution=0.3)
    start = {"x": 0.3, "z": 0.3}, {"y_dot": 0.8}
    exact = ph.simulate(dyn, *start, 1.0).q[-1]
    off = [np.abs(ph.simulate(dyn, *start, 1.0, method="moreau", step=h).q[-1] - exact).max() for h in (4e-3, 5e-4)]
    assert off[1] < 2e-3
    assert off[1] < off[0] / 2


def machine(**ground: Any) -> ph.Model:
    """An arm in space with a foot on hills of the world, and of a table that moves. Its slide is called x, too."""
    build = ph.Builder("on hills", gravity=(0.3, 0, -9.81))
    build.body(
        "base", joint=ph.revolute((0, 0.8, 0.6), name="tilt"), mass=2, com=(0.1, 0, 0.2), inertia=(0.2, 0.3, 0.1)
    )
    build.body("arm", parent="base", at=(0.4, 0, 0), joint=ph.universal(("z", "x"), name="arm"), mass=1.5,
               com=(0, 0.2, -0.3), inertia=(0.1, 0.2, 0.3))  # fmt: skip
    build.body("slider", parent="arm", at=(0, 0, -0.5), joint=ph.prismatic((0.6, 0, 0.8), name="x"), mass=1)
    build.marker("tip", body="slider", at=(0.1, -0.2, -0.3), rpy=(0.2, 0.1, 0.4))
    build.marker("table", body="base", at=(0, 0, -1.1), rpy=(0.1, 0.3, 0))
    build.marker("floor", body="world", at=(0, 0, -1.3), rpy=(0.05, 0, 0))
    build.contact("tip", "floor", name="floor contact", relief=HILLS, **({"friction": 0.4} | ground))
    build.contact("tip", "table", name="table contact", relief=HILLS, **({"friction": 0.3} | ground))
    return build.build()


def test_rows_are_slopes_and_actions() -> None:
    """J and gamma as actions on two bodies, and by differentiation of the gap and of the slip."""
    kin = ph.formulate(machine(), "denoc").kinematics
    rows = candidates(kin).rows
    written = acting(rows)
    assert written.J is not rows.J  # otherwise nothing is compared
    draw = np.random.default_rng(7)
    for _ in range(5):
        values = {s: draw.normal() * 0.5 for s in [*kin.q, *kin.u]} | {bump: 0.3}
        for one, two in ((written.psi, rows.psi), (written.J, rows.J), (written.gamma, rows.gamma)):
            found, expected = (np.array(ph.evaluate(list(m.entries), values), dtype=float) for m in (one, two))
            assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_gaps_change_as_their_rows_say() -> None:
    """psi of the height is the rate of the gap everywhere, not only where it is 0; the others are along the ground."""
    kin = ph.formulate(machine(), "denoc").kinematics
    rows = candidates(kin).rows
    draw = np.random.default_rng(8)
    heights = [i for i, label in enumerate(rows.labels) if label.endswith("height")]
    rates = kin.rate(rows.phi)
    for _ in range(5):
        values = {s: draw.normal() * 0.5 for s in [*kin.q, *kin.u]} | {bump: 0.3}
        for i in heights:
            assert ph.evaluate(rows.psi[i], values) == pytest.approx(ph.evaluate(rates[i], values), rel=1e-10)


def test_formulations_agree() -> None:
    """A foot that falls on a hill, slides, and sticks or leaves, in all formulations."""
    model, ends, modes = machine(), [], []
    for name in FORMULATIONS:
        dyn = ph.formulate(model, name).compile({"bump": 0.3})
        traj = ph.simulate(dyn, {"tilt": 0.1, "x": -0.1}, None, 0.8)
        ends.append(traj.q[-1])
        modes.append([(event.why, event.what) for event in traj.events])
    assert modes[0][1:]
    assert all(found == modes[0] for found in modes)
    for found in ends[1:]:
        assert found == pytest.approx(ends[0], abs=1e-6)


def test_toml_both_ways() -> None:
    model = machine()
    text = write_toml(model)
    assert read_toml(text) == model
    assert "relief" in text


def test_ground_that_yields_little_is_nearly_rigid() -> None:
    """The force of the same relief with a large stiffness: as far along to 1 mm."""
    relief = 0.05 * ph.sin(4 * x)
    start = {"x": 0.0}, {"x_dot": 1.0, "z_dot": 0.2}
    hard = ph.simulate(point(relief=relief, friction=0.2), *start, 0.5)
    given = {"stiffness": 1e6, "dissipation": 5.0, "slip_speed": 1e-4, "friction": 0.2}
    soft = ph.simulate(point(relief=relief, **given), *start, 0.5)
    assert hard.q[-1] == pytest.approx(soft.q[-1], abs=1e-3)


def test_a_disc_on_a_relief_is_refused() -> None:
    with pytest.raises(ph.ModelError, match="expected a point"):
        point(relief=x, shape="disc", radius=1)


def test_an_edge_strikes_what_slides_over_it() -> None:
    """Events do not know of it, and say so; time-stepping lets go, or strikes."""
    edge = ph.select(x < 0.3, 0.1, 0)
    kink = ph.height_grid([0.0, 0.3, 0.6], [-1, 1], [[0, 0], [0, 0], [0.1, 0.1]])
    for relief, z in ((edge, 0.1), (kink, 0.0)):
        dyn = point(relief=relief, friction=0.1)
        with pytest.warns(ph.SimulationWarning, match='edge or a kink.* use method="moreau"'):
            stopped = ph.simulate(dyn, {"z": z}, {"x_dot": 1.5}, 0.8)
        assert stopped.outcome.culprit == "ground.height"
        traj = ph.simulate(dyn, {"z": z}, {"x_dot": 1.5}, 0.8, method="moreau", step=1e-3)
        assert traj.outcome.finished
        gap = traj["z"] - np.array([float(ph.evaluate(relief, {x: at, y: 0})) for at in traj["x"]])
        assert gap.min() > -2e-3
        assert traj["x"].max() > 0.31


def test_many_candidates_on_a_relief() -> None:
    """Beyond 240 rows they are added to the code as they touch: those of a plate with many feet on a slope."""

    def plate(marker: dict[str, Any], **ground: Any) -> ph.Trajectory:
        build = ph.Builder("plate")
        build.body("plate", joint=ph.free(quaternion=False), mass=2, inertia=(0.02, 0.03, 0.04))
        build.marker("floor", body="world", **marker)
        for k, (a, b) in enumerate((i / 8 - 0.5, j / 8 - 0.5) for i in range(9) for j in range(10)):
            build.marker(f"foot {k}", body="plate", at=(a, b, -0.02 * (a**2 + b**2)))
            build.contact(f"foot {k}", "floor", name=f"ground {k}", friction=0.3, **ground)
        dyn = ph.formulate(build.build()).compile()
        return ph.simulate(dyn, {"plate_z": 0.3}, {"plate_wx": 0.5}, 0.32)

    one, two = plate({}, relief=float(np.tan(TILT)) * x), plate({"rpy": (0, -TILT, 0)})
    assert len(one.events) == len(two.events) > 1
    assert one.events.times == pytest.approx(two.events.times, abs=1e-9)
    assert one.q[-1] == pytest.approx(two.q[-1], abs=1e-7)
