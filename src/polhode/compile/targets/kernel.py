"""What every target makes of a tape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ..batch import Loop
from ..signature import Call, Signature
from ..tape import Tape


class Kernel(ABC):
    """The code of one function: text in the language of the target, and a way to run it.

    A target says how it writes a tape (`source`) and computes states (`run`); the rest only where it can.

    target    : its name
    work_size : doubles of workspace that the function at `address` needs
    """

    target: ClassVar[str]
    work_size: int = 0

    def __init__(self, tape: Tape, signature: Signature) -> None:
        self.tape, self.signature = tape, signature

    @property
    @abstractmethod
    def source(self) -> str:
        """The generated text."""

    @abstractmethod
    def run(self, call: Call, threads: int) -> None:
        """Compute all states of a call."""

    def entry(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        """The fastest way in from Python; `slow` takes any valid call."""
        return slow

    @property
    def address(self) -> int:
        """Address of void f(in..., out..., work)."""
        raise TypeError(self._without("has no address", "llvm"))

    @property
    def in_lanes(self) -> Loop:
        """The native loop over a batch, W states at a time."""
        raise TypeError(self._without("has no native loop", "llvm"))

    def plain(self) -> tuple[str, int]:
        """LLVM IR of `state` for processors without wide registers, and the doubles of workspace that it needs."""
        raise TypeError(self._without("is not LLVM IR", "llvm"))

    @property
    def header(self) -> str:
        """The C header that goes with the source."""
        raise TypeError(self._without("is not C", "c"))

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        """Write NAME.c and NAME.h; return their paths."""
        raise TypeError(self._without("is not C", "c"))

    def _without(self, what: str, remedy: str) -> str:
        return f'Function {self.signature.name!r} of target "{self.target}" {what}. Compile it with target="{remedy}".'
