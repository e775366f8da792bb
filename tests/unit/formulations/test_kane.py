"""Kane's method as a user meets it: options, errors, tables, compiled calls."""

import pickle

import numpy as np
import pytest
import sympy

import polhode as ph
from polhode.formulations.kane import Kane, written_operations
from tests.mechanics import At

q1, q2, v1, v2, L, m, g, t = ph.symbols("q1 q2 q1_dot q2_dot L m g t")


def pendulum():
    """Two equal links about y, with a gear and a contradiction of it to choose from."""
    build = ph.Builder("pendulum", gravity=(0, 0, -g))
    build.body("A", joint=ph.revolute("y", name="q1"), mass=m, com=(0, 0, -L))
    build.body("B", parent="A", at=(0, 0, -L), joint=ph.revolute("y", name="q2"), mass=m, com=(0, 0, -L))
    build.marker("tip", body="B", at=(0, 0, -L))
    build.gear("q1_dot", "q2_dot", 2, name="gear")
    build.constraint(v1 - 2 * v2 - 1, name="other gear")
    return build.build()


def absolute():
    return {"w1": v1, "w2": v1 + v2}


def test_absolute_speeds_of_the_double_pendulum():
    eq = ph.formulate(pendulum(), speeds=absolute())
    assert eq.method == "kane"
    assert eq.u == ph.vector(ph.symbols("w1 w2"))
    assert str(eq.M) == "[[2*L**2*m, L**2*m*cos(q2)],\n [L**2*m*cos(q2), L**2*m]]"
    assert str(eq.velocity_terms) == "[-L**2*m*w2**2*sin(q2), L**2*m*w1**2*sin(q2)]"
    assert ph.matrix([[1, 0], [-1, 1]]) == eq.kane.W
    assert ph.vector([0, 0]) == eq.kane.X
    assert eq.kinematics.q_dot == ph.vector([eq.u[0], eq.u[1] - eq.u[0]])
    assert str(eq.C @ eq.u) == str(eq.velocity_terms)


def test_the_equations_are_ordinary_equations():
    eq = ph.formulate(pendulum(), speeds=absolute())
    plain = ph.formulate(pendulum())
    p = {"L": 0.7, "m": 1.3, "g": 9.81}
    one, two = eq.compile(values=p), plain.compile(values=p)
    q, v = np.array([0.3, -0.8]), np.array([0.5, 1.1])
    u = np.array([v[0], v[0] + v[1]])
    tau = np.array([0.2, -0.4])
    turned = np.linalg.inv([[1, 0], [1, 1]]).T @ tau
    found = one.tree_dynamics(q, u, turned)  # the two gears contradict each other
    expected = two.tree_dynamics(q, v, tau)
    assert np.allclose(found, [expected[0], expected.sum()])
    geared, expected = one.forward_dynamics(q, u, turned, "gear"), two.forward_dynamics(q, v, tau, "gear")
    assert np.allclose(geared, [expected[0], expected.sum()])
    assert not np.allclose(geared, found)
    assert np.allclose(one.rates(q, u), v)
    assert np.allclose(one.energy(q, u), two.energy(q, v))
    assert np.allclose(one.velocity("tip")(q, u), two.velocity("tip")(q, v))
    assert np.allclose(one.inverse_dynamics(q, u, found), turned)
    again = pickle.loads(pickle.dumps(one))
    assert np.allclose(again.forward_dynamics(q, u, tau), one.forward_dynamics(q, u, tau))
    assert r"\dot{w}_{1}" in eq.latex()
    assert eq.to_sympy(simplify=True).M.shape == (2, 2)
    assert "by kane" in repr(eq)


def test_speeds_may_be_named_by_the_rates_of_coordinates_that_are_no_speeds():
    """A planar joint has the twist of the body for speeds; its coordinates' rates are accepted all the same."""
    build = ph.Builder("puck", gravity=(0, 0, 0))
    build.body("puck", joint=ph.planar("z", name="p"), mass=2, inertia=(1, 1, 1))
    x, y, angle = ph.symbols("p_x_dot p_y_dot p_angle_dot")
    eq = ph.formulate(build.build(), speeds={"vx": x, "vy": y, "w": angle})
    assert ph.matrix([[2, 0, 0], [0, 2, 0], [0, 0, 1]]) == eq.M
    assert eq.c == ph.vector([0, 0, 0])
    assert eq.kinematics.q_dot == ph.vector(ph.symbols("w vx vy"))


def test_definitions_that_depend_on_time_drift():
    """u = qdot - sin(t): the platform moves by itself."""
    eq = ph.formulate(pendulum(), speeds={"u1": v1 - ph.sin(t), "u2": v2})
    assert ph.vector([-ph.sin(t), 0]) == eq.kane.Z
    assert ph.vector([ph.sin(t), 0]) == eq.kane.X
    assert eq.kinematics.q_dot == ph.vector([ph.symbol("u1") + ph.sin(t), ph.symbol("u2")])
    assert r"\sin{\left(t \right)}\\0" in eq.latex()
    dyn = eq.compile(values={"L": 1, "m": 1, "g": 1})
    assert dyn.timed
    assert np.allclose(dyn.rates([0, 0], [1, 2], t=0.5), [1 + np.sin(0.5), 2])
    dyn.mass_matrix([0.1, 0.2], t=0.5)  # takes the time also where it needs none
    with pytest.raises(ValueError, match="depend on time"):
        eq.C


def test_a_machine_that_only_follows_laws_of_time_has_reactions_and_no_speeds():
    build = ph.Builder("driven", gravity=(0, 0, -g))
    build.body("A", joint=ph.revolute("y", name="q1"), mass=m, com=(0, 0, -L))
    build.prescribe("q1", ph.sin(t), name="law")
    eq = ph.formulate(build.build(), embed=True)
    assert len(eq.u) == 0
    assert eq.kinematics.q_dot == ph.vector([ph.cos(t)])
    # what drives it: m L^2 q1'' + m g L sin(q1)
    expected = -m * L**2 * ph.sin(t) + m * g * L * ph.sin(q1)
    assert sympy.simplify(ph.graph.to_sympy(eq.reaction("law")[0] - expected)) == 0


def test_joint_speeds_without_options():
    kane = ph.formulate(pendulum(), method="kane").kane
    assert kane.Y == kane.W == kane.G == ph.matrix([[1, 0], [0, 1]])
    assert kane.Z == kane.X == kane.g == ph.vector([0, 0])
    assert kane.independent == ("q1_dot", "q2_dot")
    assert kane.dependent == {}
    assert kane.free is kane
    assert ph.vector([]) == kane.E
    assert kane.D.shape == (0, 2)


def test_every_method_has_partial_velocities():
    for method in ("poincare", "lagrange", "denoc"):
        eq = ph.formulate(pendulum(), method=method)
        assert isinstance(eq.kane, Kane)
        assert str(eq.kane.table(points=["A_o"], bodies=["B"])) == str(
            ph.formulate(pendulum(), method="kane").kane.table(points=["A_o"], bodies=["B"])
        )


def test_the_table_prints_and_has_entries():
    kane = ph.formulate(pendulum(), speeds=absolute()).kane
    assert str(kane.table()).splitlines() == [
        "    v_r A_o  v_r B_o                       w_r A  w_r B",
        "w1  -L*a1    -L*cos(q2)*b1 - L*sin(q2)*b3  a2     0",
        "w2  0        -L*b1                         0      b2",
    ]
    assert kane.table(points=["tip"], axes="A")["w2", "v_r tip"] == ph.vector([-L * ph.cos(q2), 0, L * ph.sin(q2)])
    assert r"-L \mathbf{a}_{1}" in kane.table().latex()
    assert r"\boldsymbol{\omega}_r^{B}" in kane.table().latex()
    world = kane.table(points=["A"], bodies=[], axes="world")
    assert [c.title for c in world.columns] == ["v_r A"]
    with pytest.raises(KeyError, match="columns 'v_r A_o'"):
        kane.table()["w1", "v_r C"]


def test_dependent_speeds_are_reported():
    kane = ph.formulate(pendulum(), speeds=absolute(), embed=["gear"]).kane
    assert kane.independent == ("w1",)
    assert kane.dependent == {"w2": ph.symbol("w1") * 3 / 2}
    assert "w2 = 3*w1/2 (dependent)" in repr(kane)
    kept = ph.formulate(pendulum(), speeds=absolute(), embed=["gear"], independent=["w2"]).kane
    assert kept.dependent == {"w1": ph.symbol("w2") * 2 / 3}


def test_rows_that_repeat_others_are_left_out_and_named():
    build = ph.Builder("twice")
    build.body("A", joint=ph.planar("z", name="p"), mass=1, inertia=(1, 1, 1))
    build.marker("edge", body="A", at=(1, 0, 0))
    build.marker("behind", body="A", at=(-1, 0, 0))
    build.marker("middle", body="A")
    for name in ("edge", "behind", "middle"):
        build.knife_edge(name, axis="y", name=name)
    eq = ph.formulate(build.build(), embed=True)
    assert eq.kane.repeated == ("middle",)
    assert "left out: middle" in repr(eq.kane)
    assert len(eq.u) == 1
    assert eq.reaction("middle") == ph.vector([0])


def test_momentum_about_the_vertical_as_a_speed_keeps_its_sine():
    """M and c of a spherical pendulum near the vertical, where 1 - cos^2 has no digits."""
    m1, m2, l1, l2, th, h = ph.symbols("m1 m2 l1 l2 th h")
    build = ph.Builder("spherical pendulum")
    build.body("turn", joint=ph.revolute("z", name="phi"), mass=0)
    build.body("rod", parent="turn", joint=ph.revolute("y", name="th"), mass=m1, com=(0, 0, -l1))
    build.body("bob", parent="rod", at=(0, 0, -l2), joint=ph.weld(), mass=m2)
    J = l1**2 * m1 + l2**2 * m2
    speeds = {"h": J * ph.sin(th) ** 2 * ph.symbol("phi_dot"), "w": ph.symbol("th_dot")}
    eq = ph.formulate(build.build(), speeds=speeds)
    assert eq.M[0, 0] == 1 / (J * ph.sin(th) ** 2)
    values = {"m1": 1.0, "m2": 2.0, "l1": 0.3, "l2": 0.5, "th": 1e-9, "h": 1e-9, "w": 0.1}
    expected = -(h**2) * ph.cos(th) / (J * ph.sin(th) ** 3)
    assert ph.evaluate(eq.c[1], values) == pytest.approx(ph.evaluate(expected, values), rel=1e-6)


def test_couplings_are_embedded_like_constraints():
    build = ph.Builder("coupled")
    for name in "ab":
        build.body(name, joint=ph.revolute("z"), mass=1, com=(1, 0, 0))
    build.coupling("b", of="a", ratio=3)
    eq = ph.formulate(build.build(), embed=True)
    assert ph.matrix([[10]]) == eq.M
    assert not eq.constraints.names


ERRORS = [
    ({"speeds": {"u1": v1 * v2, "u2": v2}}, ValueError, "'u1': its definition is not linear"),
    ({"speeds": {"u1": v1, "u2": 2 * v1}}, ValueError, "'u2' repeat others"),
    ({"speeds": {"u1": v1}}, ValueError, "'q2_dot' stay open. Define 1 more"),
    ({"speeds": {"q1": v1, "u2": v2}}, ValueError, "belongs to a coordinate"),
    ({"speeds": {"q1_dot": v2, "u2": v1}}, ValueError, "belongs to a speed of a joint"),
    ({"speeds": {"u1": L, "u2": v2}}, ValueError, "no speed of the model is in its definition"),
    ({"speeds": {"u1": "v1"}}, TypeError, "expected an expression"),
    ({"speeds": [v1, v2]}, TypeError, "expected names with expressions"),
    ({"speeds": "best"}, ValueError, 'or "suggested"'),
    ({"speeds": {"u1": v1 - 2 * v2}, "embed": ["gear"]}, ValueError, "cannot be inverted"),
    ({"embed": ["ger"]}, KeyError, "Did you mean 'gear'"),
    ({"embed": True}, ValueError, "'other gear' contradicts others"),
    ({"embed": ["gear"], "independent": ["w"]}, KeyError, "no speed 'w' to keep"),
    ({"embed": ["gear"], "independent": ["q1_dot", "q2_dot"]}, ValueError, "expected 1"),
    ({"independent": ["q1_dot"]}, ValueError, "Name the constraints"),
    ({"embed": ["gear"], "embed_by": "magic"}, ValueError, '"recombination"'),
    ({"embed_by": "recombination"}, ValueError, "Name constraints with embed="),
    (
        {"speeds": {"u1": v1}, "embed": ["gear"], "embed_by": "recombination"},
        ValueError,
        "only complete the definitions of 'u1'.* Define the dependent speeds too, 1 more, or use embed_by",
    ),
    ({"embed": ["gear"], "embed_by": "recombination", "method": "denoc"}, ValueError, 'method="kane"'),
]


@pytest.mark.parametrize(("options", "kind", "text"), ERRORS)
def test_errors_say_what_to_do(options, kind, text):
    with pytest.raises(kind, match=text):
        ph.formulate(pendulum(), **options)


def test_speeds_that_constraints_do_not_determine_are_refused():
    """The gear relates q1 and q2; keeping both of another pair cannot work."""
    build = ph.Builder("three")
    for name in "abc":
        build.body(name, joint=ph.revolute("z"), mass=1, com=(1, 0, 0))
    build.gear("a_dot", "b_dot", 2, name="gear")
    with pytest.raises(ValueError, match="do not determine 'c_dot' from 'a_dot', 'b_dot'"):
        ph.formulate(build.build(), embed=True, independent=["a_dot", "b_dot"])


def test_what_has_no_reaction_is_named():
    eq = ph.formulate(pendulum(), embed=["gear"])
    with pytest.raises(KeyError, match="no joint, body or constraint 'elbow'"):
        eq.reaction("elbow")
    with pytest.raises(ValueError, match='expected "world" or "marker"'):
        eq.reaction("A", axes="B")
    with pytest.raises(ValueError, match="in the speeds of the joints"):
        eq.explain("q1_dot", "q1_dot")


def test_a_pendulum_pulls_at_its_pivot():
    """m g cos(q) + m L q'^2 along the rod, with a motor's torque in the moment."""
    build = ph.Builder("one", gravity=(0, 0, -g))
    build.body("A", joint=ph.revolute("y", name="q1"), mass=m, com=(0, 0, -L))
    build.force("q1_dot", ph.symbol("T"))
    eq = ph.formulate(build.build(), method="kane")
    found = [sympy.simplify(e) for e in ph.graph.to_sympy(eq.reaction("A"))]
    s = {name: sympy.Symbol(name, real=True) for name in ("m", "g", "L", "q1", "q1_dot", "q1_dot_dot")}
    along = s["m"] * s["g"] * sympy.cos(s["q1"]) + s["m"] * s["L"] * s["q1_dot"] ** 2
    across = -s["m"] * s["L"] * s["q1_dot_dot"] - s["m"] * s["g"] * sympy.sin(s["q1"])
    assert sympy.simplify(found[5] - along) == 0
    assert sympy.simplify(found[3] - across) == 0
    assert sympy.simplify(found[1] + s["L"] * across) == 0


def test_suggested_speeds_of_a_double_pendulum_are_absolute():
    found = ph.suggest_speeds(pendulum())
    assert found.before.name == "joints"
    assert found.after.total < found.before.total
    assert list(found.speeds.values()) == [v1, v1 + v2]
    assert "<- suggested" in str(found)
    eq = ph.formulate(pendulum(), speeds="suggested")
    assert [str(u) for u in eq.u] == ["q1_dot", "u2"]
    plain = ph.formulate(pendulum())
    p = {"L": 0.7, "m": 1.3, "g": 9.81}.items()
    one = At(eq, [0.3, 0.4], [0.5, 0.9], p)
    two = At(plain, [0.3, 0.4], [0.5, 0.4], p)
    a, b = one.udot(), two.udot()
    assert np.allclose([a[0], a[1]], [b[0], b[0] + b[1]])


def test_nothing_is_suggested_where_the_joints_are_best():
    build = ph.Builder("slider")
    build.body("A", joint=ph.prismatic("x", name="x"), mass=1)
    found = ph.suggest_speeds(build.build())
    assert found.after is found.before
    assert ph.matrix([[1]]) == ph.formulate(build.build(), speeds="suggested").M


def test_massless_links_make_a_ball_joint_of_a_wrist():
    build = ph.Builder("wrist", gravity=(0, 0, 0))
    build.body("A", joint=ph.revolute("z", name="a"), mass=0)
    build.body("B", parent="A", joint=ph.revolute("y", name="b"), mass=0)
    build.body("C", parent="B", joint=ph.revolute("z", name="c"), mass=1, inertia=ph.symbols("I1 I2 I3"))
    eq = ph.formulate(build.build(), speeds="suggested")
    I1, I2, I3 = ph.symbols("I1 I2 I3")
    assert ph.matrix([[I1, 0, 0], [0, I2, 0], [0, 0, I3]]) == eq.M


def test_operations_are_counted_as_written():
    x, y = ph.symbols("x y")
    s = ph.sin(x)
    counts = written_operations([s * s * y + s / y - x**3])
    assert counts == {"multiply, divide": 5, "add, subtract": 2, "sin, cos": 3}
    with pytest.raises(ValueError, match="no column for 'sqrt'"):
        written_operations([ph.sqrt(x)])


def test_a_body_with_a_welded_load_of_unknown_mass_is_seen_from_its_origin():
    """Its mass centre would be a quotient; the equations are the same without it."""
    build = ph.Builder("loaded", gravity=(0, 0, -g))
    build.body("A", joint=ph.revolute("y", name="q1"), mass=m, com=(0, 0, -L), inertia=(1, 1, 1))
    build.body("load", parent="A", joint=ph.weld(), at=(0.3, 0, -L), mass=ph.symbol("m2"))
    kane, poincare = (ph.formulate(build.build(), method=name) for name in ("kane", "poincare"))
    at = At(kane, [0.3], [0.7], {"m": 1.1, "m2": 0.4, "L": 0.8, "g": 9.8}.items())
    assert np.allclose(at(kane.M), at(poincare.M))
    assert np.allclose(at(kane.c), at(poincare.c))
    assert kane.kane.bodies[0].point == ph.vector([0, 0, 0])
