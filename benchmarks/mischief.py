"""Clients that misbehave: a process of its own beside a server on this machine.

python -m benchmarks.mischief pages PORT TOKEN_PORT SECONDS CROWD    # what no page should send, to the server
python -m benchmarks.mischief packets PORT SECONDS                   # what no driver should send, by UDP

Each prints one line of JSON: how often each thing was tried, and how often it was let in. Nothing but 127.0.0.1 is
called, and each loop ends by the clock.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

HERE = "127.0.0.1"
PATIENCE = 20.0  # s, for an answer
FLOOD = 500  # messages in a row
JUNK = ("{", "[]", "null", "1e999", "NaN", '{"do": "drag", "point": [NaN, 0, 0]}', '{"do": "speed", "value": -1}',
        '{"do": "engage", "name": "__class__"}', '{"do": "__init__"}', '{"do": "input", "name": "", "value": 1e99}',
        '{"do": "grab", "frame": -1, "point": [0, 0, 0]}', '{"do": "play", "do": "pause"}', "[" * 2000,
        '{"do":' * 600, "\x00" * 64, '{"do": "drop", "x": "' + "y" * 3000 + '"}')  # fmt: skip


class Pages:
    """Rounds of everything, one after the other.

    tried : how often, by kind; accepted : how often a scene or a page came where none should
    """

    def __init__(self, port: int, token_port: int, crowd: int, seed: int = 0) -> None:
        self.port, self.token_port, self.crowd = port, token_port, crowd
        self.draw = random.Random(seed)
        self.tried: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        self.refused_junk = 0

    async def run(self, seconds: float) -> dict[str, Any]:
        from websockets.exceptions import WebSocketException

        end = time.monotonic() + seconds
        kinds: list[Callable[[], Awaitable[None]]] = [
            self.garbage, self.requests, self.strangers, self.without_token, self.junk, self.huge, self.flood,
            self.slow, self.many,
        ]  # fmt: skip
        rounds = 0
        while time.monotonic() < end or not rounds:  # one whole round at least
            for kind in kinds:
                with suppress(OSError, asyncio.TimeoutError, WebSocketException):  # turned away, or thrown out
                    await asyncio.wait_for(kind(), PATIENCE)
                if time.monotonic() > end and rounds:
                    break
            rounds += 1
        return {"tried": self.tried, "accepted": self.accepted, "junk refused": self.refused_junk}

    # what is no page at all

    async def garbage(self) -> None:
        """Bytes that are no HTTP; some are cut off half-way."""
        for _ in range(20):
            self.tried["garbage bytes"] += 1
            data = self.draw.randbytes(self.draw.choice((1, 100, 5_000, 100_000)))
            answer = await self._raw(self.port, data, wait=self.draw.random() < 0.5)
            self.accepted["garbage bytes"] += b" 200 " in answer or b" 101 " in answer

    async def requests(self) -> None:
        """HTTP that is wrong: endless headers, other methods, other hosts, paths that lead elsewhere."""
        host = f"Host: {HERE}:{self.port}\r\n"
        wrong = [
            "POST / HTTP/1.1\r\n" + host + "\r\n",
            "GET / HTTP/9.9\r\n" + host + "\r\n",
            "GET /../server.py HTTP/1.1\r\n" + host + "\r\n",
            "GET /%2e%2e/server.py HTTP/1.1\r\n" + host + "\r\n",
            "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            f"GET / HTTP/1.1\r\nHost: {HERE}.evil.example:{self.port}\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\n" + host + "".join(f"X-{k}: y\r\n" for k in range(2_000)) + "\r\n",
            "GET / HTTP/1.1\r\n" + host + "X: " + "y" * 200_000 + "\r\n\r\n",
            "GET /" + "a" * 100_000 + " HTTP/1.1\r\n" + host + "\r\n",
            "GET /socket HTTP/1.1\r\n" + host + f"Origin: http://{HERE}:{self.port}\r\n\r\n",  # no upgrade
        ]
        for text in wrong:
            self.tried["wrong requests"] += 1
            answer = await self._raw(self.port, text.encode())
            self.accepted["wrong requests"] += b" 200 " in answer or b" 101 " in answer

    async def many(self) -> None:
        """A thousand at once: some say nothing, some half a request, some leave at once."""

        async def one(k: int) -> Any:
            self.tried["connections at once"] += 1
            found = await asyncio.open_connection(HERE, self.port)
            if k % 3 == 1:
                found[1].write(b"GET /socket HTTP/1.1\r\nHost: ")
            if k % 3 == 2:
                found[1].close()
            return found

        opened = await asyncio.gather(*(one(k) for k in range(self.crowd)), return_exceptions=True)
        await asyncio.sleep(1.0)  # left open
        for found in opened:
            if not isinstance(found, BaseException):
                found[1].transport.abort()

    # pages that may not come in

    async def strangers(self) -> None:
        """Sockets of pages from elsewhere, and for another host."""
        good = f"http://{HERE}:{self.port}"
        near = f"http://{HERE}:{self.port + 1}"
        for origin in (None, "null", "http://evil.example", near, f"https://{HERE}", good + "/"):
            await self._try("other origins", self.port, origin)
        await self._try("other hosts", self.port, "http://evil.example", host="evil.example")
        host = f"localhost.evil:{self.port}"
        await self._try("other hosts", self.port, f"http://{host}", host=host)

    async def without_token(self) -> None:
        """The server that asks for a token, without it."""
        good = f"http://{HERE}:{self.token_port}"
        for query in ("", "?token=", "?token=wrong", "?token=%00", "?TOKEN=x", "?token=" + "a" * 1000):
            await self._try("no token", self.token_port, good, query)
            self.tried["no token"] += 1
            answer = await self._raw(self.token_port, f"GET /{query} HTTP/1.1\r\nHost: {HERE}\r\n\r\n".encode())
            self.accepted["no token"] += b" 200 " in answer

    async def _try(self, kind: str, port: int, origin: str | None, query: str = "", host: str = "") -> None:
        """Ask for a socket, by hand: where it comes, it is counted."""
        lines = [
            f"GET /socket{query} HTTP/1.1", f"Host: {host or f'{HERE}:{port}'}", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]  # fmt: skip
        lines += [f"Origin: {origin}"] if origin else []
        self.tried[kind] += 1
        answer = await self._raw(port, ("\r\n".join(lines) + "\r\n\r\n").encode())
        self.accepted[kind] += b" 101 " in answer

    async def _raw(self, port: int, data: bytes, wait: bool = True) -> bytes:
        """Send bytes; the beginning of the answer."""
        reader, writer = await asyncio.open_connection(HERE, port)
        try:
            writer.write(data)
            if not wait:
                return b""
            writer.write_eof()
            return await asyncio.wait_for(reader.read(1000), PATIENCE)
        except OSError:
            return b""
        finally:
            writer.transport.abort()

    # pages that may come in, and send what they should not

    def _page(self, **options: Any) -> Any:
        from websockets.asyncio.client import connect

        at = f"{HERE}:{self.port}"
        options = {"origin": f"http://{at}", "proxy": None, "max_size": None, "close_timeout": 0.5} | options
        return connect(f"ws://{at}/socket", **options)

    async def junk(self) -> None:
        """What is no message: each is answered by why."""
        async with self._page() as page:
            for text in JUNK:
                self.tried["malformed messages"] += 1
                await page.send(text)
                while True:
                    said = await page.recv()
                    if isinstance(said, str) and "refused" in json.loads(said):
                        self.refused_junk += 1
                        break
            await page.send(os.urandom(100))

    async def huge(self) -> None:
        """Messages of megabytes."""
        from websockets.exceptions import ConnectionClosed

        for size in (5_000, 1_000_000, 16_000_000):
            self.tried["huge messages"] += 1
            page = await self._page()
            with suppress(
                ConnectionClosed, OSError, AttributeError
            ):  # the last of the client, in the middle of sending
                await page.send("x" * size)
                while True:  # until it is thrown out
                    await page.recv()
            with suppress(AttributeError):  # it is gone already
                page.transport.abort()

    async def flood(self) -> None:
        """Many messages at once, and nothing read."""
        async with self._page() as page:
            for _ in range(FLOOD):
                self.tried["messages in floods"] += 1
                await page.send('{"do": "drop"}')

    async def slow(self) -> None:
        """Pages that read nothing for a while, and then are cut off."""
        pages = []
        for _ in range(8):
            self.tried["slow pages"] += 1
            pages.append(await self._page(max_queue=1, ping_interval=None).__aenter__())
        await asyncio.sleep(1.0)
        for page in pages:
            page.transport.abort()


def packets(port: int, seconds: float, seed: int = 0) -> dict[str, Any]:
    """Packets that are none, beside those of the driver in touch, from sockets that come and go."""
    draw, tried, end = random.Random(seed), Counter[str](), time.monotonic() + seconds
    head = b"PHS1" + struct.pack("<I", 1 << 30)
    body = struct.pack("<d3d4d6dII", 0, 9, 9, 9, 1, 0, 0, 0, *(0,) * 6, 1, 0)
    wrong = {
        "empty": b"", "short": head, "long": head + body + b"\0", "other": b"PHS9" + (head + body)[4:],
        "large": bytes(60_000),
        "not a number": head + struct.pack("<d3d4d6dII", 0, math.nan, 0, 0, 1, 0, 0, 0, *(0,) * 6, 1, 0),
        "infinite": head + struct.pack("<d3d4d6dII", 0, 0, 0, 0, 1, 0, 0, 0, *(math.inf,) * 6, 1, 0),
        "no rotation": head + struct.pack("<d3d4d6dII", 0, 0, 0, 0, 0, 0, 0, 0, *(0,) * 6, 1, 0),
        "overflowing": head + struct.pack("<d3d4d6dII", 0, 0, 0, 0, *(1e300,) * 4, *(0,) * 6, 1, 0),
        "another sender": head + body,
    }  # fmt: skip
    while time.monotonic() < end:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for kind, data in wrong.items():
                tried[kind] += 1
                with suppress(OSError):
                    out.sendto(data, (HERE, port))
            for _ in range(10):
                tried["garbage"] += 1
                with suppress(OSError):
                    out.sendto(draw.randbytes(draw.randrange(400)), (HERE, port))
        time.sleep(0.01)
    return {"tried": tried}


def main() -> None:
    kind, *numbers = sys.argv[1:]
    values = [float(number) for number in numbers]
    if kind == "pages":
        port, token_port, seconds, crowd = values
        found = asyncio.run(Pages(int(port), int(token_port), int(crowd)).run(seconds))
    else:
        found = packets(int(values[0]), values[1])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
