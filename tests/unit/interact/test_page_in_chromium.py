"""The exported file, opened from disk in a browser without a window."""

import shutil

import numpy as np
import pytest
from test_page import CART, cart_pole

import polhode as ph
from polhode.interact import export

FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
# colours of the canvas: how many there are, and how many pixels are not the most frequent
COLOURS = """() => {
  const image = pen.getImageData(0, 0, canvas.width, canvas.height), data = new Uint32Array(image.data.buffer);
  const seen = new Map();
  for (const c of data) seen.set(c, (seen.get(c) ?? 0) + 1);
  return [seen.size, data.length - Math.max(...seen.values())];
}"""


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("CHROMIUM IS MISSING: pages are not opened")
    playwright = pytest.importorskip("playwright.sync_api", reason="PLAYWRIGHT IS MISSING: pages are not opened")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def page(browser, tmp_path):
    """The cart-pole, paused at its beginning; a script that fails fails the test, and so does a request."""
    path = export(cart_pole(), tmp_path / "cart.html", **CART)
    context = browser.new_context(viewport={"width": 1000, "height": 600})
    opened, faults = context.new_page(), []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("request", lambda asked: asked.url.startswith("file:") or faults.append(asked.url))
    opened.goto(f"{path.as_uri()}#paused")
    yield opened
    context.close()
    assert not faults


def test_it_draws_and_agrees_with_native_code(page):
    colours, drawn = page.evaluate(COLOURS)
    assert colours > 50
    assert drawn > 2000
    found = page.evaluate("polhode.advance(2000), polhode.state()")
    traj = ph.simulate(cart_pole(), t_end=2.0, method="rk4", step=1e-3, **CART)
    assert found["t"] == pytest.approx(2.0)
    np.testing.assert_allclose(found["q"], traj.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["u"], traj.u[-1], rtol=0, atol=1e-9)


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
    page.wait_for_function("polhode.state().t > 0.05")
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
