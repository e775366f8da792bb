"""A machine as one page: what its JavaScript computes is what native code does."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from mechanisms import four_bar

import polhode as ph
from polhode.interact.exported import export, live_page, motion, pictured, pulled
from polhode.simulate import Simulation

EXAMPLES = Path(__file__).parents[3] / "examples"
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="NODE IS MISSING: pages are not run")

DRIVER = """
const x = Float64Array.from(machine.x), tau = Float64Array.from(machine.tau), p = Float64Array.from(machine.p);
const step = makeStepper(flow, x.length, machine.units, holding), said = [], commands = COMMANDS;
if (holding) holding.begin(machine.t, x, p);
const least = [], changed = CHANGED; for (const i in changed) x[i] = changed[i];
for (let i = 0; i < COUNT; i++) {
  const t = machine.t + i * machine.h;
  if (commands[i]) said.push(holding.command(t, x, p, machine.holds.groups.map(g => commands[i][g] ?? 0)));
  least.push(step(t, x, machine.h, tau, p)); if (!least.at(-1)) break;
}
console.log(JSON.stringify({ x: [...x], said, steps: least.length, stopped: !least.at(-1) }));
"""


def cart_pole(**gravity):
    build = ph.Builder("cart-pole", **gravity)
    half = ph.symbol("half")
    build.body("cart", joint=ph.prismatic("x", q="x", u="v"), mass=1.0)
    pole = ph.revolute("y", q="theta", u="omega", damping=0.01)
    build.body("pole", parent="cart", joint=pole, mass=0.2, com=(0, 0, -half), inertia=(0.02, 0.02, 0.001))
    build.marker("grip", body="pole", at=GRIP)
    return ph.formulate(build.build()).compile()


GRIP = (0.1, 0.2, -0.4)
CART = {"q0": {"theta": 1.0}, "u0": {"v": 0.3}, "p": {"half": 0.5}, "tau": {"v": "-3*x", "omega": 0.05}}


def ur5():
    return ph.formulate(ph.load(EXAMPLES / "ur5.urdf", limits="ignore")).compile()


def thrown():
    build = ph.Builder("thrown")
    build.body("box", joint=ph.free(quaternion=True), mass=2, com=(0, 0, 0.3), inertia=(0.1, 0.2, 0.3))
    return ph.formulate(build.build()).compile()


def hung():
    """A body with a quaternion, one point of which is tied to the world."""
    build = ph.Builder("hung")
    build.body("box", joint=ph.free(quaternion=True), mass=2, com=(0, 0, -0.3), inertia=(0.1, 0.2, 0.3))
    build.loop("world", "box", "point", name="hook")
    return ph.formulate(build.build()).compile()


def linkage():
    return ph.formulate(four_bar()).compile()


def linkage_start():
    q, u = ph.assemble(linkage(), [-1.0, 0.5, -1.5], {"a_dot": 2.0}, keep=["a_dot"])
    return {"q0": q, "u0": u}


def embedded():
    """The four-bar in the speed of its crank alone, by Kane's method; positions close in those of all joints."""
    return ph.formulate(four_bar(), embed=True, independent=["a_dot"]).compile()


def arm():
    """A flexible arm by assumed modes, with a body at its end."""
    build = ph.Builder("arm")
    beam = ph.beam(length=1, mu=0.5, EI_y=10, EI_z=20, modes=2)
    build.body("arm", joint=ph.revolute("y", name="a"), flexible=beam)
    build.body("load", parent="arm", at=(1, 0, 0), joint=ph.revolute("y", name="b"), mass=0.2, com=(0.1, 0, 0))
    build.marker("tip", body="arm", at=(1, 0, 0))
    return ph.formulate(build.build()).compile()


MACHINES = {
    "flexible arm": (arm, {"q0": {"a": 0.3}}),
    "cart-pole": (cart_pole, CART),
    "driven in time": (cart_pole, CART | {"tau": {"v": "sin(3*t) - v"}}),
    "ur5": (ur5, {"q0": [0.1, -1, 0.5, 0.2, 0.3, 0.1]}),
    "thrown": (thrown, {"u0": [3, 0.1, 5, 0, 0, 1]}),
    "hung": (hung, {"u0": [1, 0.5, 3, 0, 0, 0]}),
    "four-bar": (linkage, linkage_start()),
    # undamped, this motion takes 1e-14 to 1e-5 in native code itself
    "embedded four-bar": (embedded, {"q0": linkage_start()["q0"], "tau": {"a_dot": "-2*a_dot"}}),
}


def played(text, count, commands=None, changed=None):
    """What a page comes to after some steps, by its script without its picture.

    commands : at steps, 1 for what engages and -1 for what is released, by name
    changed  : entries of the state where it begins
    """
    script = re.search(r"<script>(.*)</script>", text, re.DOTALL).group(1)
    machine = re.search(r"machine = (\{.*\});\n", script).group(1)
    equations = script[re.search(r"// (flow|table)\(", script).start() : script.index("// ---- the machine")]
    driver = DRIVER.replace("COUNT", str(count)).replace("COMMANDS", json.dumps(commands or {}))
    driver = driver.replace("CHANGED", json.dumps(changed or {}))
    program = f"const machine = {machine};\n{equations}{driver}"
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def run_in_node(text, count):
    return np.array(played(text, count)["x"])


@needs_node
@pytest.mark.parametrize("name", MACHINES)
def test_the_page_moves_as_native_code_does(name):
    make, given = MACHINES[name]
    dyn = make()
    found = run_in_node(live_page(dyn, step=2e-3, **given), 2500)
    traj = ph.simulate(dyn, t_end=5.0, method="rk4", step=2e-3, **given)
    nq, nu = traj.q.shape[1], traj.u.shape[1]
    assert np.abs(traj.q[-1] - traj.q[0]).max() > 0.1
    np.testing.assert_allclose(found[:nq], traj.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[nq : nq + nu], traj.u[-1], rtol=0, atol=1e-9)


@needs_node
def test_poses_and_jacobians_are_those_of_the_equations_with_z_up():
    dyn = cart_pole(gravity=(-9.81, 0, 0))
    upright = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
    poses, *jacobians = pictured(pulled(dyn, {}), ("cart", "pole"), upright)
    q, u = np.array([0.3, 0.7]), np.zeros(2)
    x = np.array([*q, *u, *[0.0] * (poses.inputs[1].size - 4)])
    found = poses([0.0], x, [0.5]).reshape(2, 12)
    for k, name in enumerate(("cart", "pole")):
        X = dyn.pose(name)(q, p={"half": 0.5})
        np.testing.assert_allclose(found[k, :9].reshape(3, 3), upright @ X[:3, :3], atol=1e-14)
        np.testing.assert_allclose(found[k, 9:], upright @ X[:3, 3], atol=1e-14)
        J = dyn.jacobian(name)(q, p={"half": 0.5}).reshape(2, 3, 2)
        np.testing.assert_allclose(jacobians[k]([0.0], x, [0.5]).reshape(2, 3, 2), upright @ J, atol=1e-14)


@needs_node
def test_a_hand_acts_beside_a_law():
    """A force on a speed that has a law is added to it."""
    dyn = cart_pole()
    laws = Simulation(dyn, **CART)._inputs.laws
    (flow,) = motion(pulled(dyn, laws))
    x = np.array([0.4, 0.3, 0.2, 0.1, *[0.0] * (flow.inputs[1].size - 4)])
    found = flow([0.0], x, [0.7, 0.2], [0.5])[2:4]
    expected = dyn.forward_dynamics([0.4, 0.3], [0.2, 0.1], [0.7 - 3 * 0.4, 0.2], p={"half": 0.5})
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@needs_node
def test_where_loops_cannot_close_it_stops_as_native_code_does():
    """The crank turns the other way, to the end of its travel."""
    dyn, q = embedded(), linkage_start()["q0"]
    with pytest.warns(ph.SimulationWarning, match="can no longer be satisfied"):
        native = ph.simulate(dyn, q, {"a_dot": 2.0}, 5.0, method="rk4", step=2e-3)
    found = played(live_page(dyn, q, {"a_dot": -2.0}, step=2e-3), 2500, changed={3: 2.0})
    assert found["stopped"]
    assert found["steps"] * 2e-3 == pytest.approx(native.t[-1], abs=2e-2)


def test_it_is_one_file_without_addresses(tmp_path):
    path = export(cart_pole(), tmp_path / "cart.html", **CART)
    text = path.read_text()
    assert not re.search(r"https?://|<link|src=|import\(|{{|\beval\(", text)


@pytest.mark.parametrize("name", ["</script><script>alert(1)</script>", "/*{{machine}}*/null", "{{title}}"])
def test_a_name_cannot_leave_its_string(name):
    build = ph.Builder(name)
    build.body("bob", joint=ph.revolute("y"), mass=1, com=(0, 0, -1))
    text = live_page(ph.formulate(build.build()).compile(), [0.1])
    assert text.count("<script") == text.count("</script") == 1
    assert json.loads(re.search(r"const scene = (.*), machine = ", text).group(1))["title"] == name


def test_what_it_cannot_do_is_refused_by_name(tmp_path):
    build = ph.Builder("still")
    build.body("block", joint=ph.weld(), mass=1)
    with pytest.raises(ValueError, match=r"'still', nothing moves. Give a body a joint"):
        export(ph.formulate(build.build()).compile(), tmp_path / "a.html")
    with pytest.raises(TypeError, match=r"a Python function, which a browser cannot run"):
        export(cart_pole(), tmp_path / "a.html", p={"half": 0.5}, tau=lambda t, q, u: [0, 0])
    with pytest.raises(ValueError, match=r"step is 0, expected seconds, above 0"):
        export(cart_pole(), tmp_path / "a.html", p={"half": 0.5}, step=0)
    assert not list(tmp_path.iterdir())


def test_inputs_without_a_slider_are_counted():
    """Of a machine with many, controls come first; they used to be left out without a word."""
    build = ph.Builder("many")
    for k in range(26):
        build.body(f"b{k}", joint=ph.prismatic("x", name=f"x{k}"), mass=1)
    build.actuator("push", along={"x25_dot": 1}, force="push_control", lower=-2, upper=2)
    text = live_page(ph.formulate(build.build()).compile())
    knows = json.loads(re.search(r"machine = (\{.*\});\n", text).group(1))
    assert [row[:2] for row in knows["forces"][:2]] == [[26, "push"], [0, "on x0_dot"]]
    assert "Of its 27 inputs, the first 24 have sliders." in knows["note"]
    assert "sliders" not in json.loads(re.search(r"machine = (\{.*\});\n", live_page(thrown())).group(1))["note"]
