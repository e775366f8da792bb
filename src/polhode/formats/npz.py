"""Flexible bodies of nodes as files of arrays: NumPy's .npz, without pickles."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np

from polhode.model import ModelError, Nodal
from polhode.model.flexible import ORDERS, ROTATIONS
from polhode.model.nodal import Region
from polhode.model.nodal_moments import Fields, Moments

FORMAT = "polhode flexible body 1"
_MOMENTS = tuple(field.name for field in fields(Moments))


def save_flexible(body: Nodal, path: str | Path) -> None:
    """Write a flexible body of nodes, all of it, to NAME.npz."""
    if not isinstance(body, Nodal):
        raise TypeError(f"save_flexible: {type(body).__name__}, expected what flexible, Frame or load_calculix made.")
    told = {
        "format": FORMAT,
        "names": body.names,
        "order": body.order,
        "rotation": body.rotation,
        "regions": {name: region.nodes for name, region in body.regions.items()},
    }
    arrays = {name: getattr(body.moments, name) for name in _MOMENTS}
    arrays |= {name: getattr(body, name) for name in ("nodes", "shapes", "rotations", "rigidity", "losses")}
    if body.second is not None:
        arrays["second"] = body.second
    if body.fields is not None:
        arrays["fields_A"] = body.fields.A
        arrays |= {f"fields_{name}": getattr(body.fields.whole, name) for name in _MOMENTS}
    arrays["edges"] = np.array(body.edges, dtype=int).reshape(-1, 2)
    arrays["told"] = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
    with Path(path).open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def load_flexible(path: str | Path) -> Nodal:
    """Read what `save_flexible` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        told = json.loads(arrays["told"].tobytes())
        found = _body(arrays, told)
    except FileNotFoundError:
        raise ModelError(["there is no such file."], str(path)) from None
    except (OSError, KeyError, ValueError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            ["is no flexible body, expected a file that polhode.save_flexible wrote."], str(path)
        ) from None
    faults = _faults(found)
    if faults:
        raise ModelError(faults, str(path))
    return found


def arrays_beside(path: Path) -> Callable[[str, str], Nodal]:
    """Finds flexible bodies in the folder of a file, by their names."""

    def found(name: str, what: str) -> Nodal:
        try:
            return load_flexible(path.parent / name)
        except ModelError as error:
            raise ModelError([f"{what}: file {name!r}: {text}" for text in error.faults]) from None

    return found


def _body(arrays: dict[str, np.ndarray], told: dict[str, object]) -> Nodal:
    if told["format"] != FORMAT:
        raise ValueError
    regions: dict[str, list[int]] = told["regions"]  # type: ignore[assignment]
    nodes = arrays["nodes"]
    return Nodal(
        names=tuple(map(str, told["names"])),  # type: ignore[call-overload]
        nodes=nodes,
        shapes=arrays["shapes"],
        rotations=arrays["rotations"],
        second=arrays.get("second"),
        moments=Moments(**{name: arrays[name] for name in _MOMENTS}),
        rigidity=arrays["rigidity"],
        losses=arrays["losses"],
        regions={
            name: Region(at=nodes[list(among)].mean(axis=0), nodes=tuple(among)) for name, among in regions.items()
        },
        edges=tuple((int(a), int(b)) for a, b in arrays["edges"]),
        order=str(told["order"]),
        rotation=str(told["rotation"]),
        fields=_fields(arrays) if "fields_A" in arrays else None,
    )


def _fields(arrays: dict[str, np.ndarray]) -> Fields:
    return Fields(A=arrays["fields_A"], whole=Moments(**{name: arrays[f"fields_{name}"] for name in _MOMENTS}))


def _faults(body: Nodal) -> list[str]:
    """Arrays that do not fit each other."""
    n, m = len(body.nodes), len(body.names)
    wanted = {"nodes": (n, 3), "shapes": (n, 3, m), "rotations": (n, 3, m), "rigidity": (m, m), "losses": (m, m)}
    wanted |= {"second": (n, 3, m, m)} if body.second is not None else {}
    given = {name: (getattr(body, name), shape) for name, shape in wanted.items()}
    given |= _shapes(body.moments, m, "")
    if body.fields is not None:
        r = len(body.fields.A) if body.fields.A.ndim else 0
        given |= {"fields_A": (body.fields.A, (r, m, m)), **_shapes(body.fields.whole, m + r, "fields_")}
    found = []
    for name, (array, shape) in given.items():
        if array.shape != shape or array.dtype.kind != "f":
            found.append(f"array {name!r} has shape {array.shape} of {array.dtype}, expected {shape} of float64.")
        elif name != "rotations" and not np.isfinite(array).all():
            found.append(f"array {name!r} has numbers that are not finite.")
    if body.order not in ORDERS or body.rotation not in ROTATIONS:
        found.append(f"order {body.order!r:.30} and rotation {body.rotation!r:.30}, expected such as first and proper.")
    if body.fields is not None and body.order != "second":
        found.append(f'it has fields, which belong to order "second", found {body.order!r:.30}.')
    if any(not 0 <= i < n for pair in body.edges for i in pair):
        found.append(f"edges lead to nodes that are not there, expected 0 to {n - 1}.")
    return found


def _shapes(moments: Moments, m: int, before: str) -> dict[str, tuple[np.ndarray, tuple[int, ...]]]:
    """Arrays of moments of m modes by name, and the shapes that they should have."""
    wanted: dict[str, tuple[int, ...]] = {
        "m": (), "h": (3,), "S": (3, 3), "P": (m, 3), "C1": (m, 3, 3), "C2": (m, m, 3, 3), "H2": (m, m, 3),
        "G2": (m, m, 3, 3),
    }  # fmt: skip
    return {before + name: (getattr(moments, name), shape) for name, shape in wanted.items()}
