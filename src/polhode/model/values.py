"""What users write for scalars, vectors, axes and rotations, made into expressions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from numbers import Real
from typing import Any

from polhode.graph import (
    Constant,
    Expr,
    Matrix,
    as_expr,
    as_matrix,
    cross,
    evaluate,
    free_symbols,
    identity,
    mirrored,
    vector,
)
from polhode.spatial.rotation import length, quaternion_rotation, roll_pitch_yaw

from .errors import fault
from .expression import Symbols, parse

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}


def scalar(value: Any, what: str) -> Expr:
    """Read a number, symbol or expression, or the text of one; `what` names it in messages.

    In text, all names are symbols: those of coordinates, speeds and states, t, and parameters.
    """
    if isinstance(value, str):
        return parse(value, Symbols(), what)
    if isinstance(value, bool) or not isinstance(value, (Expr, Real)):
        remedy = ""
        if type(value).__module__.startswith("sympy."):
            call = f"symbol({str(value)!r})" if str(value).isidentifier() else "graph.from_sympy(...)"
            remedy = f" Of SymPy's, make one with polhode.{call}."
        raise fault(f"{what} is {value!r:.60}, expected a number or an expression.{remedy}")
    e = as_expr(value)
    x = e.number
    if x is not None and not math.isfinite(x):
        raise fault(f"{what} is {x}, expected a finite number.")
    return e


def numbers_of(m: Matrix) -> list[float] | None:
    """The values of a matrix of constants, None for others."""
    found = [e.number for e in m.entries if e.number is not None]
    return found if len(found) == len(m.entries) else None


def entries(values: Any, n: int, what: str) -> Matrix:
    """Read a vector of n entries."""
    if isinstance(values, (str, Expr)) or not isinstance(values, Iterable):
        raise fault(f"{what} is {values!r:.60}, expected {n} numbers or expressions.")
    found = list(values)
    if len(found) != n:
        raise fault(f"{what} has {len(found)} entries, expected {n}.")
    return vector([scalar(e, f"{what}, entry {i + 1},") for i, e in enumerate(found)])


def axis(value: Any, what: str) -> Matrix:
    """Read an axis: "x", "-y" or a vector; numbers are scaled to length 1."""
    if isinstance(value, str):
        if value not in AXES:
            raise fault(f'{what} is {value!r:.60}, expected "x", "y", "z", "-x", "-y", "-z" or three entries.')
        return vector(AXES[value])
    a = entries(value, 3, what)
    found = numbers_of(a)
    if found is not None:
        largest = max(map(abs, found))
        if largest == 0:
            raise fault(f'{what} has length 0, expected a direction. Give "y" or (0, 1, 0).')
        if not 1e-3 < largest < 1e3:
            a = vector([x / largest for x in found])  # squares must neither vanish nor overflow
    k = length(a)
    x = k.number
    if x is not None and abs(x - 1) < 1e-15:
        return settled(a)  # so that an axis read again is the same
    return settled(a.map(lambda e: e if e == 0 else e / k))


def rotation(what: str, matrix: Any = None, rpy: Any = None, quaternion: Any = None) -> Matrix:
    """Read a rotation, given in one of three ways or not at all."""
    given = [(name, v) for name, v in (("rotation", matrix), ("rpy", rpy), ("quaternion", quaternion)) if v is not None]
    if len(given) > 1:
        raise fault(f"{what} is turned by {' and '.join(name for name, _ in given)}, expected only one of them.")
    if not given:
        return identity(3)
    name, value = given[0]
    if name == "rpy":
        return settled(roll_pitch_yaw(*entries(value, 3, f"{what}: rpy")))
    if name == "quaternion":
        q = entries(value, 4, f"{what}: quaternion")
        k = length(q)
        if k == 0:
            raise fault(f"{what}: quaternion has length 0, expected a unit quaternion (w, x, y, z).")
        return settled(quaternion_rotation(*(q / k)))
    R = square(value, 3, f"{what}: rotation")
    draw = random.Random(1)
    at = {s: draw.uniform(0.5, 1.5) for s in sorted(free_symbols(R), key=str)}
    *products, determinant = evaluate([*(R @ R.T).entries, R[0] @ cross(R[1], R[2])], at)
    if max(abs(x - (i % 4 == 0)) for i, x in enumerate(products)) > 1e-6 or not determinant > 0:
        raise fault(f"{what}: rotation is not a rotation matrix, expected R R^T = 1 and det R = 1.")
    return R


def settled(R: Matrix) -> Matrix:
    """Clear the rounding dust of sines and cosines of right angles: 6e-17 is 0. Roots become decimals."""

    def settle(e: Expr) -> Expr:
        x = None if isinstance(e, Constant) else e.number
        return whole(e if x is None else as_expr(x), 1e-15)

    return R.map(settle)


def whole(e: Expr, dust: float) -> Expr:
    """Make a whole number of a decimal that is one but for dust."""
    if isinstance(e, Constant) and isinstance(e.value, float) and abs(e.value - round(e.value)) < dust:
        return as_expr(round(e.value))
    return e


def square(values: Any, n: int, what: str) -> Matrix:
    """Read an n x n matrix."""
    try:
        m = as_matrix(values)
    except (TypeError, ValueError):
        raise fault(f"{what} is {values!r:.60}, expected {n} rows of {n} numbers or expressions.") from None
    if m.shape != (n, n):
        raise fault(f"{what} has shape {m.shape}, expected ({n}, {n}).")
    return Matrix(m.shape, [scalar(e, what) for e in m.entries])


def inertia(value: Any, what: str) -> Matrix:
    """Read an inertia about the centre of mass: (xx, yy, zz), (xx, yy, zz, xy, xz, yz) or 3 x 3."""
    if type(value).__module__.startswith("sympy."):
        raise fault(f"{what} is of SymPy, expected entries of Polhode. Give polhode.graph.from_sympy(...) of it.")
    if isinstance(value, (str, Expr)) or not isinstance(value, Iterable):
        raise fault(f"{what} is {value!r:.60}, expected 3 principal moments, 6 entries xx yy zz xy xz yz, or 3 x 3.")
    found = value if isinstance(value, Matrix) else list(value)
    if len(found) in (3, 6) and not any(isinstance(e, Iterable) and not isinstance(e, str) for e in found):
        e = [*entries(found, len(found), what), 0, 0, 0]
        return as_matrix([[e[0], e[3], e[4]], [e[3], e[1], e[5]], [e[4], e[5], e[2]]])
    if len(found) != 3:
        raise fault(
            f"{what} has {len(found)} entries, expected 3 principal moments, 6 entries xx yy zz xy xz yz, or 3 x 3."
        )
    return _symmetric(square(found, 3, what), what)


def _symmetric(m: Matrix, what: str) -> Matrix:
    """Require symmetry to rounding, as R I R^T has it; numbers become the mean of the two."""
    if m == m.T:
        return m
    draw = random.Random(1)
    x = evaluate(m, {s: draw.uniform(0.5, 1.5) for s in sorted(free_symbols(m), key=str)})
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if not abs(x[i, j] - x[j, i]) <= 1e-9 * abs(x).max():
            a, b = "xyz"[i] + "xyz"[j], "xyz"[j] + "xyz"[i]
            raise fault(f"{what} is not symmetric: {a} is {m[i, j]}, {b} is {m[j, i]}.")
    if free_symbols(m):
        return mirrored(m)
    return Matrix(
        m.shape,
        [a if a is b else as_expr((float(a) + float(b)) / 2) for a, b in zip(m.entries, m.T.entries, strict=True)],
    )


def unphysical(mass: Expr, I: Matrix) -> str | None:
    """Say why no body has this mass and this inertia about its centre of mass, or None.

    Moments must not be negative, and none may exceed the sum of the others.
    """
    m = mass.number
    if m is not None and m < 0:
        return f"mass is {m:.6g}, expected 0 or more"
    found = numbers_of(I)
    if found is None:
        return None
    import numpy as np

    moments = np.linalg.eigvalsh(np.reshape(found, (3, 3)))
    listed = ", ".join(f"{x:.4g}" for x in moments)
    slack = 1e-9 * float(np.abs(moments).max())
    if moments[0] < -slack:
        return f"principal moments of inertia are {listed}, expected none below 0"
    if moments[2] > moments[0] + moments[1] + slack:
        return f"principal moments of inertia are {listed}, expected none above the sum of the other two"
    return None
