"""Small helpers to write LLVM IR as text."""

from __future__ import annotations

import struct
from dataclasses import dataclass


def literal(value: float) -> str:
    """Write a double exactly, as its bits."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@dataclass(frozen=True, slots=True)
class Width:
    """The types of one double (lanes = 1) or of several side by side."""

    lanes: int

    def _of(self, scalar: str) -> str:
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    @property
    def type(self) -> str:
        return self._of("double")

    @property
    def integer(self) -> str:
        return self._of("i64")

    @property
    def boolean(self) -> str:
        return self._of("i1")

    @property
    def pair(self) -> str:
        return f"{{ {self.type}, {self.type} }}"

    @property
    def suffix(self) -> str:
        """What an overloaded intrinsic's name ends in."""
        return "f64" if self.lanes == 1 else f"v{self.lanes}f64"

    def constant(self, value: float | tuple[float, ...]) -> str:
        """A constant: the same in every lane, or one a lane."""
        if not isinstance(value, tuple):
            return self.splat(value)
        return "<" + ", ".join(f"double {literal(x)}" for x in value) + ">"

    def splat(self, value: float) -> str:
        """A constant in every lane: a double, or an i64 where value is an int."""
        text = str(value) if isinstance(value, int) else literal(value)
        if self.lanes == 1:
            return text
        return f"splat ({'i64' if isinstance(value, int) else 'double'} {text})"

    def extract(self, out: Writer, vector: str, lane: int) -> str:
        return vector if self.lanes == 1 else out.line(f"extractelement {self.type} {vector}, i64 {lane}")

    def insert(self, out: Writer, vector: str, value: str, lane: int) -> str:
        if self.lanes == 1:
            return value
        return out.line(f"insertelement {self.type} {vector}, double {value}, i64 {lane}")


class Writer:
    """Collects the lines of one function and hands out names."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0
        self.block = "entry"
        self.start("entry")

    def line(self, instruction: str) -> str:
        """Write an instruction that gives a value; return its name."""
        self._count += 1
        name = f"%t{self._count}"
        self._lines.append(f"  {name} = {instruction}")
        return name

    def raw(self, instruction: str) -> None:
        """Write an instruction that gives none."""
        self._lines.append(f"  {instruction}")

    def label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def start(self, label: str) -> None:
        """Begin a basic block."""
        self.block = label
        self._lines.append(f"{label}:")

    def at(self, pointer: str, index: int | str, unit: str = "double") -> str:
        """Point to an element of an array."""
        if index == 0:
            return pointer
        return self.line(f"getelementptr inbounds {unit}, ptr {pointer}, i64 {index}")

    def load(self, pointer: str, kind: str = "ptr", align: int = 8) -> str:
        return self.line(f"load {kind}, ptr {pointer}, align {align}")

    def text(self) -> str:
        return "\n".join(self._lines)
