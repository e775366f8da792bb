"""A machine by the clock while all around it misbehave: switches without end, pages, packets and a crowd.

python -m benchmarks.torture --minutes 10

A pendulum of two bars with brakes in its joints and a coupler at its tip runs at 1 kHz under two servers, one of them
with a token, and a device by UDP. Its brakes are engaged and released a hundred thousand times in ten minutes, one by
calls and one by a page, which also drags and moves a slider. Processes of their own send what `benchmarks.mischief`
has; one more is a page that looks. What has to hold is in `Found.wrong`; the rest are figures.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RATE = 1000.0
SWITCHES = 100_000 / 600  # a second
LOOKS = 8  # at memory and descriptors
CROWD = 1000  # connections at once
FLAT, WARMING = 8.0, 32.0  # MB that may be added in the second half: of a minute or more, and of a shorter run
DESCRIPTORS = 500  # that may be open beside those of the beginning: the servers' doors, pages, and what is being closed
LEFT = 40  # of these in the end
PATIENCE = 90.0  # s, for clients to end
KINDS = 9  # of mischief


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a run was like.

    asked, done   : switches, by calls and by the page
    memory        : MB of this process, from the beginning to the end
    descriptors   : open files and sockets, likewise
    ticks         : likewise
    standing      : longest time without a tick that was seen, s
    pages, packets, looks, acts : what clients say
    """

    seconds: float
    asked: tuple[int, int]
    done: tuple[int, int]
    failure: str
    standing: float
    ticks: list[int]
    memory: list[float]
    descriptors: list[int]
    turned_away: int
    ignored: int
    threads: int
    late: Any
    pages: dict[str, Any] = field(default_factory=dict)
    packets: dict[str, Any] = field(default_factory=dict)
    looks: dict[str, Any] = field(default_factory=dict)
    acts: dict[str, Any] = field(default_factory=dict)

    @property
    def grown(self) -> float:
        """MB in the second half."""
        return self.memory[-1] - self.memory[len(self.memory) // 2]

    @property
    def wrong(self) -> list[str]:
        """What should not be, in words."""
        let_in = {kind: count for kind, count in self.pages["accepted"].items() if count}
        tried = self.pages["tried"]
        unanswered = tried.get("malformed messages", 0) - self.pages["junk refused"]
        said = {
            f"the loop failed: {self.failure}": bool(self.failure),
            f"the loop stood still: {self.ticks}": any(np.diff(self.ticks) <= 0),
            f"{self.asked} switches were asked for, {self.done} done": self.done != self.asked,
            f"the page that switches was refused: {self.acts['why']}": self.acts["refused"] > 0,
            f"some were let in: {let_in}": bool(let_in),
            f"not all was tried: {tried}": len(tried) < KINDS,
            f"{unanswered} malformed messages were not refused": unanswered > 0,
            f"{self.grown:.1f} MB were added": self.grown > (FLAT if self.seconds >= 60 else WARMING),
            f"{max(self.descriptors)} files were open": max(self.descriptors) > self.descriptors[0] + DESCRIPTORS,
            f"{self.descriptors[-1]} files were left open": self.descriptors[-1] > self.descriptors[0] + LEFT,
            "the page that looks saw nothing": self.looks["pictures"] == 0,
            "the page that looks saw time go back": self.looks["backwards"] > 0,
            "no wrong packet was left aside": self.ignored == 0,
        }
        return [words for words, so in said.items() if so]

    def table(self) -> str:
        """All figures, a line each."""
        tried, late = self.pages["tried"], self.late
        middle = len(self.memory) // 2
        strangers = sum(tried.get(kind, 0) for kind in ("other origins", "other hosts", "no token"))
        rows = {
            "time": f"{self.seconds:.0f} s",
            "ticks": f"{self.ticks[-1]:,}, {late.missed:,} deadlines missed",
            "lateness": f"p50 {late.p50 * 1e6:.0f} us, p99 {late.p99 * 1e6:.0f} us, max {late.worst * 1e6:.0f} us",
            "longest time without a tick": f"{self.standing * 1e3:.0f} ms, as seen from Python",
            "switches by calls": f"{self.asked[0]:,} asked, {self.done[0]:,} done",
            "switches by the page": f"{self.asked[1]:,} asked, {self.done[1]:,} done, {self.acts['refused']:,} refused",
            "memory": f"{self.memory[0]:.1f} MB at first, {self.memory[middle]:.1f} in the middle, "
            f"{self.memory[-1]:.1f} at the end",
            "descriptors": f"{self.descriptors[0]} at first, {max(self.descriptors)} at most, "
            f"{self.descriptors[-1]} at the end",
            "threads": f"{self.threads}",
            "connections of the crowd": f"{tried.get('connections at once', 0):,}, {self.turned_away:,} turned away",
            "strangers": f"{strangers:,} tried, {sum(self.pages['accepted'].values())} let in",
            "garbage and wrong requests": f"{tried.get('garbage bytes', 0) + tried.get('wrong requests', 0):,}",
            "malformed messages": f"{tried.get('malformed messages', 0):,}, {self.pages['junk refused']:,} refused",
            "huge messages": f"{tried.get('huge messages', 0):,}",
            "messages in floods": f"{tried.get('messages in floods', 0):,}",
            "wrong packets": f"{sum(self.packets['tried'].values()):,} sent, {self.ignored:,} left aside",
            "pictures of the page that looks": f"{self.looks['pictures']:,}, at most {self.looks['longest gap']:.2f} s "
            f"apart, {self.looks['comings']} comings",
        }
        return "\n".join(f"{name:34}{value}" for name, value in rows.items())


def machine() -> tuple[Any, Any]:
    """The braked pendulum with a coupler at its tip, as a loop; and the coupler."""
    import polhode as ph
    from polhode.interact import coupler, realtime

    build = ph.Builder("braked pendulum", gravity=(0, 0, -9.81))
    bar: dict[str, Any] = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.083, 0.083, 0.001)}
    build.body("upper", joint=ph.revolute("y", name="shoulder", damping=0.5), **bar)
    build.body("lower", parent="upper", at=(0, 0, -1), joint=ph.revolute("y", name="elbow", damping=0.5), **bar)
    build.marker("tip", body="lower", at=(0, 0, -1))
    build.lock("elbow", name="brake", active=False)
    build.lock("shoulder", name="stop", active=False)
    held = coupler(build.build(), "tip", stiffness=50.0, damping=1.0, most_force=20.0)
    return realtime(ph.formulate(held.model).compile(), [1.0, 0.5], rate=RATE, record=False), held


def memory() -> float:
    """MB of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Watch:
    """What is written down while it runs: ticks, memory, descriptors, and what was done of switches."""

    def __init__(self, rt: Any) -> None:
        self.rt = rt
        self.ticks, self.memory, self.descriptors = [rt.ticks], [memory()], [self._open()]
        self.done = {"brake": 0, "stop": 0}
        self._mode, self._last = {**rt.mode}, None

    def _open(self) -> int:
        return len(os.listdir("/proc/self/fd"))

    def settle(self) -> None:
        """Wait, on a busy computer, for what is being closed."""
        end = time.monotonic() + PATIENCE / 9
        while self._open() > self.descriptors[0] + LEFT and time.monotonic() < end:
            time.sleep(0.1)

    def look(self) -> None:
        self.ticks.append(self.rt.ticks)
        self.memory.append(memory())
        self.descriptors.append(self._open())

    def count(self) -> None:
        """Count switches that happened; often enough, as the last thousand are known."""
        self.descriptors[-1] = max(self.descriptors[-1], self._open())
        events = self.rt.events
        new = next((k for k in range(len(events), 0, -1) if events[k - 1] is self._last), 0)
        for event in events[new:]:
            for name in self.done:
                self.done[name] += event.mode[name] != self._mode[name]
            self._mode, self._last = event.mode, event


def run(seconds: float, crowd: int = CROWD, switches: float = SWITCHES) -> Found:
    """Torture a machine for so long."""
    from polhode.interact import Link, Sample, Server, Udp
    from polhode.interact.udp import Driver

    rt, held = machine()
    hand = lambda t: Sample(position=(0.3 * np.sin(t), 0, -1.6), buttons=1)  # noqa: E731
    with Server(rt) as server, Server(rt, token="only for the few") as guarded, Udp(most_force=20.0) as device:
        rt.start()
        with Link(rt, held, device) as link, Driver(device.address) as driver:
            watch = Watch(rt)
            clients = [
                _client("mischief", "pages", server.port, guarded.port, seconds, crowd),
                _client("mischief", "packets", device.address[1], seconds),
                _client("visitors", "looks", server.port, seconds),
                _client("visitors", "switches", server.port, seconds, switches / 2, "stop", "shoulder_dot"),
            ]
            ended = threading.Event()
            swayed = threading.Thread(target=_sway, args=(driver, hand, ended), daemon=True)
            swayed.start()
            try:
                asked, standing = _switch(rt, watch, seconds, switches / 2)
                pages, packets, looks, acts = (_said(client, watch) for client in clients)
            finally:
                ended.set()
                swayed.join()
                for client in clients:
                    client.kill()
                    client.wait()
            time.sleep(0.5)  # for the last commands
            watch.count()
            watch.settle()
            watch.look()
            threads, failure = threading.active_count(), rt.failure or link.failure or rt.refused
        late = rt.lateness
        away = server.door.turned_away + guarded.door.turned_away
    return Found(
        seconds=seconds, asked=(asked, acts["asked"]), done=(watch.done["brake"], watch.done["stop"]), failure=failure,
        standing=standing, ticks=watch.ticks, memory=watch.memory, descriptors=watch.descriptors, turned_away=away,
        ignored=device.ignored, threads=threads, late=late, pages=pages, packets=packets, looks=looks, acts=acts,
    )  # fmt: skip


def _client(module: str, kind: str, *more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", f"benchmarks.{module}", kind, *map(str, more)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _said(client: subprocess.Popen[str], watch: Watch) -> dict[str, Any]:
    """What a client found, once it ends; switches are counted until then."""
    end = time.monotonic() + PATIENCE
    while client.poll() is None and time.monotonic() < end:
        watch.count()
        time.sleep(0.2)
    found: dict[str, Any] = json.loads(client.communicate(timeout=1)[0])
    return found


def _sway(driver: Any, hand: Callable[[float], Any], ended: threading.Event) -> None:
    """The driver that is in touch."""
    begin = time.monotonic()
    while not ended.wait(0.005):
        driver.send(hand(time.monotonic() - begin))
        driver.receive()


def _switch(rt: Any, watch: Watch, seconds: float, rate: float) -> tuple[int, float]:
    """Engage and release by turns until the end; how often, and the longest time without a tick."""
    begin = seen = counted = time.monotonic()
    count, ticks, standing = 0, rt.ticks, 0.0
    while (now := time.monotonic()) < begin + seconds:
        if rt.ticks != ticks:
            ticks, standing, seen = rt.ticks, max(standing, now - seen), now
        while count < (now - begin) * rate:
            (rt.release if count % 2 else rt.engage)("brake")
            count += 1
        if now > counted + 0.5:
            counted = now
            watch.count()
        if now > begin + len(watch.ticks) * seconds / LOOKS:
            watch.look()
        time.sleep(0.002)
    return count, max(standing, time.monotonic() - seen)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--crowd", type=int, default=CROWD, help="connections at once")
    options = parser.parse_args()
    found = run(60 * options.minutes, options.crowd)
    print(found.table())
    print("all held" if not found.wrong else "WRONG: " + "; ".join(found.wrong))
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
