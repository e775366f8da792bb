"""Which joints of SDFormat carry links in a tree from the world, and which close loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from polhode.model import WORLD

from .sdf_frames import Key
from .sdf_joints import LOOPS, ReadJoint

GROUND: Key = ((), WORLD)


@dataclass(frozen=True, slots=True)
class Step:
    """A link that the tree reaches: from another one over a joint, or by itself (None)."""

    link: Key
    joint: ReadJoint | None = None
    against: bool = False


@dataclass(slots=True)
class Tree:
    """Steps in an order in which what carries comes first, and the joints that close loops."""

    steps: list[Step] = field(default_factory=list)
    loops: list[ReadJoint] = field(default_factory=list)


def tree_of(links: Sequence[Key], joints: Sequence[ReadJoint]) -> Tree:
    """Grow a tree from the world by joints in their order, from parent to child where that reaches a link.

    Joints that close no loops come before the others. What the world does not carry begins with a
    link that is no child, which moves freely.
    """
    tree = Tree()
    over: dict[Key, list[tuple[int, bool, Key]]] = {}
    for n, joint in enumerate(joints):
        over.setdefault(joint.parent, []).append((n, False, joint.child))
        over.setdefault(joint.child, []).append((n, True, joint.parent))
    reached: set[Key] = set()
    used: set[int] = set()
    waiting: list[tuple[bool, bool, int, Key]] = []  # closing none first, then along the file, then in its order

    def reach(link: Key) -> None:
        reached.add(link)
        for n, against, other in over.get(link, ()):
            if other not in reached:
                heappush(waiting, (joints[n].kind in LOOPS, against, n, other))

    def grow() -> None:
        while waiting:
            _, against, n, link = heappop(waiting)
            if link not in reached:
                used.add(n)
                tree.steps.append(Step(link, joints[n], against))
                reach(link)

    reach(GROUND)
    grow()
    children = {joint.child for joint in joints}
    for link in (*(link for link in links if link not in children), *links):
        if link not in reached:
            tree.steps.append(Step(link))
            reach(link)
            grow()
    tree.loops = [joint for n, joint in enumerate(joints) if n not in used]
    return tree
