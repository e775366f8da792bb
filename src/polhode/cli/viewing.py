"""The command `polhode view`."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import typer

from .reading import Deriving, require_values


def view(
    source: Deriving,
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
    rate: Annotated[float, typer.Option(help="Ticks a second.")] = 1000.0,
    integrator: Annotated[str, typer.Option("--integrator", help="moreau, rk4, midpoint or euler.")] = "moreau",
    port: Annotated[int, typer.Option(help="Of the page; 0 for a free one.")] = 0,
    address: Annotated[
        str, typer.Option(help="Serve there, to other computers too: whoever knows the token may look and touch.")
    ] = "127.0.0.1",
    token: Annotated[
        str, typer.Option(help="What a page has to know; made up with another --address.", show_default=False)
    ] = "",
    paused: Annotated[bool, typer.Option("--paused", help="Stand still at first.")] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Show a machine in real time on a page: look at it, drag it, engage and release its constraints."""
    from polhode.interact import Server, realtime
    from polhode.simulate import assemble

    from .simulation import beginning, forces, initial

    if source.as_json:
        raise ValueError("--json: view prints no object. Leave it out.")
    if not 0 <= port < 1 << 16:
        raise ValueError(f"--port {port}: expected 0 to 65535; 0 takes a free one.")
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"--rate {rate:g}: expected ticks a second, such as 1000.")
    equations, whole = source.equations()
    dynamics = equations.compile()
    require_values(dynamics)
    q0, u0, z0 = initial(settings or [], equations, "--set", "quz")
    q_near, u_near = initial(guesses or [], equations, "--guess", "qu")
    begin = beginning(whole, keyframe)
    laws, z0 = begin.controls | forces(tau or []), begin.z | z0
    state = assemble(dynamics, begin.q | q_near | q0, begin.u | u_near | u0, keep=[*q0, *u0], z0=z0)
    loop = realtime(dynamics, state.q, state.u, rate=rate, method=integrator, tau=laws or None, z0=z0)
    server = Server(loop, address=address, port=port, token=token)
    print(f"{equations.model.name} is at {server.url}\nCtrl-C ends it.", file=sys.stderr, flush=True)
    if not no_browser:
        import webbrowser

        webbrowser.open(server.url)
    if not paused:
        loop.start()
    try:
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
        print(loop.lateness, file=sys.stderr)
