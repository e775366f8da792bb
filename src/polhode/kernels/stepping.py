"""What all integrators share: the record of a run, room to work in, statuses, sums of stages, polynomials.

A step of size h from x has the polynomial, with s = 1 - theta,

    x(t + theta h) = x + theta (r0 + s (r1 + theta (r2 + s (r3 + ...)))).
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from .kernel import helper, inlined

Array = np.ndarray

# what `advance` returns: at the stop; budget used up; record of steps full; at an event; the step became too small
DONE, MORE, FULL, EVENT, COLLAPSE = 0, 1, 2, 3, 13

_KINDS: dict[str, Any] = {"float": ctypes.c_double, "int": ctypes.c_int64}


class Run(ctypes.Structure):
    """The record of a run: `advance` goes on from it, and writes how far it came."""

    t: float  # of the state
    stop: float
    h: float  # size of the step in hand
    end: float  # of that step
    step: float  # the size wanted next, 0 to have the first one guessed
    error: float  # of the last step
    origin: float  # steps of one size end at origin + index spacing, without drift
    spacing: float
    rtol: float
    atol: float
    longest: float  # step
    shortest: float  # step, relative to the time
    index: int
    row: int  # the next one of the output
    accepted: int  # steps
    rejected: int  # attempts
    evaluations: int  # of the flow
    budget: int  # the most steps of a call
    rated: int  # 1 if the first stage is the rate at (t, x)
    arrived: int  # 1 if the last stage is the rate at the end of the step in hand
    across: int  # 1 if the step in hand goes across a dead point
    near: int  # 1 if it is taken in a chart near one
    sketched: int  # 1 while a cubic stands for its polynomial
    every: int  # 1 to record every step
    blamed: int  # the entry of the state that failed
    tries: int  # attempts that failed since the last step
    cause: int  # of the last failure
    beside: int  # attempts that failed for what only adds up
    event: int  # 1 if the step in hand ends in an event
    halt: int  # 1 to return after the step in hand

    _fields_ = tuple((name, _KINDS[kind]) for name, kind in __annotations__.items())

    @classmethod
    def of(cls, **values: float) -> tuple[Run, Array]:
        """A record, and the array of it, (1,), that kernels take: the same memory."""
        array = np.zeros(1, dtype=_RECORD)
        found = cls.from_buffer(array.data)
        for name, value in ({"longest": np.inf, "shortest": 1e-15} | values).items():
            setattr(found, name, value)
        return found, array


_RECORD = np.dtype(Run)


class Room(NamedTuple):
    """Where a method works.

    stages     : (k, n), the first is the rate where the step starts
    y          : (n,), the new state
    errors     : (2, n), estimates of its error; scratch between attempts
    polynomial : (degree, n), the step between its ends
    points     : (k, n), rates at the Gauss points of a step across a dead point; wide : (k, n), its polynomial
    J, F       : (n, n), derivatives of the flow, and factors, by columns; drift : (n,), its derivative by time;
                 pivots : (n,); slopes : what native code says of derivatives, a row for each entry of the state that
                 counts, then for time; all empty for an explicit method
    """

    stages: Array
    y: Array
    errors: Array
    polynomial: Array
    points: Array
    wide: Array
    J: Array
    F: Array
    drift: Array
    slopes: Array
    pivots: Array


@helper
def copy(source: Array, target: Array) -> None:
    for i in range(source.size):
        target[i] = source[i]


@helper
def fill(target: Array, value: float) -> None:
    for i in range(target.size):
        target[i] = value


@helper
def first_bad(x: Array, count: int) -> int:
    """Index of the first of `count` entries that is not finite, or -1."""
    for i in range(count):
        if not abs(x[i]) < np.inf:
            return i
    return -1


@helper
def culprit(stages: Array, y: Array, count: int) -> int:
    """The component that was not finite first: in the earliest of the stages, or in the state y after them."""
    for k in stages:
        bad = first_bad(k, count)
        if bad >= 0:
            return bad
    return first_bad(y, count)


def _combine(y: Array, x: Array, h: float, a: Array, j: int, end: int, k: Array) -> None:
    """y = x + h (a_0 k_0 + a_j k_j + ... + a_{end-1} k_{end-1}), five stages at a time."""
    n, a0, odd = x.size, h * a[0], (end - j) % 5
    if odd == 0:
        for i in range(n):
            y[i] = x[i] + a0 * k[0, i]
    elif odd == 1:
        a1 = h * a[j]
        for i in range(n):
            y[i] = x[i] + (a0 * k[0, i] + a1 * k[j, i])
    elif odd == 2:
        a1, a2 = h * a[j], h * a[j + 1]
        for i in range(n):
            y[i] = x[i] + (a0 * k[0, i] + a1 * k[j, i] + a2 * k[j + 1, i])
    elif odd == 3:
        a1, a2, a3 = h * a[j], h * a[j + 1], h * a[j + 2]
        for i in range(n):
            y[i] = x[i] + (a0 * k[0, i] + a1 * k[j, i] + a2 * k[j + 1, i] + a3 * k[j + 2, i])
    else:
        a1, a2, a3, a4 = h * a[j], h * a[j + 1], h * a[j + 2], h * a[j + 3]
        for i in range(n):
            y[i] = x[i] + (a0 * k[0, i] + a1 * k[j, i] + a2 * k[j + 1, i] + a3 * k[j + 2, i] + a4 * k[j + 3, i])
    for b in range(j + odd, end, 5):
        a1, a2, a3, a4, a5 = h * a[b], h * a[b + 1], h * a[b + 2], h * a[b + 3], h * a[b + 4]
        for i in range(n):
            y[i] += a1 * k[b, i] + a2 * k[b + 1, i] + a3 * k[b + 2, i] + a4 * k[b + 3, i] + a5 * k[b + 4, i]


combine, combine_here = helper(_combine), inlined(_combine)  # as a call, or where it is called most


@helper
def weigh(table: Array, first: int, h: float, k: Array, out: Array) -> None:
    """out_i = h sum table_ij k_j"""
    for row in range(len(table)):
        for i in range(out.shape[1]):
            out[row, i] = 0.0
        combine(out[row], out[row], h, table[row], first, table.shape[1], k)


@helper
def between(x: Array, r: Array, theta: float, out: Array) -> None:
    """Evaluate the polynomial of a step."""
    last = len(r) - 1
    for i in range(x.size):
        value = r[last, i]
        for j in range(last - 1, -1, -1):
            value = r[j, i] + value * (theta if j % 2 else 1.0 - theta)
        out[i] = x[i] + theta * value


@helper
def slope(x: Array, r: Array, theta: float, h: float, out: Array) -> None:
    """Evaluate the derivative of the polynomial of a step by time."""
    last = len(r) - 1
    for i in range(x.size):
        value, rate = r[last, i], 0.0
        for j in range(last - 1, -1, -1):
            by = theta if j % 2 else 1.0 - theta
            rate = rate * by + (value if j % 2 else -value)
            value = r[j, i] + value * by
        out[i] = (value + theta * rate) / h


@helper
def straight(x: Array, y: Array, r: Array) -> None:
    """Write the polynomial of a straight way from x to y."""
    for i in range(x.size):
        for j in range(len(r)):
            r[j, i] = 0.0
        r[0, i] = y[i] - x[i]


@helper
def hermite(x: Array, y: Array, h: float, before: Array, after: Array, r: Array) -> None:
    """Write r0, r1, r2 of the cubic from x to y with the rates at both ends."""
    for i in range(x.size):
        rise = y[i] - x[i]
        r[0, i] = rise
        r[1, i] = h * before[i] - rise
        r[2, i] = rise - h * after[i] - r[1, i]
