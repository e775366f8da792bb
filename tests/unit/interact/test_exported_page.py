"""What an exported page does between ticks, by its own script in Node: planned switches, parameters beside commands."""

import json
import re
import subprocess

import pytest
from test_exported_native import STEP, needs_node

import polhode as ph
from polhode.interact import realtime
from polhode.interact.exported import live_page

AROUND = """
const scene = { parents: [0] }, $ = () => ({}), switches = [], draw = () => {}, run = () => {};
const trace = new Map(), every = 1e9, remember = () => {};
"""


def state_after(text, script):
    """The state of a page after some of its own calls, without its picture."""
    script_of_page = re.search(r"<script>(.*)</script>", text, re.DOTALL).group(1)
    machine = re.search(r"machine = (\{.*\});\n", script_of_page).group(1)
    begin = re.search(r"// (The loop of real time|(flow|table)\()", script_of_page).start()
    page = script_of_page[begin : script_of_page.index("// ---- the hand")]
    done = f"{script}; console.log(JSON.stringify([...x].slice(0, nq + nu)));"
    program = f"const machine = {machine};\n{AROUND}{page}let pulled = null;\n"
    program += f"const live = () => {{ alive = true; start(); {done} }};\n"
    program += "if (native) native.ready.then(live); else live();\n"
    found = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=False)
    assert not found.returncode, found.stderr[-2000:]
    return json.loads(found.stdout)


def rotors(capacity, *switches):
    """Two rotors that a clutch brings together, one of them held."""
    build = ph.Builder("rotors", gravity=(0, 0, 0))
    m = ph.symbol("m")
    build.body("a", joint=ph.revolute("z", name="a"), mass=1, inertia=(9, 9, m))
    build.body("b", joint=ph.revolute("z", name="b"), mass=1, inertia=(3, 3, 3))
    build.clutch("a_dot", "b_dot", name="clutch", active=False)
    build.brake("b_dot", **capacity, name="brake")
    for time, does in switches:
        build.switch(at=time, **does)
    return ph.formulate(build.build()).compile()


GIVEN = {"u0": {"a_dot": 10.0}, "p": {"m": 2.0}}
KINDS = [{"capacity": 100.0}, {}]  # by WebAssembly, by JavaScript


@needs_node
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_planned_for_one_time_happens_at_once(kind):
    """What was held is let go as the clutch engages: 2 * 10 = (2 + 3) * 4, as of `simulate`."""
    dyn = rotors(kind, (0.5, {"engage": "clutch"}), (0.5, {"release": "brake"}))
    found = state_after(live_page(dyn, step=STEP, **GIVEN), "advance(1000)")
    assert found[2:] == pytest.approx([4.0, 4.0], abs=1e-9)
    traj = ph.simulate(dyn, t_end=1.0, method="moreau", step=STEP, **GIVEN)
    assert found == pytest.approx([*traj.q[-1], *traj.u[-1]], abs=1e-9)


@needs_node
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("time", "tick"), [(0.5004, 500), (0.5006, 501)])
def test_what_is_planned_happens_at_the_nearest_tick(kind, time, tick):
    """As in real time; b is let go at once, and a turns by 10 until then."""
    dyn = rotors(kind, (0.1, {"release": "brake"}), (time, {"engage": "clutch"}))
    found = state_after(live_page(dyn, step=STEP, **GIVEN), "advance(1000)")
    a = 10 * tick * STEP + 4 * (1000 - tick) * STEP
    assert found == pytest.approx([a, 4 * (1000 - tick) * STEP, 4.0, 4.0], abs=1e-9)
    machine = realtime(dyn, rate=1000, method="moreau", **GIVEN)
    machine.step(1000)
    assert found == pytest.approx([*machine.state.q, *machine.state.u], abs=1e-9)


@needs_node
@pytest.mark.parametrize("kind", KINDS)
def test_a_parameter_that_was_set_while_it_stood_still_counts_in_a_command(kind):
    """The inertia is 6 when the clutch engages: 6 * 10 = (6 + 3) u."""
    dyn = rotors(kind)
    found = state_after(live_page(dyn, step=STEP, **GIVEN), "advance(100); p[0] = 6; command([1, -1]); advance(100)")
    assert found[2:] == pytest.approx([60 / 9, 60 / 9], abs=1e-9)
