"""Sensors of a model as expressions of q, u, z, t and the controls.

p, R, v, w of a marker as a frame S sees them:
p = R_WS^T (p_WM - p_WS),  R = R_WS^T R_WM,  v = R_WS^T (v_WM - v_WS - w_WS x (p_WM - p_WS)),  w = R_WS^T (w_WM - w_WS)

accelerometer:  R_WM^T (a_WM - g)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polhode.graph import Matrix, cross, vector, zeros
from polhode.model.sensors import Sensor

if TYPE_CHECKING:
    from .equations import Equations


def sensed(eq: Equations, sensor: Sensor, udot: Matrix | None = None) -> Matrix:
    """What a sensor shows, (1,), (3,) or (3, 3); an accelerometer for given udot or `eq.kane.udot`."""
    found: Matrix = _shown(eq, sensor, udot)
    return found


def _shown(eq: Equations, sensor: Sensor, udot: Matrix | None) -> Any:
    if sensor.kind == "value":
        return vector([sensor.value])
    if sensor.kind == "accelerometer":
        R, a = eq.pose(sensor.marker)[:3, :3], eq.acceleration(sensor.marker, "marker", udot)[3:]
        return a - R.T @ eq.model.gravity
    if sensor.kind in ("gyro", "velocimeter"):
        V = eq.velocity(sensor.marker, "marker")
        return V[:3] if sensor.kind == "gyro" else V[3:]
    X, S = eq.pose(sensor.marker), eq.pose(sensor.reference)
    p, R = X[:3, 3] - S[:3, 3], S[:3, :3].T
    if sensor.kind == "position":
        return R @ p
    turned = R @ X[:3, :3]
    if sensor.kind == "rotation":
        return turned
    if sensor.kind.endswith(" axis"):
        return turned[:, "xyz".index(sensor.kind[0])]
    V, seen = eq.velocity(sensor.marker), eq.velocity(sensor.reference)
    if sensor.kind == "angular velocity":
        return R @ (V[:3] - seen[:3])
    return R @ (V[3:] - seen[3:] - cross(seen[:3], p))


def still(eq: Equations, sensor: Sensor) -> tuple[Matrix, Matrix]:
    """What an accelerometer shows where udot is 0, (3,), and what each udot adds, (3, nu)."""
    return sensed(eq, sensor, zeros(len(eq.u))), eq.jacobian(sensor.marker, "marker")[3:, :]
