"""Memory of a machine as it is now, copied to other addresses: what a browser's memory begins with."""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from typing import Any

import numpy as np

ALIGNED = 16
WORD = 8


class Image:
    """Buffers, and where in them words hold addresses of others or of functions.

    hold buffers, say which words are links and calls, then `lay` it all out from an address on; `place` says where
    something is there.
    """

    def __init__(self) -> None:
        self._spans: list[tuple[int, int, int]] = []  # begin, size, and the room that it is to have
        self._links: list[int] = []
        self._calls: dict[int, int] = {}
        self._kept: list[Any] = []
        self._blocks: list[tuple[int, int, int]] = []  # begin, end and where it is laid, ascending

    def hold(self, buffer: Any, room: int = 0) -> int:
        """Take a buffer, an array or a structure, with room for so many bytes at least; its address."""
        begin, size = _span(buffer)
        self._kept.append(buffer)
        self._spans.append((begin, size, max(size, room, WORD)))
        return begin

    def link(self, word: int) -> None:
        """Say that the word at an address is the address of something held, or 0."""
        self._links.append(word)

    def call(self, word: int, place: int) -> None:
        """Say that the word at an address is to be a place in the table of functions."""
        self._calls[word] = place

    def lay(self, first: int) -> bytes:
        """All of it, to be put at an address, with links and calls as they are there."""
        blocks: list[list[int]] = []
        for begin, size, room in sorted(self._spans):
            end = begin + room
            if blocks and begin <= blocks[-1][1]:
                last = blocks[-1]
                last[1], last[2] = max(last[1], begin + size), max(last[2], end)
            else:
                blocks.append([begin, begin + size, end])
        at, parts = first, []
        for begin, end, room_end in blocks:
            at += (begin - at) % ALIGNED
            self._blocks.append((begin, end, at))
            parts.append((at, ctypes.string_at(begin, end - begin)))
            at += room_end - begin
        found = bytearray(at - first)
        for start, content in parts:
            found[start - first : start - first + len(content)] = content
        words = {word: self._linked(word) for word in self._links} | self._calls
        for word, value in words.items():
            start = self.place(word) - first
            found[start : start + WORD] = value.to_bytes(WORD, "little")
        return bytes(found)

    def _linked(self, word: int) -> int:
        there = ctypes.c_uint64.from_address(word).value
        return self.place(there) if there else 0

    def place(self, address: int) -> int:
        """Where something that is held is laid."""
        k = bisect_right(self._blocks, address, key=lambda block: block[0]) - 1
        if k >= 0:
            begin, end, at = self._blocks[k]
            if begin <= address <= end:
                return at + address - begin
        raise LookupError(f"There is nothing known at address {address:#x}, so it cannot be copied.")


def _span(buffer: Any) -> tuple[int, int]:
    if isinstance(buffer, np.ndarray):
        if not buffer.flags.c_contiguous:
            raise ValueError(f"An array of shape {buffer.shape} is not contiguous, so its memory cannot be copied.")
        return buffer.ctypes.data, buffer.nbytes
    if isinstance(buffer, ctypes.Structure):
        return ctypes.addressof(buffer), ctypes.sizeof(buffer)
    address, many = buffer.buffer_info()  # an `array` of words
    return address, many * buffer.itemsize
