"""Whether all formulations give a model the same motion: the certificate, for a machine of one's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

from polhode.equations import METHODS, formulate
from polhode.equations.parameters import numbers_of
from polhode.formulations import sources
from polhode.model import Model
from polhode.model.errors import closest

from .quantities import Values, drawn, evaluated, gap, weights

Table = dict[str, dict[str, float]]

TERMS = {
    "M": ["mass"],
    "c": ["velocity", "gravity"],
    "Q": ["forces"],
    "accelerations": ["mass", "velocity", "gravity", "forces"],
}  # what methods derive; the rest is read from the kinematics


@dataclass(frozen=True, kw_only=True)
class Check:
    """What every formulation says of a model, compared at random states.

    reference  : the method that agrees with most others, with which the table compares
    table      : quantity -> method -> largest difference, relative and without units
    apart      : quantity -> largest difference of any two methods
    seconds    : method -> time to derive, compile and evaluate it
    left_out   : method or quantity -> why it was not compared
    parameters : values of all parameters, those that were drawn among them
    drawn      : names of the parameters that had no value
    deforming  : whether bodies deform, in which methods share more
    """

    model: str
    reference: str
    table: Table
    apart: dict[str, float]
    seconds: dict[str, float]
    left_out: dict[str, str]
    parameters: dict[str, float]
    drawn: tuple[str, ...]
    states: int
    seed: int
    tolerance: float
    deforming: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that were compared."""
        return tuple(self.seconds)

    @property
    def sources(self) -> dict[str, list[tuple[str, ...]]]:
        """quantity -> the methods, those together that have it from one function and cannot disagree."""
        return {
            name: sources(TERMS[name], self.methods, self.deforming) if name in TERMS else [self.methods]
            for name in self.table
        }

    @property
    def agree(self) -> bool:
        """Whether two methods or more were compared, and no two of them differ beyond the tolerance."""
        return len(self.methods) > 1 and all(x <= self.tolerance for x in self.apart.values())

    @property
    def disagreements(self) -> dict[str, list[str]]:
        """The methods that differ from the reference beyond the tolerance, and in which quantities."""
        found: dict[str, list[str]] = {}
        for quantity, row in self.table.items():
            for method, x in row.items():
                if not x <= self.tolerance:
                    found.setdefault(method, []).append(quantity)
        return found

    @property
    def verdict(self) -> str:
        """The outcome in a sentence or two."""
        if len(self.methods) < 2:
            return f"Only {self.reference} was derived: there is nothing to compare it with."
        if self.agree:
            return (
                f"{_listed(self.methods)} agree: no two differ by more than {max(self.apart.values()):.1e} "
                f"(tolerance {self.tolerance:g}) at {self.states} state{'s' * (self.states > 1)}."
            )
        lines = [
            f"{method} differs from {self.reference} by {max(self._sizes(method)):.1e} in {_listed(quantities)} "
            f"(tolerance {self.tolerance:g})."
            for method, quantities in self.disagreements.items()
        ]
        return "The methods DISAGREE. " + (" ".join(lines) or f"Two of them differ by {max(self.apart.values()):.1e}.")

    def _sizes(self, method: str) -> list[float]:
        return [math.inf if math.isnan(row[method]) else row[method] for row in self.table.values()]

    def __str__(self) -> str:
        first = max(len("seconds"), *map(len, self.table))
        heads = [*self.methods, "any two", "sources"]
        width = max(11, *(len(head) + 2 for head in heads))

        def line(name: str, cells: Sequence[str]) -> str:
            return f"{name:<{first}}" + "".join(f"{cell:>{width}}" for cell in cells)

        lines = [f"{self.model}: differences from {self.reference} at {self.states} states drawn from seed {self.seed}"]
        if self.parameters:
            lines += [", ".join(f"{k} = {v:.6g}{' (drawn)' * (k in self.drawn)}" for k, v in self.parameters.items())]
        lines += ["", line("", heads)]
        for quantity, row in self.table.items():
            cells = ["reference" if m == self.reference else self._cell(row[m]) for m in self.methods]
            own = str(len(self.sources[quantity]))
            lines.append(line(quantity, [*cells, self._cell(self.apart[quantity]), own]))
        lines.append(line("seconds", [f"{x:.2f}" for x in self.seconds.values()]))
        if "J" in self.table:
            lines.append("Accelerations are those of the bare tree; constraints are compared by their rows.")
        lines += [f"{what}: left out. {why}" for what, why in self.left_out.items()]
        return "\n".join([*lines, "", self.verdict])

    __repr__ = __str__

    def _cell(self, x: float) -> str:
        shown = "no number" if math.isnan(x) else f"{x:.1e}" if x else "0"
        return shown if x <= self.tolerance else f"{shown} !"


def check(
    model: Model,
    *,
    methods: Sequence[str] | None = None,
    values: Mapping[Any, float] | None = None,
    states: int = 8,
    seed: int = 0,
    tolerance: float = 1e-10,
) -> Check:
    """Derive a model by every formulation, compile each, and compare them at random states.

    methods   : which; None for all that apply
    values    : of parameters; those without one are drawn between 0.5 and 2
    states    : how many, drawn from the seed around the neutral position
    tolerance : of a difference relative to the largest entry, without units: with s_i = sqrt(M_ii), M_ij
                counts by s_i s_j, a force by s_i, an acceleration by 1 / s_i

    Compared, in the speeds of the joints: M, c, Q, qdot, accelerations of the bare tree, energies, pose
    and Jacobian of the last body, and the rows phi, psi, J, gamma of the constraints that hold as declared.
    Constraints need not hold at the states; what comes and goes in simulations is left out, and said.

    >>> import polhode as ph
    >>> build = ph.Builder("pendulum")
    >>> build.body("bob", joint=ph.revolute("y", name="theta"), mass=ph.symbol("m"), com=(0, 0, -0.5))
    >>> ph.check(build.build()).agree
    True
    """
    if not isinstance(model, Model):
        raise TypeError(f"check takes a Model, found {model!r:.60}. Build one with Builder or read one with load.")
    wanted = _wanted(methods)
    if not isinstance(states, int) or states < 1:
        raise ValueError(f"states is {states!r}, expected a whole number of at least 1.")
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed is {seed!r}, expected a whole number of at least 0.")
    if not (isinstance(tolerance, (int, float)) and 0 < tolerance < math.inf):
        raise ValueError(f"tolerance is {tolerance!r}, expected a number above 0, such as 1e-10.")
    if not model.nu:
        raise ValueError(f"Model {model.name!r}: nothing in it moves, so there is nothing to compare.")
    parameters, absent = _parameters(model, values or {}, seed)
    at = drawn(model, states, seed, parameters)
    found: dict[str, Values] = {}
    seconds: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for method in wanted:
        start = perf_counter()
        try:
            found[method] = evaluated(formulate(model, method=method, embed=False), at)
        except ValueError as refusal:
            left_out[method] = str(refusal)
        else:
            seconds[method] = perf_counter() - start
    if not found:
        raise ValueError(f"No method derives {model.name!r}: " + "; ".join(f"{m}: {e}" for m, e in left_out.items()))
    shared = [name for name in next(iter(found.values())) if all(name in each for each in found.values())]
    if "accelerations" not in shared:
        left_out["accelerations"] = "The inertia matrix is singular: something without inertia moves."
    if model.candidates:
        these = "it" if len(model.candidates) == 1 else "them"
        left_out[_listed_short([c.name for c in model.candidates])] = f"Simulations engage and release {these}."
    gaps = _gaps(found, shared, weights(next(iter(found.values())), at))
    reference = _reference(list(found), gaps, tolerance)
    return Check(
        deforming=any(body.flexible is not None for body in model.bodies),
        model=model.name,
        reference=reference,
        table={name: {m: _of(gaps, m, reference, name) for m in found} for name in shared},
        apart={name: _worst([gap_of[name] for gap_of in gaps.values()]) for name in shared},
        seconds=seconds,
        left_out=left_out,
        parameters=parameters,
        drawn=absent,
        states=states,
        seed=seed,
        tolerance=float(tolerance),
    )


def _wanted(methods: Sequence[str] | None) -> list[str]:
    wanted = list(METHODS) if methods is None else [methods] if isinstance(methods, str) else list(methods)
    for method in wanted:
        if method not in METHODS:
            raise ValueError(f"Method {method!r} is unknown. {closest(method, METHODS)}")
    if len(set(wanted)) < 2:
        raise ValueError(f"Methods {_listed(wanted)}: expected two or more, to compare. There are {_listed(METHODS)}.")
    return list(dict.fromkeys(wanted))


def _parameters(model: Model, values: Mapping[Any, float], seed: int) -> tuple[dict[str, float], tuple[str, ...]]:
    """A value for every parameter: those given, others drawn between 0.5 and 2."""
    names = [str(s.value) for s in model.parameters]
    given = {name: float(x) for name, x in numbers_of(values, names, "the model").items()}
    draw = np.random.default_rng((seed, 1)).uniform(0.5, 2, len(names))
    found = {name: given.get(name, float(x)) for name, x in zip(names, draw, strict=True)}
    return found, tuple(name for name in names if name not in given)


def _gaps(found: Mapping[str, Values], shared: Sequence[str], size: Values) -> dict[frozenset[str], dict[str, float]]:
    """Differences of every two methods, quantity by quantity."""
    return {
        frozenset(pair): {name: gap(found[pair[0]][name], found[pair[1]][name], size[name]) for name in shared}
        for pair in combinations(found, 2)
    }


def _of(gaps: Mapping[frozenset[str], dict[str, float]], a: str, b: str, name: str) -> float:
    return 0.0 if a == b else gaps[frozenset((a, b))][name]


def _worst(sizes: Sequence[float]) -> float:
    return math.nan if any(map(math.isnan, sizes)) else max(sizes, default=0.0)


def _reference(methods: Sequence[str], gaps: Mapping[frozenset[str], dict[str, float]], tolerance: float) -> str:
    """The method with which most others agree, the first of several."""

    def friends(method: str) -> int:
        return sum(method in pair and all(x <= tolerance for x in row.values()) for pair, row in gaps.items())

    return max(methods, key=friends)


def _listed_short(names: Sequence[str]) -> str:
    return _listed([repr(name) for name in names[:8]] + ["more"] * (len(names) > 8))


def _listed(names: Any) -> str:
    words = list(names)
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
