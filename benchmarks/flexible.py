"""A two-link arm with three modes a link beside Exudyn's reduced-order flexible body, at equal accuracy.

Both have the same equations (displacements linear in the amplitudes, order "full"), modes and torques, which are
expressions that are evaluated without Python; Polhode also runs its own default, order "first". Each takes the largest
of its steps, or the loosest of its tolerances, with which the tips of both links are within the error of a reference
(Polhode at 1e-13) at every tenth of a second. Exudyn integrates such bodies implicitly alone: its joints are
equations, which its explicit methods do not take. It runs in its fast build, without checks of ranges, with the
solver for small dense systems, and the best of full and modified Newton iterations to three tolerances. Processor
time of the loops alone, the best of several runs in turns.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from rich.table import Table

MODES, ROUNDS, EVERY = 3, 5, 0.1
ERRORS = (1e-4, 1e-5, 1e-6)  # metres
STEPS = [2e-2, 1e-2, 5e-3, 4e-3, 2.5e-3, 2e-3, 1.25e-3, 1e-3, 8e-4, 5e-4, 4e-4, 2.5e-4, 2e-4, 1e-4]  # seconds
TOLERANCES = [10.0 ** (-k / 2) for k in range(4, 24)]
Run = Callable[[], tuple[float, np.ndarray]]  # processor time, and where the tips were


def exudyn(step: float, modified: bool, tolerance: float) -> tuple[float, np.ndarray]:
    """The arm in Exudyn, generalized alpha with nearly no damping."""
    import exudyn as exu

    from tests import exudyn_modal
    from tests.beam_machines import ARM
    from tests.exudyn_machines import settings

    exu.config.printToConsole = False  # steps that are too long fail, at some length
    mbs, bodies = exudyn_modal.arm(ARM, MODES)
    watched = [body.watch()[0] for body in bodies]
    mbs.Assemble()
    chosen = settings(ARM.span, step, 0.95, sample=EVERY, tolerance=tolerance)
    chosen.linearSolver.solverType = exu.LinearSolverType.EXUdense
    chosen.timeIntegration.newton.useModifiedNewton = modified
    began = time.process_time()
    try:
        mbs.SolveDynamic(chosen)
    except exu.SolverError:  # too long a step, or too loose a tolerance
        return np.inf, np.empty(0)
    seconds = time.process_time() - began
    return seconds, np.stack([mbs.GetSensorStoredData(s)[:, 1:3] for s in watched], 1)


class Ours:
    """The arm in Polhode."""

    def __init__(self, order: str, method: str = "dop853") -> None:
        import polhode as ph
        from tests.beam_machines import ARM, model

        made, self.q0, self.tau = model(ARM, MODES, order, shapes="polynomial")
        self.dynamics, self.span, self.method = ph.formulate(made).compile(), ARM.span, method

    def __call__(self, tolerance: float, method: str = "") -> tuple[float, np.ndarray]:
        import polhode as ph

        options: dict[str, Any] = {"rtol": tolerance, "atol": tolerance * 1e-2, "method": method or self.method}
        traj = ph.simulate(self.dynamics, self.q0, None, self.span, tau=self.tau, output=EVERY, **options)
        return traj.statistics["seconds"], np.stack([traj.pose(f"end {k}")[:, :2, 3] for k in range(2)], 1)


def cheapest(runs: Iterator[tuple[str, Run]], reference: np.ndarray, error: float) -> tuple[str, Run] | None:
    """The first of the runs that is accurate enough; they come from the coarsest to the finest."""
    for label, run in runs:
        _, tips = run()
        if tips.shape == reference.shape and np.abs(tips - reference).max() <= error:
            return label, run
    return None


def table(console: Any) -> None:
    """Print the comparison."""
    sys.exudynFast = True  # type: ignore[attr-defined]  # how its fast build is asked for, before it is imported
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="exudyn")
    from tests.beam_machines import ARM

    full, first, stiff = Ours("full"), Ours("first"), Ours("full", "rodas5p")
    references = {"full": full(1e-13, "dop853")[1], "first": first(1e-13)[1]}
    shown = Table(title="Two-link arm, three modes a link: simulated seconds a second", title_justify="left")
    columns = ["tips within", "Exudyn", "its step", "order full", "against Exudyn", "rodas5p", "order first", "against"]
    for column in columns:
        shown.add_column(column, justify="right")
    for error in ERRORS:
        found: dict[Any, tuple[str, Run] | None] = {}
        for newton in product((False, True), (1e-2, 1e-4, 1e-6)):
            runs = ((f"{h * 1e3:g} ms", partial(exudyn, h, *newton)) for h in STEPS)
            found[newton] = cheapest(runs, references["full"], error)
        for label, mine, order in (("ours", full, "full"), ("stiff", stiff, "full"), ("first", first, "first")):
            runs = ((f"{tol:.0e}", partial(mine, tol)) for tol in TOLERANCES)
            found[label] = cheapest(runs, references[order], error)
        best = dict.fromkeys(found, np.inf)
        for _ in range(ROUNDS):
            for label, run in found.items():
                if run is not None:
                    best[label] = min(best[label], run[1]()[0])
        rival = min((key for key in found if isinstance(key, tuple)), key=best.__getitem__)
        rates = {label: ARM.span / seconds for label, seconds in best.items()}
        step = found[rival][0] if found[rival] else "-"
        cells = [f"{rates[rival]:,.1f}", step, f"{rates['ours']:,.0f}"]
        cells += [f"x {rates['ours'] / rates[rival]:,.0f}", f"{rates['stiff']:,.0f}"]
        cells += [f"{rates['first']:,.0f}", f"x {rates['first'] / rates[rival]:,.0f}"]
        shown.add_row(f"{error:g} m", *cells)
    console.print(shown)
