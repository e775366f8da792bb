"""The unknowns of an equilibrium: coordinates, speeds, other states, inputs and parameters, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polhode.equations.inputs import input_names
from polhode.graph import Expr, evaluate, free_symbols
from polhode.model import Stop
from polhode.model.errors import closest

from .asked import names_of
from .balance import Balance
from .operating import Operating


@dataclass(frozen=True, kw_only=True)
class Unknowns:
    """Columns of (coordinates, speeds, z, inputs, parameters) that are unknown.

    columns : by number; names : of them; asked : those that were asked for, the others follow by constraints
    scale   : what each is measured by, (n,); limited : whether its steps are bounded: coordinates
    lower, upper : bounds, (n,)
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]
    asked: tuple[str, ...]
    scale: np.ndarray
    limited: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def moved(self, at: Operating, y: np.ndarray) -> Operating:
        """The point with these values of them."""
        whole = everything(at)
        whole[list(self.columns)] = y
        n, m = len(at.point.x), len(at.point.tau)
        x = at.program.unit(at.program.whole(whole[:n]))[:n]
        p = at.point.p.copy()
        p[: len(whole) - n - m] = whole[n + m :]
        return replace(at, point=replace(at.point, x=x, tau=whole[n : n + m], p=p))


def everything(at: Operating) -> np.ndarray:
    """Coordinates, speeds, z, inputs, run-time parameters."""
    point = at.point
    return np.concatenate([point.x, point.tau, point.p[: len(at.program.dynamics.parameters)]])


def all_names(at: Operating) -> list[str]:
    """Names of the columns: a force on a speed is tau.x_dot; of what has the name of something else, controls.M."""
    eq = at.program.equations
    parts = [(str(s.value), s_part) for s_part in "quz" for s in getattr(eq, s_part)]
    parts += [(name, "controls" if i >= len(eq.u) else "tau") for i, name in enumerate(input_names(eq))]
    return named([*parts, *((name, "p") for name in at.program.dynamics.parameters)])


def named(parts: Sequence[tuple[str, str]]) -> list[str]:
    """Names of (name, part): forces with their part, as speeds have the same names, and the later of two alike."""
    seen, found = set[str](), list[str]()
    for name, part in parts:
        found.append(f"{part}.{name}" if part == "tau" or name in seen else name)
        seen.add(name)
    return found


def read_unknowns(at: Operating, near: Balance, asked: Iterable[str] | None, given: Mapping[str, Any]) -> Unknowns:
    """Find the columns of names; coordinates and speeds that constraints tie follow, unless they were given by name.

    given : q, u and z as they were given
    """
    known, nq, nu = all_names(at), len(near.eq.q), near.nu
    fixed = {k: set(map(str, v)) if isinstance(v, Mapping) else None for k, v in given.items()}
    if asked is None:
        names = (*(f"q.{s.value}" for s in near.eq.q), *(f"z.{s.value}" for s in near.eq.z))
    else:
        names = names_of(asked, "unknowns")
    columns = list[int]()
    for name in names:
        more = _columns(name, known, at)
        if asked is not None and len(more) == 1 and more[0] in columns:
            raise ValueError(f"unknowns: {name!r} is named twice, expected once.")
        columns += [j for j in more if j not in columns]
    asked_for = len(columns)
    columns += [j for j in _following(at, near, columns, fixed) if j not in columns]
    reach, pace = near.extents(at)
    value = everything(at)
    far = (np.abs(near.charts.T) * reach).max(axis=1, initial=0)
    beside = np.abs(value[nq + nu :])
    scale = np.concatenate([far, pace, np.where(beside > 0, beside, 1.0)])
    lower, upper = _bounds(at, known, nq)
    return Unknowns(
        columns=tuple(columns),
        names=tuple(known[j] for j in columns),
        asked=tuple(known[j] for j in columns[:asked_for]),
        scale=np.where(scale > 0, scale, 1.0)[columns],
        limited=np.array([j < nq for j in columns], dtype=bool),
        lower=lower[columns],
        upper=upper[columns],
    )


def _following(
    at: Operating, near: Balance, columns: Sequence[int], fixed: Mapping[str, set[str] | None]
) -> Iterator[int]:
    """Columns of coordinates and speeds that constraints tie and that were not given by name."""
    nq, nu, charts = len(near.eq.q), near.nu, near.charts
    names = all_names(at)
    if at.closed and (any(j < nq for j in columns) or fixed["q"] is not None):
        by = np.abs(near.slopes["phi"]["x"][:, : near.nx]) @ np.abs(charts.inverse)
        yield from (j for j in range(nq) if by[:, j].any() and names[j] not in (fixed["q"] or ()))
    moves = near.at.x[nq : nq + nu].any() or any(nq <= j < nq + nu for j in columns)
    if at.rows and (moves or np.abs(near.values["psi"]).max(initial=0) > 0):
        by = near.slopes["psi"]["x"][:, near.nx : near.nx + nu]
        yield from (nq + j for j in range(nu) if by[:, j].any() and names[nq + j] not in (fixed["u"] or ()))


def _columns(name: str, known: Sequence[str], at: Operating) -> list[int]:
    """The columns of a name; those of a quaternion go together."""
    part, _, rest = name.partition(".")
    plain = rest if part in ("q", "u", "z", "controls", "p") and name not in known else name
    if name in known and f"controls.{name}" in known:
        raise ValueError(
            f"unknowns: {name!r} is a coordinate, speed or state, and a control, expected which: "
            f"'q.{name}' or 'controls.{name}'."
        )
    if plain in known:
        j = known.index(plain)
        return next(([*range(s, s + 4)] for s in at.program.quaternions() if s <= j < s + 4), [j])
    if name in [str(s.value) for s in at.program.dynamics.values]:
        raise ValueError(
            f"unknowns: the value of {name!r} was folded into the code. Leave it out of compile(values=...), and give "
            "a guess with p=."
        )
    raise KeyError(
        f"unknowns: there is no coordinate, speed, state, input or parameter {name!r}. {closest(name, known)} "
        'A force on a speed is called like "tau.x_dot".'
    )


def _bounds(at: Operating, known: Sequence[str], nq: int) -> tuple[np.ndarray, np.ndarray]:
    """Stops of coordinates that do not hold, and limits of controls."""
    low, high = np.full(len(known), -np.inf), np.full(len(known), np.inf)
    values, model = at.values(), at.program.equations.model
    for c in model.candidates:
        if isinstance(c, Stop) and c.active and c.name not in at.holding and c.coordinate in known[:nq]:
            j = known.index(c.coordinate)
            low[j], high[j] = _bound(c.lower, values, low[j]), _bound(c.upper, values, high[j])
    first = len(known) - len(at.program.dynamics.parameters) - len(model.actuators)
    for j, actuator in enumerate(model.actuators, first):
        low[j], high[j] = _bound(actuator.lower, values, -np.inf), _bound(actuator.upper, values, np.inf)
    return low, high


def _bound(e: Expr | None, values: Mapping[Any, float], otherwise: float) -> float:
    if e is None or not free_symbols(e).issubset(values):
        return float(otherwise)
    return float(np.asarray(evaluate(e, dict(values))))
