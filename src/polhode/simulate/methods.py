"""The integrators by name."""

from __future__ import annotations

from typing import Any, NamedTuple

from polhode.kernels import adaptive, fixed, stiff
from polhode.kernels.stepping import COLLAPSE, DONE, MORE

__all__ = ["COLLAPSE", "DONE", "METHODS", "MORE", "Method"]


class Method(NamedTuple):
    """A kernel, the rows of scratch it needs, and whether its step is fixed."""

    name: str
    advance: Any
    stages: int
    fixed: bool


METHODS = {
    name: Method(name, getattr(module, name), module.STAGES[name], module is fixed)
    for module in (adaptive, stiff, fixed)
    for name in module.STAGES
}
