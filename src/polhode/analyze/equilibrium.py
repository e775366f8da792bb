"""Where a machine stays as it is: at rest, in a steady turn, in a steady spin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.tangent import tangent_of
from polhode.graph import evaluate, free_symbols, symbol
from polhode.kinematics.candidates import UNILATERAL
from polhode.model import Stop
from polhode.model.errors import listed
from polhode.simulate.asked import is_number
from polhode.simulate.assemble import assemble

from .asked import started
from .balance import Balanced, balance, mattering, near
from .descend import Descended, descend, free_directions, towards
from .found import Equilibrium, EquilibriumError
from .limits import within_limits
from .modes import _plain
from .operating import Operating, read_point
from .unknowns import Unknowns, all_names, everything, read_unknowns

_MET = 1e-9  # of what counts as 1 of an equation
_LEFT = 1e3  # counts as 1 of what no unknown balances, as of linear models
_TIES, _HEAVY = ("position", "pace", "unit"), 1e3  # equations of constraints, and what they count in messages
_FAR = (0.3, 1.0, 2.0)  # of what unknowns are measured by: how far other starts are from the guess


def equilibrium(
    dynamics: Dynamics,
    q: Any = None,
    u: Any = None,
    tau: Any = None,
    *,
    unknowns: Iterable[str] | None = None,
    controls: Any = None,
    z: Any = None,
    p: Any = None,
    t: float = 0.0,
    active: Iterable[str] | None = None,
    starts: int = 8,
    **start: Any,
) -> Equilibrium:
    """Find a state, and forces, controls and parameters, in which a machine stays as it is.

    q, u, z, tau, controls, p, t, active : as for `linearize`: what is given, and for unknowns the guess
    unknowns : names of coordinates, speeds, other states, actuators, run-time parameters, and "tau.x_dot" of the force
               on x_dot; all coordinates and other states where nothing is said. Coordinates and speeds that constraints
               tie follow, unless q= or u= names them
    starts   : how many guesses are tried, the others around the one that is given
    start    : q0, u0, z0, t0 instead of q, u, z, t, as keyframes have them

    Accelerations vanish, the rates of other states, and those of coordinates on which these depend. Coordinates on
    which nothing depends may move steadily: a bicycle in a circle, a top that precesses. Where unknowns stay
    undetermined, the solution nearest to the guess is found, and `free` says along what.

    Raises EquilibriumError, which says what is left, where there is none to be found.
    """
    q, u, z, t = started(q, u, z, t, start, signature(equilibrium).parameters, "equilibrium")
    if not (is_number(starts) and starts == int(starts) and starts >= 1):
        raise ValueError(f"starts is {starts!r:.60}, expected a number of guesses, at least 1.")
    at = read_point(dynamics, q, u, tau, controls, z, p, t, active, "equilibrium")
    varied = () if unknowns is None else tuple(map(symbol, dynamics.parameters))
    tangent = tangent_of(at.program, at.rows, at.closed, at.inputs.laws, (), varied)
    try:
        here, closed = near(at, tangent), near(_closed(at), tangent)
    except ValueError as error:
        raise ValueError(str(error).replace("linearize:", "equilibrium:")) from None
    here = here if len(here.states) == len(closed.states) else closed  # rows may repeat others where loops are closed
    states = here.states
    matter = mattering(at, tangent, states)
    count = len(balance(at, tangent, states, matter).F)
    asked = read_unknowns(at, here, unknowns, {"q": q, "u": u})

    def f(y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        try:
            found = balance(within_limits(asked.moved(at, y))[0], tangent, states, matter)
        except (ValueError, np.linalg.LinAlgError):
            return None
        shown = found.by[:, list(asked.columns)]
        if len(found.F) != count:  # in a position in which the machine can move in more ways
            return None
        return (found.F, shown) if np.isfinite(found.F).all() and np.isfinite(shown).all() else None

    def settled(y: np.ndarray) -> np.ndarray:
        found: np.ndarray = everything(asked.moved(at, y))[list(asked.columns)]
        return found

    guess = everything(at)[list(asked.columns)]
    best: tuple[float, Operating, Balanced, Descended] | None = None
    for y in _guesses(guess, asked, int(starts)):
        ended = descend(f, y, guess, asked.scale, asked.lower, asked.upper, asked.limited, settled=settled)
        if ended is None:
            continue
        point = asked.moved(at, ended.y)
        found = balance(within_limits(point)[0], tangent, states, matter)
        left = float(_shares(found, asked, ended.y).max(initial=0))
        if best is None or left < best[0]:
            best = left, point, found, ended
        if left <= _MET:
            break
    if best is None:
        raise EquilibriumError("equilibrium: nothing can be computed at the guess. Give another one.")
    left, point, found, ended = best
    if left > _MET:
        # what is told is the best of what constraints allow
        heavy = np.where([kind in _TIES for kind in found.kinds], _HEAVY, 1.0)
        again = descend(f, ended.y, guess, asked.scale, asked.lower, asked.upper, asked.limited, heavy, settled)
        if again is not None:
            point, ended = asked.moved(at, again.y), again
            found = balance(within_limits(point)[0], tangent, states, matter)
        raise EquilibriumError(_said_of_none(at, point, found, asked, ended, int(starts)))
    return _result(dynamics, at, point, found, asked, ended, active, left)


def _closed(at: Operating) -> Operating:
    """The point with its loops closed, or as it is where they cannot be."""
    if not at.closed:
        return at
    x, n, nu = at.point.x.copy(), len(at.program.equations.q), len(at.program.equations.u)
    try:
        given = at.point.p[: len(at.program.dynamics.parameters)]
        x[:n] = assemble(at.program, x[:n], z0=x[n + nu :], t=at.point.t, p=given).q
    except ValueError:
        return at
    return replace(at, point=replace(at.point, x=x))


def _guesses(guess: np.ndarray, asked: Unknowns, many: int) -> Iterable[np.ndarray]:
    draw = np.random.default_rng(7)
    yield guess
    for k in range(many - 1 if len(guess) else 0):
        yield guess + _FAR[k % len(_FAR)] * asked.scale * draw.normal(size=len(guess))


def _shares(found: Balanced, asked: Unknowns, y: np.ndarray) -> np.ndarray:
    """How far equations are from being met, (m,), of what counts as 1.

    What no change of the unknowns would balance counts as it is, beyond rounding: stiff springs do not hold what falls.
    """
    by = found.by[:, list(asked.columns)] * asked.scale
    left = found.F + by @ towards(by, found.F, (y - asked.lower) / asked.scale, (asked.upper - y) / asked.scale)
    unmoved = np.array([kind in ("speed", "state") for kind in found.kinds]) * np.abs(left)
    shares: np.ndarray = np.maximum(np.abs(found.F / found.sizes), unmoved / np.maximum(_LEFT, found.noise / _MET))
    return shares


def _units(kind: str) -> str:
    return {"speed": "accelerates by {:.6g}", "state": "changes by {:.6g}", "coordinate": "moves at {:.6g}"}.get(
        kind, "is {:.6g} off"
    )


def _said_of_none(
    at: Operating, point: Operating, found: Balanced, asked: Unknowns, ended: Descended, starts: int
) -> str:
    """What is left, where, and why."""
    shares = _shares(found, asked, ended.y)
    worst = np.argsort(-shares, kind="stable")
    wrong = [int(i) for i in worst[:3] if shares[i] > _MET]
    said = ", ".join(f"{found.names[i]!r} {_units(found.kinds[i]).format(found.F[i])}" for i in wrong)
    lines = [f"{at.program.equations.model.name!r}: there is no equilibrium to be found: at best, {said}."]
    by = ended.by * asked.scale
    felt = np.abs(by).max(axis=1, initial=0) > 1e-12 * np.abs(found.by).max(axis=1, initial=0)
    if idle := [found.names[i] for i in wrong if not felt[i]]:
        lines.append(f"Nothing that is unknown acts on {listed(idle)}.")
    if tied := _tied(at, found, asked, wrong):
        one = len(tied) == 1
        lines.append(
            f"{_some(tied)} {'is' if one else 'are'} given, and constraints tie {'it' if one else 'them'}: leave "
            f"{'it' if one else 'what may move'} out of q= and u=, or name it in unknowns=[...], and it follows."
        )
    count = [i for i in range(len(found.F)) if (felt[i] or shares[i] > _MET) and found.kinds[i] != "unit"]
    if len(count) > len(asked.names):
        lines.append(
            f"There are more equations than unknowns: {len(count)} ({_some([found.names[i] for i in count])}) for "
            f"{len(asked.names)} ({_some(asked.names) or 'none'})."
        )
    value = ended.y
    if stuck := [n for n, y, a, b in zip(asked.names, value, asked.lower, asked.upper, strict=True) if y in (a, b)]:
        lines.append(f"At a limit: {_some(stuck)}.")
    moving = [found.names[i] for i in wrong if found.kinds[i] == "coordinate" and found.F[i]]
    if moving:
        lines.append(f"Forces or other speeds depend on {_some(moving)}, so that it cannot move steadily.")
    others = f" {starts} guesses were tried." if starts > 1 else ""
    return " ".join(lines) + f'{others} Name more unknowns=[...], such as a force "tau.x_dot", or give another guess.'


def _tied(at: Operating, found: Balanced, asked: Unknowns, wrong: Iterable[int]) -> list[str]:
    """Coordinates and speeds that are given and on which rows of constraints that are not met depend."""
    names, rows = all_names(at), [i for i in wrong if found.kinds[i] in _TIES]
    first, last = (0, len(at.q)) if any(found.kinds[i] == "position" for i in rows) else (len(at.q), len(at.point.x))
    by = np.abs(found.by[rows, first:last]).max(axis=0, initial=0)
    return [n for n, e in zip(names[first:last], by, strict=True) if e > 1e-9 * by.max() and n not in asked.names]


def _some(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _result(
    dynamics: Dynamics, at: Operating, point: Operating, found: Balanced, asked: Unknowns, ended: Descended,
    active: Iterable[str] | None, left: float,
) -> Equilibrium:  # fmt: skip
    eq, program = at.program.equations, at.program
    nq, nu, x = len(eq.q), len(eq.u), point.point.x.tolist()
    parts = {
        "q": dict(zip([str(s.value) for s in eq.q], x[:nq], strict=True)),
        "u": dict(zip([str(s.value) for s in eq.u], x[nq : nq + nu], strict=True)),
        "z": dict(zip([str(s.value) for s in eq.z], x[nq + nu :], strict=True)),
    }
    inputs = dict(zip(at.inputs.names, point.point.tau.tolist(), strict=True))
    names = program.dynamics.parameters
    free = free_directions(ended.by, ended.F, asked.scale)
    free = _plain(free / asked.scale[:, None]) * asked.scale[:, None] if free.shape[1] else free
    notes = [*within_limits(point)[1], *_limit_notes(point), *_pulling(point, found)]
    return Equilibrium(
        name=eq.model.name,
        **parts,
        tau={name: inputs[name] for name in at.inputs.names[:nu]},
        controls={name: inputs[name] for name in at.inputs.names[nu:]},
        p=dict(zip(names, point.point.p[: len(names)].tolist(), strict=True)),
        t=float(point.point.t),
        unknowns=asked.asked,
        followed=tuple(n for n in asked.names if n not in asked.asked),
        rates={name: rate for name, rate in found.rates.items() if abs(rate) > _MET},
        free=tuple(
            {
                n: float(v / np.abs(d).max())
                for n, v in zip(asked.names, d, strict=True)
                if abs(v) > 1e-9 * np.abs(d).max()
            }
            for d in free.T
        ),
        residual=left,
        reactions=dict(zip([program.constraints.labels[i] for i in at.rows], found.lam.tolist(), strict=True)),
        holds=tuple(n for n in dict.fromkeys(program.held.names) if n in at.holding),
        notes=tuple(dict.fromkeys(notes)),
        laws={
            str(k): v
            for k, v in zip(at.inputs.names, map(at.inputs.laws.get, at.inputs.symbols), strict=True)
            if v is not None
        },
        active=None if active is None else tuple([active] if isinstance(active, str) else active),
        dynamics=dynamics,
    )


def _limit_notes(point: Operating) -> Iterable[str]:
    """Coordinates at or beyond stops and limits of their joints."""
    model, values = point.program.equations.model, point.values()
    stops = [c for c in (*model.limit_stops, *model.candidates) if isinstance(c, Stop) and c.name not in point.holding]
    for stop in stops:
        value = values[symbol(stop.coordinate)]
        for side, e, way in (("lower", stop.lower, 1), ("upper", stop.upper, -1)):
            bound = None if e is None or not free_symbols(e).issubset(values) else float(evaluate(e, values))
            if bound is not None and way * (value - bound) <= 0:
                where = "at" if value == bound else "beyond"
                yield f"{stop.coordinate!r} is {where} its {side} limit {bound:g}, whose force is not counted."


def _pulling(point: Operating, found: Balanced) -> Iterable[str]:
    """Constraints that can only push and that would pull here."""
    program = point.program
    laws = program.candidates.laws
    first = len(program.constraints) - len(laws)
    largest = np.abs(found.lam).max(initial=0)
    for k, row in enumerate(point.rows):
        if row >= first and laws[row - first].kind == UNILATERAL and found.lam[k] < -1e-9 * largest:
            label = program.constraints.labels[row]
            yield f"{label!r} can only push, and would have to pull with {-found.lam[k]:.6g}: it lets go here."
