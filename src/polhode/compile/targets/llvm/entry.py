"""The door from Python: a CPython function in the same object code.

It looks straight into float64 arrays of the expected shape, calls `state`, and
returns new arrays or the `out` it was given. Anything else (a batch, a list, a
keyword, a wrong shape) it hands to the ordinary Python caller, which computes
or explains. Only layouts that compiled extensions rely on are used: the object
head, tuple, float, and NumPy's array fields.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...native import Loaded
from .ir import Writer

Shapes = list[tuple[int, ...]]

_HEAD = object.__basicsize__  # bytes before an object's own fields
LAYOUT = f"{sys.implementation.name} {_HEAD}"  # what the emitted entry depends on
_TYPE = _HEAD - 8
_DATA, _NDIM, _DIMS, _DESCR, _FLAGS = (_HEAD + offset for offset in (0, 8, 16, 40, 48))
_ITEMS = _HEAD + 8  # of a tuple, after its size
_READ, _WRITE = 0x0101, 0x0501  # C-contiguous and aligned; and writeable
_MOST_PORTS = 16  # beyond, comparing each output with every other array is left to the slow way
# what the code must be told of this process, in the order of @context
_ARRAY, _FLOAT64, _FLOAT, _DOUBLE, _TUPLE, _OUT, _SLOW, _WORK, _EMPTY = range(9)


def supported() -> bool:
    """Tell whether this interpreter is laid out as we expect."""
    return (
        sys.implementation.name == "cpython"
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
    )


def emit_entry(inputs: Shapes, outputs: Shapes, single: bool) -> str:
    """Write the entry for functions of these argument shapes; a single output is returned by itself."""
    door = _Door(inputs, outputs, single)
    context = f"@context = global [{_EMPTY + len(outputs)} x ptr] zeroinitializer\n"
    return context + _DECLARATIONS + door.function()


class _Door:
    def __init__(self, inputs: Shapes, outputs: Shapes, single: bool) -> None:
        self.inputs, self.outputs, self.single, self.out = inputs, outputs, single, Writer()

    def require(self, condition: str) -> None:
        """Go on if the condition holds, else take the slow way."""
        label = self.out.label()
        self.out.raw(f"br i1 {condition}, label %{label}, label %slow")
        self.out.start(label)

    def field(self, base: str, offset: int, kind: str = "ptr") -> str:
        place = self.out.at(base, offset, "i8")
        return self.out.load(place, kind, 4 if kind == "i32" else 8)

    def context(self, index: int) -> str:
        return self.out.load(self.out.at("@context", index, "ptr"))

    def same(self, a: str, b: str, kind: str = "ptr") -> str:
        return self.out.line(f"icmp eq {kind} {a}, {b}")

    def array(self, item: str, shape: tuple[int, ...], flags: int) -> str:
        """Require a float64 array of the shape; point to its data."""
        out = self.out
        self.require(self.same(self.field(item, _TYPE), self.context(_ARRAY)))
        self.require(self.same(self.field(item, _DESCR), self.context(_FLOAT64)))
        self.require(self.same(self.field(item, _NDIM, "i32"), str(len(shape)), "i32"))
        masked = out.line(f"and i32 {self.field(item, _FLAGS, 'i32')}, {flags}")
        self.require(self.same(masked, str(flags), "i32"))
        dims = self.field(item, _DIMS)
        for axis, size in enumerate(shape):
            self.require(self.same(out.load(out.at(dims, axis, "i64"), "i64"), str(size), "i64"))
        return self.field(item, _DATA)

    def number(self, item: str) -> str:
        """Require a float or numpy.float64; point to its value."""
        kind = self.field(item, _TYPE)
        plain, double = self.same(kind, self.context(_FLOAT)), self.same(kind, self.context(_DOUBLE))
        self.require(self.out.line(f"or i1 {plain}, {double}"))
        return self.out.at(item, _HEAD, "i8")

    def function(self) -> str:
        out = self.out
        slots = [out.line("alloca double") if shape == () else "" for shape in self.outputs]
        self.require(self.same("%nargs", str(len(self.inputs)), "i64"))
        data = []
        for k, shape in enumerate(self.inputs):
            item = out.load(out.at("%args", k, "ptr"))
            data.append(self.array(item, shape, _READ) if shape else self.number(item))
        fresh, given = out.label(), out.label()
        out.raw(f"br i1 {self.same('%names', 'null')}, label %{fresh}, label %{given}")
        out.start(fresh)
        self.fresh(data, slots)
        out.start(given)
        self.given(data)
        out.start("slow")
        result = out.line(
            f"call ptr @PyObject_Vectorcall(ptr {self.context(_SLOW)}, ptr %args, i64 %nargs, ptr %names)"
        )
        out.raw(f"ret ptr {result}")
        return f"define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %names) #0 {{\n{out.text()}\n}}\n"

    def compute(self, data: list[str], results: list[str]) -> None:
        pointers = ", ".join(f"ptr {p}" for p in [*data, *results, self.context(_WORK)])
        self.out.raw(f"call void @state({pointers})")

    def fresh(self, data: list[str], slots: list[str]) -> None:
        """New arrays for the outputs; floats for the scalar ones."""
        out = self.out
        made: list[str] = []
        for k, slot in enumerate(slots):
            made.append("" if slot else self.allocate(k, made))
        results = [slot or self.field(item, _DATA) for slot, item in zip(slots, made, strict=True)]
        self.compute(data, results)
        for k, slot in enumerate(slots):
            if slot:
                number = out.line(f"call ptr @PyFloat_FromDouble(double {out.load(slot, 'double')})")
                self.leave_if_null(number, made)
                made[k] = number
        if self.single:
            out.raw(f"ret ptr {made[0]}")
            return
        result = out.line(f"call ptr @PyTuple_New(i64 {len(made)})")
        self.leave_if_null(result, made)
        for k, item in enumerate(made):
            out.line(f"call i32 @PyTuple_SetItem(ptr {result}, i64 {k}, ptr {item})")
        out.raw(f"ret ptr {result}")

    def allocate(self, k: int, before: list[str]) -> str:
        """Make the array of output k."""
        item = self.out.line(f"call ptr @PyObject_CallNoArgs(ptr {self.context(_EMPTY + k)})")
        self.leave_if_null(item, before)
        return item

    def leave_if_null(self, item: str, owned: list[str]) -> None:
        """Out of memory: let go of what it owns and leave with the exception."""
        out = self.out
        failed, ok = out.label(), out.label()
        out.raw(f"br i1 {self.same(item, 'null')}, label %{failed}, label %{ok}")
        out.start(failed)
        for other in filter(None, owned):
            out.raw(f"call void @Py_DecRef(ptr {other})")
        out.raw("ret ptr null")
        out.start(ok)

    def given(self, data: list[str]) -> None:
        """The keyword `out` and no other: one array, or a tuple of them."""
        out = self.out
        if not all(self.outputs) or len(self.inputs) + len(self.outputs) > _MOST_PORTS:
            out.raw("br label %slow")
            return
        self.require(self.same(self.field("%names", _HEAD, "i64"), "1", "i64"))
        self.require(self.same(self.field("%names", _ITEMS), self.context(_OUT)))
        whole = out.load(out.at("%args", len(self.inputs), "ptr"))
        items = [whole]
        if not self.single:
            self.require(self.same(self.field(whole, _TYPE), self.context(_TUPLE)))
            self.require(self.same(self.field(whole, _HEAD, "i64"), str(len(self.outputs)), "i64"))
            items = [self.field(whole, _ITEMS + 8 * k) for k in range(len(self.outputs))]
        results = [self.array(item, shape, _WRITE) for item, shape in zip(items, self.outputs, strict=True)]
        ranges = list(zip([*data, *results], [*self.inputs, *self.outputs], strict=True))
        for k in range(len(data), len(ranges)):
            for first in ranges[:k]:
                self.require_apart(first, ranges[k])
        self.compute(data, results)
        out.raw(f"call void @Py_IncRef(ptr {whole})")
        out.raw(f"ret ptr {whole}")

    def require_apart(self, first: tuple[str, tuple[int, ...]], second: tuple[str, tuple[int, ...]]) -> None:
        (a, a_shape), (b, b_shape) = first, second
        a_end, b_end = (self.out.at(p, int(np.prod(shape, dtype=int))) for p, shape in ((a, a_shape), (b, b_shape)))
        before = self.out.line(f"icmp ule ptr {a_end}, {b}")
        after = self.out.line(f"icmp ule ptr {b_end}, {a}")
        self.require(self.out.line(f"or i1 {before}, {after}"))


_DECLARATIONS = """
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
"""


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_FASTCALL_KEYWORDS = 0x80 | 0x02
_NEW_FUNCTION = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


def open_door(
    code: Loaded, name: str, outputs: Shapes, slow: Callable[..., Any], work: np.ndarray
) -> Callable[..., Any]:
    """Make the callable, and keep alive what its code points to."""
    empties = tuple(partial(np.empty, shape, np.dtype(np.float64)) for shape in outputs)
    word = sys.intern("out")
    known = (np.ndarray, np.dtype(np.float64), float, np.float64, tuple, word, slow)
    context = (ctypes.c_void_p * (_EMPTY + len(outputs))).from_address(code.variable("context"))
    for k, item in enumerate(known):
        context[k] = id(item)
    context[_WORK] = work.ctypes.data
    for k, empty in enumerate(empties):
        context[_EMPTY + k] = id(empty)
    definition = _MethodDef(name.encode(), code.address("entry"), _FASTCALL_KEYWORDS, None)
    owner = (code, known, empties, work, definition)
    make = _NEW_FUNCTION(("PyCFunction_NewEx", ctypes.pythonapi))
    made: Callable[..., Any] = make(ctypes.addressof(definition), owner, None)
    return made
