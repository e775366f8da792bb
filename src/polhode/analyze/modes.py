"""The modes of a linear model: eigenvalues, frequencies, damping and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_ZERO = 1e-7  # of the largest eigenvalue: double zeros, of what only drifts, are found to the root of rounding

_HEAD = ("eigenvalue [1/s]", "[Hz]", "damping", "time constant [s]", "moves most")


@dataclass(frozen=True, kw_only=True)
class Modes:
    """The modes, one of each conjugate pair, in order of frequency, then from the slowest.

    eigenvalues : (k,), complex, the one with positive imaginary part of a pair  [1/s]
    frequencies : (k,), natural frequencies |eigenvalue| / 2 pi  [Hz]
    damping     : (k,), ratios -re / |eigenvalue|: 1 for what decays without swinging, -1 for what grows so; NaN of 0
    shapes      : (n, k), complex, by states; the largest entry of each is 1
    states      : names of the rows of shapes
    whole       : names of all coordinates, speeds and states, and their shapes, (N, k): what the constraints tie too
    """

    eigenvalues: np.ndarray
    frequencies: np.ndarray
    damping: np.ndarray
    shapes: np.ndarray
    states: tuple[str, ...]
    whole: tuple[str, ...]
    whole_shapes: np.ndarray

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def stable(self) -> bool:
        """Whether all modes decay."""
        return bool((self.eigenvalues.real < 0).all())

    def shape(self, mode: int) -> dict[str, complex]:
        """The shape of a mode by name, of all coordinates, speeds and states."""
        return dict(zip(self.whole, self.whole_shapes[:, mode].tolist(), strict=True))

    def largest(self, mode: int, count: int = 3) -> list[str]:
        """The states that move most in a mode."""
        size = np.abs(self.shapes[:, mode])
        return [self.states[i] for i in np.argsort(-size, kind="stable")[:count] if size[i] > 0.05]

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Eigenvalue, frequency, damping, time constant and largest states as text, a row a mode."""
        found = []
        for k, value in enumerate(self.eigenvalues):
            pair = f" ± {value.imag:.6g}i" if value.imag else ""
            swings = f"{self.frequencies[k]:.5g}" if value.imag else ""
            ratio = f"{self.damping[k] + 0.0:.4g}" if value.imag else ""
            slow = f"{1 / abs(value.real):.4g}" if abs(value.real) > 1e-12 * max(abs(value), 1e-300) else ""
            growing = " grows" if value.real > 0 and slow else ""
            found.append((f"{value.real + 0.0:.6g}{pair}", swings, ratio, slow + growing, ", ".join(self.largest(k))))
        return found

    def __str__(self) -> str:
        return columns([_HEAD, *self.rows()])

    def _repr_html_(self) -> str:
        return html_table(_HEAD, self.rows())


def modes_of(
    states: tuple[str, ...], whole: tuple[str, ...], lift: np.ndarray, values: np.ndarray, vectors: np.ndarray
) -> Modes:
    """Sort eigenvalues and vectors into modes."""
    values = np.where(np.abs(values) <= _ZERO * np.abs(values).max(initial=0), 0.0, values)
    values = values + 0j
    upper = [k for k, v in enumerate(values) if v.imag >= 0]
    order = sorted(upper, key=lambda k: (values[k].imag > 0, round(abs(values[k]), 12), values[k].real))
    values, vectors = values[order], vectors[:, order]
    size = np.abs(values)
    with np.errstate(all="ignore"):
        damping = np.where(size > 0, -values.real / size, np.nan)
    shapes = np.array(vectors, dtype=complex)
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
    )


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
