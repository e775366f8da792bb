"""Derivatives by differences, for tests: what they are compared with knows nothing of derivatives."""

import numpy as np

from polhode.graph import evaluate
from polhode.kinematics.small import small_changes

STEP = 2e-3  # sixth order: what it leaves out is 1e-16 of a seventh derivative


def slopes(f, x, step=STEP):
    """df/dx, (..., n), by central differences of sixth order."""
    x = np.asarray(x, dtype=float)
    columns = []
    for v in np.eye(len(x)) * step:
        near, mid, far = (np.asarray(f(x + k * v)) - np.asarray(f(x - k * v)) for k in (1, 2, 3))
        columns.append((45 * near - 9 * mid + far) / (60 * step))
    return np.stack(columns, axis=-1)


class Moved:
    """Coordinates of a machine after small changes r: of quaternions q exp(r / 2), of others q + r."""

    def __init__(self, dyn, q):
        self.eq, self.q = dyn.equations, np.asarray(q, dtype=float)
        small = small_changes(self.eq.kinematics.joints)
        self.names, self.blocks = small.names, small.blocks
        self.T = np.array(evaluate([*small.T.entries], dict(zip(small.q, self.q.tolist(), strict=True))))
        self.T = self.T.reshape(small.T.shape)

    @property
    def still(self):
        return np.zeros(len(self.names))

    def __call__(self, r):
        found = self.q + self.T @ r
        for place, first, _ in self.blocks:
            part, by = self.q[place : place + 4], r[first : first + 3]
            half = np.linalg.norm(by) / 2
            # T r is half of q times r
            along = self.T[place : place + 4, first : first + 3] @ by
            found[place : place + 4] = np.cos(half) * part + np.sinc(half / np.pi) * along
        return found


def forward_slopes(dyn, q, u, tau, call=None, **options):
    """Slopes of a call (q, u, tau) -> array by small changes of q, by u and by tau."""
    moved, f = Moved(dyn, q), dyn.forward_dynamics if call is None else call
    return {
        "q": slopes(lambda r: f(moved(r), u, tau, **options), moved.still),
        "u": slopes(lambda v: f(q, v, tau, **options), u),
        "tau": slopes(lambda v: f(q, u, v, **options), tau),
    }
