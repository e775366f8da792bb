"""What a fit found, and how well it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_NOTHING = 1e-9  # of the largest singular value: a direction of which the data say nothing
_VAGUE = 1.0  # standard deviations of a parameter, of its value
_BEYOND = 6.0  # deviations of the sum of squares that chance does not reach
_LEFT = 0.5  # values of a column beyond the unknowns that it tells, of which its noise is found
_SHOWN = 0.1  # of the largest part of a direction


class FitWarning(UserWarning):
    """The data do not tell all that was asked of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """Parameters by least squares, with intervals.

    values     : by name; start : the first guesses
    deviations : standard deviations, by name; infinite where the data say nothing
    intervals  : (least, most) by name, that hold the true value in `confidence` of all cases
    covariance, correlation : (n, n), in the order of `names`
    noise      : standard deviations by measured column; given or found
    unknown    : directions of which the data say nothing, each by name, with its largest part 1
    residuals  : (N,), in standard deviations
    chi2       : their sum of squares, by N - n
    """

    model: str
    names: tuple[str, ...]
    x: np.ndarray
    start: tuple[float, ...]
    confidence: float
    covariance: np.ndarray
    half: np.ndarray
    noise: dict[str, float]
    unknown: tuple[dict[str, float], ...]
    residuals: np.ndarray
    singular_values: np.ndarray
    loss: str
    finished: bool
    reason: str
    evaluations: int
    notes: tuple[str, ...]

    @property
    def values(self) -> dict[str, float]:
        return dict(zip(self.names, self.x.tolist(), strict=True))

    @property
    def deviations(self) -> dict[str, float]:
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        ends = zip((self.x - self.half).tolist(), (self.x + self.half).tolist(), strict=True)
        return dict(zip(self.names, ends, strict=True))

    @property
    def correlation(self) -> np.ndarray:
        size = np.sqrt(np.diag(self.covariance))
        with np.errstate(invalid="ignore", divide="ignore"):
            found: np.ndarray = self.covariance / np.outer(size, size)
        return found

    @property
    def chi2(self) -> float:
        return float(self.residuals @ self.residuals) / max(len(self.residuals) - len(self.x), 1)

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def __str__(self) -> str:
        width = max(9, *(len(name) for name in self.names))
        title = f"{self.confidence:.4g}".removeprefix("0.")
        share = f"{100 * self.confidence:.4g} % interval" if title else ""
        lines = [
            f"Fit of {self.model!r}: {len(self.residuals):,} measured values, {len(self.names)} unknowns",
            "",
            f"{'':{width}}  {'value':>11}  {'deviation':>10}  {share:>26}",
        ]
        for i, name in enumerate(self.names):
            off = self.deviations[name]
            if np.isfinite(off):
                low, high = self.intervals[name]
                span = f"{low:>11.5g} to {high:>11.5g}"
                lines.append(f"{name:{width}}  {self.x[i]:>11.5g}  {off:>10.2g}  {span:>26}")
            else:
                lines.append(f"{name:{width}}  {self.x[i]:>11.5g}  {'unknown':>10}  {'the data do not tell':>26}")
        lines += ["", "noise  " + ", ".join(f"{name} {size:.3g}" for name, size in self.noise.items())]
        if not self.finished:
            lines.append(f"Not finished: {self.reason}")
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__


def doubtful(
    problem: tuple[np.ndarray, np.ndarray], x: np.ndarray, names: Sequence[str], *, start: Sequence[float], loss: str,
    confidence: float, columns: Sequence[str], sigma: np.ndarray, known: np.ndarray, places: np.ndarray,
    evaluations: int, reason: str, finished: bool, model: str, bounded: np.ndarray, follow: Mapping[str, float],
) -> Fit:  # fmt: skip
    """Covariances and intervals from residuals and their derivatives, and what is doubtful.

    known  : whether the noise of each column was given; places : the column of each residual

    Columns of J are scaled by the sizes of the parameters: so a direction is one of relative changes.
    """
    from scipy import stats

    given = bool(known.all())

    r, J = problem
    n, N = len(x), len(r)
    size = np.maximum(np.abs(x), np.abs(np.array(start)))
    size = np.where(size > 0, size, 1.0)
    U, s, Vt = np.linalg.svd(J * size, full_matrices=False) if n <= N else np.linalg.svd(J * size)
    s = np.concatenate([s, np.zeros(n - len(s))])
    told = s > _NOTHING * s.max(initial=0)
    free = max(N - n, 1)
    factor = _variance(r, loss, free, n) if not (given and loss == "linear") else 1.0
    root = size[:, None] * Vt[told].T / s[told]
    covariance = factor * root @ root.T
    unknown, lost = [], np.zeros(n, dtype=bool)
    for v in Vt[~told]:
        part = v / v[np.argmax(np.abs(v))]
        lost |= np.abs(part) > _SHOWN
        unknown.append({name: float(e) for name, e in zip(names, part, strict=True) if abs(e) > _SHOWN})
    covariance[lost] = covariance[:, lost] = np.nan
    covariance[lost, lost] = np.inf
    deviation = np.sqrt(np.diag(covariance))
    quantile, spent = np.full(n, stats.norm.ppf((1 + confidence) / 2)), np.zeros(len(known), dtype=bool)
    if not given:
        left = np.bincount(places, minlength=len(known)) - leverages(J, places, len(known))
        shares = ((root @ U[:, np.flatnonzero(told)].T) ** 2).T
        by = np.zeros((len(known), n))
        np.add.at(by, places, shares)
        over = np.where(known, 0.0, 1 / np.maximum(left, 1))
        quantile, spent = stats.t.ppf((1 + confidence) / 2, _freedom(by, over)), ~known & (left < _LEFT)
    notes = [_said(each) for each in unknown]
    if spent.any():
        which = ", ".join(name for name, on in zip(columns, spent, strict=True) if on)
        notes.append(
            f"The noise of {which} is not known: its values are as few as the unknowns that they tell. Intervals "
            "have no bounds; give noise=, or more data."
        )
        quantile, deviation = np.full(n, np.inf), np.where(deviation > 0, deviation, 1e-300)
    vague = [name for name, d, e in zip(names, deviation, size, strict=True) if np.isfinite(d) and d > _VAGUE * e]
    if vague:
        notes.append(f"The data hardly tell {', '.join(vague)}: deviations are as large as the values.")
    at = [name for name, on in zip(names, bounded, strict=True) if on]
    if at:
        notes.append(f"At its bound: {', '.join(at)}. Intervals do not hold there; widen the bounds.")
    for name, along in follow.items():
        notes.append(
            f"Residuals of {name} follow one another, with a correlation of {along:.2f} from sample to sample: the "
            "machine lacks something, such as a force or a delay, and intervals are too narrow."
        )
    chi2, expected = float(r @ r) / free, 1 + _BEYOND * np.sqrt(2 / free)
    if given and loss == "linear" and chi2 > expected:
        notes.append(
            f"Residuals are {np.sqrt(chi2):.3g} times as large as noise= says: the machine lacks something, or noise "
            "is larger, and intervals are too narrow. Without noise= it is found from the residuals."
        )
    if not finished:
        notes.append(f"The fit did not finish: {reason} Start nearer, or give most=.")
    return Fit(
        model=model, names=tuple(names), x=x, start=tuple(map(float, start)), confidence=confidence,
        covariance=covariance, half=quantile * deviation, noise=dict(zip(columns, sigma.tolist(), strict=True)),
        unknown=tuple(unknown), residuals=r, singular_values=s, loss=loss, finished=finished, reason=reason,
        evaluations=evaluations, notes=tuple(notes),
    )  # fmt: skip


def leverages(J: np.ndarray, places: np.ndarray, columns: int) -> np.ndarray:
    """How many unknowns each column of the data tells, (columns,): sums of what residuals weigh in their own fit."""
    size = np.linalg.norm(J, axis=0)
    U, s, _ = np.linalg.svd(J / np.where(size > 0, size, 1.0), full_matrices=False)
    weights = (U[:, s > _NOTHING * s.max(initial=0)] ** 2).sum(axis=1)
    return np.bincount(places, weights, minlength=columns)


def _freedom(by: np.ndarray, over: np.ndarray) -> np.ndarray:
    """Degrees of freedom of variances that are sums over columns, (columns, n), of which each has 1 / over.

    Reference: [Satterthwaite, An approximate distribution of estimates of variance components, 1946].
    """
    spread = (by**2 * over[:, None]).sum(axis=0)
    return np.where(spread > 0, by.sum(axis=0) ** 2 / np.where(spread > 0, spread, 1.0), np.inf)


def _said(direction: dict[str, float]) -> str:
    if len(direction) == 1:
        return f"The data do not tell {next(iter(direction))}: nothing that was measured depends on it."
    parts = ", ".join(f"{name} by {100 * e:+.0f} %" for name, e in direction.items())
    return f"The data do not tell these apart: what was measured stays as it is where one changes {parts}."


def _variance(r: np.ndarray, loss: str, free: int, n: int) -> float:
    """What the inverse of J^T J is multiplied by.

    K^2 sum psi^2 / (N - n) / mean(psi')^2,  K = 1 + n/N var(psi') / mean(psi')^2

    Reference: [Huber, Robust Statistics, 7.6]; without K deviations are too small where data are few.
    """
    z = r * r
    slopes: Any = {
        "linear": lambda: (np.ones_like(z), np.zeros_like(z)),
        "soft_l1": lambda: ((1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
        "huber": lambda: (np.where(z <= 1, 1.0, np.maximum(z, 1) ** -0.5),
                          np.where(z <= 1, 0.0, -0.5 * np.maximum(z, 1) ** -1.5)),
        "cauchy": lambda: (1 / (1 + z), -1 / (1 + z) ** 2),
    }  # fmt: skip
    first, second = slopes[loss]()
    psi, dpsi = first * r, first + 2 * second * z
    K = 1 + n / len(r) * dpsi.var() / dpsi.mean() ** 2
    return float(K**2 * (psi @ psi) / free / dpsi.mean() ** 2)
