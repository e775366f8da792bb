"""What sensors see: expressions of a motion, with their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from polhode.compile import compile
from polhode.equations import Dynamics
from polhode.equations.inputs import input_names
from polhode.graph import Expr, free_symbols, jacobian, substitute, symbol, vector
from polhode.model import TIME
from polhode.model.errors import closest
from polhode.model.expression import Symbols, parse
from polhode.trajectory import Trajectory

if TYPE_CHECKING:
    from .sensitivities import Sensitivities

from .names import GROUPS


class Measure:
    """Native code for expressions of t, q, u, z, udot, inputs, parameters and further names, and their derivatives.

    laws : what controls are that follow a law, so that they change with the state
    """

    def __init__(
        self, dynamics: Dynamics, what: Sequence[Expr | str], more: Sequence[str], laws: Mapping[Expr, Expr]
    ) -> None:
        eq = dynamics.equations
        inputs = vector([symbol(f"input {name}") for name in input_names(eq)])
        self.parts = {
            "t": vector([TIME]),
            "x": vector([*eq.q, *eq.u, *eq.z]),
            "udot": eq.kane.udot,
            "p": vector([symbol(name) for name in dynamics.parameters]),
            "more": vector([symbol(name) for name in more]),
            "tau": inputs,
        }
        self.parts = {name: part for name, part in self.parts.items() if len(part)}
        self.dynamics, self.more = dynamics, tuple(more)
        meaning = dict(zip(eq.controls, inputs[len(eq.u) :], strict=True)) if len(eq.controls) else {}
        meaning |= {c: law for c, law in laws.items() if c in meaning}
        known = {s for part in self.parts.values() for s in part} | {*dynamics.values}
        rows: list[Expr] = []
        for each in what:
            e = parse(each, Symbols(), "Measured") if isinstance(each, str) else each
            e = substitute(substitute(e, eq.kinematics.quasi), meaning)
            if unknown := sorted(str(s) for s in free_symbols(e).difference(known)):
                names = [str(s) for part in self.parts.values() for s in part]
                raise KeyError(
                    f"Measured: there is no coordinate, speed, state or parameter {unknown[0]!r}. "
                    f"{closest(unknown[0], names)}"
                )
            rows.append(substitute(e, dynamics.values) if dynamics.values else e)
        self.count = len(rows)
        self.moved = [name for name in ("x", "udot", "p", "more") if name in self.parts]
        self.accelerated = bool(free_symbols(rows) & {*eq.kane.udot})
        slopes = [jacobian(vector(rows), [*self.parts[name]]) for name in self.moved]
        self.function = compile(self.parts, vector(rows), target=dynamics.target, name="measured")
        self.with_slopes = compile(self.parts, slopes, target=dynamics.target, name="measured_slopes")

    def _found(self, traj: Trajectory, udot: np.ndarray, more: Mapping[str, float], slopes: bool) -> list[np.ndarray]:
        given = {
            "t": traj.t[:, None],
            "x": np.concatenate([traj.q, traj.u, traj.z], axis=1),
            "udot": udot,
            "p": traj.parameters,
            "more": np.array([more[name] for name in self.more]),
            "tau": traj.tau,
        }
        made = self.with_slopes if slopes else self.function
        found = made(*[given[name] for name in self.parts])
        return list(found) if slopes else [found]

    def values(self, traj: Trajectory, more: Mapping[str, float]) -> np.ndarray:
        """(k, m) along a motion."""
        udot = traj.accelerations if self.accelerated else np.zeros_like(traj.u)
        found = self._found(traj, udot, more, False)[0]
        return np.broadcast_to(found, (len(traj.t), self.count))

    def slopes(self, found: Sensitivities, more: Mapping[str, float]) -> np.ndarray:
        """(k, m, np + extra) along a motion, by what its derivatives are by, then by the further names."""
        traj, k = found.traj, len(found.traj.t)
        each = self._found(traj, found.accelerations, more, True)
        by = {name: np.broadcast_to(s, (k, *s.shape[-2:])) for name, s in zip(self.moved, each, strict=True)}
        dx = np.concatenate([found.q, found.u, found.z], axis=1)
        total: np.ndarray = by["x"] @ dx + by["udot"] @ found.udot
        for j, name in enumerate(found.by):
            plain = name.removeprefix("p.")
            if name.partition(".")[0] not in GROUPS[1:] and plain in self.dynamics.parameters:
                total[..., j] += by["p"][..., self.dynamics.parameters.index(plain)]
        if self.more:
            total = np.concatenate([total, by["more"]], axis=2)
        return total


def values_along(traj: Trajectory, what: Sequence[Expr | str], more: Mapping[str, float] | None = None) -> np.ndarray:
    """Expressions along a motion, (k, m).

    more : values of names that are no part of the machine, such as the offset of a sensor
    """
    return _measure_of(traj.dynamics, tuple(what), tuple(more or ()), ()).values(traj, more or {})


def slopes_along(
    found: Sensitivities, what: Sequence[Expr | str], more: Mapping[str, float] | None = None
) -> np.ndarray:
    """The derivatives of expressions along a motion, (k, m, np + extra), by what is asked and by `more`."""
    laws = tuple(found.laws.items())
    return _measure_of(found.traj.dynamics, tuple(what), tuple(more or ()), laws).slopes(found, more or {})


@lru_cache(maxsize=16)
def _measure_of(
    dynamics: Dynamics, what: tuple[Expr | str, ...], more: tuple[str, ...], laws: tuple[tuple[Expr, Expr], ...]
) -> Measure:
    """The measure of expressions, made once."""
    return Measure(dynamics, what, more, dict(laws))
