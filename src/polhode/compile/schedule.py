"""The order of a tape's operations, and how it is cut into pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .tape import Tape

_TURN = 40  # operations in a sine and cosine
PIECE = 2000  # operations a function: one huge basic block compiles superlinearly


@dataclass(frozen=True, slots=True)
class Turn:
    """Sines and cosines of several angles, done together: (angle, its "sin", its "cos")."""

    angles: tuple[tuple[int, int | None, int | None], ...]


S = TypeVar("S")
Step = int | Turn  # a value of the tape, or a group of sines and cosines


def schedule(tape: Tape, together: int) -> list[Step]:
    """Order the operations, sines and cosines of `together` angles at a time.

    Angles that depend on no other sine or cosine are grouped in the order in
    which they are needed; the first that is needed brings the group.
    """
    turned = [False] * len(tape.ops)
    early: list[int] = []
    seen: set[int] = set()
    for i, (op, args) in enumerate(zip(tape.ops, tape.args, strict=True)):
        if op in ("sin", "cos"):
            turned[i] = True
            if not turned[args[0]] and args[0] not in seen:
                seen.add(args[0])
                early.append(args[0])
        else:
            turned[i] = any(turned[a] for a in args)
    sines = {args[0]: i for i, (op, args) in enumerate(zip(tape.ops, tape.args, strict=True)) if op == "sin"}
    cosines = {args[0]: i for i, (op, args) in enumerate(zip(tape.ops, tape.args, strict=True)) if op == "cos"}
    groups = {a: early[k : k + together] for k in range(0, len(early), together) for a in early[k : k + together]}

    steps: list[Step] = []
    done = [tape.is_leaf(i) for i in range(len(tape.ops))]
    turns_done: set[int] = set()

    def bring(targets: list[int]) -> None:
        """Schedule the targets and what they need, in tape order."""
        needed: set[int] = set()
        stack = [t for t in targets if not done[t]]
        while stack:
            i = stack.pop()
            if i not in needed:
                needed.add(i)
                stack.extend(a for a in tape.args[i] if not done[a])
        for i in sorted(needed):
            done[i] = True
            steps.append(i)

    for i, op in enumerate(tape.ops):
        if op in ("sin", "cos"):
            angle = tape.args[i][0]
            if angle not in turns_done:
                group = groups.get(angle, [angle])
                bring(group)
                steps.append(Turn(tuple((a, sines.get(a), cosines.get(a)) for a in group)))
                turns_done.update(group)
            done[i] = True
        elif not done[i]:
            done[i] = True
            steps.append(i)
    return steps


def pieces(steps: Sequence[S], most: int = PIECE) -> list[list[S]]:
    """Cut a schedule into pieces of at most so many operations; at least one."""
    cut: list[list[S]] = [[]]
    room = most
    for step in steps:
        weight = _TURN * len(step.angles) if isinstance(step, Turn) else 1
        if weight > room and cut[-1]:
            cut.append([])
            room = most
        cut[-1].append(step)
        room -= weight
    return cut


def made_by(step: Step) -> list[int]:
    """The values a step makes."""
    if isinstance(step, Turn):
        return [i for _, *made in step.angles for i in made if i is not None]
    return [step]


def used_by(tape: Tape, step: Step) -> Iterable[int]:
    """The values a step needs."""
    return [a for a, _, _ in step.angles] if isinstance(step, Turn) else tape.args[step]


def allot(tape: Tape, pieces: Sequence[Sequence[Step]]) -> tuple[dict[int, int], int]:
    """Give room in the workspace to each value that a later piece needs.

    Returns where each value is, in values of width 1, and the size of it all;
    room is used again once its value is dead.
    """
    home = {i: k for k, steps in enumerate(pieces) for step in steps for i in made_by(step)}
    last: dict[int, int] = {}
    for k, steps in enumerate(pieces):
        for step in steps:
            for i in used_by(tape, step):
                if not tape.is_leaf(i) and home[i] < k:
                    last[i] = k
    ends: dict[int, list[int]] = {}
    slots: dict[int, int] = {}
    free: dict[int, list[int]] = {}  # by width
    size = 0
    for k, steps in enumerate(pieces):
        for i in ends.pop(k - 1, []):
            free[tape.width(i)].append(slots[i])
        for step in steps:
            for i in made_by(step):
                if i in last:
                    width = tape.width(i)
                    if not free.setdefault(width, []):
                        free[width].append(size)
                        size += width
                    slots[i] = free[width].pop()
                    ends.setdefault(last[i], []).append(i)
    return slots, size
