"""Many states at once, by steps of one size, in the native loop over SIMD lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import Intrinsic

from .kernel import helper, kernel
from .stepping import Array, combine, copy
from .tableaus import Explicit
from .views import flat

_TIME, _X, _Y, _TAU, _P, _K = range(6)  # addresses of a block's arrays


@Intrinsic
def _loop(typing_context: Any, address: Any, pointers: Any, strides: Any, count: Any, work: Any) -> Any:
    """Call void loop(pointers, strides, count, work) at an address."""
    from llvmlite import ir
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = signature.args
        data = [context.make_array(kinds[i])(context, builder, values[i]).data for i in (1, 2, 4)]
        arguments = [data[0], data[1], values[3], data[2]]
        kind = ir.FunctionType(ir.VoidType(), [a.type for a in arguments])
        builder.call(builder.inttoptr(values[0], kind.as_pointer()), arguments)
        return context.get_dummy_value()

    return types.void(address, pointers, strides, types.int64, work), codegen


@helper
def _unit(x: Array, units: Array) -> None:
    """Bring the quaternions of all states to length 1."""
    for row in range(len(x)):
        for first in units:
            length = 0.0
            for i in range(first, first + 4):
                length += x[row, i] * x[row, i]
            length = np.sqrt(length)
            for i in range(first, first + 4):
                x[row, i] /= length


@kernel
def march(
    tableau: Explicit,
    codes: Array,
    places: Array,
    strides: Array,
    times: Array,
    x: Array,
    y: Array,
    k: Array,
    units: Array,
    rows: Array,
    pointers: Array,
    work: Array,
) -> None:
    """Take a block of states through all steps.

    codes   : addresses of the loops of flow and rates
    places  : addresses of the time, x, y, tau, p and k
    strides : of t, x, tau, p, dx for flow; nq; of t, x, p, dq for rates
    times   : the time, its start, the step size, steps between two rows, the first step to take and the last
    x, y, k : (count, n), the states, new ones, (stages, count n)
    rows    : (count, outputs, n)
    """
    start, h, every = times[1], times[2], int(times[3])
    count, nq, last, size = len(x), strides[5], len(tableau.c) - 1, x.size
    old, new = flat(x), flat(y)
    for step in range(int(times[4]), int(times[5])):
        # the stages
        for s in range(last):
            times[0] = start + (step + tableau.c[s]) * h
            if s:
                combine(new, old, h, tableau.A[s], tableau.first[s], s, k)
            pointers[0], pointers[1] = places[_TIME], places[_Y] if s else places[_X]
            pointers[2], pointers[3], pointers[4] = places[_TAU], places[_P], places[_K] + 8 * size * s
            _loop(codes[0], pointers, strides, count, work)
        combine(new, old, h, tableau.A[last], tableau.first[last], last, k)
        if last == 1:  # speeds are new, coordinates follow them
            for i in range(count):
                for j in range(nq):
                    y[i, j] = x[i, j]
            pointers[1], pointers[2], pointers[3] = places[_Y], places[_P], places[_K]
            _loop(codes[1], pointers, strides[6:], count, work)
            for i in range(count):
                for j in range(nq):
                    y[i, j] += h * k[0, i * nq + j]

        # the new states
        if units.size:
            _unit(y, units)
        copy(new, old)
        if (step + 1) % every == 0:
            for i in range(count):
                copy(x[i], rows[i, step // every])
