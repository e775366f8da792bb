"""Meshes on pages in a browser: they are seen, and can be taken hold of."""

import io

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Server, export, realtime
from tests.unit.interact.test_page import opened


@pytest.fixture(scope="module")
def dynamics():
    """A green box on a hinge."""
    build = ph.Builder("door", gravity=(0, 0, 0))
    build.body("leaf", joint=ph.revolute("z", name="a", damping=1.0), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    build.shape(
        "leaf", "mesh", mesh="box", points=[(0.5, 0, 0), (1.5, 0, 0), (0.5, 0.1, 0), (0.5, 0, 0.8)], color="#00c000"
    )
    return ph.formulate(build.build()).compile()


def green(page):
    """The share of the picture that is green."""
    image = pytest.importorskip("PIL.Image")
    pixels = np.asarray(image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)
    return float(((pixels[:, :, 1] > 60) & (pixels[:, :, 1] > 2 * pixels[:, :, [0, 2]].max(axis=2))).mean())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_live_page_shows_the_mesh(browser, dynamics, scheme):
    with Server(realtime(dynamics)) as served, opened(browser, served, color_scheme=scheme) as page:
        assert green(page) > 0.01


def test_a_mesh_is_dragged_on_the_live_page(browser, dynamics):
    with Server(realtime(dynamics)) as served, opened(browser, served) as page:
        page.click("#play")
        x, y = page.evaluate("polhode.pixel(1, [0.9, 0, 0])")
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y - 40, steps=5)
        page.wait_for_timeout(1500)
        assert served.table.loop.state.q[0] != 0
        page.mouse.up()


def plain(browser, path, before=""):
    page, errors = browser.new_page(viewport={"width": 800, "height": 500}), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    if before:
        page.add_init_script(before)
    page.goto(path.as_uri())
    page.wait_for_timeout(700)
    return page, errors


WITHOUT = """const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return kind === "webgl" ? null : get.call(this, kind, ...more);
};"""


@pytest.mark.parametrize("before", ["", WITHOUT], ids=["with WebGL", "without"])
def test_a_page_of_a_motion_shows_the_mesh(browser, dynamics, tmp_path, before):
    ph.simulate(dynamics, {"a": 0.3}, t_end=0.2).animate(tmp_path / "m.html")
    page, errors = plain(browser, tmp_path / "m.html", before)
    assert not errors
    assert green(page) > 0.01
    page.close()


def test_the_exported_page_shows_the_mesh_and_pulls_it(browser, dynamics, tmp_path):
    export(dynamics, tmp_path / "e.html")
    page, errors = plain(browser, tmp_path / "e.html")
    assert green(page) > 0.01
    box = page.evaluate("(() => { const part = painted.find(p => p.kind === 'mesh'); return pixels(part.at); })()")
    x, y = np.array(box).reshape(-1, 2).mean(axis=0)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 40, steps=5)
    page.wait_for_timeout(800)
    assert page.evaluate("pulled !== null && x[0] !== 0")
    page.mouse.up()
    assert not errors
    page.close()
