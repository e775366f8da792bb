"""Forces, frames, trails and bent beams on the live page, and how it is used without a mouse and heard, in Chromium."""

import os
import time

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Server, realtime
from tests.unit.interact.test_page import ask, opened, pixels, wait

G = 9.81


def table():
    """A table on four legs with knees that yield."""
    build = ph.Builder("table", gravity=(0, 0, -G))
    build.body("top", joint=ph.free(name="top"), mass=8, inertia=(0.5, 0.4, 0.8))
    for k, (x, y) in enumerate([(0.4, 0.3), (0.4, -0.3), (-0.4, 0.3), (-0.4, -0.3)]):
        joint = ph.revolute("y", name=f"knee{k}", stiffness=300, damping=5)
        build.body(f"leg{k}", parent="top", at=(x, y, 0), joint=joint, mass=0.5, com=(0, 0, -0.3),
                   inertia=(0.02, 0.02, 0.001))  # fmt: skip
        build.marker(f"foot{k}", body=f"leg{k}", at=(0, 0, -0.6))
        build.contact(f"foot{k}", friction=0.6, name=f"foot {k}")
    build.brake("knee0_dot", capacity=2.0, name="brake", active=False)
    return build


@pytest.fixture(scope="module")
def served():
    with Server(realtime(ph.formulate(table().build()).compile(), {"top_z": 0.6})) as made:
        yield made


@pytest.fixture(autouse=True)
def paused(served):
    ask(served, served.table.loop.reset)


def kept(page, name):
    """Keep a picture, where somebody wants to look."""
    if folder := os.environ.get("POLHODE_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def play(page, seconds):
    page.get_by_role("button", name="Play").click()
    wait(page, f"polhode.head.t > {seconds}")


def test_arrows_appear_and_point_the_right_way(browser, served):
    """Feet carry a quarter of the weight each, upward, where they are; also after a reload, and not once taken away."""
    with opened(browser, served) as page:
        assert page.evaluate("polhode.arrows") == []
        assert page.locator("#scale").is_hidden()
        before = pixels(page)
        page.get_by_role("checkbox", name="Forces").check()
        play(page, 0.6)
        wait(page, "polhode.arrows.length === 4")
        size = page.evaluate("polhode.scene.size")
        for arrow in page.evaluate("polhode.arrows"):
            np.testing.assert_allclose(arrow["way"], [0, 0, 1], atol=0.05)
            foot = served.table.loop.dynamics.pose(arrow["name"].replace(" ", ""))(served.table.loop.state.q)
            np.testing.assert_allclose(arrow["at"], foot[:3, 3], atol=1e-3)
            assert arrow["length"] == pytest.approx(0.5 * size / 100 * 10 * G / 4, rel=0.05)  # 100 N are half its size
        assert page.evaluate("polhode.scene.weight") == pytest.approx(10 * G)
        wait(page, "document.querySelector('#forces [data-name], #forces .row b')?.textContent === '24.5 N'")
        assert page.locator("#scale span").inner_text() in ("20 N", "50 N", "100 N")
        wide = float(page.locator("#scale i").evaluate("each => each.getBoundingClientRect().width"))
        assert 40 <= wide <= 110
        violet = pixels(page)
        assert tinted(violet) > tinted(before) + 50
        kept(page, "forces")
        page.reload()
        wait(page, "window.polhode?.head.running && polhode.arrows.length === 4")
        page.get_by_role("checkbox", name="Forces").uncheck()
        wait(page, "polhode.arrows.length === 0")
        wait(page, "document.getElementById('forces').children.length === 0")
        assert page.locator("#scale").is_hidden()
        wait_until(lambda: not served.table._shown)


def tinted(shown):
    """How many pixels have the colour of forces."""
    r, g, b = np.moveaxis(shown, -1, 0)
    return int(((r - g > 0.25) & (b - g > 0.3)).sum())


def test_a_pull_is_an_arrow_too(browser, served):
    """By keys: hold a body, pull it to the right of the view, let go."""
    with opened(browser, served) as page:
        page.get_by_role("checkbox", name="Forces").check()
        page.locator("#canvas").focus()
        page.keyboard.press("h")
        wait(page, "document.getElementById('said').textContent.startsWith('top is held')")
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        wait(page, "polhode.arrows.some(each => each.name === 'hand')")
        (arrow,) = [each for each in page.evaluate("polhode.arrows") if each["name"] == "hand"]
        start = page.evaluate("polhode.pixel(0, [0, 0, 0.6])")
        x, y, z = (0.1 * e for e in arrow["way"])
        end = page.evaluate(f"polhode.pixel(0, [{x}, {y}, {0.6 + z}])")
        assert end[0] > start[0] + 3
        assert len(served.table.hands) == 1
        page.keyboard.press("h")
        wait(page, "document.getElementById('said').textContent.startsWith('leg0 is held')")
        page.keyboard.press("Escape")
        wait(page, "document.getElementById('said').textContent === 'Let go.'")
        wait_until(lambda: not served.table.hands)


def wait_until(true):
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_frames_trails_and_the_grid(browser, served):
    with opened(browser, served) as page:
        before = pixels(page)
        assert page.evaluate("polhode.axes.length") == 0
        page.get_by_role("checkbox", name="Frames").check()
        names = page.evaluate("polhode.axes")
        assert set(names) == {"world", "top", *(f"leg{k}" for k in range(4)), *(f"foot{k}" for k in range(4))}
        page.wait_for_timeout(200)
        red = [((s[..., 0] - s[..., 1] > 0.4) & (s[..., 0] - s[..., 2] > 0.3)).sum() for s in (before, pixels(page))]
        assert red[1] > red[0] + 30
        page.get_by_label("Add a trail of a body or marker").select_option("foot2")
        page.get_by_label("Add a trail of a body or marker").select_option("top")
        frames = page.evaluate("polhode.scene.axes.map(each => [each.name, each.frame])")
        play(page, 0.3)
        shown = page.evaluate("polhode.trails")
        assert [frame for frame, _ in shown] == [dict(frames)["foot2"], dict(frames)["top"]]
        assert all(many > 2 for _, many in shown)
        page.get_by_role("button", name="No trail of foot2").click()
        page.get_by_role("checkbox", name="Grid").uncheck()
        page.reload()
        wait(page, "window.polhode?.head.running && polhode.trails.length === 1")
        assert not page.get_by_role("checkbox", name="Grid").is_checked()
        assert page.get_by_role("checkbox", name="Frames").is_checked()
        page.get_by_role("checkbox", name="Trails").uncheck()
        assert page.evaluate("polhode.trails") == []


def test_trails_are_off_where_less_motion_is_asked_for(browser, served):
    with opened(browser, served, reduced_motion="reduce") as page:
        assert not page.get_by_role("checkbox", name="Trails").is_checked()
    with opened(browser, served) as page:
        assert page.get_by_role("checkbox", name="Trails").is_checked()


def test_everything_can_be_reached_and_used_with_keys(browser, served):
    """By tab, in the order in which it stands; each with an outline that is seen."""
    with opened(browser, served) as page:
        seen = []
        for _ in range(60):
            page.keyboard.press("Tab")
            name, outline = page.evaluate(
                "(() => { const e = document.activeElement; return [e.id || e.getAttribute('aria-label') || "
                "e.textContent, getComputedStyle(e).outlineStyle !== 'none'] })()"
            )
            if name in seen or page.evaluate("document.activeElement === document.body"):
                break
            assert outline, f"{name} shows no focus"
            seen.append(name)
        wanted = "canvas play step reset fit speed brake show-forces trail quantity".split()
        assert [name for name in seen if name in wanted] == wanted
        assert "knee0_dot" in seen
        assert "knee0_dot, slider" in seen
        page.locator("#show-forces").focus()
        page.keyboard.press("Space")
        assert page.get_by_role("checkbox", name="Forces").is_checked()
        bar = page.get_by_role("slider", name="knee0_dot, slider")
        bar.focus()
        page.keyboard.press("ArrowRight")
        assert bar.get_attribute("aria-valuetext") == "0.014 N m"  # a hundredth from -0.7 to 0.7
        wait_until(lambda: abs(served.table.loop.tau[6] - 0.014) < 1e-9)
        page.locator("#canvas").focus()
        far = page.evaluate("polhode.pixel(1)")
        page.keyboard.press("Shift+ArrowRight")
        page.wait_for_timeout(100)
        assert abs(page.evaluate("polhode.pixel(1)")[0] - far[0]) > 10
        page.keyboard.press("f")


def test_what_is_heard(browser, served):
    """Roles, names, units and news, as the accessibility tree has them."""
    with opened(browser, served) as page:
        said = page.locator("body").aria_snapshot()
        for line in (
            'application "The machine"', 'button "Play"', 'combobox "Speed"', 'switch "brake"', 'region "Show"',
            'checkbox "Forces"', 'checkbox "Grid" [checked]', 'combobox "Add a trail of a body or marker"',
            'timer "Time"', 'region "Loop"',
            'spinbutton "knee0_dot"', 'slider "knee0_dot, slider"', 'heading "table" [level=1]', "status",
        ):  # fmt: skip
            assert line in said, said
        tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        roles = ("button", "slider", "spinbutton", "switch", "checkbox", "combobox", "application", "image")
        found = [n for n in tree if n.get("role", {}).get("value") in roles and not n.get("ignored")]
        assert len(found) > 30
        assert all(n.get("name", {}).get("value") for n in found), [n for n in found if not n["name"].get("value")]
        page.get_by_role("switch", name="brake").click()
        wait(page, "document.getElementById('news').textContent.includes('brake: ')")
        box = page.get_by_role("spinbutton", name="knee0_dot", exact=True)
        assert box.get_attribute("aria-description") == "in N m"
        page.get_by_label("Add a quantity to plot").select_option("knee0")
        play(page, 0.2)
        wait(page, "document.querySelector('.strip[data-name=knee0] b').textContent.endsWith(' rad')")
        page.get_by_role("button", name="Do not plot knee0").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_narrow_phone(browser, served, scheme):
    """Nothing is wider than 360 px, and the numbers of the forces stand in their colours on their paper."""
    with opened(browser, served, 360, 740, color_scheme=scheme, has_touch=True) as page:
        page.get_by_role("checkbox", name="Forces").check()
        play(page, 0.3)
        wait(page, "polhode.arrows.length === 4")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        wide = "[...document.querySelectorAll('aside *, footer *')].map(e => e.getBoundingClientRect().right)"
        assert max(page.evaluate(wide)) <= 360
        assert page.locator("#canvas").bounding_box()["height"] > 300
        for chosen in ("#forces .row b", "#scale span", "#loop .key", "#cell", "h2", ".key b", "#show label"):
            assert contrast(page, chosen) >= 4.5, chosen
        kept(page, f"phone-{scheme}")
        page.get_by_role("checkbox", name="Forces").uncheck()


def contrast(page, chosen):
    """Of text on the paper behind it."""
    ink, paper = page.evaluate(
        "chosen => [getComputedStyle(document.querySelector(chosen)).color, "
        "getComputedStyle(document.body).backgroundColor]", chosen,
    )  # fmt: skip

    def light(text):
        rgb = np.array([float(v) for v in text[text.index("(") + 1 : -1].split(",")[:3]]) / 255
        return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    high, low = sorted((light(ink), light(paper)), reverse=True)
    return (high + 0.05) / (low + 0.05)


OVERLAPS = """() => {
  const box = e => e.getBoundingClientRect(), boxes = [...document.querySelectorAll('#modes rect')].map(box);
  return [...document.querySelectorAll('#modes text.times')].map(each => [each.textContent, box(each)])
    .filter(([, a]) => boxes.some(b => a.left < b.right && b.left < a.right
      && a.top + 2 < b.bottom && b.top < a.bottom - 2))
    .map(([text]) => text) }"""


def test_a_ball_and_a_rope_are_seen_whole(browser):
    """Where the rope hangs too, and numbers on the lines between modes that no box covers; nothing below jumps."""
    build = ph.Builder("ball and rope", gravity=(0, 0, -G))
    for name, radius in (("ball", 0.1), ("bob", 0.08)):
        build.body(name, joint=ph.free(name=name), mass=1, inertia=(0.004, 0.004, 0.004))
        build.contact(name, shape="sphere", radius=radius, friction=0.4, restitution=0.2, name=f"floor of the {name}")
    build.marker("hook", body="world", at=(0.3, 0, 1.2))
    build.marker("eye", body="bob", at=(0, 0, 0.08))
    build.rope("hook", "eye", length=0.8, name="rope")
    dyn = ph.formulate(build.build()).compile()
    with Server(realtime(dyn, {"ball_z": 0.5, "bob_x": 0.3, "bob_z": 0.6})) as served, opened(browser, served) as page:
        high = page.locator("#stage").bounding_box()["height"]
        assert 0 < page.evaluate("polhode.pixel(0, [0.3, 0, 1.2])")[1] < high
        ask(served, lambda: served.table.loop.step(3000))
        wait(page, "document.querySelectorAll('#modes text.times').length >= 2")
        assert page.evaluate(OVERLAPS) == []
        wait(page, "document.querySelector('#modes .mode').textContent.includes('multiplication')")
        below = page.locator("#show").bounding_box()["y"]
        page.get_by_role("switch", name="rope").click()  # what is counted anew is shorter for a while
        wait(page, "polhode.modes.rope === 'released'")
        assert page.locator("#show").bounding_box()["y"] >= below
        kept(page, "ropes")


def test_a_beam_is_drawn_bent(browser):
    """Its tip is where its amplitudes bring it, and the bars between are through the sections."""
    build = ph.Builder("mast", gravity=(0, 0, -G))
    strip = ph.beam(length=0.8, mu=0.94, EI_z=4.0, modes=2, damping=0.01, axis="x", across="z")
    build.body("mast", joint=ph.weld(), flexible=strip)
    build.body("weight", parent="mast", at=(0.8, 0, 0), joint=ph.weld(), mass=0.5)
    build.marker("tip", body="mast", at=(0.8, 0, 0))
    dyn = ph.formulate(build.build()).compile()
    with Server(realtime(dyn)) as served, opened(browser, served) as page:
        frames = dict(page.evaluate("polhode.scene.axes.map(each => [each.name, each.frame])"))
        straight = page.evaluate(f"polhode.place({frames['tip']})")
        page.get_by_role("checkbox", name="Frames").check()
        play(page, 0.25)
        page.get_by_role("button", name="Pause").click()
        wait(page, "!polhode.head.running")
        q = served.table.loop.state.q
        wait(page, f"Math.abs(polhode.head.t - {served.table.loop.state.t}) < 1e-9")
        bent = page.evaluate(f"polhode.place({frames['tip']})")
        np.testing.assert_allclose(bent, dyn.pose("tip")(q)[:3, 3], atol=1e-6)
        assert straight[2] - bent[2] > 0.05
        x, y = page.evaluate(f"polhode.pixel({frames['tip']})")
        along = [page.evaluate(f"polhode.pixel({k})") for k in range(len(served.table.picture.names))]
        shown = pixels(page)
        blue = shown[..., 2] - shown[..., 0] > 0.15
        for across, down in np.round(along[2:]).astype(int):
            assert blue[down - 4 : down + 5, across - 4 : across + 5].any()
        kept(page, "bent")
        assert abs(y - page.evaluate("polhode.pixel(0, [0.8, 0, 0])")[1]) > 5
        assert x > 0
