"""A browser for tests of pages: the Chromium that is there; without it or playwright, they are skipped."""

import pytest

from tests.live import FOUND

FLAGS = "--no-sandbox --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --ignore-gpu-blocklist".split()


@pytest.fixture(scope="module")
def browser():
    if FOUND is None:
        pytest.skip("There is no Chromium here: pages are not tested in one")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pages are not tested in a browser"
    )
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=FOUND, args=FLAGS)
        yield made
        made.close()
