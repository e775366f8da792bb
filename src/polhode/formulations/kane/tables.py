"""Tables of partial velocities, for reading: a row for each speed, a column for each point and body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, cross, jacobian, latex, symbol
from polhode.graph.algebra import signed
from polhode.graph.compact import compact
from polhode.kinematics import Motion
from polhode.model.body import WORLD
from polhode.spatial import Pose


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Partial velocities of a point, or partial angular velocities of a body.

    symbol : "v" or "w"
    of     : what moves
    axes   : the frame whose axes the components are along
    values : (3, nu)
    """

    symbol: str
    of: str
    axes: str
    values: Matrix

    @property
    def title(self) -> str:
        return f"{self.symbol}_r {self.of}"


@dataclass(frozen=True, kw_only=True)
class PartialTable:
    """Prints as a table; `latex()` writes one; `table["u1", "v_r P1"]` is an entry, (3,)."""

    speeds: tuple[str, ...]
    columns: tuple[Column, ...]

    def __getitem__(self, place: tuple[str, str]) -> Matrix:
        speed, title = place
        column = next((c for c in self.columns if c.title == title), None)
        if speed not in self.speeds or column is None:
            raise KeyError(
                f"There is no entry {place!r}: rows are {', '.join(self.speeds)}, "
                f"columns {', '.join(repr(c.title) for c in self.columns)}."
            )
        found: Matrix = column.values[:, self.speeds.index(speed)]
        return found

    def __str__(self) -> str:
        rows = [["", *(c.title for c in self.columns)]]
        for r, speed in enumerate(self.speeds):
            rows.append([speed, *(_text(c.values[:, r], c.axes) for c in self.columns)])
        widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)

    __repr__ = __str__

    def latex(self) -> str:
        """The table as a LaTeX array, in the manner of the paper."""
        heads = [rf"{_SIGN[c.symbol]}_r^{{{_named(c.of)}}}" for c in self.columns]
        lines = [" & ".join(["", *heads]) + r" \\ \hline"]
        for r, speed in enumerate(self.speeds):
            cells = [_latex(c.values[:, r], c.axes) for c in self.columns]
            lines.append(" & ".join([f"{_named(speed)}", *cells]) + r" \\")
        return "\n".join([rf"\begin{{array}}{{c|{'c' * len(heads)}}}", *lines, r"\end{array}"])

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def partial_table(
    kin: Motion,
    centers: dict[str, Matrix],
    points: Sequence[str] | None = None,
    bodies: Sequence[str] | None = None,
    axes: str | None = None,
) -> PartialTable:
    """Tabulate partial velocities of points, and partial angular velocities of bodies.

    centers : mass centres by body, in its axes
    points  : markers, bodies (their origins) or mass centres "<body>_o"; None for all mass centres
    bodies  : None for those that have one
    axes    : a marker, body or "world"; None for the axes of what moves
    """
    found = []
    known = {f"{name}_o": (name, c) for name, c in centers.items()}
    for name in known if points is None else points:
        frame, offset = known.get(name, (name, None))
        V = kin.velocity(frame, axes="marker")
        v = V.v if offset is None else V.v + cross(V.w, offset)
        found.append(_column(kin, "v", name, frame, v, axes))
    for name in centers if bodies is None else bodies:
        found.append(_column(kin, "w", name, name, kin.velocity(name, axes="marker").w, axes))
    return PartialTable(speeds=tuple(str(u.value) for u in kin.u), columns=tuple(found))


def _column(kin: Motion, sign: str, of: str, frame: str, components: Matrix, axes: str | None) -> Column:
    turned = components if axes is None else _relative(kin, axes, frame) @ components
    values = compact(jacobian(compact(turned), kin.u))
    return Column(symbol=sign, of=of, axes=axes or kin.model.frame(frame)[0], values=_own(kin, frame, axes) @ values)


def _own(kin: Motion, frame: str, axes: str | None) -> Matrix:
    """Markers are shown in the axes of their body unless others are asked for."""
    return Pose.identity().R if axes is not None else kin.model.frame(frame)[1].R


def _relative(kin: Motion, a: str, b: str) -> Matrix:
    """Rotation R_AB of two frames, by way of the last link that carries both."""
    (i, X_A), (j, X_B) = kin.frame(a), kin.frame(b)
    shared = kin.joints.carriers_of_both(i, j)
    both = []
    for k, X in ((i, X_A), (j, X_B)):
        R = X.R
        for link in kin.joints.ancestors(k):
            if link in shared:
                break
            R = kin.joints.links[link].X.R @ R
        both.append(R)
    found: Matrix = both[0].T @ both[1]
    return found


_SIGN = {"v": r"\mathbf{v}", "w": r"\boldsymbol{\omega}"}


def unit_names(frame: str) -> list[str]:
    """b1, b2, b3 for the axes of B, n1, n2, n3 for those of the world, gripper.x, ... for longer names."""
    letter = "n" if frame == WORLD else frame.lower()
    return [f"{letter}{i}" for i in (1, 2, 3)] if len(letter) == 1 else [f"{frame}.{x}" for x in "xyz"]


def _text(components: Matrix, frame: str) -> str:
    def factor(size: Expr) -> str:
        return f"({size})*" if size.op in ("add", "sub") else f"{size}*"

    return _sum(components, unit_names(frame), factor) or "0"


def _latex(components: Matrix, frame: str) -> str:
    units = []
    for name in unit_names(frame):
        letter, index = (name[0], name[1:]) if len(name) == 2 else (rf"\text{{{name.split('.')[0]}}}", name[-1])
        units.append(f"\\mathbf{{{letter}}}_{{{index}}}")
    return _sum(components, units, _bracketed) or r"\mathbf{0}"


def _sum(components: Matrix, units: list[str], factor: Callable[[Expr], str]) -> str:
    """The sum of the components that are not 0, each before its unit vector."""
    found = ""
    for e, unit in zip(components, units, strict=True):
        if e != 0:
            minus, size = signed(e)
            found += (" - " if minus else " + ") + ("" if size == 1 else factor(size)) + unit
    return f"-{found[3:]}" if found.startswith(" -") else found[3:]


def _bracketed(e: Expr) -> str:
    written = str(latex(e))
    return rf"\left({written}\right) " if e.op in ("add", "sub") else f"{written} "


def _named(name: str) -> str:
    return str(latex(symbol(name)))
