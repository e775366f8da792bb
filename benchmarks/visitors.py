"""Pages that behave, beside those that do not: one looks, one switches, moves a slider and drags.

python -m benchmarks.visitors looks PORT SECONDS
python -m benchmarks.visitors switches PORT SECONDS RATE NAME SLIDER

Each prints one line of JSON. Both come again where they are turned away.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

HERE = "127.0.0.1"
PATIENCE = 20.0  # s, for an answer
NONSENSE = {"do": "nothing"}  # which is answered, after all that was said before


async def looks(port: int, seconds: float) -> dict[str, Any]:
    """How many pictures there were, the longest time without one, and whether time ever went back."""
    pictures, gap, backwards, last = 0, 0.0, 0, -1.0
    end = time.monotonic() + seconds

    async def look(page: Any) -> None:
        nonlocal pictures, gap, backwards, last
        seen = time.monotonic()
        while time.monotonic() < end:
            found = await asyncio.wait_for(page.recv(), PATIENCE)
            if isinstance(found, bytes):
                now, t = time.monotonic(), struct.unpack_from("<d", found)[0]
                pictures, gap, backwards = pictures + 1, max(gap, now - seen), backwards + (t < last)
                seen, last = now, t

    comings = await _again(port, end, look)
    return {"pictures": pictures, "longest gap": gap, "backwards": backwards, "comings": comings}


async def switches(port: int, seconds: float, rate: float, name: str, slider: str) -> dict[str, Any]:
    """How many switches were asked for by the page's own messages, and how many of all were refused."""
    asked, said, refused, why = 0, 0, 0, ""
    begin = time.monotonic()
    end = begin + seconds

    async def listen(page: Any, heard: asyncio.Event) -> None:
        nonlocal refused, why
        async for found in page:
            if isinstance(found, str) and "refused" in (read := json.loads(found)):
                if "'nothing'" in read["refused"]:
                    heard.set()
                else:
                    refused, why = refused + 1, read["refused"]

    async def act(page: Any) -> None:
        nonlocal asked, said
        heard = asyncio.Event()
        listening = asyncio.create_task(listen(page, heard))
        try:
            while (now := time.monotonic()) < end:
                while asked < (now - begin) * rate:
                    await page.send(json.dumps({"do": "release" if asked % 2 else "engage", "name": name}))
                    asked += 1
                for message in _touches(said, slider):
                    await page.send(json.dumps(message))
                said += 1
                await asyncio.sleep(0.05)
            await page.send(json.dumps(NONSENSE))
            await asyncio.wait_for(heard.wait(), PATIENCE)
        finally:
            listening.cancel()

    comings = await _again(port, end, act)
    return {"asked": asked, "touches": said, "refused": refused, "why": why, "comings": comings}


def _touches(turn: int, slider: str) -> list[dict[str, Any]]:
    """What a visitor does beside switching, by turns: takes a body, drags it about, lets go, moves a slider."""
    phase = turn % 40
    if phase == 0:
        return [{"do": "grab", "frame": 2, "point": [0, 0, -0.5]}]
    if phase < 20:
        return [{"do": "drag", "point": [math.sin(turn / 7), 0, -1.5]}]
    if phase == 20:
        return [{"do": "drop"}]
    return [{"do": "input", "name": slider, "value": math.cos(turn / 5)}]


async def _again(port: int, end: float, act: Callable[[Any], Awaitable[None]]) -> int:
    """Be a page until the end; how often it came."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import WebSocketException

    at, comings = f"{HERE}:{port}", 0
    while time.monotonic() < end:
        comings += 1
        with suppress(WebSocketException, OSError, asyncio.TimeoutError):
            async with connect(f"ws://{at}/socket", origin=f"http://{at}", proxy=None, max_size=None) as page:
                await act(page)
    return comings


def main() -> None:
    kind, port, seconds, *more = sys.argv[1:]
    if kind == "looks":
        found = asyncio.run(looks(int(float(port)), float(seconds)))
    else:
        found = asyncio.run(switches(int(float(port)), float(seconds), float(more[0]), more[1], more[2]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
