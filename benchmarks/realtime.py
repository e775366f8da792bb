"""The largest machine that holds 1 kHz with half of each period to spare, on one core, and how late a loop is.

Three families grow until the 99.9 % quantile of a step exceeds 0.5 ms: a tree of hinges in space; a chain of them that
is tied to the world after every sixth, each tie a loop of three rows; and a body on many sprung legs, each foot a
rigid contact with friction, which falls on the ground. MuJoCo has the same machines, the first two from the same file:
mj_step by `implicitfast`, with its ties and contacts, which are soft. Its solver is Newton's, as it comes.

A step of Polhode is a tick of the loop in real time, with what it takes in and hands out, by "moreau" and by the method
that is quickest: "euler" where nothing comes and goes. Each step of one motion is taken REPEATS times or more, and the
shortest counts, for what other programs took is no part of it. The next size is where a power law through the last two
meets the limit. What is not derived and compiled in the time that a family has is not in the table, and it says so.

The lateness is that of the cart of `benchmarks.ahead` at 1 kHz, under commands and forces, by the clock.
"""

from __future__ import annotations

import math
import multiprocessing as mp
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.table import Table

RATE, LIMIT = 1000.0, 0.5e-3  # ticks a second; s that a step may take
STEPS, REPEATS, MOST, QUANTILE = 1500, 3, 10, 99.9
CLOSE = 1.04  # of the largest size that holds: the least that does not, where the search ends
BUDGET = 40.0  # s for each family and engine
PERIOD = 6  # hinges between two ties, or of a link of the tree and its arm
AXES = ("1 0 0", "0 1 0", "0 0 1")


def tree_file(n: int) -> str:
    """Hinges about x, y and z in turns: a chain that hangs down, at each of whose links an arm of five others does."""
    whole = ""
    for first in reversed(range(0, n, PERIOD)):
        arm = ""
        for k in reversed(range(first + 1, min(first + PERIOD, n))):
            arm = _link(k, f"{_bend(k)} -0.15", arm)
        whole = _link(first, f"{_bend(first)} -0.15" if first else "0 0 0", arm + whole)
    return _whole(whole)


def loops_file(m: int) -> str:
    """A chain that hangs down, tied to the world after every sixth of its hinges by three rows."""
    whole, n = "", 2 * m
    for k in reversed(range(n)):
        whole = _link(k, f"{_bend(k)} -0.15" if k else "0 0 0", whole)
    ties = "".join(f'<connect body1="b{k}" anchor="{_bend(k)} -0.15"/>' for k in range(PERIOD - 1, n, PERIOD))
    return _whole(whole, f"<equality>{ties}</equality>")


def _link(k: int, at: str, carries: str) -> str:
    solid = '<inertial pos="0.02 0.01 -0.1" mass="0.5" diaginertia="2e-3 2.5e-3 1e-3"/>'
    joint = f'<joint name="j{k}" type="hinge" axis="{AXES[k % 3]}" stiffness="20" damping="1" armature="0.02"/>'
    return f'<body name="b{k}" pos="{at}">{joint}{solid}{carries}</body>'


def _whole(world: str, rest: str = "") -> str:
    option = f'<option timestep="{1 / RATE}" integrator="implicitfast"/>'
    return f'<mujoco><compiler angle="radian"/>{option}<worldbody>{world}</worldbody>{rest}</mujoco>'


def _bend(k: int) -> str:
    """How far a link leads aside: round in steps of 2 rad, so that no tie is in a singular position."""
    return f"{0.1 * math.cos(2.0 * k):.6f} {0.1 * math.sin(2.0 * k):.6f}"


def legs_file(c: int) -> str:
    """A body on c legs in two rows, over a plane."""
    legs = ""
    for k in range(c):
        at = f"{0.1 * (k // 2)} {0.2 if k % 2 else -0.2} 0"
        foot = '<geom type="sphere" size="1e-3" pos="0 0 -0.299" friction="0.8" condim="3" conaffinity="2"/>'
        solid = '<inertial pos="0 0 -0.15" mass="0.2" diaginertia="1e-3 1e-3 1e-4"/>'
        joint = f'<joint name="l{k}" axis="0 1 0" stiffness="40" damping="0.5"/>'
        legs += f'<body pos="{at}">{joint}{solid}{foot}</body>'
    m, I = hull(c)
    solid = f'<inertial pos="{0.05 * (c // 2 - 1)} 0 0" mass="{m}" diaginertia="{I[0]} {I[1]} {I[2]}"/>'
    plane = '<geom type="plane" size="90 90 1" friction="0.8" contype="2" conaffinity="0"/>'
    return _whole(f'{plane}<body pos="0 0 0.305"><freejoint/>{solid}{legs}</body>')


def hull(c: int) -> tuple[float, tuple[float, float, float]]:
    """Mass and inertia of the body on c legs."""
    m, long = 0.5 * c, 0.05 * c
    return m, (m * 0.02, m * (0.01 + long**2 / 12), m * (0.02 + long**2 / 12))


def legs(c: int, feet: dict[str, float]) -> Any:
    """The same for Polhode, with feet that are rigid or soft."""
    import polhode as ph

    m, I = hull(c)
    build = ph.Builder("legs", gravity=(0, 0, -9.81))
    build.body("hull", joint=ph.free(name="hull"), mass=m, com=(0.05 * (c // 2 - 1), 0, 0), inertia=I)
    for k in range(c):
        joint = ph.revolute("y", name=f"l{k}", stiffness=40.0, damping=0.5)
        at = (0.1 * (k // 2), 0.2 if k % 2 else -0.2, 0)
        build.body(
            f"leg{k}", parent="hull", at=at, joint=joint, mass=0.2, com=(0, 0, -0.15), inertia=(1e-3, 1e-3, 1e-4)
        )
        build.marker(f"foot{k}", body=f"leg{k}", at=(0, 0, -0.3))
        build.contact(f"foot{k}", name=f"ground{k}", **feet)
    return build.build()


FAMILIES: dict[str, tuple[str, int, int, tuple[str, ...]]] = {  # what counts, first size, its step, methods
    "tree": ("hinges", 24, 1, ("moreau", "euler")),
    "loops": ("rows", 9, 3, ("moreau", "euler")),
    "legs": ("contacts", 6, 2, ("moreau", "euler")),  # the second has soft feet, as MuJoCo
}
FILES = {"tree": tree_file, "loops": loops_file, "legs": legs_file}
RIGID, SOFT = {"friction": 0.8}, {"stiffness": 2e4, "dissipation": 2.0, "friction": 0.8, "slip_speed": 0.02}


def ours(family: str, size: int, which: int) -> float:
    """Seconds of a tick at the quantile, by one of the methods."""
    import tempfile
    from pathlib import Path

    import polhode as ph
    from polhode.interact.loop import Realtime

    method = FAMILIES[family][3][which]
    if family == "legs":
        model = legs(size, RIGID if method == "moreau" else SOFT)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "machine.xml"
            path.write_text(FILES[family](size))
            model = ph.load(path)
    dyn = ph.formulate(model).compile()
    start = {"hull_z": 0.305} if family == "legs" else None
    begin = {"q0": start, "u0": None, "z0": None, "tau": None, "p": None, "method": method, "step": 1 / RATE}
    machine = Realtime(dyn, RATE, "slow", begin, record=False)

    def run(spans: np.ndarray) -> None:
        machine.reset()
        push = np.zeros(len(machine.tau))
        for k in range(STEPS):
            push[-1] = 0.2 * math.sin(0.02 * k)
            machine.tau = push
            before = int(machine._block.busy)
            machine._once()
            spans[k] = min(spans[k], (int(machine._block.busy) - before) * 1e-9)
        if machine.failure:
            raise RuntimeError(machine.failure)

    return quantile(run)


def theirs(family: str, size: int, which: int) -> float:
    """The same of MuJoCo's mj_step."""
    import mujoco as mj

    model = mj.MjModel.from_xml_string(FILES[family](size))
    data = mj.MjData(model)

    def run(spans: np.ndarray) -> None:
        mj.mj_resetData(model, data)
        for k in range(STEPS):
            data.qfrc_applied[-1] = 0.2 * math.sin(0.02 * k)
            began = time.perf_counter_ns()
            mj.mj_step(model, data)
            spans[k] = min(spans[k], (time.perf_counter_ns() - began) * 1e-9)
        if data.warning[mj.mjtWarning.mjWARN_BADQACC].number:
            raise RuntimeError("MuJoCo's machine is unstable")

    return quantile(run)


def quantile(run: Callable[[np.ndarray], None]) -> float:
    """Seconds of a step at the quantile, the least of some runs of one motion, of more where others may be why."""
    spans, found = np.full(STEPS, np.inf), math.inf
    for k in range(MOST):
        run(spans)
        found = float(np.percentile(spans, QUANTILE))
        if k + 1 >= REPEATS and (found <= LIMIT or np.median(spans) > LIMIT):
            break
    return found


def sizes_to_try(first: int, step: int, hear: Callable[[int], float]) -> Iterator[tuple[int, int]]:
    """Grow, and close in on the largest size that holds: after each trial, that and the least that does not, or 0."""
    good, bad, seen = 0, 0, dict[int, float]()
    size = first
    while True:
        seen[size] = hear(size)
        good, bad = (max(good, size), bad) if seen[size] <= LIMIT else (good, min(bad or size, size))
        yield good, bad
        if bad and (bad <= max(CLOSE * good, good + step) or bad <= step):
            return
        size = _next(sorted(seen.items()), good, bad, step)


def _next(seen: list[tuple[int, float]], good: int, bad: int, step: int) -> int:
    """Where a power law through the two sizes nearest to the limit meets it, inside of what is left."""
    guess = 2.0 * (good or bad / 4)
    seen = [each for each in seen if each[1] < math.inf]
    if len(seen) > 1:
        (a, ta), (b, tb) = sorted(sorted(seen, key=lambda each: abs(math.log(each[1] / LIMIT)))[:2])
        power = max(math.log(tb / ta) / math.log(b / a), 0.5)
        guess = a * (LIMIT / ta) ** (1 / power)
    low = good + step if good else step
    high = bad - step if bad else 2 * good
    return int(min(max(round(guess / step) * step, low), high))


def serve(who: str, family: str, which: int, pipe: Any) -> None:
    """Try the sizes that come, until the other end is closed."""
    while True:
        try:
            size = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((ours if who == "Polhode" else theirs)(family, size, which))
        except RuntimeError:  # it failed, and so does not hold
            pipe.send(math.inf)


def largest(who: str, family: str, which: int, budget: float) -> tuple[int, int, float]:
    """The largest size that holds, the least that does not (0 where none was reached), and s of a step of the first."""
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(who, family, which, there), daemon=True)
    process.start()
    there.close()
    end, took = time.monotonic() + budget, dict[int, float]()
    _, first, step, _ = FAMILIES[family]

    def hear(size: int) -> float:
        here.send(size)
        if not here.poll(max(0.0, end - time.monotonic())):
            raise TimeoutError
        took[size] = float(here.recv())
        return took[size]

    good = bad = 0
    try:
        for each in sizes_to_try(first, step, hear):
            good, bad = each
    except (TimeoutError, EOFError):
        pass
    finally:
        here.close()
        process.kill()
        process.join()
    return good, bad, took.get(good, math.nan)


def largest_table(console: Any, budget: float) -> None:
    """All families, for each engine and method."""
    title = f"The largest machine at {RATE:,.0f} Hz, {QUANTILE:g} % of steps within {LIMIT * 1e3:g} ms, on one core"
    table = Table(title=title, title_justify="left")
    for column in ("", "", "largest", "a step", "degrees of freedom", "rows", "against MuJoCo"):
        table.add_column(column, justify="left" if not column else "right")
    for family, (what, _, _, methods) in FAMILIES.items():
        said_of = {k: ", soft feet" for k, method in enumerate(methods) if family == "legs" and method == "euler"}
        rows = [(f"Polhode, {method}{said_of.get(k, '')}", "Polhode", k) for k, method in enumerate(methods)]
        rows.append(("MuJoCo", "MuJoCo", 0))
        found = {name: largest(who, family, which, budget) for name, who, which in rows}
        base, edge = found["MuJoCo"][:2]
        for name, (good, bad, took) in found.items():
            free, held = _counts(family, good)
            held = 0 if "soft" in name else held
            said = f"{good} {what}" if bad else f"{good} {what} or more: the time was up"
            ratio = f"x {good / base:.2f}" if bad and edge and base else ""  # of two that are known
            table.add_row(family, name, said, f"{took * 1e3:.3f} ms" if good else "", str(free), str(held), ratio)
    console.print(table)


def _counts(family: str, size: int) -> tuple[int, int]:
    """Degrees of freedom of the tree, and rows of constraints and contacts."""
    return {"tree": (size, 0), "loops": (2 * size, size), "legs": (size + 6, 3 * size)}[family]


def lateness(console: Any, minutes: float) -> None:
    """How late a loop is in some minutes, with forces that change and a caster that sticks and comes free."""
    from polhode.interact import realtime

    from .ahead import cart

    dyn, given, _, _ = cart()
    machine = realtime(dyn, rate=RATE, record=False, **given)
    draw, before = random.Random(1), os.getloadavg()
    with machine:
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end and not machine.failure:
            machine.tau = {"q1_dot": 6.0 + draw.uniform(-1, 1), "q3_dot": draw.uniform(-1.5, 1.5)}
            (machine.engage if draw.random() < 0.5 else machine.release)("caster")
            time.sleep(0.02)
    late, after = machine.lateness, os.getloadavg()
    table = Table(title=f"Lateness of a loop at {RATE:,.0f} Hz, {minutes:g} minutes", title_justify="left")
    for column in ("ticks", "half", "99 %", "99.9 %", "worst", "missed", "a tick takes", "at worst"):
        table.add_column(column, justify="right")
    spans = [f"{x * 1e6:,.1f} us" for x in (late.p50, late.p99, late.p999, late.worst)]
    table.add_row(
        f"{late.ticks:,}", *spans, f"{late.missed:,}", *(f"{x * 1e6:,.1f} us" for x in (late.busy, late.busy_worst))
    )
    console.print(table)
    loads = f"load {before[0]:.2f} before and {after[0]:.2f} after, on {os.cpu_count()} cores"
    console.print(f"{late.rights}; {loads}: the machine is shared where others load it. {machine.failure}")


def table(console: Any, minutes: float = 10.0, budget: float = BUDGET) -> None:
    """Both."""
    largest_table(console, budget)
    if minutes:
        lateness(console, minutes)
