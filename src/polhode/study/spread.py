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
from .workers import Workers

_TRIES = 3  # of a chunk, whose workers died
_PATIENCE = 30.0  # s without any worker
_KNOCK = 10.0  # s until a scheduler answers


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
    """Compute chunks by a scheduler, or by processes on this computer, and hand on each as it is ready.

    client : a Client or the address of a scheduler; None for the Client in use, the address in dask's configuration,
             or processes that start by themselves

    A chunk whose worker died is computed again; where that happens too often, or no worker is left, here.
    """
    distributed = needed("distributed", "dask", "A study by dask")
    data = needed("cloudpickle", "dask", "A study by dask").dumps(plan)
    if client is None:
        with suppress(ValueError):  # there is none in use
            client = distributed.get_client()
    if client is None:
        client = needed("dask.config", "dask", "A study by dask").get("scheduler-address", None)
    if client is None:
        workers = Workers(distributed)
        try:
            _spread(distributed, workers.client, data, plan, spans, done, workers.mend)
        finally:
            workers.close()
    elif isinstance(client, str):
        try:
            own = distributed.Client(client, set_as_default=False, timeout=_KNOCK)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"client: there is no scheduler at {client!r}, expected the address of one that runs, such as "
                f'"tcp://10.0.0.1:8786", which `dask scheduler` prints. {error}'
            ) from None
        with own:
            _spread(distributed, own, data, plan, spans, done)
    else:
        _spread(distributed, client, data, plan, spans, done)


def _spread(
    distributed: Any,
    client: Any,
    data: bytes,
    plan: Plan,
    spans: Mapping[int, tuple[int, int]],
    done: Callable[[int, Columns], None],
    mend: Callable[[], None] = lambda: None,
) -> None:
    tries = dict.fromkeys(spans, 0)

    def ask(k: int) -> Any:
        return client.submit(compute, data, *spans[k], pure=False)

    waiting = {ask(k): k for k in spans}
    seen = time.monotonic()
    while waiting:
        mend()
        with suppress(TimeoutError, distributed.TimeoutError), client.as_current():
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
