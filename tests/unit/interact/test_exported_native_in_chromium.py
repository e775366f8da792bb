"""The exported file of a machine whose parts come and go by themselves, opened from disk in a browser."""

import numpy as np
import pytest
from test_exported_in_chromium import COLOURS, RUNS_ON, opened
from test_exported_native import RUNS, STEP, bouncing, native_state, timed

import polhode as ph
from polhode.interact import export

__all__ = ["opened"]  # a fixture


@pytest.fixture
def page(opened, tmp_path):
    """The ball, paused at its beginning."""
    _, given, *_ = RUNS["ball"]
    tab = opened(export(bouncing(), tmp_path / "ball.html", step=STEP, **given), "paused")
    tab.evaluate("polhode.ready")
    return tab


def test_a_ball_bounces_as_in_native_code(page):
    colours, drawn = page.evaluate(COLOURS)
    assert colours > 50
    assert drawn > 1000
    found = page.evaluate("polhode.advance(3000), polhode.state()")
    make, given, *_ = RUNS["ball"]
    traj = ph.simulate(make(), t_end=3.0, method="moreau", step=STEP, **given)
    np.testing.assert_allclose(found["q"], traj.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["u"], traj.u[-1], rtol=0, atol=1e-9)


def test_the_word_of_a_contact_follows_it(page):
    word = page.locator(".switch", has_text="ground")
    assert word.inner_text().split() == ["ground", "open"]
    page.evaluate("polhode.advance(5000)")  # it comes to lie, and rolls
    assert word.inner_text().split() == ["ground", page.evaluate("polhode.mode()")["ground"]]
    assert page.evaluate("polhode.mode()")["ground"] in ("sticks", "slides")


def test_it_falls_through_a_ground_that_is_released_and_begins_again(page):
    """By its switch; where it is below the ground, that cannot be engaged, which is said."""
    toggle = page.get_by_role("switch", name="ground")
    assert toggle.is_checked()
    toggle.click()
    page.evaluate("polhode.advance(700)")
    assert page.evaluate("polhode.state()")["q"][6] < -1  # 1 - 9.81 t^2 / 2
    toggle.click()
    assert not toggle.is_checked()
    assert "ground cannot be engaged here" in page.locator("#note").inner_text()
    page.keyboard.press("r")
    assert toggle.is_checked()
    assert page.evaluate("polhode.state()")["q"][6] == 1.0
    found = page.evaluate("polhode.advance(800), polhode.state()")
    make, given, *_ = RUNS["ball"]
    traj = ph.simulate(make(), t_end=0.8, method="moreau", step=STEP, **given)
    np.testing.assert_allclose(found["q"], traj.q[-1], rtol=0, atol=1e-9)


def test_a_ball_is_lifted_by_the_pointer(page):
    """Above the ground where the pointer holds it; let go, it comes down again."""
    page.evaluate("polhode.advance(20)")
    x, y, scale = page.evaluate("polhode.where(1)")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 0.5 * scale, steps=3)
    assert page.evaluate("pulled.stiffness") == pytest.approx((6 * np.pi) ** 2, rel=1e-6)  # of 1 kg at 3 Hz
    found = page.evaluate("polhode.advance(4000), polhode.state()")
    assert found["q"][6] > 1.2
    page.mouse.up()
    page.evaluate("polhode.advance(3000)")
    assert page.evaluate("polhode.state()")["q"][6] < 1.0


def test_what_the_model_switches_at_times_is_done(opened, tmp_path):
    tab = opened(export(timed(), tmp_path / "timed.html", [1.0], step=STEP), "paused")
    tab.evaluate("polhode.ready")
    words = tab.evaluate("[950, 350].map(n => (polhode.advance(n), polhode.mode().brake))")
    assert words == ["engaged", "released"]
    traj = ph.simulate(timed(), [1.0], t_end=1.3, method="moreau", step=STEP)
    np.testing.assert_allclose(tab.evaluate("polhode.state()")["q"], traj.q[-1], rtol=0, atol=1e-9)


def test_it_runs_by_the_clock(page):
    page.locator("canvas").focus()
    page.keyboard.press("Space")
    page.evaluate(RUNS_ON)
    page.keyboard.press("Space")
    found = page.evaluate("polhode.state()")
    make, given, *_ = RUNS["ball"]
    q, _ = native_state(make(), round(found["t"] / STEP), given)
    np.testing.assert_allclose(found["q"], q, rtol=0, atol=1e-9)
