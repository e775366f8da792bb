"""Kwatny and Blankenship, section III: Poincare's equations, and the thin disk in its two forms."""

import sympy as sp
from kwatny_reference import zero

import polhode as ph
from polhode.formulations.chain import ChainBody, convective_matrix, poincare_function, rigid_chain
from polhode.graph import identity
from polhode.graph import to_sympy as view

t1, t2, t3, w1, w2, w3, u1, u2, u3 = sp.symbols("t1 t2 t3 w1 w2 w3 u1 u2 u3", real=True)
T, W, U = sp.Matrix([t1, t2, t3]), sp.Matrix([w1, w2, w3]), sp.Matrix([u1, u2, u3])
BALL = ph.spherical(q=("t1", "t2", "t3"), u=("w1", "w2", "w3"))
CHAIN = ph.compound([ph.revolute(a) for a in "xyz"], q=("t1", "t2", "t3"), u=("u1", "u2", "u3"))
EULER = sp.Matrix([5 * w2 * w3, -5 * w1 * w3, 0])


def disk(joint):
    """The paper's disk, m = 5, R = 2, by both ways into Polhode: equations, and (V, X, M)."""
    build = ph.Builder("disk", gravity=(0, 0, 0))
    build.body("disk", joint=joint, mass=5, inertia=(5, 5, 10))
    body = ChainBody(com=(0, 0, 0), outboard=(1, 0, 0), mass=5, inertia=[[5, 0, 0], [0, 5, 0], [0, 0, 10]])
    return ph.formulate(build.build()), rigid_chain([joint], [body], ph.symbols("t1 t2 t3"))


def rotation():
    """R = Rz(t3) Ry(t2) Rx(t1), multiplied out here."""

    def turn(n, a):
        cross = sp.Matrix([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
        return sp.eye(3) + sp.sin(a) * cross + (1 - sp.cos(a)) * cross * cross

    return turn((0, 0, 1), t3) * turn((0, 1, 0), t2) * turn((1, 0, 0), t1)


def lagrange():
    """Inertia matrix and velocity terms in the angles: d/dt dT/du - dT/dt of T = 1/2 tr(Rdot S Rdot^T).

    S = diag(5, 5, 0) is the second moment of the disk's mass: I = tr(S) 1 - S.
    """
    R = rotation()
    R_dot = sum((R.diff(a) * rate for a, rate in zip(T, U, strict=True)), sp.zeros(3))
    energy = sp.expand((R_dot * sp.diag(5, 5, 0) * R_dot.T).trace() / 2)
    momentum = sp.Matrix([energy.diff(rate) for rate in U])
    return momentum.jacobian(U), momentum.jacobian(T) * U - sp.Matrix([energy.diff(a) for a in T])


def euler_rates():
    """(54a), as printed."""
    return sp.Matrix(
        [
            [1, sp.sin(t1) * sp.tan(t2), sp.cos(t1) * sp.tan(t2)],
            [0, sp.cos(t1), -sp.sin(t1)],
            [0, sp.sec(t2) * sp.sin(t1), sp.cos(t1) * sp.sec(t2)],
        ]
    )


def test_inertia_of_the_disk_on_a_simple_joint_is_constant():
    """(54a), (54b)."""
    eq, (V, X, M) = disk(BALL)
    assert view(eq.M) == view(M) == sp.diag(5, 5, 10)
    assert zero(view(eq.N) - euler_rates())
    assert zero(view(V[0]) - euler_rates())
    assert zero(view(X[0].R) - rotation())


def test_velocity_terms_of_the_disk_are_those_of_euler():
    """(54b) with the sign reversed, by Poincare's equations, by the literal (53b), and as C p."""
    eq, (V, _, M) = disk(BALL)
    literal = convective_matrix(M, V, eq.q, eq.u)
    assert eq.to_sympy(simplify=True).c == EULER
    assert zero(view(eq.C @ eq.u) - EULER)
    assert zero(view(literal @ eq.u) - EULER)
    assert zero(view(eq.C) - view(literal))


def test_eulers_equations_are_lagranges_in_the_body_rates():
    """(54b): Lagrange's equations in the angles, carried to w = V^-1 u."""
    M, c = lagrange()
    V = euler_rates()
    rates = V * W
    V_dot = sum((V.diff(a) * rate for a, rate in zip(T, rates, strict=True)), sp.zeros(3))
    carried = V.T * (c.subs(list(zip(U, rates, strict=True)), simultaneous=True) + M * V_dot * W)
    assert zero(V.T * M * V - sp.diag(5, 5, 10))
    assert zero(carried - EULER)


def test_printed_convective_matrix_has_all_its_signs_reversed():
    """(53b), (54b) as printed: the first gives the second, and both are minus Euler's equations."""
    M, V = sp.diag(5, 5, 10), euler_rates()
    D = (M * W).jacobian(T) * V
    fields = [V[:, k] for k in range(3)]
    brackets = sp.zeros(3)
    for j, p in enumerate(W):
        brackets += p * sp.Matrix.hstack(*(b.jacobian(T) * fields[j] - fields[j].jacobian(T) * b for b in fields))
    printed = -D + D.T / 2 + brackets.T * V.inv().T * M
    assert zero(printed * W - sp.Matrix([-5 * w2 * w3, 5 * w1 * w3, 0]))
    eq, _ = disk(BALL)
    assert zero(printed + view(eq.C))


def test_inertia_of_the_disk_on_a_compound_joint_is_as_printed():
    """(55a), with 5 sin(t2)^2 in the last element."""
    c, s = sp.cos, sp.sin
    printed = sp.Matrix(
        [
            [5, 0, -5 * s(t2)],
            [0, sp.Rational(5, 2) * (3 - c(2 * t1)), -sp.Rational(5, 2) * c(t2) * s(2 * t1)],
            [
                -5 * s(t2),
                -sp.Rational(5, 2) * c(t2) * s(2 * t1),
                10 * c(t1) ** 2 * c(t2) ** 2 + 5 * c(t2) ** 2 * s(t1) ** 2 + 5 * s(t2) ** 2,
            ],
        ]
    )
    eq, (V, X, M) = disk(CHAIN)
    assert eq.N == V[0] == identity(3)
    assert zero(view(X[0].R) - rotation())
    for found in (view(eq.M), view(M), lagrange()[0]):
        assert zero(found - printed)


def printed_velocity_terms():
    """(55b), letter by letter."""
    c, s = sp.cos, sp.sin
    F1 = u3 * (-5 * u2 * c(2 * t1) * c(t2) - 5 * u3 * c(t2) ** 2 * s(2 * t1)) / 2 + u2 * (
        5 * u3 * c(t2) + (-5 * u3 * c(2 * t1) * c(t2) + 5 * u2 * s(2 * t1)) / 2
    )
    F2 = (
        u1 * (-5 * u3 * c(t2) / 2 + 5 * u3 * c(2 * t1) * c(t2) - 5 * u2 * s(2 * t1))
        - 5 * u2 * u3 * s(2 * t1) * s(t2) / 4
        + u3 * (-5 * u1 * c(t2) + 5 * u2 * s(2 * t1) * s(t2) / 2 - 5 * u3 * c(t1) ** 2 * s(2 * t2)) / 2
    )
    F3 = u1 * (5 * u2 * c(2 * t1) * c(t2) + 5 * u3 * c(t2) ** 2 * s(2 * t1)) + u2 * (
        5 * u1 * c(t2) - 5 * u2 * s(2 * t1) * s(t2) / 2 + 5 * u3 * c(t1) ** 2 * s(2 * t2)
    )
    return sp.Matrix([F1, F2, F3])


def test_velocity_terms_of_the_compound_disk_are_minus_the_printed_ones():
    """(55b): F1, F2 and F3 all hold once the overall sign is reversed, as in (53b); no term is wrong otherwise."""
    eq, (V, _, M) = disk(CHAIN)
    _, expected = lagrange()
    assert zero(expected + printed_velocity_terms())
    for found in (eq.c, eq.C @ eq.u, convective_matrix(M, V, eq.q, eq.u) @ eq.u):
        assert zero(view(found) - expected)


def test_lagranges_equations_are_poincares_for_the_compound_joint():
    """Remark after (41): V = 1, from either joint."""
    by_angles = ph.formulate(disk(BALL)[0].model, method="lagrange")
    names = {sp.Symbol(f"t{i}_dot", real=True): rate for i, rate in zip((1, 2, 3), U, strict=True)}
    assert zero(view(by_angles.c).subs(names) + printed_velocity_terms())


# Proposition 4, on a joint whose structure constants are not those of rotations


def plate():
    """A plate moving in its plane, centre of mass off the origin: symbols, fields, energy in quasivelocities."""
    m, J, a, b, g = sp.symbols("m J a b g", real=True)
    angle, x, y = sp.symbols("t1 t2 t3", real=True)
    V = sp.diag(1, sp.Matrix([[sp.cos(angle), -sp.sin(angle)], [sp.sin(angle), sp.cos(angle)]]))
    center = sp.Matrix([x, y]) + V[1:, 1:] * sp.Matrix([a, b])
    velocity = center.jacobian([angle, x, y]) * U
    energy = m * velocity.dot(velocity) / 2 + J * u1**2 / 2
    return V, energy, m * g * center[1], {"m": m, "J": J, "a": a, "b": b, "g": g}


def structure(V):
    """c[i][j][k] of (38): [v_i, v_j] = sum_k c_ij^k v_k."""
    v = [V[:, k] for k in range(3)]
    back = V.inv()
    return [[back * (v[j].jacobian(T) * v[i] - v[i].jacobian(T) * v[j]) for j in range(3)] for i in range(3)]


def test_structure_constants_of_poincares_equations_have_the_momentum_above():
    """(40): the sum is c_jk^i p_j dL/dp_i, as (41) has it; the printed c_ij^k agrees for rotations alone."""
    V, energy, potential, names = plate()
    # independent: Lagrange's equations in (angle, x, y), carried to w by V^T
    in_w = dict(zip(U, V * W, strict=True))
    momentum = sp.Matrix([energy.diff(rate) for rate in U])
    slope = sp.Matrix([(potential - energy).diff(a) for a in T])
    V_dot = sum((V.diff(a) * rate for a, rate in zip(T, V * W, strict=True)), sp.zeros(3))
    convective = (momentum.jacobian(T) * U + slope).subs(in_w, simultaneous=True)
    expected = V.T * (convective + momentum.jacobian(U) * V_dot * W).applyfunc(sp.simplify)
    # Poincare, with both readings of the indices
    L = energy.subs(in_w, simultaneous=True) - potential
    pi, c = sp.Matrix([L.diff(p) for p in W]), structure(V)
    rest = pi.jacobian(T) * V * W - V.T * sp.Matrix([L.diff(a) for a in T])
    pairs = [(i, j) for i in range(3) for j in range(3)]
    right = rest - sp.Matrix([sum(c[j][k][i] * pi[i] * W[j] for i, j in pairs) for k in range(3)])
    printed = rest - sp.Matrix([sum(c[i][j][k] * pi[i] * W[j] for i, j in pairs) for k in range(3)])
    assert zero(right - expected)
    assert not zero(printed - expected)
    # and Polhode
    s = {name: ph.symbol(name) for name in names}
    joint = ph.planar("z", q=("t1", "t2", "t3"), u=("w1", "w2", "w3"))
    build = ph.Builder("plate", gravity=(0, -s["g"], 0))
    build.body("plate", joint=joint, mass=s["m"], com=(s["a"], s["b"], 0), inertia=(0, 0, s["J"]))
    eq = ph.formulate(build.build())
    assert zero(view(eq.c) - expected)
    flat = [[0, 0, 0], [0, 0, 0], [0, 0, s["J"]]]
    body = ChainBody(com=(s["a"], s["b"], 0), outboard=(0, 0, 0), mass=s["m"], inertia=flat)
    Vs, _, M = rigid_chain([joint], [body], list(eq.q))
    F = poincare_function(M, Vs, eq.potential, [0, 0, 0], eq.u, eq.q)
    assert zero(view(F) - expected)


def test_generalised_forces_transform_with_the_transpose():
    """(41), (53c): virtual power Q . q_dot = Q_p . p needs V^T; the printed V^-T is another vector."""
    V, _, potential, _ = plate()
    slope = sp.Matrix([potential.diff(a) for a in T])
    power = sum(potential.diff(a) * rate for a, rate in zip(T, V * W, strict=True))
    assert zero([power - (V.T * slope).dot(W)])
    ball, U_ = euler_rates(), sp.Matrix(sp.symbols("U1 U2 U3"))
    assert not zero(ball.T * U_ - ball.inv().T * U_)
