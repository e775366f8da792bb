"""Gillespie, Kane's Equations for Haptic Display of Multibody Systems: its three examples.

Corrected where the print is wrong: (39) F_2 = -F_f; in Example 3 q3 is the angle from n1 to b1, (63) begins with
u_2^2, and the u1 u2 term of (67) has a plus. Table 3 counts 10 multiplications in (50), where 9 are printed.
"""

import pytest
import sympy
from sympy import cos, sin

import polhode as ph
from polhode.formulations.kane import written_operations
from polhode.graph import to_sympy

NAMES = "m r J g phi F_f u1 u2 u3 u1_dot u2_dot u3_dot q1 q2 q3 q4 "
NAMES += "m_B m_C I_B L1 L2 L3 F tau M L G I1 I2 I3 T1 T2 T3 F1 F2"
S = {name: sympy.Symbol(name, real=True) for name in NAMES.split()}


def same(a, b):
    return sympy.simplify(to_sympy(a) - b) == 0


def equal(found, expected):
    entries = [e for row in expected for e in row] if isinstance(expected[0], (list, tuple)) else expected
    return len(found.entries) == len(entries) and all(same(e, f) for e, f in zip(found.entries, entries, strict=True))


# Example 1: a disk that slides or rolls


def disk():
    """q1 along the ramp, whose axes a_i the world has; q2 the turn of the disk."""
    m, r, J, g, phi, F_f = ph.symbols("m r J g phi F_f")
    build = ph.Builder("disk", gravity=(-g * ph.sin(phi), -g * ph.cos(phi), 0))
    build.body("A", joint=ph.prismatic("x", name="q1"), mass=0)
    build.body("B", parent="A", joint=ph.revolute("z", name="q2"), mass=m, inertia=(J / 2, J / 2, J))
    build.marker("edge", body="A", at=(0, -r, 0))
    build.wrench("B", force=(-F_f, 0, 0), torque=(0, 0, -r * F_f), name="friction")
    q1_dot, q2_dot = ph.symbols("q1_dot q2_dot")
    build.constraint(q1_dot + r * q2_dot, name="rolling")
    return build.build(), {"u1": q1_dot, "u2": r * q2_dot}


@pytest.fixture(scope="module")
def sliding():
    model, speeds = disk()
    return ph.formulate(model, speeds=speeds)


@pytest.fixture(scope="module", params=["substitution", "recombination"])
def rolling(request):
    model, speeds = disk()
    return ph.formulate(model, speeds=speeds, embed=["rolling"], embed_by=request.param)


def test_matrices_of_the_disk(sliding, rolling):
    """(6), (7)."""
    r = S["r"]
    assert equal(sliding.kane.Y, [[1, 0], [0, r]])
    assert equal(sliding.kane.W, [[1, 0], [0, 1 / r]])
    assert equal(sliding.kane.Z, [0, 0])
    assert equal(sliding.kane.X, [0, 0])
    assert equal(rolling.kane.D, [[-1]])
    assert equal(rolling.kane.E, [0])
    assert rolling.kane.independent == ("u1",)


def test_velocities_and_accelerations_of_the_disk(sliding):
    """(36), (37) and the table between them."""
    u1, u2, r, du1, du2 = (S[n] for n in ("u1", "u2", "r", "u1_dot", "u2_dot"))
    kane = sliding.kane
    assert equal(sliding.velocity("B"), [0, 0, u2 / r, u1, 0, 0])
    ((alpha, a),) = kane.accelerations(kane.udot)
    R = sliding.pose("B")[:3, :3]
    assert equal(R @ a, [du1, 0, 0])
    assert equal(alpha, [0, 0, du2 / r])
    table = kane.table(axes="A")
    expected = {"u1": ([1, 0, 0], [0, 0, 0]), "u2": ([0, 0, 0], [0, 0, 1 / r])}
    for speed, (v, w) in expected.items():
        assert equal(table[speed, "v_r B_o"], v)
        assert equal(table[speed, "w_r B"], w)
    assert str(table) == "    v_r B_o  w_r B\nu1  a1       0\nu2  0        1/r*a3"


def test_forces_of_the_disk(sliding):
    """(38), (39), (40); F_2 = -F_f."""
    m, r, J, g, phi, F_f, du1, du2 = (S[n] for n in ("m", "r", "J", "g", "phi", "F_f", "u1_dot", "u2_dot"))
    assert equal(sliding.kane.F, [-m * g * sin(phi) - F_f, -F_f])
    assert equal(sliding.kane.F_star, [-m * du1, -J / r**2 * du2])


def test_the_rolling_disk(rolling):
    """(41), (42): the friction drops out."""
    m, r, J, g, phi, du1 = (S[n] for n in ("m", "r", "J", "g", "phi", "u1_dot"))
    assert equal(rolling.kane.F, [-m * g * sin(phi)])
    assert equal(rolling.kane.F_star, [-(m + J / r**2) * du1])
    assert equal(rolling.M, [[m + J / r**2]])
    assert equal(rolling.c, [m * g * sin(phi)])
    assert equal(rolling.Q, [0])
    table = rolling.kane.table(axes="A")
    assert equal(table["u1", "v_r B_o"], [1, 0, 0])
    assert equal(table["u1", "w_r B"], [0, 0, -1 / r])


def test_the_rolling_disk_by_recombination(rolling):
    """(47): F~_1 = F_1 - F_2, F~_1* = F_1* - F_2* with udot_2 = -udot_1."""
    free, du1 = rolling.kane.free, S["u1_dot"]
    F, F_star = (to_sympy(part) for part in (free.F, free.F_star))
    both = rolling.kane.recombined
    assert equal(both.F, [F[0] - F[1]])
    assert equal(both.F_star, [(F_star[0] - F_star[1]).subs(S["u2_dot"], -du1)])
    assert equal(both.F, to_sympy(rolling.kane.F).tolist()[0])
    assert equal(both.F_star, to_sympy(rolling.kane.F_star).tolist()[0])


def test_the_normal_force_of_the_disk(rolling):
    """The note after (47): N, brought into evidence by auxiliary speeds, and the friction that rolling needs."""
    m, r, J, g, phi, F_f, du1 = (S[n] for n in ("m", "r", "J", "g", "phi", "F_f", "u1_dot"))
    normal = rolling.reaction("A", axes="world")
    assert same(normal[4], m * g * cos(phi))
    assert same(normal[5], 0)
    # with F_f on it the constraint adds what is missing
    assert equal(rolling.reaction("rolling"), [F_f - J / r**2 * du1])


# Example 2: a spherical wrist


def wrist():
    """n3 horizontal along the axis of A, n1 up; axes 3, 2, 3; C with its mass centre at L c3."""
    M, L, G, I1, I2, I3 = ph.symbols("M L G I1 I2 I3")
    build = ph.Builder("wrist", gravity=(-G, 0, 0))
    build.body("A", joint=ph.revolute("z", name="q1"), mass=0)
    build.body("B", parent="A", joint=ph.revolute("y", name="q2"), mass=0)
    build.body("C", parent="B", joint=ph.revolute("z", name="q3"), mass=M, com=(0, 0, L), inertia=(I1, I2, I3))
    build.marker("C_center", body="C", at=(0, 0, L))
    build.wrench("C_center", force=ph.symbols("F1 F2 F3"), torque=ph.symbols("T1 T2 T3"), axes="marker")
    return build.build()


@pytest.fixture(scope="module")
def rates():
    return ph.formulate(wrist(), method="kane")


@pytest.fixture(scope="module")
def components(rates):
    w = rates.velocity("C", axes="marker")
    return ph.formulate(wrist(), speeds={f"u{i + 1}": w[i] for i in range(3)})


def test_kinematical_equations_of_the_wrist(rates, components):
    """(48), (50)."""
    u1, u2, u3, q2, q3 = (S[n] for n in ("u1", "u2", "u3", "q2", "q3"))
    assert rates.kinematics.q_dot == rates.u
    first = (sin(q3) * u2 - cos(q3) * u1) / sin(q2)
    expected = [first, sin(q3) * u1 + cos(q3) * u2, u3 - cos(q2) * first]
    assert equal(components.kinematics.q_dot, expected)


def test_dynamical_equations_of_the_wrist(components):
    """(49), element by element."""
    u1, u2, u3 = (S[n] for n in ("u1", "u2", "u3"))
    M, L, G, I1, I2, I3 = (S[n] for n in "M L G I1 I2 I3".split())
    T1, T2, T3, F1, F2 = (S[n] for n in "T1 T2 T3 F1 F2".split())
    s1, c1, c2, s3, c3 = sin(S["q1"]), cos(S["q1"]), cos(S["q2"]), sin(S["q3"]), cos(S["q3"])
    A, B = I1 + M * L**2, I2 + M * L**2
    printed = [
        (T1 - L * (F2 + G * M * (s1 * c3 + s3 * c1 * c2)) - (I3 - I2 - M * L**2) * u2 * u3) / A,
        (T2 + L * (F1 + G * M * (s1 * s3 - c1 * c2 * c3)) + (I3 - I1 - M * L**2) * u1 * u3) / B,
        (T3 + (I1 - I2) * u1 * u2) / I3,
    ]
    assert equal(components.kane.solved(), printed)
    assert equal(components.M, [[A, 0, 0], [0, B, 0], [0, 0, I3]])


def test_euler_s_equations_are_an_independent_check_of_the_wrist(components):
    """Moments about the fixed point O: H_dot + w x H = T + p x (F + weight), nothing of Kane's method used."""
    u = sympy.Matrix([S[f"u{i}"] for i in (1, 2, 3)])
    M, L, G = S["M"], S["L"], S["G"]
    I = sympy.diag(S["I1"] + M * L**2, S["I2"] + M * L**2, S["I3"])

    def turn(axis, angle):
        return sympy.rot_axis3(-angle) if axis == 3 else sympy.rot_axis2(-angle)

    R = turn(3, S["q1"]) * turn(2, S["q2"]) * turn(3, S["q3"])
    weight = R.T * sympy.Matrix([-G * M, 0, 0])
    F = sympy.Matrix([sympy.Symbol(f"F{i}", real=True) for i in (1, 2, 3)])
    T = sympy.Matrix([S[f"T{i}"] for i in (1, 2, 3)])
    moment = T + sympy.Matrix([0, 0, L]).cross(F + weight)
    assert equal(components.kane.solved(), list(I.inv() * (moment - u.cross(I * u))))


def test_both_sets_of_speeds_move_the_wrist_alike(rates, components):
    import numpy as np

    draw = np.random.default_rng(3)
    p = {name: float(draw.uniform(0.5, 2)) for name in map(str, {*rates.parameters, *components.parameters})}
    one, two = (eq.compile() for eq in (rates, components))
    q, qdot = draw.uniform(0.3, 1.2, 3), draw.normal(size=3)
    values = {"q1": q[0], "q2": q[1], "q3": q[2]}
    Y = np.array(ph.evaluate(components.kane.Y.entries, values)).reshape(3, 3)
    u = Y @ qdot
    here = {name: p[name] for name in two.parameters}
    udot = two.forward_dynamics(q, u, np.zeros(3), p=here)
    assert np.allclose(two.rates(q, u, p=here), qdot)
    qddot = one.forward_dynamics(q, qdot, np.zeros(3), p={name: p[name] for name in one.parameters})
    h = 1e-6
    Y_dot = sum(
        (np.array(ph.evaluate(components.kane.Y.entries, values | {f"q{i + 1}": q[i] + s * h})).reshape(3, 3))
        * (s * qdot[i] / (2 * h))
        for i in range(3)
        for s in (1, -1)
    )
    assert np.allclose(Y @ qddot + Y_dot @ qdot, udot, atol=1e-7)


TABLE_3 = {  # multiply or divide, add or subtract, sin or cos
    "(48)": (0, 0, 0),
    "not shown": (790, 285, 372),
    "(50)": (10, 4, 9),
    "(49)": (29, 16, 10),
}


def test_table_3_of_our_own(rates, components):
    """Written out and counted as the paper counts; none of ours is longer."""
    ours = {
        "(48)": rates.kinematics.q_dot,
        "not shown": rates.kane.solved(),
        "(50)": components.kinematics.q_dot,
        "(49)": components.kane.solved(),
    }
    counts = {name: tuple(written_operations(rows).values()) for name, rows in ours.items()}
    print("\n", counts)
    for name, printed in TABLE_3.items():
        assert all(a <= b for a, b in zip(counts[name], printed, strict=True)), (name, counts[name], printed)
    assert counts["(49)"] == TABLE_3["(49)"]
    assert counts["(50)"] == (9, 4, 9)  # as printed; the table says 10


# Example 3: a shopping cart whose caster may stick


def cart():
    m_B, m_C, I_B, L1, L2, L3, F, tau = ph.symbols("m_B m_C I_B L1 L2 L3 F tau")
    build = ph.Builder("cart", gravity=(0, 0, 0))
    build.body("along", joint=ph.prismatic("x", name="q1"), mass=0)
    build.body("across", parent="along", joint=ph.prismatic("y", name="q2"), mass=0)
    turning = {"joint": ph.revolute("z", name="q3"), "inertia": (I_B / 2, I_B / 2, I_B)}
    build.body("B", parent="across", mass=m_B, com=(L1, 0, 0), **turning)
    build.body("C", parent="B", at=(L2, 0, 0), joint=ph.revolute("z", name="q4"), mass=m_C, com=(-L3, 0, 0))
    build.marker("P1", body="B")
    build.marker("P3", body="C", at=(-L3, 0, 0))
    build.wrench("P1", force=(F, 0, 0), torque=(0, 0, tau), axes="marker")
    build.knife_edge("P1", axis="y", name="back wheels")
    build.knife_edge("P3", axis="y", name="front wheel")
    build.constraint(ph.symbol("q4_dot"), name="stuck")
    return build.build()


def pushed(embed, **options):
    """(51) to (53): speeds as projections of velocities."""
    model = cart()
    plain = ph.formulate(model)
    speeds = {
        "u1": plain.velocity("P1", axes="marker")[3],
        "u2": plain.velocity("B")[2],
        "u3": plain.velocity("C")[2],
    }
    return ph.formulate(model, speeds=speeds, embed=embed, **options)


WAYS = ["substitution", "recombination"]


@pytest.fixture(scope="module", params=WAYS)
def free(request):
    return pushed(["back wheels", "front wheel"], embed_by=request.param)


@pytest.fixture(scope="module", params=WAYS)
def stuck(request):
    return pushed(True, independent=["u1"], embed_by=request.param)


def trig():
    return (sin(S["q3"]), cos(S["q3"]), sin(S["q4"]), cos(S["q4"]))


def test_kinematical_equations_of_the_cart():
    """(56), (57): the wheels at the back complete three speeds for four coordinates."""
    s3, c3, _, _ = trig()
    kane = pushed(["back wheels"]).kane
    assert kane.independent == ("u1", "u2", "u3")
    assert equal(kane.Y, [[c3, s3, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    assert equal(kane.W, [[c3, 0, 0], [s3, 0, 0], [0, 1, 0], [0, -1, 1]])


def test_the_caster_among_the_speeds(free):
    """(60), and the table of partial velocities."""
    L1, L2, L3 = S["L1"], S["L2"], S["L3"]
    _, _, s4, c4 = trig()
    kane = free.kane
    assert kane.independent == ("u1", "u2")
    assert equal(kane.D, [[-s4 / L3, L2 * c4 / L3]])
    table = kane.table(points=["P1", "B_o", "P3"], bodies=["B"])
    # in the axes of C; there b1 + s4 c2 is c4 c1, and L2 b2 - L2 c4 c2 is L2 s4 c1
    expected = {
        "v_r P1": ([1, 0, 0], [0, 0, 0]),
        "v_r B_o": ([1, 0, 0], [0, L1, 0]),
        "v_r P3": ([c4, 0, 0], [L2 * s4, 0, 0]),
        "w_r B": ([0, 0, 0], [0, 0, 1]),
    }
    for title, rows in expected.items():
        for speed, row in zip(("u1", "u2"), rows, strict=True):
            assert equal(table[speed, title], row)


def test_the_free_cart(free):
    """(63), its first term with u2^2."""
    m_B, m_C, I_B, L1, L2, L3, F, tau = (S[n] for n in "m_B m_C I_B L1 L2 L3 F tau".split())
    u1, u2, du1, du2 = (S[n] for n in ("u1", "u2", "u1_dot", "u2_dot"))
    _, _, s4, c4 = trig()
    u3 = (L2 * c4 * u2 - s4 * u1) / L3
    first = (L1 * m_B + L2 * m_C * c4**2) * u2**2 - L3 * m_C * c4 * u3**2 - m_C * s4 * c4 * u1 * u2
    first += -(m_B + m_C * c4**2) * du1 - L2 * m_C * s4 * c4 * du2
    second = m_C * L2**2 * s4 * c4 * u2**2 - L2 * L3 * m_C * s4 * u3**2 - (L1 * m_B + L2 * m_C * s4**2) * u1 * u2
    second += -L2 * m_C * s4 * c4 * du1 - (I_B + m_B * L1**2 + m_C * L2**2 * s4**2) * du2
    assert equal(free.kane.F, [F, tau])
    assert equal(free.kane.F_star, [first, second])
    assert equal(free.M, [[-first.coeff(du1), -first.coeff(du2)], [-second.coeff(du1), -second.coeff(du2)]])
    assert equal(free.c, [-first.subs({du1: 0, du2: 0}), -second.subs({du1: 0, du2: 0})])


def test_the_stuck_cart(stuck, free):
    """(65), (67), and ERRATA: u1_dot = (F + k tau) / mu with mu = [1 k] M [1 k]^T."""
    m_B, m_C, I_B, L1, L2, L3, F, tau = (S[n] for n in "m_B m_C I_B L1 L2 L3 F tau".split())
    u1, du1 = S["u1"], S["u1_dot"]
    _, _, s4, c4 = trig()
    k = s4 / (L2 * c4 - L3)
    assert {name: same(e, k * u1) for name, e in stuck.kane.dependent.items()} == {"u2": True, "u3": True}
    # (66): Z1 = Z6 = 0 as the caster does not turn
    Z2, Z3, Z4 = L3 - L2 * c4, L2 * m_C * (L2 - L3 * c4), L1 * m_B + L2 * m_C
    Z5 = I_B + Z3 + m_B * L1**2
    u2 = u3 = k * u1
    quadratic = (Z4 - L2 * L3 * m_C * s4**2 / Z2) * u2**2 - L3 * m_C * (c4 - L2 * s4**2 / Z2) * u3**2
    product = s4 * (Z4 - L3 * m_C * c4) / Z2 * u1 * u2
    assert sympy.simplify(quadratic + product) == 0  # corrected: no term quadratic in the speeds
    assert sympy.simplify(quadratic - product) != 0  # as printed
    mass = m_B + Z5 * s4**2 / Z2**2 + m_C * (1 - L3 * s4**2 / Z2)
    assert equal(stuck.kane.F, [F - s4 * tau / Z2])
    assert equal(stuck.kane.F_star, [-mass * du1])
    assert equal(stuck.c, [0])
    M = to_sympy(free.M)
    mu = (sympy.Matrix([[1, k]]) * M * sympy.Matrix([1, k]))[0]
    assert same(stuck.M[0, 0], mu)
    assert equal(stuck.kane.solved(), [(F + k * tau) / mu])


def test_the_stuck_cart_chooses_speeds_by_itself():
    """At rest q4 = 0, where u1 determines u2 but not the other way round."""
    eq = pushed(True)
    assert eq.kane.independent == ("u1",)
    assert sorted(eq.kane.dependent) == ["u2", "u3"]
    assert not eq.constraints.names  # nothing is left to hold


def test_the_stuck_cart_follows_from_the_free_one(free, stuck):
    """(44), (45) with D of the free equations' own speeds: the on-line method of Figure 2."""
    F, tau = S["F"], S["tau"]
    _, _, s4, c4 = trig()
    k = s4 / (S["L2"] * c4 - S["L3"])
    assert equal(stuck.Q, [F + k * tau])
    rows = to_sympy(free.kane.F_star)
    combined = (rows[0] + k * rows[1]).subs({S["u2_dot"]: k * S["u1_dot"], S["u2"]: k * S["u1"]})
    # k is constant while the caster is stuck, as q4 is
    assert equal(stuck.kane.F_star, [combined])
