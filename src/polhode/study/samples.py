"""Inputs that were measured: values at times, with lines between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polhode.equations import Equations
from polhode.equations.inputs import input_names
from polhode.graph import Expr
from polhode.simulate.inputs import absent


@dataclass(frozen=True, kw_only=True, eq=False)
class Driven:
    """What drives a run: what `simulate` takes as tau, and samples by the number of their input."""

    tau: Any = None
    places: tuple[int, ...] = ()
    samples: tuple[tuple[np.ndarray, np.ndarray], ...] = ()
    constant: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def forces(self, t: np.ndarray) -> np.ndarray:
        """The inputs at times, (N, nu + nc), without laws."""
        found = np.tile(self.constant, (len(t), 1))
        for place, (at, values) in zip(self.places, self.samples, strict=True):
            found[:, place] = np.interp(t, at, values)
        return found

    @property
    def knots(self) -> np.ndarray:
        """The times at which the slope of an input jumps."""
        return np.unique(np.concatenate([np.zeros(0), *(at for at, _ in self.samples)]))


def driven_by(given: Any, eq: Equations, t_end: float, what: str = "tau") -> Driven:
    """Sort inputs: numbers and expressions stay as they are; a pair of times and values is a sampled input."""
    names = list(input_names(eq))
    nothing = np.zeros(len(names))
    if given is None:
        return Driven(constant=nothing)
    if callable(given) or not isinstance(given, (Mapping, list, tuple, np.ndarray)):
        raise TypeError(
            f"{what} is {given!r:.60}, of which there are no derivatives. Give numbers or expressions by name, or "
            'samples, {"x_dot": (times, values)}.'
        )
    if not isinstance(given, Mapping):
        return Driven(tau=given, constant=nothing)
    sampled = {str(name): value for name, value in given.items() if isinstance(value, (tuple, list))}
    if not sampled:
        return Driven(tau=dict(given), constant=nothing)
    places, samples = [], []
    for name, pair in sampled.items():
        if name not in names:
            raise KeyError(f"{what}: {absent(name, 'speed or actuator', names, eq)}")
        places.append(names.index(name))
        samples.append(_samples(pair, f"{what} of {name!r}", t_end))
    for name, value in given.items():
        if str(name) not in sampled:
            if isinstance(value, (str, Expr)):
                raise ValueError(
                    f"{what} of {str(name)!r} is an expression, beside samples of {', '.join(map(repr, sampled))}. "
                    "Give it to the model, with build.force, or as samples, too."
                )
            if str(name) not in names:
                raise KeyError(f"{what}: {absent(str(name), 'speed or actuator', names, eq)}")
            nothing[names.index(str(name))] = float(value)

    constant = nothing.tolist()
    lists = [(place, at.tolist(), values.tolist()) for place, (at, values) in zip(places, samples, strict=True)]

    def control(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        found = constant.copy()
        for place, at, values in lists:
            k = min(max(bisect_right(at, t), 1), len(at) - 1)
            share = min(max((t - at[k - 1]) / (at[k] - at[k - 1]), 0.0), 1.0)
            found[place] = values[k - 1] + share * (values[k] - values[k - 1])
        return found

    return Driven(tau=control, places=tuple(places), samples=tuple(samples), constant=nothing)


def _samples(pair: Any, what: str, t_end: float) -> tuple[np.ndarray, np.ndarray]:
    try:
        times, values = (np.asarray(part, dtype=float) for part in pair)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {pair!r:.60}, expected a pair of times and values.") from None
    if times.ndim != 1 or times.shape != values.shape or len(times) < 2:
        raise ValueError(f"{what}: times have shape {times.shape} and values {values.shape}, expected two alike, (k,).")
    if not (np.isfinite(times).all() and np.isfinite(values).all()):
        raise ValueError(f"{what}: its samples have NaN or infinity, expected numbers. Leave such samples out.")
    if (np.diff(times) <= 0).any():
        raise ValueError(f"{what}: its times do not ascend. Sort the samples, and leave out those that repeat.")
    if times[-1] < t_end - 1e-9 * abs(t_end):
        raise ValueError(f"{what} ends at t = {times[-1]:g} s, expected samples until {t_end:g} s.")
    return times, values
