"""The command `polhode export`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from .printing import print_json
from .reading import Deriving, require_values
from .values import named_values

KINDS = ("html",)


def export(
    source: Deriving,
    to: Annotated[str, typer.Option(help='What to write: "html", a page that runs the machine in a browser.')] = "html",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; NAME.html by default.", show_default=False)
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Initial state: q.elbow=0.3, u.elbow_dot=1, z.i=0.5; repeatable.")
    ] = None,
    keyframe: Annotated[
        str | None,
        typer.Option("--keyframe", help='Begin there; "file" is the pose of an MJCF file.', show_default=False),
    ] = None,
    guesses: Annotated[
        list[str] | None,
        typer.Option("--guess", help="Where to look for the rest of it, where loops close: a=-1,c=-1."),
    ] = None,
    tau: Annotated[
        list[str] | None,
        typer.Option("--tau", help='A force or control: "elbow_dot=-2*elbow + sin(t)", "motor=0.5"; may be repeated.'),
    ] = None,
    step: Annotated[float, typer.Option(help="Step of the motion, seconds.")] = 1e-3,
) -> None:
    """Write a machine as one file that runs in any browser, with no server: drag its bodies; --p become sliders."""
    from polhode.interact.exported import check
    from polhode.interact.exported import export as write
    from polhode.simulate import assemble

    from .simulation import beginning, forces, initial

    if to not in KINDS:
        raise ValueError(f"--to {to}: expected {' or '.join(KINDS)}.")
    p = named_values(source.parameters, "--p")
    equations, whole = replace(source, parameters="").equations()
    dynamics = equations.compile()
    require_values(dynamics, p)
    check(dynamics)
    q0, u0, z0 = initial(settings or [], equations, "--set", "quz")
    q_near, u_near = initial(guesses or [], equations, "--guess", "qu")
    begin = beginning(whole, keyframe)
    laws, z0 = begin.controls | forces(tau or []), begin.z | z0
    state = assemble(dynamics, begin.q | q_near | q0, begin.u | u_near | u0, [*q0, *u0], begin.time, p, z0)
    target = Path(f"{source.file.stem}.html") if output is None else output
    path = write(dynamics, target, state.q, state.u, tau=laws or None, p=p, z0=z0, step=step, t0=begin.time)
    if source.as_json:
        print_json({"files": [str(path)]})
    else:
        print(f"Wrote {path}. Open it in a browser.", file=sys.stderr)
