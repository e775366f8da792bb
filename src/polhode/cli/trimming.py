"""The command `polhode equilibrium`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .printing import print_json
from .reading import Deriving
from .values import named_values
from .wording import for_shell

if TYPE_CHECKING:
    from polhode.analyze import Equilibrium


def equilibrium(
    source: Deriving,
    unknowns: Annotated[
        list[str] | None,
        typer.Option(
            "--unknown",
            help='What to find: a coordinate, speed, state, actuator, "tau.x_dot", a parameter; may be repeated. '
            "All coordinates and states that are not motion by default.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="The state, and for unknowns a guess: q.elbow=0.3, u.elbow_dot=1, z.i=0.5."),
    ] = None,
    keyframe: Annotated[
        str | None,
        typer.Option("--keyframe", help='Begin there; "file" is the pose of an MJCF file.', show_default=False),
    ] = None,
    tau: Annotated[list[str] | None, typer.Option("--tau", help='A force or control: "motor=0.5", or a law.')] = None,
    guesses: Annotated[
        str, typer.Option("--given", help='Values of parameters that stay symbols, guesses of unknown ones: "m=2".')
    ] = "",
    active: Annotated[
        list[str] | None,
        typer.Option("--active", help="A constraint that holds; may be repeated. By default those that are declared."),
    ] = None,
    starts: Annotated[int, typer.Option("--starts", help="How many guesses are tried.")] = 8,
) -> None:
    """Find where a machine stays as it is, at rest or moving steadily: its trim."""
    from polhode.analyze import equilibrium as found_by

    from .simulation import beginning, forces, initial

    equations, whole = source.equations()
    dynamics = equations.compile()
    q, u, z = initial(settings or [], equations, "--set", "quz")
    begin = beginning(whole, keyframe)
    found = found_by(
        dynamics, begin.q | q, begin.u | u, begin.controls | forces(tau or []) or None, z=begin.z | z, t=begin.time,
        p=named_values(guesses, "--given") or None, unknowns=unknowns or None, active=active or None, starts=starts,
    )  # fmt: skip
    if source.as_json:
        print_json(equilibrium_data(found))
    else:
        grows = "Nothing grows there." if found.stable else "It is unstable: something grows there."
        print(for_shell(f"{found}\n\n{grows}"))


def equilibrium_data(found: Equilibrium) -> dict[str, Any]:
    """An equilibrium as one JSON object."""
    names = "name q u z tau controls p t rates free residual reactions".split()
    lists = ("unknowns", "followed", "holds", "notes")
    return {name: getattr(found, name) for name in names} | {
        **{name: list(getattr(found, name)) for name in lists},
        "free": list(found.free),
        "at_rest": found.at_rest,
        "stable": found.stable,
    }
