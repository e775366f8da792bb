"""What the expressions of a model may depend on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from polhode.graph import Expr, diff, free_symbols, symbol, topological

from .constraints import Relation
from .elements import Constraint
from .errors import Faults
from .states import TIME, State

if TYPE_CHECKING:
    from .model import Model


def check_symbols(model: Model, faults: Faults) -> None:
    """Note constants that change, laws of what they may not depend on, and constraints not linear in speeds."""
    speeds = {symbol(name) for name in model.speeds}
    states = {symbol(state.name): state for state in model.states}
    controls = set(model.controls)
    variables = {symbol(name) for name in model.coordinates} | speeds | {TIME, *states} | controls
    of_motors = [e for motor in model.motors for e in motor.expressions()]
    variables_of = _Dependence([*model.constants(), *model.laws(), *of_motors], variables)
    for body in model.bodies:
        for s in variables_of(body.quantities()):
            faults.add(
                f"Body {body.name!r} has a quantity that depends on {s}, a coordinate, speed, state or time. "
                "Expected a constant: rename the symbol, or move the dependence into a force."
            )
    rest = [*model.gravity, *(e for m in model.markers for e in (*m.pose.R.entries, *m.pose.p))]
    for s in variables_of(rest):
        faults.add(
            f"Gravity or a marker depends on {s}, a coordinate, speed, state or time. "
            "Expected constants: rename the symbol."
        )
    never: dict[str, set[Expr]] = {
        "constants": variables,
        "coordinates": speeds | {TIME, *states} | controls,
        "anything": set(),
    }
    for part in (*model.motors, *model.forces, *model.constraints, *model.states, *model.shapes):
        for field, spec in part.specs.items():
            for s in variables_of(spec.entries(getattr(part, field))):
                if s in never[spec.of] and field == "relief":
                    faults.add(
                        f"{part.what}: its relief depends on {s}, expected x and y, places on the ground in the axes "
                        "of its marker, and parameters."
                    )
                elif s in never[spec.of]:
                    faults.add(part.what + part.depends.format(s))
        if controls and isinstance(part, Constraint):
            for s in variables_of(part.expressions()):
                if s in controls:
                    faults.add(f"{part.what} depends on the control {s}, expected what does not come from outside.")
        if isinstance(part, Relation):
            _check_relation(part, variables_of([part.value]), speeds, states, faults)


class _Dependence:
    """Which variables expressions depend on; parts without any are walked once, for all that share them."""

    def __init__(self, exprs: Iterable[Expr], variables: set[Expr]) -> None:
        self.moving: set[Expr] = set()
        for e in topological(exprs):
            if e in variables or any(a in self.moving for a in e.args):
                self.moving.add(e)

    def __call__(self, exprs: Iterable[Expr]) -> list[Expr]:
        found = dict.fromkeys(e for e in exprs if e in self.moving)
        waiting = list(found)
        while waiting:
            new = dict.fromkeys(a for a in waiting.pop().args if a in self.moving and a not in found)
            found |= new
            waiting += new
        return sorted((e for e in found if e.op == "symbol"), key=str)


def _check_relation(
    relation: Relation, variables: list[Expr], speeds: set[Expr], states: dict[Expr, State], faults: Faults
) -> None:
    what = relation.what
    if not set(variables) - {TIME, *states}:
        faults.add(f"{what} has no coordinate and no speed, so it restricts nothing.")
    rates = [s for s in variables if s in speeds]
    for s in _nonlinear(relation.value, rates):
        faults.add(f"{what} is not linear in the speed {str(s)!r}, expected a sum of speeds times a(q, t).")
    for z in () if rates else [z for z in variables if z in states]:
        law = states[z].rate
        for s in _nonlinear(law, sorted(free_symbols(law) & speeds, key=str)):
            faults.add(
                f"{what} depends on the state {str(z)!r}, whose rate is not linear in the speed {str(s)!r}, so its "
                "own rate is not. Expected a rate linear in the speeds, or a constraint without that state."
            )


def _nonlinear(e: Expr, speeds: list[Expr]) -> list[Expr]:
    """The speeds that an expression is not linear in."""
    slopes = [(s, diff(e, s)) for s in speeds]
    return [s for s, slope in slopes if slope == 0 or free_symbols(slope) & set(speeds)]
