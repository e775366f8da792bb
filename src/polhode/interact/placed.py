"""A device whose axes, place and size are not those of the machine."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf, isfinite
from typing import Any

import numpy as np

from polhode.simulate.asked import is_number

from .sample import Device, Sample
from .turning import inverse, product, quaternion


class Placed:
    """A device in axes of its own, that moves the machine by more or less than it is moved.

        p = s R p_D + o,   v = s R v_D,   w = R w_D        force_D = s R^T force,   torque_D = R^T torque

    so that device and machine are given the same power, whatever the scale: a stiffness K of the machine is felt as
    s^2 K, and the friction b of the device acts on the machine as b / s^2.

    axes   : which way of the device the world's x, y and z are, such as "x -z y"; right-handed
    scale  : s, by how much the machine moves more
    offset : o, where the machine's hand is when the device is at its origin, m
    """

    def __init__(
        self, device: Device, *, axes: str = "x y z", scale: float = 1.0, offset: Any = (0.0, 0.0, 0.0)
    ) -> None:
        if not is_number(scale) or not 0 < scale < inf:
            raise ValueError(f"Placed: scale is {scale!r:.40}, expected a number above 0.")
        where = np.array(offset, dtype=float)
        if where.shape != (3,) or not np.isfinite(where).all():
            raise ValueError(f"Placed: offset is {offset!r:.60}, expected three numbers, m.")
        self.device, self.scale, self.R, self.offset = device, float(scale), axes_of(axes), where
        self._q = quaternion(self.R)
        self.most_force, self.most_torque = device.most_force / self.scale, device.most_torque
        self.damping = device.damping / self.scale**2
        self.turning_damping = float(getattr(device, "turning_damping", 0.0))

    @property
    def stale(self) -> bool:
        return self.device.stale

    def read(self) -> Sample | None:
        found = self.device.read()
        if found is None:
            return None
        s, R = self.scale, self.R
        x, y, z = (s * R @ found.position + self.offset).tolist()
        a, b, c, d = product(product(self._q, np.array(found.rotation)), inverse(self._q)).tolist()
        w, v = (R @ found.twist[:3]).tolist(), (s * R @ found.twist[3:]).tolist()
        return replace(found, position=(x, y, z), rotation=(a, b, c, d), twist=(*w, *v))

    def write(self, wrench: tuple[float, ...]) -> None:
        torque, force = self.R.T @ wrench[:3], self.scale * self.R.T @ wrench[3:]
        self.device.write((*torque.tolist(), *force.tolist()))


def axes_of(text: str) -> np.ndarray:
    """The rotation from a device into the world, of "x -z y": which way of the device the world's x, y and z are."""
    found = re.fullmatch(r"\s*([+-]?[xyz])[\s,]*([+-]?[xyz])[\s,]*([+-]?[xyz])\s*", text)
    if found is None:
        raise ValueError(f'axes are {text!r:.40}, expected three of x, y, z with signs, such as "x -z y".')
    R = np.zeros((3, 3))
    for row, axis in zip(R, found.groups(), strict=True):
        row["xyz".index(axis[-1])] = -1.0 if axis[0] == "-" else 1.0
    size = round(float(np.linalg.det(R)))
    if size == 0:
        raise ValueError(f"axes are {text!r:.40}, expected each of x, y and z once.")
    if size < 0:
        raise ValueError(f"axes are {text!r:.40}, which is a mirror image: turns would go the wrong way round. "
                         "Change one sign, or exchange two axes.")  # fmt: skip
    return R


def limit_of(name: str, key: str, value: Any, most: float = inf) -> float:
    """A limit that a device was given: a number of 0 or more, and not beyond what the device can."""
    if not is_number(value) or not 0 <= value <= most or (value != most and not isfinite(value)):
        raise ValueError(f"{name}: {key} is {value!r:.40}, expected 0 to {most:g}.")
    return float(value)
