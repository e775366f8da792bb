"""From what the analyst says, definitions and constraints, to kinematics in those speeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, free_symbols, jacobian, substitute, symbol, vector
from polhode.graph.node import coerce
from polhode.model import TIME
from polhode.model.errors import closest, listed

from .constraints import WRITTEN, Constraints, constrain, selected
from .generic import Point, dependent_columns, finite, generic_points, growth, offset, sampled
from .independent import Measured, independent_rows, measured
from .motion import Motion
from .speeds import InSpeeds, defined_speeds, embed, in_speeds, pfaffian
from .tree import Kinematics


def generalised(
    base: Kinematics,
    speeds: Mapping[Any, Any] | None = None,
    embedded: bool | Iterable[str] = False,
    independent: Sequence[str] | None = None,
) -> Motion:
    """The motion of a mechanism in the speeds of an analyst, with constraints embedded.

    speeds      : name: expression, linear in the speeds of the joints or the rates of the coordinates;
                  None for those of the joints
    embedded    : names of constraints, or True for all; where the definitions are fewer than the
                  speeds of the model, the first of them complete these
    independent : names of the speeds that stay; None chooses them at generic points

    Reference: [Gillespie, section 2.1; section 4, blocks 2 to 4].
    """
    every = constrain(base)
    names = _chosen(every, embedded)
    if speeds is None and not names:
        if independent is not None:
            raise ValueError(
                "independent= chooses among speeds that constraints relate. Name the constraints: embed=True."
            )
        return base
    defined = _definitions(base, speeds)
    rows = selected(every, [i for i, name in enumerate(every.names) if name in names])
    points = finite(
        generic_points(base, rows.phi, [*defined.values(), *rows.psi], rows.reference),
        jacobian([*defined.values(), *rows.psi], base.u),
    )
    sizes = measured(base, rows, points)
    distinct = _distinct(base, rows, sizes, points)
    repeated = selected(rows, [i for i in range(len(rows)) if i not in distinct])
    completing = _completing(base, defined, sizes, distinct, points)
    chosen = defined_speeds(base, defined, selected(rows, completing), names=names, repeated=repeated, points=points)
    free = in_speeds(base, chosen)
    rest = selected(rows, [i for i in distinct if i not in completing])
    if not rest and independent is not None and [*independent] != [str(u.value) for u in free.u]:
        raise ValueError(_counted(independent, len(free.u), free.u, 0))
    if not rest:
        return free
    AB, C = pfaffian(free, rest, points)
    dependent = _eliminated(free, AB, independent, points)
    return in_speeds(base, embed(chosen, rest, AB, C, dependent, points))


def _chosen(every: Constraints, embedded: bool | Iterable[str]) -> list[str]:
    known = list(dict.fromkeys(every.names))
    if isinstance(embedded, bool):
        return known if embedded else []
    wanted = [embedded] if isinstance(embedded, str) else list(embedded)
    for name in wanted:
        if name not in known:
            raise KeyError(f"There is no constraint {name!r} to embed. {closest(name, known)}")
    return wanted


def _definitions(base: Kinematics, speeds: Mapping[Any, Any] | None) -> dict[Expr, Expr]:
    """The speeds with their meaning in those of the joints, checked one by one."""
    if speeds is None:
        return {v: v for v in base.u}
    if not isinstance(speeds, Mapping) or not speeds:
        raise TypeError(f'speeds is {speeds!r:.60}, expected names with expressions: {{"u1": ...}}.')
    own = {*base.u, *base.quasi}
    taken = {*base.q, *base.z, TIME, *base.model.parameters}
    rates = {symbol(f"{q.value}_dot"): rate for q, rate in zip(base.q, base.q_dot, strict=True)}
    rates = {s: rate for s, rate in rates.items() if s not in own | taken}
    found: dict[Expr, Expr] = {}
    for key, value in speeds.items():
        name = key if isinstance(key, str) else str(getattr(key, "value", key))
        u = symbol(name)
        if coerce(value) is None:
            raise TypeError(f"Speed {name!r}: its definition is {value!r:.60}, expected an expression of the speeds.")
        meaning = substitute(substitute(as_expr(value), rates), base.quasi)
        if u in taken:
            owners = "a coordinate, a state, a parameter or time"
            raise ValueError(f"Speed {name!r}: that name belongs to {owners}. Choose another.")
        if u in own and as_expr(value) is not u:
            raise ValueError(f"Speed {name!r}: that name belongs to a speed of a joint. Choose another.")
        slopes = jacobian([meaning], base.u)
        if not any(e != 0 for e in slopes.entries):
            remedy = f"Use {', '.join(repr(str(s.value)) for s in base.u[:6])}, or velocities of the model."
            raise ValueError(f"Speed {name!r}: no speed of the model is in its definition. {remedy}")
        if free_symbols(slopes) & {*base.u}:
            raise ValueError(f"Speed {name!r}: its definition is not linear in the speeds of the model, as it must be.")
        found[u] = meaning
    return found


def _distinct(base: Kinematics, rows: Constraints, sizes: Measured, points: list[Point]) -> list[int]:
    """The rows that do not repeat others; refuse those that contradict them."""
    if not len(rows):
        return []
    distinct = independent_rows(sizes.rows, sizes.least)
    b = sampled(offset(rows.psi, base.u, points), points) / np.where(sizes.size > 0, sizes.size, 1)
    for i in range(len(rows)):
        if i not in distinct:
            factors = [np.linalg.lstsq(sample[distinct].T, sample[i], rcond=None)[0] for sample in sizes.rows]
            gaps = [abs(f @ c[distinct] - c[i]) for f, c in zip(factors, b, strict=True)]
            if np.median(gaps) > 1e-6 * np.abs(b).max():
                label = rows.labels[i]
                raise ValueError(
                    f"Constraint row {label!r} contradicts others: no motion satisfies them all. Drop one."
                )
    return distinct


def _completing(base: Kinematics, defined: dict[Expr, Expr], sizes: Measured, distinct: list[int],
                points: list[Point]) -> list[int]:  # fmt: skip
    """The rows that determine, with the definitions, the speeds of the joints."""
    n, k = len(base.u), len(defined)
    names = [str(u.value) for u in defined]
    Y = sizes.by_their_lengths(sampled(jacobian(vector(defined.values()), base.u), points))
    counting = independent_rows(Y, np.full(k, WRITTEN))
    if len(counting) < k:
        extra = [name for i, name in enumerate(names) if i not in counting]
        raise ValueError(f"Speeds {listed(extra)} repeat others: the definitions are not independent. Change them.")
    J = sizes.rows[:, distinct]
    if k + len(distinct) < n:
        missing = listed(_loose(base, Y, J))
        raise ValueError(
            f"The speeds {listed(names)} and {len(distinct)} rows of embedded constraints do not determine the {n} "
            f"speeds of the model: {missing} stay open. Define {n - k - len(distinct)} more, or embed constraints."
        )
    least = np.concatenate([np.full(k, WRITTEN), sizes.least[distinct]])
    found = independent_rows(np.concatenate([Y, J], axis=1), least, given=k, most=n - k)
    if len(found) < n - k:
        raise ValueError(
            f"The definitions of {listed(names)} and the embedded constraints cannot be inverted: they leave "
            f"{listed(_loose(base, Y, J))} undetermined. Define other speeds."
        )
    return [distinct[i - k] for i in found]


def _loose(base: Kinematics, Y: np.ndarray, J: np.ndarray) -> list[str]:
    """Speeds of the joints that definitions and constraints leave open."""
    rows = np.concatenate([Y[0], J[0]])
    _, sizes, directions = np.linalg.svd(rows)
    rank = int((sizes > 1e-9 * sizes.max(initial=1e-300)).sum())
    open_ones = np.abs(directions[rank:]).max(axis=0, initial=0) > 1e-6
    return [str(v.value) for v, found in zip(base.u, open_ones, strict=True) if found]


def _eliminated(free: InSpeeds, AB: Matrix, independent: Sequence[str] | None, points: list[Point]) -> list[int]:
    """The speeds to eliminate by the rows of A_B, as indices."""
    values = sampled(AB, points)
    if independent is None:
        return dependent_columns(AB, values)
    names = [str(u.value) for u in free.u]
    for name in independent:
        if name not in names:
            raise KeyError(f"There is no speed {name!r} to keep. {closest(name, names)}")
    if len(set(independent)) != len(names) - len(AB):
        raise ValueError(_counted(independent, len(names) - len(AB), free.u, len(AB)))
    found = [j for j, name in enumerate(names) if name not in independent]
    if growth(values, found)[0] > len(points) // 2:
        chosen = [names[j] for j in dependent_columns(AB, values)]
        raise ValueError(
            f"The constraints do not determine {listed([names[j] for j in found])} from {listed(independent)}. "
            f"Keep others: {listed([name for name in names if name not in chosen])} would do."
        )
    return found


def _counted(independent: Sequence[str], expected: int, u: Matrix, rows: int) -> str:
    return (
        f"independent names {len(independent)} speeds ({listed(independent)}), expected {expected}: there are "
        f"{len(u)} ({listed([str(s.value) for s in u])}) and {rows} constraint rows among them."
    )
