"""Call compiled functions by address from Numba kernels.

The address is a run-time integer, so a kernel is compiled once, cached on
disk, and serves every model:

    @njit(cache=True, nogil=True)
    def step(address, q, u, udot, work): ...
        invoke(address, q, u, udot, work)

    step(f.address, q, u, udot, np.empty(f.work_size))

Numba is imported when the first function that uses one of these is compiled.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any


class Intrinsic:
    """An operation of functions that Numba compiles, written as LLVM IR.

    define : (typing context, types of the arguments...) -> signature, code generator; as Numba's
             `intrinsic` takes it
    """

    plain: Callable[..., Any] | None = None  # the same for functions that run as Python

    def __init__(self, define: Callable[..., Any]) -> None:
        self.define = define
        update_wrapper(self, define)

    def __call__(self, *args: Any) -> Any:
        if self.plain is not None:
            return self.plain(*args)
        raise TypeError(f"{self.define.__name__} is for functions that Numba compiles. Call it in one under @njit.")

    def __deepcopy__(self, memo: Any) -> Intrinsic:
        return self  # Numba copies the code it works on, with what it refers to

    @cached_property
    def _numba_type_(self) -> Any:
        """What Numba asks an object that it does not know."""
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        made, context = intrinsic(self.define), cpu_target.typing_context
        context.refresh()
        return context.resolve_value_type(made)


@Intrinsic
def invoke(typing_context: Any, address: Any, *arrays: Any) -> Any:
    """Call the function at `address` with the data of each array, in order.

    Arguments are those of a Function's `address`: its inputs, its outputs,
    and a workspace of `work_size` doubles. Arrays are contiguous float64;
    nothing else is checked.
    """
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    for array in arrays:
        if not isinstance(array, types.Array) or array.dtype != types.float64 or array.layout != "C":
            raise TypeError(f"invoke: expected contiguous float64 arrays, found {array}.")
    signature = types.void(address, types.StarArgTuple(arrays))

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        members = cgutils.unpack_tuple(builder, values[1])
        data = [context.make_array(kind)(context, builder, v).data for kind, v in zip(arrays, members, strict=True)]
        kind = ir.FunctionType(ir.VoidType(), [d.type for d in data])
        function = builder.inttoptr(values[0], kind.as_pointer())
        builder.call(function, data)
        return context.get_dummy_value()

    return signature, codegen


def _call(address: int, *arrays: Any) -> None:
    """The same from Python."""
    pointers = [array.ctypes.data for array in arrays]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(int(address))(*pointers)


invoke.plain = _call
