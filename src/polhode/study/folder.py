"""The folder of a study: a manifest, and a file for each chunk, which is there whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from numbers import Number
from pathlib import Path
from types import CodeType, NoneType, SimpleNamespace
from typing import Any

import numpy as np

from polhode.formats.toml_writer import write_toml
from polhode.graph import Expr

from .runs import Columns, Plan

_MANIFEST = "study.json"
_VALUES = (int, float, complex, str, bytes, NoneType, np.generic, np.ndarray, Number, Expr)


class Folder:
    """Where the chunks of one study are. Another study in the same folder is refused."""

    def __init__(self, path: Any, plan: Plan, chunk: int | None, usual: int) -> None:
        self.path = Path(path)
        parts = fingerprint(plan)
        manifest = self.path / _MANIFEST
        if manifest.exists():
            try:
                known = json.loads(manifest.read_text(encoding="utf-8"))
                self.chunk = int(known["chunk"])
                before = dict(known["parts"])
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{manifest} is no manifest of a study. Give another folder, or remove it.") from None
            differ = [name for name in parts if before.get(name) != parts[name]]
            differ += ["chunk"] if chunk not in (None, self.chunk) else []
            if differ:
                raise ValueError(
                    f"Folder {str(self.path)!r} holds another study: {', '.join(differ)} differ. Give out= another "
                    "folder, or remove this one to start anew."
                )
            return
        self.path.mkdir(parents=True, exist_ok=True)
        if any(self.path.iterdir()):
            raise ValueError(f"Folder {str(self.path)!r} is not empty, and has no study. Give out= another folder.")
        self.chunk = chunk or usual
        whole = {"model": plan.dynamics.equations.model.name, "runs": plan.over.rows, "chunk": self.chunk}
        whole |= {"over": list(plan.over), "keep": [k.name for k in plan.kept], "parts": parts}
        _replace(manifest, json.dumps(whole, indent=2).encode())

    def file(self, k: int) -> Path:
        return self.path / f"chunk-{k:06d}.npz"

    def read(self, k: int) -> Columns | None:
        """A chunk that is there, None where it is not or is no file of numbers."""
        try:
            with np.load(self.file(k), allow_pickle=False) as file:
                order = [str(name) for name in file["names"]]
                found = {name: file[f"column {i}"] for i, name in enumerate(order)}
        except (OSError, ValueError, KeyError, EOFError):
            return None
        return {name: a.astype(object) if a.dtype.kind == "U" else a for name, a in found.items()}

    def write(self, k: int, columns: Columns) -> None:
        """Write a chunk beside its place, then put it there at once."""
        import io

        buffer = io.BytesIO()
        arrays = [a.astype(str) if a.dtype == object else a for a in columns.values()]
        np.savez(buffer, names=np.array(list(columns)), **{f"column {i}": a for i, a in enumerate(arrays)})  # type: ignore[arg-type]
        _replace(self.file(k), buffer.getvalue())


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def fingerprint(plan: Plan) -> dict[str, str]:
    """What a result depends on, each part by its hash: another one is another study."""
    eq, dyn = plan.dynamics.equations, plan.dynamics
    try:
        model = write_toml(eq.model)
    except (ValueError, KeyError, TypeError):  # a model that no file can hold
        model = f"{eq.model!r} {eq.M} {eq.c} {eq.Q}"
    values = sorted((str(s), str(e)) for s, e in dyn.values.items())
    over = [(name, column.tolist()) for name, column in plan.over.items()]
    return {
        "model": _hash(model, eq.method, values, dyn.target),
        "over": _hash(over),
        "run": _hash(plan.run),
        "keep": _hash([(k.name, k.text, [(r.kind, r.inside) for r in k.reductions], k.function) for k in plan.kept]),
        "versions": f"polhode {_version()}, numpy {np.__version__}",
    }


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("polhode")
    except PackageNotFoundError:
        return "source"


def _hash(*parts: Any) -> str:
    return hashlib.sha256(_plain(parts).encode()).hexdigest()[:16]


def _plain(part: Any) -> str:
    """Text that is the same in every process: arrays in full, functions by their code."""
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, np.ndarray):
        return f"array{part.shape}{part.tolist()}"
    if isinstance(part, Mapping):
        return "{" + ",".join(f"{_plain(k)}:{_plain(v)}" for k, v in part.items()) + "}"
    if isinstance(part, (list, tuple)):
        return "[" + ",".join(map(_plain, part)) + "]"
    if isinstance(part, (set, frozenset)):
        return "{" + ",".join(sorted(map(_plain, part))) + "}"
    if isinstance(part, Expr):
        return f"expression {part}"
    if isinstance(getattr(part, "__code__", None), CodeType):
        held = [_known(cell.cell_contents) for cell in part.__closure__ or ()]
        held += [_held(part.__self__)] if hasattr(part, "__self__") else []
        named = getattr(part, "__globals__", {})
        held += [(name, _known(named[name])) for name in sorted(_names(part.__code__)) if name in named]
        defaults = (part.__defaults__ or (), part.__kwdefaults__ or {})
        return f"function {_plain(part.__code__)} {_plain(held)} {_plain(defaults)}"
    if isinstance(part, CodeType):
        return f"{part.co_code.hex()} {_plain(part.co_consts)} {part.co_names}"
    if is_dataclass(part) and not isinstance(part, type):
        return f"{type(part).__name__}{_plain({each.name: getattr(part, each.name) for each in fields(part)})}"
    if isinstance(part, partial):
        return f"partial{_plain((part.func, part.args, part.keywords))}"
    own = type(part).__mro__[:-1]
    if not any("__repr__" in vars(each) for each in own):  # that of `object` has its address, which differs
        called = [vars(each)["__call__"] for each in own if "__call__" in vars(each)]
        return f"{type(part).__name__}{_held(part)}{_plain(called[:1])}"
    return repr(part)


def _held(part: Any) -> str:
    """What an object holds, by name."""
    return _plain({name: _known(value) for name, value in getattr(part, "__dict__", {}).items()})


def _known(value: Any) -> Any:
    """Numbers, texts, expressions and what holds them; of other things the type alone."""
    if isinstance(value, (Mapping, SimpleNamespace)):
        value = value if isinstance(value, Mapping) else vars(value)
        return {_plain(_known(key)): _known(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [*map(_known, value)]
    if isinstance(value, (set, frozenset)):
        return {_plain(_known(each)) for each in value}
    if is_dataclass(value) and not isinstance(value, type) and not type(value).__module__.startswith("polhode."):
        return {each.name: _known(getattr(value, each.name)) for each in fields(value)}
    return value if isinstance(value, _VALUES) else type(value).__name__


def _names(code: CodeType) -> set[str]:
    """The names that code and the functions in it look up."""
    inner = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return {*code.co_names}.union(*inner)
