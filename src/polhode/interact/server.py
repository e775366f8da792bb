"""The live page: one small server for the page and its socket, on this machine alone unless asked otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import http
import ipaddress
import json
import os
import secrets
import signal
import socket
import threading
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from polhode.view.optional import needed

from .aside import Aside
from .door import Door, Pace, quiet, unheard
from .loop import Realtime
from .messages import LARGEST, read
from .table import Table

GUESTS = 16  # most pages at a time
FRAMES = 60.0  # pictures a second
SLOWER = 6  # pictures, after which words are said again
AHEAD = 30  # pictures, half a second of them, that are on their way at most to a page that says what it has seen
PUSHES = 4  # times in each of them that hands push
ALIVE = 2.0, 5.0  # s, after which a silent page is asked whether it is there, and is taken to be gone
KINDS = {".js": "text/javascript; charset=utf-8", ".woff2": "font/woff2"}
AWAY = {"equations": "equations", "count": "operation counts"}
LOCAL = "http://127.0.0.1:* http://localhost:* https://127.0.0.1:* https://localhost:* vscode-webview:"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; font-src 'self'; connect-src 'self'; "
    "img-src data:; frame-ancestors 'self'"
)
GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Server:
    """A page over a loop in real time; see `view`.

    url    : of the page, with the token where there is one
    framed : whether other pages of this computer may show it in a frame, as notebooks do; then there is a token
    """

    def __init__(
        self, loop: Realtime, address: str = "127.0.0.1", port: int = 0, token: str = "", framed: bool = False
    ) -> None:
        self._closed = needed("websockets.exceptions", "view", "The live page").ConnectionClosed
        self.address, self.local = address, _is_local(address)
        self.token = token or ("" if self.local and not framed else secrets.token_urlsafe(16))
        self._guards = {"Content-Security-Policy": POLICY + f" {LOCAL}" * framed, **GUARDS}
        self.table, self._aside = Table(loop), Aside(loop)
        self._socket = _bound(address, port)
        self.port = self._socket.getsockname()[1]
        host = f"[{address}]" if ":" in address else address
        query = f"/?token={quote(self.token)}" if self.token else "/"
        self.url = f"http://{host}:{self.port}{query}"
        self._hosts = {f"{name}:{self.port}" for name in (host, "127.0.0.1", "localhost", "[::1]")}
        self._guests: set[Any] = set()
        self._seen: dict[Any, float] = {}  # how many pictures a page says that it has had, where it says so
        self.door = Door()
        self._frame, self._words, self._said = b"", "", True
        self._drawn = asyncio.Condition()
        self._files = _files()
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

    @property
    def running(self) -> bool:
        """Whether `start` began something that has not ended."""
        return self._thread is not None

    def stop(self) -> None:
        """End what `start` began, and the loop."""
        self.close()
        self.table.loop.stop()

    def close(self) -> None:
        """End what `start` began, and let the loop go on."""
        if self._thread is not None and self._stop is not None:
            self._runner.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._thread = None

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
        self._runner.set_exception_handler(unheard)
        self._draw()
        serving = serve(
            self._guest, sock=self._socket, process_request=self._answer, max_size=LARGEST, max_queue=16,
            write_limit=1 << 15, compression=None, open_timeout=2, close_timeout=2, logger=quiet,
            ping_interval=ALIVE[0], ping_timeout=ALIVE[1], create_connection=self.door.connection(),
        )  # fmt: skip
        async with serving:
            painter, stopped = asyncio.create_task(self._paint()), asyncio.create_task(self._stop.wait())
            if ready is not None:
                ready.set()
            try:
                await asyncio.wait((painter, stopped), return_when=asyncio.FIRST_COMPLETED)
                if painter.done():  # it never is, unless something is wrong with the machine's picture
                    painter.result()
            finally:
                painter.cancel()
                stopped.cancel()

    # pictures

    async def _paint(self) -> None:
        """Push and draw at a steady rate, whatever pages do with it."""
        due, turn = self._runner.time(), 0
        while True:
            if self.table.acts:
                self.table.push()
            if turn % PUSHES == 0 and self._guests:
                self._draw(words=self._said or turn % (PUSHES * SLOWER) == 0)
                async with self._drawn:
                    self._drawn.notify_all()
            turn += 1
            due = max(due + 1 / (FRAMES * PUSHES), self._runner.time())
            await asyncio.sleep(due - self._runner.time())

    def _draw(self, words: bool = True) -> None:
        self._frame = self.table.frame()
        if words:
            self._said = False
            self._words = json.dumps({"words": self.table.words()})

    # guests

    def _answer(self, connection: Any, request: Any) -> Any:
        """Give out the page; let those to the socket that come from it."""
        if getattr(request, "method", "GET") != "GET":  # older versions of websockets refuse others themselves
            return self._refuse(connection, http.HTTPStatus.METHOD_NOT_ALLOWED, "Pages are asked for by GET.")
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        where = urlsplit(request.path)
        if not self.token and host not in self._hosts:
            return self._refuse(connection, http.HTTPStatus.FORBIDDEN, "This address is not served.")
        given = parse_qs(where.query).get("token", [""])[0]
        known = not self.token or hmac.compare_digest(given.encode(), self.token.encode())
        if not known and (where.path == "/" or where.path not in self._files):  # the rest of the page is public
            return self._refuse(connection, http.HTTPStatus.FORBIDDEN, "The token is missing or wrong.")
        if where.path == "/socket":
            if origin != f"http://{host}":
                return self._refuse(connection, http.HTTPStatus.FORBIDDEN, "This origin is not served.")
            if len(self._guests) >= GUESTS:
                return self._refuse(connection, http.HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.")
            return None
        if where.path not in self._files:
            return self._refuse(connection, http.HTTPStatus.NOT_FOUND, "There is no such page.")
        found = connection.respond(http.HTTPStatus.OK, "")
        body, kind = self._files[where.path]
        del found.headers["Content-Type"], found.headers["Content-Length"]
        found.headers.update({"Content-Type": kind, "Content-Length": str(len(body)), **self._guards})
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
        self.door.went(page)
        sender, pace = None, Pace(self._runner.time)
        asides: dict[str, asyncio.Task[None]] = {}
        try:
            self._draw()
            await page.send(json.dumps({"scene": self.table.description()}))
            sender = asyncio.create_task(self._send(page))
            async for text in page:
                try:
                    asked = read(text)
                    if asked.action == "seen":
                        self._seen[page] = asked.value
                        await asyncio.sleep(pace.delay())
                        continue
                    if asked.action not in Aside.asked:
                        self.table.do(page, asked)
                    elif asked.action not in asides or asides[asked.action].done():
                        asides[asked.action] = asyncio.create_task(self._tell(page, asked.action))
                except (ValueError, KeyError, RuntimeError) as error:
                    said = str(error.args[0]) if error.args else type(error).__name__
                    await page.send(json.dumps({"refused": said}))
                self._said = True  # in the next picture
                await asyncio.sleep(pace.delay())
        except self._closed:
            pass
        finally:
            for task in (*asides.values(), *([sender] if sender is not None else ())):
                task.cancel()
            self._guests.discard(page)
            self._seen.pop(page, None)
            self.table.leave(page)

    async def _tell(self, page: Any, what: str) -> None:
        """Answer what takes long, beside all else."""
        try:
            found: dict[str, Any] = {what: await self._aside.answer(what)}
        except Exception as error:  # of a formula, whatever it may be: the page goes on without
            found = {"refused": f"There are no {AWAY[what]} for this page: {error}"}
        with contextlib.suppress(self._closed):
            await page.send(json.dumps(found))

    async def _send(self, page: Any) -> None:
        """Send the newest picture once the last one is on its way: a slow page skips pictures, and delays nobody.

        What is on its way fills the network, and the browser where that is slow, with pictures that are old when they
        are seen: a page that says what it has seen is sent no more until it has seen most of it.
        """
        frame, words, sent = b"", "", 0
        try:
            while True:
                if sent - self._seen.get(page, sent) >= AHEAD:
                    async with self._drawn:
                        await self._drawn.wait()
                    continue
                if self._words != words:
                    words = self._words
                    await page.send(words)
                if (newest := self._frame + self.table.beside(page)) != frame:
                    frame = newest
                    await page.send(frame)
                    sent += 1
                    if (seen := self.table.quantities.seen_by(page)) is not None:
                        await page.send(json.dumps({"watched": seen}))
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
        code = getattr(error, "errno", None) or 0
        found = isinstance(error, OSError) and not isinstance(error, socket.gaierror)
        why = os.strerror(code) if found else str(getattr(error, "strerror", None) or error).split(" (while")[0]
        if code in (errno.EADDRINUSE, errno.EACCES) or not isinstance(error, OSError):
            remedy = "Give another port, or 0 for a free one"
        else:
            remedy = "Give an address of this computer: 127.0.0.1, or 0.0.0.0 for all that it has"
        raise OSError(f"view: cannot serve on {address!r}, port {port}: {why}. {remedy}.") from None


def _files() -> dict[str, tuple[bytes, str]]:
    """What is served: by path, the bytes and their kind."""
    page = resources.files("polhode.interact").joinpath("page")
    found = {"/": (page.joinpath("index.html").read_bytes(), "text/html; charset=utf-8")}
    for folder, prefix in ((page, "/"), (page.joinpath("fonts"), "/fonts/")):
        for each in folder.iterdir():
            if (ending := "." + each.name.rpartition(".")[2]) in KINDS:
                found[prefix + each.name] = each.read_bytes(), KINDS[ending]
    return found
