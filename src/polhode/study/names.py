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

    A name without a group is a parameter, else a coordinate, a speed, a state or an actuator.
    """
    eq = dynamics.equations
    known = {"p": list(dynamics.parameters)}
    known |= {group: [str(s.value) for s in getattr(eq, group)] for group in "quz"}
    known["tau"] = list(input_names(eq))
    group, _, inner = name.partition(".")
    if group in GROUPS and inner in known[group]:
        return Place(group, inner)
    for group in GROUPS[:-1]:
        if name in known[group]:
            return Place(group, name)
    if name in known["tau"][len(eq.u) :]:
        return Place("tau", name)
    plain = name.removeprefix("p.")
    if plain in map(str, dynamics.values):
        raise ValueError(
            f"{what}: the value of {plain!r} was compiled in, so it cannot change. Leave it out of compile(values=...) "
            f"and give p={{{plain!r}: ...}}."
        )
    every = [*known["p"], *(f"{group}.{each}" for group in GROUPS[1:] for each in known[group])]
    raise KeyError(f"{what}: there is no parameter, initial value or input {name!r}. {closest(name, every)}")
