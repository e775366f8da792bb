"""Kwatny and Blankenship, section II: joints from their joint map matrices."""

import random
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from kwatny_reference import array, draw, gap, hat, inverse_pose, rates_matrix, screws, values_of, vee, zero
from mpmath import mp

import polhode as ph
from polhode.graph import identity, topological, vector_of
from polhode.graph import to_sympy as view

UNIT = np.eye(6, dtype=int)
WX, WY, WZ, VX, VY, VZ = UNIT
ARITHMETIC = {"const", "symbol", "add", "sub", "neg", "mul", "div", "pow", "sin", "cos", "tan", "sqrt"}


def columns(*twists):
    return array([list(h) for h in twists]).T


def pose_at(joint, q, values):
    return values_of(ph.configuration(joint, q).matrix(), values)


def simple(made):
    """The columns that a joint of one part moves along in sequence."""
    (part,) = made.parts
    return values_of(part.basis, {}).T


# Table I


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        (ph.revolute("z"), [WZ]),
        (ph.prismatic("z"), [VZ]),
        (ph.cylindrical("z"), [WZ, VZ]),
        (ph.joint(columns(WY, WZ), nonholonomic=True), [WY, WZ]),
    ],
    ids=["revolute", "prismatic", "cylindrical", "simple universal"],
)
def test_joint_maps_are_those_of_table_1(made, printed):
    """Table I."""
    assert [list(row) for row in ph.joint_map(made, vector_of("z", made.nq)).T] == [list(h) for h in printed]


def test_joint_map_of_a_screw_has_its_pitch_below():
    """Table I, screw."""
    s, z = ph.symbols("s z")
    assert list(ph.joint_map(ph.screw("z", pitch=s), [z])[:, 0]) == [0, 0, 1, 0, 0, s]


def test_named_universal_joint_is_compound_with_the_printed_axes():
    """Table I, universal: the printed map is that of the compound joint at rest."""
    z1, z2 = ph.symbols("z1 z2")
    found = ph.joint_map(ph.universal(("y", "z")), [z1, z2])
    assert view(found).subs(sp.Symbol("z1", real=True), 0) == sp.Matrix(columns(WY, WZ))
    assert found[0, 1] == -ph.sin(z1)


# Proposition 1


def test_configuration_of_a_generic_screw_solves_its_differential_equation():
    """(12), (13): d lambda / d eps = lambda h^, lambda(0) = 1, for a symbolic column."""
    h, eps = ph.symbols("a b c d e f"), ph.symbol("eps")
    X = view(ph.configuration(ph.joint(h), [eps]).matrix())
    e = sp.Symbol("eps", real=True)
    a, b, c, x, y, z = sp.symbols("a b c d e f", real=True)
    generator = sp.Matrix([[0, -c, b, x], [c, 0, -a, y], [-b, a, 0, z], [0, 0, 0, 0]])
    assert sp.simplify(X.subs(e, 0)) == sp.eye(4)
    assert zero(X.diff(e) - X * generator)


@pytest.mark.parametrize("seed", range(3))
def test_configuration_of_a_generic_screw_is_a_matrix_exponential(seed):
    """(12) against the series of the exponential; what comes out has no integral."""
    names = list("abcdef")
    h, eps = ph.symbols(" ".join(names)), ph.symbol("eps")
    X = ph.configuration(ph.joint(h), [eps]).matrix()
    at = draw([*names, "eps"], seed, -2, 2)
    assert gap(values_of(X, at), screws([[at[n] for n in names]], [at["eps"]])) < 1e-35
    assert {e.op for e in topological(X)} <= ARITHMETIC


def test_configuration_about_axes_that_are_not_orthogonal_is_a_product_of_exponentials():
    """(15), with Gamma of Prop. 2, for three oblique axes that span all rotations."""
    axes = [[1, 0, 0, 0, 0, 0], [1, 2, 0, 0, 0, 0], [0, -1, 3, 0, 0, 0]]
    made, q = ph.joint(columns(*axes)), ph.symbols("y1 y2 y3")
    at = draw(["y1", "y2", "y3"], 1)
    found = list(at.values())
    assert gap(pose_at(made, q, at), screws(axes, found)) < 1e-35
    B, H = rates_matrix(axes, found), array(columns(*axes))
    assert gap(B @ values_of(ph.kinematic_matrix(made, q), at), H) < 1e-35
    assert {e.op for e in topological(ph.configuration(made, q).matrix())} <= ARITHMETIC


def test_configuration_of_oblique_numeric_screws_in_sequence_is_a_product_of_exponentials():
    """(15), (26): axes neither orthogonal nor through one point, with pitch."""
    h = [[0.3, -1, 0.5, 0.2, 0.1, 0.7], [1, 1, 0, 0, -0.4, 0.2], [0, 0, 0, 1, 2, -1], [0.6, 0, 0.8, 0.1, 0.2, 0.3]]
    made, q = ph.joint(columns(*h), split=[1, 1, 1, 1]), ph.symbols("y1 y2 y3 y4")
    at = draw(["y1", "y2", "y3", "y4"], 2)
    assert gap(pose_at(made, q, at), screws(h, list(at.values()))) < 1e-15  # constants fold as floats


# Table II


@pytest.mark.parametrize("made", [ph.revolute("z"), ph.prismatic("x"), ph.screw("x", pitch=ph.symbol("s"))])
def test_speed_of_a_joint_with_one_column_is_the_rate_of_its_coordinate(made):
    """Table II, revolute, prismatic, screw: Gamma = 1."""
    assert ph.kinematic_matrix(made, [ph.symbol("y")]) == identity(1)


def euler_rates(a, b):
    """The printed Gamma of the spherical joint."""
    return sp.Matrix(
        [
            [1, sp.sin(a) * sp.tan(b), sp.cos(a) * sp.tan(b)],
            [0, sp.cos(a), -sp.sin(a)],
            [0, sp.sec(b) * sp.sin(a), sp.cos(a) * sp.sec(b)],
        ]
    )


def test_rates_of_the_spherical_joint_are_those_of_table_2():
    """Table II, spherical; (54a)."""
    gamma = view(ph.kinematic_matrix(ph.spherical(), ph.symbols("y1 y2 y3")))
    y1, y2 = sp.symbols("y1 y2", real=True)
    assert zero(gamma - euler_rates(y1, y2))


@pytest.mark.parametrize("made", [ph.spherical(), ph.free(), ph.planar("y"), ph.cylindrical("x")], ids=lambda j: j.kind)
def test_rates_solve_the_kinematic_equation_of_closing_joints(made):
    """(16) to (24): B(eps) Gamma = H, B by differentiating matrix exponentials."""
    q = vector_of("y", made.nq)
    at = draw([s.value for s in q], 3)
    H = values_of(made.parts[0].H, {})
    B = rates_matrix(H.T, list(at.values()))
    assert gap(B @ values_of(ph.kinematic_matrix(made, q), at), H) < 1e-35


# joints whose columns do not close

s = sp.Symbol("s", positive=True)
NOT_CLOSING = {
    "simple universal": sp.Matrix([[0, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]),
    "simple universal-screw": sp.Matrix([[0, 1], [0, 0], [1, 0], [0, s], [0, 0], [0, 0]]),
}
by_name = pytest.mark.parametrize("H", NOT_CLOSING.values(), ids=NOT_CLOSING.keys())


def symbolic_rates(H, z1):
    """B of (18) for two columns: the second is seen through exp(h1 z1)."""

    def matrix(h):
        a, b, c, x, y, z = h
        return sp.Matrix([[0, -c, b, x], [c, 0, -a, y], [-b, a, 0, z], [0, 0, 0, 0]])

    first = (matrix(H[:, 0]) * z1).exp().applyfunc(lambda e: sp.simplify(e.rewrite(sp.cos)))
    seen = (first.inv() * matrix(H[:, 1]) * first).applyfunc(sp.simplify)
    return sp.Matrix.hstack(H[:, 0], sp.Matrix(vee(seen)))


@by_name
def test_left_inverse_gives_the_printed_rates_and_does_not_solve_the_equation(H):
    """Table II, (19): Gamma = diag(1, cos z1) is what the left inverse gives, and B Gamma is not H."""
    z1 = sp.Symbol("z1", real=True)
    B = symbolic_rates(H, z1)
    gamma = ((B.T * B).inv() * B.T * H).applyfunc(sp.simplify)
    assert gamma == sp.diag(1, sp.cos(z1))
    residual = (B * gamma - H).applyfunc(sp.simplify)
    assert residual[:, 0] == sp.zeros(6, 1)
    assert residual[:, 1].subs(z1, sp.Rational(1, 2)) != sp.zeros(6, 1)


def test_body_rate_that_the_simple_universal_joint_forbids_is_there():
    """Corollary 1 fails: with any coordinates' rates the x component is -sin(z1) z2_dot, where H has 0."""
    z1 = sp.Symbol("z1", real=True)
    B = symbolic_rates(NOT_CLOSING["simple universal"], z1)
    assert list(B[0, :]) == [0, -sp.sin(z1)]
    assert B.rank() == 2
    assert B.row_join(NOT_CLOSING["simple universal"]).subs(z1, 1).rank() == 3


@by_name
def test_simple_joint_that_does_not_close_is_refused_with_the_remedy(H):
    """Corollary 1, corrected."""
    rows = [[ph.symbol("s") if e == s else int(e) for e in H.row(i)] for i in range(6)]
    with pytest.raises(ph.ModelError, match="do not close under the Lie bracket") as error:
        ph.joint(rows)
    assert "split=[1, 1]" in str(error.value)
    assert "nonholonomic=True" in str(error.value)


@by_name
def test_compound_joint_with_the_same_axes_is_holonomic(H):
    """Prop. 3: the map is B, the speeds are the rates."""
    rows = [[ph.symbol("s") if e == s else int(e) for e in H.row(i)] for i in range(6)]
    made, q = ph.joint(rows, split=[1, 1]), ph.symbols("z1 z2")
    assert ph.kinematic_matrix(made, q) == identity(2)
    found = view(ph.joint_map(made, q)).subs(sp.Symbol("s", real=True), s)
    assert zero(found - symbolic_rates(H, sp.Symbol("z1", real=True)))


@pytest.mark.parametrize("pitch", [0, Fraction(3, 10)], ids=["simple universal", "simple universal-screw"])
def test_nonholonomic_joint_moves_its_body_along_its_columns(pitch):
    """(10a), (16): along q_dot = N u the pose changes by X (H u)^, with more coordinates than speeds."""
    H = columns(WY, WZ) if pitch == 0 else columns(WZ, WX + pitch * VX)
    made = ph.joint(H, nonholonomic=True)
    assert made.nu == 2
    assert made.nq == (3 if pitch == 0 else 6)
    q, u = vector_of("q", made.nq), ph.symbols("u1 u2")
    at = draw([s.value for s in (*q, *u)], 4, -0.7, 0.7)
    turns = simple(made)
    here = array([at[s.value] for s in q])
    speeds = array([at[s.value] for s in u])
    rates = values_of(ph.kinematic_matrix(made, q), at) @ speeds
    X_dot = sum(screws(turns, here, (i,)) * rate for i, rate in enumerate(rates))
    assert gap(pose_at(made, q, at), screws(turns, here)) < 1e-30
    assert gap(inverse_pose(screws(turns, here)) @ X_dot, hat(H @ speeds)) < 1e-30


# Proposition 3


def universal_map(t1, t2):
    return sp.Matrix(
        [
            [1, 0, -sp.sin(t2)],
            [0, sp.cos(t1), sp.cos(t2) * sp.sin(t1)],
            [0, -sp.sin(t1), sp.cos(t1) * sp.cos(t2)],
        ]
    )


def three_two_one(t1, t2, t3):
    """The rotation of (35b) and (36c)."""
    s, c = sp.sin, sp.cos
    return sp.Matrix(
        [
            [c(t2) * c(t3), c(t3) * s(t1) * s(t2) - c(t1) * s(t3), c(t1) * c(t3) * s(t2) + s(t1) * s(t3)],
            [c(t2) * s(t3), c(t1) * c(t3) + s(t1) * s(t2) * s(t3), -c(t3) * s(t1) + c(t1) * s(t2) * s(t3)],
            [-s(t2), c(t2) * s(t1), c(t1) * c(t2)],
        ]
    )


def test_universal_joint_of_three_degrees_is_as_printed():
    """(35a), (35b), (35c)."""
    made, t = ph.compound([ph.revolute("x"), ph.revolute("y"), ph.revolute("z")]), ph.symbols("t1 t2 t3")
    t1, t2, t3 = sp.symbols("t1 t2 t3", real=True)
    assert zero(view(ph.joint_map(made, t)) - universal_map(t1, t2).col_join(sp.zeros(3, 3)))
    assert zero(view(ph.configuration(made, t).matrix()) - sp.diag(three_two_one(t1, t2, t3), 1))
    assert ph.kinematic_matrix(made, t) == identity(3)


def test_universal_joint_and_spherical_joint_have_one_configuration():
    """Remark after (26); the map of one is the inverse of the other's rates."""
    chain, ball = ph.joint(columns(WX, WY, WZ), split=[1, 1, 1]), ph.joint(columns(WX, WY, WZ))
    t = ph.symbols("t1 t2 t3")
    assert ph.configuration(chain, t) == ph.configuration(ball, t)
    assert zero(view(ph.joint_map(chain, t))[:3, :] * view(ph.kinematic_matrix(ball, t)) - sp.eye(3))


def test_joint_of_six_degrees_has_euler_angles_and_the_position_in_space():
    """(36a), (36b), (36c)."""
    made, q = ph.joint(identity(6)), ph.symbols("ax ay az x y z")
    ax, ay, az, x, y, z = sp.symbols("ax ay az x y z", real=True)
    R = three_two_one(ax, ay, az)
    assert zero(view(ph.kinematic_matrix(made, q)) - sp.diag(euler_rates(ax, ay), R))
    X = view(ph.configuration(made, q).matrix())
    assert zero(X[:3, :] - R.row_join(sp.Matrix([x, y, z])))


def test_interchanged_columns_put_the_position_in_the_body():
    """Remark after (36): linear columns first, and (x, y, z) are components in the body's axes."""
    made, q = ph.joint(columns(VX, VY, VZ, WX, WY, WZ)), ph.symbols("x y z ax ay az")
    ax, ay, az, x, y, z = sp.symbols("ax ay az x y z", real=True)
    R, r = three_two_one(ax, ay, az), sp.Matrix([x, y, z])
    assert zero(view(ph.configuration(made, q).matrix())[:3, :] - R.row_join(R * r))
    # body velocity v = r_dot + w x r, so r_dot = v - w x r
    cross = sp.Matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    gamma = view(ph.kinematic_matrix(made, q))
    assert zero(gamma[:3, :] - sp.eye(3).row_join(cross))
    assert zero(gamma[3:, :] - sp.zeros(3, 3).row_join(euler_rates(ax, ay)))


def closing(pick):
    """The columns of a random simple joint that closes."""
    axis = array([pick.randint(-4, 4) for _ in range(2)] + [pick.randint(1, 4)])
    other = array([axis[2], pick.randint(1, 3), -axis[0]])
    point = array([pick.randint(-4, 4) for _ in range(3)])
    o = array([0, 0, 0])

    def turn(a):
        return [*a, *np.cross(point, a)]

    return pick.choice(
        [
            [[pick.randint(-4, 4) for _ in range(5)] + [1]],
            [turn(axis), [*o, *axis]],
            [turn(a) for a in np.eye(3, dtype=int)],
            [[*o, *axis], [*o, *other]],
            [[*axis, *o], [*o, *np.cross(axis, other)], [*o, *np.cross(axis, np.cross(axis, other))]],
            [list(h) for h in UNIT],
        ]
    )


@pytest.mark.parametrize("seed", range(8))
def test_map_of_a_compound_joint_is_the_derivative_of_its_configuration(seed):
    """Prop. 3, (27), (28), (34): X^-1 X_dot = (H beta)^ for random compound joints, X differentiated numerically."""
    pick = random.Random(seed)
    parts = [closing(pick) for _ in range(pick.randint(2, 3))]
    made = ph.compound([ph.joint(columns(*part)) for part in parts])
    q, beta = vector_of("q", made.nq), vector_of("b", made.nu)
    at = draw([x.value for x in (*q, *beta)], seed, -0.6, 0.6)
    here, speeds = (array([at[x.value] for x in m]) for m in (q, beta))
    rates = values_of(ph.kinematic_matrix(made, q), at) @ speeds
    flat, h = [column for part in parts for column in part], mp.mpf(10) ** -14
    X_dot = (screws(flat, here + rates * h) - screws(flat, here - rates * h)) / (2 * h)
    twist = vee(inverse_pose(screws(flat, here)) @ X_dot)
    assert gap(pose_at(made, q, at), screws(flat, here)) < 1e-30
    assert gap(values_of(ph.joint_map(made, q), at) @ speeds, twist) < 1e-20
