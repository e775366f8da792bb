"""What a formulation says of a machine, as numbers at given states, in the speeds of its joints.

A formulation may be written in other speeds u than those of the joints, v:

    v = G u + g,   A = G^-1,   w = dG/dt u + dg/dt
    M_v = A^T M A,   c_v = A^T (c - M A w),   Q_v = A^T Q,   tau_u = G^T tau_v,   vdot = G udot + w
    J_v = J A,   gamma_v = gamma - J_v w
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.compile import compile
from polhode.equations import Equations
from polhode.equations.dynamics import accelerations
from polhode.equations.inputs import inputs
from polhode.graph import Matrix, as_expr, diff_along, evaluate, jacobian, substitute, symbol, vector
from polhode.model import TIME, Model

Values = dict[str, np.ndarray]

SMALL = 0.05  # of the length of a body that deforms, or of a radian


@dataclass(frozen=True, kw_only=True)
class States:
    """Where formulations are compared: k states, with the forces and the parameters at them.

    q   : (k, nq), around the neutral position
    v   : (k, nu), speeds of the joints
    tau : (k, nu + nc), forces on them, and controls of actuators
    t   : (k,)
    z   : (k, nz), states that are not motion
    p   : value of each parameter
    """

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    t: np.ndarray
    z: np.ndarray
    p: dict[str, float]


def drawn(model: Model, k: int, seed: int, p: dict[str, float]) -> States:
    """Draw states: coordinates within 1 of neutral, quaternions turned likewise, speeds and forces within 1.

    Amplitudes of modes stay small, within a 20th of the body's length or of a radian, as do their speeds.
    """
    draw = np.random.default_rng(seed)
    q = np.array(model.neutral()) + draw.uniform(-1, 1, (k, model.nq))
    first = 0
    for body in model.bodies:
        for part in body.joint.parts:
            if part.quaternion:
                q[:, first : first + 4] /= np.linalg.norm(q[:, first : first + 4], axis=1, keepdims=True)
            first += part.nq
        first += len(body.modes)
    v, tau = (draw.uniform(-1, 1, (k, many)) for many in (model.nu, model.nu + len(model.controls)))
    t, z = draw.uniform(0, 1, k), draw.uniform(-1, 1, (k, model.nz))
    for body in model.bodies:
        if body.flexible is not None:
            length = float(evaluate(body.flexible.length, {symbol(name): x for name, x in p.items()}))
            for mode, unit in zip(body.modes, body.flexible.units, strict=True):
                small = SMALL * (1.0 if unit == "rad" else length)
                q[:, model.coordinates.index(mode)] *= small
                v[:, model.speeds.index(f"{mode}_dot")] *= small
    return States(q=q, v=v, tau=tau, t=t, z=z, p=p)


def evaluated(eq: Equations, at: States) -> Values:
    """Every quantity of a formulation at the states, by name, (k, ...).

    Without "accelerations" where the inertia matrix is singular.
    """
    kin, nu = eq.kinematics, len(eq.u)
    v = vector([kin.quasi.get(s, s) for s in map(symbol, eq.model.speeds)])
    G = jacobian(v, eq.u)
    if G.shape != (nu, nu):
        raise ValueError(f"{eq.method} has {nu} speeds where the joints have {len(v)}: they cannot be compared.")
    still = dict.fromkeys(eq.u, as_expr(0))
    G_, g_ = _numbers(eq, at, {"G": G, "g": substitute(v, still)}, np.zeros_like(at.v)).values()
    A = np.linalg.inv(G_)
    u = np.einsum("kij,kj->ki", A, at.v - g_)
    tau = inputs(eq)
    last = eq.model.bodies[-1].name
    rows = eq.constraints
    parts: dict[str, Matrix] = {
        "w": diff_along(v, [*eq.q, TIME], [*kin.q_dot, as_expr(1)]),
        "M": eq.M,
        "c": eq.c,
        "Q": eq.Q,
        "qdot": kin.q_dot,
        "kinetic energy": vector([eq.kinetic]),
        "potential energy": vector([eq.potential]),
        "pose": eq.pose(last),
        "Jacobian": eq.jacobian(last),
    }
    if len(eq.z):
        parts["zdot"] = eq.z_dot
    if len(rows):
        parts |= {"phi": rows.phi, "psi": rows.psi, "J": rows.J, "gamma": rows.gamma}
    with suppress(ValueError):  # the others are compared all the same, and the result says what is missing
        parts["accelerations"] = accelerations(eq, tau[:nu])
    forces = np.einsum("kji,kj->ki", G_, at.tau[:, : len(v)])
    found = _numbers(eq, at, parts, u, tau, np.hstack([forces, at.tau[:, len(v) :]]))
    return _in_joint_speeds(found, G_, A)


def _in_joint_speeds(found: Values, G: np.ndarray, A: np.ndarray) -> Values:
    w = found.pop("w")
    bent = np.einsum("kij,kj->ki", found["M"] @ A, w)
    back = A.transpose(0, 2, 1)
    found["c"] = np.einsum("kij,kj->ki", back, found["c"] - bent)
    found["Q"] = np.einsum("kij,kj->ki", back, found["Q"])
    found["M"] = back @ found["M"] @ A
    found["Jacobian"] = found["Jacobian"] @ A
    if "accelerations" in found:
        found["accelerations"] = np.einsum("kij,kj->ki", G, found["accelerations"]) + w
    if "J" in found:
        found["J"] = found["J"] @ A
        found["gamma"] = found["gamma"] - np.einsum("kij,kj->ki", found["J"], w)
    return found


def _numbers(eq: Equations, at: States, parts: dict[str, Matrix], u: np.ndarray, tau: Matrix | None = None,
             forces: np.ndarray | None = None) -> Values:  # fmt: skip
    """Compile expressions into one function and call it for all states at once."""
    given: dict[str, Any] = {"q": eq.q, "u": eq.u, "t": TIME}
    arrays: list[Any] = [at.q, u, at.t]
    if len(eq.z):
        given["z"] = eq.z
        arrays.append(at.z)
    if tau is not None:
        given["tau"] = tau
        arrays.append(forces)
    if at.p:
        given["p"] = [*map(symbol, at.p)]
        arrays.append(np.array([*at.p.values()]))
    names = {f"y{i}": part for i, part in enumerate(parts.values())}
    found = compile(given, names, name="quantities")(*arrays)
    return dict(zip(parts, found if len(parts) > 1 else [found], strict=True))


def weights(found: Values, at: States) -> Values:
    """The size of 1 of every quantity at every state, without units: with s_i = sqrt(M_ii), M_ij counts
    by s_i s_j, a force by s_i, an acceleration by 1 / s_i, a slope dx/dv_i by s_i, relative to the largest.

    Where M is badly conditioned, accelerations are known the less well, and count the less.
    """  # fmt: skip
    with np.errstate(all="ignore"):
        inertia = np.abs(np.diagonal(found["M"], axis1=1, axis2=2))
        s = np.sqrt(np.where(inertia > 0, inertia, 1.0))
        top = s.max(axis=1, keepdims=True)  # what speeds and accelerations of 1 need
        size: Values = {"M": s[:, :, None] * s[:, None, :]}
        for name in ("c", "Q"):
            size[name] = s * np.maximum(_largest(found[name] / s), top)
        if "accelerations" in found:
            worse = np.maximum(np.nan_to_num(_condition(found["M"] / size["M"]) / 1e3, nan=1.0), 1.0)
            size["accelerations"] = np.maximum(_largest(found["accelerations"] * s), top) * worse[:, None] / s
        energy = np.abs(found["kinetic energy"])
        size["kinetic energy"] = np.where(energy > 0, energy, 1.0)
        size["potential energy"] = np.full_like(energy, max(np.abs(found["potential energy"]).max(), energy.max()))
        size["qdot"] = np.maximum(_largest(found["qdot"]), 1.0)
        if "zdot" in found:
            size["zdot"] = np.abs(found["zdot"]).max(axis=0, keepdims=True) + np.zeros_like(found["zdot"])
        size["pose"] = np.ones_like(found["pose"])
        size["pose"][:, :3, 3] = np.abs(found["pose"][:, :3, 3]).max() or 1.0
        J = found["Jacobian"].reshape(len(s), 2, 3, -1)  # angular and linear rows
        size["Jacobian"] = _slopes(J, s, axes=(2, 3)).reshape(found["Jacobian"].shape)
        if "J" in found:
            size["J"] = _slopes(found["J"], s, axes=(2,))
            pace = np.abs(found["J"] * at.v[:, None, :]).sum(axis=2)
            for name in ("phi", "psi", "gamma"):
                size[name] = np.maximum(np.maximum(np.abs(found[name]), pace).max(axis=0, keepdims=True), 1e-300)
    return {name: np.where(np.isfinite(e) & (e > 0), e, 1.0) for name, e in size.items()}


def _largest(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.abs(x).max(axis=-1, keepdims=True)
    return found


def _condition(M: np.ndarray) -> np.ndarray:
    return np.array([np.linalg.cond(m) if np.isfinite(m).all() else np.nan for m in M])


def _slopes(J: np.ndarray, s: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Weights of rows dx/dv: s_j times the largest |J_ij| / s_j of the row, or of all where that is 0."""
    s = s.reshape(len(s), *[1] * (J.ndim - 2), -1)
    row: np.ndarray = np.abs(J / s).max(axis=axes, keepdims=True)
    return np.broadcast_to(np.where(row > 0, row, np.abs(J / s).max() or 1.0) * s, J.shape)


def gap(x: np.ndarray, y: np.ndarray, size: np.ndarray) -> float:
    """The largest difference of two arrays by size; infinite where only one of them is a number.

    What is a number in neither is not compared; NaN where nothing is.
    """
    known = np.isfinite(x), np.isfinite(y)
    if not (known[0] | known[1]).any():
        return float("nan")
    with np.errstate(all="ignore"):
        d = np.where(known[0] & known[1], np.abs(x - y) / size, np.where(known[0] | known[1], np.inf, 0.0))
    return float(d.max())
