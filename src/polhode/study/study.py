"""Many runs of a machine, and what is kept of each, in one table."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.warning import warn_caller
from polhode.model.errors import closest
from polhode.model.spelling import spelled
from polhode.simulate import simulate
from polhode.simulate.asked import is_pair, movable
from polhode.simulate.interrupt import stoppable
from polhode.simulate.warning import SimulationWarning

from .design import grid, rows
from .folder import Folder
from .keep import keeps
from .names import place_of
from .runs import Columns, Plan, Refusal
from .table import Table, joined

_CHUNKS, _LEAST, _MOST = 50, 16, 1000  # chunks of a study, and runs in one
_LAST = ("finished", "t_end", "outcome")
_OFTEN = 2.0  # s: how often what is done of a chunk is kept
_EACH = 4  # runs of a thread between, at least


@spelled("study")
def study(
    dynamics: Dynamics,
    over: Any,
    run: Mapping[str, Any] | Callable[..., Any],
    keep: Any = None,
    *,
    out: Any = None,
    chunk: int | None = None,
    threads: int | None = None,
    on: str = "threads",
    client: Any = None,
    progress: bool | None = None,
) -> Table:
    """Run a machine many times, and keep some numbers of each run.

    over    : values by name, {"m": [1, 2], "q.theta": [0.1, 0.2, 0.3]}: all combinations. Or rows: a Table, as
              `ph.sample` draws them, a DataFrame or a list of dicts. Names are parameters, "q.x", "u.x_dot", "z.i",
              initial values, and "tau.x_dot" or an actuator, inputs that are numbers
    run     : what `simulate` takes, {"t_end": 5.0, "q0": {"theta": 1.0}}; or a function of the dynamics and a row's
              values by name, which returns a trajectory, a number, or numbers by name, and whose names are its own
    keep    : text such as "max(theta)", "final(x)", "mean(x_dot**2)", "time(theta > 1)", the first time at which it is
              true; a function of a Trajectory; or several, in a list or by name. Of outputs, 501 unless run says more
    out     : a folder in which chunks are kept as they are ready. The same call goes on where it was stopped
    chunk   : runs in a chunk
    threads : as many as there are processors, unless given
    on      : "threads" here; or "dask": by the dask.distributed Client in use, by the scheduler of dask's
              configuration, or by processes of this computer, which start by themselves
    client  : a Client, or the address of a scheduler, "tcp://10.0.0.1:8786"
    progress : show a bar; by default on a terminal

    Columns are those of `over`, what is kept, "finished", "t_end" and "outcome", a sentence. A run that ended early or
    was refused has NaN, and its sentence says why.
    """
    movable(dynamics, "study")
    if not callable(run) and not isinstance(run, Mapping):
        raise TypeError(f'run is {run!r:.60}, expected what simulate takes, {{"t_end": 5.0}}, or a function.')
    options = [name for name in signature(simulate).parameters if name != "dynamics"]
    for name in run if isinstance(run, Mapping) else ():
        if name not in options:
            raise TypeError(f"run: simulate takes no {name!r:.60}. {closest(str(name), options)}")
    if isinstance(run, Mapping) and is_pair(run.get("q0")):
        if run.get("u0") is not None:
            raise TypeError("run: q0 is a pair of coordinates and speeds, and u0 is given too, expected speeds once.")
        run = {**run, "q0": run["q0"][0], "u0": run["q0"][1]}
    table = grid(over) if isinstance(over, Mapping) and not isinstance(over, Table) else rows(over)
    places = {name: None if callable(run) else place_of(dynamics, name, "over") for name in table}
    targets = [place for place in places.values() if place is not None]
    if len({*targets}) < len(targets):
        raise ValueError("over sets the same quantity twice, by two names. Leave one out.")
    kept = keeps(keep)
    if not kept and not callable(run):
        raise ValueError(
            'keep is missing. Say what to keep of a run: keep="max(theta)", or a function of a trajectory.'
        )
    taken = {*table, *_LAST}
    if twice := [k.name for k in kept if k.name in taken]:
        raise ValueError(f"keep: {twice[0]!r} is also another column. Name it otherwise: keep={{...}}.")
    if on not in ("threads", "dask"):
        raise ValueError(f'on is {on!r:.40}, expected "threads" or "dask".')
    for name, given in (("chunk", chunk), ("threads", threads)):
        if given is not None and not (isinstance(given, int) and given >= 1):
            raise ValueError(f"{name} is {given!r:.40}, expected a whole number, 1 or more.")
    spread = on == "dask" or client is not None
    count = threads or (1 if spread else os.cpu_count() or 1)
    plan = Plan(dynamics=dynamics, over=table, places=places, run=run, kept=kept, threads=count)
    usual = int(np.clip(table.rows // _CHUNKS, 1 if spread else _LEAST, _MOST))
    folder = None if out is None else Folder(out, plan, chunk, usual)
    size = folder.chunk if folder else chunk or usual
    spans = [(first, min(first + size, table.rows)) for first in range(0, table.rows, size)]
    found = _computed(plan, spans, folder, spread, client, progress)
    result = Table({**table, **joined(found, _LAST)})
    failed = np.flatnonzero(~result["finished"].astype(bool))
    if len(failed):
        said = f"{len(failed):,} of {table.rows:,} runs did not finish. Number {failed[0]}: "
        warn_caller(said + str(result["outcome"][failed[0]]), SimulationWarning)
    return result


def _computed(
    plan: Plan, spans: list[tuple[int, int]], folder: Folder | None, spread: bool, client: Any, progress: bool | None
) -> list[Columns]:
    """All chunks in order, those of the folder as they are."""
    found: dict[int, Columns] = {}
    refusal = Refusal(plan)
    with _watching(progress, plan.over.rows) as seen:

        def done(k: int, columns: Columns) -> None:
            """Keep the first runs of a chunk, which follow those that are there, in a file too."""
            refusal.seen(columns)
            found[k] = joined([found[k], columns], _LAST) if k in found else columns
            if folder is not None:
                folder.write(k, found[k])
            seen(_count(columns))

        todo = {}
        for k, (first, last) in enumerate(spans):
            known = folder.read(k) if folder is not None else None
            if known is not None and _count(known) <= last - first:
                found[k] = known
                seen(_count(known))
            if (ready := first + _count(found.get(k))) < last:
                todo[k] = (ready, last)
        if spread and todo:
            from .spread import computed_by

            computed_by(client, plan, todo, done)
        else:
            _here(plan, todo, done, folder is not None)
    return [found[k] for k in range(len(spans))]


def _count(columns: Columns | None) -> int:
    return len(columns.get("finished", ())) if columns else 0


def _here(plan: Plan, spans: Mapping[int, tuple[int, int]], done: Callable[[int, Columns], None], kept: bool) -> None:
    """Compute chunks one after the other; where they take long, in parts, so that little is lost with this process."""
    least = _EACH * plan.threads
    size = least if kept else _MOST
    with stoppable() as wish:
        for k, (begin, last) in spans.items():
            first = begin
            while first < last:
                end, begun = min(first + size, last), time.monotonic()
                columns = plan.compute(first, end)
                if wish.pressed:  # some of its runs ended then
                    raise KeyboardInterrupt("Stopped. The same call goes on from here." if kept else "Stopped.")
                done(k, columns)
                if time.monotonic() - begun < _OFTEN / 2:
                    size = min(2 * size, max(_MOST, last - first))
                elif time.monotonic() - begun > 2 * _OFTEN:
                    size = max(least, size // 2)
                first = end


@contextmanager
def _watching(progress: bool | None, count: int) -> Iterator[Callable[[int], None]]:
    """Show how many runs are done, with an estimate of what is left; None to show it on a terminal."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda runs: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=count)
        yield lambda runs: bar.advance(task, runs)
