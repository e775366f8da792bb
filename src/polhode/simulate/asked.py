"""What a run is asked for, checked: a method, tolerances, times of output, states and parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeGuard

import numpy as np

from polhode.equations import Dynamics, Equations
from polhode.equations.dynamics import require_inertia_of_beams
from polhode.kernels.loop import METHODS, Method
from polhode.model import Builder, Model
from polhode.model.errors import closest

MOST = 100_000_000  # outputs
TOLERANCE = 1e-9  # rtol and atol, where nothing is said


SCIPY = {"RK45": "dopri5", "DOP853": "dop853", "Radau": "rodas5p", "BDF": "rodas5p", "LSODA": "rodas5p"}


def is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def movable(dynamics: Any, verb: str) -> Dynamics:
    """A dynamics of something that moves."""
    if not isinstance(dynamics, Dynamics):
        found = f"the model {dynamics.name!r:.60}" if isinstance(dynamics, Model) else f"{dynamics!r:.60}"
        if isinstance(dynamics, Equations):
            raise TypeError(f"{verb} takes a Dynamics, found Equations. Compile them: equations.compile().")
        if isinstance(dynamics, Builder):
            raise TypeError(
                f"{verb} takes a Dynamics, found the builder {dynamics.name!r:.60}. Make one with "
                "formulate(build.build()).compile()."
            )
        raise TypeError(f"{verb} takes a Dynamics, found {found}. Make one with formulate(model).compile().")
    if not len(dynamics.equations.q):
        raise ValueError(f"Model {dynamics.equations.model.name!r}: no body has a joint, so nothing can move.")
    model = dynamics.equations.model
    if not (model.constraints or model.implied):  # which may hold what turns without inertia
        require_inertia_of_beams(dynamics.equations)
    return dynamics


def method_of(name: str, step: float | None, t0: float) -> Method:
    """The integrator of a name, for steps of this size."""
    if name not in METHODS:
        kin = f"SciPy's is nearest to {SCIPY[name]!r} here." if name in SCIPY else closest(name, METHODS)
        raise ValueError(f"Method {name!r:.60} is unknown. {kin}")
    if not (is_number(t0) and np.isfinite(t0)):
        raise ValueError(f"t0 is {t0!r:.60}, expected a time.")
    found = METHODS[name]
    if found.rule.fixed and step is None:
        raise ValueError(f"Method {name!r} has a fixed step, found none. Give step=1e-3, or what suits.")
    if found.rule.fixed and not (is_number(step) and 0 < step < np.inf):
        raise ValueError(f"step is {step!r:.60}, expected the seconds of a step, more than 0.")
    if not found.rule.fixed and step is not None:
        raise ValueError(f"Method {name!r} chooses its own steps, found step={step!r}. Give longest=, rtol= and atol=.")
    return found


# what other packages call the arguments of a run
MEANT: dict[str, str] = {
    **dict.fromkeys(("t_span", "tspan", "span"), "Give t_end=10.0, and t0= where it is not 0."),
    **dict.fromkeys(("t", "T", "tf", "t_final", "duration", "time", "tend"), "The end of the run is t_end=."),
    **dict.fromkeys(("x0", "y0", "state", "initial"), "The state at the start is q0= and u0=."),
    **dict.fromkeys(("t_eval", "times"), "Times of the output are output=[...], or a spacing, output=0.01."),
    "dt": 'A spacing of the output is output=0.01; equal steps are method="rk4" and step=0.001.',
    "max_step": "The longest step is longest=.",
    **dict.fromkeys(("params", "parameters", "args", "values"), "Values of parameters are p={...}."),
    **dict.fromkeys(("u", "control", "controller", "input", "inputs", "force", "forces"), "What acts is tau=."),
    "events": "What is to happen on the way is switches=, and until= ends a run.",
}


def check_span(step: float | None, t0: float, t_end: Any) -> float:
    """The end of a run from t0, which is at least a step away."""
    if not (is_number(t_end) and t0 < t_end):
        span = isinstance(t_end, (tuple, list)) and len(t_end) == 2
        remedy = f" Give t0={t_end[0]!r:.20} and t_end={t_end[1]!r:.20}." if span else ""
        remedy = f" Give t_end={t0 + 10:g}, or what suits." if t_end is None else remedy
        raise ValueError(f"t_end is {t_end!r:.60}, expected a time after t0 = {t0:g}.{remedy}")
    if step is not None and step > (t_end - t0) * (1 + 1e-12):
        raise ValueError(f"step is {step!r:.60}, expected at most the {t_end - t0:g} s to simulate.")
    return float(t_end)


def tolerances(rtol: float | None, atol: float | None, longest: float, method: str, fixed: bool) -> dict[str, float]:
    """The tolerances and the longest step of an adaptive method; one of a fixed step has none."""
    if fixed and (given := [n for n, v in (("rtol", rtol), ("atol", atol)) if v is not None]):
        raise ValueError(
            f"{given[0]}= is for methods that choose their steps, and {method!r} has a fixed one. Leave it out, or "
            'give method="dop853" without step=.'
        )
    if fixed and longest != np.inf:
        raise ValueError(
            f"longest= is for methods that choose their steps, and {method!r} has a fixed one. Leave it out."
        )
    rtol, atol = TOLERANCE if rtol is None else rtol, TOLERANCE if atol is None else atol
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not (is_number(value) and 0 <= value < np.inf):
            raise ValueError(f"{name} is {value!r:.60}, expected a tolerance, 0 or more.")
    if not atol > 0:
        raise ValueError(
            f"atol is {atol!r:.60}, expected more than 0: a quantity that is 0 has no relative error. Give "
            "atol=1e-12, or what is too little to matter."
        )
    if not (is_number(longest) and longest > 0):
        raise ValueError(f"longest is {longest!r:.60}, expected the seconds of a step, more than 0.")
    return {"rtol": rtol, "atol": atol, "longest": longest}


def times(output: Any, t0: float, t_end: float) -> np.ndarray | None:
    """Times of the output, in an array of their own; None for every step."""
    if isinstance(output, str):
        if output != "steps":
            raise ValueError(f'output is {output!r:.60}, expected times, a spacing, or "steps".')
        return None
    if output is None:
        return np.linspace(t0, t_end, 501)
    found = np.array(output, dtype=float, order="C")
    if found.ndim == 0:
        if not 0 < found < np.inf:
            raise ValueError(f"output is {output!r:.60}, expected a spacing of more than 0 seconds.")
        if found > (t_end - t0) * (1 + 1e-12):
            raise ValueError(f"output is {output!r:.60}, a spacing longer than the {t_end - t0:g} s to simulate.")
        whole = int((t_end - t0) / found * (1 + 1e-12))
        if whole > MOST:
            raise ValueError(f"output is {output!r:.60}, which gives {whole:,} outputs, expected at most {MOST:,}.")
        found = t0 + found * np.arange(whole + 1)
        if abs(t_end - found[-1]) > 1e-9 * (t_end - t0):
            return np.append(found, t_end)
        found[-1] = t_end
        return found
    if found.ndim != 1 or not found.size or not np.isfinite(found).all() or (np.diff(found) < 0).any():
        raise ValueError(f"output is {output!r:.60}, expected times in ascending order, at least one.")
    if found[0] < t0 or found[-1] > t_end:
        raise ValueError(f"output has times from {found[0]:g} to {found[-1]:g}, expected between {t0:g} and {t_end:g}.")
    return found


def whole_steps(grid: np.ndarray, t0: float, t_end: float, step: Any) -> np.ndarray:
    """The ends of steps that are nearest to the times of a grid, each once, and the end."""
    found = t0 + np.unique(np.round((grid - t0) / step)) * step
    return np.append(found[found < t_end - 1e-9 * step], t_end)


_PARTS = {"q": "coordinate", "u": "speed", "z": "state beside motion"}


def state_of(
    eq: Equations, q: Any, u: Any, z: Any, starts: np.ndarray, mark: str = "0"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, speeds and states beside motion, each from an array or from values by name; q may be (q, u).

    starts : of the states beside motion, where nothing is given
    mark   : what follows q, u and z in the names of the arguments
    """
    if is_pair(q):
        if u is not None:
            raise TypeError(
                f"q{mark} is a pair of coordinates and speeds, and u{mark} is given too, expected speeds once."
            )
        q, u = q
    names = {part: [str(s.value) for s in getattr(eq, part)] for part in _PARTS}
    rest = {"q": eq.model.neutral(), "u": np.zeros(len(eq.u)), "z": starts}
    found = []
    for part, given in zip(_PARTS, (q, u, z), strict=True):
        for name in map(str, given) if isinstance(given, Mapping) else ():
            if other := next((o for o in _PARTS if o != part and name in names[o] and name not in names[part]), ""):
                raise KeyError(
                    f"{part}{mark}: {name!r} is a {_PARTS[other]}. Give it in {other}{mark}={{{name!r}: ...}}."
                )
        found.append(values_of(given, names[part], rest[part], f"{part}{mark}"))
    return found[0], found[1], found[2]


def is_pair(q: Any) -> bool:
    """Whether it is coordinates and speeds, as `assemble` and `traj.at` give them, not two coordinates."""
    return isinstance(q, tuple) and len(q) == 2 and not any(is_number(part) for part in q)


def values_of(
    given: Any, names: Sequence[str], rest: Sequence[float] | np.ndarray, what: str, forms: str = ""
) -> np.ndarray:
    """An array from an array, or from values by name with the rest at rest.

    forms : what else might have been given, for the message
    """
    if given is None:
        return np.array(rest, dtype=float)
    if isinstance(given, Mapping):
        found = np.array(rest, dtype=float)
        for key, value in given.items():
            if str(key) not in names:
                raise KeyError(f"{what}: there is no {str(key)!r}. {closest(str(key), names)}")
            found[list(names).index(str(key))] = _number(value, f"{what}: {str(key)!r}")
    else:
        try:
            found = np.array(given, dtype=float)
        except (TypeError, ValueError):
            expected = forms or "numbers, in an array or by name"
            held = " Hand on what it begins with: **it.start()." if callable(getattr(given, "start", None)) else ""
            raise TypeError(f"{what} is {given!r:.60}, expected {expected}.{held}") from None
        if found.shape != (len(names),):
            which = ", ".join(names[:8]) or "there are none"
            raise ValueError(f"{what} has shape {found.shape}, expected ({len(names)},): {which}.")
    if not np.isfinite(found).all():
        bad = names[int(np.argmin(np.isfinite(found)))]
        raise ValueError(f"{what}: {bad!r} is NaN or infinite, expected a number.")
    return found


def _number(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        text = " Angles are in radians: numpy.radians(30), numpy.pi / 6." if isinstance(value, str) else ""
        raise TypeError(f"{what} is {value!r:.60}, expected a number.{text}") from None


def parameters_of(dynamics: Dynamics, p: Any) -> np.ndarray:
    """The run-time parameters of a dynamics in their order."""
    names = dynamics.parameters
    if isinstance(p, Mapping) or p is None:
        given = {str(k): v for k, v in (p or {}).items()}
        for name in given:
            if name not in names:
                raise KeyError(f"p: there is no parameter {name!r}. {closest(name, names)}")
        if missing := [name for name in names if name not in given]:
            given_so = ", ".join(f"{name!r}: ..." for name in missing)
            called = "parameters " + ", ".join(map(repr, missing)) if len(missing) > 1 else f"parameter {missing[0]!r}"
            raise ValueError(
                f"No value for {called}. Give p={{{given_so}}}, or fold values in with compile(values=...)."
            )
        return values_of(given, names, [0.0] * len(names), "p")
    return values_of(p, names, [0.0] * len(names), "p")
