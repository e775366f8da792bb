"""The shopping cart on the live page: seen, dragged, stuck, reloaded, shared, looked at slowly, let go."""

import io
import os
import socket
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from polhode.equations import formulate
from polhode.formats import load
from polhode.interact import Server, realtime
from tests.unit.interact.test_page import ask, opened, pixels, wait

CART = Path(__file__).parents[3] / "examples" / "cart.toml"
BASKET = 1  # its frame on the page
HANDLE, NOSE = (-0.16, 0.0, 0.96), (0.9, 0.0, 0.8)  # m, in the basket
HEAD = struct.Struct("<8d")  # t, kinetic, potential, running, speed, ticks, late, missed
LARGEST = 200_000  # bytes of a picture


@pytest.fixture(scope="module")
def cart():
    return formulate(load(CART)).compile()


@pytest.fixture
def served(cart):
    with Server(realtime(cart)) as made:
        yield made


def place(served):
    """q1, q2, q3, q4 now."""
    return dict(zip(served.table.loop.dynamics.equations.model.coordinates, served.table.loop.state.q, strict=True))


def until(true, what):
    """Wait for something of the server."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, f"{what} was never so"
        time.sleep(0.02)


def pixel(page, frame, point):
    return page.evaluate(f"polhode.pixel({frame}, {list(map(float, point))})")


def drag(page, start, end):
    """Take the basket at a point of it, to where a point of the world is seen; the button stays down."""
    page.mouse.move(*pixel(page, BASKET, start))
    page.mouse.down()
    page.mouse.move(*pixel(page, 0, end), steps=5)


def test_the_page_shows_the_cart(browser, served):
    """Its handle is blue, the crown of its caster orange, and there is much more than a background."""
    with opened(browser, served) as page:
        shown = pixels(page)
        for frame, point, channel in ((BASKET, HANDLE, 2), (2, (-0.02, 0, 0.19), 0)):
            x, y = (round(v) for v in pixel(page, frame, point))
            seen = shown[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3).mean(axis=0)
            assert np.argmax(seen) == channel
            assert np.ptp(seen) > 0.15  # no grey
        assert ((shown[..., 2] - shown[..., 0]) > 0.2).sum() > 1000  # blue bars
        assert page.title() == "shopping cart · Polhode"
        assert page.get_by_role("switch", name="stuck caster").inner_text() == "released"


def test_dragging_the_basket_moves_it_and_letting_go_ends_the_pull(browser, served):
    with opened(browser, served) as page:
        page.keyboard.press("Space")
        wait(page, "polhode.head.running")
        drag(page, HANDLE, (0.8, 0, 0.96))
        until(lambda: place(served)["q1"] > 0.1, "that it went ahead")
        assert len(served.table.hands) == 1
        assert page.evaluate("polhode.place(1)")[0] > 0.01
        page.mouse.up()
        until(lambda: not served.table.hands, "that it was let go")
        until(lambda: not served.table.loop.tau.any(), "that nothing pulls")


def test_the_same_drag_turns_the_cart_unless_the_caster_sticks(browser, served):
    """By its nose to the side: free, it turns; stuck straight, it cannot."""
    turned = {}
    with opened(browser, served) as page:
        switch = page.get_by_role("switch", name="stuck caster")
        for stuck in (False, True):
            page.keyboard.press("r")
            wait(page, "polhode.head.t === 0")
            page.keyboard.press("f")
            if stuck:
                switch.click()
                wait(page, "polhode.modes['stuck caster'] === 'engaged'")
                page.locator("#canvas").focus()
            drag(page, NOSE, (0.9, 0.6, 0.8))
            page.keyboard.press("Space")
            wait(page, "polhode.head.t > 1")
            assert len(served.table.hands) == 1
            turned[stuck] = abs(place(served)["q3"])
            page.mouse.up()
            page.keyboard.press("Space")
            wait(page, "!polhode.head.running")
        assert turned[False] > 0.1
        assert turned[True] < 1e-6


def test_a_reload_finds_it_where_it_is(browser, served):
    with opened(browser, served) as page:
        box = page.get_by_role("spinbutton", name="u1", exact=True)
        box.fill("4")
        box.press("Enter")
        page.get_by_role("button", name="Play").click()
        wait(page, "polhode.head.t > 0.3")
        before, ticks = served.table.loop.state, served.table.loop.ticks
        page.reload()
        wait(page, f"window.polhode?.head.running && polhode.head.t > {before.t}")
        assert page.evaluate("polhode.head.ticks") > ticks
        wait(page, "+document.querySelector('#inputs [aria-label=u1]').value === 4")
        page.get_by_role("button", name="Pause").click()
        wait(page, "!polhode.head.running")
        now = served.table.loop.state
        wait(page, f"Math.abs(polhode.head.t - {now.t}) < 1e-9")
        at = place(served)
        assert at["q1"] > before.q[1]  # pushed ahead all the while
        assert now.u[1] > before.u[1]
        np.testing.assert_allclose(page.evaluate("polhode.place(1)"), [at["q1"], at["q2"], 0], atol=1e-5)


def heard(page):
    """Pictures that a page is sent from its next reload on, by tick."""
    found = {}

    def keep(data):
        if isinstance(data, bytes):
            found[HEAD.unpack_from(data)[5]] = data[HEAD.size :]

    page.on("websocket", lambda made: made.on("framereceived", keep))
    page.reload()
    wait(page, "window.polhode?.head.speed > 0")
    return found


def test_two_browsers_see_the_same(browser, served):
    with opened(browser, served, 500, 400) as one, opened(browser, served, 390, 500) as other:
        seen = [heard(page) for page in (one, other)]
        drag(one, NOSE, (1.4, 0.4, 0.8))
        one.keyboard.press("Space")
        wait(other, "polhode.head.t > 1")
        deadline, both = time.monotonic() + 60, list[float]()
        while len(both) <= 5:  # where both are slow, they skip others
            assert time.monotonic() < deadline, "they had no pictures in common"
            one.wait_for_timeout(100)
            both = [tick for tick in seen[0].keys() & seen[1].keys() if tick > 0]
        assert all(seen[0][tick] == seen[1][tick] for tick in both)
        assert len({seen[0][tick] for tick in both}) > 5  # it moved


def mute(served):
    """A page that opens its socket and never reads from it."""
    host = f"127.0.0.1:{served.port}"
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    made.connect(("127.0.0.1", served.port))
    lines = (
        "GET /socket HTTP/1.1", f"Host: {host}", f"Origin: http://{host}", "Upgrade: websocket", "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "", "",
    )  # fmt: skip
    made.sendall("\r\n".join(lines).encode())
    return made


def pace(served, page, seconds=1.5):
    """Ticks a second, while a page looks on."""
    ticks, start = served.table.loop.ticks, time.monotonic()
    page.wait_for_timeout(1000 * seconds)
    return (served.table.loop.ticks - ticks) / (time.monotonic() - start)


def test_slow_pages_do_not_delay_the_loop(browser, served):
    """One that never reads, and one with a processor twenty times as slow: ticks go on as before, within a half."""
    with opened(browser, served, 400, 300) as page:
        ask(served, served.table.loop.start)
        before = pace(served, page)
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 20})
        with mute(served):
            until(lambda: len(served._guests) == 2, "that both were there")
            assert pace(served, page) > 0.5 * before
            t = served.table.loop.state.t
            wait(page, f"polhode.head.t > {t}")  # the slow one sees what is new, not what was long ago
        assert not served.table.loop.failure


def test_closing_the_page_lets_go(browser, served):
    with opened(browser, served) as page:
        page.keyboard.press("Space")
        wait(page, "polhode.head.running")
        drag(page, HANDLE, (0.8, 0.3, 0.96))
        until(lambda: bool(served.table.loop.tau.any()), "that it was pulled")
    until(lambda: not served.table.hands, "that it was let go")
    assert not served.table.loop.tau.any()
    assert served.table.loop.running


def lead(served, page, path, start, end):
    """Take the machine on by ticks without a clock, with the hand on it along a path of time, as the page draws it."""

    def piece(times):
        (hand,) = served.table.hands.values()
        for t in times:
            hand.target = path(t)
            served.table.push()
            served.table.loop.step()

    for t in np.arange(start, end, 0.04):
        ask(served, lambda t=t: piece(np.linspace(t, t + 0.04, 41)[1:]))
        page.wait_for_timeout(40)


PICTURES = [
    ("cart", {"width": 1240, "height": 980, "color_scheme": "light"}),
    ("cart-dark", {"width": 1240, "height": 980, "color_scheme": "dark"}),
    ("cart-phone", {"width": 390, "height": 720, "color_scheme": "light"}),
]


@pytest.mark.parametrize(
    ("name", "options"),
    [pytest.param(*picture, marks=pytest.mark.slow) if k else picture for k, picture in enumerate(PICTURES)],
    ids=[name for name, _ in PICTURES],
)
def test_pictures_of_the_readme(browser, served, tmp_path, name, options):
    """The cart, pulled by its nose; `make screenshots` has POLHODE_PICTURES say where they go."""
    from PIL import Image

    wide = options["width"] > 500
    with opened(browser, served, **options) as page:
        if wide:  # with its equations, and forces
            page.click("#equations summary")
            page.wait_for_selector("#sheet .katex")
            page.click("#fit")
        page.mouse.move(*pixel(page, BASKET, (0.4, 0, 0.5)))
        for _ in range(4 if wide else 1):
            page.mouse.wheel(0, -120)
            page.wait_for_timeout(50)
        drag(page, NOSE, NOSE)
        until(lambda: served.table.hands, "that it was held")
        right = np.array(page.evaluate("polhode.right()"))  # in the plane in which the mouse pulls

        def path(t):
            return NOSE + 0.6 * t**2 * right

        lead(served, page, path, 0, 0.6)
        if wide:
            page.evaluate("document.getElementById('show-forces').click()")  # the mouse is held
        lead(served, page, path, 0.6, 1.0)
        page.mouse.move(*pixel(page, 0, path(1.0)))
        page.wait_for_timeout(200)
        page.evaluate("document.activeElement.blur()")  # without the frame of what has the keyboard
        shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        page.mouse.up()
    path = Path(os.environ.get("POLHODE_PICTURES") or tmp_path) / f"{name}.png"
    shown.save(path, optimize=True)
    if path.stat().st_size >= LARGEST:  # with fewer colours
        shown.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < LARGEST
    assert len(shown.getcolors(1 << 24)) > 500  # no blank page
