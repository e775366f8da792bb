"""Small changes of coordinates: their own, and for a unit quaternion three turns about the axes of its body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, diff_along, matrix, vector, zeros

from .numeric import unit_quaternions
from .tree import Kinematics


@dataclass(frozen=True, kw_only=True)
class Small:
    """dq = T(q) r, where r are coordinates or turns.

    names  : of r, (nx,)
    T      : (nq, nx), expressions; constant but for quaternions, in which it is linear
    blocks : of each quaternion its place in q, in r, and T there, (4, 3)
    places : of each coordinate its place in r, of the first turn for those of a quaternion, (nq,)
    """

    q: tuple[Expr, ...]
    names: tuple[str, ...]
    T: Matrix
    blocks: tuple[tuple[int, int, Matrix], ...]
    places: tuple[int, ...]

    def slopes(self, rows: Matrix) -> Matrix:
        """d rows / dr, (len(rows), nx)."""
        columns: list[Matrix] = []
        for column in self.T.T.rows():
            moving = [k for k, e in enumerate(column) if e != 0]
            found: Matrix = diff_along(rows, [self.q[k] for k in moving], [column[k] for k in moving])
            columns.append(found)
        return matrix(columns).T if columns else zeros(len(rows), 0)

    def pulled(self, slopes: Sequence[Expr]) -> Matrix:
        """T^T times slopes by the coordinates, (nx,)."""
        found: Matrix = self.T.T @ vector(slopes) if self.names else vector([])
        return found


def small_changes(kin: Kinematics) -> Small:
    """The small changes of the coordinates of a machine."""
    q, starts = [str(s.value) for s in kin.q], unit_quaternions(kin)
    inside = {place: start for start in starts for place in range(start, start + 4)}
    names: list[str] = []
    columns: list[list[Expr]] = []
    blocks: list[tuple[int, int, Matrix]] = []
    places: list[int] = []
    for place, name in enumerate(q):
        first = inside.get(place, place)
        places.append(len(names) if first == place else places[-1])
        if place not in inside:
            names.append(name)
            columns.append([as_expr(int(k == place)) for k in range(len(q))])
        elif first == place:
            speeds = [j for j in range(len(kin.u)) if any(kin.N[place + k, j] != 0 for k in range(4))]
            block = kin.N[place : place + 4, speeds[0] : speeds[-1] + 1]
            assert speeds == list(range(speeds[0], speeds[0] + 3)), "a quaternion has three speeds"
            blocks.append((place, len(names), block))
            for k, j in enumerate(speeds):
                turn = f"turn_{kin.u[j].value}"
                while turn in q:
                    turn = f"{turn}_"
                names.append(turn)
                columns.append([block[i - place, k] if inside.get(i) == place else as_expr(0) for i in range(len(q))])
    T = matrix(columns).T if columns else zeros(len(q), 0)
    return Small(q=tuple(kin.q), names=tuple(names), T=T, blocks=tuple(blocks), places=tuple(places))
