"""A model as a table, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

from .beam import Beam
from .fields import short

if TYPE_CHECKING:
    from .body import Body
    from .model import Model

MOST_ROWS = 60
LEFT = "text-align:left;vertical-align:top"


def table(model: Model) -> str:
    """Draw bodies, then what acts between them, each with what was said of it."""
    counts = f"{len(model.bodies)} bodies, nq = {model.nq}, nu = {model.nu}" + (
        f", nz = {model.nz}" if model.nz else ""
    )
    facts = [f"gravity ({', '.join(short(e) for e in model.gravity)})"]
    facts += [f"parameters {', '.join(map(str, model.parameters))}"] if model.parameters else []
    bodies = rows(("body", "on", "joint", "coordinates", "mass", "centre of mass"), map(_body, model.bodies))
    parts = [(part.name, part.described()) for part in (*model.forces, *model.constraints, *model.states)]
    others = rows(("element", ""), parts) if parts else ""
    return f"<div><b>{escape(model.name)}</b>: {escape(counts)}<br>{escape('; '.join(facts))}</div>{bodies}{others}"


def _body(body: Body) -> tuple[str, ...]:
    joint, hub = body.joint, body.mass + body.welded.m
    mass = short(hub) if body.flexible is None or hub != 0 else ""
    if body.flexible is not None:
        kind = "beam" if isinstance(body.flexible, Beam) else "flexible"
        mass = f"{kind} {short(body.flexible.inertia.m)}" + (f", hub {mass}" if mass else "")
    com = "" if mass in ("0", "") else f"({', '.join(short(e) for e in body.com)})"
    moves = ", ".join((*joint.coordinates(), *body.modes))
    return body.name, body.parent, joint.kind, moves, mass, com


def rows(heads: Iterable[str], cells: Iterable[Iterable[str]]) -> str:
    """A table of text, with its first rows where there are many."""
    listed = [list(map(escape, row)) for row in cells]
    head = "".join(f'<th style="{LEFT}">{escape(name)}</th>' for name in heads)
    shown = "".join(
        f"<tr>{''.join(f'<td style={chr(34)}{LEFT}{chr(34)}>{cell}</td>' for cell in row)}</tr>"
        for row in listed[:MOST_ROWS]
    )
    more = f"<div>... and {len(listed) - MOST_ROWS} more</div>" if len(listed) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{shown}</tbody></table>{more}"
