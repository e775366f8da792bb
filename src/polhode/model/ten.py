"""The ten parameters of inertia of a rigid body, about its origin, and their names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from polhode.graph import Expr, matrix, vector
from polhode.spatial import Inertia

STANDARD = ("m", "mcx", "mcy", "mcz", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")  # of a rigid body, about its origin


def standard(inertia: Inertia) -> tuple[Expr, ...]:
    """The ten parameters of an inertia, in the order of STANDARD."""
    I = inertia.I
    return (inertia.m, *inertia.h, I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])


def inertia_of(ten: Iterable[Expr]) -> Inertia:
    """The inertia with ten parameters."""
    m, x, y, z, xx, yy, zz, xy, xz, yz = ten
    return Inertia(m, vector([x, y, z]), matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def named_for(body: str) -> tuple[str, ...]:
    """The names of the parameters of a body: m_link, mcx_link, ..., Iyz_link."""
    plain = re.sub(r"\W+", "_", body)
    return tuple(f"{name}_{plain}" for name in STANDARD)
