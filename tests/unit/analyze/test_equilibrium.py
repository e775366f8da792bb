"""Equilibria against closed forms, against statics by energy, and against what the machine then does."""

import json

import numpy as np
import pytest

import polhode as ph
from polhode.model.grow import grow


def compiled(build, **values):
    return ph.formulate(build.build()).compile(values=values)


def cart_pole():
    build = ph.Builder("cart-pole", gravity=(0, -9.81, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=2.0)
    build.body("pole", parent="cart", joint=ph.revolute("z", name="theta"), mass=0.3, com=(0, "L", 0))
    return compiled(build)


def test_a_pole_hangs_or_stands_and_where_the_cart_is_stays_free():
    dyn = cart_pole()
    up = ph.equilibrium(dyn, {"theta": 0.3, "x": 0.7}, p={"L": 0.6})
    down = ph.equilibrium(dyn, {"theta": 2.5}, p={"L": 0.6})
    assert abs(up["theta"]) < 1e-12
    assert not up.stable
    assert abs(down["theta"] - np.pi) < 1e-12
    assert down.stable
    assert up["x"] == 0.7
    assert up.free == ({"x": 1.0},)
    assert up.at_rest
    assert "Not determined: x" in str(up)
    assert "Equilibrium of 'cart-pole'" in str(up)


def test_what_no_force_holds_is_said():
    dyn = cart_pole()
    with pytest.raises(ph.EquilibriumError, match=r"more equations than unknowns: 2 \(x_dot, theta_dot\) for 1"):
        ph.equilibrium(dyn, {"theta": 0.3}, p={"L": 0.6}, unknowns=["tau.x_dot"])
    build = ph.Builder("stone")
    build.body("stone", joint=ph.prismatic("z", name="z"), mass=1.0)
    build.body("side", joint=ph.prismatic("x", name="x"), mass=1.0)
    with pytest.raises(
        ph.EquilibriumError, match=r"'z_dot' accelerates by -9.8.*Nothing that is unknown acts on '?z_dot"
    ):
        ph.equilibrium(compiled(build), unknowns=["x", "tau.x_dot"])


def test_what_is_told_of_none_is_the_best_that_constraints_allow():
    """A disc that leans falls; it does not do so in the air."""
    build = ph.Builder("disc", gravity=(0, 0, -9.81))
    names = ("spin", "lean", "yaw", "z", "y", "x")
    angles = ph.compound([*map(ph.revolute, "yxz"), *map(ph.prismatic, "zyx")], q=names)
    build.body("disc", joint=angles, mass=1, inertia=(0.0225, 0.045, 0.0225))
    build.rolling("disc", radius=0.3)
    dyn = compiled(build)
    with pytest.raises(ph.EquilibriumError) as error:
        ph.equilibrium(dyn, {"lean": 0.3}, {"spin_dot": 0.0}, unknowns=["x"])
    best = str(error.value).partition(" at best, ")[2].partition(". ")[0]
    assert "'lean_dot' accelerates by" in best
    assert "off" not in best
    with pytest.raises(ph.EquilibriumError, match=r"height' is 0\.01339.* lean, z are given, and constraints tie them"):
        ph.equilibrium(dyn, {"lean": 0.3, "z": 0.3}, {"spin_dot": 10.0}, unknowns=["yaw_dot"])
    # what the message says to do
    assert ph.equilibrium(dyn, {"lean": 0.3}, {"spin_dot": 10.0}, unknowns=["yaw_dot"])["z"] == pytest.approx(
        0.3 * np.cos(0.3), rel=1e-12
    )


def test_a_coordinate_that_matters_cannot_move_steadily():
    with pytest.raises(ph.EquilibriumError, match="depend on theta"):
        ph.equilibrium(cart_pole(), {"theta": 0.3}, {"theta_dot": 1.0}, p={"L": 0.6}, unknowns=["x", "tau.x_dot"])


def test_names_that_are_not_there():
    dyn = cart_pole()
    for name, said in (("tau.x", "no coordinate, speed"), ("y", "no coordinate")):
        with pytest.raises(KeyError, match=said):
            ph.equilibrium(dyn, p={"L": 0.6}, unknowns=[name])
    with pytest.raises(ValueError, match="named twice"):
        ph.equilibrium(dyn, p={"L": 0.6}, unknowns=["x", "x"])
    with pytest.raises(ValueError, match="folded into the code"):
        ph.equilibrium(compiled_with_length(), unknowns=["L"])
    with pytest.raises(TypeError, match="equilibrium takes a Dynamics"):
        ph.equilibrium(dyn.equations)
    with pytest.raises(TypeError, match="equilibrium takes no 'qq'"):
        ph.equilibrium(dyn, qq=1)


def compiled_with_length():
    return cart_pole().equations.compile({"L": 0.6})


def test_a_counterweight_is_found_as_a_parameter():
    build = ph.Builder("scale")
    build.body("beam", joint=ph.revolute("y", name="a"), mass=1.0, inertia=(1, 1, 1))
    build.body("left", parent="beam", at=(-0.4, 0, 0), joint=ph.weld(), mass=3.0)
    build.body("right", parent="beam", at=("b", 0, 0), joint=ph.weld(), mass="m")
    dyn = compiled(build)
    found = ph.equilibrium(dyn, {"a": 0.2}, p={"m": 1.0, "b": 1.5}, unknowns=["m"])
    assert abs(found["m"] * 1.5 - 3.0 * 0.4) < 1e-12
    lever = ph.equilibrium(dyn, {"a": 0.2}, p={"m": 1.0, "b": 1.5}, unknowns="b")
    assert abs(lever["b"] - 1.2) < 1e-12
    both = ph.equilibrium(dyn, {"a": 0.2}, p={"m": 1.0, "b": 1.5}, unknowns=["m", "b"])
    assert abs(both["m"] * both["b"] - 1.2) < 1e-12
    assert len(both.free) == 1
    # nearest to the guess in shares of it: on m b = 1.2, (m/1 - 1, b/1.5 - 1) is normal to the curve
    off, normal = np.array([both["m"] - 1, both["b"] / 1.5 - 1]), np.array([both["b"], 1.5 * both["m"]])
    assert abs(off[0] * normal[1] - off[1] * normal[0]) < 1e-8


def arm():
    build = ph.Builder("arm")
    build.body(
        "arm", joint=ph.revolute("y", name="a", damping=0.01), mass=1, com=(0.3, 0, 0), inertia=(0.001, 0.03, 0.03)
    )
    wound = {"constant": 0.05, "resistance": 0.5, "inductance": 1e-3, "lower": -24, "upper": 24}
    build.motor("M", inertia=1e-5, ratio=50, axis="y", **wound).drives({"a": 1})
    return compiled(build)


def test_the_voltage_of_a_motor_holds_an_arm():
    dyn = arm()
    found = ph.equilibrium(dyn, {"a": 0.3}, unknowns=["controls.M", "M_current"])
    current = -0.3 * 9.81 * np.cos(0.3) / (50 * 0.05)
    gravity = float(dyn.equations.model.gravity[2])
    current *= -gravity / 9.81
    assert np.isclose(found["M_current"], current, rtol=1e-12)
    assert np.isclose(found.controls["M"], 0.5 * current, rtol=1e-12)
    lin = ph.linearize(dyn, **found.start())
    assert lin.equilibrium
    traj = ph.simulate(dyn, **found.start(), t_end=1.0)
    assert abs(traj["a"] - 0.3).max() < 1e-9
    with pytest.raises(ValueError, match=r"'q.M' or 'controls.M'"):
        ph.equilibrium(dyn, {"a": 0.3}, unknowns=["M"])


def test_a_control_stays_within_its_limits():
    build = ph.Builder("weak")
    build.body("arm", joint=ph.revolute("y", name="a"), mass=1, com=(0.3, 0, 0), inertia=(0.001, 0.03, 0.03))
    build.actuator("M", {"a_dot": 1}, lower=-2, upper=2)
    dyn = compiled(build)
    with pytest.raises(ph.EquilibriumError, match="At a limit: M"):
        ph.equilibrium(dyn, {"a": 0.1}, unknowns=["M"])
    found = ph.equilibrium(dyn, {"a": 1.4}, unknowns=["M"])
    assert abs(found["M"]) < 2
    assert np.isclose(abs(found["M"]), 0.3 * 9.80665 * np.cos(1.4), rtol=1e-3)
    # the arm is let down until the motor holds it
    moved = ph.equilibrium(dyn, {"a": 1.0}, unknowns=["M", "a"])
    assert abs(moved["M"]) <= 2
    assert moved.free


def test_stops_bound_what_is_found():
    build = ph.Builder("spring")
    build.body("mass", joint=ph.prismatic("x", name="x", limits=(-1, 1), stiffness=2.0, rest=3.0), mass=1)
    dyn = compiled(build)
    with pytest.raises(ph.EquilibriumError, match="At a limit: x"):
        ph.equilibrium(dyn)
    beyond = ph.equilibrium(dyn, {"x": 2.0}, unknowns=["tau.x_dot"])
    assert beyond["tau.x_dot"] == pytest.approx(-2.0)
    assert any("beyond its upper limit 1" in n for n in beyond.notes)


def slider_crank():
    build = ph.Builder("slider-crank")
    build.body("crank", joint=ph.revolute("y", name="a"), mass=1, com=(0.15, 0, 0), inertia=(0.001, 0.01, 0.01))
    build.body(
        "rod", parent="crank", at=(0.3, 0, 0), joint=ph.revolute("y", name="b"), mass=2, com=(0.4, 0, 0),
        inertia=(0.001, 0.1, 0.1),
    )  # fmt: skip
    build.body("slider", joint=ph.prismatic("x", name="x", stiffness=40.0, rest=0.6), mass=3)
    build.marker("end", body="rod", at=(0.8, 0, 0))
    build.marker("pin", body="slider", at=(0, 0, 0))
    build.loop("pin", "end", "hinge", axis="y", name="close")
    return compiled(build)


def test_the_torque_that_holds_a_slider_crank_is_the_slope_of_its_energy():
    dyn = slider_crank()
    q = {"a": -0.8, "b": 1.0, "x": 0.9}

    def potential(a):
        at = ph.assemble(dyn, q | {"a": a}, keep=["a"])
        return float(dyn.energy(at.q, 0 * at.u)[1])

    h = 1e-4
    slope = (potential(-0.8 + h) - potential(-0.8 - h)) / (2 * h)
    start = ph.assemble(dyn, q, keep=["a"])
    held = ph.equilibrium(dyn, start, unknowns=["tau.a_dot"])
    assert held["tau.a_dot"] == pytest.approx(slope, rel=1e-6)
    free = ph.equilibrium(dyn, q)
    a = free["a"]
    assert abs((potential(a + h) - potential(a - h)) / (2 * h)) < 1e-6
    assert np.allclose(ph.assemble(dyn, free.q).q, list(free.q.values()), atol=1e-9)  # it is closed
    assert ph.linearize(dyn, **free.start()).equilibrium
    # a is given, the others follow, from where they are said to be or by themselves
    named = ph.equilibrium(dyn, q, unknowns=["tau.a_dot", "b", "x"])
    assert named["tau.a_dot"] == pytest.approx(slope, rel=1e-6)
    assert named["a"] == -0.8
    alone = ph.equilibrium(dyn, {"a": -0.8, "x": 0.9}, unknowns=["tau.a_dot", "x"])
    assert set(alone.followed) == {"b"}
    assert alone["tau.a_dot"] == pytest.approx(slope, rel=1e-6)
    with pytest.raises(ph.EquilibriumError, match=r"close\.x.* a, b, x are given, and constraints tie them: leave"):
        ph.equilibrium(dyn, q, unknowns=["tau.a_dot"])


@pytest.mark.parametrize("seed", range(6))
def test_forces_that_hold_grown_machines_are_those_of_inverse_dynamics(seed):
    model = grow(seed, ["revolute", "prismatic", "universal", "revolute"], forces=True)
    dyn = ph.formulate(model).compile()
    draw = np.random.default_rng(seed)
    nq, nu = len(model.coordinates), len(model.speeds)
    q = 0.4 * draw.normal(size=nq)
    names = [f"tau.{name}" for name in model.speeds]
    found = ph.equilibrium(dyn, q, unknowns=names)
    expected = dyn.inverse_dynamics(q, np.zeros(nu), np.zeros(nu))
    assert np.allclose(list(found.tau.values()), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_grown_machines_rest_where_nothing_accelerates(seed):
    model = grow(seed, ["spherical", "revolute", "prismatic"], forces=True)
    dyn = ph.formulate(model).compile()
    nu = len(model.speeds)
    found = ph.equilibrium(dyn)
    q = np.array(list(found.q.values()))
    assert abs(dyn.forward_dynamics(q, np.zeros(nu), np.zeros(nu))).max() < 1e-6
    assert found.at_rest


def table(reach=0.5, weight=0.0):
    build = ph.Builder("table")
    pose = ph.compound([*map(ph.revolute, "yx"), *map(ph.prismatic, "z")], q=("pitch", "roll", "z"))
    build.body("table", joint=pose, mass=10, com=(weight, 0, 0.7), inertia=(1, 1, 1))
    for name, x, y in (("A", reach, 0.0), ("B", -reach, 0.4), ("C", -reach, -0.4)):
        build.marker(name, body="table", at=(x, y, 0))
        build.contact(name, name=f"foot {name}")
    return compiled(build)


def test_a_table_stands_on_its_feet_and_a_foot_that_would_pull_is_told():
    feet = ["foot A", "foot B", "foot C"]
    stands = ph.equilibrium(table(), {"z": 0.1}, active=feet)
    total = sum(stands.reactions.values())
    gravity = 10 * abs(float(table().equations.model.gravity[2]))
    assert total == pytest.approx(gravity, rel=1e-12)
    assert stands.reactions["foot A.height" if "foot A.height" in stands.reactions else "foot A"] == pytest.approx(
        gravity / 2
    )
    assert abs(stands["z"]) < 1e-12
    assert not any("pull" in n for n in stands.notes)
    tips = ph.equilibrium(table(weight=0.8), {"z": 0.1}, active=feet)
    assert any("can only push" in n and "foot B" in n for n in tips.notes)
    assert ph.equilibrium(table(), {"z": 0.0}, active=feet, unknowns=["z"]).linear().equilibrium


def test_a_brake_or_a_force_holds_a_cart_on_a_slope():
    build = ph.Builder("slope", gravity=(9.81 * np.sin(0.2), 0, -9.81 * np.cos(0.2)))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=3.0)
    build.brake("x_dot", name="brake", active=False)
    dyn = compiled(build)
    pushed = ph.equilibrium(dyn, unknowns=["tau.x_dot"])
    assert pushed["tau.x_dot"] == pytest.approx(-3 * 9.81 * np.sin(0.2), rel=1e-12)
    braked = ph.equilibrium(dyn, active="brake")
    assert list(braked.reactions.values()) == pytest.approx([-3 * 9.81 * np.sin(0.2)], rel=1e-12)
    assert braked.holds == ("brake",)
    assert braked.linear().equilibrium
    with pytest.raises(ph.EquilibriumError, match="accelerates"):
        ph.equilibrium(dyn)


def test_four_rotors_hover_also_with_a_quaternion():
    build = ph.Builder("copter", gravity=(0, 0, -9.81))
    build.body(
        "body", joint=ph.free(name="b", quaternion=True), mass=1.2, com=(0.02, 0, 0), inertia=(0.01, 0.012, 0.02)
    )
    for i, (x, y, way) in enumerate([(0.2, 0.2, 1), (-0.2, 0.2, -1), (-0.2, -0.2, 1), (0.2, -0.2, -1)]):
        # thrust along z of the body, with the moment that it has there
        build.actuator(f"r{i}", {"b_vz": 1, "b_wx": y, "b_wy": -x, "b_wz": 0.02 * way}, lower=0, upper=8)
    dyn = compiled(build)
    rotors = [f"r{i}" for i in range(4)]
    found = ph.equilibrium(dyn, unknowns=[*rotors])
    thrust = np.array([found[name] for name in rotors])
    assert thrust.sum() == pytest.approx(1.2 * 9.81, rel=1e-12)
    assert 0.2 * (thrust[0] + thrust[3] - thrust[1] - thrust[2]) == pytest.approx(1.2 * 9.81 * 0.02, rel=1e-9)
    names = dyn.equations.model.coordinates
    q = np.zeros(len(names))
    turned = next(i for i in range(len(names)) if dyn.equations.model.neutral()[i] == 1)
    q[turned], q[turned + 1] = 0.99, 0.1
    level = ph.equilibrium(dyn, q, unknowns=[*rotors, names[turned]])
    w, x, y, z = [level[name] for name in names[turned : turned + 4]]
    assert abs(x) < 1e-9
    assert abs(y) < 1e-9
    assert abs(w**2 + z**2 - 1) < 1e-9
    assert len(level.free) == 1  # heading


def test_a_beam_sags_as_in_the_textbook():
    """Tip of a clamped beam under its weight, mu g L^4 / (8 EI): modes converge to it."""
    build = ph.Builder("shelf", gravity=(0, 0, -9.81))
    strip = ph.beam(length=0.8, mu=0.94, EI_z=32.0, modes=4, axis="x", across="z")
    build.body("shelf", joint=ph.weld(), flexible=strip)
    build.marker("tip", body="shelf", at=(0.8, 0, 0))
    dyn = compiled(build)
    found = ph.equilibrium(dyn)
    tip = dyn.pose("tip")(np.array(list(found.q.values())))
    sag = 0.94 * 9.81 * 0.8**4 / (8 * 32.0)
    assert np.asarray(tip)[2, 3] == pytest.approx(-sag, rel=2e-3)


@pytest.mark.parametrize("k", [1e9, 1e12])
def test_stiff_springs_do_not_hold_what_falls(k):
    """Nor does a force on one of the two; where both are held, it rests with the springs at their lengths."""
    build = ph.Builder("rod")
    for name in ("a", "b"):
        build.body(name, joint=ph.prismatic("z", name=name), mass=0.01)
    build.potential(f"{k}*(a - b)**2/2")
    dyn = compiled(build)
    with pytest.raises(ph.EquilibriumError, match=r"accelerates by -9\.81"):
        ph.equilibrium(dyn)
    held = ph.equilibrium(dyn, {"a": 0.5, "b": 0.5}, unknowns=["b", "tau.a_dot"])
    assert held["tau.a_dot"] == pytest.approx(2 * 0.01 * 9.81, rel=1e-6)


def test_rows_that_repeat_others_between_quaternions():
    """A hinge that is said twice, of which more rows count where the loop is open."""
    build = ph.Builder("pair")
    build.body("a", joint=ph.free(quaternion=True), mass=1.5, com=(0.1, 0.2, 0.4), inertia=(0.3, 0.4, 0.5))
    build.body("b", parent="a", at=(0, 0, 1), joint=ph.spherical(quaternion=True), mass=0.5, com=(0, 0.3, 0.2))
    build.marker("end", body="b", at=(0, 0.5, 0), rpy=(0.3, 0.2, 0.1))
    build.marker("pin", body="world", at=(0.3, 0.2, 1.0))
    build.marker("hook", body="world", at=(0, 0, 3))
    build.loop("end", "pin", "hinge", axis="z")
    build.loop("pin", "end", "hinge", axis="z")
    build.spring("hook", "a", stiffness=20, length=0.5)
    dyn = compiled(build)
    found = ph.equilibrium(dyn, ph.assemble(dyn, {"a_qx": 0.3, "b_qy": 0.4}))
    q = np.array(list(found.q.values()))
    assert abs(dyn.forward_dynamics(q, np.zeros(9), np.zeros(9))).max() < 1e-6
    assert found.residual < 1e-9
    assert found.linear().equilibrium


@pytest.mark.parametrize("k", [1e4, 1e14])
def test_what_falls_over_is_not_stable_beside_a_stiff_spring(k):
    """sqrt(g / l) is 1e-8 of the frequency of the spring."""
    build = ph.Builder("pole", gravity=(0, 0, -9.81))
    build.body("a", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, 1), inertia=(1e-3, 1e-3, 1e-3))
    tip = ph.prismatic("x", name="b", stiffness=k)
    build.body("b", parent="a", at=(0, 0, 0.5), joint=tip, mass=1e-3, com=(0, 0, 0.1))
    dyn = compiled(build)
    assert not ph.equilibrium(dyn, {"a": 0.0}).stable
    assert ph.equilibrium(dyn, {"a": np.pi}).stable


def test_a_disc_rolls_in_a_circle_on_one_compound_joint():
    """Its joint names first what is next to the disc; moments about its centre balance as in the textbook."""
    r, m = 0.5, 2.0
    A, C, g = m * r**2 / 4, m * r**2 / 2, 9.81
    build = ph.Builder("disc", gravity=(0, 0, -g))
    joints = [*map(ph.revolute, "yxz"), *map(ph.prismatic, "zyx")]
    build.body("disc", joint=ph.compound(joints, q=("spin", "lean", "yaw", "z", "y", "x")), mass=m, inertia=(A, C, A))
    build.rolling("disc", radius=r, name="roll")
    disc = ph.formulate(build.build()).compile()
    found = ph.equilibrium(disc, {"lean": 0.3, "z": r * np.cos(0.3)}, {"yaw_dot": 2.0}, unknowns=["spin_dot"])
    a, yaw = found["lean"], found["yaw_dot"]
    along, up = found["spin_dot"] + yaw * np.sin(a), yaw * np.cos(a)  # of the disc, about its axle and across
    turned = yaw * np.sin(a) * A * up - yaw * np.cos(a) * C * along
    assert turned == pytest.approx(r * m * (yaw * along * r * np.cos(a) + g * np.sin(a)), rel=1e-12)


def test_laws_are_handed_on_with_what_is_added_to_them():
    dyn = cart_pole()
    law = {"x_dot": "3*x - 80*theta + 6*x_dot - 18*theta_dot"}
    found = ph.equilibrium(dyn, {"x": 0.2}, tau=law, p={"L": 0.6}, unknowns=["x", "theta"])
    assert abs(found["x"]) < 1e-12
    assert not found.free
    assert found.stable
    shifted = ph.equilibrium(dyn, {"x": 0.2}, tau=law, p={"L": 0.6}, unknowns=["theta", "tau.x_dot"])
    assert shifted["tau.x_dot"] == pytest.approx(-0.6, rel=1e-12)
    traj = ph.simulate(dyn, **shifted.start(), t_end=3.0)
    assert abs(traj["x"] - 0.2).max() < 1e-8


def test_the_command_prints_and_gives_json(tmp_path, capsys):
    from polhode.cli.main import app

    file = tmp_path / "arm.toml"
    ph.save(arm().equations.model, file)
    given = ["equilibrium", str(file), "--set", "q.a=0.3", "--unknown", "controls.M", "--unknown", "M_current"]
    app([*given, "--json"], standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    alone = ph.equilibrium(arm(), {"a": 0.3}, unknowns=["controls.M", "M_current"])
    assert found["controls"]["M"] == pytest.approx(alone.controls["M"], rel=1e-12)
    assert found["unknowns"] == ["controls.M", "M_current"]
    assert {"q", "u", "z", "free", "residual", "notes", "stable"} <= set(found)
    app(given, standalone_mode=False)
    assert "Equilibrium of 'arm'" in capsys.readouterr().out
