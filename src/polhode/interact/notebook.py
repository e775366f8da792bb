"""The live page inside a notebook: one server for each machine, which ends with it, and a frame that shows its page."""

from __future__ import annotations

import base64
import io
import secrets
from html import escape

from polhode.trajectory.events import OPEN, RELEASED

from .loop import Realtime
from .server import Server

HEIGHT = 560  # pixels
PATIENCE = 4.0  # s, until a frame that says nothing is taken for one whose server is not there
HERE = "polhode: here"  # what the page says to what it is in

FRAME = """<div id="{id}" class="polhode-live">
<iframe src="{url}" title="{title}" style="width:100%;height:{height}px;border:1px solid #8886;border-radius:8px" \
allow="fullscreen"></iframe>
<figure hidden style="margin:0">{picture}<figcaption style="max-width:46em;font:14px/1.45 system-ui,sans-serif">\
<b>{title}</b> is not running where this page looks for it, at {place}.<br>{remedy}</figcaption></figure>
<script>(() => {{
  const box = document.getElementById("{id}"), frame = box.querySelector("iframe"), rest = box.querySelector("figure");
  const heard = ({{ source, data }}) => {{
    if (source !== frame.contentWindow || data !== "{here}") return;
    clearTimeout(waits); frame.hidden = false; rest.hidden = true;
  }};
  const waits = setTimeout(() => {{ frame.hidden = true; rest.hidden = false; }}, {patience});
  addEventListener("message", heard);
}})();</script></div>"""
REMEDY = """Run its cell again, in a kernel that runs. If that is on another computer, the page is there, too: forward \
its port, as by <code>ssh -L {port}:127.0.0.1:{port} that-computer</code>, and run the cell again."""


def show(machine: Realtime, height: int = HEIGHT, port: int = 0) -> Inline:
    """Show the live page of a machine below a cell of a notebook; a machine that is a cell's result shows itself, too.

    height : of the frame, pixels
    port   : of the page, on the computer of the kernel; 0 takes a free one

    There is one page for each machine, which ends with `machine.stop()`, or with `close()` of what this returns.
    """
    if not isinstance(machine, Realtime):
        raise TypeError(f"show takes a machine in real time, found {machine!r:.60}. Give ph.realtime(dynamics).")
    if not isinstance(height, int) or isinstance(height, bool) or not 100 <= height <= 10_000:
        raise ValueError(f"show: height is {height!r:.40}, expected whole pixels, 100 to 10,000.")
    known: Inline | None = machine._page
    if known is not None and known.open and port in (0, known.port):
        known.height = height
        return known
    if known is not None:
        known.close()
    machine._page = made = Inline(machine, height, port)
    return made


def shown(machine: Realtime) -> str | None:
    """HTML of the page of a machine, as it was shown last; None where what serves it is not installed."""
    known: Inline | None = machine._page
    try:
        return show(machine, HEIGHT if known is None else known.height)._repr_html_()
    except ModuleNotFoundError:
        return None


class Inline:
    """The live page of a machine in a notebook; what `show` gives.

    url : of the page, with its token
    """

    def __init__(self, machine: Realtime, height: int, port: int) -> None:
        self.machine, self.height = machine, height
        self._server = Server(machine, port=port, framed=True).start()
        self.url, self.port = self._server.url, self._server.port

    @property
    def open(self) -> bool:
        """Whether the page is served."""
        return self._server.running

    def close(self) -> None:
        """End the page; the machine goes on."""
        if self.machine._page is self:
            self.machine._page = None
        self._server.close()

    def _repr_html_(self) -> str:
        title = self.machine.dynamics.equations.model.name
        return FRAME.format(
            id=f"polhode-{secrets.token_hex(6)}", url=escape(self.url), title=escape(title), height=self.height,
            picture=self._picture(), place=f"127.0.0.1:{self.port}", remedy=REMEDY.format(port=self.port),
            here=HERE, patience=round(PATIENCE * 1000),
        )  # fmt: skip

    def _picture(self) -> str:
        """The machine as it is now, for those who open the notebook without it; nothing without matplotlib."""
        state, found = self.machine.state, io.BytesIO()
        acts = {name for name, word in self.machine.mode.items() if word not in (OPEN, RELEASED)}
        try:
            scene = self._server.table.picture.still(state, acts)
            scene.picture(state.t).savefig(found, format="jpg", pil_kwargs={"quality": 85})
        except ModuleNotFoundError:
            return ""
        data = f"data:image/jpeg;base64,{base64.b64encode(found.getvalue()).decode()}"
        return f'<img alt="{escape(scene.title)}" style="max-width:100%;width:480px" src="{data}">'

    def __repr__(self) -> str:
        word = self.url if self.open else "closed"
        return f"Live page of {self.machine.dynamics.equations.model.name!r}: {word}"
