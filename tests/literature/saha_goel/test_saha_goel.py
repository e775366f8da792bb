"""Saha and Goel, Dynamic Modelling of Serial-Link Mechanisms: section 4, and what it says it verified."""

import pytest
import sympy
from sympy import Rational, cos, simplify, sin

import polhode as ph
from polhode.formulations.denoc_elements import Elements, convective_matrix, inertia_matrix
from polhode.graph import to_sympy

NAMES = "m1 m2 m3 l1 l2 l3 theta1 theta2 theta3 theta1_dot theta2_dot theta3_dot"
S = {name: sympy.Symbol(name, real=True) for name in NAMES.split()}


def arm(n):
    """Slender links in the plane, joints about z."""
    build = ph.Builder("planar arm", gravity=(0, 0, 0))
    for i in range(1, n + 1):
        m, l = ph.symbols(f"m{i} l{i}")
        build.body(
            f"link{i}",
            parent=f"link{i - 1}" if i > 1 else "world",
            at=(ph.symbol(f"l{i - 1}"), 0, 0) if i > 1 else (0, 0, 0),
            joint=ph.revolute("z", name=f"theta{i}"),
            mass=m,
            com=(l / 2, 0, 0),
            inertia=(0, m * l**2 / 12, m * l**2 / 12),
        )
    return build.build()


@pytest.fixture(scope="module")
def two():
    return ph.formulate(arm(2), method="denoc")


def same(a, b):
    return simplify(to_sympy(a) - b) == 0


def test_inertia_elements_of_the_two_joint_arm(two):
    """i11, i12, i22, final lines. The intermediate line of i12 lacks a factor 1/2."""
    m1, m2, l1, l2, q2 = (S[n] for n in ("m1", "m2", "l1", "l2", "theta2"))
    third = Rational(1, 3)
    expected = [
        [third * (m1 * l1**2 + m2 * l2**2) + m2 * l1**2 + m2 * l1 * l2 * cos(q2), None],
        [third * m2 * l2**2 + m2 * l1 * l2 * cos(q2) / 2, third * m2 * l2**2],
    ]
    for M in (two.M, inertia_matrix(two.kinematics)):
        assert same(M[0, 0], expected[0][0])
        assert same(M[1, 0], expected[1][0])
        assert same(M[0, 1], expected[1][0])
        assert same(M[1, 1], expected[1][1])


def test_convective_elements_of_the_two_joint_arm(two):
    """c11, c12, c21, c22 by eq. 20 and 21."""
    m2, l1, l2, q2, u1, u2 = (S[n] for n in ("m2", "l1", "l2", "theta2", "theta1_dot", "theta2_dot"))
    half = m2 * l1 * l2 * sin(q2) / 2
    C = convective_matrix(two.kinematics)
    assert same(C[0, 0], -half * u2)
    assert same(C[0, 1], -half * (u1 + u2))
    assert same(C[1, 0], half * u1)
    assert same(C[1, 1], 0)
    assert two.C == C


def test_factors_of_the_two_joint_arm(two):
    """p1, p2, c21 and its rate; the y component of the rate has the sign of the errata."""
    l1, l2, q1, q2, u1, u2 = (S[n] for n in ("l1", "l2", "theta1", "theta2", "theta1_dot", "theta2_dot"))
    parts = Elements(two.kinematics)
    q12, u12 = q1 + q2, u1 + u2
    p = [
        [0, 0, 1, -l1 * sin(q1) / 2, l1 * cos(q1) / 2, 0],
        [0, 0, 1, -l2 * sin(q12) / 2, l2 * cos(q12) / 2, 0],
    ]
    for found, printed in zip(parts.p, p, strict=True):
        assert all(same(e, f) for e, f in zip(found[:, 0], printed, strict=True))
    c21 = [-(l2 * cos(q12) + l1 * cos(q1)) / 2, -(l2 * sin(q12) + l1 * sin(q1)) / 2, 0]
    assert all(same(e, f) for e, f in zip(parts.c[0] - parts.c[1], c21, strict=True))
    rate = [
        (l2 * sin(q12) * u12 + l1 * sin(q1) * u1) / 2,
        -(l2 * cos(q12) * u12 + l1 * cos(q1) * u1) / 2,
        0,
    ]
    assert all(same(e, f) for e, f in zip(parts.c_dot[0] - parts.c_dot[1], rate, strict=True))


def test_the_composite_mass_of_the_first_link(two):
    """eq. 15: M~_1 = M_1 + B_21^T M_2 B_21."""
    parts = Elements(two.kinematics)
    B = parts.B(1, 0)
    difference = parts.composite[0] - (parts.M[0] + B.T @ parts.M[1] @ B)
    assert all(same(e, 0) for e in difference.entries)


def test_the_three_joint_arm_obeys_lagranges_equations():
    """The paper says it verified this and does not print it."""
    denoc, lagrange = (ph.formulate(arm(3), method=method) for method in ("denoc", "lagrange"))
    for a, b in ((denoc.M, lagrange.M), (denoc.c, lagrange.c), (denoc.C @ denoc.u, lagrange.c)):
        for e, f in zip(a.entries, b.entries, strict=True):
            difference = sympy.expand_trig(sympy.expand(to_sympy(e) - to_sympy(f)))
            assert difference.rewrite(sympy.exp).expand().simplify() == 0


def test_m_dot_minus_2c_is_skew(two):
    """C is one factorisation of the convective terms among many, and this one has the property.

    M_dot - 2 C = T_dot^T M T - T^T M T_dot - T^T (W M + M W) T, three skew matrices.
    """
    q, u = (to_sympy(part) for part in (two.q, two.u))
    M, C = to_sympy(two.M), to_sympy(two.C)
    M_dot = sum((M.diff(x) * v for x, v in zip(q, u, strict=True)), sympy.zeros(2))
    rest = (M_dot - 2 * C).applyfunc(simplify)
    assert simplify(rest + rest.T) == sympy.zeros(2)


def test_an_element_explains_itself(two):
    text = two.explain("theta2_dot", "theta1_dot")
    assert "M[theta2_dot, theta1_dot] = p_i^T M~_i B_ij p_j" in text
    assert "joints 'theta2' (revolute) and 'theta1' (revolute)" in text
    assert "composite body link2" in text
    assert "composite body link1, link2" in two.explain("theta1_dot", "theta1_dot")
    with pytest.raises(KeyError, match="Did you mean"):
        two.explain("theta_dot", "theta1_dot")
    build = ph.Builder("branches")
    for name in "ab":
        build.body(name, joint=ph.revolute("z"), mass=1, com=(1, 0, 0))
    assert "different branches" in ph.formulate(build.build()).explain("a_dot", "b_dot")
