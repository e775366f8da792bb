"""Derivatives of a motion by parameters and by where it starts, exact: by the variational equations.

    S = d(q, u, z)/dp,   S' = A(t) S + B(t)

A and B are derivatives of the equations along the motion, at the points of Gauss' collocation on the steps that the
integrator took; steps are halved until S stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polhode.analyze.asked import names_of
from polhode.analyze.near import Near
from polhode.analyze.operating import Operating, read_point
from polhode.analyze.turns import charts_of
from polhode.equations import Dynamics
from polhode.equations.tangent import Tangent, tangent_of
from polhode.equations.warning import warn_caller
from polhode.graph import Expr, diff, evaluate, substitute, symbol
from polhode.model.errors import closest, listed
from polhode.model.spelling import spelled
from polhode.simulate.run import simulated
from polhode.simulate.warning import SimulationWarning
from polhode.trajectory import Trajectory
from polhode.trajectory.events import OPEN, RELEASED

from .collocation import integrate, nodes_of
from .jumps import require_no_jumps
from .measures import slopes_along
from .names import place_of
from .samples import Driven, driven_by
from .variation import Along, along

_METHODS = ("dop853", "dopri5", "rodas5p")
_FINEST = 4  # times that steps are halved
_CLOSE, _ROUGH = 1e-7, 1e-5  # changes of derivatives, of their size, when they are: what will do, and what is told


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensitivities:
    """A motion and its derivatives by np parameters.

    traj : the motion; by : names of what the derivatives are by
    q    : (k, nq, np), d q/d p at the outputs; u : (k, nu, np), d u/d p; z : (k, nz, np)
    udot : (k, nu, np), derivatives of accelerations
    error : the largest change of a derivative when steps were last halved, of its size
    laws : inputs that are expressions
    """

    traj: Trajectory
    by: tuple[str, ...]
    q: np.ndarray
    u: np.ndarray
    z: np.ndarray
    udot: np.ndarray
    accelerations: np.ndarray
    error: float
    laws: Mapping[Expr, Expr]

    def __getitem__(self, name: str) -> np.ndarray:
        """The derivatives of one coordinate, speed or state, (k, np)."""
        eq = self.traj.dynamics.equations
        for group, found in (("q", self.q), ("u", self.u), ("z", self.z)):
            names = [str(s.value) for s in getattr(eq, group)]
            if name in names:
                return found[:, names.index(name)]
        raise KeyError(f"There is no coordinate, speed or state {name!r}. {closest(name, self.traj.names)}")

    def of(self, what: Any) -> np.ndarray:
        """The derivatives of an expression along the motion, (k, np); also of `eq.kane.udot`, or as text."""
        return slopes_along(self, [what])[:, 0]

    def __repr__(self) -> str:
        name = self.traj.dynamics.equations.model.name
        return f"Derivatives of a motion of {name!r} by {', '.join(self.by)}, at {len(self.traj.t):,} times"


@spelled("sensitivities")
def sensitivities(
    dynamics: Dynamics,
    q0: Any = None,
    u0: Any = None,
    t_end: float | None = None,
    *,
    by: str | Iterable[str],
    z0: Any = None,
    p: Any = None,
    tau: Any = None,
    controls: Any = None,
    output: Any = None,
    t0: float = 0.0,
    method: str = "dop853",
    rtol: float = 1e-10,
    atol: float = 1e-10,
    independent: Iterable[str] = (),
    refine: bool = True,
) -> Sensitivities:
    """Move a machine as `simulate` does, with the exact derivatives of its motion.

    by       : names of parameters that were not compiled in, and of initial values: "m", "q.elbow", "u.elbow_dot",
               "z.current"; a quaternion starts with turns, "q.turn_...", of which a wrong name lists what there is
    tau      : numbers and expressions by name, or samples {"x_dot": (times, values)} with lines between them
    independent : names of coordinates and speeds that stay as given where constraints tie them; the others follow, in
               derivatives by lengths too. Without, those that `linearize` chooses
    refine   : halve steps until derivatives stay as they are, to 1e-7 of their size

    Where constraints come and go, contacts, stops, friction that holds, the run must meet none of them.
    """
    if method not in _METHODS:
        raise ValueError(f"sensitivities: method is {method!r:.40}, expected one of {', '.join(_METHODS)}.")
    driven = driven_by(tau, dynamics.equations, _end(t0, t_end))
    names = names_of(by, "by")
    if not names:
        raise ValueError('by is empty, expected names of parameters and initial values, such as ["m", "q.x"].')
    point = read_point(dynamics, q0, u0, None if driven.samples else driven.tau, controls, z0, p, t0, None)
    if driven.samples:
        point = replace(point, point=replace(point.point, tau=driven.forces(np.array([t0]))[0]))
    known = [name for name in names if _group(dynamics, point, name) == "p"]
    found = [place_of(dynamics, name, "by").name for name in known]
    tangent = tangent_of(point.program, point.rows, point.closed, point.inputs.laws, (), [symbol(n) for n in found])
    nq, nu = len(dynamics.equations.q), len(dynamics.equations.u)
    q, u, z = np.split(point.point.x, [nq, nq + nu])
    options = {"tau": driven.tau, "controls": controls, "p": p, "t0": t0, "method": method, "rtol": rtol, "atol": atol}
    motion = _Motion(dynamics, {"q0": q, "u0": u, "z0": z} | options, t_end)
    traj = motion.at(output)
    _require_smooth(traj)
    S0 = _start(point, tangent, names, known, independent)
    mesh = _mesh(motion, traj.t, t0, driven)
    times = np.unique(np.concatenate([mesh, nodes_of(mesh).ravel()]))
    require_no_jumps(point, tangent, lambda t: _moved(point, motion, driven, t), times, [symbol(n) for n in found])
    order = [known.index(name) if name in known else None for name in names]
    charts, error, before = charts_of(point), np.inf, None
    for _ in range(_FINEST if refine else 1):
        nodes = nodes_of(mesh)
        rates = _along(point, tangent, charts, motion, driven, nodes.ravel())
        n = rates.A.shape[1]
        B = np.zeros((*nodes.shape, n, len(names)))
        for j, k in enumerate(order):
            if k is not None:
                B[..., j] = rates.B[..., k].reshape(*nodes.shape, n)
        S = integrate(mesh, rates.A.reshape(*nodes.shape, n, n), B, S0)
        S = S[np.searchsorted(mesh, traj.t - 1e-12 * (mesh[-1] - mesh[0]))]
        if before is not None:
            size = np.abs(S).max(axis=(0, 1)) + 1e-300
            error = float((np.abs(S - before).max(axis=(0, 1)) / size).max())
        if error < _CLOSE:
            break
        before, mesh = S, np.sort(np.concatenate([mesh, (mesh[:-1] + mesh[1:]) / 2]))
    if refine and error > _ROUGH:
        warn_caller(
            f"sensitivities: derivatives still changed by {error:.2g} of their size when steps were last halved, "
            f"expected {_CLOSE:g}: a law is steep or has corners. Give smaller rtol and atol.",
            SimulationWarning,
        )
    ends = along(point, tangent, charts, traj.t, _states(traj), driven.forces(traj.t) + _held(point, driven))
    dudot = ends.dudot[0] @ S
    for j, k in enumerate(order):
        if k is not None:
            dudot[..., j] += ends.dudot[1][..., k]
    nx = charts.T.shape[1]
    return Sensitivities(
        traj=traj, by=names, q=ends.T @ S[:, :nx], u=S[:, nx : nx + nu], z=S[:, nx + nu :], udot=dudot,
        accelerations=ends.udot, error=error, laws=point.inputs.laws,
    )  # fmt: skip


def _end(t0: float, t_end: Any) -> float:
    from polhode.simulate.asked import check_span

    return check_span(None, t0, t_end)


def _mesh(motion: _Motion, outputs: np.ndarray, t0: float, driven: Driven) -> np.ndarray:
    """Where steps, outputs and the slopes of inputs change, ascending."""
    knots = driven.knots[(driven.knots > t0) & (driven.knots < outputs[-1])]
    found = np.unique(np.concatenate([[t0], outputs, motion.at("steps").t, knots]))
    found = found[found <= outputs[-1]]
    kept: np.ndarray = found[np.append(True, np.diff(found) > 1e-12 * (found[-1] - found[0]))]
    return kept


class _Motion:
    """The motion at any times: of the same steps, so of the same numbers."""

    def __init__(self, dynamics: Dynamics, given: Mapping[str, Any], t_end: Any) -> None:
        self.dynamics, self.given, self.t_end = dynamics, given, t_end

    def at(self, output: Any) -> Trajectory:
        found = simulated(self.dynamics, self.t_end, output, progress=False, **self.given)
        if not found.outcome.finished:
            raise ValueError(f"sensitivities: the run ended early. {found.outcome}")
        return found


def _states(traj: Trajectory) -> np.ndarray:
    return np.concatenate([traj.q, traj.u, traj.z], axis=1)


def _held(point: Operating, driven: Driven) -> np.ndarray:
    """Inputs that are numbers, where there are no samples."""
    return np.zeros_like(point.point.tau) if driven.samples else point.point.tau


def _moved(point: Operating, motion: _Motion, driven: Driven, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States and inputs at times."""
    return _states(motion.at(t)), driven.forces(t) + _held(point, driven)


def _along(point: Operating, tangent: Tangent, charts: Any, motion: _Motion, driven: Driven, t: np.ndarray) -> Along:
    return along(point, tangent, charts, t, *_moved(point, motion, driven, t))


def _require_smooth(traj: Trajectory) -> None:
    """Refuse motions along which constraints came, went or slid."""
    remedy = "Give a span in which nothing switches, or differences of two runs"
    if any(name.startswith("friction of ") for name in (traj.events[0].mode if traj.events else ())):
        remedy += "; with a friction_speed= the dry friction of a joint is a smooth force"
    for event in traj.events[1:]:
        if event.what:
            raise ValueError(f"sensitivities: {event}, where derivatives jump, which these do not follow. {remedy}.")
    modes = dict(traj.events[0].mode) if traj.events else {}
    for name, mode in modes.items():
        if mode not in (OPEN, RELEASED, "engaged"):
            raise ValueError(f"sensitivities: {name!r} {mode} from the start, expected it open or released. {remedy}.")


def _group(dynamics: Dynamics, point: Operating, name: str) -> str:
    """The group of a name in `by`; turns of quaternions are coordinates."""
    if name.removeprefix("q.") in charts_of(point).turns:
        return "q"
    found = place_of(dynamics, name, "by")
    if found.group == "tau":
        raise ValueError(f"by: {name!r} is an input. Make it a parameter: declare a force with that parameter.")
    return found.group


def _start(
    at: Operating, tangent: Tangent, names: Sequence[str], parameters: Sequence[str], independent: Iterable[str]
) -> np.ndarray:
    """S at the start, (n, np): a unit for initial values; where constraints hold, what follows moves with them."""
    eq, dynamics = at.program.equations, at.program.dynamics
    near = Near(at, tangent_of(at.program, at.rows, at.closed, at.inputs.laws), charts_of(at), tuple(independent))
    nx, nu = near.nx, near.nu
    S = np.zeros((len(near.whole), len(names)))
    dp = np.eye(len(parameters))
    slopes = tangent(near.at, p=dp)[1] if len(parameters) else {}
    folded = dynamics.values
    for j, name in enumerate(names):
        if name in parameters:
            k, s = parameters.index(name), symbol(place_of(dynamics, name, "by").name)
            values = dict(zip(map(symbol, dynamics.parameters), at.point.p.tolist(), strict=False))
            for i, state in enumerate(eq.model.states):
                S[nx + nu + i, j] = float(evaluate(diff(substitute(state.start, folded), s), values))
            dz = S[nx + nu :, j]
            psi, phi = near.slopes["psi"]["x"], near.slopes["phi"]["x"]
            S[:nx, j] = -near.placed.H @ (phi[:, nx + nu :] @ dz + slopes["phi"][:, k])
            S[nx : nx + nu, j] = -near.sped.H @ (psi[:, :nx] @ S[:nx, j] + psi[:, nx + nu :] @ dz + slopes["psi"][:, k])
            continue
        plain = name.partition(".")[2] if name[:2] in ("q.", "u.", "z.") else name
        if plain not in near.states:
            turned = charts_of(at).turns
            said = f"Of a quaternion turns are, such as q.{turned[0]}" if turned else "Name it in independent=[...]"
            raise ValueError(
                f"by: {name!r} is not independent here, where {listed(near.states)} are. {said}, or choose one "
                "of these."
            )
        S[:, j] = near.lift[:, near.states.index(plain)]
    return S
