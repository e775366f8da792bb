"""The live page in a browser: seen, dragged, switched, reloaded, shared."""

import io
import os
import time
from contextlib import contextmanager

import numpy as np
import pytest

from tests.live import server


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with server(tmp_path_factory.mktemp("live"), [0.6, 0.4]) as made:
        yield made


@contextmanager
def opened(browser, served, width=800, height=500, **options):
    """A page that shows the machine; no error may appear on it."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.set_default_timeout(60_000)
    page.goto(served.url)
    wait(page, "window.polhode?.head.speed > 0")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    try:
        yield page
    finally:
        context.close()
    assert not errors


@pytest.fixture
def paused(served):
    """The machine at its beginning, at rest."""
    ask(served, served.table.loop.reset)


def ask(served, do):
    """Have the thread of the server do something."""
    import asyncio

    async def done():
        do()

    asyncio.run_coroutine_threadsafe(done(), served._runner).result(60)


def wait(page, true, *given):
    """Wait until an expression is true on a page; from here, as the page allows no text to be evaluated on it."""
    deadline = time.monotonic() + 60
    while not page.evaluate(true, *given):
        assert time.monotonic() < deadline, f"{true} was never true"
        page.wait_for_timeout(20)


def pixels(page):
    from matplotlib import image

    found = image.imread(io.BytesIO(page.locator("#stage").screenshot()))
    return found[..., :3]


def tip(page):
    return np.array(page.evaluate("polhode.pixel(2, [0, 0, -0.8])"))


@pytest.mark.usefixtures("paused")
def test_the_page_shows_the_machine(browser, served, tmp_path):
    """Its bars have their colours where the poses say that they are."""
    with opened(browser, served) as page:
        shown = pixels(page)
        assert page.title() == "braked pendulum · Polhode"
        for frame, colour in ((1, "#4878b0"), (2, "#e0873e")):
            x, y = (round(v) for v in page.evaluate(f"polhode.pixel({frame}, [0, 0, -0.65])"))
            seen = shown[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).mean(axis=0)
            wanted = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
            assert np.argmax(seen) == np.argmax(wanted)
            assert np.ptp(seen) > 0.15  # no grey
        assert page.locator("#clock").inner_text() == "0.00 s"
        assert page.get_by_role("switch", name="brake").inner_text() == "released"
        if folder := os.environ.get("POLHODE_PICTURES"):
            page.screenshot(path=f"{folder}/page.png")


@pytest.mark.usefixtures("paused")
def test_dragging_moves_a_body(browser, served):
    with opened(browser, served) as page:
        page.keyboard.press("Space")
        wait(page, "polhode.head.running && polhode.head.t > 0.2")
        page.get_by_role("button", name="Pause").click()
        wait(page, "!polhode.head.running")
        start = tip(page)
        page.mouse.move(*start)
        page.mouse.down()
        goal = start + [90, -60]
        page.mouse.move(*goal, steps=4)
        page.keyboard.press("Space")
        wait(
            page,
            "([x, y]) => { const [a, b] = polhode.pixel(2, [0, 0, -0.8]); return Math.hypot(a - x, b - y) < 45 }",
            goal.tolist(),
        )
        assert len(served.table.hands) == 1
        page.mouse.up()
        wait(page, "polhode.head.t > 0.3")
        page.keyboard.press("r")
        wait(page, "polhode.head.t === 0")
        assert not served.table.hands


@pytest.mark.usefixtures("paused")
def test_dragging_beside_it_turns_the_view(browser, served):
    with opened(browser, served) as page:
        before, size = tip(page), page.viewport_size
        page.mouse.move(40, size["height"] - 150)
        page.mouse.down()
        page.mouse.move(160, size["height"] - 150, steps=3)
        page.mouse.up()
        assert np.linalg.norm(tip(page) - before) > 5
        assert not served.table.hands
        page.keyboard.press("f")
        assert np.linalg.norm(tip(page) - before) < 1


@pytest.mark.usefixtures("paused")
def test_a_switch_changes_the_motion(browser, served):
    """With the brake on, the elbow stays; without it, it moves."""
    with opened(browser, served) as page:
        switch = page.get_by_role("switch", name="brake")
        switch.click()
        wait(page, "polhode.modes.brake === 'engaged'")
        assert switch.get_attribute("aria-checked") == "true"
        page.get_by_role("button", name="Play").click()
        wait(page, "polhode.head.t > 0.4")
        q = served.table.loop.state.q
        assert abs(q[1] - 0.4) < 1e-6
        assert abs(q[0] - 0.6) > 0.05
        switch.click()
        wait(page, "polhode.modes.brake === 'released'")
        since = served.table.loop.state.t
        wait(page, f"polhode.head.t > {since + 0.3}")
        assert abs(served.table.loop.state.q[1] - 0.4) > 0.01


@pytest.mark.usefixtures("paused")
def test_a_slider_pushes(browser, served):
    with opened(browser, served) as page:
        box = page.get_by_role("spinbutton", name="shoulder_dot")
        box.fill("125")
        box.press("Enter")
        wait(page, "document.querySelector('#inputs input[type=range]').max === '125'")
        assert served.table.loop.tau.tolist() == [125.0, 0.0]
        page.get_by_role("button", name="Step").click()
        wait(page, "polhode.head.t > 0")
        assert served.table.loop.ticks == 1


@pytest.mark.usefixtures("paused")
def test_two_pages_see_the_same_and_a_reload_goes_on(browser, served):
    with opened(browser, served) as page, opened(browser, served, 390, 700, color_scheme="dark") as phone:
        page.get_by_role("button", name="Play").click()
        wait(phone, "polhode.head.t > 0.2")
        page.reload()
        wait(page, "window.polhode?.head.running && polhode.head.t > 0.3")
        phone.get_by_role("button", name="Pause").click()
        for each in (page, phone):
            wait(each, "!polhode.head.running")
        t = served.table.loop.state.t
        for each in (page, phone):
            wait(each, f"Math.abs(polhode.head.t - {t}) < 1e-9")
        assert page.evaluate("polhode.place(2)") == phone.evaluate("polhode.place(2)")
        lower = served.table.loop.dynamics.pose("lower")(served.table.loop.state.q)[:3, 3]
        np.testing.assert_allclose(page.evaluate("polhode.place(2)"), lower, atol=1e-6)
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390
        assert np.median(pixels(phone)) < 0.4 < np.median(pixels(page))
