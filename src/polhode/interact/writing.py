"""Short ways to write native code that works on a block of words."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

I64, I32, DOUBLE = ir.IntType(64), ir.IntType(32), ir.DoubleType()


def words(name: str, fields: Sequence[str]) -> type[ctypes.Structure]:
    """A structure of words of 64 bits."""
    return type(name, (ctypes.Structure,), {"_fields_": tuple((field, ctypes.c_int64) for field in fields)})


class Writer:
    """Instructions on a block of words, by the names of its fields."""

    def __init__(self, builder: ir.IRBuilder, block: Any, fields: Sequence[str]) -> None:
        self.b, self.block, self.fields = builder, block, fields

    def place(self, name: str) -> Any:
        return self.b.gep(self.block, [I64(self.fields.index(name))])

    def get(self, name: str) -> Any:
        return self.b.load(self.place(name), align=8)

    def put(self, name: str, value: Any) -> None:
        self.b.store(value, self.place(name), align=8)

    def add(self, name: str, value: Any) -> None:
        """Add to a word."""
        self.put(name, self.b.add(self.get(name), value))

    def fresh(self, name: str) -> Any:
        """A word that others write."""
        return self.b.load_atomic(self.place(name), "acquire", 8)

    def show(self, name: str, value: Any) -> None:
        """Write a word that others read, after all that was written before."""
        self.b.store_atomic(value, self.place(name), "release", 8)

    def raised(self, name: str, value: Any) -> None:
        """Keep the larger of a word and a value."""
        was = self.get(name)
        self.put(name, self.b.select(self.b.icmp_signed(">", value, was), value, was))

    def array(self, name: str, kind: Any = I64) -> Any:
        """What a word is the address of."""
        return self.b.inttoptr(self.get(name), kind.as_pointer())

    def item(self, pointer: Any, k: Any) -> Any:
        return self.b.load(self.b.gep(pointer, [k]))

    def set(self, pointer: Any, k: Any, value: Any) -> None:
        self.b.store(value, self.b.gep(pointer, [k]))

    @contextmanager
    def each(self, many: Any) -> Iterator[Any]:
        """Go through 0 to many - 1."""
        b = self.b
        head, body, done = (b.append_basic_block() for _ in range(3))
        before = b.block
        b.branch(head)
        b.position_at_end(head)
        k = b.phi(I64)
        k.add_incoming(I64(0), before)
        b.cbranch(b.icmp_signed("<", k, many), body, done)
        b.position_at_end(body)
        yield k
        k.add_incoming(b.add(k, I64(1)), b.block)
        b.branch(head)
        b.position_at_end(done)

    def copy(self, to: Any, of: Any, many: Any) -> None:
        """Copy entries, one by one."""
        with self.each(many) as k:
            self.set(to, k, self.item(of, k))

    def fill(self, to: Any, value: Any, many: Any) -> None:
        with self.each(many) as k:
            self.set(to, k, value)

    def called(self, name: str, kind: ir.FunctionType, *args: Any) -> Any:
        """Call what a word is the address of."""
        return self.b.call(self.b.inttoptr(self.get(name), kind.as_pointer()), args)

    def field(self, record: str, offset: int, kind: Any) -> Any:
        """A field of a record that a word is the address of."""
        return self.b.inttoptr(self.b.add(self.get(record), I64(offset)), kind.as_pointer())

    def is_zero(self, value: Any) -> Any:
        return self.b.icmp_signed("==", value, I64(0))

    def is_set(self, value: Any) -> Any:
        return self.b.icmp_signed("!=", value, I64(0))
