"""Lagrange's equations of clouds of points by numbers: energies summed over points, derivatives by complex steps."""

import numpy as np
from scipy.linalg import expm

from tests.flexible_clouds import GRAVITY

TINY = 1e-30
SHORTENING = ("first", "second")


def skew(w):
    x, y, z = w
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def homogeneous(one, p, R):
    found = np.zeros((4, 4), dtype=complex)
    found[0, 0], found[1:, 0], found[1:, 1:] = one, p, R
    return found


def section(held, cloud, d, rate):
    """E and its rate."""
    g = held.g if cloud.order in SHORTENING else 0 * held.g
    p, v = held.p + held.Phi @ d + (g @ d) @ d / 2, held.Phi @ rate + (g @ d) @ rate
    turn, turning = skew(held.Psi @ d), skew(held.Psi @ rate)
    if cloud.rotation == "linear":
        return homogeneous(1, p, np.eye(3) + turn), homogeneous(0, v, turning)
    both = expm(np.block([[turn, turning], [np.zeros((3, 3)), turn]]))  # exp and its derivative
    return homogeneous(1, p, both[:3, :3]), homogeneous(0, v, both[:3, 3:])


def shares(arm):
    """The place of each joint's coordinate, and of the modes."""
    found, first = [], 0
    for piece in arm:
        n = len(piece.cloud.modes)
        found.append((first, slice(first + 1, first + 1 + n)))
        first += 1 + n
    return found, first


def names(arm):
    """Of the coordinates, in the order used here."""
    return [name for k, piece in enumerate(arm) for name in (f"j{k}", *(f"b{k}_{mode}" for mode in piece.cloud.modes))]


def poses(arm, q, u):
    """W of every body, and its rate."""
    W, W_dot = [], []
    places, _ = shares(arm)
    for piece, (joint, own) in zip(arm, places, strict=True):
        A, A_dot, step = np.eye(4), np.zeros((4, 4)), piece.at
        if piece.parent >= 0:
            above, (_, modes) = arm[piece.parent].cloud, places[piece.parent]
            held = above.at(piece.at)
            E, E_dot = section(held, above, q[modes], u[modes])
            A, A_dot = W[piece.parent] @ E, W_dot[piece.parent] @ E + W[piece.parent] @ E_dot
            step = piece.at - held.p
        h = homogeneous(0, 0, skew(piece.axis)) if piece.turning else homogeneous(0, piece.axis, np.zeros((3, 3)))
        moved = np.eye(4) + h * q[joint]
        if piece.turning:
            moved = np.eye(4) + np.sin(q[joint]) * h + (1 - np.cos(q[joint])) * h @ h
        J = homogeneous(1, step, np.eye(3)) @ moved
        A, A_dot = A @ J, A_dot @ J + A @ J @ h * u[joint]
        root = piece.cloud.held[0]
        if root.Phi.any() or root.Psi.any():
            E, E_dot = section(root, piece.cloud, q[own], u[own])
            back = np.linalg.inv(E)
            A, A_dot = A @ back, A_dot @ back - A @ back @ E_dot @ back
        W.append(A)
        W_dot.append(A_dot)
    return W, W_dot


def kinetic(arm, q, u):
    """Sum over points of the squares of W_dot s + W s_dot, for "first" without what is beyond second order in d."""
    total = 0
    places, _ = shares(arm)
    for piece, (_, modes), W, W_dot in zip(arm, places, *poses(arm, q, u), strict=True):
        P, d, rate = piece.cloud.points, q[modes], u[modes]
        g = P.g if piece.cloud.order in SHORTENING else 0 * P.g
        hh, hv, vv = np.zeros((3, 4, 4))
        for m, s0, phi, bent in zip(P.m, P.s0, P.phi, g, strict=True):
            s1, s2 = phi @ d, (bent @ d) @ d / 2
            v0, v1 = phi @ rate, (bent @ d) @ rate
            h0, h1, h2 = (np.concatenate([[one], s]) for one, s in ((1, s0), (0, s1), (0, s2)))
            v0, v1 = np.concatenate([[0], v0]), np.concatenate([[0], v1])
            if piece.cloud.order == "second":
                h, v = h0 + h1 + h2, v0 + v1
                hh, hv, vv = hh + m * np.outer(h, h), hv + m * np.outer(h, v), vv + m * np.outer(v, v)
                continue
            hh = hh + m * (np.outer(h0 + h1, h0 + h1) + np.outer(h0, h2) + np.outer(h2, h0))
            hv, vv = hv + m * (np.outer(h0 + h1, v0) + np.outer(h0, v1)), vv + m * np.outer(v0, v0)
        total = total + np.trace(W_dot @ hh @ W_dot.T + 2 * W_dot @ hv @ W.T + W @ vv @ W.T) / 2
    return total


def potential(arm, q):
    """Of gravity."""
    total = 0
    places, _ = shares(arm)
    for piece, (_, modes), W in zip(arm, places, poses(arm, q, 0 * q)[0], strict=True):
        P, d = piece.cloud.points, q[modes]
        g = P.g if piece.cloud.order in SHORTENING else 0 * P.g
        for m, s0, phi, bent in zip(P.m, P.s0, P.phi, g, strict=True):
            s = np.concatenate([[1], s0 + phi @ d + (bent @ d) @ d / 2])
            total = total - m * np.array(GRAVITY) @ (W @ s)[1:]
    return total


def slope(f, x, along):
    """The derivative of an analytic function along a direction."""
    return np.imag(f(x + 1j * TINY * along)) / TINY


def equations(arm, q, u):
    """M, the velocity terms and those of gravity; "paper" without what eq. 37 leaves out."""
    unit = np.eye(len(q))

    def momentum(q):
        return np.array([(kinetic(arm, q, u + e) - kinetic(arm, q, u - e)) / 2 for e in unit])

    M, one = np.zeros((len(q), len(q))), [kinetic(arm, q, e) for e in unit]
    for i in range(len(q)):
        for j in range(i + 1):
            M[i, j] = M[j, i] = np.real(kinetic(arm, q, unit[i] + unit[j]) - one[i] - one[j])
    c = slope(momentum, q, u) - np.array([slope(lambda x: kinetic(arm, x, u), q, e) for e in unit])
    gravity = np.array([slope(lambda x: potential(arm, x), q, e) for e in unit])
    for W, W_dd, S in zip(slopes(arm, q), changes(arm, q, u), left_out(arm, q), strict=True):
        M = M - np.array([[np.trace(a @ S @ b.T) for b in W] for a in W])
        c = c - np.array([np.trace(a @ S @ W_dd.T) for a in W])
    return M, c, gravity


def slopes(arm, q):
    """dW/dz of each body, by every coordinate."""
    by = [slope(lambda x: np.array(poses(arm, x, 0 * x)[0]), q, e) for e in np.eye(len(q))]
    return [[each[k] for each in by] for k in range(len(arm))]


def changes(arm, q, u):
    """W_dd of each body where the speeds are constant."""
    return slope(lambda x: np.array(poses(arm, x, u)[1]), q, u)


def left_out(arm, q, rate=None):
    """S_i of eq. 29, 4 x 4, where the order is "paper"; its rate where one is given."""
    found = []
    for piece, (_, modes) in zip(arm, shares(arm)[0], strict=True):
        P, d = piece.cloud.points, q[modes]
        s, S = P.phi @ d, np.zeros((4, 4))
        if piece.cloud.order == "paper":
            v = s if rate is None else P.phi @ rate[modes]
            one = np.einsum("p,pa,pb->ab", P.m, s, v)
            S[1:, 1:] = one if rate is None else one + one.T
        found.append(S)
    return found
