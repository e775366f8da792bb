"""What a switch costs in real time, and what a copy of the loop that runs ahead buys: `python -m benchmarks.ahead`.

Each run is a process of its own, so that what is done for the first time is seen; contenders take turns. In one run,
ticks are taken one by one and each is timed: native code, and what Python does for it. In another the loop runs in its
thread, by the clock: how late ticks begin, which is what a hand feels.

alone     : the loop as it is
foresight : with `Foresight` beside it, in a thread
warmed    : the copy went through the whole run once, before it began
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

HOW = ("alone", "foresight", "warmed")
ROUNDS = 3
Script = Callable[[Any, int], None]
Made = tuple[Any, dict[str, Any], int, Script | None]  # dynamics, arguments, ticks, what is commanded


def cart() -> Made:
    """Gillespie's cart, whose caster sticks and comes free every 20 ticks, by a command."""
    import polhode as ph

    build = ph.Builder("cart", gravity=(0, 0, 0))
    build.body("along", joint=ph.prismatic("x", name="q1"), mass=0)
    build.body("across", parent="along", joint=ph.prismatic("y", name="q2"), mass=0)
    build.body(
        "B", parent="across", joint=ph.revolute("z", name="q3"), mass=20, com=(0.45, 0, 0), inertia=(1.25,) * 2 + (2.5,)
    )
    build.body("C", parent="B", at=(0.8, 0, 0), joint=ph.revolute("z", name="q4"), mass=3, com=(-0.12, 0, 0))
    build.marker("P1", body="B")
    build.marker("P3", body="C", at=(-0.12, 0, 0))
    build.knife_edge("P1", axis="y", name="back wheels")
    build.knife_edge("P3", axis="y", name="front wheel")
    build.brake("q4_dot", name="caster", active=False)

    def script(machine: Any, tick: int) -> None:
        if tick % 20 == 10:
            (machine.engage if tick % 40 == 10 else machine.release)("caster")

    start = {"q0": {"q4": 0.7}, "tau": {"q1_dot": 6.0, "q3_dot": 1.5}}
    return ph.formulate(build.build()).compile(), start, 1000, script


def piano() -> Made:
    """A piano key that lifts a hammer and lets it off below the string; the jack is released by a condition."""
    import polhode as ph

    build = ph.Builder("piano key", gravity=(0, 0, -9.81))
    build.body("key", joint=ph.revolute("y", name="k"), mass=0.1, inertia=(2e-4,) * 3)
    build.stop("k", lower=0.0, upper=0.0435, name="bed")
    build.body("wippen", joint=ph.prismatic("z", name="w"), mass=0.02)
    build.constraint(ph.symbol("w") - ph.symbol("k"), name="capstan")
    build.body("hammer", joint=ph.prismatic("z", name="h"), mass=0.010)
    build.contact("hammer", "wippen", name="jack")
    build.stop("h", upper=0.045, restitution=0.6, name="string")
    build.switch(when="h > 0.043", release="jack")
    return ph.formulate(build.build()).compile(), {"tau": {"k_dot": 0.8}}, 300, None


def hexapod() -> Made:
    """36 degrees of freedom, ten rigid contacts with friction, in a tripod gait."""
    import hexapod as six

    import polhode as ph

    q0 = six.stand()
    q0["body_z"] += 0.01
    start = {"q0": q0, "tau": six.Gait().control()}
    return ph.formulate(six.hexapod({"friction": 0.8})).compile(), start, 1000, None


def guards() -> Made:
    """A double pendulum whose elbow is locked on one side and free on the other: conditions, which Python resolves."""
    import polhode as ph

    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    link = {"mass": 1, "com": (0, 0, -0.5), "inertia": (0.08, 0.08, 0.001)}
    build.body("upper", joint=ph.revolute("y", name="a"), **link)
    build.body("lower", parent="upper", at=(0, 0, -1), joint=ph.revolute("y", name="b"), **link)
    build.lock("b", name="elbow", active=False)
    build.switch(when="a > 0", engage="elbow")
    build.switch(when="a < 0", release="elbow")
    return ph.formulate(build.build()).compile(), {"q0": [0.5, 0.7]}, 3000, None


def crowd(height: float = 0.15, ticks: int = 300) -> Made:
    """250 balls over the ground, more than are in the code at first; one lands. Its code was never made before."""
    import polhode as ph

    build, many = ph.Builder("balls", gravity=(0, 0, -9.81)), 250
    e = round(random.uniform(0.1, 0.2), 9)
    for k in range(many):
        build.body(f"ball{k}", joint=ph.prismatic("z", name=f"z{k}"), mass=1)
        build.contact(f"ball{k}", name=f"ground{k}", restitution=e)
    return ph.formulate(build.build()).compile(), {"q0": [height] + [1e4] * (many - 1)}, ticks, None


def far() -> Made:
    """The same, and the one falls for 15 s."""
    return crowd(0.5 * 9.81 * 15.0**2, 15_300)


MACHINES = {"cart": cart, "piano": piano, "hexapod": hexapod, "guards": guards, "crowd": crowd, "far": far}
HORIZONS = {"far": 14.0}  # s; 0.1 otherwise


def measure(name: str, how: str, clock: bool, pipe: Any) -> None:
    """Take the ticks of a machine: seconds of each, or by the clock how late they began."""
    from polhode.interact import Foresight, realtime
    from polhode.interact.ahead import Copy

    dyn, given, ticks, script = MACHINES[name]()
    rate, machine = 1000.0, None
    while machine is None:
        try:
            machine = realtime(dyn, rate=rate, record=False, **given)
        except ValueError:
            if rate < 100:
                raise
            rate /= 2
    sight = Foresight(machine, horizon=HORIZONS.get(name, 0.1))
    if how == "warmed":
        Copy(machine).ahead(ticks)
    if how == "foresight":
        sight.look()
        sight.start()
    if clock:
        late = by_the_clock(machine, ticks, script)
        sight.stop()
        pipe.send((late.p99, late.worst))
        return
    spans, real, python = [], machine._came_back, 0.0

    def timed(code: int) -> bool:
        nonlocal python
        began = time.perf_counter()
        good = real(code)
        python += (time.perf_counter() - began) * (code != 0)
        return good

    machine._came_back = timed  # type: ignore[method-assign]
    due = time.perf_counter()
    for tick in range(ticks):
        due += 1 / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        due = max(due, time.perf_counter() - 1 / rate)
        if script is not None:
            script(machine, tick)
        began = time.perf_counter()
        with machine._wake:  # what is adopted holds it
            waited = time.perf_counter() - began
            before, python = int(machine._block.busy), 0.0
            machine._once()
            spans.append((int(machine._block.busy) - before) * 1e-9 + python + waited)
        if machine.failure:
            break
    sight.stop()
    pipe.send((rate, len(machine.events), machine.failure, spans, sight.seconds, str(sight.score)))


def by_the_clock(machine: Any, ticks: int, script: Script | None) -> Any:
    """Have the loop run in its thread; how late it was."""
    with machine:
        done = 0
        while machine.ticks < ticks and not machine.failure:
            time.sleep(0.002)
            now = machine.ticks
            for tick in range(done, now) if script is not None else ():
                script(machine, tick)
            done = now
    return machine.lateness


def in_a_process(name: str, how: str, clock: bool) -> Any:
    """What a run found; None where it failed."""
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=measure, args=(name, how, clock, there))
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return None
    finally:
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=tuple(MACHINES), nargs="*", default=tuple(MACHINES)[:-1])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    asked = parser.parse_args()
    console = Console(width=120)
    table = Table(title="us of ticks; in the thread, by which they began late", title_justify="left")
    for column in ("machine", "", "half", "99 %", "worst", "worst / half", "late 99 %", "late worst"):
        table.add_column(column, justify="left" if column in ("machine", "") else "right")
    for name in asked.only:
        found: dict[tuple[str, bool], list[Any]] = {(how, clock): [] for how in HOW for clock in (False, True)}
        for _ in range(asked.rounds):
            for key, runs in found.items():
                if (run := in_a_process(name, *key)) is not None:
                    runs.append(run)
                else:
                    console.print(f"{name}, {key[0]}: failed")
        base = [float(np.median(run[3])) for run in found["alone", False]]
        for how in HOW:
            ticks = [(np.median(run[3]), np.percentile(run[3], 99), np.max(run[3])) for run in found[how, False]]
            half, most, worst = (statistics.median(float(t[k]) for t in ticks) for k in range(3))
            late = [statistics.median(run[k] for run in found[how, True]) for k in range(2)]
            said = [f"{x * 1e6:,.0f}" for x in (half, most, worst)]
            table.add_row(
                name, how, *said, f"{worst / statistics.median(base):,.0f}", *(f"{x * 1e6:,.0f}" for x in late)
            )
            run = found[how, False][0]
            console.print(f"[dim]{name}, {how}: {run[1]} events, a look {run[4] * 1e3:.2f} ms, {run[5]} {run[2]}[/dim]")
    console.print(table)


if __name__ == "__main__":
    main()
