"""The modes of a linear model: eigenvalues, frequencies, damping and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from polhode.model.elsewhere import Elsewhere
from polhode.trajectory import Trajectory

from .swaying import Machine, swaying

_EVEN = 1e-12  # of an eigenvalue: a real part below is rounding
_CLEAN = 4 * 2.0**-52  # of the largest of its row: an entry below is rounding
_GROWS = 1e-7  # of an eigenvalue: less is rounding, of those that nearly coincide
_ZERO = 1e-13  # of the largest singular value: what is below is rounding

_HEAD = ("eigenvalue [1/s]", "[Hz]", "damping", "time constant [s]", "moves most")


@dataclass(frozen=True, kw_only=True)
class Modes(Elsewhere):
    """The modes, one of each conjugate pair, in order of frequency, then from the slowest.

    eigenvalues : (k,), complex, the one with positive imaginary part of a pair  [1/s]
    frequencies : (k,), natural frequencies |eigenvalue| / 2 pi  [Hz]
    damping     : (k,), ratios -re / |eigenvalue|: 1 for what decays without swinging, -1 for what grows so; NaN of 0
    shapes      : (n, k), complex, by states; the largest entry of each is 1
    states      : names of the rows of shapes
    whole       : names of all coordinates, speeds and states, and their shapes, (N, k): what the constraints tie too
    machine     : the machine where it was linearised, for `animate`
    """

    _elsewhere: ClassVar[Mapping[str, str]] = {
        "plot": "lin.plot(), which draws them with the responses, or modes.animate(k, path)",
        "poles": "modes.eigenvalues",
    }

    eigenvalues: np.ndarray
    frequencies: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray
    states: tuple[str, ...]
    whole: tuple[str, ...]
    whole_shapes: np.ndarray
    machine: Machine | None = None

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def stable(self) -> bool:
        """Whether all modes decay, beyond rounding."""
        return bool((self.eigenvalues.real < -_EVEN * np.abs(self.eigenvalues)).all()) and bool(self.eigenvalues.all())

    def shape(self, mode: int) -> dict[str, complex]:
        """The shape of a mode by name, of all coordinates, speeds and states."""
        mode = self._place(mode)
        return dict(zip(self.whole, self.whole_shapes[:, mode].tolist(), strict=True))

    def largest(self, mode: int, count: int = 3) -> list[str]:
        """The states that move most in a mode."""
        mode = self._place(mode)
        size = np.abs(self.shapes[:, mode])
        return [self.states[i] for i in np.argsort(-size, kind="stable")[:count] if size[i] > 0.05]

    def motion(self, mode: int, amplitude: float = 1.0) -> Trajectory:
        """A mode as a motion to be seen, four seconds long: two periods, whatever the frequency, a decay or a growth.

        What moves most goes to a quarter of a radian, or of the size of the machine, times the amplitude. Parts that
        lag behind others do so here. Loops are closed where they can be; decay of what swings is not shown.
        """
        k = self._place(mode)
        if self.machine is None:
            raise ValueError("These modes have no machine to draw. Take them of linearize(...).modes().")
        value = complex(self.eigenvalues[k])
        pace = f"{self.frequencies[k]:.4g} Hz, damping {self.damping[k]:.3g}" if value.imag else f"{value.real:.4g} 1/s"
        said = f"Mode {k}: {pace}; speed and amplitude are for show."
        return swaying(self.machine, self.whole, self.whole_shapes[:, k], value, said, amplitude)

    def animate(self, mode: int, path: Any, amplitude: float = 1.0, fps: int = 30) -> Path:
        """Write a page (.html) or a film (.gif, .mp4) of a mode, see `motion`."""
        return self.motion(mode, amplitude).animate(path, fps)

    def _place(self, mode: int) -> int:
        """The number of a mode, checked; negative ones count from the end."""
        many = len(self)
        if not isinstance(mode, Integral) or not -many <= mode < many:
            expected = f"a number from 0 to {many - 1}, in the order in which modes are printed" if many else "no mode"
            raise IndexError(f"There is no mode {mode!r:.60} among {many}, expected {expected}.")
        return int(mode)

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Eigenvalue, frequency, damping, time constant and largest states as text, a row a mode."""
        found = []
        for k, value in enumerate(self.eigenvalues):
            even = abs(value.real) <= _EVEN * abs(value)  # neither decays nor grows
            real, pair = 0.0 if even else value.real, f" ± {value.imag:.6g}i" if value.imag else ""
            swings = f"{self.frequencies[k]:.5g}" if value.imag else ""
            ratio = f"{0.0 if even else self.damping[k]:.4g}" if value.imag else ""
            slow = "" if even else f"{1 / abs(real):.4g}"
            growing = " grows" if real > 0 else ""
            found.append((f"{real:.6g}{pair}", swings, ratio, slow + growing, ", ".join(self.largest(k))))
        return found

    def __str__(self) -> str:
        return columns([_HEAD, *self.rows()])

    def _repr_html_(self) -> str:
        return html_table(_HEAD, self.rows())


def modes_of(
    A: np.ndarray, states: tuple[str, ...], whole: tuple[str, ...], lift: np.ndarray, machine: Machine | None = None
) -> Modes:
    """Find the modes of A."""
    values, vectors = eigen(A)
    upper = [k for k, v in enumerate(values) if v.imag >= 0]
    order = sorted(upper, key=lambda k: (values[k].imag > 0, round(float(abs(values[k])), 12), values[k].real))
    values, shapes = values[order], vectors[:, order]
    size = np.abs(values)
    with np.errstate(all="ignore"):
        damping = np.where(size > 0, -values.real / size, np.nan)
    for k in range(shapes.shape[1]):
        shapes[:, k] /= shapes[np.argmax(np.abs(shapes[:, k])), k]
    return Modes(
        eigenvalues=values,
        frequencies=size / (2 * np.pi),
        damping=damping,
        shapes=shapes,
        states=states,
        whole=whole,
        whole_shapes=lift @ shapes,
        machine=machine,
    )


def eigen(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors, (n,) and (n, n), with exact zeros.

    A machine that can drift has double zeros and longer chains of them, which are found only to a root of rounding. So
    what A does not see is taken out first: in a basis [K, L] with A K = 0 it is [[0, B], [0, C]], and C has the others.
    Where C does not see something either, that drifts: its vector is the one that moves while what was taken out moves
    on. Not seen is what has a singular value below 1e-13 of the largest of A, when its units are balanced.

    Reference: [Golub, Wilkinson, Ill-conditioned eigensystems and the computation of the Jordan canonical form, 1976].
    """
    d = _balanced(A)
    scaled = A * d / d[:, None]
    scaled = np.where(np.abs(scaled) > _CLEAN * np.abs(scaled).max(axis=1, keepdims=True, initial=0), scaled, 0.0)
    values, vectors = _staircase(scaled, _ZERO * float(np.linalg.norm(scaled, 2)) if len(A) else 0.0)
    return values, vectors * d[:, None]


def growing(A: np.ndarray) -> bool:
    """Whether something grows, beyond rounding: eigenvalues are known to that of A, times their condition."""
    if not len(A):
        return False
    d = _balanced(A)
    scaled = A * d / d[:, None]
    values, right = np.linalg.eig(scaled)
    try:
        with np.errstate(all="ignore"):
            sensitive = np.linalg.norm(np.linalg.inv(right), axis=1)
    except np.linalg.LinAlgError:  # chains of zeros, which are taken out
        values, sensitive = eigen(A)[0], np.ones(len(A))
    unsure = np.maximum(_GROWS * np.abs(values), _ZERO * np.linalg.norm(scaled, 2) * sensitive)
    return bool((values.real > unsure).any())


def _staircase(A: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors of A, whose singular values up to `least` are zeros: again and again, of what is left."""
    n = len(A)
    if not n:
        return np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex)
    _, sizes, right = np.linalg.svd(A)
    rank = int((sizes > least).sum())
    if rank == n:
        values, vectors = np.linalg.eig(A)
        return values + 0j, vectors + 0j
    L, K = right[:rank].T, right[rank:].T
    values, inside = _staircase(L.T @ A @ L, least)
    beside = K.T @ A @ L @ inside
    with np.errstate(all="ignore"):
        beside = np.where(values != 0, beside / values, 0.0)
    vectors = np.hstack([_plain(K) + 0j, L @ inside + K @ beside])
    return np.concatenate([np.zeros(n - rank), values]), vectors


def _plain(K: np.ndarray) -> np.ndarray:
    """The same space by vectors that are easier to read: in each, one of some chosen states moves, the others not."""
    rest, chosen = K.T.copy(), list[int]()
    for _ in range(K.shape[1]):
        size = np.linalg.norm(rest, axis=0)
        chosen.append(int(np.flatnonzero(size > 0.999 * size.max())[0]))
        along = rest[:, chosen[-1]] / np.linalg.norm(rest[:, chosen[-1]])
        rest = rest - np.outer(along, along @ rest)
    found: np.ndarray = K @ np.linalg.inv(K[chosen])
    return np.where(np.abs(found) > 1e-12, found, 0.0)


def _balanced(A: np.ndarray) -> np.ndarray:
    """Powers of two that make rows and columns of A alike in size, as units do not: A_ij d_j / d_i.

    What no other state depends on, or what depends on no other, has an eigenvalue of its own and is left out; it is
    measured so that it hides nothing slow, such as a count of 1e9 a metre.

    Reference: [Parlett, Reinsch, Balancing a matrix for calculation of eigenvalues and eigenvectors, 1969].
    """
    own, d = np.abs(np.diag(A)), np.ones(len(A))
    size = np.abs(A - np.diag(np.diag(A)))
    core, alone = _apart(size)
    inner, scale = size[np.ix_(core, core)], d[core]
    for _ in range(20):
        before = scale.copy()
        for i in range(len(core)):
            column, row = float((inner[:, i] * scale[i] / scale).sum()), float((inner[i] * scale / scale[i]).sum())
            if column > 0 and row > 0:
                scale[i] *= 2.0 ** np.round(0.5 * np.log2(row / column))
        if (scale == before).all():
            break
    d[core] = scale
    rates = np.concatenate([own, np.ravel(inner * scale / scale[:, None])])
    slowest = float(rates[rates > 0].min(initial=1.0))
    for i in reversed(alone):
        column, row = float((size[core, i] / d[core]).sum()), float((size[i, core] * d[core]).sum())
        if column > 0 or row > 0:
            d[i] = 2.0 ** np.round(np.log2(row / slowest if row > 0 else slowest / column))
        core.append(i)
    return d


def _apart(size: np.ndarray) -> tuple[list[int], list[int]]:
    """The states that depend on one another, and those that are alone once those before them are left out."""
    core, alone = list(range(len(size))), list[int]()
    more = True
    while more:
        more = False
        for i in list(core):
            others = [j for j in core if j != i]
            if not (size[i, others].any() and size[others, i].any()):
                core.remove(i)
                alone.append(i)
                more = True
    return core, alone


def columns(rows: Sequence[tuple[str, ...]], left: int = -1) -> str:
    """Text in columns, to the right but for those before `left`, or the last where it is -1."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    plain = range(left) if left >= 0 else [len(widths) - 1]

    def line(row: tuple[str, ...]) -> str:
        cells = [c.ljust(w) if i in plain else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        return "  ".join(cells).rstrip()

    return "\n".join(map(line, rows))


def html_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table for a notebook."""
    from html import escape

    def line(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"
