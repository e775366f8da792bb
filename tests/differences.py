"""Linear models by differences of the nonlinear motion, for tests: only calls that know nothing of derivatives."""

import numpy as np

import polhode as ph
from polhode.graph import evaluate


class Nonlinear:
    """The rates of independent states, as functions of these and of the inputs.

    What is dependent follows by `assemble`; accelerations by `forward_dynamics`. Coordinates must not be quaternions.
    """

    def __init__(self, dyn, lin, tau=None, p=None, active=None):
        self.dyn, self.lin, self.p, self.active = dyn, lin, p or {}, active
        eq = dyn.equations
        self.names = [[str(s.value) for s in part] for part in (eq.q, eq.u, eq.z)]
        self.tau = dict.fromkeys([*self.names[1], *(a.name for a in eq.model.actuators)], 0.0) | (tau or {})
        self.keep = [name for name in lin.states if name not in self.names[2]]

    def rates(self, change, inputs):
        eq, at = self.dyn.equations, self.lin.at | {}
        for name, by in zip(self.lin.states, change, strict=True):
            at[name] += by
        q, u, z = ([at[name] for name in names] for names in self.names)
        if len(eq.constraints) or eq.kinematics.embedded:
            q, u = ph.assemble(self.dyn, q, u, keep=self.keep, p=self.p or None, z0=z or None)
        tau = dict(self.tau)
        for name, by in inputs.items():
            tau[name] += by
        forces, controls = [tau[n] for n in self.names[1]], [tau[a.name] for a in eq.model.actuators]
        more = {"p": self.p} if self.p else {}
        more |= {"controls": controls} if controls else {}
        more |= {"z": z} if z else {}
        more |= {"active": self.active} if self.active is not None else {}
        udot = self.dyn.forward_dynamics(np.array(q), np.array(u), np.array(forces), **more)
        values = dict(zip([*eq.q, *eq.u, *eq.z, *eq.controls], [*q, *u, *z, *controls], strict=True)) | self.p
        values |= {s: float(evaluate(e, {})) for s, e in self.dyn.values.items()}
        values[eq.t] = 0.0
        qdot = evaluate([*eq.kinematics.q_dot], values)
        zdot = evaluate([*eq.z_dot], values)
        whole = dict(zip([n for part in self.names for n in part], [*qdot, *udot, *zdot], strict=True))
        return np.array([whole[name] for name in self.lin.states])

    def slopes(self, h=1e-3):
        """A and B: differences of fourth order, twice, extrapolated to sixth."""
        n = len(self.lin.states)
        A = [self._slope(lambda s, j=j: self.rates(s * np.eye(n)[j], {}), h) for j in range(n)]
        B = [self._slope(lambda s, name=name: self.rates(np.zeros(n), {name: s}), h) for name in self.lin.inputs]
        return np.array(A).T, np.array(B).T.reshape(n, len(B))

    @staticmethod
    def _slope(f, h):
        first, second, third = ((f(k * h) - f(-k * h)) / (2 * k * h) for k in (1, 2, 3))
        return 1.5 * first - 0.6 * second + 0.1 * third


def agrees(dyn, lin, tolerance=1e-8, h=1e-3, **given):
    """Whether A, B and drift are those of differences, relative to the largest of each row."""
    nonlinear = Nonlinear(dyn, lin, **given)
    A, B = nonlinear.slopes(h)
    scale = np.maximum(1.0, np.abs(np.hstack([lin.A, lin.B])).max(axis=1))
    drift = nonlinear.rates(np.zeros(len(lin.states)), {})
    errors = [np.abs(lin.A - A).max(axis=1), np.abs(lin.B - B).max(axis=1, initial=0), np.abs(lin.drift - drift)]
    worst = max(float((e / scale).max()) for e in errors)
    assert worst < tolerance, worst
    return True
