"""WebAssembly: IR of several modules as one module that a browser runs, made here, with no other tools.

LLVM writes an object, that is a module whose memory, table and undefined functions are imported. What an object is made
of alone has its final places in it already, so nothing is left to link: `Wasm` adds the exports that an object lacks,
and drops what only a linker reads. Addresses are 32 bits there; IR that keeps them in words of 64 bits runs as it is.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from . import cache
from .function import Function

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext"  # what browsers have known for years
MATH = frozenset("sin cos tan asin acos atan2 exp exp2 log tanh pow".split())  # that a browser gives
_TABLE = "called_by_address"
_SQRT = """
declare double @llvm.sqrt.f64(double)
define double @sqrt(double %x) alwaysinline {
  %root = call double @llvm.sqrt.f64(double %x)
  ret double %root
}
"""  # an instruction there
_lock = threading.Lock()

_CUSTOM, _IMPORT, _EXPORT, _ELEMENTS, _DATA = 0, 2, 7, 9, 11  # kinds of sections
_FUNCTION, _TABLES, _GLOBAL = 0, 1, 3  # kinds of imports; of functions also as symbols
_DATUM, _SECTION = 1, 3  # kinds of symbols
_UNDEFINED, _NAMED = 0x10, 0x40  # flags of symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Wasm:
    """A module that imports `env`: its memory, its table, its stack pointer and functions of MATH.

    code   : its bytes
    places : of functions that are called by address, their places in the table
    table  : how many places that has
    end    : of its own data, which begin at 0: the first byte of memory that is free
    """

    code: bytes
    places: Mapping[str, int]
    table: int
    end: int


def written(function: Function, name: str) -> tuple[str, int]:
    """A compiled function as IR for a browser, and the doubles of workspace that it needs there.

    void NAME(in..., out..., work), as at its `address`
    """
    text, work = function.kernel.plain()
    return renamed(text, "state", name).replace("define void @batch(", "define internal void @batch("), work


def renamed(text: str, name: str, new: str) -> str:
    """IR with another name for a function."""
    return re.sub(rf"@{name}\b", f"@{new}", text)


def portable(text: str) -> str:
    """IR whose structures on the stack are as large as with addresses of 64 bits: offsets in them are numbers."""
    return re.sub(r"(?<== alloca )\{.*\}", lambda found: found[0].replace("ptr", "i64"), text)


def module(texts: Sequence[str], exported: Sequence[str], called: Sequence[str]) -> Wasm:
    """Compile IR of several modules into one.

    exported : functions that JavaScript calls; called : those that the code calls by address
    """
    everything = [*map(portable, texts), _SQRT, _table(called)]
    name = cache.key("wasm", llvmlite.__version__, FEATURES, *everything)
    code = cache.read(name)
    if code is None:
        code = _object_code(everything)
        cache.write(name, code)
    return _finished(code, exported, called)


def _table(called: Sequence[str]) -> str:
    """A constant array of functions: its contents are their places in the table."""
    declared = "".join(f"declare void @{name}()\n" for name in called)
    entries = ", ".join(f"ptr @{name}" for name in called)
    return f"{declared}@{_TABLE} = constant [{len(called)} x ptr] [{entries}]\n"


@lru_cache(maxsize=1)
def _machine() -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(TRIPLE)
    except RuntimeError:
        raise RuntimeError(
            f"WebAssembly: the LLVM in llvmlite {llvmlite.__version__} was built without it. Install that from PyPI."
        ) from None
    return target.create_target_machine(cpu="", features=FEATURES, opt=2, reloc="static", codemodel="default")


def _object_code(texts: Sequence[str]) -> bytes:
    with _lock:
        machine, whole = _machine(), None
        for text in texts:
            each = llvm.parse_assembly(text)
            each.triple, each.data_layout = TRIPLE, str(machine.target_data)
            if whole is None:
                whole = each
            else:
                whole.link_in(each)
        assert whole is not None
        whole.verify()
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_global_dead_code_eliminate_pass()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        passes.run(whole, builder)
        code: bytes = machine.emit_object(whole)
    return code


class _Reader:
    """Bytes of the binary format, read one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """A number in LEB128, without a sign."""
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found

    def take(self, many: int) -> bytes:
        self.at += many
        return self.data[self.at - many : self.at]

    def name(self) -> str:
        return self.take(self.number()).decode()

    def offset(self) -> int:
        """The constant of an expression `i32.const N, end`."""
        assert self.byte() == 0x41
        found = self.number()
        assert self.byte() == 0x0B
        return found


def _number(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    reader = _Reader(code)
    assert reader.take(8) == b"\0asm\1\0\0\0"
    while reader.at < len(code):
        kind = reader.byte()
        yield kind, reader.take(reader.number())


def _finished(code: bytes, exported: Sequence[str], called: Sequence[str]) -> Wasm:
    """The module of an object: with exports, and without what is for linkers."""
    sections = list(_sections(code))
    by_kind = {kind: body for kind, body in sections if kind != _CUSTOM}
    custom = {(reader := _Reader(body)).name(): body[reader.at :] for kind, body in sections if kind == _CUSTOM}
    functions, data = _symbols(custom["linking"])
    _check_imports(by_kind[_IMPORT])
    segments = _segments(by_kind[_DATA])
    segment, start = data[_TABLE]
    words = segments[segment][1][start : start + 4 * len(called)]
    places = {name: int.from_bytes(words[4 * k : 4 * k + 4], "little") for k, name in enumerate(called)}
    found = _elements(by_kind[_ELEMENTS])
    wrong = [name for name in called if found.get(places[name]) != functions[name]]
    assert not wrong, wrong  # LLVM gave a place that is not final
    exports = b"".join(
        _number(len(name)) + name.encode() + bytes([_FUNCTION]) + _number(functions[name]) for name in exported
    )
    parts, body = [], _number(len(exported)) + exports
    for kind, each in sections:
        if kind == _CUSTOM:
            continue
        if kind > _EXPORT and body:
            parts.append(bytes([_EXPORT]) + _number(len(body)) + body)
            body = b""
        parts.append(bytes([kind]) + _number(len(each)) + each)
    end = max(offset + len(content) for offset, content in segments)
    return Wasm(code=b"\0asm\1\0\0\0" + b"".join(parts), places=places, table=max(found) + 1, end=end)


def _symbols(body: bytes) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    """Numbers of functions, and of data their segment and where they begin in it, by name."""
    functions: dict[str, int] = {}
    data: dict[str, tuple[int, int]] = {}
    reader = _Reader(body)
    reader.number()  # version
    while reader.at < len(body):
        kind, size = reader.byte(), reader.number()
        if kind != 8:  # other than the table of symbols
            reader.take(size)
            continue
        for _ in range(reader.number()):
            kind, flags = reader.byte(), reader.number()
            if kind == _DATUM:
                name = reader.name()
                if not flags & _UNDEFINED:
                    data[name] = reader.number(), reader.number()
                    reader.number()
            elif kind == _SECTION:
                reader.number()
            else:
                place = reader.number()
                if not flags & _UNDEFINED or flags & _NAMED:
                    name = reader.name()
                    if kind == _FUNCTION:
                        functions[name] = place
    return functions, data


def _check_imports(body: bytes) -> None:
    """Refuse functions that a browser does not give."""
    reader = _Reader(body)
    for _ in range(reader.number()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        if kind == _FUNCTION:
            if name not in MATH:
                raise RuntimeError(f"WebAssembly: the code needs the function {name!r}, which browsers do not have.")
            reader.number()
        elif kind == _GLOBAL:
            reader.take(2)
        else:  # a table, with the kind of its elements, or a memory; and how large it is
            reader.take(kind == _TABLES)
            bounded = reader.byte() & 1
            for _ in range(1 + bounded):
                reader.number()


def _segments(body: bytes) -> list[tuple[int, bytes]]:
    """Where data begin, and what they are."""
    reader, found = _Reader(body), []
    for _ in range(reader.number()):
        assert reader.number() == 0  # of memory 0, at an offset
        start = reader.offset()
        found.append((start, reader.take(reader.number())))
    return found


def _elements(body: bytes) -> dict[int, int]:
    """The numbers of functions by their places in the table."""
    reader = _Reader(body)
    found: dict[int, int] = {}
    for _ in range(reader.number()):
        assert reader.number() == 0
        start = reader.offset()
        found |= {start + k: reader.number() for k in range(reader.number())}
    return found
