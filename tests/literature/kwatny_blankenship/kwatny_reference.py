"""Mechanics from first principles, in forty-digit numbers and without Polhode.

Poses are products of 4 x 4 matrix exponentials, whose derivatives are products
of the same matrices. Lagrange's equations follow from the kinetic energy
T = 1/2 sum tr(X_dot J X_dot^T), J = integral r r^T dm with r = (x, y, z, 1): no
angular velocity, spatial vector or Lie bracket anywhere.
"""

import random
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np
import sympy as sp
from mpmath import mp

from polhode.graph import evaluate


def draw(names, seed, low=-1.0, high=1.0):
    """A random value for each name."""
    pick = random.Random(seed)
    return {name: mp.mpf(pick.uniform(low, high)) for name in names}


def values_of(m, values):
    """A matrix of Polhode, as an array of numbers."""
    return np.reshape(np.array(evaluate(m, values, digits=40), dtype=object), m.shape)


def array(rows):
    """Entries as an array of exact or forty-digit numbers."""
    return np.array(rows, dtype=object)


def gap(a, b):
    """The largest difference between two arrays."""
    difference = (array(a) - array(b)).ravel()
    return max(abs(mp.mpf(d) if not isinstance(d, mp.mpf) else d) for d in difference)


def zero(m):
    """Whether a SymPy matrix vanishes identically: at three random points, to thirty digits."""
    m = sp.Matrix(m)
    names = sorted(m.free_symbols, key=str)
    f = sp.lambdify(names, list(m), "mpmath", cse=True)
    return all(abs(e) < 1e-30 for seed in range(3) for e in f(*draw(map(str, names), seed, 0.2, 1.2).values()))


def solve(A, b):
    """The solution, or the least squares solution, of A x = b for several right sides."""
    columns = [list(mp.lu_solve(mp.matrix(A.tolist()), mp.matrix(list(column)))) for column in array(b).T]
    return array(columns).T


def hat(h):
    """The 4 x 4 matrix of a twist, angular part first."""
    a, b, c, x, y, z = (mp.mpmathify(e) for e in h)
    return array([[0, -c, b, x], [c, 0, -a, y], [-b, a, 0, z], [0, 0, 0, 0]])


def vee(A):
    """The twist of a 4 x 4 matrix."""
    return [A[2, 1], A[0, 2], A[1, 0], A[0, 3], A[1, 3], A[2, 3]]


def exponential(A):
    """The matrix exponential, by mpmath's series."""
    return array(_series(tuple(map(tuple, A.tolist()))))


@lru_cache(maxsize=1024)
def _series(rows):
    return mp.expm(mp.matrix(rows)).tolist()


def inverse_pose(X):
    """(2b), corrected: [[L, -L R], [0, 1]]."""
    found = array(np.eye(4, dtype=int))
    found[:3, :3] = X[:3, :3].T
    found[:3, 3] = -(X[:3, :3].T @ X[:3, 3])
    return found


def screws(columns, q, along=()):
    """lambda_r(q_r) ... lambda_1(q_1) or its derivative along some coordinates, (15)."""
    X = array(np.eye(4, dtype=int))
    for i, (h, e) in enumerate(zip(columns, q, strict=True)):
        A = hat(h)
        X = np.linalg.matrix_power(A, along.count(i)) @ exponential(A * e) @ X
    return X


def rates_matrix(columns, q):
    """B(q): the body's twist is B q_dot, from X^-1 dX/dq_i."""
    back = inverse_pose(screws(columns, q))
    return array([vee(back @ screws(columns, q, (i,))) for i in range(len(columns))]).T


class Chain:
    """A serial chain.

    joints : per joint a list of parts, each a list of columns; from the body inward
    bodies : (com, outboard, mass, inertia about the com)
    """

    def __init__(self, joints, bodies, gravity=(0, 0, -1)):
        self.parts = [part for joint in joints for part in joint]
        self.bodies, self.gravity = bodies, array([*gravity, 0])
        self.n = sum(map(len, self.parts))
        # what to multiply, from the world outward: (body, coordinate or None, 4 x 4)
        self.steps, first = [], 0
        for k, joint in enumerate(joints):
            columns = [h for part in joint for h in part]
            self.steps += [(k, first + i, hat(columns[i])) for i in reversed(range(len(columns)))]
            offset = array(np.eye(4, dtype=int))
            offset[:3, 3] = [mp.mpmathify(e) for e in bodies[k][1]]
            self.steps.append((k, None, offset))
            first += len(columns)

    def pose(self, k, q, along=(), end=False):
        """Pose of body k, or of its outboard joint, or the derivative along some coordinates."""
        X = array(np.eye(4, dtype=int))
        for body, i, A in self.steps:
            if body > k or (body == k and i is None and not end):
                break
            if i is None:
                X = X @ A
            else:
                X = X @ exponential(A * q[i]) @ np.linalg.matrix_power(A, along.count(i))
        moving = {i for body, i, _ in self.steps if body <= k}
        return X if set(along) <= moving else X * 0

    def pseudo_inertia(self, k):
        """J = integral r r^T dm over body k."""
        com, _, m, inertia = self.bodies[k]
        c = array([mp.mpmathify(e) for e in com])
        I = array([[mp.mpmathify(e) for e in row] for row in inertia])
        J = array(np.zeros((4, 4), dtype=int))
        J[:3, :3] = np.eye(3, dtype=int) * (I.trace() / 2) - I + np.outer(c, c) * m
        J[:3, 3] = J[3, :3] = c * m
        J[3, 3] = m
        return J

    def lagrange(self, q, rates):
        """M, c, g of M qdd + c + g = Q."""
        n = self.n
        M, c, g = array(np.zeros((n, n), dtype=int)), array(np.zeros(n, dtype=int)), array(np.zeros(n, dtype=int))
        for k, (com, _, m, _) in enumerate(self.bodies):
            J = self.pseudo_inertia(k)
            center = array([*(mp.mpmathify(e) for e in com), 1])
            slopes = [self.pose(k, q, (i,)) for i in range(n)]
            second = array(np.zeros((4, 4), dtype=int))
            for i, j in combinations_with_replacement(range(n), 2):
                second = second + self.pose(k, q, (i, j)) * (rates[i] * rates[j] * (1 if i == j else 2))
            for i in range(n):
                c[i] += (slopes[i] @ J @ second.T).trace()
                g[i] -= m * (self.gravity @ slopes[i] @ center)
                for j in range(n):
                    M[i, j] += (slopes[i] @ J @ slopes[j].T).trace()
        return M, c, g

    def rates(self, q):
        """V(q) of q_dot = V p: each part's columns are what its speeds move along in the body."""
        V, first = array(np.zeros((self.n, self.n), dtype=int)), 0
        for part in self.parts:
            own = slice(first, first + len(part))
            H = array([[mp.mpmathify(e) for e in h] for h in part]).T
            V[own, own] = solve(rates_matrix(part, q[own]), H)
            first += len(part)
        return V

    def poincare(self, q, p):
        """M, c, g in the speeds p: Lagrange's equations with qdd = V pdot + V_dot p, times V^T."""
        V = self.rates(q)
        h = mp.mpf(10) ** -15
        ahead, behind = (self.rates(q + (V @ p) * e) for e in (h, -h))
        M, c, g = self.lagrange(q, V @ p)
        V_dot = (ahead - behind) / (2 * h)  # error h^2
        return V.T @ M @ V, V.T @ (c + M @ (V_dot @ p)), V.T @ g

    def energy(self, q, rates):
        """Kinetic plus potential energy at coordinates and their rates."""
        total = mp.mpf(0)
        for k, (com, _, m, _) in enumerate(self.bodies):
            X_dot = sum((self.pose(k, q, (i,)) * rates[i] for i in range(self.n)), array(np.zeros((4, 4), dtype=int)))
            total += (X_dot @ self.pseudo_inertia(k) @ X_dot.T).trace() / 2
            total -= m * (self.gravity @ self.pose(k, q) @ array([*(mp.mpmathify(e) for e in com), 1]))
        return total
