"""What the page says where there is much of it: many constraints, large numbers, a program that ended."""

import time

import polhode as ph
from polhode.interact import Server, realtime


def wait(page, true):
    deadline = time.monotonic() + 60
    while not page.evaluate(true):
        assert time.monotonic() < deadline, f"{true} was never true"
        page.wait_for_timeout(20)


def test_the_page_is_brief(browser):
    build = ph.Builder("rack")
    for k in range(8):
        build.body(f"w{k}", joint=ph.prismatic("z", name=f"z{k}"), mass=1e11)
        build.brake(f"z{k}_dot", name=f"brake with quite a long name that goes on, number {k}")
    server = Server(realtime(ph.formulate(build.build()).compile(), [1.0] * 8))
    page = browser.new_page(viewport={"width": 900, "height": 600})
    with server:
        page.goto(server.url)
        wait(page, "document.querySelector('#modes b')?.textContent === '8 engaged'")
        assert "number 7 engaged" in page.locator("#modes b").get_attribute("title")
        assert page.locator("#modes g.now text").text_content() == "all"  # no row of letters that is cut
        page.get_by_role("switch").nth(3).click()
        wait(page, "[...document.querySelectorAll('#modes text')].some(e => e.textContent === 'all but D')")
        assert "H brake with" in page.locator("#modes .graph small").inner_text()
        label = page.locator("#switches").get_by_text("number 3", exact=False)
        assert label.evaluate("e => e.scrollWidth <= e.clientWidth")  # nothing is cut
        wait(page, "document.querySelector('#energies').innerText.includes('potential 7.848e12 J')")
    wait(page, "document.querySelector('#said').innerText.includes('program behind this page has ended')")
    page.wait_for_timeout(2500)  # it tries again, and says the same
    assert "has ended" in page.locator("#said").inner_text()
    page.close()
