"""Steady motions of constrained mechanisms, linearised exactly."""

import numpy as np

from polhode.graph import evaluate, jacobian, symbol, vector


def linearised(eq, names):
    """The call (steady motion) -> M, C, K of M y'' + C y' + K y = 0 for small departures y from it.

    names : coordinates whose rates are independent; every speed is the rate of a coordinate

    The motion is given by values of coordinates, speeds and parameters, 0 where there is none.
    Near it the constraints psi(q, u) = 0 leave u = G y' + U q, and with F = c - Q - J^T lam

        G^T (M u' + dF/du u + dF/dq q) = 0.
    """
    held, nu = eq.constraints, len(eq.u)
    free = [list(eq.q).index(symbol(name)) for name in names]
    rest = [i for i in range(nu) if i not in free]
    lam = vector([symbol(f"lam{i}") for i in range(len(held))])
    F = eq.c - eq.Q - held.J.T @ lam
    before = [held.phi, held.psi, held.J, jacobian(held.psi, eq.q), eq.c - eq.Q]
    after = [eq.M, F, jacobian(F, eq.u), jacobian(F, eq.q)]

    def values(parts, at):
        entries = iter(evaluate([e for part in parts for e in part.entries], at))
        return [np.array([next(entries) for _ in part.entries]).reshape(part.shape) for part in parts]

    def at(motion):
        state = dict.fromkeys((*eq.q, *eq.u), 0.0) | {symbol(name): value for name, value in motion.items()}
        phi, psi, J, slope, force = values(before, state)
        assert max(*np.abs(phi), *np.abs(psi)) < 1e-14
        G, U = np.zeros((nu, len(free))), np.zeros((nu, nu))
        G[free] = np.eye(len(free))
        G[rest] = -np.linalg.solve(J[:, rest], J[:, free])
        U[rest] = -np.linalg.solve(J[:, rest], slope)
        # the reactions that keep the motion steady
        reactions = np.linalg.solve(J[:, rest].T, force[rest])
        M, left, by_speed, by_place = values(after, state | dict(zip(lam, reactions, strict=True)))
        assert np.abs(left).max() < 1e-10
        by_speed = by_speed + M @ U
        return [G.T @ part @ G for part in (M, by_speed, by_speed @ U + by_place)]

    return at
