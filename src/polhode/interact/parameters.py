"""Parameters of a machine that runs, set from a page without compiling again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polhode.model.errors import closest

from .loop import Realtime


class Parameters:
    """Values of the parameters that are not compiled in; one array, which all that draws and pulls reads.

    names : of the dynamics' own
    first : values of the beginning
    p     : values now, changed in place
    """

    def __init__(self, loop: Realtime) -> None:
        self._loop = loop
        self.names = tuple(loop.dynamics.parameters)
        self.first = loop.p
        self.p = loop.p

    def set(self, name: str, value: float, mass: Callable[[], np.ndarray]) -> None:
        """Have a parameter act from the next tick on; KeyError or ValueError says why not, and nothing changes.

        mass : the mass matrix by the values in `p`, at the state now; one that was positive has to stay so
        """
        if name not in self.names:
            raise KeyError(f"There is no parameter {name!r:.60} to set. {closest(name, self.names)}")
        k = self.names.index(name)
        before, was_positive = float(self.p[k]), is_positive(mass())
        self.p[k] = value
        try:
            if was_positive and not is_positive(mass()):
                raise ValueError(
                    f"Parameter {name!r} is {value:g}: something that moves would have no mass, or less than none. "
                    f"It stays at {before:g}."
                )
            self._loop.p = self.p
        except Exception:
            self.p[k] = before
            raise

    def look(self) -> None:
        """Have `p` be what the loop has, as a script may set parameters beside the page."""
        if self.names:
            self.p[:] = self._loop.p

    def act(self) -> None:
        """Have the values act again, where the loop was taken back to its beginning."""
        if self.names:
            self._loop.p = self.p

    @property
    def values(self) -> dict[str, float]:
        return dict(zip(self.names, self.p.tolist(), strict=True))


def is_positive(M: np.ndarray) -> bool:
    """Whether a matrix is one of masses: all numbers, and positive in every direction."""
    if not np.isfinite(M).all():
        return False
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True
