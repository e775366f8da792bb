"""The double pendulum, by Lagrange's equations: what the numbered examples share."""

from polhode.graph import Expr, Matrix, cos, gradient, jacobian, sin, solve, symbols, vector

m1, m2, L1, L2, g = parameters = symbols("m1 m2 L1 L2 g")
q = vector(symbols("q1 q2"))  # angles from the vertical
u = vector(symbols("u1 u2"))  # their rates

# positions of the two masses, and how they move with q
elbow = vector([L1 * sin(q[0]), -L1 * cos(q[0])])
tip = elbow + vector([L2 * sin(q[1]), -L2 * cos(q[1])])
J1, J2 = jacobian(elbow, q), jacobian(tip, q)

# M(q) udot + c(q, u) = 0
M: Matrix = m1 * (J1.T @ J1) + m2 * (J2.T @ J2)
potential: Expr = g * (m1 * elbow[1] + m2 * tip[1])
kinetic: Expr = (u @ M @ u) / 2
momentum = M @ u
c: Matrix = jacobian(momentum, q) @ u - gradient(kinetic, q) + gradient(potential, q)

energy = kinetic + potential
udot = solve(M, -c)
