"""The command `polhode linearize`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .printing import print_json
from .reading import Deriving, require_values
from .wording import for_shell

if TYPE_CHECKING:
    from polhode.analyze import LinearModel


def linearize(
    source: Deriving,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="The state: q.elbow=0.3, u.elbow_dot=1, z.i=0.5; repeatable.")
    ] = None,
    keyframe: Annotated[
        str | None, typer.Option("--keyframe", help='Be there; "file" is the pose of an MJCF file.', show_default=False)
    ] = None,
    guesses: Annotated[
        list[str] | None,
        typer.Option("--guess", help="Where to look for the rest of it, where loops close: a=-1,c=-1."),
    ] = None,
    tau: Annotated[
        list[str] | None,
        typer.Option("--tau", help='A force or control: "motor=0.5"; a law, "elbow_dot=-2*elbow", closes the loop.'),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", help="A speed or an actuator; may be repeated. Actuators by default, else all speeds."),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", help='A coordinate, speed or state, or "NAME=EXPRESSION"; may be repeated.'),
    ] = None,
    active: Annotated[
        list[str] | None,
        typer.Option("--active", help="A constraint that holds; may be repeated. By default those that are declared."),
    ] = None,
    independent: Annotated[
        list[str] | None, typer.Option("--independent", help="A coordinate or speed that must be a state.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", help="A state to leave out that no other depends on; may be repeated."),
    ] = None,
    time: Annotated[
        float | None, typer.Option("--t", help="Time; that of the keyframe, else 0, by default.", show_default=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw poles and responses: a PNG, SVG or PDF file.")] = None,
) -> None:
    """Linearize a machine about a state: A, B, C, D, its modes; loops are closed first, what was set is kept."""
    from polhode.analyze import linearize as linear
    from polhode.simulate import assemble

    from .simulation import beginning, check, forces, initial

    check({"plot": plot})
    equations, whole = source.equations()
    dynamics = equations.compile()
    require_values(dynamics)
    known = [c.name for c in whole.switchable]
    for name in active or []:
        if name not in known and "," in name:
            each = " ".join(f"--active {part.strip()!r}" for part in name.split(","))
            raise ValueError(f"--active: {name!r} is no constraint. Repeat the option for several: {each}.")
    q, u, z = initial(settings or [], equations, "--set", "quz")
    q_near, u_near = initial(guesses or [], equations, "--guess", "qu")
    begin = beginning(whole, keyframe)
    t, z = begin.time if time is None else time, begin.z | z
    state = assemble(dynamics, begin.q | q_near | q, begin.u | u_near | u, keep=[*q, *u], t=t, z0=z)
    named = forces(outputs, "--output", plain=True) if outputs else None
    found = linear(
        dynamics, state.q, state.u, begin.controls | forces(tau or []) or None, z=z, t=t, inputs=inputs or None,
        outputs=named, active=active or None, independent=independent or (),
    )  # fmt: skip
    found = found.without(*without) if without else found
    if plot is not None:
        found.plot(path=plot)
    if source.as_json:
        print_json(linear_data(found) | {"files": [str(plot)] if plot else []})
    else:
        print(for_shell(str(found)))
        print(f"Wrote {plot}.\n" if plot else "", end="", file=sys.stderr)


def linear_data(lin: LinearModel) -> dict[str, Any]:
    """A linear model as one JSON object; eigenvalues as real and imaginary parts."""
    modes = lin.modes()
    each = zip(modes.eigenvalues.tolist(), modes.frequencies.tolist(), modes.damping.tolist(), strict=True)
    return {
        "name": lin.name,
        "states": list(lin.states),
        "inputs": list(lin.inputs),
        "outputs": list(lin.outputs),
        "dependent": list(lin.dependent),
        "at": lin.at,
        "t": lin.t,
        "equilibrium": lin.equilibrium,
        "steady": lin.steady,
        "drift": lin.drift.tolist(),
        **{name: getattr(lin, name).tolist() for name in "ABCD"},
        "modes": [
            {"eigenvalue": [value.real, value.imag], "frequency": f, "damping": d, "largest": modes.largest(k)}
            for k, (value, f, d) in enumerate(each)
        ],
        "holds": list(lin.holds),
        "left_out": list(lin.left_out),
        "notes": list(lin.notes),
    }
