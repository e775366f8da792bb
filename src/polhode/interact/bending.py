"""Bodies that deform in a page that runs by itself: where their sections are, and how these move with the speeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.equations.program import Program
from polhode.graph import jacobian
from polhode.view import Scene
from polhode.view.frames import Frames


def bent_bodies(program: Program, frames: Frames, scene: Scene) -> list[dict[str, Any]]:
    """What bending.js takes of every body that deforms: its place, the frames of its sections, and their shapes.

    modes : the coordinates that are its amplitudes; rows : the rows of `bends` that are their rates
    """
    eq, found, row = program.equations, [], 0
    coordinates = [str(s.value) for s in eq.q]
    modes = {body.name: body.modes for body in eq.model.merged().bodies if body.flexible is not None}
    for name, body, places, made in frames._bent:
        expected = [f"{name} section {i}" for i in range(len(places))]
        if [scene.bodies[k] for k in places] != expected:
            raise ValueError(f"export: the sections of body {name!r} are not where they were laid out.")
        own = [coordinates.index(mode) for mode in modes[name]]
        shapes = {"p": made.p, "Phi": made.Phi, "Psi": made.Psi, "g": made.g if made.g.any() else np.zeros(0)}
        flat = {key: value.ravel() for key, value in shapes.items()}
        found.append({"body": body, "first": places[0], "count": len(places), "modes": own, "row": row, **flat})
        row += len(own)
    return found


def bends(program: Program, bent: list[dict[str, Any]]) -> Function:
    """The call (t, x, p) -> rates of all amplitudes by the speeds, a row each, in JavaScript."""
    eq = program.equations
    rates = [eq.kinematics.q_dot[k] for each in bent for k in each["modes"]]
    return program.compiled("bends", [*jacobian(rates, [*eq.u]).entries], target="javascript")
