"""The command `polhode replay`."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from .printing import print_json
from .reading import Deriving


def replay(
    source: Deriving,
    recorded: Annotated[Path, typer.Option("--session", help="What `polhode view --record` wrote, or session.save.")],
    table: Annotated[
        Path | None, typer.Option("--csv", help="Write the states of all ticks to this file.", show_default=False)
    ] = None,
) -> None:
    """Run a session in real time again, tick by tick, bit for bit: where it ends."""
    from polhode.interact import Session
    from polhode.interact.replaying import replayed

    session = Session.load(recorded)
    equations, _ = replace(source, parameters="").equations()
    names = [str(s.value) for s in (*equations.q, *equations.u, *equations.z)]
    rows = [[x.t, *x.q.tolist(), *x.u.tolist(), *x.z.tolist()] for x in replayed(equations.compile(), session)]
    if table is not None:
        with table.open("w", newline="") as stream:
            csv.writer(stream).writerows([["t", *names], *rows])
    told = {"t": rows[-1][0]} | dict(zip(names, rows[-1][1:], strict=True))
    if source.as_json:
        print_json({"ticks": session.ticks, "commands": len(session.commands), "end": told})
        return
    print(f"{session.ticks:,} ticks, {len(session.commands):,} commands. At the end:")
    wide = max(map(len, told))
    for name, value in told.items():
        print(f"{name:<{wide}}  {value!r}")
