"""Twin limbs side by side: the work for one state in SIMD lanes of its own.

Legs and arms are computed by the same operations with other numbers. Such
operations are found by the shape of what they are made of, whatever the
constants and the signs, and done together, 2 or 4 in a vector. A vector may hold
some of its members with the other sign; whoever uses it knows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ...tape import Tape

_PAIRED = frozenset(("add", "sub", "mul", "div"))
_COMMUTING = frozenset(("add", "sub", "mul"))  # a - b is a + (-b)
_WIDTHS = (4, 2)
LEAST = 200  # operations; below, nothing is to be gained

Members = tuple[int, ...]  # a value for each lane
Signs = tuple[int, ...]


def widened(tape: Tape) -> Tape:
    """Put twin operations of a tape into lanes; the same tape where it does not pay."""
    if tape.operations() < LEAST:
        return tape
    wide = _Writer(Twins(tape)).write()
    return wide if _instructions(wide) < 0.95 * tape.operations() else tape


def _instructions(tape: Tape) -> int:
    """Instructions of a tape, about: the first lane is free to read and to fill."""
    count = 0
    for op, args, data in zip(tape.ops, tape.args, tape.data, strict=True):
        count += data > 0 if op == "lane" else len(args) - 1 if op == "pack" else bool(args)
    return count


class Twins:
    """Which values of a tape are computed together.

    roots, signs : each value without its negations
    roles        : (role, lane) of an input that has twins
    groups, home : values computed together; the group of a value
    """

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.roots, self.signs = list(range(len(tape.ops))), [1] * len(tape.ops)
        for i, (op, args) in enumerate(zip(tape.ops, tape.args, strict=True)):
            if op == "neg":
                self.roots[i], self.signs[i] = self.roots[args[0]], -self.signs[args[0]]
        self.roles: dict[int, tuple[int, int]] = {}
        self.groups: dict[int, Members] = {}
        self.home: dict[int, int] = {}
        self.shapes = self._shapes()
        seeds = self._cast()
        if self.roles:
            lanes = self._lanes()
            for seed in seeds:
                if any(lanes[m] in (None, -1) for m in seed):
                    self._group(seed)
            self._group_limbs(lanes)

    def columns(self, members: Members) -> list[Members]:
        """The operands of a group, those of one shape side by side."""
        rows = [self.tape.args[m] for m in members]
        if self.tape.ops[members[0]] in _COMMUTING:
            rows = [rows[0], *(self._beside(rows[0], row) for row in rows[1:])]
        return list(zip(*rows, strict=True))

    def _beside(self, first: Members, row: Members) -> Members:
        """Order two operands as those of the first lane: by shape, what is shared, then groups that exist."""
        there, here = [self.roots[a] for a in first], [self.roots[a] for a in row]
        a, b = (self.shapes[r] for r in there)
        if a != b:
            return row if self.shapes[here[0]] == a else row[::-1]
        if here[0] != there[0] and (here[0] == there[1] or here[1] == there[0]):
            return row[::-1]
        for k in (0, 1):
            home = self.home.get(there[k])
            if home is not None and self.home.get(here[1 - k]) == home != self.home.get(here[k]):
                return row[::-1]
        return row

    def _shapes(self) -> list[int]:
        """Number what each value is made of: operations and roles of inputs, no constants, no signs."""
        tape, shapes = self.tape, list[int]()
        known: dict[tuple[Any, ...], int] = {}
        for i, (op, args) in enumerate(zip(tape.ops, tape.args, strict=True)):
            below = [shapes[a] for a in args]
            if op == "neg":
                shapes.append(below[0])
                continue
            key: tuple[Any, ...] = (op, *below)
            if op == "input":
                key = (op, tape.data[i][0], self.roles.get(i, (-1,))[0])
            elif op in _COMMUTING:
                key = ("mul" if op == "mul" else "add", *sorted(below))
            shapes.append(known.setdefault(key, len(known)))
        return shapes

    def _cast(self) -> list[Members]:
        """Give roles to the inputs that stand in the same place under outputs of one shape, until there are no more.

        Returns the outputs of one shape.
        """
        while True:
            known = len(self.roles)
            seeds = sorted(self._outputs(), key=len, reverse=True)
            walked: set[Members] = set()
            patience = 8 * len(self.tape.ops)
            for seed in seeds:
                found, steps = self._inputs(seed, walked)
                patience -= steps
                if patience < 0:
                    break
                for members in found:
                    if members[0] not in self.roles:
                        role = len(self.roles)
                        self.roles.update((m, (role, lane)) for lane, m in enumerate(members))
            if len(self.roles) == known:
                return seeds
            self.shapes = self._shapes()

    def _inputs(self, seed: Members, walked: set[Members]) -> tuple[list[Members], int]:
        """The inputs that stand in the same place under the members, and how far it was to them.

        None where an input has several places: limbs share no inputs, so outputs that are no twins soon show.
        """
        stack, seen = [seed], {seed}
        places: dict[int, Members] = {}
        while stack:
            members = stack.pop()
            if self.tape.ops[members[0]] == "input":
                roles = {self.roles.get(m, (-1,))[0] for m in members}
                if len(roles) > 1 or any(places.setdefault(m, members) != members for m in members):
                    return [], len(seen)
                continue
            for column in self.columns(members) if self._certain(members[0]) else []:
                below = tuple(self.roots[a] for a in column)
                if below not in seen and below not in walked and len(set(below)) == len(below):
                    seen.add(below)
                    stack.append(below)
            if len(seen) > len(self.tape.ops):
                return [], len(seen)
        walked |= seen
        return list(dict.fromkeys(places.values())), len(seen)

    def _certain(self, i: int) -> bool:
        """Do the operands of a value differ in shape, or not at all?"""
        roots = [self.roots[a] for a in self.tape.args[i]]
        return len(roots) != 2 or roots[0] == roots[1] or self.shapes[roots[0]] != self.shapes[roots[1]]

    def _outputs(self) -> Iterator[Members]:
        classes: dict[tuple[int, int], dict[int, None]] = defaultdict(dict)
        for k, output in enumerate(self.tape.outputs):
            for root in (self.roots[i] for i in output):
                if self.tape.ops[root] in _PAIRED:
                    classes[k, self.shapes[root]][root] = None
        for members in classes.values():
            yield from _cut(tuple(members))

    def _group(self, members: Members) -> None:
        """Make a group of the members, then of what they are made of."""
        stack = [members]
        while stack:
            members = stack.pop()
            alike = {(self.tape.ops[m] in _PAIRED, self.shapes[m], m in self.home) for m in members}
            if len(set(members)) == len(members) and alike == {(True, self.shapes[members[0]], False)}:
                group = members[0]
                self.groups[group] = members
                self.home.update(dict.fromkeys(members, group))
                stack.extend(tuple([self.roots[a] for a in column]) for column in self.columns(members))

    def _lanes(self) -> list[int | None]:
        """The lane of the inputs below each value: None without roles, -1 for several."""
        lanes: list[int | None] = []
        for i, args in enumerate(self.tape.args):
            found = {self.roles[i][1]} if i in self.roles else {lanes[a] for a in args} - {None}
            lanes.append(None if not found else found.pop() if len(found) == 1 else -1)
        return lanes

    def _group_limbs(self, lanes: list[int | None]) -> None:
        """Group what depends on one limb alone."""
        classes: dict[int, list[int]] = defaultdict(list)
        for i, op in enumerate(self.tape.ops):
            if op in _PAIRED and lanes[i] not in (None, -1):
                classes[self.shapes[i]].append(i)
        for i in reversed(range(len(lanes))):
            if i not in self.home and i in classes.get(self.shapes[i], ()):
                last = {lanes[k]: k for k in classes[self.shapes[i]] if k not in self.home}
                for members in _cut(tuple(k for _, k in sorted(last.items()))):
                    self._group(members)


def _cut(members: Members) -> Iterator[Members]:
    """Cut what is alike into vectors."""
    for width in _WIDTHS:
        while len(members) >= width:
            yield members[:width]
            members = members[width:]


_Unit = tuple[bool, int]  # is it a group, and which; or a value


class _Writer:
    """Writes the wide tape: groups as vectors, the rest as it was."""

    def __init__(self, twins: Twins) -> None:
        self.twins, self.tape = twins, twins.tape
        self.new = Tape(ops=[], args=[], data=[], inputs=self.tape.inputs, outputs=[], widths=[])
        self.scalars: dict[int, int] = {}  # value: its scalar on the new tape
        self.vectors: dict[int, tuple[int, Signs]] = {}  # group: its vector, and the signs it holds its members with
        self.made: dict[tuple[Any, ...], int] = {}

    def write(self) -> Tape:
        for output in self.tape.outputs:
            for i in output:
                self._bring(i)
        self.new.outputs.extend([self._scalar(i) for i in output] for output in self.tape.outputs)
        return self.new

    def _emit(self, op: str, args: tuple[int, ...] = (), data: Any = None, width: int = 1) -> int:
        key = (op, args, repr(data), width)
        if key not in self.made:
            self.made[key] = len(self.new.ops)
            self.new.ops.append(op)
            self.new.args.append(args)
            self.new.data.append(data)
            self.new.widths.append(width)
        return self.made[key]

    def _unit(self, i: int) -> _Unit:
        home = self.twins.home.get(self.twins.roots[i])
        return (False, i) if home is None else (True, home)

    def _needs(self, unit: _Unit) -> list[_Unit]:
        grouped, k = unit
        if not grouped:
            return [self._unit(a) for a in self.tape.args[k]]
        return [self._unit(self.twins.roots[a]) for m in self.twins.groups[k] for a in self.tape.args[m]]

    def _bring(self, i: int) -> None:
        """Write a value after everything it needs. Members of a group are equally deep, so there are no circles."""
        path = [self._unit(i)]
        while path:
            unit = path[-1]
            missing = [] if self._written(unit) else [need for need in self._needs(unit) if not self._written(need)]
            if missing:
                path += reversed(missing)
                continue
            path.pop()
            if not self._written(unit):
                self._write(unit)

    def _written(self, unit: _Unit) -> bool:
        return unit[1] in (self.vectors if unit[0] else self.scalars)

    def _write(self, unit: _Unit) -> None:
        grouped, k = unit
        if grouped:
            self.vectors[k] = self._vector(self.twins.groups[k])
        else:
            args = tuple([self._scalar(a) for a in self.tape.args[k]])
            self.scalars[k] = self._emit(self.tape.ops[k], args, self.tape.data[k])

    def _scalar(self, i: int) -> int:
        """A value as a scalar, out of its vector where it is in one."""
        if i not in self.scalars:
            root = self.twins.roots[i]
            group = self.twins.home[root]
            vector, signs = self.vectors[group]
            lane = self.twins.groups[group].index(root)
            found = self._emit("lane", (vector,), lane)
            self.scalars[i] = found if signs[lane] == self.twins.signs[i] else self._emit("neg", (found,))
        return self.scalars[i]

    def _vector(self, members: Members) -> tuple[int, Signs]:
        """The operation of a group, and the signs its members come out with."""
        width, op = len(members), self.tape.ops[members[0]]
        (a, s), (b, t) = (self._operand(members, k, column) for k, column in enumerate(self.twins.columns(members)))
        both = tuple(x * y for x, y in zip(s, t, strict=True))
        if op in ("mul", "div"):
            return self._emit(op, (a, b), None, width), both
        if len(set(both)) == 1:
            return self._emit("add" if both[0] > 0 else "sub", (a, b), None, width), s
        if self._factor(b) is None and self._factor(a) is not None:
            a, b, s = b, a, t
        return self._emit("add", (a, self._flipped(b, both)), None, width), s

    def _operand(self, members: Members, k: int, column: Members) -> tuple[int, Signs]:
        """Operand k of a group as a vector, and the signs it enters with."""
        roots = tuple([self.twins.roots[a] for a in column])
        entering = [self.twins.signs[a] for a in column]
        for lane, (m, a) in enumerate(zip(members, column, strict=True)):
            first, second = self.tape.args[m]
            if self.tape.ops[m] == "sub" and a == second and (k or first != second):
                entering[lane] *= -1
        if self.twins.groups.get(self.twins.home.get(roots[0], -1)) == roots:
            vector, signs = self.vectors[self.twins.home[roots[0]]]
            return vector, tuple(x * y for x, y in zip(entering, signs, strict=True))
        if all(self.tape.ops[r] == "const" for r in roots):
            constant = self._emit("const", (), tuple([self.tape.data[r] for r in roots]), len(roots))
            return constant, tuple(entering)
        return self._emit("pack", tuple([self._scalar(r) for r in roots]), None, len(roots)), tuple(entering)

    def _factor(self, i: int) -> int | None:
        """Which operand of a product is constant."""
        if self.new.ops[i] != "mul":
            return None
        return next((k for k, a in enumerate(self.new.args[i]) if self.new.ops[a] == "const"), None)

    def _flipped(self, i: int, signs: Signs) -> int:
        """A vector with other signs, in its constant factor where it has one."""
        width, factor = len(signs), self._factor(i)
        if factor is None:
            return self._emit("mul", (i, self._emit("const", (), tuple(map(float, signs)), width)), None, width)
        old = self.new.data[self.new.args[i][factor]]
        flipped = self._emit("const", (), tuple([x * y for x, y in zip(old, signs, strict=True)]), width)
        return self._emit("mul", (self.new.args[i][1 - factor], flipped), None, width)
