"""Laws that jump along a motion, such as sign(x_dot): there derivatives jump too, unlike those at kinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from polhode.analyze.operating import Operating
from polhode.compile import compile
from polhode.equations.tangent import Tangent
from polhode.graph import Expr, free_symbols, vector
from polhode.graph.walk import topological
from polhode.model import TIME

_AMONG = 201  # times that a passage is looked for among, by turns
_TURNS = 3
_SHRINKS = 0.5  # what a law that does not jump changes by between two times becomes less than, as these draw together
_ROUNDING = 1e-9  # of the size of a law along the motion

States = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # x and inputs at times


def require_no_jumps(at: Operating, tangent: Tangent, states: States, t: np.ndarray, by: Sequence[Expr]) -> None:
    """Refuse a motion on whose way a law jumps at a state, or at a time that depends on a parameter of `by`.

    Between two times at which a comparison changes its sides, times are drawn together; what is a kink is continuous.
    """
    leaves = _compared(tangent, {*by})
    if not leaves:
        return
    names = {"t": vector([TIME]), **{k: v for k, v in tangent.given.items() if k in ("x", "tau", "p")}}
    names = {name: part for name, part in names.items() if len(part)}
    function = compile(names, vector([e for _, e in leaves]), name="compared")

    def sides(t: np.ndarray) -> np.ndarray:
        x, tau = states(t)
        given = {"t": t[:, None], "x": x, "tau": np.broadcast_to(tau, (len(t), tau.shape[-1])), "p": at.point.p}
        found = function(**{name: np.ascontiguousarray(given[name]) for name in names})
        passed: np.ndarray = np.sign(np.broadcast_to(found, (len(t), len(leaves))))
        return passed

    def laws(t: np.ndarray) -> np.ndarray:
        x, tau = states(t)
        n, still = len(t), np.zeros((x.shape[1], 1))
        here = replace(at.point, x=x, udot=np.zeros((n, len(at.program.equations.u))),
                       lam=np.zeros((n, len(at.rows))), tau=np.broadcast_to(tau, (n, tau.shape[-1])))  # fmt: skip
        values, _ = tangent.many(t, here, x=still)
        return np.concatenate([values[name] for name in ("qdot", "zdot", "R", "S")], axis=1)

    size = None
    for first, last, j in _passages(sides(t)):
        size = np.abs(laws(t)).max(axis=0) if size is None else size
        a, b = t[first], t[last]
        before = _apart(laws, a, b)
        for _ in range(_TURNS):
            times = np.unique(np.linspace(a, b, _AMONG))
            i, k = next((i, k) for i, k, other in _passages(sides(times)) if other == j)
            a, b = times[i], times[k]
        after = _apart(laws, a, b)
        if (after > np.maximum(_SHRINKS * before, _ROUNDING * size)).any():
            raise ValueError(
                f"sensitivities: a law jumps at t = {b:.6g} s, where {leaves[j][0]!s:.80} changes, and derivatives "
                "with it, which these do not follow. Give a law without a jump, such as tanh(x_dot/0.01) for "
                "sign(x_dot), a span before it, or differences of two runs."
            )


def _apart(laws: Callable[[np.ndarray], np.ndarray], a: float, b: float) -> np.ndarray:
    found: np.ndarray = np.abs(np.diff(laws(np.array([a, b])), axis=0)[0])
    return found


def _passages(sides: np.ndarray) -> list[tuple[int, int, int]]:
    """From where to where a comparison changes its sides: (i, k, leaf), without the zeros between."""
    found = []
    for j in range(sides.shape[1]):
        there = np.flatnonzero(sides[:, j])
        turns = np.flatnonzero(np.diff(sides[there, j]))
        found += [(int(there[i]), int(there[i + 1]), j) for i in turns]
    return sorted(found)


def _compared(tangent: Tangent, by: set[Expr]) -> list[tuple[Expr, Expr]]:
    """What laws compare, with what is 0 where it changes; without what changes at times that nothing moves."""
    known = {TIME} | {s for name in ("x", "tau", "p") for s in tangent.given.get(name, ())}
    moved = {s for name in ("x", "tau") for s in tangent.given.get(name, ())} | by
    found = []
    for e in topological(tangent.whole):
        if e.op == "sign":
            found.append((e, e.args[0]))
        elif e.op in ("lt", "le"):
            found.append((e, e.args[1] - e.args[0]))
    return [(e, s) for e, s in found if (free := free_symbols(s)) <= known and free & moved]
