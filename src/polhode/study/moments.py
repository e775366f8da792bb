"""When a condition becomes true between two outputs: what it compares goes along lines there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polhode.graph import Expr


@dataclass(frozen=True)
class Moment:
    """A condition as what it is made of.

    kind : "leaf", a comparison, true where what it compares is above 0; "and", "or" of the parts
    at   : of a leaf its number; strict : whether 0 is not enough
    """

    kind: str
    at: int = -1
    strict: bool = True
    parts: tuple[Moment, ...] = ()

    def true(self, x: np.ndarray) -> np.ndarray:
        """Whether it is true, (...), of what leaves compare, (..., n)."""
        if self.kind == "leaf":
            now = x[..., self.at]
            on: np.ndarray = now > 0 if self.strict else now >= 0
            return on
        every = [part.true(x) for part in self.parts]
        found: np.ndarray = np.all(every, axis=0) if self.kind == "and" else np.any(every, axis=0)
        return found

    def since(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """From which share of the way from a to b on it is true, (...); infinite where it is not at b."""
        if self.kind == "leaf":
            before, now = a[..., self.at], b[..., self.at]
            share = np.where(now > before, -before / np.where(now > before, now - before, 1.0), 1.0)
            share = np.where(self.true(a), 0.0, np.clip(share, 0.0, 1.0))
            return np.where(self.true(b), share, np.inf)
        every = [part.since(a, b) for part in self.parts]
        found: np.ndarray = np.max(every, axis=0) if self.kind == "and" else np.min(every, axis=0)
        return found

    def first(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The first time at which it is true, (...), of t (k,) and x (..., k, n); NaN where it never is."""
        on = self.true(x)
        k = np.argmax(on, axis=-1)
        before = np.maximum(k - 1, 0)
        a, b = (np.take_along_axis(x, i[..., None, None], axis=-2)[..., 0, :] for i in (before, k))
        share = np.where(on.any(axis=-1), self.since(a, b), 0.0)
        found: np.ndarray = np.where(on.any(axis=-1), t[before] + share * (t[k] - t[before]), np.nan)
        return found


def moment_of(e: Expr, leaves: list[Expr], negated: bool = False) -> Moment:
    """Read a condition; what its comparisons compare is put behind `leaves`. A number counts where it is above 0."""
    if e.op in ("lt", "le"):
        a, b = e.args
        return _leaf(a - b if negated else b - a, (e.op == "lt") is not negated, leaves)
    if (inner := _denied(e)) is not None:
        return moment_of(inner, leaves, not negated)
    if e.op in ("mul", "max") and all(map(_is_condition, e.args)):
        kind = "and" if (e.op == "mul") is not negated else "or"
        return Moment(kind, parts=tuple(moment_of(part, leaves, negated) for part in e.args))
    if e.op == "pow" and _is_condition(e.args[0]):
        return moment_of(e.args[0], leaves, negated)
    if e.op == "eq":  # true at single outputs, or but there
        apart = abs(e.args[0] - e.args[1])
        return _leaf(apart if negated else -apart, negated, leaves)
    return _leaf(-e if negated else e, not negated, leaves)


def _leaf(e: Expr, strict: bool, leaves: list[Expr]) -> Moment:
    leaves.append(e)
    return Moment("leaf", len(leaves) - 1, strict)


def _denied(e: Expr) -> Expr | None:
    """The condition that `not` stands before."""
    if e.op != "eq":
        return None
    pairs: Sequence[tuple[Expr, Expr]] = (e.args, e.args[::-1])  # type: ignore[assignment]
    return next((a for a, b in pairs if b == 0 and _is_condition(a)), None)


def _is_condition(e: Expr) -> bool:
    if e.op in ("mul", "max", "pow"):
        return all(map(_is_condition, e.args))
    return e.op in ("lt", "le", "eq")
