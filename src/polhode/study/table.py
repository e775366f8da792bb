"""Columns of equal length, by name."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polhode.model.errors import closest
from polhode.model.html import rows
from polhode.view import needed, placed

_SHOWN = 12  # rows in print


class Table(Mapping[str, np.ndarray]):
    """Columns by name: table["m"] is an array, table.row(3) a dict, len(table) the number of columns.

    It has as many `rows` as each of its columns. Texts are arrays of objects.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns: dict[str, np.ndarray] = {}
        for name, values in columns.items():
            array = np.asarray(values)
            array = array.astype(object) if array.dtype.kind in "US" else array
            if array.ndim != 1:
                raise ValueError(f"Table: column {name!r} has shape {array.shape}, expected (k,).")
            self._columns[str(name)] = array
        sizes = {name: len(array) for name, array in self._columns.items()}
        if len({*sizes.values()}) > 1:
            listed = ", ".join(f"{name!r} {size:,}" for name, size in sizes.items())
            raise ValueError(f"Table: columns differ in length: {listed}. Expected the same for all.")
        self.rows = next(iter(sizes.values()), 0)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._columns:
            raise KeyError(f"There is no column {name!r}. {closest(name, list(self._columns))}")
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def row(self, i: int) -> dict[str, Any]:
        """One row by name."""
        return {name: column[i].item() if hasattr(column[i], "item") else column[i] for name, column in self.items()}

    def where(self, chosen: Any) -> Table:
        """The rows that are chosen, by an array of truths or of numbers of rows."""
        return Table({name: column[chosen] for name, column in self.items()})

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        return needed("pandas", "data", "A DataFrame").DataFrame(dict(self))

    def to_csv(self, path: Any) -> None:
        """Write CSV, numbers in full."""
        with placed(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self)
            writer.writerows(zip(*(column.tolist() for column in self.values()), strict=True))

    def to_parquet(self, path: Any) -> None:
        """Write Parquet."""
        pyarrow = needed("pyarrow", "data", "Parquet")
        parquet = needed("pyarrow.parquet", "data", "Parquet")
        parquet.write_table(pyarrow.table({name: column.tolist() for name, column in self.items()}), path)

    def __str__(self) -> str:
        shown = (
            range(self.rows)
            if self.rows <= _SHOWN
            else [*range(_SHOWN // 2), *range(self.rows - _SHOWN // 2, self.rows)]
        )
        lines = [[name, *(_cell(column[i]) for i in shown)] for name, column in self.items()]
        widths = [max(map(len, line)) for line in lines]
        out = [
            "  ".join(line[k].rjust(w) for line, w in zip(lines, widths, strict=True)) for k in range(len(shown) + 1)
        ]
        if self.rows > _SHOWN:
            out.insert(1 + _SHOWN // 2, f"... {self.rows - _SHOWN:,} more rows")
        return "\n".join(line.rstrip() for line in out)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """What a notebook shows: its first rows."""
        return rows(self, (map(_cell, self.row(k).values()) for k in range(self.rows)))


def joined(tables: Sequence[Mapping[str, np.ndarray]], last: Sequence[str]) -> dict[str, np.ndarray]:
    """Tables one below the other, with NaN in columns that one of them has not; the columns `last` come last."""
    names = [name for name in dict.fromkeys(name for table in tables for name in table) if name not in last]
    sizes = [len(table[last[0]]) for table in tables]
    return {
        name: np.concatenate(
            [table.get(name, np.full(size, np.nan)) for table, size in zip(tables, sizes, strict=True)]
        )
        for name in (*names, *last)
    }


def _cell(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return str(value)
