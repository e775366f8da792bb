"""What a step may take at most: counted in the kernels as they run as Python, where contacts have no solution."""

import json
import os
import subprocess
import sys

import pytest

import polhode as ph
from polhode.interact import realtime
from polhode.interact.worst import CORRECTIONS, NEWTON, worst_of
from polhode.kernels import complementarity as lcp

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="deadlines by clock_nanosleep, which Linux has")


def pile(legs, restitution=0.0, tied=False):
    """A plate that lies on many feet with friction: rows that repeat one another; some are tied twice besides."""
    build = ph.Builder("pile", gravity=(0, 0, -9.81))
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0.1)
    build.body("up", parent="along", joint=ph.prismatic("z", name="z"), mass=0.1)
    build.body("plate", parent="up", joint=ph.revolute("y", name="a"), mass=1, com=(0.2, 0, 0), inertia=(0.1,) * 3)
    for k in range(legs):
        build.marker(f"foot{k}", body="plate", at=(0.2 * k - 0.3, 0, 0))
        build.contact(f"foot{k}", friction=0.9 - 0.1 * k, restitution=restitution, name=f"ground{k}")
    if tied:
        build.body("bar", parent="plate", at=(0.2, 0, 0), joint=ph.revolute("y", name="b"), mass=1, inertia=(0.1,) * 3)
        build.body("rod", parent="plate", at=(0.5, 0, 0), joint=ph.revolute("y", name="r"), mass=1, inertia=(0.1,) * 3)
        build.constraint(ph.symbol("b") - ph.sin(ph.symbol("r")), name="gear")
        build.constraint(2 * ph.symbol("b") - 2 * ph.sin(ph.symbol("r")), name="gear again")
    return ph.formulate(build.build()).compile()


COUNTING = """
import json, math, sys
import numpy as np
import polhode as ph
from polhode.kernels import complementarity as lcp, gathering, rebound, settle
from tests.unit.interact.test_worst import pile

counts = {}
class Counted:
    def __init__(self, name, real):
        self.name, self.real = name, real
    def __call__(self, *args):
        counts[self.name] = counts.get(self.name, 0) + 1
        return self.real(*args)

lcp._newton_step = Counted("newton", lcp._newton_step)
lcp._sweep = Counted("sweeps", lcp._sweep)
rebound.solve_rows = Counted("problems", rebound.solve_rows)
settle.furthest = Counted("looks", settle.furthest)
if sys.argv[3] == "harder":  # nothing is ever good enough, so that all iterations are taken
    lcp._is_solved = lambda *args: False
    lcp.SUCCESS = 0.0
    lcp.PATIENCE = 10**6
dyn = pile(int(sys.argv[1]), float(sys.argv[2]), tied=True)
u0 = {"x_dot": 0.5, "z_dot": -1.0, "a_dot": -1.0, "r_dot": 0.3, "b_dot": 0.3}
sim = ph.Simulation(dyn, {"z": 1e-4}, u0, method="moreau", step=1e-3)
found = []
for _ in range(int(sys.argv[4])):
    counts.clear()
    sim.step()
    found.append({**counts, "looks": counts.get("looks", 0)})
print(json.dumps([found, sim._modes.unsolved()["unsolved"]]))
"""


def counted(legs, restitution, how, steps):
    words = [sys.executable, "-c", COUNTING, str(legs), str(restitution), how, str(steps)]
    plain = os.environ | {"POLHODE_PLAIN_KERNELS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600, env=plain)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(("restitution", "how", "steps"), [(0.0, "as it is", 12), (0.5, "harder", 2)])
def test_iterations_never_exceed_what_a_step_is_limited_to(restitution, how, steps):
    found, unsolved = counted(4, restitution, how, steps)
    worst = worst_of(realtime(pile(4, restitution, tied=True)))
    assert worst.rows >= 8
    assert worst.equal == 2
    most = {name: max(step.get(name, 0) for step in found) for name in ("newton", "sweeps", "problems", "looks")}
    assert most["newton"] <= worst.newton
    assert most["sweeps"] * lcp.SWEEPS <= worst.sweeps  # a call is so many
    assert most["problems"] <= worst.problems
    assert most["looks"] <= 3 * (2 + 2 * worst.corrections)
    if how == "harder":
        assert unsolved >= 1
        each = [step["newton"] / step["problems"] for step in found if step.get("problems")]
        assert max(each) == NEWTON  # the bound is reached, so it is no larger than need be
        assert most["sweeps"] == most["problems"] * lcp.ROUNDS


def test_what_is_said_of_the_worst_case():
    machine = realtime(pile(0, tied=True), rate=100)
    worst = worst_of(machine)
    assert (worst.rows, worst.problems, worst.newton, worst.corrections) == (0, 0, 0, CORRECTIONS)
    machine = realtime(pile(3), rate=100)
    worst = worst_of(machine)
    assert worst.problems == 2
    assert worst.newton == 2 * NEWTON
    assert worst.seconds > machine.cost
    machine.step(3)
    for words in ("measured before", "problems of 9 rows", "a period       10 ms", "99.9 %"):
        assert words in machine.report()
    assert worst_of(realtime(pile(3, 0.5), rate=100)).problems == 5
    with pytest.raises(ValueError, match=r"a step may take 2 problems of 9 rows.*Lower the rate, have fewer rows"):
        realtime(pile(3), rate=20_000, strict=True)
