"""Who is let in, and who delays whom."""

import asyncio
import hashlib
import http.client
import json
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

websockets = pytest.importorskip("websockets", reason="websockets is not installed: the live page is not tested")
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from polhode.interact.server import AHEAD, GUESTS  # noqa: E402
from tests.live import server  # noqa: E402

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with server(tmp_path_factory.mktemp("live"), [1.0, 0.5]) as made:
        yield made


@contextmanager
def page(served, query="", **options):
    """A page that has read the scene."""
    at = f"127.0.0.1:{served.port}"
    options = {"origin": f"http://{at}", "proxy": None, "max_size": None} | options
    with connect(f"ws://{at}/socket{query}", **options) as made:
        made.scene = json.loads(made.recv(timeout=20))["scene"]
        yield made


def told(made, what):
    """The next text that says something."""
    while True:
        found = made.recv(timeout=20)
        if isinstance(found, str) and what in (said := json.loads(found)):
            return said[what]


def until(made, true):
    """The next words of which something is true, of those that are said within a minute."""
    return next(words for words in (told(made, "words") for _ in range(600)) if true(words))


def picture(made):
    while isinstance(found := made.recv(timeout=20), str):
        pass
    return found


def get(served, path="/", **headers):
    asked = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    asked.request("GET", path, headers=headers)
    found = asked.getresponse()
    return found.status, found.read(), found.headers


def test_the_page_is_served_with_what_it_needs_and_nothing_else(served):
    status, body, headers = get(served)
    assert status == 200
    assert b"page.js" in body
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert get(served, "/page.js")[0] == 200
    for path in ("/server.py", "/../server.py", "/%2e%2e/server.py", "/page.js/..", "//etc/passwd"):
        assert get(served, path)[0] == 404


def test_the_page_was_made_from_its_sources():
    """Else: make page."""
    sources, made = ROOT / "tools/page", ROOT / "src/polhode/interact/page"
    parts = sorted(path for path in sources.iterdir() if path.suffix in (".js", ".json", ".html"))
    found = hashlib.sha256(
        b"".join(path.read_bytes() for path in [*parts, ROOT / "src/polhode/view/unpack.js"])
    ).hexdigest()
    assert (made / "page.js").read_text(encoding="utf-8").startswith(f"// sources {found}\n")
    assert (made / "index.html").read_bytes() == (sources / "index.html").read_bytes()


def test_other_origins_and_hosts_are_refused(served):
    assert get(served, Host="evil.example")[0] == 403
    for origin in (None, "null", "http://evil.example", f"http://127.0.0.1:{served.port + 1}", "https://127.0.0.1"):
        with pytest.raises(InvalidStatus, match="403"), page(served, origin=origin):
            pass
    with page(served, origin=f"http://127.0.0.1:{served.port}") as made:
        assert made.scene["title"] == "braked pendulum"


def test_an_address_that_is_not_local_has_a_token(tmp_path):
    with server(tmp_path, address="0.0.0.0") as open_to_all:
        assert len(open_to_all.token) > 20
        assert open_to_all.url.endswith(open_to_all.token)
        assert get(open_to_all)[0] == 403
        assert get(open_to_all, "/?token=wrong")[0] == 403
        assert get(open_to_all, f"/?token={open_to_all.token}")[0] == 200
        for query in ("", "?token=", "?token=wrong"):
            with pytest.raises(InvalidStatus, match="403"), page(open_to_all, query):
                pass
        with page(open_to_all, f"?token={open_to_all.token}") as made:
            assert made.scene["bodies"][0] == "world"


def test_a_page_plays_switches_and_is_told_what_is_wrong(served):
    with page(served) as made:
        made.send('{"do": "play"}')
        first = np.frombuffer(picture(made), "<f8", 1)[0]
        while np.frombuffer(picture(made), "<f8", 1)[0] < first + 0.1:
            pass
        made.send('{"do": "engage", "name": "brake"}')
        until(made, lambda words: words["modes"]["brake"] == "engaged")
        made.send('{"do": "release", "name": "brake"}')
        until(made, lambda words: words["modes"]["brake"] == "released")
        for wrong in (
            "{",
            '{"do": "speed", "value": 1e99}',
            '{"do": "engage", "name": "x"}',
            '{"do": "step"}',
            "[" * 999,
        ):
            made.send(wrong)
            assert len(told(made, "refused")) > 10
        made.send('{"do": "pause"}')
        made.send('{"do": "reset"}')
        while np.frombuffer(picture(made), "<f8", 1)[0] > 0:
            pass


def test_huge_messages_end_the_page_and_nothing_else(served):
    with page(served) as good, page(served) as bad:
        bad.send("x" * 100_000)
        with pytest.raises(ConnectionClosed, match="1009"):
            told(bad, "nothing")
        assert picture(good)


def test_what_a_page_holds_is_let_go_when_it_leaves(served):
    with page(served) as other:
        with page(served) as made:
            made.send('{"do": "grab", "frame": 2, "point": [0, 0, -0.8]}')
            made.send('{"do": "drag", "point": [1, 0, 0]}')
            assert until(other, lambda words: words["held"])["held"] == ["lower"]
        other.send('{"do": "play"}')
        until(other, lambda words: not words["held"])
        assert not served.table.loop.tau.any()
        other.send('{"do": "reset"}')


def test_there_is_a_limit_to_pages(served):
    async def crowd():
        at = f"127.0.0.1:{served.port}"
        options = {"origin": f"http://{at}", "proxy": None}
        pages, refused = [], 0
        for _ in range(GUESTS + 8):
            try:
                pages.append(await websockets.connect(f"ws://{at}/socket", **options))
                await pages[-1].recv()
            except (InvalidStatus, ConnectionClosed):
                refused += 1
        for made in pages:
            await made.close()
        return refused

    assert 8 <= asyncio.run(crowd()) <= 9  # one of the test before may not have left yet
    with page(served) as made:
        assert picture(made)


def test_a_page_that_says_what_it_has_seen_is_not_sent_what_will_be_old(served):
    """Once it has seen one picture and no more, it is sent a few, and the newest one when it says that it saw these."""
    with page(served) as slow, page(served) as other:
        other.send('{"do": "play"}')
        picture(slow)
        slow.send('{"do": "seen", "value": 1}')
        until(other, lambda words: served.table.loop.state.t > 0.2)
        assert list(served._seen.values()) == [1]
        sent = 1
        while sent < 500:
            try:
                sent += isinstance(slow.recv(timeout=1), bytes)
            except TimeoutError:
                break
        assert 1 < sent < 2 * AHEAD + 20  # some were on their way before it spoke
        served.table.loop.pause()
        t = served.table.loop.state.t
        slow.send(json.dumps({"do": "seen", "value": sent}))
        assert np.frombuffer(picture(slow)[:8])[0] == t
        served.table.loop.reset()
    deadline = time.monotonic() + 20
    while served._guests and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not served._seen


def test_a_slow_page_delays_neither_the_loop_nor_others(served, monkeypatch):
    """One page reads nothing while pictures of a megabyte are drawn: it is sent few, another one goes on."""
    frame, size = type(served.table).frame, 1 << 20
    monkeypatch.setattr(served.table, "frame", lambda: frame(served.table) + bytes(size), raising=False)
    with page(served, max_queue=1, close_timeout=0.1) as slow, page(served) as quick:
        quick.send('{"do": "play"}')
        times = [np.frombuffer(picture(quick), "<f8", 1)[0] for _ in range(60)]
        assert times == sorted(times)
        assert times[-1] > times[0] + 0.3
        waiting = [guest.transport.get_write_buffer_size() for guest in list(served._guests)]
        assert max(waiting) < 4 * size
        assert max(waiting) > 0  # it is slow indeed
        quick.send('{"do": "reset"}')
        del slow
