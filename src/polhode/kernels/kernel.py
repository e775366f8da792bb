"""How the loops of this stage are compiled and called."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from functools import cached_property, partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np

from . import shipped
from .arguments import layout, pack

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")
_lock = threading.Lock()
PLAIN = bool(os.environ.get("POLHODE_PLAIN_KERNELS"))  # run kernels as the Python they are: slow, to look inside


class Kernel(Generic[P, R]):
    """A loop over native code: shipped as LLVM IR, or compiled by Numba when it is first called.

    Arguments are contiguous arrays, numbers, and NamedTuples of them; the result is None, a bool
    or an int. It runs without the GIL. Arrays are not counted (`_nrt`): they belong to the
    caller, and a count would cost more than a short step. So a kernel makes no arrays, and it
    does not raise. Multiply-adds may be contracted; NaN and Inf survive, also a division by zero.
    """

    def __init__(self, function: Callable[P, R], marks: str = "", **options: Any) -> None:
        self.function, self.marks, self.options = function, marks, options
        self.name = f"{function.__module__.removeprefix(f'{__package__}.')}.{function.__qualname__}"
        self.kept: dict[Hashable, Callable[[int], Any] | None] = {}  # by layout; None where Numba must compile it
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        if PLAIN:
            return self.function(*map(_plain, args), **named)
        return self.bind(*args, **named)()

    def bind(self, *args: P.args, **named: P.kwargs) -> Callable[[], R]:
        """Lay out arguments once for many calls: the result, called without any, costs little more than the code.

        It sees what is written into the arrays later; numbers stay as they are now.
        """
        if PLAIN:
            return partial(self.function, *map(_plain, args))
        if named or len(args) != len(self._names):
            raise TypeError(f"Kernel {self.name!r} takes {', '.join(self._names)}, in this order and without names.")
        values = [float(a) if real and type(a) is int else a for a, real in zip(args, self._reals, strict=True)]
        words, key = pack(values)
        if key not in self.kept:
            with _lock:
                self.kept[key] = self._native(layout(values), values)
        native = self.kept[key]
        if native is None:
            return partial(self._compiled(values), *values)
        bound: Any = partial(native, words.buffer_info()[0])
        bound.alive = values, words
        return cast(Callable[[], R], bound)

    def _native(self, kind: str, values: list[Any]) -> Callable[[int], Any] | None:
        """The code that is shipped for a kind of layout; `make kernels` makes it here, for values like these."""
        return shipped.find(self.name, kind)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        code = self.function.__code__
        return tuple(code.co_varnames[: code.co_argcount])

    @cached_property
    def _reals(self) -> list[bool]:
        """Which arguments are annotated as float: there, whole numbers are floats too."""
        return [self.function.__annotations__.get(name) in ("float", float) for name in self._names]

    def _compiled(self, values: list[Any]) -> Any:
        try:
            return self.dispatcher
        except ImportError:
            why = (
                "its arguments are unlike those it is shipped for" if shipped.is_current() else "its source was changed"
            )
            raise ImportError(
                f"Kernel {self.name!r} must be compiled, for {why}: {layout(values)}. "
                'That takes Numba, which is not installed. Install it with: pip install "polhode[numba]".'
            ) from None

    @cached_property
    def dispatcher(self) -> Any:
        """The function as Numba compiles it; the code is kept on disk."""
        from numba import njit

        options = shipped.OPTIONS | self.options
        try:
            made = njit(self.function, cache=True, **options)
        except RuntimeError:  # no folder can be written to
            made = njit(self.function, **options)
        # Numba looks at the function's own file only, to see whether the code on disk is out of date
        kept = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if kept is not None:
            kept._source_stamp = shipped.sources()
        return made

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks where another kernel calls this one."""
        from numba import typeof

        return typeof(self.dispatcher)

    def __deepcopy__(self, memo: Any) -> Kernel[P, R]:
        return self  # Numba copies the code it works on, with what it refers to


class _Record:
    """The one record of an array, with its fields as attributes."""

    def __init__(self, array: Any) -> None:
        object.__setattr__(self, "array", array)

    def __getattr__(self, name: str) -> Any:
        return self.array[name][0].item()

    def __setattr__(self, name: str, value: Any) -> None:
        self.array[name][0] = value


def _plain(value: Any) -> Any:
    """An argument for a kernel that runs as Python."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return (_Record(value),)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_plain, value))
    return value


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Make a loop that Python calls: see Kernel. Where a kernel calls another, that becomes part of it."""
    return Kernel(function, forceinline=True)


def helper(function: F) -> F:
    """Make a function that only kernels call: it has no way in from Python, which takes long to compile."""
    return cast(F, Kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=False))


def apart(function: F) -> F:
    """Make a helper that stays a function of its own, also where one place calls it: LLVM takes more than twice as long
    for a loop that holds everything. Heeded in what is shipped."""
    return cast(F, Kernel(function, "noinline", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=False))


def rare(function: F) -> F:
    """Make a helper that is seldom called: it stays apart, and is made into machine code in a hurry."""
    return cast(
        F, Kernel(function, "noinline optnone", no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=False)
    )


def inlined(function: F) -> F:
    """Compile a helper into those that call it: for parts of a loop, whose many arguments take longer than a call."""
    return cast(F, Kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True))
