"""Bodies that deform, as numbers: where their sections are, and by how much that is magnified."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from polhode.graph import Expr
from polhode.model.flexible import Flexible, Station

from .solid import numbers

SEEN = 0.1  # of the length of a body: by so much it should bend at most where the magnification is chosen
TURNED = 0.5  # rad, by which its sections should turn at most
MOST = 1e6  # what would have to be magnified more is not seen


class Sections:
    """Stations of a body that deforms, evaluated once.

    p, Phi, Psi : (n, 3), (n, 3, m), (n, 3, m)
    g           : (n, 3, m, m), 0 where the field is linear
    """

    def __init__(self, stations: Sequence[Station], values: Mapping[Expr, float]) -> None:
        n, m = len(stations), stations[0].Phi.shape[1]

        def array(parts: Iterable[Iterable[Expr]], *shape: int) -> np.ndarray:
            return numbers([e for part in parts for e in part], values).reshape(n, *shape)

        self.p = array((s.p for s in stations), 3)
        self.Phi = array((s.Phi.entries for s in stations), 3, m)
        self.Psi = array((s.Psi.entries for s in stations), 3, m)
        self.g = np.zeros((n, 3, m, m))
        for i, station in enumerate(stations):
            if station.g:
                second = numbers([e for row in station.g for g in row for e in g], values)
                self.g[i] = np.moveaxis(second.reshape(m, m, 3), 2, 0)

    def poses(self, d: np.ndarray) -> np.ndarray:
        """Where they are in the body, (k, n, 4, 4), at amplitudes d, (k, m).

        p + Phi d + 1/2 g d d, turned by exp(skew(Psi d)).
        """
        found = np.zeros((len(d), len(self.p), 4, 4))
        found[..., 3, 3] = 1
        found[..., :3, 3] = self.p + _by(self.Phi, d) + np.einsum("niab,ka,kb->kni", self.g, d, d, optimize=True) / 2
        found[..., :3, :3] = turned(_by(self.Psi, d))
        return found

    def largest(self, d: np.ndarray) -> tuple[float, float]:
        """The largest displacement, and the largest rotation of a section, at amplitudes d, (k, m)."""
        moved, turns = (float(np.linalg.norm(_by(part, d), axis=-1).max(initial=0)) for part in (self.Phi, self.Psi))
        return moved, turns


def _by(shapes: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Shapes (n, 3, m) times amplitudes (k, m): (k, n, 3)."""
    n, _, m = shapes.shape
    found: np.ndarray = (d @ shapes.reshape(3 * n, m).T).reshape(len(d), n, 3)
    return found


def turned(th: np.ndarray) -> np.ndarray:
    """exp(skew(th)), (..., 3, 3), of rotation vectors (..., 3)."""
    t = np.linalg.norm(th, axis=-1)[..., None, None]
    K = np.zeros((*th.shape, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        K[..., j, i], K[..., i, j] = th[..., k], -th[..., k]
    found: np.ndarray = np.eye(3) + np.sinc(t / np.pi) * K + np.sinc(t / (2 * np.pi)) ** 2 / 2 * K @ K
    return found


def check_magnify(magnify: Any) -> None:
    """Refuse what is no magnification."""
    plain = isinstance(magnify, Real) and not isinstance(magnify, bool)
    if magnify != "auto" and not (plain and math.isfinite(magnify) and magnify > 0):
        raise ValueError(f'magnify is {magnify!r:.60}, expected a number above 0, such as 10, or "auto".')


def magnification(
    magnify: float | str, bodies: Sequence[tuple[Flexible, np.ndarray]], values: Mapping[Expr, float]
) -> float:
    """By how much amplitudes are multiplied in a picture; 1 where nothing deforms.

    "auto" is the largest of 1, 2, 5, 10, 20, ... by which no body bends by more than SEEN of its length or turns
    a section by more than TURNED; never less than 1, and 1 where it would be more than MOST.

    bodies : what deforms, with its amplitudes at all times, (k, m)
    """
    check_magnify(magnify)
    if not bodies:
        return 1.0
    if not isinstance(magnify, str):
        return float(magnify)
    most = math.inf
    for flexible, d in bodies:
        stations = [station for line in flexible.lines for station in line] or [flexible.root]
        moved, turns = Sections(stations, values).largest(d)
        share = moved / float(numbers([flexible.length], values)[0])
        most = min(most, SEEN / share if share > 0 else math.inf, TURNED / turns if turns > 0 else math.inf)
    if most > MOST:  # rounding, or nothing at all
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return max(1.0, power * next(x for x in (5, 2, 1) if x * power <= most))
