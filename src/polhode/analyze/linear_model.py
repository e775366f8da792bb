"""A linear model with names: dy/dt = f0 + A y + B v, w = C y + D v."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from polhode.model.elsewhere import Elsewhere
from polhode.model.errors import closest
from polhode.trajectory.pictures import names_a_figure
from polhode.view import needed
from polhode.view.linear import linear_figure

from .entries import entry
from .modes import Modes, columns, eigen, html_table, modes_of
from .response import response_of
from .swaying import Machine
from .without import left_out

_LEFT = 1e-3  # of what counts: what rounding leaves of drifts that changes of states do balance
_STILL = 1e-9  # of its size by gravity or speeds: what counts as no acceleration
_NOTES = 4  # that are printed
_DRAWN, _CURVES = 4, 8  # outputs, and curves, that are drawn where nothing is asked for
_SHOWN = 12  # states whose matrices are printed


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LinearModel(Elsewhere):
    """A machine near a state: small changes y of its states, v of its inputs, w of its outputs.

    A, B, C, D : (n, n), (n, inputs), (outputs, n), (outputs, inputs)
    states     : coordinates, turns, speeds, other states that are independent: (n,) names
    drift      : f0, (n,), the rates of the states at the point: 0 at an equilibrium
    sizes      : how many of the states are coordinates, speeds, other states
    whole      : names of all coordinates (turns), speeds and other states; lift : (N, n), what these are of the states;
                 whole_drift : (N,), their rates at the point; speeds : how many of them are speeds
    at         : the point, all coordinates, speeds and states by name; t : its time
    lasting    : whether the model stays what it is while the machine moves on with the speeds of the point
    holds      : constraints that hold; left_out : what comes and goes and does not hold here
    notes      : what else is to be known, such as controls at their limits
    machine    : the machine at the point, by which modes are drawn
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("poles", "eigenvalues"), "lin.modes().eigenvalues"),
        **dict.fromkeys(("frequencies", "damping", "shapes", "stable"), "lin.modes().{name}"),
        **dict.fromkeys(("bode", "pzmap"), "lin.plot()"),
        **dict.fromkeys(("lqr", "zeros"), "lin.to_control() for python-control, or hand lin.A, lin.B to SciPy"),
        **dict.fromkeys(("step", "impulse"), "lin.to_control(), or SciPy's signal.StateSpace(A, B, C, D)"),
        "latex": "ph.linearize(eq) of the Equations: it has expressions",
    }

    name: str
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    drift: np.ndarray
    sizes: tuple[int, int, int]
    whole: tuple[str, ...]
    lift: np.ndarray
    whole_drift: np.ndarray
    speeds: int
    at: dict[str, float]
    t: float
    holds: tuple[str, ...]
    left_out: tuple[str, ...]
    lasting: bool
    notes: tuple[str, ...] = ()
    machine: Machine | None = None

    def __post_init__(self) -> None:
        for array in (self.A, self.B, self.C, self.D, self.drift, self.lift, self.whole_drift):
            array.setflags(write=False)

    def __getitem__(self, places: tuple[str, str]) -> float:
        """The entry of A, or of B, by the names of its row and column: lin["x_dot", "theta"]."""
        return float(entry(self, places))

    @property
    def dependent(self) -> tuple[str, ...]:
        """What follows from the states by the constraints."""
        return tuple(name for name in self.whole if name not in self.states)

    @property
    def steady(self) -> bool:
        """Whether it is an equilibrium or a steady motion: speeds, other states and the model stay as they are."""
        return self.lasting and self._even

    @property
    def equilibrium(self) -> bool:
        """Whether nothing moves at the point, also of what is dependent."""
        coordinates = len(self.whole) - self.speeds - self.sizes[2]
        still: np.ndarray = np.abs(self.whole_drift[:coordinates]) <= _STILL
        return self.steady and bool(still.all())

    @property
    def _uneven(self) -> np.ndarray:
        """Rates of speeds and other states, by those that changes by 1 of every state would cause, at least 1.

        What no change of states would balance counts as it is: stiff springs do not hold what falls.
        """
        first = self.sizes[0]
        A, drift = self.A[first:], self.drift[first:]
        left: np.ndarray = drift if not A.size else drift + A @ np.linalg.lstsq(A, -drift, rcond=1e-12)[0]
        size: np.ndarray = np.maximum(1.0, np.abs(A).sum(axis=1))
        return np.asarray(np.maximum(np.abs(drift) / size, np.abs(left) * _LEFT))

    @property
    def _even(self) -> bool:
        """Whether speeds and other states stay as they are."""
        return bool((self._uneven <= _STILL).all())

    def modes(self) -> Modes:
        """Eigenvalues, natural frequencies [Hz], damping ratios and shapes of A."""
        return modes_of(self.A, self.states, self.whole, self.lift, self.machine)

    def response(
        self, frequencies: Any, outputs: str | Sequence[str] | None = None, inputs: str | Sequence[str] | None = None
    ) -> np.ndarray:
        """The outputs of harmonic inputs, C (2 pi i f - A)^-1 B + D, (k, outputs, inputs), at frequencies f in Hz.

        outputs, inputs : names, all where nothing is given

        Infinite at a pole, as at 0 Hz of what can drift; outputs that do not see it are finite there too.
        """
        f = np.atleast_1d(np.asarray(frequencies, dtype=float))
        if f.ndim != 1 or not np.isfinite(f).all():
            raise ValueError(f"frequencies: {frequencies!r:.60}, expected numbers in Hz.")
        rows, cols = _chosen(outputs, self.outputs, "outputs"), _chosen(inputs, self.inputs, "inputs")
        return response_of(self.A, self.B[:, cols], self.C[rows], self.D[np.ix_(rows, cols)], f)

    def without(self, *names: str) -> LinearModel:
        """The same model without states that no other depends on, such as the angle of a motor behind a gear.

        Exact, as their columns of A and C are 0 but for their own rows: outputs of their names go too. Others are
        refused.
        """
        return left_out(self, names)

    def to_control(self) -> Any:
        """The same as a `StateSpace` of python-control, with the names; a force on the speed x_dot is tau_x_dot there.

        Its `interconnect` would join an input and an output of the same name.
        """
        try:
            control = import_module("control")
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "to_control needs python-control, which is not installed. Install it: pip install control. "
                "Or hand A, B, C, D to another package: they are NumPy arrays.",
                name="control",
            ) from None
        inputs = [f"tau_{name}" if name in self.at else name for name in self.inputs]
        named = {"states": self.states, "inputs": inputs, "outputs": self.outputs}
        return control.ss(
            self.A, self.B, self.C, self.D, name=self.name.replace(".", "_"), **{k: list(v) for k, v in named.items()}
        )

    def plot(
        self,
        outputs: str | Sequence[str] | None = None,
        inputs: str | Sequence[str] | None = None,
        path: Any = None,
    ) -> Any:
        """Draw the poles, and size and phase of outputs by inputs over frequency; return the matplotlib Figure.

        outputs : names, the first few where nothing is given; inputs : likewise. The figure says how many of all
        path    : also write it, as PNG, SVG or PDF by its ending; alone, it may come first: lin.plot("poles.png")
        """
        if path is None and inputs is None and outputs not in self.outputs and names_a_figure(outputs):
            outputs, path = None, outputs
        needed("matplotlib", "plot", "A plot")
        rows, cols = _chosen(outputs, self.outputs, "outputs"), _chosen(inputs, self.inputs, "inputs")
        rows = rows[:_DRAWN] if outputs is None else rows
        cols = cols[: max(1, _CURVES // max(1, len(rows)))] if inputs is None else cols
        drawn, driven = [self.outputs[i] for i in rows], [self.inputs[j] for j in cols]
        counts = ((outputs, rows, self.outputs, "outputs"), (inputs, cols, self.inputs, "inputs"))
        left = [
            f"{len(few)} of {len(known)} {what}"
            for asked, few, known, what in counts
            if asked is None and len(few) < len(known)
        ]
        return linear_figure(
            eigen(self.A)[0],
            lambda f: self.response(f, drawn, driven),
            drawn,
            driven,
            drawn=" and ".join(left),
            title=f"{self.name}, linear",
            note="" if self.steady else self._said_of_point(),
            path=path,
        )

    # words

    def _said_of_point(self) -> str:
        """What the point is: an equilibrium, a steady motion, or neither."""
        if not self.states:
            return "Nothing is free to change: what holds says how the machine moves."
        if self.equilibrium:
            return "About an equilibrium."
        if self.steady:
            return "About a steady motion: speeds stay as they are."
        if self._even:
            return (
                "About a motion with speeds that stay as they are, but the model changes along it: modes are those of "
                "a moment. Where a body turns that is the same all around, describe it by angles, not by a quaternion."
            )
        changing = np.where(self._uneven > _STILL, np.abs(self.drift[self.sizes[0] :]), 0)
        worst = self.sizes[0] + int(np.argmax(changing))
        return (
            f"The point is no equilibrium: {self.states[worst]} changes by {self.drift[worst]:.6g} a second there, "
            "see drift. The model holds for a moment, beside the motion from there."
        )

    def _heading(self) -> list[str]:
        a, b, c = self.sizes
        parts = [f"{a} coordinate{'s' * (a != 1)}", f"{b} speed{'s' * (b != 1)}", f"{c} other{'s' * (c != 1)}"]
        lines = [f"Linear model of {self.name!r}: {len(self.states)} states ({', '.join(parts[: 3 if c else 2])})"]
        lines.append(self._said_of_point())
        if self.holds:
            lines.append(
                f"Holding {_some(self.holds)}: {_some(self.dependent)} follow{'s' * (len(self.dependent) == 1)}."
            )
        if self.left_out:
            lines.append(f"Left out, for it does not hold here: {_some(self.left_out)}.")
        lines += self.notes[:_NOTES]
        return lines + [f"And {len(self.notes) - _NOTES} more notes like these, see notes."] * (
            len(self.notes) > _NOTES
        )

    def _tables(self) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
        """[A B] and [C D] with their names; nothing where they are large."""
        if max(len(self.states) + len(self.inputs), len(self.outputs)) > _SHOWN:
            return []
        heads = (*self.states, *(f"[{name}]" for name in self.inputs))
        found = [(("rate of", *heads), _named(self.states, np.hstack([self.A, self.B])))]
        if self.outputs != self.states or self.D.any() or not np.array_equal(self.C, np.eye(len(self.C))):
            found.append((("output", *heads), _named(self.outputs, np.hstack([self.C, self.D]))))
        return found

    def __str__(self) -> str:
        parts = ["\n".join(self._heading())]
        for head, rows in self._tables():
            parts.append(columns([head, *rows], left=1))
        if not parts[1:]:
            parts.append(
                f"States: {', '.join(self.states)}\nInputs: {', '.join(self.inputs)}\n"
                "The matrices are too large to print, see A, B, C, D."
            )
        parts.append(str(self.modes()))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        shape = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"LinearModel of {self.name!r}: {shape}"

    def _repr_html_(self) -> str:
        from html import escape

        parts = ["<br>".join(escape(line) for line in self._heading())]
        parts += [html_table(head, rows) for head, rows in self._tables()]
        return "".join(f"<div>{part}</div>" for part in (*parts, self.modes()._repr_html_()))


def _named(names: Sequence[str], numbers: np.ndarray) -> list[tuple[str, ...]]:
    """Rows of numbers behind their names; rounding beside the largest is 0."""
    least = 1e-13 * np.abs(numbers).max(initial=0)
    return [
        (name, *(f"{e:.6g}" if abs(e) > least else "0" for e in row)) for name, row in zip(names, numbers, strict=True)
    ]


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def _chosen(asked: str | Sequence[str] | None, known: tuple[str, ...], what: str) -> list[int]:
    if asked is None:
        return list(range(len(known)))
    found = []
    for name in [asked] if isinstance(asked, str) else asked:
        if name not in known:
            raise KeyError(f"{what}: there is no {name!r} in this model. {closest(name, known)}")
        found.append(known.index(name))
    return found
