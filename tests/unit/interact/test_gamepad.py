"""A gamepad, fingers and a device on the live page, in a browser."""

import os
import time

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Link, Pushed, Sample, Server, Smoothed, coupler, realtime
from tests.live import pendulum, server
from tests.unit.interact.test_page import opened, wait

PAD = """
const button = () => ({ value: 0, pressed: false, touched: false });
window.rumbles = [];
window.pad = null;
window.plug = (mapping = "standard") => { window.pad = {
  id: "Mocked pad", index: 0, connected: true, mapping, axes: [0, 0, 0, 0],
  buttons: Array.from({ length: 17 }, button),
  vibrationActuator: {
    playEffect: (kind, how) => { rumbles.push({ kind, ...how }); return Promise.resolve("complete"); },
    reset: () => Promise.resolve("complete") },
}; };
window.press = (k, value = 1) => { Object.assign(pad.buttons[k], { value, pressed: value > 0.5 }); };
navigator.getGamepads = () => [null, window.pad];
"""
A, Y, NEXT, START, DOWN, TRIGGER = 0, 3, 5, 9, 13, 7


@pytest.fixture
def served(tmp_path):
    with server(tmp_path, [0.6, 0.4]) as made:
        yield made


def padded(browser, served, **options):
    """A page with a gamepad that is made up; `PAD` is run before all that the page has."""

    class Padded:
        def new_context(self, **given):
            context = browser.new_context(**given)
            context.add_init_script(PAD)
            return context

    return opened(Padded(), served, **options)


def until(true, what):
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, f"{what} was never so"
        time.sleep(0.01)


def frames(page, many=4):
    """Let the page draw, so that it looks at the gamepad."""
    for _ in range(many):
        page.evaluate("new Promise(done => requestAnimationFrame(done))")


def plugged(page):
    page.evaluate("plug()")
    wait(page, "document.querySelector('#gamepad select') !== null")
    frames(page)


def test_a_stick_moves_the_body_that_was_chosen(browser, served):
    with padded(browser, served) as page:
        assert not page.locator("#gamepad").is_visible()
        plugged(page)
        names = page.locator("#gamepad select").first.locator("option").all_inner_texts()
        assert names == ["upper", "lower"]
        page.evaluate(f"press({NEXT})")
        frames(page)
        page.evaluate(f"press({NEXT}, 0); press({TRIGGER}, 0.9); pad.axes[0] = 1")
        until(lambda: served.table.hands, "that it grips")
        (hand,) = served.table.hands.values()
        assert hand.body == "lower"
        begun = hand.target.copy()
        right = np.array(page.evaluate("polhode.right()"))
        until(lambda: (hand.target - begun) @ right > 0.5, "that it goes to the right")
        assert abs((hand.target - begun) @ np.cross(right, [0, 0, 1])) < 0.3
        if folder := os.environ.get("POLHODE_PICTURES"):
            page.get_by_role("button", name="Play").click()
            page.wait_for_timeout(800)
            page.screenshot(path=f"{folder}/gamepad.png")
            page.get_by_role("button", name="Pause").click()
        page.evaluate("pad.axes[0] = 0")
        frames(page, 10)
        stopped = hand.target.copy()
        frames(page, 10)
        np.testing.assert_array_equal(hand.target, stopped)
        page.evaluate(f"press({TRIGGER}, 0)")
        until(lambda: not served.table.hands, "that it lets go")


def test_it_pulls_no_further_than_it_may_and_no_faster(browser, served):
    with padded(browser, served) as page:
        plugged(page)
        size = page.evaluate("polhode.scene.size")
        page.evaluate(f"press({A}); pad.axes[1] = -3")  # what no stick says
        until(lambda: served.table.hands, "that it grips")
        (hand,) = served.table.hands.values()
        picture = served.table.picture
        place = lambda: (picture.poses(served.table.loop.state)[1] @ [*hand.point, 1])[:3]  # noqa: E731
        until(lambda: np.linalg.norm(hand.target - place()) > 0.49 * size, "that it is far")
        frames(page, 30)
        assert np.linalg.norm(hand.target - place()) < 0.501 * size
        assert hand.target[2] > place()[2]  # up is up


@pytest.mark.parametrize("axes", ["[0.1, 0.1, 0.05, -0.1]", "[NaN, 0, NaN, NaN]", "[0, 0]"])
def test_a_stick_at_rest_moves_nothing(browser, served, axes):
    with padded(browser, served) as page:
        plugged(page)
        page.evaluate(f"pad.axes = {axes}; press({A})")
        until(lambda: served.table.hands, "that it grips")
        (hand,) = served.table.hands.values()
        begun = hand.target.copy()
        frames(page, 20)
        np.testing.assert_array_equal(hand.target, begun)


def test_buttons_switch_and_play(browser, served):
    with padded(browser, served) as page:
        page.evaluate(f"plug(); press({A}); press({Y})")  # held down when it comes: they do nothing
        wait(page, "document.querySelector('#gamepad select') !== null")
        frames(page, 10)
        assert not served.table.hands
        assert page.evaluate("polhode.modes.brake") == "released"
        page.evaluate(f"press({A}, 0); press({Y}, 0)")
        frames(page)
        page.evaluate(f"press({Y})")
        wait(page, "polhode.modes.brake === 'engaged'")
        page.evaluate(f"press({Y}, 0)")
        frames(page)
        page.evaluate(f"press({Y})")
        wait(page, "polhode.modes.brake === 'released'")
        page.evaluate(f"press({START})")
        wait(page, "polhode.head.running")
        page.evaluate(f"press({START}, 0)")
        frames(page)
        page.evaluate(f"press({START})")
        wait(page, "!polhode.head.running")


@pytest.mark.parametrize("gone", ["pad = null", "pad.connected = false"])
def test_one_that_is_pulled_out_lets_go(browser, served, gone):
    with padded(browser, served) as page:
        plugged(page)
        page.evaluate(f"press({A})")
        until(lambda: served.table.hands, "that it grips")
        page.evaluate(gone)
        until(lambda: not served.table.hands, "that it lets go")
        wait(page, "document.querySelector('#gamepad select') === null")


def test_a_page_that_is_hidden_lets_go(browser, served):
    with padded(browser, served) as page:
        plugged(page)
        page.evaluate(f"press({A})")
        until(lambda: served.table.hands, "that it grips")
        page.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange')) && null")
        until(lambda: not served.table.hands, "that it lets go")
        frames(page, 10)
        assert not served.table.hands  # until it is pressed anew


def test_a_pull_is_felt_weakly_where_there_is_a_motor(browser, served):
    with padded(browser, served) as page:
        plugged(page)
        page.evaluate(f"press({A})")
        until(lambda: served.table.hands, "that it grips")
        frames(page, 10)
        assert page.evaluate("rumbles.length") == 0
        page.evaluate("pad.axes[0] = 1")
        wait(page, "rumbles.length > 2")
        felt = page.evaluate("rumbles")
        assert {each["kind"] for each in felt} == {"dual-rumble"}
        strong = [each["strongMagnitude"] for each in felt]
        assert 0 < strong[0] < strong[-1] <= 1
        page.get_by_label("Rumble").uncheck()
        frames(page)
        many = page.evaluate("rumbles.length")
        frames(page, 20)
        assert page.evaluate("rumbles.length") == many
        page.evaluate("delete pad.vibrationActuator")  # there is none in some browsers
        page.get_by_label("Rumble").check()
        frames(page, 10)


def test_a_pad_without_the_standard_layout_has_a_stick_and_a_button(browser, served):
    with padded(browser, served) as page:
        page.evaluate("plug('')")
        wait(page, "document.querySelector('#gamepad select') !== null")
        frames(page)
        page.evaluate(f"press({TRIGGER}); press({Y}); press({START})")
        frames(page, 10)
        assert not served.table.hands
        page.evaluate(f"press({A})")
        until(lambda: served.table.hands, "that it grips")
        assert page.evaluate("polhode.modes.brake") == "released"
        assert not page.evaluate("polhode.head.running")


def coupled(folder, device, relative, q0=None):
    """The pendulum, whose tip a device holds."""
    held = coupler(ph.load(pendulum(folder)), "tip", stiffness=50.0, damping=1.0, most_force=20.0)
    rt = realtime(ph.formulate(held.model).compile(), q0, record=False)
    return rt, Link(rt, held, device, relative=relative)


def test_it_pushes_the_device_of_a_coupler(browser, tmp_path):
    pushed = Pushed(most_force=20.0, timeout=2.0)  # s: what draws here is slow
    rt, link = coupled(tmp_path, Smoothed(pushed, over=1 / 30, period=1e-3), relative=True)
    with Server(rt) as served, link, padded(browser, served) as page:
        assert served.table.sliders == ("shoulder_dot", "elbow_dot")  # those of the coupler are for the device
        plugged(page)
        assert page.locator("#gamepad option").first.inner_text() == "the device at tip"
        page.get_by_role("button", name="Play").click()
        page.evaluate(f"press({A}); pad.axes[0] = 1")  # across, as it is seen from where it swings
        wait(page, "document.querySelector('#device').innerText.includes('holds')")
        until(lambda: abs(rt.state.q).max() > 0.2, "that it moves")
        wait(page, "rumbles.length > 0")
        if folder := os.environ.get("POLHODE_PICTURES"):
            page.screenshot(path=f"{folder}/device.png")
        page.evaluate(f"press({A}, 0)")
        until(lambda: rt.tau[-1] == 0, "that it lets go")
        wait(page, "document.querySelector('#device').innerText.includes('lets go')")
        page.evaluate(f"press({A})")
        until(lambda: rt.tau[-1] == 1, "that it grips")
        page.close()  # without a word
        until(lambda: rt.tau[-1] == 0, "that it is stale")


def test_a_device_moves_what_the_page_shows_while_the_page_pulls_too(browser, tmp_path):
    device = Pushed(timeout=1e9)
    rt, link = coupled(tmp_path, device, relative=False, q0=[0.6, 0.4])  # seen from beside, as the pendulum lies
    with Server(rt) as served, link, padded(browser, served) as page:
        device.push(Sample(position=(0.5, 0.0, -1.6)))
        page.get_by_role("button", name="Play").click()
        wait(page, "polhode.place(2)[0] > 0.15")
        until(lambda: abs(rt.state.u).max() < 0.02, "that it comes to rest")
        held = page.evaluate("polhode.place(2)[0]")
        start = page.evaluate("polhode.pixel(1, [0, 0, -0.6])")
        page.mouse.move(*start)
        page.mouse.down()
        page.mouse.move(start[0] - 120 * np.sign(page.evaluate("polhode.right()[0]")), start[1], steps=4)
        wait(page, f"polhode.place(2)[0] < {held - 0.1}")
        assert rt.tau[-1] == 1
        assert link.wrench[3] > 0.3  # N, while the page pulls the other way
        page.mouse.up()
        wait(page, f"polhode.place(2)[0] > {held - 0.05}")
        device.push(Sample(buttons=0))
        wait(page, "document.querySelector('#device').innerText.includes('lets go')")
        page.get_by_role("button", name="Reset").click()
        wait(page, "polhode.head.t === 0")


def test_two_fingers_hold_two_bodies(browser, served):
    with padded(browser, served, has_touch=True) as page:
        session = page.context.new_cdp_session(page)

        def touch(kind, *points):
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [
                {"x": float(x), "y": float(y), "id": k} for k, x, y in points]})  # fmt: skip

        one, two = (np.array(page.evaluate(f"polhode.pixel({frame}, [0, 0, -0.6])")) for frame in (1, 2))
        touch("touchStart", (0, *one))
        until(lambda: len(served.table.hands) == 1, "that one finger holds")
        touch("touchStart", (0, *one), (1, *two))
        until(lambda: len(served.table.hands) == 2, "that both hold")
        assert [hand.body for hand in served.table.hands.values()] == ["upper", "lower"]
        before = [hand.target.copy() for hand in served.table.hands.values()]
        touch("touchMove", (0, *one), (1, *(two + [40, 0])))
        until(lambda: np.linalg.norm(list(served.table.hands.values())[1].target - before[1]) > 0.05, "that one moves")
        np.testing.assert_array_equal(next(iter(served.table.hands.values())).target, before[0])
        touch("touchEnd")
        until(lambda: not served.table.hands, "that both let go")
