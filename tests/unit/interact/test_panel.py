"""The side panel of the live page in a browser."""

import os

import pytest

import polhode as ph
from polhode.interact import Server
from tests.unit.interact.test_page import opened, wait


@pytest.fixture(scope="module")
def served():
    build = ph.Builder("double pendulum", gravity=(0, 0, -9.81))
    m, L = ph.symbol("m"), ph.symbol("L")
    joint = ph.revolute("y", name="shoulder", damping=0.5)
    build.body("upper", joint=joint, mass=1, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0.001))
    joint = ph.revolute("y", name="elbow", damping=0.5)
    build.body("lower", parent="upper", at=(0, 0, -1), joint=joint, mass=m, com=(0, 0, -L), inertia=(0.05, 0.05, 0.001))
    build.lock("elbow", name="brake", active=False)
    dyn = ph.formulate(build.build()).compile()
    with Server(ph.realtime(dyn, [0.6, 0.4], p={"m": 1.0, "L": 0.4})) as made:
        yield made


def kept(page, name):
    """Keep a picture, where somebody wants to look."""
    if folder := os.environ.get("POLHODE_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def test_a_parameter_is_set_seen_by_all_and_taken_back(browser, served):
    with opened(browser, served) as page, opened(browser, served) as other:
        box = page.get_by_role("spinbutton", name="m", exact=True)
        box.fill("3.5")
        box.press("Enter")
        wait(other, "document.querySelector('#parameters [data-name=m] input').value === '3.5'")
        assert dict(zip(served.table.parameters.names, served.table.loop.p.tolist(), strict=True))["m"] == 3.5
        box.fill("-50")
        box.press("Enter")
        wait(page, "document.getElementById('said').textContent.includes('no mass')")
        other.locator("#parameters [data-name=m] input[type=range]").dblclick()
        wait(page, "document.querySelector('#parameters [data-name=m] input[type=range]').value === '1'")
        assert served.table.words()["parameters"] == {"L": 0.4, "m": 1.0}


def test_chosen_quantities_are_plotted_also_after_a_reload(browser, served):
    with opened(browser, served) as page, opened(browser, served) as other:
        for name in ("elbow", "total energy", "lateness"):
            page.get_by_label("Add a quantity to plot").select_option(name)
        page.get_by_role("button", name="Play").click()
        wait(page, "polhode.head.t > 0.5")
        painted = """name => { const c = document.querySelector(`[data-name="${name}"] canvas`);
            return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v > 0) }"""
        wait(page, painted, "elbow")
        page.get_by_role("button", name="Do not plot total energy").click()
        page.reload()
        wait(page, "window.polhode?.head.speed > 0")
        for name in ("elbow", "lateness"):
            wait(page, painted, name)
        assert page.locator("#plots .strip").count() == 2
        assert other.locator("#plots .strip").count() == 0
        page.get_by_role("button", name="Pause").click()
        wait(page, "!polhode.head.running")
        q = served.table.loop.state.q[1]
        wait(page, f"Math.abs(parseFloat(document.querySelector('[data-name=elbow] b').textContent) - {q}) < 1e-3")
        kept(page, "plots")
