"""What a study or a derivative is over: parameters, initial values and inputs, by name."""

from __future__ import annotations

from dataclasses import dataclass

from polhode.equations import Dynamics
from polhode.equations.inputs import input_names
from polhode.model.errors import closest

GROUPS = ("p", "q", "u", "z", "tau")


@dataclass(frozen=True, slots=True)
class Place:
    """One quantity that can be set: `group` is p, q, u, z or tau, `name` its name in there."""

    group: str
    name: str


def place_of(dynamics: Dynamics, name: str, what: str) -> Place:
    """Find what "m", "p.m", "q.elbow", "u.elbow_dot", "z.current" or "tau.elbow_dot" means.

    A name without a group is a parameter, a coordinate, a speed, a state or an actuator, "controls.M" an actuator. One
    that is two of them, as that of a motor with an inertia, says which: but for the initial values of a fit.
    """
    eq = dynamics.equations
    known = {"p": list(dynamics.parameters)}
    known |= {group: [str(s.value) for s in getattr(eq, group)] for group in "quz"}
    known["tau"] = list(input_names(eq))
    actuators = known["tau"][len(eq.u) :]
    group, _, inner = name.partition(".")
    if group == "controls" and inner in actuators:
        return Place("tau", inner)
    if group in GROUPS and inner in known[group]:
        return Place(group, inner)
    initial = next((group for group in GROUPS[:-1] if name in known[group]), None)
    if initial and name in actuators and what != "initial":
        raise ValueError(
            f"{what}: {name!r} is an initial value and a control, expected which: '{initial}.{name}' or "
            f"'controls.{name}'."
        )
    if initial or name in actuators:
        return Place(initial or "tau", name)
    plain = name.removeprefix("p.")
    if plain in map(str, dynamics.values):
        raise ValueError(
            f"{what}: the value of {plain!r} was compiled in, so it cannot change. Leave it out of compile(values=...) "
            f"and give p={{{plain!r}: ...}}."
        )
    every = [*known["p"], *(f"{group}.{each}" for group in GROUPS[1:] for each in known[group])]
    raise KeyError(f"{what}: there is no parameter, initial value or input {name!r}. {closest(name, every)}")
