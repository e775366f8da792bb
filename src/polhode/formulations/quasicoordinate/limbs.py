"""Limbs: chains of bodies from a base outward, which share the mass of the bodies they have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from polhode.graph import Expr
from polhode.kinematics import Kinematics
from polhode.model import WORLD
from polhode.model.errors import closest
from polhode.model.fields import short

from .chain import members


@dataclass(frozen=True, kw_only=True)
class Limb:
    """A chain of bodies, base first, and the share it has of each of them.

    shares : 1 over the number of limbs that a body is in; of mass and inertia. Reference: [NelsonQuinn, eq. 39, 41]
    masses : its share of the masses
    rotors : of motors on its bodies, each in one limb only
    """

    name: str
    bodies: tuple[str, ...]
    shares: tuple[Fraction, ...]
    masses: tuple[Expr, ...]
    rotors: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            name if share == 1 else f"{name} ({share} of its mass, {short(mass)})"
            for name, share, mass in zip(self.bodies, self.shares, self.masses, strict=True)
        ]
        turning = f", with {', '.join(self.rotors)}" if self.rotors else ""
        return f"{self.name}: {' - '.join(parts)}{turning}"


class Limbs(tuple[Limb, ...]):
    """The limbs of a machine; prints as a list."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def find_limbs(kin: Kinematics, given: Mapping[str, Any] | None = None) -> Limbs:
    """The limbs of a machine: from each body that carries no other inward to the world, in the order of the model.

    given : names of limbs, with the last body of each, or with all their bodies, base first
    """
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(
            f'limbs is {given!r:.60}, expected names of limbs, with the last body of each: {{"leg": "foot"}}.'
        )
    every = {m.name: m for m in members(kin)}
    rotors = {body.name: body.parent for body in kin.model.bodies if body.rotor}
    bodies = {name: m for name, m in every.items() if name not in rotors}
    if given is None:
        inner = {m.parent.name for m in bodies.values() if m.parent is not None and m.parent.name != m.name}
        chains = {name: tuple(b.name for b in m.chain) for name, m in bodies.items() if name not in inner}
    else:
        chains = {name: _chain(name, said, bodies) for name, said in given.items()}
    many = Counter(name for chain in chains.values() for name in chain)
    if left := [name for name in bodies if name not in many]:
        raise ValueError(
            f"limbs: no limb has the body {left[0]!r}, expected all bodies in one or more. Name one with it."
        )
    found, placed = [], set()
    for name, chain in chains.items():
        own = tuple(rotor for rotor, on in rotors.items() if on in chain and rotor not in placed)
        placed |= {*own}
        shares, masses = (Fraction(1, many[b]) for b in chain), (bodies[b].m / many[b] for b in chain)
        found.append(Limb(name=name, bodies=chain, shares=(*shares,), masses=(*masses,), rotors=own))
    for rotor in rotors:  # on the world
        if rotor not in placed:
            found.append(Limb(name=rotor, bodies=(rotor,), shares=(Fraction(1),), masses=(every[rotor].m,)))
    return Limbs(found)


def _chain(name: str, said: Any, bodies: Mapping[str, Any]) -> tuple[str, ...]:
    """The bodies of a limb that was named by hand."""
    wanted = (said,) if isinstance(said, str) else tuple(said) if isinstance(said, Sequence) else ()
    if not wanted or not all(isinstance(b, str) for b in wanted):
        raise ValueError(f"Limb {name!r}: is {said!r:.60}, expected the name of its last body, or of all, base first.")
    for body in wanted:
        if body not in bodies:
            raise KeyError(f"Limb {name!r}: there is no body {body!r} that moves. {closest(body, bodies)}")
    chain = tuple(b.name for b in bodies[wanted[-1]].chain)
    if len(wanted) > 1 and wanted != chain:
        raise ValueError(
            f"Limb {name!r}: is {', '.join(wanted)}, expected the chain from the {WORLD} to {wanted[-1]!r}: "
            f"{', '.join(chain)}. Name the last body alone."
        )
    return chain
