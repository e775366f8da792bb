"""Coordinates at which a marker is where it is wanted: inverse kinematics.

Steps of Levenberg and Marquardt, turns in radians and lengths by the size of the machine, on the motions that the
constraints allow, within the limits of the joints: a coordinate that would leave them stays there while it is pushed.
What is left free is resolved towards q0. Reference: Sugihara, Solvability-unconcerned inverse kinematics by the
Levenberg-Marquardt method, IEEE T-RO 27 (2011).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.model import WORLD
from polhode.model.errors import closest
from polhode.simulate.asked import movable
from polhode.simulate.assemble import AssemblyError

from .pose_search import Reached, Search


def reach(
    dynamics: Dynamics,
    marker: str,
    target: Any,
    q0: Any = None,
    *,
    limits: bool = True,
    starts: int = 10,
    seed: int = 1,
    t: float = 0.0,
    z: Any = None,
    p: Any = None,
) -> Reached:
    """The coordinates nearest to q0 at which a marker or body is at a target, or as near to it as it gets.

    target : a position in the world, (3,), or a pose, (4, 4)
    q0     : where to start, and to stay near: an array, or values by name; the neutral position where nothing is given
    limits : whether the limits of the joints hold
    starts : how many guesses are tried, q0 first and then at random, where those before reached nothing
    t, z, p : time, states beside motion and parameters that constraints may depend on

    Constraints in positions hold. Where the machine can move without moving the marker, it is drawn towards q0.
    """
    movable(dynamics, "reach")
    wanted = _target(target)
    if marker == WORLD or marker not in _frames(dynamics):
        raise KeyError(f"reach: there is no marker or body {marker!r} that moves. {closest(marker, _frames(dynamics))}")
    if isinstance(starts, bool) or not isinstance(starts, int) or starts < 1:
        raise ValueError(f"reach: starts={starts!r:.40}, expected a whole number of at least 1.")
    search = Search(dynamics, marker, wanted, q0, limits, t, z, p)
    best = search.run(search.home)
    draw, tried = np.random.default_rng(seed), 1
    while not best.reached and tried < starts:
        tried += 1
        try:
            found = search.run(search.guess(draw))
        except AssemblyError:  # this guess does not close
            continue
        if (not found.reached, search.cost(found)) < (not best.reached, search.cost(best)):
            best = found
    return replace(best, starts=tried)


def _frames(dynamics: Dynamics) -> list[str]:
    model = dynamics.equations.model
    return [*(body.name for body in model.bodies), *(m.name for m in model.markers if m.body != WORLD)]


def _target(given: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Position and axes."""
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"reach: target is {given!r:.60}, expected a position (3,) or a pose (4, 4).") from None
    if found.shape not in ((3,), (4, 4)) or not np.isfinite(found).all():
        raise ValueError(
            f"reach: target has shape {found.shape}, expected finite numbers: a position (3,), or a pose (4, 4)."
        )
    if found.shape == (3,):
        return found, None
    R = found[:3, :3]
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0 or np.abs(found[3] - [0, 0, 0, 1]).max() > 1e-9:
        raise ValueError("reach: target is no pose, expected [[R, p], [0, 1]] with R R^T = 1 and det R = 1.")
    return found[:3, 3], R
