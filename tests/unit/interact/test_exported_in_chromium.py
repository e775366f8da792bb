"""The exported file, opened from disk in a browser without a window."""

import numpy as np
import pytest
from test_exported import CART, GRIP, arm, cart_pole
from test_exported_switches import RUNS, cart, switches_of

import polhode as ph
from polhode.interact import export

# colours of the canvas: how many there are, and how many pixels are not the most frequent
COLOURS = """() => {
  const image = pen.getImageData(0, 0, canvas.width, canvas.height), data = new Uint32Array(image.data.buffer);
  const seen = new Map();
  for (const c of data) seen.set(c, (seen.get(c) ?? 0) + 1);
  return [seen.size, data.length - Math.max(...seen.values())];
}"""

# the page forbids texts that are evaluated, so it is not asked by `wait_for_function`
RUNS_ON = "new Promise(done => { (function look() { polhode.state().t > 0.05 ? done() : setTimeout(look, 20); })(); })"


@pytest.fixture
def opened(browser):
    """Opens a file; a script that fails fails the test, and so does a request."""
    context, faults = browser.new_context(viewport={"width": 1000, "height": 600}), []

    def open_file(path, moment):
        tab = context.new_page()
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("request", lambda asked: asked.url.startswith("file:") or faults.append(asked.url))
        tab.goto(f"{path.as_uri()}#{moment}")
        return tab

    yield open_file
    context.close()
    assert not faults


@pytest.fixture
def page(opened, tmp_path):
    """The cart-pole, paused at its beginning."""
    return opened(export(cart_pole(), tmp_path / "cart.html", **CART), "paused")


def test_it_draws_and_agrees_with_native_code(page):
    colours, drawn = page.evaluate(COLOURS)
    assert colours > 50
    assert drawn > 2000
    found = page.evaluate("polhode.advance(2000), polhode.state()")
    traj = ph.simulate(cart_pole(), t_end=2.0, method="rk4", step=1e-3, **CART)
    assert found["t"] == pytest.approx(2.0)
    np.testing.assert_allclose(found["q"], traj.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["u"], traj.u[-1], rtol=0, atol=1e-9)


def test_the_player_of_a_run_draws_it_too(opened, tmp_path):
    traj = ph.simulate(cart_pole(), t_end=2.0, **CART)
    tab = opened(traj.animate(tmp_path / "run.html"), "t=1.5")
    colours, drawn = tab.evaluate(COLOURS)
    assert colours > 50
    assert drawn > 2000
    assert tab.locator("#clock").inner_text() == "1.50 / 2.00 s"
    before = tab.evaluate("[...now]")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("[...now]") != before


def test_the_caster_is_stuck_and_freed(opened, tmp_path):
    """By its switch, by a script, and by native code at the same ticks."""
    _, given, _ = RUNS["cart"]
    dyn = ph.formulate(cart()).compile()
    tab = opened(export(dyn, tmp_path / "cart.html", **given), "paused")
    toggle = tab.get_by_role("switch", name="caster")
    assert not toggle.is_checked()
    tab.evaluate("polhode.advance(250)")
    toggle.click()
    modes = {"back wheels": "engaged", "front wheel": "engaged", "caster": "engaged", "parked": "released"}
    assert tab.evaluate("polhode.mode()") == modes
    assert tab.locator(".switch", has_text="caster").inner_text().split() == ["caster", "engaged"]
    assert tab.evaluate("polhode.advance(650), polhode.release('caster')")
    assert not toggle.is_checked()
    found = tab.evaluate("polhode.advance(1100), polhode.state()")
    commands = {250: {"caster": 1}, 900: {"caster": -1}}
    traj = ph.simulate(dyn, t_end=2.0, method="rk4", step=1e-3, switches=switches_of(commands), **given)
    np.testing.assert_allclose(found["q"], traj.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["u"], traj.u[-1], rtol=0, atol=1e-9)
    said = tab.evaluate("(() => { try { polhode.engage('anchor') } catch (e) { return e.message } })()")
    assert said == "There is no constraint 'anchor' to switch. There are: back wheels, front wheel, caster, parked."
    tab.keyboard.press("r")
    assert tab.evaluate("polhode.mode()")["caster"] == "released"


def test_the_file_is_used_with_keys(opened, tmp_path):
    """Space toggles a switch that has the focus, and else plays; H takes a body, an arrow pulls it; focus is seen."""
    _, given, _ = RUNS["cart"]
    tab = opened(export(ph.formulate(cart()).compile(), tmp_path / "cart.html", **given), "paused")
    toggle = tab.get_by_role("switch", name="caster")
    toggle.focus()
    tab.keyboard.press("Space")
    assert toggle.is_checked()
    assert not tab.evaluate("playing")
    tab.locator("#canvas").focus()
    tab.keyboard.press("h")
    assert "is held" in tab.locator("#note").inner_text()
    assert tab.evaluate("getComputedStyle(canvas).outlineStyle") != "none"
    start = tab.evaluate("[...pulled.to]")
    for _ in range(8):
        tab.keyboard.press("Shift+ArrowRight")
    assert tab.evaluate("([x, y, z]) => Math.hypot(pulled.to[0] - x, pulled.to[1] - y, pulled.to[2] - z)", start) > 0.1
    free = tab.evaluate("polhode.advance(300), polhode.state().q")
    tab.keyboard.press("Escape")
    assert tab.evaluate("pulled === null")
    tab.keyboard.press("r")
    assert np.abs(np.subtract(free, tab.evaluate("polhode.advance(300), polhode.state().q"))).max() > 1e-3
    before = tab.evaluate("camera.yaw")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("camera.yaw") > before
    assert tab.get_by_role("timer", name="Time").count() == 1  # no live region that speaks all the while


def test_a_flexible_arm_is_drawn_deflected(opened, tmp_path):
    """The section at its end is where a marker there is in native code, and moves as that does."""
    dyn = arm()
    tab = opened(export(dyn, tmp_path / "arm.html", {"a": 0.3}, step=5e-4), "paused")
    found, frames, jacobians = tab.evaluate("""() => {
      polhode.advance(600); const on = machine.bent[0];
      const every = Array.from({ length: on.count }, (_, s) => on.first + s);
      return [polhode.state(), every.map(k => [...of(k)]), every.map(k => (jacobian(k), [...J]))];
    }""")
    traj = ph.simulate(dyn, {"a": 0.3}, t_end=0.3, method="rk4", step=5e-4)
    np.testing.assert_allclose(found["q"], traj.q[-1], rtol=0, atol=1e-9)
    q, nu = np.array(found["q"]), len(found["u"])
    X, J = dyn.pose("tip")(q), dyn.jacobian("tip")(q)
    rigid = dyn.pose("arm")(q) @ [1, 0, 0, 1]
    assert np.linalg.norm(X[:3, 3] - rigid[:3]) > 1e-3  # it bends
    end = int(np.argmin([np.linalg.norm(frame[9:] - X[:3, 3]) for frame in np.array(frames)]))
    np.testing.assert_allclose(frames[end][9:], X[:3, 3], atol=1e-12)
    np.testing.assert_allclose(np.reshape(frames[end][:9], (3, 3)), X[:3, :3], atol=1e-12)
    np.testing.assert_allclose(np.reshape(jacobians[end], (6, nu)), J, atol=1e-11)


def test_a_hand_takes_the_section_of_a_beam_that_is_nearest(opened, tmp_path):
    """So that it bends: the force has a part on the amplitudes, that of the Jacobian of a marker there."""
    build = ph.Builder("arm")
    beam = ph.beam(length=1, mu=0.5, EI_y=10, EI_z=20, modes=2)
    build.body("arm", joint=ph.revolute("y", name="a"), flexible=beam)
    build.marker("there", body="arm", at=(0.7, 0, 0))
    dyn = ph.formulate(build.build()).compile()
    tab = opened(export(dyn, tmp_path / "arm.html", {"a": 0.3}, step=5e-4), "paused")
    q = np.array(tab.evaluate("polhode.state().q"))
    there = dyn.pose("there")(q)[:3, 3]
    x, y = tab.evaluate(
        "([x, y, z]) => { const o = new Float32Array(3); project(x, y, z, o, 0); return [...o] }", [*there]
    )[:2]
    tab.mouse.move(x, y)
    tab.mouse.down()
    on, local, given = tab.evaluate("""() => {
      const given = new Float64Array(nu), R = of(pulled.body), w = put_in(R, pulled.local);
      jacobian(pulled.body); push(given, w.map((c, d) => c - R[9 + d]), [0, 1, 0]);
      return [bending.owner(pulled.body)?.body ?? null, w, [...given]];
    }""")
    tab.mouse.up()
    assert on is not None
    np.testing.assert_allclose(local, there, atol=0.05)
    wanted = dyn.jacobian("there")(q)[4]  # of a force of 1 N along y
    assert np.abs(wanted[1:]).max() > 0.1
    np.testing.assert_allclose(given, wanted, atol=0.1 * np.abs(wanted).max())


def test_a_body_is_pulled_to_where_the_pointer_is(page):
    """Held long enough, the cart comes to the pointer, whatever the pole does; let go, nothing pulls."""
    x, y, scale = page.evaluate("polhode.where(1)")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 0.3 * scale, y, steps=3)
    page.evaluate("tau[0] = 0.9; polhode.advance(4000)")  # its law is -3 x
    held = page.evaluate("polhode.state()")["q"][0]
    free = ph.simulate(cart_pole(), t_end=4.0, method="rk4", step=1e-3, **CART).q[-1, 0]
    assert abs(held - 0.3) < 0.1 < abs(free - 0.3)
    page.mouse.up()
    assert page.evaluate("pulled === null")


def test_the_pull_is_that_of_a_marker_at_the_point(opened, tmp_path):
    """By the Jacobian of a marker, in a world whose gravity is along x; and the mass that the point has."""
    dyn = cart_pole(gravity=(-9.81, 0, 0))
    tab = opened(export(dyn, tmp_path / "cart.html", **CART), "paused")
    found = tab.evaluate(f"""() => {{
      polhode.advance(300); acting.fill(0); const to = [0.3, -0.4, 0.5], local = {list(GRIP)};
      pulled = {{ body: 2, local, to, stiffness: 7, damping: 3 }}; pull();
      return [polhode.state(), [...acting], mass(2, local)];
    }}""")
    state, tau, mass = found
    q, u, p = np.array(state["q"]), np.array(state["u"]), CART["p"]
    upright = ph.simulate(dyn, t_end=0.1, **CART).scene().upright
    assert not np.allclose(upright, np.eye(3))
    J = upright @ dyn.jacobian("grip")(q, p=p)[3:]
    force = 7 * ([0.3, -0.4, 0.5] - upright @ dyn.pose("grip")(q, p=p)[:3, 3]) - 3 * J @ u
    np.testing.assert_allclose(tau, J.T @ force, rtol=1e-10)
    give = J @ np.linalg.solve(dyn.mass_matrix(q, p=p), J.T)
    assert mass == pytest.approx(1 / give.diagonal().max(), rel=1e-9)


def test_elsewhere_the_pointer_turns_the_view(page):
    page.mouse.move(640, 500)
    page.mouse.down()
    page.mouse.move(700, 500, steps=3)
    page.mouse.up()
    assert page.evaluate("camera.yaw - scene.yaw") == pytest.approx(-0.36, abs=0.01)


def test_keys_and_sliders(page):
    page.get_by_role("slider", name="half").fill("0.25")
    page.get_by_role("slider", name="on omega").fill("0")
    page.keyboard.press("s")
    assert page.evaluate("[p[0], tau[1], polhode.state().t]") == pytest.approx([0.25, 0.0, 1e-3])
    page.locator("canvas").focus()
    page.keyboard.press("Space")
    page.evaluate(RUNS_ON)
    assert page.get_by_role("button", name="Pause").is_visible()
    page.keyboard.press("Space")
    page.keyboard.press("r")
    assert page.evaluate("polhode.state()")["t"] == 0
    unnamed = (
        "[...document.querySelectorAll('button, input, select, canvas')].filter(e => !e.ariaLabel && !e.innerText)"
    )
    assert page.evaluate(f"{unnamed}.map(e => e.id)") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_as_light_as_the_system(page, scheme):
    page.emulate_media(color_scheme=scheme)
    red = int(page.evaluate("getComputedStyle(document.body).backgroundColor").split("(")[1].split(",")[0])
    assert (red > 128) == (scheme == "light")
