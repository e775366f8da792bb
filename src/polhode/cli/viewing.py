"""The command `polhode view`."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .reading import Deriving, require_values
from .values import named_values

if TYPE_CHECKING:
    from polhode.interact import Server


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
    device: Annotated[
        str, typer.Option("--device", help="Hold a marker by udp:PORT, inverse3, evdev:/dev/input/event5 or page.")
    ] = "",
    marker: Annotated[str, typer.Option("--marker", help="The marker or body that the device holds.")] = "",
    most_force: Annotated[
        float, typer.Option("--most-force", help="N, that the device shows. Begin with little.")
    ] = 2.0,
    friction: Annotated[
        float, typer.Option("--friction", help="Of the device, N s/m: how stiff it may be rests on it.")
    ] = 0.5,
    scale: Annotated[float, typer.Option("--scale", help="By how much the machine moves more than the device.")] = 1.0,
    axes: Annotated[str, typer.Option("--axes", help='Which way of the device x, y and z are: "x -z y".')] = "x y z",
    full_force: Annotated[float, typer.Option("--full-force", help="N, of a stick or wheel at its full level.")] = 5.0,
    stiffness: Annotated[
        float | None, typer.Option("--stiffness", help="N/m, instead of what makes no energy.", show_default=False)
    ] = None,
    paused: Annotated[bool, typer.Option("--paused", help="Stand still at first.")] = False,
    record: Annotated[
        Path | None,
        typer.Option("--record", help="Write what is done to it to this file, for polhode replay.", show_default=False),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Show a machine in real time on a page: look at it, drag it, engage and release its constraints."""
    from polhode.equations import formulate
    from polhode.interact import Server, realtime
    from polhode.simulate import assemble
    from polhode.view.target import placed

    from .simulation import beginning, forces, initial
    from .touching import Touching

    if source.as_json:
        raise ValueError("--json: view prints no object. Leave it out.")
    if not 0 <= port < 1 << 16:
        raise ValueError(f"--port {port}: expected 0 to 65535; 0 takes a free one.")
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"--rate {rate:g}: expected ticks a second, such as 1000.")
    touching = Touching.asked(device, marker, most_force=most_force, friction=friction, scale=scale, axes=axes,
                              full_force=full_force, stiffness=stiffness)  # fmt: skip
    if touching is not None and record is not None:
        raise ValueError("--record: a session with a --device cannot be replayed from the file. Leave one of them out.")
    if record is not None and placed(record).suffix != ".npz":
        raise ValueError(f"--record {record}: expected a name that ends in .npz.")
    p = named_values(source.parameters, "--p")
    equations, whole = replace(source, parameters="").equations()
    dynamics = equations.compile()
    require_values(dynamics, p)
    q0, u0, z0 = initial(settings or [], equations, "--set", "quz")
    q_near, u_near = initial(guesses or [], equations, "--guess", "qu")
    begin = beginning(whole, keyframe)
    laws, z0 = begin.controls | forces(tau or []), begin.z | z0
    state = assemble(dynamics, begin.q | q_near | q0, begin.u | u_near | u0, keep=[*q0, *u0], p=p or None, z0=z0)
    begun: dict[str, Any] = {
        "rate": rate,
        "method": integrator,
        "tau": laws or None,
        "p": p or None,
        "z0": z0,
        "record": record is not None,
    }
    if touching is None:
        _serve(Server(realtime(dynamics, state.q, state.u, **begun), address=address, port=port, token=token),
               paused, no_browser, record)  # fmt: skip
        return
    with ExitStack() as until:
        opened = until.enter_context(closing(touching.opened(rate)))
        held_by = touching.placed(opened)
        held = touching.held(dynamics, rate, state.q, p, held_by.most_force)
        coupled = formulate(held.model, method=source.method).compile()
        loop = realtime(coupled, state.q, state.u, **begun)
        link = touching.link(loop, held, held_by)
        server = Server(loop, address=address, port=port, token=token)
        print(touching.said(held, opened), file=sys.stderr, flush=True)
        until.enter_context(link)
        _serve(server, paused, no_browser)
    if link.failure:
        print(f"polhode: {link.failure}", file=sys.stderr)


def _serve(server: Server, paused: bool, no_browser: bool, record: Path | None = None) -> None:
    """Serve until Ctrl-C, and write what was done to a file, if it is asked for."""
    loop = server.table.loop
    print(f"{loop.dynamics.equations.model.name} is at {server.url}\nCtrl-C ends it.", file=sys.stderr, flush=True)
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
        if record is not None:
            loop.stop()
            loop.session.save(record)
            print(f"{record} has what was done in {loop.ticks:,} ticks.", file=sys.stderr)
        print(loop.lateness, file=sys.stderr)
