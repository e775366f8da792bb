"""Kwatny and Blankenship, Table I and II: the "simple universal" joint as the nonholonomic joint it is.

Independent: the full spherical joint in three angles, with the constraint that
the third body rate is zero, and its multiplier eliminated.
"""

import numpy as np
import pytest
from kwatny_reference import Chain, array, draw, gap, rates_matrix, solve, values_of
from mpmath import mp

import polhode as ph
from polhode.formulations.chain import convective_matrix

X, Y, Z = np.eye(6, dtype=int)[:3].tolist()
INERTIA = [[2, 0, 0], [0, 3, 0], [0, 0, 4]]
BODIES = [((1, 2, -1), (0, 1, 2), 2, INERTIA), ((0, 1, 1), (0, 0, 0), 3, INERTIA)]


def machine(links):
    """A body on the joint, and perhaps another hinged on it."""
    build = ph.Builder("nonholonomic", gravity=(0, 0, -1))
    shoulder = ph.joint(array([Y, Z]).T, nonholonomic=True, q=("a", "b", "c"), u=("p1", "p2"))
    joints = (shoulder, ph.revolute("x", q=["d"], u=["p3"]))[:links]
    parent, at = "world", (0, 0, 0)
    for name, joint, (com, outboard, mass, inertia) in zip("AB", joints, BODIES, strict=False):
        build.body(name, parent=parent, at=at, joint=joint, mass=mass, com=com, inertia=inertia)
        parent, at = name, outboard
    return ph.formulate(build.build())


def constrained(links, q, p, tau):
    """pdot from M qdd + c + g = B^T tau + A^T lam and d/dt (A qdot) = 0.

    Rates of the coordinates are those with A qdot = 0 and speeds p.
    """
    arm = Chain([[[Y], [Z], [X]], [[X]]][:links], BODIES[:links])
    n = arm.n

    def speeds(q):
        """Body rates y, z (, hinge) and the forbidden x: rows of the full map from qdot."""
        B = array(np.eye(n, dtype=int))
        B[:3, :3] = rates_matrix([Y, Z, X], q[:3])[[1, 2, 0]]
        allowed = [0, 1, *range(3, n)]
        return B[allowed], B[2:3]

    S, A = speeds(q)
    rates = solve(np.vstack([S, A]), array([*p, 0])[:, None])[:, 0]
    h = mp.mpf(10) ** -15
    (S1, A1), (S0, A0) = speeds(q + rates * h), speeds(q - rates * h)
    S_dot, A_dot = (S1 - S0) / (2 * h), (A1 - A0) / (2 * h)
    M, c, g = arm.lagrange(q, rates)
    system = np.vstack([np.hstack([M, -A.T]), np.hstack([A, array([[0]])])])
    found = solve(system, array([*(S.T @ tau - c - g), *(-(A_dot @ rates))])[:, None])[:, 0]
    return S @ found[:n] + S_dot @ rates, rates, found[n]


@pytest.mark.parametrize("links", [1, 2])
def test_dynamics_are_those_of_a_spherical_joint_with_a_multiplier(links):
    """(53a) with nq > nu, from the structure constants of the algebra that the columns generate."""
    eq = machine(links)
    assert len(eq.q) == len(eq.u) + 1
    at = draw([s.value for s in (*eq.q, *eq.u)], 5, -0.8, 0.8)
    q, p = (array([at[s.value] for s in part]) for part in (eq.q, eq.u))
    tau = array(list(draw("xyz"[: len(p)], 6).values()))
    expected, rates, multiplier = constrained(links, q, p, tau)
    M, c, N = (values_of(part, at) for part in (eq.M, eq.c, eq.N))
    assert gap(N @ p, rates) < 1e-30
    assert gap(solve(M, (tau - c)[:, None])[:, 0], expected) < 1e-20
    assert abs(multiplier) > 0.1  # the constraint does push
    assert gap(values_of(eq.C @ eq.u, at), values_of(eq.velocity_terms, at)) < 1e-30


def test_dynamics_on_the_printed_rates_are_another_motion():
    """Table II: with Gamma = diag(1, cos z1) in (53b) the velocity terms differ, though the inertia matrix is equal."""
    eq = machine(1)
    z1, z2 = ph.symbols("a b")
    wrong = convective_matrix(eq.M, ph.matrix([[1, 0], [0, ph.cos(z1)]]), [z1, z2], eq.u) @ eq.u
    at = draw([s.value for s in (*eq.q, *eq.u)], 5, -0.8, 0.8)
    assert gap(values_of(wrong, at), values_of(eq.velocity_terms, at)) > 0.1


def test_energy_is_kept_without_torque():
    """The constraint does no work."""
    eq = machine(2)
    at = draw([s.value for s in (*eq.q, *eq.u)], 9, -0.8, 0.8)
    p = array([at[s.value] for s in eq.u])
    M, c, N = (values_of(part, at) for part in (eq.M, eq.c, eq.N))
    p_dot, q_dot, h = solve(M, -c[:, None])[:, 0], N @ p, mp.mpf(10) ** -12
    total = ph.vector([eq.kinetic + eq.potential])

    def energy(step):
        moved = dict(zip([s.value for s in (*eq.q, *eq.u)], [*q_dot, *p_dot], strict=True))
        return values_of(total, {name: at[name] + moved[name] * step for name in at})[0]

    assert abs(energy(h) - energy(-h)) / (2 * h) < 1e-20
