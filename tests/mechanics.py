"""States of mechanisms and values of expressions at them, for tests."""

import numpy as np

from polhode.graph import Matrix, diff_along, evaluate


def random_state(eq, seed, size=1.0, bent=0.05):
    """Coordinates and speeds, with quaternions of unit length and amplitudes of modes that are small."""
    draw = np.random.default_rng(seed)
    q = draw.uniform(-size, size, len(eq.q))
    first = 0
    for body in eq.kinematics.model.bodies:
        for part in body.joint.parts:
            if part.quaternion:
                turn = q[first : first + 4]
                q[first : first + 4] = turn / np.linalg.norm(turn)
            first += part.nq
        q[first : first + len(body.modes)] *= bent
        first += len(body.modes)
    return q, draw.uniform(-1, 1, len(eq.u))


class At:
    """Values of a model's expressions at one state: at(eq.M) is an array."""

    def __init__(self, eq, q, u, parameters=()):
        self.eq, self.q, self.u = eq, np.asarray(q), np.asarray(u)
        self.values = {
            eq.q: list(q),
            eq.u: list(u),
            **dict(parameters),
            eq.t: 0.3,
            eq.controls: [0.0] * len(eq.controls),
        }

    def __call__(self, e):
        found = np.array(evaluate(e.entries if isinstance(e, Matrix) else [e], self.values))
        return found.reshape(e.shape) if isinstance(e, Matrix) else float(found[0])

    @property
    def qdot(self):
        return self(self.eq.N) @ self.u

    def rate(self, e):
        """Change of an expression of q alone with time."""
        return self(diff_along(e, self.eq.q, list(map(float, self.qdot))))

    def udot(self, tau=0):
        return np.linalg.solve(self(self.eq.M), self(self.eq.Q) + tau - self(self.eq.c))


def close(a, b, tolerance=1e-10):
    """Whether two arrays agree, relative to the largest entry and to 1."""
    a, b = np.asarray(a), np.asarray(b)
    return np.abs(a - b).max(initial=0) <= tolerance * max(1.0, np.abs(b).max(initial=0))
