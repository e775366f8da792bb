"""A step of machines with constraints: against an older checkout of Polhode, and against MuJoCo.

python -m benchmarks --only constrained --against PATH    # PATH has src/polhode of another commit
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

STEP = 1e-3
ROUNDS = 5
METHODS = ("euler", "rk4", "dop853")


def steps(root: str) -> dict[str, float]:
    """Microseconds a step of the bicycle and of a four-bar linkage, by the Polhode that is imported; the best of 8."""
    sys.path.insert(0, root)
    import polhode as ph
    from benchmarks.simulation import dynamics, start
    from tests.mechanisms import four_bar

    linkage = ph.formulate(four_bar()).compile()
    closed = ph.assemble(linkage, [-1.0, 0.5, -1.5], {"a_dot": 2.0}, keep=["a_dot"])
    machines = {"bicycle": (dynamics("bicycle"), *start("bicycle")), "four-bar": (linkage, *closed)}
    found = {}
    for name, (dyn, q, u) in machines.items():
        for method in METHODS:
            options = {"method": method} if method == "dop853" else {"method": method, "step": STEP}
            best = np.inf
            for _ in range(8):
                traj = ph.simulate(dyn, q, u, 2.0, output=[0, 2.0], **options)
                best = min(best, traj.statistics["seconds"] / traj.statistics["steps"])
            found[f"{name}, {method}"] = best * 1e6
    return found


def _elsewhere(root: Path) -> dict[str, float]:
    """The same in a process of its own, with the Polhode of a checkout."""
    here = Path(__file__).resolve()
    quiet = "import sys, json, warnings; warnings.simplefilter('ignore'); "
    code = f"{quiet}sys.path[0] = {str(here.parents[1])!r}; from benchmarks.constrained import steps; "
    code += f"print(json.dumps(steps({str(root)!r})))"
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}:{root}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


class Grown:
    """A trunk of 12 hinges, 40 branches of 2, and 20 points that tie their ends: 92 speeds, 60 rows."""

    def __init__(self, seed: int = 2) -> None:
        self.draw = np.random.default_rng(seed)
        self.bodies: list[tuple[Any, ...]] = []
        self.place = {"world": np.zeros(3)}
        parent = "world"
        for k in range(12):
            parent = self._add(f"t{k}", parent, self.draw.normal(size=3) * 0.15 + [0.3, 0, 0])
        self.loops = []
        for k in range(20):
            ends = []
            for side in "ab":
                root = self._add(f"{side}{k}0", f"t{self.draw.integers(0, 12)}", self.draw.normal(size=3) * 0.2)
                ends.append(self._add(f"{side}{k}1", root, self.draw.normal(size=3) * 0.2))
            self.loops.append((*ends, (self.place[ends[0]] + self.place[ends[1]]) / 2))

    def _add(self, name: str, parent: str, at: np.ndarray) -> str:
        axis = self.draw.normal(size=3)
        mass, com = self.draw.uniform(0.2, 1), self.draw.normal(size=3) * 0.05
        self.bodies.append((name, parent, at, axis / np.linalg.norm(axis), mass, com))
        self.place[name] = self.place[parent] + at
        return name

    def ours(self) -> Any:
        import polhode as ph

        build = ph.Builder("grown", gravity=(0, 0, -9.81))
        for name, parent, at, axis, mass, com in self.bodies:
            joint = ph.revolute(tuple(axis), name=f"{name}_joint")
            inertia = (0.02, 0.03, 0.025)
            build.body(name, parent=parent, at=tuple(at), joint=joint, mass=mass, com=tuple(com), inertia=inertia)
        for k, (a, b, point) in enumerate(self.loops):
            for end in (a, b):
                build.marker(f"{end} end", body=end, at=tuple(point - self.place[end]))
            build.loop(f"{a} end", f"{b} end", "point", name=f"loop {k}")
        return ph.formulate(build.build(), "denoc").compile()

    def mujoco(self) -> Any:
        import mujoco as mj

        def text(v: Any) -> str:
            return " ".join(map(str, v))

        def inside(parent: str) -> str:
            found = ""
            for name, above, at, axis, mass, com in self.bodies:
                if above == parent:
                    found += f'<body name="{name}" pos="{text(at)}"><joint type="hinge" axis="{text(axis)}"/>'
                    found += f'<inertial pos="{text(com)}" mass="{mass}" diaginertia="0.02 0.03 0.025"/>'
                    found += inside(name) + "</body>"
            return found

        ties = [f'<connect body1="{a}" body2="{b}" anchor="{text(p - self.place[a])}"/>' for a, b, p in self.loops]
        world = f'<option timestep="{STEP}"/><worldbody>{inside("world")}</worldbody>'
        return mj.MjModel.from_xml_string(f"<mujoco>{world}<equality>{''.join(ties)}</equality></mujoco>")


def _grown() -> dict[str, float]:
    """Microseconds a step of the grown machine, in turns."""
    import time

    import mujoco as mj

    import polhode as ph

    machine = Grown()
    dyn, model = machine.ours(), machine.mujoco()
    data, n = mj.MjData(model), len(dyn.equations.u)
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for method in ("euler", "rk4"):
            traj = ph.simulate(dyn, np.zeros(n), t_end=0.5, method=method, step=STEP, output=[0, 0.5])
            spent = traj.statistics["seconds"] / traj.statistics["steps"]
            best[f"Polhode, {method}"] = min(best.get(f"Polhode, {method}", np.inf), spent * 1e6)
        mj.mj_resetData(model, data)
        began = time.perf_counter()
        mj.mj_step(model, data, nstep=500)
        best["mj_step"] = min(best.get("mj_step", np.inf), (time.perf_counter() - began) / 500 * 1e6)
    return best


def table(console: Any, against: str | None) -> None:
    """Print both comparisons."""
    from rich.table import Table

    here = Path(__file__).resolve().parents[1]
    roots = {"here": here} | ({"there": Path(against).resolve()} if against else {})
    best: dict[str, dict[str, float]] = {name: {} for name in roots}
    for _ in range(ROUNDS):
        for name, root in roots.items():
            for row, spent in _elsewhere(root).items():
                best[name][row] = min(best[name].get(row, np.inf), spent)
    shown = Table(title=f"Microseconds a step, {STEP * 1e3:g} ms or of its own size", title_justify="left")
    for column in ("", "this Polhode", *(["the other", "ratio"] if against else [])):
        shown.add_column(column, justify="right" if column else "left")
    for row, spent in best["here"].items():
        other = [f"{best['there'][row]:.2f}", f"x {best['there'][row] / spent:.1f}"] if against else []
        shown.add_row(row, f"{spent:.2f}", *other)
    console.print(shown)
    found = _grown()
    shown = Table(title="A grown machine of 92 speeds and 60 rows, microseconds a step of 1 ms", title_justify="left")
    for name in found:
        shown.add_column(name, justify="right")
    shown.add_row(*(f"{spent:.0f}" for spent in found.values()))
    console.print(shown)
