"""Sessions as files of arrays: NumPy's .npz, without pickles."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from polhode.formats.expression_text import is_plain, write
from polhode.graph import Expr
from polhode.simulate import Sampled
from polhode.simulate.asked import is_number
from polhode.view.target import placed

from .commands import Command
from .session import Session

FORMAT = "polhode session 1"
SAMPLED = "sampled"  # the first of [this, period, expressions], where tau is such a controller


def save(session: Session, path: str | Path) -> None:
    """Write a session; numbers are those that were there, to the last bit."""
    told = {
        "format": FORMAT,
        "model": session.model,
        "ticks": session.ticks,
        "begin": {key: _told(value, key) for key, value in session.begin.items()},
        "commands": [
            [tick, asked.engage, asked.release, asked.at_once, asked.wire] for tick, asked in session.commands
        ],
    }
    words = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
    with placed(path).open("wb") as stream:
        np.savez_compressed(stream, told=words, at=session.at, inputs=session.inputs)


def load(path: str | Path) -> Session:
    """Read what `save` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            at, inputs, told = file["at"], file["inputs"], json.loads(file["told"].tobytes())
        return _session(told, at, inputs)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file.") from None
    except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile):
        raise ValueError(f"{path}: is no session, expected a file that session.save wrote.") from None


def _session(told: Any, at: np.ndarray, inputs: np.ndarray) -> Session:
    if told["format"] != FORMAT or at.shape != inputs.shape[:1] or at.dtype.kind != "i" or inputs.dtype.kind != "f":
        raise ValueError
    commands = [
        (int(tick), Command(engage=_names(on), release=_names(off), at_once=bool(at_once), wire=_names(wire)))
        for tick, on, off, at_once, wire in told["commands"]
    ]
    begin = {str(key): value for key, value in told["begin"].items()}
    if isinstance(tau := begin.get("tau"), list) and tau[:1] == [SAMPLED]:
        begin["tau"] = Sampled(tau[2], tau[1])
    if not (is_number(begin["step"]) and begin["step"] > 0):
        raise ValueError
    return Session(begin=begin, ticks=int(told["ticks"]), at=at, inputs=inputs, commands=tuple(commands),
                   model=str(told["model"]))  # fmt: skip


def _names(given: Any) -> tuple[str, ...]:
    return tuple(map(str, given))


def _told(value: Any, what: str) -> Any:
    """What the simulation began with, as plain data: numbers, text, lists, and laws as text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Expr):
        return write(value, lambda s: _named(str(s.value), what))
    if isinstance(value, Sampled):
        return [SAMPLED, float(value.period), _told(value.function, what)]
    if isinstance(value, Mapping):
        return {str(key): _told(each, f"{what} of {str(key)!r}") for key, each in value.items()}
    if is_number(value):
        return float(value)
    return np.asarray(value, dtype=float).tolist()


def _named(name: str, what: str) -> str:
    if not is_plain(name):
        raise ValueError(
            f"session.save: {what} refers to {name!r}, a name that cannot be written in an expression. Give the "
            "coordinate a name of letters, digits and underscores."
        )
    return name
