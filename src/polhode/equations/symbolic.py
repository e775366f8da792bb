"""Models with symbols in the place of the inertias of their bodies, to identify these."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polhode.graph import as_expr, symbol, zeros
from polhode.model import Body, Model
from polhode.model.errors import closest
from polhode.model.ten import inertia_of, named_for, standard

from .formulate import formulate


def symbolic_inertias(model: Model, bodies: Iterable[str] | None = None) -> tuple[Model, dict[str, float]]:
    """The model with symbols for the inertias of its bodies, and the numbers that they had.

    Of each body its mass m_NAME, first moments mcx_NAME, mcy_NAME, mcz_NAME (mass times centre of mass) and moments and
    products of inertia Ixx_NAME ... Iyz_NAME, all about the body's origin and axes. Bodies that are welded together
    are one body, with the name of the one that its joint carries.

    What has no part in the forces stays a number, as most of what a first hinge carries. Give the numbers, or others,
    as p= of calls, or fold them in with compile(values=...).

    bodies : names of bodies; None for all that have inertia, in numbers, and are rigid and no rotors
    """
    whole = model.merged()
    known = [body.name for body in whole.bodies]
    if bodies is None:
        chosen = [body.name for body in whole.bodies if _is_plain(body)]
    else:
        chosen = [bodies] if isinstance(bodies, str) else list(bodies)
        for name in chosen:
            if name not in known:
                raise KeyError(f"symbolic_inertias: there is no body {name!r} that moves. {closest(name, known)}")
            if not _is_plain(whole.body(name), empty=True):
                raise ValueError(
                    f"symbolic_inertias: body {name!r} deforms, is a rotor or has symbols already, expected a rigid "
                    "body in numbers. Leave it out."
                )
    found = formulate(whole, "denoc").regressor()
    acting = {name for name, column in zip(found.names, found.Y.T.rows(), strict=True) if any(e != 0 for e in column)}
    taken = {str(s.value) for s in whole.parameters} | {*whole.coordinates, *whole.speeds}
    made, values = list[Body](), dict[str, float]()
    for body in whole.bodies:
        if body.name not in chosen:
            made.append(body)
            continue
        listed = named_for(body.name)
        named = [f"{name}_" if name in taken else name for name in listed]
        ten = [*standard(body.total)]
        for k, (name, own) in enumerate(zip(listed, named, strict=True)):
            if name in acting:
                values[own] = float(ten[k].number or 0.0)
                ten[k] = symbol(own)
        zero = as_expr(0)
        made.append(replace(body, mass=zero, com=zeros(3), inertia=zeros(3, 3), welded=inertia_of(ten)))
    return replace(whole, bodies=tuple(made), literal=True), values


def _is_plain(body: Body, empty: bool = False) -> bool:
    if body.flexible is not None or body.rotor:
        return False
    numbers = [e.number for e in standard(body.total)]
    return None not in numbers and (empty or any(numbers))
