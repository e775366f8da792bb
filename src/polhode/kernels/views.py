"""Contiguous arrays seen in another shape.

Numba's own `reshape` calls into its library, which code that is shipped must do without.
"""

from __future__ import annotations

from typing import Any

from polhode.compile.invoke import Intrinsic


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


@Intrinsic
def less(typing_context: Any, target: Any, source: Any, factor: Any, first: Any, last: Any) -> Any:
    """target[i] -= factor source[i] for i from first up to last, four at a time; nothing is checked.

    LLVM would do so by itself, but only with passes that take seconds for all that is around it.
    """
    from llvmlite import ir
    from numba import types

    _require_contiguous("less", target)
    _require_contiguous("less", source)
    double = ir.DoubleType()

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = signature.args
        y, x = (context.make_array(kinds[k])(context, builder, values[k]).data for k in (0, 1))
        start, stop = (context.cast(builder, values[k], kinds[k], types.intp) for k in (3, 4))
        minus = builder.fneg(context.cast(builder, values[2], kinds[2], types.float64))
        whole = builder.sub(stop, ir.Constant(stop.type, 3))
        middle = _stepped(builder, start, whole, 4, lambda i: _less(builder, y, x, minus, i, ir.VectorType(double, 4)))
        _stepped(builder, middle, stop, 1, lambda i: _less(builder, y, x, minus, i, double))
        return context.get_dummy_value()

    return types.void(target, source, factor, first, last), codegen


def _stepped(builder: Any, start: Any, stop: Any, step: int, body: Any) -> Any:
    """Emit a loop over i from start while i < stop; return where it ended."""
    from llvmlite import ir

    head, inside, after = (builder.append_basic_block(name) for name in ("head", "inside", "after"))
    before = builder.block
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(start.type)
    i.add_incoming(start, before)
    builder.cbranch(builder.icmp_signed("<", i, stop), inside, after)
    builder.position_at_end(inside)
    body(i)
    i.add_incoming(builder.add(i, ir.Constant(i.type, step)), builder.block)
    builder.branch(head)
    builder.position_at_end(after)
    return i


def _less(builder: Any, y: Any, x: Any, minus: Any, i: Any, kind: Any) -> None:
    """Emit y[i] += minus x[i], of a number or of several."""
    from llvmlite import ir

    lanes = kind.count if isinstance(kind, ir.VectorType) else 1
    factor = minus
    if lanes > 1:
        factor = ir.Constant(kind, ir.Undefined)
        for k in range(lanes):
            factor = builder.insert_element(factor, minus, ir.Constant(ir.IntType(32), k))
    places = [builder.bitcast(builder.gep(p, [i]), kind.as_pointer()) for p in (y, x)]
    old, by = (builder.load(place, align=8) for place in places)
    made = builder.fadd(old, builder.fmul(factor, by, flags=["contract"]), flags=["contract"])
    builder.store(made, places[0], align=8)


def _require_contiguous(name: str, array: Any) -> None:
    if getattr(array, "layout", None) != "C":
        raise TypeError(f"{name}: expected a contiguous array, found {array}.")


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
