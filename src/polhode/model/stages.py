"""Stages of a transmission: a gear each, and the shaft after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polhode.graph import Expr, Matrix, as_expr

from . import values
from .errors import closest, fault

_ONE, _ZERO = as_expr(1), as_expr(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A gear of a transmission, and the shaft that it turns.

    ratio           : turns of what drives it for one of its shaft
    inertia         : of the shaft about its axis; its mass belongs to the body that carries it. 0 for none
    damping         : of the shaft, a torque for each rad/s
    on, axis        : the body or marker that carries the shaft, and its axis there; None for those of the motor
    efficiency      : of power from the motor on
    efficiency_back : of power towards the motor; 0 or less cannot be driven from behind. None for the same
    stiffness, loss, play : of the gear, at its shaft; see `Motor`
    """

    ratio: Expr = _ONE
    inertia: Expr = _ZERO
    damping: Expr = _ZERO
    on: str | None = None
    axis: Matrix | None = None
    efficiency: Expr = _ONE
    efficiency_back: Expr | None = None
    stiffness: Expr | None = None
    loss: Expr = _ZERO
    play: Expr = _ZERO

    @property
    def back(self) -> Expr:
        """Its efficiency backward."""
        return self.efficiency if self.efficiency_back is None else self.efficiency_back

    @property
    def loses(self) -> bool:
        return self.efficiency != 1 or self.back != 1

    def given(self) -> dict[str, Any]:
        """The fields that are not as usual."""
        return {name: value for name in FIELDS if (value := getattr(self, name)) != getattr(_USUAL, name)}

    def expressions(self) -> list[Expr]:
        """Its numbers that may be expressions."""
        return [e for name in FIELDS if isinstance(e := getattr(self, name), Expr)]

    def faults(self, what: str) -> Iterator[str]:
        """What is wrong with it by itself."""
        if self.ratio == 0 or self.efficiency == 0:
            yield f"{what}: its {'ratio' if self.ratio == 0 else 'efficiency'} is 0, expected more or less than 0."
        for name in ("inertia", "damping", "loss", "play", "stiffness"):
            e = getattr(self, name)
            x = None if e is None else e.number
            if x is not None and (x < 0 or (x == 0 and name == "stiffness")):
                yield f"{what}: {name} is {x:g}, expected {'more than 0' if name == 'stiffness' else '0 or more'}."
        x, back = self.efficiency.number, self.back.number
        if x is not None and not 0 <= x <= 1:
            yield f"{what}: efficiency is {x:g}, expected a number from 0 to 1."
        elif back is not None and back > 1:
            yield f"{what}: efficiency_back is {back:g}, expected 1 or less."
        if self.stiffness is None and (self.play != 0 or self.loss != 0):
            yield f"{what}: has play or loss but no stiffness, so it does not yield. Give stiffness=."
        if self.inertia == 0 and self.damping != 0:
            yield f"{what}: has damping of a shaft without inertia. Give its inertia=, too."


FIELDS = tuple(Stage.__dataclass_fields__)
_USUAL = Stage()


def shaft_name(motor: str, i: int) -> str:
    """What the shaft after a stage of a motor is called, counted from 1."""
    return f"{motor}_shaft_{i}"


def made(given: Any, what: str) -> tuple[Stage, ...]:
    """Stages from what a user gave: a list of their fields by name."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise fault(f'{what} is {given!r:.60}, expected a list, a stage each: [{{"ratio": 5, "inertia": 1e-5}}, ...].')
    return tuple(_made(one, f"{what} {i}") for i, one in enumerate(given, 1))


def _made(given: Any, what: str) -> Stage:
    if isinstance(given, Stage):
        return given
    if not isinstance(given, Mapping):
        raise fault(f'{what} is {given!r:.60}, expected its fields by name: {{"ratio": 5, "inertia": 1e-5}}.')
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in FIELDS:
            raise fault(f"{what}: there is no {name!r:.60}. {closest(name, FIELDS)}")
        if value is None and getattr(_USUAL, name) is None:
            continue
        if name == "on":
            if not isinstance(value, str):
                raise fault(f"{what}: on is {value!r:.60}, expected the name as text.")
            found[name] = value
        else:
            found[name] = (values.axis if name == "axis" else values.scalar)(value, f"{what}: {name}")
    return Stage(**found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Train:
    """Stages with no inertia in between: one gear.

    efficiency, back : of the whole, forward and backward; back is 0 or less where one of them locks itself
    yields           : its spring, one at most
    """

    ratio: Expr
    efficiency: Expr
    back: Expr
    yields: Stage | None

    @property
    def loses(self) -> bool:
        return self.efficiency != 1 or self.back != 1

    @property
    def locks(self) -> bool:
        """Whether it cannot be driven from behind."""
        x = self.back.number
        return x is not None and x <= 0

    def split(self) -> tuple[Expr, Expr]:
        """What friction takes of the torque t behind the gear: (mean t + half |t| sign(speed)).

        Forward t_in = t / efficiency, backward t_in = back t, so that at rest t_in lies between the two.

        Reference: [Pelchen, Schweiger, Otter 2002], Modeling and simulating the efficiency of gearboxes.
        """
        ahead, behind = 1 / self.efficiency - 1, 1 - self.back
        return (ahead - behind) / 2, (ahead + behind) / 2


def joined(stages: Sequence[Stage], what: str) -> Train:
    """One gear of stages in a row, with no inertia in between."""
    ratio, ahead, behind = _ONE, _ONE, _ONE
    for stage in stages:
        ratio, ahead = ratio * stage.ratio, ahead * stage.efficiency
    for stage in reversed(stages):  # behind a stage that locks itself, the motor drives the ones before it
        x = behind.number
        behind = behind / stage.efficiency if x is not None and x <= 0 else behind * stage.back
    springs = [stage for stage in stages if stage.stiffness is not None]
    if len(springs) > 1:
        raise fault(
            f"{what}: has two springs in a row with nothing in between. Give the shaft after the first inertia."
        )
    if springs and springs[0] is not stages[-1]:  # as seen from the end
        after = _ONE
        for stage in stages[stages.index(springs[0]) + 1 :]:
            after = after * stage.ratio
        s = springs[0]
        assert s.stiffness is not None
        springs = [replace(s, stiffness=s.stiffness * after**2, loss=s.loss * after**2, play=s.play / _size(after))]
    return Train(ratio=ratio, efficiency=ahead, back=behind, yields=springs[0] if springs else None)


def _size(e: Expr) -> Expr:
    """|e|, of a ratio."""
    x = e.number
    return -e if x is not None and x < 0 else e
