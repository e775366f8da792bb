"""A session in real time, run again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from polhode.equations import Dynamics
from polhode.simulate.switchboard import SwitchError

from .commands import Command
from .fingerprint import fingerprint
from .loop import Realtime, State
from .session import Session


def replay(dynamics: Dynamics, session: Session) -> list[State]:
    """Run a session again, tick by tick without a clock; the states are those that were there, bit for bit."""
    return list(replayed(dynamics, session))


def replayed(dynamics: Dynamics, session: Session) -> Iterator[State]:
    """The same, one state after the other."""
    if session.model and session.model != (found := fingerprint(dynamics)):
        raise ValueError(
            f"replay: the session is of another model, {session.model}, found {found} of "
            f"{dynamics.equations.model.name!r}. Give the model that was recorded, formulated and compiled likewise."
        )
    again = Realtime(dynamics, 1 / session.begin["step"], "slow", session.begin, record=False)
    yield again.state
    due, m = list(session.commands), again._block.inputs
    rows = dict(zip(session.at.tolist(), session.inputs, strict=True))
    for k in range(session.ticks):
        now = []
        while due and due[0][0] == k:
            now.append(due.pop(0)[1])
        _command(again, now)
        if k in rows:
            again.tau = rows[k][:m]
            if len(rows[k]) > m:
                again.p = rows[k][m:]
        again._once()
        again._tidy()
        if again.failure:
            raise RuntimeError(f"replay: the machine did not stop in tick {k} when it was recorded. {again.failure}")
        yield again.state


def _command(again: Realtime, now: list[Command]) -> None:
    """Give the commands that came before a tick: those at once, with what waited then, and those that wait for it."""
    for asked in now:
        if asked.wire:
            again.make_ready(asked.wire)
        elif asked.at_once:
            with suppress(SwitchError):  # as it was then
                again._command(asked)
        else:
            assert again._commands is not None
            again._commands.send(asked)
