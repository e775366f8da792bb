"""What harmonic inputs do to outputs: G(s) = C (s - A)^-1 B + D at s = 2 pi i f, at poles too."""

from __future__ import annotations

import numpy as np

from .modes import eigen

_AT = 1e-13  # of a pole: nearer than that, a frequency is that of the pole
_POINTS = 32  # on a circle around it, of a quarter of the way to the next: 4^-32 is what they miss
_LEFT = 1e-11  # of the states on the circle: what is left of a pole in an output that does not see it


def response_of(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, f: np.ndarray) -> np.ndarray:
    """G at frequencies f in Hz, (k, outputs, inputs); infinite at poles, but for what does not see them."""
    s, poles = 2j * np.pi * f, eigen(A)[0]
    found = np.empty((len(f), *D.shape), dtype=complex)
    near = _beside(s[:, None], poles).any(axis=1)
    found[~near] = C @ _states(A, B, s[~near]) + D
    for k in np.flatnonzero(near):
        found[k] = _at_pole(A, B, C, D, complex(s[k]), poles)
    return found


def _beside(s: np.ndarray | complex, poles: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.abs(s - poles) <= _AT * np.abs(poles)
    return found


def _states(A: np.ndarray, B: np.ndarray, s: np.ndarray) -> np.ndarray:
    """(s - A)^-1 B, (k, n, inputs)."""
    shifted = s[:, None, None] * np.eye(len(A)) - A
    with np.errstate(all="ignore"):
        return np.linalg.solve(shifted, np.broadcast_to(B.astype(complex), (len(s), *B.shape)))


def _at_pole(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, s: complex, poles: np.ndarray) -> np.ndarray:
    """G at a pole, from its Laurent series there, whose terms are means over a circle: infinite, or its term 0.

    c_k = 1/N sum_j G(s + r w^j) (r w^j)^-k,   w = exp(2 pi i / N)
    """
    others = np.abs(s - poles)[~_beside(s, poles)]
    turns = np.exp(2j * np.pi * np.arange(_POINTS) / _POINTS)
    states = _states(A, B, s + turns * float(others.min(initial=max(1.0, abs(s)))) / 4)
    terms = np.fft.fft(C @ states + D, axis=0) / _POINTS  # of r^k: 0, 1, ..., and the negative ones from the end
    size = np.abs(C).sum(axis=1)[:, None] * np.abs(states).max(axis=(0, 1))
    infinite = np.abs(terms[_POINTS // 2 :]).max(axis=0) > _LEFT * size
    return np.where(infinite, np.inf, terms[0].real if s == 0 else terms[0])
