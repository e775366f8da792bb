"""A machine whose parts come and go by themselves as one page: its WebAssembly moves it as native code does."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.interact.exported import export, live_page
from polhode.interact.loop import Realtime

needs_node = pytest.mark.skipif(not shutil.which("node"), reason="NODE IS MISSING: pages are not run")
EXAMPLES = Path(__file__).parents[3] / "examples"
STEP = 1e-3

DRIVER = """
native.ready.then(() => {
  const x = Float64Array.from(machine.x), tau = Float64Array.from(machine.tau), p = Float64Array.from(machine.p);
  const commands = COMMANDS, forces = FORCES, values = VALUES, said = [], seen = [], n = machine.nq + machine.nu;
  native.begin(machine.t, x, p);
  const words = () => Object.fromEntries(machine.holds.groups.map((name, g) => [name, native.word(g)]));
  for (let again = 0; again < ROUNDS; again++) for (let i = 0; i < COUNT; i++) {
    if (i === 0) native.begin(machine.t, x, p);
    if (forces[i]) tau.set(forces[i]);
    if (values[i]) p.set(values[i]);
    const t = machine.t + i * machine.h;
    if (commands[i]) said.push(native.command(t, x, p, machine.holds.groups.map(g => commands[i][g] ?? 0)));
    if (i % 50 === 0) seen.push([i, words()]);
    if (!move(t, x, machine.h, tau, p)) { said.push(native.failed()); break; }
  }
  console.log(JSON.stringify({ x: [...x.slice(0, n)], said, seen, mode: words() }));
});
"""


def played(text, count, commands=None, forces=None, values=None, rounds=1):
    """What a page comes to after some steps, by its script without its picture, and words for its constraints.

    commands       : at steps, 1 for what engages and -1 for what is released, by name
    forces, values : all forces and controls, and parameters, from a step on
    rounds         : how often it begins
    """
    script = re.search(r"<script>(.*)</script>", text, re.DOTALL).group(1)
    machine = re.search(r"machine = (\{.*\});\n", script).group(1)
    code = script[script.index("// The loop of real time") : script.index("// ---- the machine")]
    driver = DRIVER.replace("COUNT", str(count)).replace("ROUNDS", str(rounds))
    for name, given in (("COMMANDS", commands), ("FORCES", forces), ("VALUES", values)):
        driver = driver.replace(name, json.dumps(given or {}))
    program = f"const machine = {machine};\n{code}{driver}"
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout)


def one(joint, add, **body):
    build = ph.Builder("one")
    build.body("ball", joint=joint, mass=1, **body)
    add(build)
    return ph.formulate(build.build()).compile()


def bouncing():
    """A ball that is thrown, turns while it touches and goes on bouncing."""
    free, inertia = ph.free(quaternion=True), (0.004, 0.004, 0.004)
    return one(
        free,
        lambda build: build.contact("ball", shape="sphere", radius=0.1, friction=0.3, restitution=0.7, name="ground"),
        inertia=inertia,
    )


def stopped():
    return one(ph.prismatic("z", name="z"), lambda build: build.stop("z", lower=0, restitution=0.8, name="floor"))


def sliding():
    """A block that is thrown along the ground, slides and sticks; a spring pulls it back until it slides again."""
    build = ph.Builder("block")
    build.body("carriage", joint=ph.prismatic("z", name="z"), mass=0.5)
    build.body("block", parent="carriage", joint=ph.prismatic("x", name="x"), mass=1)
    build.contact("block", friction=0.4, name="ground")
    return ph.formulate(build.build()).compile()


def rotors(**clutch):
    build = ph.Builder("rotors", gravity=(0, 0, 0))
    build.body("a", joint=ph.revolute("z", name="a"), mass=1, inertia=(2, 2, 2))
    build.body("b", joint=ph.revolute("z", name="b", damping=0.3), mass=1, inertia=(1, 1, 1))
    build.clutch("a_dot", "b_dot", name="clutch", **clutch)
    build.brake("a_dot", capacity=1.5, name="brake", active=False)
    return ph.formulate(build.build()).compile()


def slipping():
    return rotors(capacity=2.0, active=False)


def roped():
    """A pendulum on a rope: thrown, so that the rope slackens and is tightened again."""
    build = ph.Builder("roped")
    build.body("slide", joint=ph.prismatic("x", name="x"), mass=0.2)
    build.body("bob", parent="slide", joint=ph.prismatic("z", name="z"), mass=1)
    build.marker("eye", body="world", at=(0, 0, 0))
    build.rope("eye", "bob", length=1.0, name="rope", restitution=0.2)
    return ph.formulate(build.build()).compile()


def waiting():
    """A cart that is caught on its way back from a wall; it lets go where it is slow, by two comparisons."""
    build = ph.Builder("cart", gravity=(0, 0, -9.81))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("bob", parent="cart", joint=ph.revolute("y", name="theta"), mass=0.2, com=(0, 0, -0.5))
    build.stop("x", upper=1.0, restitution=0.5, name="wall")
    build.lock("x", name="catch", active=False)
    build.switch(when="x < 0.5 and x_dot < 0", engage="catch")
    build.switch(when="theta > 0.3", release="catch")
    return ph.formulate(build.build()).compile()


def timed():
    """What the model switches at a time, beside a stop that acts by itself."""
    build = ph.Builder("timed")
    build.body("box", joint=ph.prismatic("z", name="z"), mass=1)
    build.stop("z", lower=0, restitution=0.5, name="floor")
    build.brake("z_dot", name="brake", active=False)
    build.switch(at=0.9, engage="brake")
    build.switch(at=1.2, release="brake")
    return ph.formulate(build.build()).compile()


SWITCHED = {200: {"clutch": 1}, 5500: {"brake": 1}}
THROWN = {"q0": {"ball_z": 1.0}, "u0": {"ball_vx": 1.5}}
# of each: the model, where it begins, how many steps, at which steps what is engaged (1), and words that are seen
RUNS = {
    "ball": (bouncing, THROWN, 3000, {}, {"ground": {"open"}}),
    "stop": (stopped, {"q0": [1.0]}, 3000, {}, {"floor": {"open"}}),
    "block": (sliding, {"u0": {"x_dot": 3.0}, "tau": {"x_dot": "-6*x"}}, 3000, {}, {"ground": {"slides", "sticks"}}),
    "clutch": (slipping, {"u0": {"a_dot": 10.0}}, 6000, SWITCHED, {"clutch": {"released", "slips", "holds"}}),
    "rope": (roped, {"q0": {"x": 0.9, "z": 0.2}}, 2000, {}, {"rope": {"open"}}),
    "waiting": (waiting, {"u0": {"x_dot": 2.0}}, 2500, {}, {"catch": {"released", "engaged"}}),
    "timed": (timed, {"q0": [1.0]}, 2000, {}, {"brake": {"released", "engaged"}}),
}


def switches_of(commands):
    return [
        ph.at(k * STEP, engage=[n for n, on in each.items() if on > 0], release=[n for n, on in each.items() if on < 0])
        for k, each in commands.items()
    ]


@needs_node
@pytest.mark.parametrize("name", RUNS)
def test_the_page_moves_as_native_code_does(name):
    make, given, steps, commands, words = RUNS[name]
    dyn = make()
    text = live_page(dyn, step=STEP, **given)
    found = played(text, steps, commands)
    assert not any(found["said"])
    whole = {"method": "moreau", "step": STEP}
    traj = ph.simulate(dyn, t_end=steps * STEP, switches=switches_of(commands), **whole, **given)
    nq = traj.q.shape[1]
    assert np.abs(traj.q[-1] - traj.q[0]).max() > 0.01
    np.testing.assert_allclose(found["x"][:nq], traj.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["x"][nq:], traj.u[-1], rtol=0, atol=1e-9)
    for constraint, expected in words.items():
        assert expected <= {mode[constraint] for _, mode in found["seen"]}


def native_state(dyn, ticks, given, forces=None, values=None):
    """Of the loop of real time after some ticks, with all forces and parameters from a tick on."""
    begin = {"u0": None, "z0": None, "tau": None, "p": None, "method": "moreau", "step": STEP} | given
    rt = Realtime(dyn, 1 / STEP, "skip", begin, record=False)
    for tick in range(ticks):
        if forces and tick in forces:
            rt.tau = forces[tick]
        if values and tick in values:
            rt.p = values[tick]
        rt.step()
    return rt.state.q, rt.state.u


def pushed():
    """A block on the ground between two stops, with a parameter and an actuator."""
    build = ph.Builder("pushed")
    m = ph.symbol("m")
    build.body("carriage", joint=ph.prismatic("z", name="z"), mass=0.5)
    build.body("block", parent="carriage", joint=ph.prismatic("x", name="x"), mass=m)
    build.contact("block", friction=0.4, name="ground")
    build.stop("x", lower=-1, upper=1, restitution=0.5, name="walls")
    build.actuator("push", {"x_dot": 2.0})
    return ph.formulate(build.build()).compile()


@needs_node
def test_forces_controls_and_parameters_act_as_in_real_time():
    dyn = pushed()
    given = {"q0": {"z": 0.01}, "tau": {"push": 2.0}, "p": {"m": 1.0}}
    forces, values = {400: [0.0, 6.0, 5.0], 1500: [-3.0, 0.0, -9.0]}, {900: [2.5], 1700: [0.7]}
    found = played(live_page(dyn, step=STEP, **given), 1900, forces=forces, values=values)
    q, u = native_state(dyn, 1900, given, forces, values)
    np.testing.assert_allclose(found["x"], [*q, *u], rtol=0, atol=1e-9)
    other, _ = native_state(dyn, 1900, given, forces)
    assert np.abs(other - q).max() > 1e-3  # parameters matter
    assert {mode["ground"] for _, mode in found["seen"]} >= {"open", "sticks", "slides"}


@needs_node
def test_a_force_acts_beside_a_law():
    """As the hand's does: the law of a speed is in the code, and what is pushed is added to it."""
    make, given, *_ = RUNS["block"]
    forces = {300: [0.0, 7.0], 1200: [0.0, 0.0]}
    found = played(live_page(make(), step=STEP, **given), 2000, forces=forces)
    switched = "-6*x + select(t > 0.2999, select(t < 1.1999, 7, 0), 0)"
    traj = ph.simulate(make(), u0=given["u0"], tau={"x_dot": switched}, t_end=2.0, method="moreau", step=STEP)
    np.testing.assert_allclose(found["x"], [*traj.q[-1], *traj.u[-1]], rtol=0, atol=1e-9)


@needs_node
def test_it_begins_again_as_at_first():
    make, given, steps, commands, _ = RUNS["clutch"]
    text = live_page(make(), step=STEP, **given)
    once, twice = played(text, steps, commands), played(text, steps, commands, rounds=2)
    assert once["x"] == twice["x"]
    assert once["mode"] == twice["mode"]


@needs_node
def test_what_cannot_be_engaged_is_refused_and_changes_nothing():
    """A stop that is far passed, as native code does."""
    text = live_page(stopped(), [1.0], step=STEP)
    found = played(text, 1000, {100: {"floor": -1}, 800: {"floor": 1}})
    assert found["said"] == ["", "floor"]
    assert found["mode"] == {"floor": "released"}
    assert found["x"] == pytest.approx([1 - 9.81 / 2, -9.81], abs=1e-9)


@needs_node
def test_limits_of_a_robot_act():
    """An arm that falls against the limits of its joints, without a word about them."""
    dyn = ph.formulate(ph.load(EXAMPLES / "ur5.urdf")).compile()
    given = {"q0": [0.1, -1.0, 0.5, 0.2, 0.3, 0.1], "u0": [0, 0, 25.0, 0, 0, 0]}
    given["tau"] = {name: f"-1*{name}" for name in map(str, dyn.equations.u)}
    found = played(live_page(dyn, step=STEP, **given), 2000)
    traj = ph.simulate(dyn, t_end=2.0, method="moreau", step=STEP, **given)
    np.testing.assert_allclose(found["x"], [*traj.q[-1], *traj.u[-1]], rtol=0, atol=1e-9)
    assert "upper" in {mode["limit of shoulder_lift"] for _, mode in found["seen"]}


@pytest.mark.slow
@needs_node
def test_the_walker_walks():
    """On rigid ground its feet amplify rounding, natively too: it goes as far, not to the last digit."""
    sys.path.insert(0, str(EXAMPLES))
    import walker

    dyn, gait = ph.formulate(walker.walker({"friction": 0.8}), "quasicoordinate").compile(), walker.Gait()
    given = {"q0": gait.start() | {"top_z": gait.start()["top_z"] + 1.5e-3}, "tau": gait.control()}
    found = played(live_page(dyn, step=STEP, **given), 3000)
    assert found["said"] == []
    traj = ph.simulate(dyn, t_end=3.0, method="moreau", step=STEP, **given)
    place = list(map(str, dyn.equations.q)).index("top_x")
    assert traj["top_x"][-1] > 0.2
    assert found["x"][place] == pytest.approx(traj["top_x"][-1], abs=0.01)
    assert {"sticks", "open"} <= {word for _, mode in found["seen"] for word in mode.values()}


def test_what_a_page_leaves_to_python_is_refused(tmp_path):
    build = ph.Builder("many", gravity=(0, 0, -9.81))
    build.body("plate", joint=ph.prismatic("z", name="z"), mass=1)
    for k in range(250):
        build.marker(f"m{k}", body="plate", at=(k * 0.01, 0, 0))
        build.contact(f"m{k}", name=f"c{k}")
    with pytest.raises(ValueError, match=r"'many' has more than 240 rows of contacts, stops"):
        export(ph.formulate(build.build()).compile(), tmp_path / "a.html", [1.0])
    build = ph.Builder("picky")
    build.body("box", joint=ph.prismatic("z", name="z"), mass=1)
    build.lock("z", name="catch", active=False)
    build.switch(when=" and ".join(f"z < 0.{k}" for k in range(11, 24)), engage="catch")
    with pytest.raises(ValueError, match=r"'picky' waits for too many comparisons"):
        export(ph.formulate(build.build()).compile(), tmp_path / "a.html", [1.0])
    assert not list(tmp_path.iterdir())
