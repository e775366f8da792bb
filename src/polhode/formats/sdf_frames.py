"""Frames of SDFormat: models, links, joints and frames by their names, and where they are in the world.

A name is looked up in the model around it; "arm::hand" is hand in the model arm inside of that. The world is the
scope (), a model in it (name,), one inside of that (name, inner).
"""

from __future__ import annotations

from dataclasses import dataclass

from polhode.model import WORLD, Faults, values
from polhode.model.errors import closest
from polhode.spatial import Pose

Scope = tuple[str, ...]
Key = tuple[Scope, str]
MODEL = "__model__"
MOST_REMEDIES = 20  # names that do not exist for which the closest ones are looked up


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame as the file has it.

    pose : in the frame `base`, or in `usual` where the file names none
    on   : what it is attached to, itself for links
    attached  : the same by a name; a frame without a base is where this is
    placement : of a model, the frame in it that its pose is of
    """

    what: str
    pose: Pose
    base: str
    usual: Key | None
    on: Key | None = None
    attached: str = ""
    placement: str = ""


class Frames:
    """Every frame of a file; `place` says where it is in the world as the file has it."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.known: dict[Key, Frame] = {
            ((), WORLD): Frame(what="The world", pose=Pose.identity(), base="", usual=None, on=((), WORLD))
        }
        self._places: dict[Key, Pose] = {((), WORLD): Pose.identity()}
        self._locals: dict[Key, Pose] = {}
        self._missing: dict[str, str] = {}

    def add(self, key: Key, frame: Frame) -> None:
        """Keep a frame; a name is there once in its model."""
        if key in self.known:
            self.faults.add(f"{frame.what}: another link, joint, frame or model has this name. Rename one.")
        else:
            self.known[key] = frame

    def find(self, scope: Scope, name: str, what: str) -> Key | None:
        """What a name means in a model; what does not exist is a fault."""
        *path, last = name.split("::")
        inner = (*scope, *path)
        if name == WORLD:
            return (), WORLD
        if ((*inner, last), MODEL) in self.known and last != MODEL:
            return (*inner, last), MODEL
        if (inner, last) in self.known:
            return inner, last
        if name not in self._missing:
            self._missing[name] = self._remedy(scope, name)
        self.faults.add(f"{what} is {name!r:.60}, which does not exist.{self._missing[name]}")
        return None

    def _remedy(self, scope: Scope, name: str) -> str:
        """The names that are like one that does not exist, for the first ones of a file."""
        if len(self._missing) >= MOST_REMEDIES:
            return ""
        n = len(scope)
        near = ["::".join((*key[0][n:], key[1])) for key in self.known if key[0][:n] == scope and key[1] != MODEL]
        return f" {closest(name, near)}"

    def _base(self, key: Key) -> Key | None:
        frame = self.known[key]
        scope = key[0][:-1] if key[1] == MODEL else key[0]
        if frame.base:
            return self.find(scope, frame.base, f"{frame.what}: relative_to")
        if frame.attached:
            return self.find(scope, frame.attached, f"{frame.what}: attached_to")
        return frame.usual

    def place(self, key: Key) -> Pose:
        """The pose of a frame in the world."""
        chain: dict[Key, None] = {}  # in order, for long ones
        at: Key | None = key
        while at is not None and at not in self._places:
            if at in chain:
                way = list(chain)
                ring = " in ".join(repr(shown(k, 0)) for k in (*way[way.index(at) :][:6], at))
                self.faults.add(f"Poses go round in a ring: {ring}. Give one of them relative_to another frame.")
                at = None
                break
            chain[at] = None
            at = self._base(at)
        X = Pose.identity() if at is None else self._places[at]
        for step in reversed(chain):
            X = X @ self._local(step)
            X = Pose(values.settled(X.R), values.settled(X.p))
            self._places[step] = X
        return self._places[key]

    def _local(self, key: Key) -> Pose:
        """The pose of a frame in its base; of a model, such that its placement frame is where its pose says."""
        frame = self.known[key]
        if not frame.placement:
            return frame.pose
        if key not in self._locals:
            self._locals[key] = self._placed(key, frame)
        return self._locals[key]

    def _placed(self, key: Key, frame: Frame) -> Pose:
        X, seen = Pose.identity(), set[Key]()
        at = self.find(key[0], frame.placement, f"{frame.what}: placement_frame")
        while at is not None and at != key:
            if at in seen or at not in self.known or at == ((), WORLD):
                self.faults.add(f"{frame.what}: placement_frame {frame.placement!r:.60} is not placed in the model.")
                return frame.pose
            seen.add(at)
            X = self._local(at) @ X
            at = self._base(at)
        return frame.pose @ X.inverse()

    def host(self, key: Key) -> Key | None:
        """The link that a frame is fixed to, or the world."""
        seen: set[Key] = set()
        at: Key | None = key
        while at is not None and at not in seen:
            seen.add(at)
            if (frame := self.known.get(at)) is None:
                self.faults.add(f"{self.known[key].what}: {shown(at)!r:.60}, which it is attached to, does not exist.")
                return None
            if frame.on == at:
                return at
            scope = at[0][:-1] if at[1] == MODEL else at[0]
            at = self.find(scope, frame.attached, f"{frame.what}: attached_to") if frame.attached else frame.on
        if at is not None:
            self.faults.add(f"{self.known[key].what} is attached to itself in a ring, expected a link in the end.")
        return None


def shown(key: Key, skip: int = 1) -> str:
    """The name of a frame in the model that is read: "arm::hand"."""
    return "::".join((*key[0][skip:], key[1]))


def between(a: Pose, b: Pose) -> Pose:
    """The pose of b seen from a, without rounding dust."""
    X = a.inverse() @ b
    return Pose(values.settled(X.R), values.settled(X.p))
