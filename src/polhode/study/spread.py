"""Chunks of a study in other processes, by dask.distributed."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from polhode.view import needed

from .runs import Columns, Plan

_TRIES = 3  # of a chunk, whose workers died
_PATIENCE = 30.0  # s without any worker


@lru_cache(maxsize=4)
def _plan(data: bytes) -> Plan:
    found: Plan = pickle.loads(data)
    return found


def compute(data: bytes, first: int, last: int) -> Columns:
    """What a worker does: one chunk of a plan, which it reads once."""
    return _plan(data).compute(first, last)


def computed_by(
    client: Any, plan: Plan, spans: Mapping[int, tuple[int, int]], done: Callable[[int, Columns], None]
) -> None:
    """Compute chunks by a client, or by a cluster on this computer, and hand on each as it is ready.

    A chunk whose worker died is computed again; where that happens too often, or no worker is left, here.
    """
    distributed = needed("distributed", "dask", "A study by dask")
    cloudpickle = needed("cloudpickle", "dask", "A study by dask")
    own = None
    if client is None:
        own = distributed.LocalCluster(threads_per_worker=1, dashboard_address=None)
        client = distributed.Client(own)
    try:
        _spread(distributed, client, cloudpickle.dumps(plan), plan, spans, done)
    finally:
        if own is not None:
            client.close()
            own.close()


def _spread(
    distributed: Any,
    client: Any,
    data: bytes,
    plan: Plan,
    spans: Mapping[int, tuple[int, int]],
    done: Callable[[int, Columns], None],
) -> None:
    tries = dict.fromkeys(spans, 0)

    def ask(k: int) -> Any:
        return client.submit(compute, data, *spans[k], pure=False)

    waiting = {ask(k): k for k in spans}
    seen = time.monotonic()
    while waiting:
        with suppress(TimeoutError, distributed.TimeoutError):
            distributed.wait(list(waiting), timeout=1, return_when="FIRST_COMPLETED")
        if client.scheduler_info()["workers"]:
            seen = time.monotonic()
        alone = time.monotonic() - seen > _PATIENCE
        for future in list(waiting):
            if not (future.done() or alone):
                continue
            k = waiting.pop(future)
            if future.status == "finished":
                done(k, future.result())
                future.release()
                continue
            tries[k] += 1
            error = future.exception() if future.status == "error" else None
            future.cancel()
            if error is not None and not isinstance(error, distributed.KilledWorker):
                raise error
            if alone or tries[k] >= _TRIES:
                done(k, plan.compute(*spans[k]))
            else:
                waiting[ask(k)] = k
