"""The command `polhode study`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .printing import noted, print_json
from .reading import Reading
from .values import named_values, number
from .wording import for_shell


def study(
    source: Reading,
    t: Annotated[float, typer.Option("--t", help="Seconds to simulate.")] = 10.0,
    over: Annotated[
        list[str] | None,
        typer.Option("--over", help="Values: m=1:5:50 (from:to:count), q.theta=0.1,0.2; all combinations."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help='What to keep of a run: "max(theta)", "final(x)", "time(theta > 1)"; repeatable.'),
    ] = None,
    draw: Annotated[
        int | None,
        typer.Option("--sample", help="Draw so many runs from the ranges m=1:5 instead.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="Where the random numbers begin.")] = 0,
    parameters: Annotated[str, typer.Option("--p", help='Values of the other parameters: "m1=2, L1=0.5".')] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Initial state: q.elbow=0.3, u.elbow_dot=1, z.i=0.5; repeatable.")
    ] = None,
    tau: Annotated[
        list[str] | None, typer.Option("--tau", help='A force or control: "elbow_dot=-2*elbow"; may be repeated.')
    ] = None,
    integrator: Annotated[
        str, typer.Option("--integrator", help="dop853, dopri5, rodas5p (stiff); rk4, midpoint, euler; moreau.")
    ] = "dop853",
    step: Annotated[
        float | None, typer.Option(help="Step of rk4, midpoint, euler and moreau.", show_default=False)
    ] = None,
    every: Annotated[float | None, typer.Option("--every", help="Seconds between outputs.", show_default=False)] = None,
    threads: Annotated[int | None, typer.Option(help="As many as processors by default.", show_default=False)] = None,
    on: Annotated[str, typer.Option("--on", help='"threads", or "dask": processes.')] = "threads",
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", help="Of dask, such as tcp://10.0.0.1:8786: its workers run.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Keep chunks in this folder; the same command goes on from there.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table as CSV.")] = None,
    parquet: Annotated[Path | None, typer.Option(help="Write the table as Parquet.")] = None,
) -> None:
    """Simulate a machine with many values of its parameters and initial state; print what is kept of each run."""
    from polhode.equations import formulate
    from polhode.study import sample
    from polhode.study import study as computed

    from .simulation import check, forces, initial

    check({"to_csv": csv, "to_parquet": parquet})
    if not over:
        raise ValueError("--over is missing. Say what changes from run to run, as --over m=1:5:50.")
    if not keep:
        raise ValueError('--keep is missing. Say what to keep of a run, as --keep "max(theta)".')
    values = dict(_values(text, draw is not None) for text in over)
    if len(values) < len(over):
        raise ValueError("--over: a name is given twice. Give all its values at once, as --over m=1,2,3.")
    equations = formulate(source.model())
    dynamics = equations.compile()
    p = named_values(parameters, "--p")
    left = [name for name in dynamics.parameters if name not in p and name not in values and f"p.{name}" not in values]
    if left:
        listed = ", ".join(f"{name}=..." for name in left)
        raise ValueError(f"The model has parameters without values. Give --p {listed!r}, or --over.")
    q, u, z = initial(settings or [], equations, "--set", "quz")
    run: dict[str, Any] = {"t_end": t, "p": p, "q0": q, "u0": u, "z0": z, "tau": forces(tau or []) or None}
    run |= {"method": integrator, "step": step, "output": every}
    run = {name: value for name, value in run.items() if value is not None and value != {}}
    rows: Any = values if draw is None else sample(values, draw, seed)
    with noted() as warned:
        found = computed(dynamics, rows, run, keep, out=out, threads=threads, on=on, client=scheduler)
    written = []
    for call, path in (("to_csv", csv), ("to_parquet", parquet)):
        if path is not None:
            getattr(found, call)(path)
            written.append(str(path))
    if source.as_json:
        columns = {name: column.tolist() for name, column in found.items()}
        print_json({"columns": columns, "runs": found.rows, "warnings": warned, "files": written})
    else:
        print(for_shell(str(found)))
        print("".join(f"Wrote {path}.\n" for path in written), end="", file=sys.stderr)


def _values(text: str, ranges: bool) -> tuple[str, Sequence[float]]:
    """Read "m=1:5:50", "m=1,2,3", or of ranges "m=1:5"."""
    import numpy as np

    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise ValueError(f"--over: {text!r}, expected NAME=FROM:TO:COUNT or NAME=VALUE,VALUE,...")
    where = f"--over: {name}"
    parts = values.split(":")
    if ranges:
        if len(parts) != 2:
            raise ValueError(f"{where} is {values!r}, expected FROM:TO, a range to draw from.")
        return name, (number(parts[0], where), number(parts[1], where))
    if len(parts) == 1:
        return name, [number(item, where) for item in values.split(",") if item.strip()]
    count = number(parts[2], where) if len(parts) == 3 else 0
    if count < 1 or count != int(count):
        raise ValueError(f"{where} is {values!r}, expected FROM:TO:COUNT, as 1:5:50, or values with commas.")
    return name, np.linspace(number(parts[0], where), number(parts[1], where), int(count)).tolist()
