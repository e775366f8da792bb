"""Processes of dask on this computer, which start by themselves.

They are programs of their own, not copies of this one: a script without `if __name__ == "__main__":` is not run again
by them. Where this process dies, they lose their scheduler and end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

_WORKER = ["-m", "distributed.cli.dask_worker", "--nthreads=1", "--no-nanny", "--no-dashboard", "--memory-limit=0"]
_TRIES = 3  # starts of each worker
_GOODBYE = 5.0  # s


class Workers:
    """A scheduler in this process, a client of it, and a worker for each processor."""

    def __init__(self, distributed: Any) -> None:
        self.cluster = distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0")
        self.client = distributed.Client(self.cluster, set_as_default=False)
        self._started = [self._start() for _ in range(os.cpu_count() or 1)]
        self._left = _TRIES * len(self._started)

    def _start(self) -> subprocess.Popen[bytes]:
        address = self.cluster.scheduler_address
        apart: dict[str, Any] = {"start_new_session": True}  # Ctrl-C is for this process
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        paths = os.pathsep.join(dict.fromkeys(path or os.getcwd() for path in sys.path))
        return subprocess.Popen(
            [sys.executable, *_WORKER, address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": paths},
            **apart,
        )

    def mend(self) -> None:
        """Start others for those that died, not for ever."""
        for i, process in enumerate(self._started):
            if process.poll() is not None and self._left > 0:
                self._left -= 1
                self._started[i] = self._start()

    def close(self) -> None:
        with suppress(Exception):
            self.client.close()
        with suppress(Exception):
            self.cluster.close()
        for process in self._started:
            with suppress(subprocess.TimeoutExpired):
                process.terminate()
                process.wait(_GOODBYE)
                continue
            process.kill()
