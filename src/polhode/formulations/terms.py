"""What every formulation returns, and who shares what with whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from polhode.graph import Matrix
from polhode.kinematics import Motion


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseSlopes:
    """d(M udot + c) by small changes of q, and by u: (nu, nx) and (nu, nu)."""

    q: Matrix
    u: Matrix


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms of M udot + velocity + gravity = forces + tau, each made when asked for.

    kinematics : of the speeds that the equations are written in
    mass       : makes M (nu, nu), symmetric, both triangles filled
    velocity   : makes (nu,), quadratic in the speeds
    gravity    : makes (nu,)
    forces     : makes (nu,), of the model's own force laws
    convective : makes C (nu, nu) with C u = velocity
    inverse    : where there is a recursion, M udot + velocity + gravity for a given udot
    forward    : where there is one, the udot for given generalised forces; a second argument, (nu,), is inertia
                 beside the armatures
    slopes     : where there are closed forms, the slopes of `inverse` for a given udot by small changes of q and by u;
                 None for machines that they do not hold for
    limbs      : of "quasicoordinate", which the machine was divided into
    """

    kinematics: Motion
    mass: Callable[[], Matrix]
    velocity: Callable[[], Matrix]
    gravity: Callable[[], Matrix]
    forces: Callable[[], Matrix]
    convective: Callable[[], Matrix]
    inverse: Callable[[Matrix], Matrix] | None = None
    forward: Callable[..., Matrix] | None = None
    slopes: Callable[[Matrix], InverseSlopes | None] | None = None
    limbs: tuple[Any, ...] | None = None


SHARED = {"mass": ("poincare", "denoc"), "forces": ("poincare", "denoc", "book")}  # one function for several methods


DEFORMING = {  # of bodies that deform: momenta and what deforming needs come from `spatial.modal`, for all but "book"
    "mass": (("poincare", "denoc", "lagrange", "quasicoordinate", "kane"),),
    "velocity": (("denoc", "quasicoordinate"), ("poincare", "lagrange", "kane")),
}


def sources(terms: Sequence[str], methods: Sequence[str], deforming: bool = False) -> list[tuple[str, ...]]:
    """The methods, those together that have one function for one of the terms: they cannot disagree in it.

    What every method reads, and none computes for itself: links, poses, twists, and the laws of forces.
    """
    groups = [{*SHARED.get(term, ())} for term in terms]
    groups += [{*group} for term in terms if deforming for group in DEFORMING.get(term, ())]
    found: list[tuple[str, ...]] = []
    for method in methods:
        others = [g for g in found if any(method in group and group & {*g} for group in groups)]
        found = [g for g in found if g not in others] + [(*(m for g in others for m in g), method)]
    return found
