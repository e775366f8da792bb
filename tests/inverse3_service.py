"""A service as Haply documents its own, an inventory first, then a state for each message; or one that misbehaves."""

import json
import threading
import time
from contextlib import suppress

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve


class Service:
    """Serves a cursor on a spring of nothing: it moves as `cursor.position` is set.

    misbehave : called with the number of a message and the state as text; gives texts to send instead, None to hang up
    """

    def __init__(self, *names, modern=True, handles=None, misbehave=None):
        self.names, self.modern, self.handles, self.misbehave = names or ("049D",), modern, handles or {}, misbehave
        self.position, self.velocity = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        self.forces, self.when, self.first, self.calls, self.said = [], [], [], 0, 0
        self.step = None  # called with each force, in the thread of the service
        self.server = serve(self._talk, "127.0.0.1", 0, compression=None)
        self.url = f"ws://127.0.0.1:{self.server.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()

    def state(self):
        xyz = lambda values: dict(zip("xyz", values, strict=True))  # noqa: E731
        state = {"cursor_position": xyz(self.position), "cursor_velocity": xyz(self.velocity),
                 "body_orientation": {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}}  # fmt: skip
        found = {"inverse3": [{"device_id": name, "state": state, "status": {"ready": True}} for name in self.names]}
        return found | self.handles | ({"session_id": 7} if self.modern else {})

    def _talk(self, line):
        self.calls += 1
        first = True
        line.send(json.dumps(self.state()))
        for text in line:
            asked = json.loads(text)
            if first:
                self.first.append(asked)
            first = False
            (device,) = asked["inverse3"]
            force = device["commands"]["set_cursor_force"]["vector" if self.modern else "values"]
            self.forces.append((force["x"], force["y"], force["z"]))
            self.when.append(time.monotonic())
            if self.step is not None:
                self.step(self.forces[-1])
            self.said += 1
            whole = json.dumps(self.state())
            answers = [whole] if self.misbehave is None else self.misbehave(self.said, whole)
            if answers is None:
                line.close_timeout = 0
                line.socket.close()
                return
            with suppress(ConnectionClosed):
                for answer in answers:
                    line.send(answer)
