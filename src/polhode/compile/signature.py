"""What a function takes and gives: names, shapes, and the checks on arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from polhode.graph import Expr, Matrix, as_matrix, free_symbols
from polhode.graph.node import coerce, name_some

_FLOAT64 = np.dtype(np.float64)
_RESERVED = ("out", "threads")


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One argument or one output: its name, shape and entries, row by row."""

    name: str
    shape: tuple[int, ...]
    entries: tuple[Expr, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.name}{list(self.shape) if self.shape else ''}"


def ports(items: object, kind: str) -> tuple[Port, ...]:
    """Read inputs or outputs: one, a list, or a mapping from name to one."""
    if isinstance(items, Mapping):
        pairs = [(str(name), item) for name, item in items.items()]
    elif isinstance(items, Matrix) or not isinstance(items, Iterable):
        pairs = [("", items)]
    else:
        pairs = [("", item) for item in items]
    made = [_port(name, item, f"{kind.capitalize()} {name or k!r}") for k, (name, item) in enumerate(pairs)]
    taken = [port.name for port in made if port.name]
    named = []
    for k, port in enumerate(made):
        name = port.name or _guess(port, kind)
        if not port.name and (not name or name in taken):
            name = f"{kind}{k}"
        taken.append(name)
        named.append(Port(name=name, shape=port.shape, entries=port.entries))
    names = [port.name for port in named]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Name {name!r} is given to {names.count(name)} {kind}s. Give each its own.")
        if kind == "input" and name in _RESERVED:
            raise ValueError(f"Input {name!r}: the name is taken by the call itself. Choose another.")
    return tuple(named)


def _port(name: str, item: object, label: str) -> Port:
    scalar = coerce(item)
    if scalar is not None:
        return Port(name=name, shape=(), entries=(scalar,))
    try:
        whole = as_matrix(item)
    except TypeError:
        found = f"{item!r:.60} of type {type(item).__name__}"
        raise TypeError(f"{label}: expected an expression, a matrix or a list of them, found {found}.") from None
    return Port(name=name, shape=whole.shape, entries=whole.entries)


def _guess(port: Port, kind: str) -> str:
    """Name an input after its symbols: q for q1, q2, q3."""
    if kind != "input" or not all(e.op == "symbol" for e in port.entries):
        return ""
    if port.shape == ():
        return str(port.entries[0].value)
    stems = {e.value.rstrip("0123456789") for e in port.entries}
    return stems.pop() if len(stems) == 1 else ""


def places(inputs: Sequence[Port], outputs: Sequence[Port]) -> dict[Expr, tuple[int, int]]:
    """Find each symbol's argument and element; refuse what does not add up."""
    found: dict[Expr, tuple[int, int]] = {}
    for k, port in enumerate(inputs):
        for element, e in enumerate(port.entries):
            if e.op != "symbol":
                raise ValueError(f"Input {port.name!r}: expected symbols, found {e!r}. Compile functions of symbols.")
            if e in found:
                other = inputs[found[e][0]].name
                where = (
                    f"twice in input {port.name!r}" if other == port.name else f"in inputs {other!r} and {port.name!r}"
                )
                raise ValueError(f"Symbol {e.value!r} stands {where}. Give each symbol once.")
            found[e] = (k, element)
    missing = free_symbols(e for port in outputs for e in port.entries) - found.keys()
    if missing:
        one = len(missing) == 1
        raise ValueError(
            f"Symbol{'' if one else 's'} {name_some(missing)} {'is' if one else 'are'} used by the outputs "
            f"but missing from the inputs. Add {'it' if one else 'them'}, or substitute values."
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Arrays that passed the checks.

    inputs, outputs : as (states, entries); an input the same for all states has one row
    results         : the outputs in the caller's shape, the same memory
    """

    inputs: list[np.ndarray]
    outputs: list[np.ndarray]
    results: list[np.ndarray]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The arguments and outputs of one function."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    single: bool  # one output, returned by itself

    def __str__(self) -> str:
        takes, gives = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"{self.name}({takes}) -> {gives}"

    def arguments(self, args: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """Put positional and named arguments in order."""
        given: dict[str, Any] = {}
        names = [port.name for port in self.inputs]
        if len(args) > len(names):
            raise TypeError(f"{self}: expected {len(names)} arguments, found {len(args)}.")
        given.update(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"{self}: no argument {name!r}. There are {', '.join(names)}, out and threads.")
            if name in given:
                raise TypeError(f"{self}: argument {name!r} is given twice.")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"{self}: argument {missing[0]!r} is missing.")
        return [given[name] for name in names]

    def read(self, values: Sequence[Any]) -> tuple[list[np.ndarray], tuple[int, ...]]:
        """Check the arguments; return them as arrays, with the batch shape."""
        arrays = [_as_array(port.name, value) for port, value in zip(self.inputs, values, strict=True)]
        lead: tuple[int, ...] = ()
        owner = ""
        for port, array in zip(self.inputs, arrays, strict=True):
            before = _leading(port, array)
            if before and lead and before != lead:
                raise ValueError(
                    f"Arguments {owner!r} and {port.name!r}: batch shapes {lead} and {before} differ. "
                    "Give every argument the same batch shape, or none."
                )
            if before:
                lead, owner = before, port.name
        return arrays, lead

    def prepare(self, arrays: list[np.ndarray], lead: tuple[int, ...], out: Any) -> Call:
        """Check or make the outputs, before anything is computed."""
        results = self._results(lead, out)
        for k, (port, result) in enumerate(zip(self.outputs, results, strict=True) if out is not None else ()):
            others = [*zip(self.inputs, arrays, strict=True), *zip(self.outputs[:k], results[:k], strict=True)]
            for other, array in others:
                if np.may_share_memory(result, array):
                    raise ValueError(f"Output {port.name!r} shares memory with {other.name!r}. Pass another array.")
        count = math.prod(lead)
        rows = [1 if array.shape == port.shape else count for port, array in zip(self.inputs, arrays, strict=True)]
        return Call(
            inputs=[a.reshape(n, port.size) for n, port, a in zip(rows, self.inputs, arrays, strict=True)],
            outputs=[r.reshape(count, port.size) for port, r in zip(self.outputs, results, strict=True)],
            results=results,
            count=count,
        )

    def _results(self, lead: tuple[int, ...], out: Any) -> list[np.ndarray]:
        """The arrays to write to: the given ones, checked, or new ones."""
        if out is None:
            return [np.empty(lead + port.shape) for port in self.outputs]
        given = (out,) if self.single else out
        if not isinstance(given, (tuple, list)) or len(given) != len(self.outputs):
            raise TypeError(f"{self}: out= takes {len(self.outputs)} arrays in a tuple, found {type(out).__name__}.")
        for port, array in zip(self.outputs, given, strict=True):
            if type(array) is not np.ndarray:
                raise TypeError(f"Output {port.name!r}: expected a plain array in out=, found {type(array).__name__}.")
            _check_output(port.name, array)
            if array.shape != lead + port.shape:
                raise ValueError(f"Output {port.name!r}: expected shape {lead + port.shape}, found {array.shape}.")
            if not array.flags.writeable:
                raise ValueError(f"Output {port.name!r}: the array is read-only. Pass one that can be written.")
        return list(given)

    def returned(self, call: Call, out: Any) -> Any:
        """What the caller gets: `out` if given, else arrays, floats for lone scalars."""
        if out is not None:
            return out
        results = [float(r) if r.ndim == 0 else r for r in call.results]
        return results[0] if self.single else tuple(results)


def _as_array(name: str, value: Any) -> np.ndarray:
    """Take a contiguous float64 array as it is; copy any other real numbers into one."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"Argument {name!r}: a masked array, expected a plain one. Fill it with .filled(...).")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" and not all(isinstance(v, Real) for v in array.flat):
            raise TypeError("not real numbers")
        array = np.require(array, np.float64, ("C", "A"))
    except (TypeError, ValueError, OverflowError):
        whole = isinstance(value, np.ndarray)
        found = f"dtype {value.dtype}" if whole else f"{type(value).__name__} {value!r:.40}"
        order = " Give an array: here values go by their order, not by name." if isinstance(value, Mapping) else ""
        raise TypeError(
            f"Argument {name!r}: expected real numbers that a float can hold, found {found}.{order}"
        ) from None
    return array if array.dtype is _FLOAT64 else array.view(_FLOAT64)  # equal, but not the one all others share


def _check_output(name: str, array: np.ndarray) -> None:
    if array.dtype != np.float64 or not array.dtype.isnative:
        raise TypeError(f"Output {name!r}: expected dtype float64, found {array.dtype}. Pass a float64 array.")
    if not array.flags.c_contiguous or not array.flags.aligned:
        strides = f"strides {array.strides} for shape {array.shape}"
        raise ValueError(f"Output {name!r}: the array is not contiguous ({strides}). Pass a contiguous array.")


def _leading(port: Port, array: np.ndarray) -> tuple[int, ...]:
    """The batch shape of an array: what stands before the port's own shape."""
    split = array.ndim - len(port.shape)
    if split < 0 or array.shape[split:] != port.shape:
        expected = ", ".join(["...", *map(str, port.shape)])
        raise ValueError(f"Argument {port.name!r}: expected shape ({expected}), found {array.shape}.")
    return array.shape[:split]
