"""A bar that shows how far a long run is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def watching(progress: bool | None, t0: float, t_end: float) -> Iterator[Callable[[float], None]]:
    """Show how far a run is, with an estimate of what is left; None to show it on a terminal."""
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda t: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("preparing", total=None)
    bar.start()

    def seen(t: float) -> None:
        text = f"{t:.4g} of {t_end:.4g} s"
        bar.update(task, completed=t - t0, total=t_end - t0, description=text)

    try:
        yield seen
    finally:
        bar.stop()
