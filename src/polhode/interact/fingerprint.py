"""What tells one model from another: a number of all that its motion depends on, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.graph import Expr, Matrix

LOOKS = ("name", "shapes", "notes", "keyframes", "sensors")  # of a model: nothing moves otherwise by these
LONG = 16  # characters


def fingerprint(dynamics: Dynamics) -> str:
    """Of the model of some equations, their coordinates and speeds, and the values that are compiled in."""
    eq = dynamics.equations
    told = {f.name: getattr(eq.model, f.name) for f in fields(eq.model) if f.name not in LOOKS}
    values = sorted((str(s), float(e)) for s, e in dynamics.values.items())
    whole = told, eq.method, eq.q, eq.u, eq.z, tuple(eq.kinematics.embedded), values, dynamics.parameters
    found = hashlib.sha256()
    for word in _words(whole):
        found.update(word.encode() + b"\0")
    return found.hexdigest()[:LONG]


def _words(part: Any) -> Iterator[str]:
    """All that is in something, in its order."""
    yield type(part).__name__
    if isinstance(part, Expr):
        yield f"{part.rank:x}"
    elif isinstance(part, Matrix):
        yield f"{part.shape} {' '.join(f'{e.rank:x}' for e in part.entries)}"
    elif isinstance(part, np.ndarray):
        yield f"{part.shape} {part.dtype}"
        yield part.tobytes().hex()
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _words(key)
            yield from _words(value)
    elif isinstance(part, (tuple, list)):
        yield str(len(part))
        for value in part:
            yield from _words(value)
    elif isinstance(part, (set, frozenset)):
        yield from sorted(" ".join(_words(value)) for value in part)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _words(getattr(part, field.name))
    else:
        yield repr(part)
