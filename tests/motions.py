"""Trajectories without a simulator, for tests of what can be asked of them."""

from functools import cache

import numpy as np

import polhode as ph
from polhode.trajectory import Outcome, Trajectory


def runge_kutta(dyn, q, u, t_end, h=1e-3, every=10, tau=lambda t, q, u: 0 * u, p=(), **fields):
    """A trajectory by plain Runge-Kutta steps."""
    extra = (lambda t: {"p": np.array(p), "t": t}) if dyn.parameters or dyn.timed else lambda t: {}

    def rate(t, x):
        q, u = x[:nq], x[nq:]
        return np.concatenate(
            [dyn.rates(q, u, **extra(t)), dyn.forward_dynamics(q, u, tau(t, q, u), **extra(t))]
        )  # fmt: skip

    nq, x, rows = len(q), np.concatenate([q, u]).astype(float), []
    for k in range(round(t_end / h) + 1):
        t = k * h
        if k % every == 0:
            rows.append((t, x[:nq], x[nq:], tau(t, x[:nq], x[nq:])))
        a = rate(t, x)
        b = rate(t + h / 2, x + h / 2 * a)
        c = rate(t + h / 2, x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + rate(t + h, x + h * c))
    t, q, u, tau = (np.array(column) for column in zip(*rows, strict=True))
    return made(dyn, t=t, q=q, u=u, tau=tau, parameters=p, **fields)


def made(dyn, finished=True, **fields):
    t_end = float(np.max(fields["t"]))
    outcome = Outcome(finished=finished, reason=f"Reached t = {t_end:g} s.", time=t_end)
    return Trajectory(dynamics=dyn, outcome=outcome, **fields)


@cache
def pendulum():
    """A damped, driven pendulum with one parameter left open."""
    m, L, d = ph.symbols("m L d")
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta", damping=d), mass=m, com=(0, 0, -L))
    build.marker("tip", body="bob", at=(0, 0, -L))
    return ph.formulate(build.build()).compile(values={"m": 2.0, "d": 0.3})


@cache
def swing():
    return runge_kutta(pendulum(), [1.0], [0.0], 2, tau=lambda t, q, u: np.array([np.sin(4 * t)]), p=(0.7,))
