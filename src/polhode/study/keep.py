"""What a study keeps of a run: numbers, written as text such as "max(theta) - final(theta)"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.compile import compile
from polhode.graph import Expr, as_expr, free_symbols, symbol, vector
from polhode.model.errors import fault
from polhode.model.expression import parse
from polhode.trajectory import Trajectory
from polhode.trajectory.quantities import Names, compiled

from .moments import Moment, moment_of

_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(")


def _mean(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    span = t[-1] - t[0]
    return _integral(t, x) / span if span > 0 else x[..., -1]


def _integral(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    found: np.ndarray = ((x[..., 1:] + x[..., :-1]) / 2 * np.diff(t)).sum(axis=-1)
    return found


_REDUCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "final": lambda t, x: x[..., -1],
    "initial": lambda t, x: x[..., 0],
    "max": lambda t, x: x.max(axis=-1),
    "min": lambda t, x: x.min(axis=-1),
    "range": lambda t, x: x.max(axis=-1) - x.min(axis=-1),
    "mean": _mean,
    "rms": lambda t, x: np.sqrt(_mean(t, x * x)),
    "integral": _integral,
}
_TIME = "time"
ENDS = {"final"}  # what needs the end of a run alone


@dataclass(frozen=True)
class _Reduction:
    kind: str
    inside: str


@dataclass(frozen=True)
class Kept:
    """One number of a run: text with its reductions taken out as r0, r1, ... or a function of a Trajectory."""

    name: str
    text: str
    reductions: tuple[_Reduction, ...] = ()
    function: Callable[[Trajectory], float] | None = None


def keeps(given: Any) -> tuple[Kept, ...]:
    """Read what is kept: text, a function, a list of them, or either by name."""
    if given is None:
        return ()
    if isinstance(given, str) or callable(given):
        given = [given]
    if not isinstance(given, (Mapping, list, tuple)):
        raise TypeError(f'keep is {given!r:.60}, expected text such as "max(theta)", a function, or several by name.')
    pairs = given.items() if isinstance(given, Mapping) else [(_called(one), one) for one in given]
    found = tuple(_kept(str(name), one) for name, one in pairs)
    names = [one.name for one in found]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"keep: {twice!r} is there twice. Name them: keep={{...}}.")
    return found


def _called(one: Any) -> str:
    return one if isinstance(one, str) else str(getattr(one, "__name__", one))


def _kept(name: str, given: Any) -> Kept:
    if callable(given):
        return Kept(name, "", function=given)
    if not isinstance(given, str):
        raise TypeError(f"keep: {name!r} is {given!r:.60}, expected text or a function of a trajectory.")
    text, found, place = given, list[_Reduction](), 0
    while match := _CALL.search(text, place):
        inside, end = _brackets(text, match.end(), given)
        kind = match.group(1)
        if kind not in {*_REDUCTIONS, _TIME} or (kind in ("max", "min") and _commas(inside)):
            place = match.end()
            continue
        found.append(_Reduction(kind, inside))
        written = f"r{len(found) - 1}_"
        text = text[: match.start()] + written + text[end:]
        place = match.start() + len(written)
    if not found:
        raise fault(
            f"keep: {given!r:.60} says no moment of the run. Write "
            f'{", ".join(f"{k}(...)" for k in (*_REDUCTIONS, _TIME))}, as in "final({given})", or give a function of a '
            "trajectory."
        )
    return Kept(name, text, tuple(found))


def _brackets(text: str, start: int, whole: str) -> tuple[str, int]:
    depth = 1
    for k in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[k], 0)
        if depth == 0:
            return text[start:k], k + 1
    raise fault(f"keep: {whole!r:.60} has a bracket that does not close.")


def _commas(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            return True
    return False


class Reader:
    """Computes what is kept, of one run or of many at the same times; compiled with the first."""

    def __init__(self, kept: tuple[Kept, ...], example: Trajectory) -> None:
        self.kept = kept
        names, inner, outer = Names(example), list[Expr](), list[Expr]()
        self.reduced: list[tuple[str, int | Moment]] = []  # by which reduction, of which of the inner
        for one in kept:
            if one.function is not None:
                continue
            places = {}
            for i, reduction in enumerate(one.reductions):
                places[f"r{i}_"] = symbol(f"r{len(self.reduced)}_")
                timed, said = reduction.kind == _TIME, f"keep {one.name!r}"
                e = parse(reduction.inside, names, said, condition=timed)
                self.reduced.append((reduction.kind, moment_of(e, inner) if timed else len(inner)))
                inner += [] if timed else [e]
            parameters = {name: e for name, e in names.items() if name.startswith("p.")}
            parameters |= {name: names[name] for name in example.dynamics.parameters}
            outer.append(parse(one.text, places | parameters, f"keep {one.name!r}"))
        self.inner = len(inner)
        self.along = compiled(example, [vector(inner)]) if inner else None
        reduced = vector([symbol(f"r{i}_") for i in range(len(self.reduced))])
        p = vector([symbol(name) for name in example.dynamics.parameters])
        self.takes_p = bool(len(p) and free_symbols(outer) & {*p})
        folded = {str(s): e for s, e in example.dynamics.values.items()}
        outer = [_folded(e, folded) for e in outer]
        self.outer = (
            compile({"r": reduced, "p": p} if self.takes_p else {"r": reduced}, vector(outer)) if outer else None
        )

    def one(self, traj: Trajectory) -> dict[str, float]:
        """Of one run."""
        q, u, tau, z = (a[None] for a in (traj.q, traj.u, traj.tau, traj.z))
        found = self.many(traj.t, q, u, tau, z, traj.parameters[None])
        values = {name: float(column[0]) for name, column in found.items()}
        for kept in self.kept:
            if kept.function is not None:
                value = kept.function(traj)
                try:
                    values[kept.name] = float(value)
                except (TypeError, ValueError):
                    raise TypeError(
                        f"keep: {kept.name!r} gave {value!r:.60}, expected a number. End it with return and one number."
                    ) from None
        return {kept.name: values[kept.name] for kept in self.kept}

    def many(
        self, t: np.ndarray, q: np.ndarray, u: np.ndarray, tau: np.ndarray, z: np.ndarray, p: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Of many runs at the same times, (count, k, ...); without what functions keep. p : (count, n)"""
        texts = [kept.name for kept in self.kept if kept.function is None]
        if self.along is None or self.outer is None:
            return {}
        count, k = q.shape[:2]
        at = np.ascontiguousarray(np.broadcast_to(t, (count, k)))
        each = np.ascontiguousarray(np.broadcast_to(p[:, None], (count, k, p.shape[-1])))
        x = np.broadcast_to(self.along(at, q, u, tau, z, each)[0], (count, k, self.inner))
        reduced = np.stack(
            [of.first(t, x) if isinstance(of, Moment) else _REDUCTIONS[kind](t, x[..., of])
             for kind, of in self.reduced], axis=-1)  # fmt: skip
        found = self.outer(*([reduced, np.ascontiguousarray(p)] if self.takes_p else [reduced]))
        return dict(zip(texts, np.broadcast_to(found, (count, len(texts))).T, strict=True))


def _folded(e: Expr, values: Mapping[str, Expr]) -> Expr:
    from polhode.graph import substitute

    return substitute(e, {symbol(name): as_expr(value) for name, value in values.items()}) if values else e
