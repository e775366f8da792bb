"""Bodies that bend further than their modes can say."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.graph import evaluate, symbol
from polhode.model.body import Body
from polhode.model.definite import REMEDY
from polhode.trajectory import Trajectory

DEFLECTED = 0.1  # of the length of a body
TURNED = 0.3  # rad, of a section
LEFT = 0.01  # of the least inertia that the machine has where a body is straight
FAR = 3  # times these limits, beyond which nothing is right


def large_deflections(traj: Trajectory) -> str:
    """Say which body bends further than small deflections go, and when; "" where none does."""
    return bent_far(traj.dynamics, traj.parameters, traj.t, traj.q)


def bent_far(dynamics: Dynamics, p: np.ndarray, t: np.ndarray, q: np.ndarray) -> str:
    """Say the same of states at times t, rows of q."""
    bodies = [body for body in dynamics.equations.model.bodies if body.flexible is not None]
    if not bodies:
        return ""
    known = {s: float(e) for s, e in dynamics.values.items()}
    known |= dict(zip(map(symbol, dynamics.parameters), map(float, p), strict=True))
    names = [str(s.value) for s in dynamics.equations.q]
    for body in bodies:
        flexible = body.flexible
        assert flexible is not None
        d = q[:, [names.index(name) for name in body.modes]]
        length = float(evaluate(flexible.length, known))
        stations = [station for line in flexible.lines for station in line]
        most = int(np.nanargmax(np.linalg.norm(d, axis=1))) if np.isfinite(d).all(axis=1).any() else 0
        if flexible.order == "first" and without_inertia(dynamics, p, float(t[most]), q[most]) == body.name:
            return (
                f'Body {body.name!r} bends so far that its order "first" leaves a motion without inertia at t = '
                f"{t[most]:.6g} s, and what follows is wrong. {REMEDY}"
            )
        for what, limit, unit, shapes in (
            ("bends by", DEFLECTED, " % of its length", [np.array(evaluate(s.Phi, known)) / length for s in stations]),
            ("turns its sections by", TURNED, " rad", [np.array(evaluate(s.Psi, known)) for s in stations]),
        ):
            far = np.max([np.linalg.norm(d @ shape.T, axis=1) for shape in shapes], axis=0, initial=0)
            if (far > limit).any():
                first, most = int(np.argmax(far > limit)), int(np.nanargmax(far))
                scale = 100 if unit[1] == "%" else 1
                trust = "not to be trusted" if far[most] > FAR * limit else "less and less true"
                return (
                    f"Body {body.name!r} {what} more than {limit * scale:g}{unit} at t = {t[first]:.6g} s, and by "
                    f"{far[most] * scale:.3g}{unit} at t = {t[most]:.6g} s: its modes describe small deflections, and "
                    f"what follows is {trust}. Make it stiffer, or of several flexible bodies in a row with "
                    'shapes="polynomial".'
                )
    return ""


def without_inertia(dynamics: Dynamics, p: np.ndarray, t: float, q: np.ndarray) -> str:
    """The body of order "first" that is bent so far that a motion of the machine has no inertia left; "" if none is.

    The least eigenvalue of M in units of its diagonal, beside that where the body is straight.
    """
    first = [body for body in dynamics.equations.model.bodies if body.flexible and body.flexible.order == "first"]
    if not first or not np.isfinite(q).all():
        return ""
    names = [str(s.value) for s in dynamics.equations.q]
    given: dict[str, Any] = {"p": p} if len(p) else {}
    if getattr(dynamics.mass_matrix, "timed", False):
        given["t"] = t

    def least(q: np.ndarray) -> float:
        M = np.asarray(dynamics.mass_matrix(q, **given))
        sizes = np.sqrt(np.abs(np.diagonal(M)))
        return float(np.linalg.eigvalsh(M / sizes / sizes[:, None])[0]) if (sizes > 0).all() else np.nan

    def straight(body: Body) -> float:
        at = q.copy()
        at[[names.index(name) for name in body.modes]] = 0
        return least(at)

    found = {body.name: straight(body) for body in first}
    name = max(found, key=lambda name: found[name])
    return name if least(q) < LEFT * found[name] else ""
