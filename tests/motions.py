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


def still(model, q, t, finished=True, tau=0.0, **values):
    """A motion through given coordinates, evenly where they are as many as the speeds."""
    dyn = ph.formulate(model).compile(values=values)
    u = np.zeros((len(t), len(dyn.equations.u)))
    if len(t) > 1 and q.shape == u.shape:
        u = np.gradient(q, t, axis=0)
    outcome = Outcome(finished=finished, reason="Stopped at t = 1 s: 'elbow' went too far.", time=float(t[-1]))
    return Trajectory(dynamics=dyn, t=t, q=q, u=u, tau=0 * u + tau, outcome=outcome)


@cache
def double():
    """A double pendulum in the plane y up, with a length as parameter."""
    L = ph.symbol("L")
    build = ph.Builder("double </script><b>", gravity=(0, -9.81, 0))
    build.body("upper", joint=ph.revolute("z", name="shoulder"), mass=1, com=(L / 2, 0, 0))
    build.body("lower", parent="upper", at=(L, 0, 0), joint=ph.revolute("z", name="elbow"), mass=1, com=(L, 0, 0))
    t = np.linspace(0, 1, 11)
    return still(build.build(), np.stack([-1.5 - t, 2 * t], axis=1), t, finished=False, tau=1.0, L=0.5)
