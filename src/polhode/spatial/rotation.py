"""Rotation matrices R_AB: their columns are the axes of B in A."""

from __future__ import annotations

from polhode.graph import Constant, Expr, Matrix, as_expr, as_matrix, cos, matrix, sin, sqrt
from polhode.graph.matrix import Entries, dot
from polhode.graph.node import Operand


def skew(a: Matrix | Entries) -> Matrix:
    """Make the 3 x 3 matrix with skew(a) @ b = a x b."""
    x, y, z = as_matrix(a)
    return matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def length(a: Matrix) -> Expr:
    """The length of a vector, exactly 1 where only rounding says otherwise."""
    k = sqrt(a @ a)
    return as_expr(1) if isinstance(k, Constant) and abs(k.value - 1) < 1e-15 else k


def axis_angle(axis: Matrix | Entries, angle: Operand) -> Matrix:
    """Rotate about an axis of any length: R = exp(skew(axis) angle).

    With k = |axis|: R = 1 + sin(k angle)/k skew(a) + (1 - cos(k angle))/k^2 skew(a)^2.
    """
    a = as_matrix(axis)
    k = length(a)
    unit = a / k
    s, c = sin(k * as_expr(angle)), cos(k * as_expr(angle))
    d = 1 - c
    # products with matrices: an exact zero stays so, also where the angle has a pole
    across, turn = matrix([[x * y for y in unit] for x in unit]) * d, skew(unit) * s

    # the diagonal as x^2 + (1 - x^2) c, so that a unit axis leaves 1 and c exactly
    def diagonal(i: int) -> Expr:
        return as_expr(1) if unit[i] in (1, -1) else c + across[i, i]

    return matrix([[diagonal(i) if i == j else across[i, j] + turn[i, j] for j in range(3)] for i in range(3)])


def roll_pitch_yaw(roll: Operand, pitch: Operand, yaw: Operand) -> Matrix:
    """Rotate about the fixed x, y and z axes in turn: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    x, y, z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
    turned: Matrix = axis_angle(z, yaw) @ axis_angle(y, pitch) @ axis_angle(x, roll)
    return turned


def quaternion_rotation(w: Operand, x: Operand, y: Operand, z: Operand) -> Matrix:
    """Make the rotation matrix of a unit quaternion."""
    w, x, y, z = (as_expr(e) for e in (w, x, y, z))
    return matrix(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_rates(w: Operand, x: Operand, y: Operand, z: Operand) -> Matrix:
    """Make the 4 x 3 matrix from the body's angular velocity to the rates of (w, x, y, z)."""
    w, x, y, z = (as_expr(e) for e in (w, x, y, z))
    return matrix([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2


def turned(R: Matrix, A: Matrix) -> Matrix:
    """R A R^T; with a turn about one axis in four multiplications for the block across it.

    For rows (a, b) and s (-b, a) of the turn, a^2 + b^2 = 1 and u = a (A11 - A22) + b (A12 + A21):
    A11' = A22 + a u, A22' = A11 - a u, A12' = s (A12 - b u), A21' = s (A21 - b u).
    """
    plane = _plane(R)
    if plane is None:
        whole: Matrix = R @ A @ R.T
        return whole
    (i, j, k), sign, axis_sign = plane
    a, b = R[i, 0], R[i, 1]
    u = dot([a, b], [A[0, 0] - A[1, 1], A[0, 1] + A[1, 0]])  # a sum of products in which 0 is 0
    au, bu = dot([a], [u]), dot([b], [u])
    found: dict[tuple[int, int], Expr] = {(i, i): A[1, 1] + au, (j, j): A[0, 0] - au, (k, k): A[2, 2]}
    found[i, j], found[j, i] = ((A[x, y] - bu) * sign for x, y in ((0, 1), (1, 0)))
    for edge, place in ((A[:2, 2], lambda r: (r, k)), (A[2, :2], lambda r: (k, r))):
        x, y = edge
        found[place(i)] = dot([a, b], [x, y]) * axis_sign
        found[place(j)] = dot([a, -b], [y, x]) * (sign * axis_sign)
    return matrix([[found[r, c] for c in range(3)] for r in range(3)])


def _plane(R: Matrix) -> tuple[tuple[int, int, int], int, int] | None:
    """See R as a turn about z and a permutation of axes: rows (i, j, k), signs; None where it is more."""
    k = next((r for r in range(3) if R[r, 2] in (1, -1) and R[r, 0] == 0 and R[r, 1] == 0), None)
    if k is None:
        return None
    i, j = (r for r in range(3) if r != k)
    if R[i, 2] != 0 or R[j, 2] != 0:
        return None
    a, b, c, d = R[i, 0], R[i, 1], R[j, 0], R[j, 1]
    if a.op == "const" or b.op == "const":
        return None  # nothing turns
    if c is -b and d is a:
        return (i, j, k), 1, int(R[k, 2].value)
    return ((i, j, k), -1, int(R[k, 2].value)) if c is b and d is -a else None
