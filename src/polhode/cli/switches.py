"""Switches as people write them on a command line, and what can be switched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from polhode.model import At, Faults, Model, ModelError, When, at
from polhode.model.errors import closest, fault
from polhode.model.report import state_of
from polhode.model.switches import Switch, read_when

from .values import number

if TYPE_CHECKING:
    from polhode.equations import Equations

WORDS = ("engage", "release")
FORMS = {"--at": '"2: engage brake"', "--when": '"theta > 1: release latch"', "--until": '"height < 0"'}


def read_switches(
    eq: Equations, ats: Sequence[str], whens: Sequence[str], untils: Sequence[str]
) -> tuple[list[Switch], When | None]:
    """Read the switches of a command, and what may end its run; all their faults come together."""
    faults = Faults()
    found: list[Switch] = []
    for where, texts in (("--at", ats), ("--when", whens), ("--until", untils)):
        for text in texts:
            with faults.caught():
                found.append(_read(where, text, eq, faults))
    if len(untils) > 1:
        faults.add(f'--until is given {len(untils)} times, expected once. Join conditions: "a < 0 or b > 1".')
    faults.raise_any()
    ends = found.pop() if untils else None
    return found, ends if isinstance(ends, When) else None


def _read(where: str, text: str, eq: Equations, faults: Faults) -> Switch:
    """Read one switch; names that do not exist are noted."""
    first, colon, rest = (part.strip() for part in text.partition(":"))
    if (colon == "") != (where == "--until") or not first:
        raise fault(f"{where} {text!r}: expected {FORMS[where]}.")
    names: dict[str, list[str]] = {word: [] for word in WORDS}
    if where != "--until":
        _actions(rest, f"{where} {text!r}", names, faults, [c.name for c in eq.model.switchable])
    if where == "--at":
        try:
            time = at(number(first, "time")).time
        except ValueError:
            raise fault(f"{where} {text!r}: {first!r} is no time in seconds, expected {FORMS[where]}.") from None
        return at(time, **names)
    variables = {str(s.value): s for s in (*eq.parameters, eq.t, *eq.z, *eq.u, *eq.q)}
    groups = {"q": [*eq.q], "u": [*eq.u], "z": [*eq.z], "p": [*eq.parameters]}
    variables |= {f"{g}.{s.value}": s for g, part in groups.items() for s in part}
    try:
        made = read_when(first, 0, names["engage"], names["release"], variables)
    except ModelError as error:
        raise ModelError([f"{where} {text!r}: {_for_options(said)}" for said in error.faults]) from None
    return made


def _for_options(text: str) -> str:
    """What a reader of files says, without what goes for files alone."""
    return re.sub(r" Declare a parameter with .*$", "", text.removeprefix("when ").removeprefix("is "))


def _actions(text: str, what: str, names: dict[str, list[str]], faults: Faults, known: Sequence[str]) -> None:
    """Read "engage brake, latch; release clutch"."""
    for action in text.split(";"):
        word, _, listed = action.strip().partition(" ")
        if word not in WORDS:
            close = get_close_matches(word, WORDS, 1)
            near = f" Did you mean {close[0]!r}?" if close else ""
            faults.add(f"{what}: {word!r} is no word for a switch, expected engage or release.{near}")
            continue
        given = [name.strip() for name in listed.split(",") if name.strip()]
        if not given:
            faults.add(f"{what}: {word} what? {closest('', known)}")
        for name in given:
            if name not in known:
                faults.add(f"{what}: there is no constraint {name!r} to {word}. {closest(name, known)}")
        names[word] += given


def switchable(model: Model) -> list[dict[str, Any]]:
    """What can be engaged and released, and what it does as declared."""
    return [{"name": c.name, "is": c.described(), "state": state_of(c)} for c in model.switchable]


def switch_data(switch: Switch) -> dict[str, Any]:
    """A switch as plain data."""
    when = {"at": switch.time} if isinstance(switch, At) else {"when": str(switch).removeprefix("when ")}
    return when | {word: list(getattr(switch, word)) for word in WORDS}


def switchable_text(model: Model) -> list[str]:
    """The same, in lines."""
    rows = switchable(model)
    shown = [f"  {row['name']} ({row['is']}): {row['state']}" for row in rows[:40]]
    shown += [f"  ... and {len(rows) - 40} more"] * (len(rows) > 40)
    lines = ["", "Can be engaged and released", *shown] if rows else []
    words = [
        f"  {switch}: " + "; ".join(f"{w} {', '.join(n)}" for w in WORDS if (n := getattr(switch, w)))
        for switch in model.switches
    ]
    return [*lines, *(["", "Switches", *words] if words else [])]
