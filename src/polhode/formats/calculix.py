"""Matrices of CalculiX: mass and stiffness as `*FREQUENCY, SOLVER=MATRIXSTORAGE` writes them, and the mesh."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polhode.model import ModelError
from polhode.model.errors import closest
from polhode.model.nodal import Nodal
from polhode.model.nodal_input import flexible
from polhode.model.reduction import DENSE, LARGEST
from polhode.model.reduction import MOST as MOST_ROWS

from .calculix_mesh import Mesh, read_mesh

MOST = 2**28  # bytes of one file


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Matrices:
    """What CalculiX wrote of a structure, in its axes and units.

    source          : the name of its .inp
    numbers         : CalculiX's numbers of the n nodes, in the order of the rows
    nodes           : (n, 3)
    mass, stiffness : (3 n, 3 n), node by node; sparse where they are large
    sets            : places among `numbers` of the nodes of each *NSET
    edges, outline  : pairs of such places: what elements join, and what a picture shows
    """

    source: str
    numbers: tuple[int, ...]
    nodes: np.ndarray
    mass: Any
    stiffness: Any
    sets: dict[str, tuple[int, ...]]
    edges: tuple[tuple[int, int], ...]
    outline: tuple[tuple[int, int], ...]

    def __repr__(self) -> str:
        return f"matrices of {self.source!r}: {len(self.nodes)} nodes, sets {', '.join(self.sets) or 'none'}"

    def flexible(
        self, *, root: str | int, interfaces: Sequence[str | int] = (), modes: int = 6, origin: Any = None,
        keep: int | None = None, damping: Any = 0.0, order: str = "first", rotation: str = "proper",
    ) -> Nodal:  # fmt: skip
        """Reduce it to a flexible body that is clamped at its root.

        root       : an *NSET, whose nodes are clamped to the body's frame
        interfaces : *NSETs or numbers of nodes that carry joints or loads. A set moves as its nodes do on average, and
                     turns with them
        origin     : where the body's frame is, in the axes of CalculiX; None for the mean place of the root
        order      : "full", as long as nothing is known of the second order: see `polhode.flexible`
        """
        held = self._members(root, "root")
        at = self.nodes[list(held)].mean(axis=0) if origin is None else np.asarray(origin, dtype=float)
        named = {str(name): self._members(name, "interface") for name in interfaces}
        return flexible(
            self.nodes - at, mass=self.mass, stiffness=self.stiffness, modes=modes, root=held, interfaces=named,
            keep=keep, damping=damping, edges=self.edges, outline=self.outline, order=order, rotation=rotation,
        )  # fmt: skip

    def _members(self, name: str | int, what: str) -> tuple[int, ...]:
        if isinstance(name, int):
            if name not in self.numbers:
                raise ModelError([f"{what}: there is no node {name}."], self.source)
            return (self.numbers.index(name),)
        found = self.sets.get(str(name).upper())
        if not found:
            raise ModelError(
                [f"{what}: there is no *NSET {name!r}. {closest(str(name).upper(), self.sets)}"], self.source
            )
        return found


def load_calculix(path: str | Path) -> Matrices:
    """Read NAME.inp, NAME.dof, NAME.sti and NAME.mas, the last three also as NAME.dof.gz, ...

    Let CalculiX write them with a step of its own, of a structure that nothing holds:

        *STEP
        *FREQUENCY, SOLVER=MATRIXSTORAGE
        *END STEP

    Elements are solids (C3D4 to C3D20). Supports, *EQUATION, *TIE and *RIGID BODY take rows away from the matrices,
    with their mass: leave them out, and clamp the root here.
    """
    path = Path(path)
    path = path if path.suffix == ".inp" else path.with_name(path.name + ".inp")
    mesh = read_mesh(_text(path), str(path))
    rows = _rows(path, mesh)
    numbers = tuple(dict.fromkeys(node for node, _ in rows))
    place = {node: i for i, node in enumerate(numbers)}
    order = np.array([3 * place[node] + axis - 1 for node, axis in rows])
    mass, stiffness = (_matrix(path.with_suffix(end), order, 3 * len(numbers)) for end in (".mas", ".sti"))
    return Matrices(
        source=str(path),
        numbers=numbers,
        nodes=np.array([mesh.nodes[i] for i in numbers]),
        mass=mass,
        stiffness=stiffness,
        sets={name: tuple(place[i] for i in among if i in place) for name, among in mesh.sets.items()},
        edges=tuple((place[a], place[b]) for a, b in mesh.edges()),
        outline=tuple((place[a], place[b]) for a, b in mesh.outline()),
    )


def _rows(path: Path, mesh: Mesh) -> list[tuple[int, int]]:
    """Which node and direction each row of the matrices is, all of them there."""
    at = path.with_suffix(".dof")
    rows = []
    for line, text in enumerate(_text(at).split(), 1):
        first, _, second = text.partition(".")
        if not (first.isdecimal() and second.isdecimal()):
            raise ModelError([f"line {line} is {text!r:.40}, expected a node and a direction as 12.3."], str(at))
        rows.append((int(first), int(second)))
    if len(rows) > MOST_ROWS:
        raise ModelError([f"has {len(rows)} rows, expected at most {MOST_ROWS}. Mesh coarser."], str(at))
    for node, axis in rows:
        if node not in mesh.nodes:
            raise ModelError(
                [
                    f"node {node} is not in {path.name}: CalculiX makes such nodes of beams and shells. Mesh them with "
                    "solids, or make beams with polhode.Frame."
                ],
                str(at),
            )
        if axis not in (1, 2, 3):
            raise ModelError([f"node {node} has direction {axis}, expected 1, 2 and 3."], str(at))
    known = {*rows}
    for node in sorted({i for element in mesh.elements for i in element.nodes}):
        missing = [axis for axis in (1, 2, 3) if (node, axis) not in known]
        if missing:
            raise ModelError(
                [
                    f"node {node} has no row for direction {missing[0]}: something holds it, and its mass is lost. "
                    "Leave *BOUNDARY, *EQUATION, *TIE and *RIGID BODY out of the run that writes the matrices, "
                    "and clamp it with root=."
                ],
                str(at),
            )
    return rows


def _matrix(path: Path, order: np.ndarray, size: int) -> Any:
    """A symmetric matrix of lines `row column value`, of which one triangle is written."""
    text = _text(path)
    try:
        table = np.array(text.split(), dtype=float).reshape(-1, 3)
    except ValueError:
        raise ModelError(["has something else than lines of a row, a column and a number."], str(path)) from None
    i, j = table[:, 0].astype(int) - 1, table[:, 1].astype(int) - 1
    if len(table) and (min(i.min(), j.min()) < 0 or max(i.max(), j.max()) >= len(order)):
        raise ModelError(
            [f"has row {max(i.max(), j.max()) + 1}, expected 1 to {len(order)} as in {path.with_suffix('.dof').name}."],
            str(path),
        )
    if size > DENSE:
        return _sparse(
            np.concatenate([order[i], order[j]]), np.concatenate([order[j], order[i]]), table[:, 2], size, path
        )
    found = np.zeros((size, size))
    found[order[i], order[j]] = table[:, 2]
    found[order[j], order[i]] = table[:, 2]
    return found


def _sparse(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, size: int, path: Path) -> Any:
    """Both triangles, what is on the diagonal once; an array where SciPy is missing."""
    kept = np.concatenate([np.full(len(values), True), rows[: len(values)] != columns[: len(values)]])
    rows, columns, values = rows[kept], columns[kept], np.concatenate([values, values])[kept]
    try:
        from scipy.sparse import coo_matrix
    except ImportError:
        if size > LARGEST:
            said = f"has {size} rows, expected at most {LARGEST} without SciPy. Install scipy, or mesh coarser."
            raise ModelError([said], str(path)) from None
        found = np.zeros((size, size))
        found[rows, columns] = values
        return found
    return coo_matrix((values, (rows, columns)), shape=(size, size)).tocsr()


def _text(path: Path) -> str:
    packed = path.with_name(path.name + ".gz")
    try:
        if path.exists() or not packed.exists():
            raw = path.read_bytes()
        else:
            with gzip.open(packed) as stream:
                raw = stream.read(MOST + 1)
    except FileNotFoundError:
        raise ModelError(
            [
                "there is no such file. CalculiX writes .sti, .mas and .dof beside the .inp in a step with "
                "*FREQUENCY, SOLVER=MATRIXSTORAGE."
            ],
            str(path),
        ) from None
    except OSError as error:
        raise ModelError([f"the file cannot be read: {error.strerror or error}."], str(path)) from None
    if len(raw) > MOST:
        raise ModelError([f"the file has more than {MOST:,} bytes."], str(path))
    return raw.decode("utf-8", errors="replace")
