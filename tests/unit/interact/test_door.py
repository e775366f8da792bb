"""Crowds at the door, pages that speak without end, and pages that vanish."""

import asyncio
import json
import logging
import os
import socket
import threading
import time
from pathlib import Path

import pytest

websockets = pytest.importorskip("websockets", reason="websockets is not installed: the live page is not tested")

from polhode.interact import server as serving  # noqa: E402
from polhode.interact.door import AT_ONCE, MESSAGES, Door, Pace, quiet, unheard  # noqa: E402
from tests.live import server  # noqa: E402
from tests.unit.interact.test_server import get, page, picture, told, until  # noqa: E402

CROWD = 300
HELLO = "GET /socket HTTP/1.1\r\nHost: {at}\r\nOrigin: http://{at}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with server(tmp_path_factory.mktemp("live"), [1.0, 0.5]) as made:
        yield made


def wait(true, seconds=30.0):
    """Wait until something is true, and no longer than that."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


class Fake:
    """A connection that knows whether it was cut off."""

    def __init__(self):
        self.transport, self.gone = self, False

    def abort(self):
        self.gone = True


def test_who_stands_at_the_door_longest_has_to_go_when_it_is_full():
    door, people = Door(most=3), [Fake() for _ in range(5)]
    for who in people[:3]:
        door.came(who)
    door.went(people[1])  # it is a page now, and is not counted
    for who in people[3:]:
        door.came(who)
    assert [who.gone for who in people] == [True, False, False, False, False]
    assert list(door.waiting) == [people[2], people[3], people[4]]
    assert door.turned_away == 1
    door.went(people[0])  # which is gone already
    assert len(door.waiting) == 3


def test_a_page_speaks_as_fast_as_it_is_allowed_to_and_no_faster():
    now = 5.0
    pace = Pace(lambda: now, rate=100.0, at_once=10)
    assert [pace.delay() for _ in range(10)] == pytest.approx([0.0] * 10, abs=1e-12)
    assert pace.delay() == pytest.approx(0.01)
    total, begin = 0, now
    while now < begin + 10:
        now += pace.delay()
        total += 1
    assert 990 <= total <= 1010
    now += 100  # silence is not saved up for more than is said at once
    assert sum(pace.delay() == 0 for _ in range(100)) in (9, 10, 11)


def test_a_crowd_that_says_nothing_keeps_no_page_out_and_takes_few_descriptors(served):
    with page(served) as before:
        here = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else None
        crowd, turned = [], served.door.turned_away
        try:
            for k in range(CROWD):
                one = socket.create_connection(("127.0.0.1", served.port))
                crowd.append(one)
                if k % 2:
                    one.sendall(b"GET /socket HTTP/1.1\r\nHost: ")
            wait(lambda: served.door.turned_away >= turned + CROWD - served.door.most - 40 or not served.door.waiting)
            assert len(served.door.waiting) <= served.door.most
            assert get(served)[0] == 200
            with page(served) as made:  # while they stand there
                assert picture(made)
            assert picture(before)
            if here is not None:
                added = len(os.listdir("/proc/self/fd")) - here - len(crowd)
                assert added <= served.door.most + 8
        finally:
            for one in crowd:
                one.close()
        wait(lambda: not served.door.waiting)


def test_those_that_say_nothing_are_cut_off_after_a_while(served):
    with socket.create_connection(("127.0.0.1", served.port)) as one:
        one.settimeout(30)
        try:
            found = one.recv(10_000)
        except ConnectionResetError:
            found = b""
    assert b"101" not in found
    wait(lambda: not served.door.waiting)


def test_a_flood_of_messages_is_read_slowly_and_delays_nobody(served):
    """What it says at once is done at once; the rest at an even rate, while another page sees all pictures."""
    many, done = 400, threading.Event()
    with page(served) as quick, page(served, max_queue=None) as loud:

        def flood():
            for _ in range(many):
                loud.send('{"do": "nothing"}')
            done.set()

        quick.send('{"do": "play"}')  # what stands still is drawn once
        begin = time.monotonic()
        threading.Thread(target=flood, daemon=True).start()
        seen = sum(1 for _ in range(20) if picture(quick))
        for _ in range(many):
            told(loud, "refused")
        took = time.monotonic() - begin
        assert seen == 20
        assert took > 0.9 * (many - AT_ONCE) / MESSAGES
        assert done.wait(20)  # nothing was lost
        quick.send('{"do": "reset"}')


def test_messages_are_not_drawn_one_by_one(served, monkeypatch):
    drawn, frame = [], type(served.table).frame
    monkeypatch.setattr(served.table, "frame", lambda: drawn.append(1) or frame(served.table), raising=False)
    with page(served) as made:
        drawn.clear()
        begin = time.monotonic()
        for _ in range(300):
            made.send('{"do": "nothing"}')
        for _ in range(300):
            told(made, "refused")
        assert len(drawn) <= serving.FRAMES * (time.monotonic() - begin) + 2


def test_what_a_page_holds_is_let_go_where_it_vanishes(tmp_path, monkeypatch):
    """Without a word: its socket stays open and says nothing, as where a network is gone."""
    monkeypatch.setattr(serving, "ALIVE", (0.2, 0.5))
    with server(tmp_path) as served, page(served) as other:
        at = f"127.0.0.1:{served.port}"
        with socket.create_connection(("127.0.0.1", served.port)) as gone:
            gone.sendall(HELLO.format(at=at).encode())
            assert b" 101 " in gone.recv(100)
            for text in ({"do": "grab", "frame": 2, "point": [0, 0, -0.8]}, {"do": "drag", "point": [1, 0, 0]}):
                data = json.dumps(text).encode()
                gone.sendall(bytes((0x81, 0x80 | len(data), 0, 0, 0, 0)) + data)  # masked by zeros
            assert until(other, lambda words: words["held"])["held"] == ["lower"]
            wait(lambda: bool(served.table.loop.tau.any()))
            until(other, lambda words: not words["held"])
            wait(lambda: not served.table.loop.tau.any())
            wait(lambda: len(served._guests) == 1)  # and the one that answers stays
        other.send('{"do": "nothing"}')
        assert told(other, "refused")


def test_nothing_that_strangers_send_is_printed(tmp_path, capfd, caplog):
    with server(tmp_path) as served:
        for data in (
            b"\x00" * 100,
            b"GET /socket HTTP/1.1\r\n\r\n",
            b"POST / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/9\r\n\r\n",
        ):
            with socket.create_connection(("127.0.0.1", served.port)) as one:
                one.sendall(data)
                one.shutdown(socket.SHUT_WR)
                one.settimeout(30)
                while one.recv(10_000):
                    pass
        with page(served) as made:
            made.send("x" * 100_000)
            with pytest.raises(websockets.exceptions.ConnectionClosed):
                told(made, "nothing")
    said = capfd.readouterr()
    assert said.err == said.out == ""
    assert not caplog.records


def test_who_wants_to_see_it_can(tmp_path):
    seen = []
    handler = logging.Handler()
    handler.emit = seen.append
    quiet.addHandler(handler)
    quiet.setLevel(logging.DEBUG)
    try:
        with server(tmp_path) as served, socket.create_connection(("127.0.0.1", served.port)) as one:
            one.sendall(b"nonsense\r\n\r\n")
            one.shutdown(socket.SHUT_WR)
            one.recv(1000)
            wait(lambda: any("nonsense" in record.getMessage() or record.exc_info for record in seen))
    finally:
        quiet.removeHandler(handler)
        quiet.setLevel(logging.NOTSET)


def test_faults_that_are_ours_are_printed(caplog):
    loop = asyncio.new_event_loop()
    try:
        unheard(loop, {"message": "broken", "exception": ConnectionResetError()})
        assert not caplog.records
        unheard(loop, {"message": "a fault", "exception": ZeroDivisionError()})
        assert "a fault" in caplog.text
    finally:
        loop.close()


def test_a_picture_that_cannot_be_drawn_ends_the_server_and_says_so(tmp_path, monkeypatch):
    """Else all pages would stand still without a word."""
    made, said = server(tmp_path), []
    draw = type(made.table).frame

    def run():
        try:
            made.run(ready)
        except ZeroDivisionError as error:
            said.append(error)

    ready = threading.Event()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(30)
    with page(made):
        monkeypatch.setattr(made.table, "frame", lambda: 1 / 0, raising=False)
        thread.join(30)
        assert said
    monkeypatch.setattr(made.table, "frame", lambda: draw(made.table), raising=False)
    made.stop()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_pages_are_asked_for_by_get_alone(tmp_path, method):
    with server(tmp_path) as served:
        for path, asked, expected in (("/", method, False), ("/page.js", method, False), ("/", "GET", True)):
            with socket.create_connection(("127.0.0.1", served.port)) as one:
                one.sendall(f"{asked} {path} HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode())
                one.settimeout(30)
                answer = one.recv(1000)  # what is closed without a word is refused, too
            assert answer.startswith(b"HTTP/1.1 200 ") == expected, (asked, path, answer)
