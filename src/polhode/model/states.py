"""States that are not motion: the integral of a controller, the current of a motor."""

from __future__ import annotations

from polhode.graph import Expr, symbol

from . import fields
from .elements import Element, element

TIME = symbol("t")


@element
class State(Element):
    """A quantity z that changes by a law of its own: zdot = rate, any expression of q, u, z, t and parameters.

    The symbol of its name stands for it in force laws, constraints and rates.

    rate  : an expression, or its text
    start : its value at the beginning, a number or an expression of parameters
    """

    table = "state"
    depends = ": its start depends on {}, expected a number or parameters."

    name: str
    rate: Expr = fields.scalar(of="anything")
    start: Expr = fields.scalar(0)

    def described(self) -> str:
        start = "" if self.start == 0 else f", from {fields.short(self.start)}"
        return f"state with rate {fields.cut(self.rate)}{start}"
