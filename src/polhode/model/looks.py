"""How bodies look: shapes that pictures draw in place of bars between joints. They weigh nothing."""

from __future__ import annotations

from collections.abc import Iterator

from polhode.graph import Expr, Matrix
from polhode.spatial import Mesh

from . import fields
from .elements import Element, element

# how many points a kind has; a wire has that many or more, and a mesh none or four
POINTS = {"box": 2, "sphere": 1, "cylinder": 2, "wire": 2, "capsule": 2, "mesh": 4}
ROLES = ("body", "joint", "stand", "quiet", "accent")


@element
class Look(Element):
    """A shape fixed to a body or marker, for pictures: a body that has any is drawn by them alone.

    marker : the body or marker in whose axes the points are
    kind   : "box" from one corner to the opposite one, along the axes; "sphere" about a point; "cylinder" from
             point to point, "capsule" the same with round ends; "wire" through points; "mesh", a surface
    points : as many as the kind has; of a mesh none where it is in place, else where its origin goes, and the points
             at 1 along its axes: [[0, 0, 0], [0.001, 0, 0], [0, 0.001, 0], [0, 0, 0.001]] for one in mm
    width  : the diameter of a sphere, a cylinder, a capsule or a wire
    role   : what its colour says, "body" for the colour of the body
    mesh   : a Mesh; vertices (n, 3) with triangles (m, 3); a file .stl, .obj, .dae, .msh or .npz, which is read when
             it is drawn; or "box", "sphere" or "cylinder", of size 1 about the origin, the last one along z
    color  : "#rrggbb", or with how much is seen of it "#rrggbbaa", instead of that of the role
    """

    table = "shape"
    named = "shape of {marker}"
    positional = 2

    name: str
    marker: str = fields.marker()
    kind: str = fields.choice(POINTS, "box")
    points: tuple[Matrix, ...] = fields.points(())
    width: Expr = fields.scalar(0, least=0)
    role: str = fields.choice(ROLES, "body")
    mesh: Mesh | str | None = fields.surface()
    color: str = fields.color()

    def faults(self) -> Iterator[str]:
        yield from Element.faults(self)
        few, n = POINTS[self.kind], len(self.points)
        if (self.mesh is None) == (self.kind == "mesh"):
            said = 'is a mesh and has none, expected mesh="part.stl"' if self.mesh is None else "has a mesh"
            yield f"{self.what}: {said}" + (
                f', expected kind="mesh", found {self.kind!r}.' if self.mesh is not None else "."
            )
        if self.kind == "mesh":
            if n not in (0, few):
                yield f"{self.what}: a mesh has {n} points, expected none, or 4: its origin and 1 along each axis."
            return
        if n < few or (n > few and self.kind != "wire"):
            many = f"{few} or more" if self.kind == "wire" else few
            yield f"{self.what}: a {self.kind} has {n} points, expected {many}."
        if self.kind != "box" and self.width == 0:
            yield f"{self.what}: a {self.kind} without a width cannot be seen. Give its diameter, width=0.02."
