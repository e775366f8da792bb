"""The equations and the graph of modes in a browser, and the page in the frame of a notebook."""

import functools
import http.server
import threading
from contextlib import contextmanager

import pytest

import polhode as ph
from polhode.interact import Server, show
from tests.live import loop
from tests.unit.interact.test_page import opened, wait
from tests.unit.interact.test_panel import kept


@pytest.fixture(scope="module")
def served():
    build = ph.Builder("rotors", gravity=(0, 0, 0))
    for name in "pq":
        build.body(name, joint=ph.revolute("z", name=name), mass=1, inertia=(1, 1, 2), com=(0.3, 0, 0))
    build.clutch("p_dot", "q_dot", name="clutch", active=False)
    build.constraint("p_dot - q_dot - 1", name="drift", active=False)
    dyn = ph.formulate(build.build()).compile()
    with Server(ph.realtime(dyn, None, {"p_dot": 1.0, "q_dot": 3.0}, record=False)) as made:
        yield made


def node(page, words):
    return page.locator(f'#modes g[data-mode="{words}"]')


def now(page):
    return page.locator("#modes g.now").get_attribute("data-mode")


def test_the_active_mode_is_lit_and_another_is_entered_by_a_click(browser, served):
    with opened(browser, served, 1280, 800) as page:
        wait(page, "document.querySelectorAll('#modes g').length === 4")
        assert now(page) == "nothing holds"
        wait(page, "document.querySelector('#modes .mode').textContent.includes('multiplication')")
        kept(page, "modes")
        node(page, "clutch engaged").click()
        wait(page, "document.querySelector('#modes g.now').dataset.mode === 'clutch engaged'")
        assert served.table.loop.mode["clutch"] == "engaged"
        wait(page, "document.querySelector('#modes .mode').textContent.includes('1 speed')")
        node(page, "clutch engaged, drift engaged").click()  # they contradict each other
        wait(page, "document.getElementById('said').textContent.includes('cannot be engaged')")
        assert now(page) == "clutch engaged"
        node(page, "drift engaged").click()  # release one, engage the other
        wait(page, "document.querySelector('#modes g.now').dataset.mode === 'drift engaged'")
        assert served.table.loop.mode == {"clutch": "released", "drift": "engaged"}
        assert page.locator("#modes text.times").count() >= 2
        page.get_by_role("button", name="Reset").click()
        wait(page, "document.querySelector('#modes g.now').dataset.mode === 'nothing holds'")
        wait(page, "!document.querySelector('#modes text.times')")


def test_the_list_of_modes_does_the_same_by_the_keyboard(browser, served):
    with opened(browser, served, 1280, 800) as page:
        wait(page, "document.querySelectorAll('#modes li').length === 4")
        page.locator("#modes summary").focus()
        page.keyboard.press("Enter")
        button = page.get_by_role("button", name="engage drift", exact=True)
        button.focus()
        page.keyboard.press("Enter")
        wait(page, "document.querySelector('#modes li[aria-current]').dataset.mode === 'drift engaged'")
        assert served.table.loop.mode["drift"] == "engaged"
        page.get_by_role("button", name="release drift", exact=True).press("Enter")
        wait(page, "document.querySelector('#modes li[aria-current]').dataset.mode === 'nothing holds'")


@pytest.mark.parametrize("width", [1280, 360])
def test_the_equations_are_set_and_follow_the_mode(browser, served, width):
    """With the fonts of the page itself: the console says nothing of what was refused."""
    with opened(browser, served, width, 740) as page:
        assert page.locator(".katex").count() == 0  # not before it is looked at
        page.locator("#equations summary").click()
        page.wait_for_selector("#sheet .katex")
        assert page.locator(".katex-error").count() == 0
        assert "Constraints of this mode" not in page.locator("#sheet").inner_text()
        wait(page, "document.fonts.check('16px KaTeX_Math') && document.fonts.check('16px KaTeX_Main')")
        loaded = page.evaluate("[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)")
        assert {"KaTeX_Main", "KaTeX_Math"} <= set(loaded)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = "[...document.querySelectorAll('.formula')].every(e => e.getBoundingClientRect().right <= innerWidth)"
        assert page.evaluate(wide)
        served.table.loop.engage("clutch")
        page.get_by_text("Constraints of this mode").wait_for()
        assert "clutch" in page.locator("#sheet").inner_text()
        served.table.loop.release("clutch")
        page.get_by_text("Constraints of this mode").wait_for(state="detached")


# in a notebook


@contextmanager
def site(folder):
    """Another server of this computer, as a notebook's; its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{made.server_port}"
        finally:
            made.shutdown()


def framed(page):
    return next((frame for frame in page.frames if frame != page.main_frame), None)


def test_a_notebook_shows_the_page_and_a_body_is_dragged_in_it(browser, tmp_path):
    machine = loop(tmp_path, [0.6, 0.4])
    (tmp_path / "cell.html").write_text(f"<!doctype html><h1>Notebook</h1>{show(machine)._repr_html_()}")
    (tmp_path / "bare.html").write_text(f"<!doctype html><iframe src='{show(machine).url.partition('?')[0]}'></iframe>")
    page = browser.new_context(viewport={"width": 1000, "height": 760}).new_page()
    page.set_default_timeout(60_000)
    with site(tmp_path) as at:
        page.goto(f"{at}/cell.html")
        frame = framed(page)
        wait(frame, "window.polhode?.head.speed > 0")
        box = page.locator("iframe").bounding_box()
        frame.get_by_role("button", name="Play").click()
        wait(frame, "polhode.head.t > 0.1")
        frame.get_by_role("button", name="Pause").click()
        wait(frame, "!polhode.head.running")
        page.wait_for_timeout(200)
        x, y = frame.evaluate("polhode.pixel(2, [0, 0, -0.8])")
        page.mouse.move(box["x"] + x + 1, box["y"] + y + 1)
        page.mouse.down()
        page.mouse.move(box["x"] + x + 60, box["y"] + y - 60, steps=4)
        hands = machine._page._server.table.hands
        for _ in range(100):
            if hands:
                break
            page.wait_for_timeout(50)
        assert len(hands) == 1
        page.mouse.up()
        page.wait_for_timeout(4500)  # longer than a frame that says nothing is waited for
        assert page.locator("iframe").is_visible()
        assert not page.locator("figure").is_visible()
        kept(page, "notebook")
        page.goto(f"{at}/bare.html")  # without the token
        assert "token is missing" in framed(page).content()
        machine.stop()
        page.goto(f"{at}/cell.html")  # saved, and opened without a kernel
        page.locator("figure").wait_for(state="visible")
        assert not page.locator("iframe").is_visible()
        assert "ssh -L" in page.locator("figure").inner_text()
        kept(page, "saved notebook")
    page.context.close()


def test_a_page_from_elsewhere_may_not_frame_it(browser, tmp_path):
    """Though it knows the address with the token: the browser shows nothing of it."""
    machine = loop(tmp_path, [0.6, 0.4])
    (tmp_path / "cell.html").write_text(f"<!doctype html><iframe src='{show(machine).url}'></iframe>")
    page = browser.new_context().new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    with site(tmp_path) as at:
        page.goto(at.replace("127.0.0.1", "elsewhere.localhost") + "/cell.html")
        wait(page, "document.readyState === 'complete'")
        for _ in range(100):
            if said:
                break
            page.wait_for_timeout(50)
        assert any("frame-ancestors" in text for text in said), said
        assert not machine._page._server._guests
    page.context.close()
    machine.stop()
