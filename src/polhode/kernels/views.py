"""Contiguous arrays seen in another shape.

Numba's own `reshape` calls into its library, which code that is shipped must do without.
"""

from __future__ import annotations

from typing import Any

from polhode.compile.invoke import Intrinsic


@Intrinsic
def matrix(typing_context: Any, array: Any, rows: Any, columns: Any) -> Any:
    """See the first entries of a contiguous array as a matrix, (rows, columns); nothing is checked."""
    from numba import types

    _require_contiguous("matrix", array)
    seen = types.Array(array.dtype, 2, "C")

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        shape = [
            context.cast(builder, v, kind, types.intp) for v, kind in zip(values[1:], signature.args[1:], strict=True)
        ]
        return _seen(context, builder, array, seen, values[0], shape)

    return seen(array, rows, columns), codegen


@Intrinsic
def flat(typing_context: Any, array: Any) -> Any:
    """See a contiguous array as a vector of all its entries."""
    from numba import types
    from numba.core import cgutils

    _require_contiguous("flat", array)
    seen = types.Array(array.dtype, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        size = context.get_constant(types.intp, 1)
        for extent in cgutils.unpack_tuple(builder, context.make_array(array)(context, builder, values[0]).shape):
            size = builder.mul(size, extent)
        return _seen(context, builder, array, seen, values[0], [size])

    return seen(array), codegen


@Intrinsic
def part(typing_context: Any, array: Any, first: Any, size: Any) -> Any:
    """See `size` entries of a contiguous array, from the one at `first`; nothing is checked."""
    return _part(array, (first, size))


@Intrinsic
def square(typing_context: Any, array: Any, first: Any, rows: Any, columns: Any) -> Any:
    """The same as a matrix, (rows, columns)."""
    return _part(array, (first, rows, columns))


def _part(array: Any, places: tuple[Any, ...]) -> Any:
    from numba import types

    _require_contiguous("part", array)
    seen = types.Array(array.dtype, len(places) - 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        first, *shape = [
            context.cast(builder, v, kind, types.intp) for v, kind in zip(values[1:], signature.args[1:], strict=True)
        ]
        source, made = (
            context.make_array(array)(context, builder, values[0]),
            context.make_array(seen)(context, builder),
        )
        fill_array(context, builder, seen, made, builder.gep(source.data, [first]), shape, source.meminfo)
        return made._getvalue()

    return seen(array, *places), codegen


def _require_contiguous(name: str, array: Any) -> None:
    if getattr(array, "layout", None) != "C":
        raise TypeError(f"{name}: expected a contiguous array, found {array}.")


def _seen(context: Any, builder: Any, kind: Any, seen: Any, value: Any, shape: list[Any]) -> Any:
    """An array of type `seen` and a shape over the data of another."""
    source, made = context.make_array(kind)(context, builder, value), context.make_array(seen)(context, builder)
    fill_array(context, builder, seen, made, source.data, shape, source.meminfo)
    return made._getvalue()


def fill_array(
    context: Any, builder: Any, kind: Any, made: Any, data: Any, shape: list[Any], owner: Any = None
) -> None:
    """Give a contiguous array of a kind its data and shape."""
    from numba import types
    from numba.np.arrayobj import populate_array

    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [size]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    populate_array(made, data=data, shape=shape, strides=strides, itemsize=size, meminfo=owner)
