"""Symbols for what comes from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polhode.graph import Matrix, symbol, vector

if TYPE_CHECKING:
    from .equations import Equations


def fresh(prefix: str, eq: Equations) -> Matrix:
    """Symbols for an input, one per speed, that mean nothing else in the equations."""
    taken = {*eq.parameters, *eq.q, *eq.u, *eq.z}
    while any(symbol(f"{prefix}_{s.value}") in taken for s in eq.u):
        prefix += "_"
    return vector([symbol(f"{prefix}_{s.value}") for s in eq.u])
