"""`compile` and what it returns."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from polhode.graph import Expr, Matrix, op_counts
from polhode.graph.node import pack, unpack

from .naming import is_taken
from .signature import Port, Signature, places, ports
from .tape import record
from .targets import TARGETS, Kernel


def compile(inputs: Any, outputs: Any, target: str = "llvm", name: str = "f") -> Function:
    """Turn expressions into a function of arrays.

    inputs  : symbols; one, a list, or {name: ...}. An item is a symbol, a
              vector or matrix of symbols, or a list of them.
    outputs : expressions, in the same forms. One alone, or {name: one}, is
              returned alone; several, or a list, as a tuple.
    target  : "llvm" for native code, "c" for C99 source, "numpy" for Python source, "javascript" for browsers
    name    : of the function, in the source and in messages

    >>> from polhode.graph import symbols, sin
    >>> x, y = symbols("x y")
    >>> f = compile([x, y], x * sin(y))
    >>> f
    f(x, y) -> output0: llvm, 1 mul, 1 sin
    >>> f(2.0, 0.0)
    0.0
    """
    if target not in TARGETS:
        raise ValueError(f"Target {target!r} is unknown. Choose one of {', '.join(map(repr, TARGETS))}.")
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(f"Name {name!r}: expected an identifier such as 'forward_dynamics'.")
    if is_taken(name):
        raise ValueError(f"Name {name!r} belongs to C, C++, Python, JavaScript or their libraries. Choose another.")
    takes, gives = ports(inputs, "input"), ports(outputs, "output")
    if not gives:
        raise ValueError("There are no outputs. Give at least one expression.")
    single = isinstance(outputs, (Expr, Matrix, Real)) or (isinstance(outputs, Mapping) and len(gives) == 1)
    return Function(Signature(name=name, inputs=takes, outputs=gives, single=single), target)


class Function:
    """Compiled expressions, called with arrays of shape (..., n).

    f(q, u), f(q, u=u), f(q, u, out=array), f(q, u, threads=2). Leading
    dimensions are a batch, computed W states at a time; an argument without
    them is the same for every state.

    signature  : names and shapes of arguments and outputs
    target     : the kind of code
    kernel     : the code: its source, or its address for compiled loops
    """

    # __call__ is a slot: each function has its own compiled way in
    __slots__ = ("__call__", "__weakref__", "kernel", "signature", "target")

    __call__: Callable[..., Any]

    def __init__(self, signature: Signature, target: str) -> None:
        tape = record(
            places(signature.inputs, signature.outputs),
            tuple(port.size for port in signature.inputs),
            [port.entries for port in signature.outputs],
        )
        self.signature = signature
        self.target = target
        self.kernel = TARGETS[target](tape, signature)
        caller = _Caller(signature, self.kernel)
        self.__call__ = self.kernel.entry(caller)
        if self.__call__ is not caller:
            caller.fast = weakref.ref(self.__call__)  # the way in owns the caller, not the caller it

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The arguments: name, shape and symbols of each."""
        return self.signature.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The outputs: name, shape and expressions of each."""
        return self.signature.outputs

    def op_counts(self) -> dict[str, int]:
        """Operations of one evaluation, by kind."""
        return op_counts(e for port in self.outputs for e in port.entries)

    @property
    def address(self) -> int:
        """Address of void f(in..., out..., work), all pointers to doubles that do not overlap.

        The code lives as long as this Function does.
        """
        return self.kernel.address

    @property
    def work_size(self) -> int:
        """Doubles of workspace that the function at `address` needs."""
        return self.kernel.work_size

    @property
    def source(self) -> str:
        """The generated source text: LLVM IR, C, Python or JavaScript."""
        return self.kernel.source

    @property
    def header(self) -> str:
        """The C header that goes with the source (target "c")."""
        return self.kernel.header

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        """Write NAME.c and NAME.h to a folder; return their paths (target "c")."""
        return self.kernel.save(folder)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in self.op_counts().items())
        return f"{self.signature}: {self.target}, {counts or 'no operations'}"

    def __reduce__(self) -> tuple[Any, ...]:
        sides = [[(p.name, p.shape) for p in side] for side in (self.inputs, self.outputs)]
        entries = [e for port in self.inputs + self.outputs for e in port.entries]
        return _restore, (self.name, sides, pack(entries), self.signature.single, self.target)


def _restore(
    name: str, sides: list[list[tuple[str, tuple[int, ...]]]], packed: Any, single: bool, target: str
) -> Function:
    """Compile a pickled function again, or take it from the cache."""
    entries = iter(unpack(packed))

    def port(port_name: str, shape: tuple[int, ...]) -> Port:
        size = Port(name=port_name, shape=shape, entries=()).size
        return Port(name=port_name, shape=shape, entries=tuple(next(entries) for _ in range(size)))

    inputs, outputs = (tuple([port(*row) for row in side]) for side in sides)
    return Function(Signature(name=name, inputs=inputs, outputs=outputs, single=single), target)


class _Caller:
    """The ordinary way in: checks everything, takes batches and lists."""

    __slots__ = ("fast", "kernel", "signature")

    def __init__(self, signature: Signature, kernel: Kernel) -> None:
        self.signature, self.kernel = signature, kernel
        self.fast: Callable[[], Any] = lambda: None  # for one state, once its arguments are in order

    def __call__(self, /, *args: Any, out: Any = None, threads: int = 1, **named: Any) -> Any:
        if not isinstance(threads, Integral) or threads < 1:
            raise ValueError(f"{self.signature}: threads={threads!r}, expected a whole number of at least 1.")
        arrays, lead = self.signature.read(self.signature.arguments(args, named))
        fast = self.fast()
        if not lead and out is None and fast is not None:
            return fast(*[float(a) if a.ndim == 0 else a for a in arrays])
        call = self.signature.prepare(arrays, lead, out)
        self.kernel.run(call, int(threads))
        return self.signature.returned(call, out)
