"""States that are not motion: the integral of a controller, the current of a motor."""

from __future__ import annotations

from dataclasses import dataclass

from polhode.graph import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A quantity z that changes by a law of its own, zdot = rate(q, u, z, t).

    The symbol of its name stands for it in force laws, constraints and rates.

    start : its value at the beginning, a number or an expression of parameters
    """

    name: str
    rate: Expr
    start: Expr

    def expressions(self) -> list[Expr]:
        return [self.rate, self.start]
