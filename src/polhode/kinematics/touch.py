"""Where bodies touch the ground, flat or with a relief z = h(x, y), or would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polhode.graph import Expr, Matrix, as_expr, cross, diff, sqrt, substitute, symbol, vector, zeros
from polhode.model import CompliantContact, Contact, Rolling

from .motion import Motion


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """The lowest point of a body above a plane, in the world.

    n      : the normal of the plane, of length 1; of ground with a relief, the gradient of the height
    height : of the point
    down   : to it from the marker of the body; lever : from that of the ground
    slip   : velocity of its material against the ground
    """

    n: Matrix
    height: Expr
    down: Matrix
    lever: Matrix
    slip: Matrix


def touch_of(kin: Motion, marker: str, touch: Rolling | Contact | CompliantContact) -> Touch:
    """Where a body touches the ground, or would.

    side = axis x n, of length cos(lean), keeps its digits where a disc is nearly flat.
    """
    body, ground = kin.pose(marker), kin.pose(touch.ground)
    radius = as_expr(0) if touch.radius is None else touch.radius
    n = ground.R[:, 2]
    fall, down = as_expr(0), zeros(3)
    if (relief := relief_of(touch)) is not None:
        at = ground.R.T @ (body.p - ground.p)
        fall, n = at_place(relief, at), ground.R @ at_place(upward(relief), at)
    elif touch.shape == "sphere":
        fall, down = radius, n * -radius
    elif touch.shape == "disc":
        axis = body.R @ touch.axis
        side = cross(axis, n)
        upright = sqrt(side @ side)
        fall, down = radius * upright, cross(axis, side) * (radius / upright)
    lever = body.p + down - ground.p
    V, G = kin.velocity(marker), kin.velocity(touch.ground)
    slip = V.v + cross(V.w, down) - G.v - cross(G.w, lever)
    return Touch(n=n, height=ground.R[:, 2] @ (body.p - ground.p) - fall, down=down, lever=lever, slip=slip)


def relief_of(touch: Rolling | Contact | CompliantContact) -> Expr | None:
    """The height of the ground above its plane, of x and y in its axes; None where it is flat."""
    return None if isinstance(touch, Rolling) else touch.relief


def upward(height: Expr) -> Matrix:
    """The gradient of z - h(x, y), in the axes of the ground: across it, with 1 along z."""
    x, y = symbol("x"), symbol("y")
    return vector([-diff(height, x), -diff(height, y), as_expr(1)])


def along_relief(height: Expr) -> tuple[Matrix, Matrix]:
    """Two unit vectors along the ground, right-handed with its normal N: (1, 0, dh/dx), and N x that."""
    N = upward(height)
    ahead = vector([as_expr(1), as_expr(0), -N[0]]) / sqrt(1 + N[0] * N[0])
    return ahead, cross(N, ahead) / sqrt(N @ N)


def steepness(kin: Motion, contact: Contact) -> Expr:
    """How much longer the force across the ground is than its part along z: sqrt(1 + (dh/dx)^2 + (dh/dy)^2)."""
    if contact.relief is None:
        return as_expr(1)
    n = touch_of(kin, contact.marker, contact).n
    return sqrt(n @ n)


def at_place(e: Any, at: Matrix) -> Any:
    """An expression of x and y where a point is, in the axes of the ground."""
    return substitute(e, {symbol("x"): at[0], symbol("y"): at[1]})
