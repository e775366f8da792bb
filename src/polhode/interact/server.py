"""The live page: one small server for the page and its socket, on this machine alone unless asked otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import http
import ipaddress
import json
import secrets
import signal
import socket
import threading
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from polhode.view.optional import needed

from .messages import LARGEST, read
from .realtime import Realtime
from .table import Table

GUESTS = 16  # most pages at a time
FRAMES = 60.0  # pictures a second
SLOWER = 6  # pictures, after which words are said again
PUSHES = 4  # times in each of them that hands push
FILES = {"/": ("index.html", "text/html"), "/page.js": ("page.js", "text/javascript")}
GUARDS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Server:
    """A page over a loop in real time; see `view`.

    url : of the page, with the token where there is one
    """

    def __init__(self, loop: Realtime, address: str = "127.0.0.1", port: int = 0, token: str = "") -> None:
        self._closed = needed("websockets.exceptions", "view", "The live page").ConnectionClosed
        self.address, self.local = address, _is_local(address)
        self.token = token or ("" if self.local else secrets.token_urlsafe(16))
        self.table = Table(loop)
        self._socket = _bound(address, port)
        self.port = self._socket.getsockname()[1]
        host = f"[{address}]" if ":" in address else address
        query = f"/?token={quote(self.token)}" if self.token else "/"
        self.url = f"http://{host}:{self.port}{query}"
        self._hosts = {f"{name}:{self.port}" for name in (host, "127.0.0.1", "localhost", "[::1]")}
        self._guests: set[Any] = set()
        self._frame, self._words = b"", ""
        self._drawn = asyncio.Condition()
        self._files = {path: _file(name) for path, (name, _) in FILES.items()}
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None

    # life

    def run(self, ready: threading.Event | None = None) -> None:
        """Serve until `stop`, or until Ctrl-C in the main thread."""
        asyncio.run(self._serve(ready))

    def start(self) -> Server:
        """Serve in a thread of its own."""
        ready = threading.Event()
        self._thread = threading.Thread(target=self.run, args=(ready,), name="polhode page", daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def stop(self) -> None:
        """End what `start` began, and the loop."""
        if self._thread is not None and self._stop is not None:
            self._runner.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._thread = None
        self.table.loop.stop()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _serve(self, ready: threading.Event | None) -> None:
        from websockets.asyncio.server import serve

        self._stop, self._runner = asyncio.Event(), asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            with contextlib.suppress(NotImplementedError):  # not on Windows, where it raises KeyboardInterrupt
                self._runner.add_signal_handler(signal.SIGINT, self._stop.set)
        self._draw()
        serving = serve(
            self._guest, sock=self._socket, process_request=self._answer, max_size=LARGEST, max_queue=16,
            write_limit=1 << 15, compression=None, open_timeout=5, close_timeout=2,
        )  # fmt: skip
        async with serving:
            painter = asyncio.create_task(self._paint())
            if ready is not None:
                ready.set()
            try:
                await self._stop.wait()
            finally:
                painter.cancel()

    # pictures

    async def _paint(self) -> None:
        """Push and draw at a steady rate, whatever pages do with it."""
        due, turn = self._runner.time(), 0
        while True:
            if self.table.hands:
                self.table.push()
            if turn % PUSHES == 0 and self._guests:
                self._draw(words=turn % (PUSHES * SLOWER) == 0)
                async with self._drawn:
                    self._drawn.notify_all()
            turn += 1
            due = max(due + 1 / (FRAMES * PUSHES), self._runner.time())
            await asyncio.sleep(due - self._runner.time())

    def _draw(self, words: bool = True) -> None:
        self._frame = self.table.frame()
        if words:
            self._words = json.dumps({"words": self.table.words()})

    # guests

    def _answer(self, connection: Any, request: Any) -> Any:
        """Give out the page; let those to the socket that come from it."""
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        where = urlsplit(request.path)
        if not self.token and host not in self._hosts:
            return self._refuse(connection, http.HTTPStatus.FORBIDDEN, "This address is not served.")
        given = parse_qs(where.query).get("token", [""])[0]
        known = not self.token or hmac.compare_digest(given.encode(), self.token.encode())
        if not known and where.path != "/page.js":  # which is public
            return self._refuse(connection, http.HTTPStatus.FORBIDDEN, "The token is missing or wrong.")
        if where.path == "/socket":
            if origin != f"http://{host}":
                return self._refuse(connection, http.HTTPStatus.FORBIDDEN, "This origin is not served.")
            if len(self._guests) >= GUESTS:
                return self._refuse(connection, http.HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.")
            return None
        if where.path not in FILES:
            return self._refuse(connection, http.HTTPStatus.NOT_FOUND, "There is no such page.")
        found = connection.respond(http.HTTPStatus.OK, "")
        body, kind = self._files[where.path], FILES[where.path][1]
        del found.headers["Content-Type"], found.headers["Content-Length"]
        found.headers.update({"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)), **GUARDS})
        found.body = body
        return found

    def _refuse(self, connection: Any, status: http.HTTPStatus, why: str) -> Any:
        return connection.respond(status, f"{why}\n")

    async def _guest(self, page: Any) -> None:
        """Serve one page until it leaves; what it holds is let go then."""
        if len(self._guests) >= GUESTS:
            await page.close(1013, "Too many pages are open.")
            return
        self._guests.add(page)
        sender = None
        try:
            self._draw()
            await page.send(json.dumps({"scene": self.table.description()}))
            sender = asyncio.create_task(self._send(page))
            async for text in page:
                try:
                    self.table.do(page, read(text))
                except (ValueError, KeyError, RuntimeError) as error:
                    said = str(error.args[0]) if error.args else type(error).__name__
                    await page.send(json.dumps({"refused": said}))
                self._draw()
        except self._closed:
            pass
        finally:
            if sender is not None:
                sender.cancel()
            self._guests.discard(page)
            self.table.leave(page)

    async def _send(self, page: Any) -> None:
        """Send the newest picture once the last one is on its way: a slow page skips pictures, and delays nobody."""
        frame, words = b"", ""
        try:
            while True:
                if self._words != words:
                    words = self._words
                    await page.send(words)
                if self._frame != frame:
                    frame = self._frame
                    await page.send(frame)
                async with self._drawn:
                    await self._drawn.wait()
        except self._closed:
            pass


def _is_local(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _bound(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise OSError(f"view: cannot serve on {address!r}, port {port}: {why}. Port 0 takes a free one.") from None


def _file(name: str) -> bytes:
    return resources.files("polhode.interact").joinpath("page", name).read_bytes()
