"""Bodies without a joint: what is welded together is one rigid body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from polhode.graph import as_expr, zeros
from polhode.spatial import Inertia, Pose

from .body import WORLD, Body, Marker
from .elements import Element
from .named import weld

if TYPE_CHECKING:
    from .model import Model


def rigid_hosts(bodies: Iterable[Body], markers: Iterable[Marker]) -> dict[str, str]:
    """What every frame is fixed to, through any number of welds: a body that moves, or the world.

    On a body that deforms every frame moves by itself.
    """
    found, flexible = {WORLD: WORLD}, set()
    for body in bodies:
        alone = body.joint.nu or body.parent in flexible or body.flexible is not None
        found[body.name] = body.name if alone else found.get(body.parent, body.parent)
        if body.flexible is not None:
            flexible.add(body.name)
    own = {m.name: m.name if m.body in flexible else found.get(m.body, m.body) for m in markers}
    return found | own


def tied(part: Element, hosts: Mapping[str, str]) -> str | None:
    """The one thing that a part pulls or holds against itself, None for a part between two.

    A knife edge is between its marker and the world.
    """
    found = [hosts.get(end) for end in part.between()]
    return found[0] if len(found) == 2 and found[0] == found[1] else None


def merged(model: Model) -> Model:
    """The same model with welded bodies made part of what they are welded to.

    Their frames stay as markers; what is welded to the world no longer counts as mass. Bodies that deform, and what
    is welded to one, stay as they are; hubs that move in them become bodies of their own.
    """
    flexible = {body.name for body in model.bodies if body.flexible is not None}
    if all(body.joint.nu or body.name in flexible for body in model.bodies) and not any(map(_moves_hub, model.bodies)):
        return model
    host: dict[str, tuple[str, Pose]] = {WORLD: (WORLD, Pose.identity())}
    kept: dict[str, Body] = {}
    markers = []
    for body in model.bodies:
        name, X_HP = host[body.parent]
        pose = X_HP @ body.pose
        if body.joint.nu or body.name in flexible or name in flexible:
            kept |= {part.name: part for part in _with_hub(replace(body, parent=name, pose=pose))}
            host[body.name] = (body.name, Pose.identity())
            continue
        host[body.name] = (name, pose)
        markers.append(Marker(name=body.name, body=name, pose=pose))
        if name != WORLD:
            kept[name] = replace(kept[name], welded=kept[name].welded + pose @ body.total)
    for marker in model.markers:
        name, X_HB = host[marker.body]
        markers.append(replace(marker, body=name, pose=X_HB @ marker.pose))
    # what was checked body by body is not judged again as a sum
    return replace(model, bodies=tuple(kept.values()), markers=tuple(markers), literal=True)


def _moves_hub(body: Body) -> bool:
    """Whether a body deforms so that its hub, which its joint holds, moves in its frame."""
    return body.flexible is not None and body.total != Inertia.zero() and not body.flexible.root.still


def _with_hub(body: Body) -> list[Body]:
    """A body, after its hub where that is a body of its own."""
    if not _moves_hub(body):
        return [body]
    hub = replace(body, name=f"{body.name} hub", flexible=None)
    bare = replace(body, mass=as_expr(0), com=zeros(3), inertia=zeros(3, 3), welded=Inertia.zero())
    return [hub, replace(bare, parent=hub.name, pose=Pose.identity(), joint=weld(name=f"{body.name} end"))]
