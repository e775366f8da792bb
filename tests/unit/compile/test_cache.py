"""The cache of object code: filled once, checked, private."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polhode.compile import compile, native
from polhode.compile.targets.llvm import jit
from polhode.graph import sin, symbols

X, Y = symbols("x y")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "new" / "cache"
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(path))
    return path


def build(k=3):
    """Compile for one state and for a batch; count what was really compiled."""
    before = native.compilations
    f = compile([X, Y], sin(X) * Y + k)
    assert f(0.5, 2.0) == pytest.approx(2 * np.sin(0.5) + k, rel=1e-15)
    np.testing.assert_allclose(f(np.full(9, 0.5), 2.0), 2 * np.sin(0.5) + k, rtol=1e-15)
    return native.compilations - before


def test_second_time_compiles_nothing(folder):
    assert build() == 2
    assert build() == 0


SCRIPT = """
import numpy as np
from polhode.compile import compile, native
from polhode.graph import sin, symbols
x, y = symbols("x y")
f = compile([x, y], sin(x) * y + 3)
f(0.5, 2.0), f(np.ones(9), 2.0)
print(native.compilations)
"""


def test_second_process_compiles_nothing(folder):
    counts = [
        int(subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    ]
    assert counts == [2, 0]


def test_different_functions_do_not_meet(folder):
    assert build(3) == 2
    assert build(4) == 2


def test_layout_is_part_of_the_key(folder):
    z = symbols("x y")
    f = compile([list(z)], X - 2 * Y)
    g = compile([Y, X], X - 2 * Y)
    h = compile([X, Y], X - 2 * Y)
    assert (f(np.array([1.0, 5.0])), g(1.0, 5.0), h(1.0, 5.0)) == (-9, 3, -9)


def damage(path, how):
    content = path.read_bytes()
    changed = {
        "empty": b"",
        "short": content[:20],
        "truncated": content[:-1],
        "flipped": content[:100] + bytes([content[100] ^ 1]) + content[101:],
        "longer": content + b"\0",
        "other": b"x" * len(content),
    }[how]
    path.write_bytes(changed)


@pytest.mark.parametrize("how", ["empty", "short", "truncated", "flipped", "longer", "other"])
def test_damaged_entries_are_compiled_again(folder, how):
    build()
    for path in folder.glob("*.o"):
        damage(path, how)
    assert build() == 2
    assert build() == 0


def test_folder_is_private(folder):
    build()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(p.stat().st_mode) & 0o077 == 0 for p in folder.iterdir())


def test_folder_others_can_write_is_not_trusted(folder):
    build()
    folder.chmod(0o777)
    assert build() == 2


def test_entries_are_complete_files_only(folder):
    build()
    assert {p.suffix for p in folder.iterdir()} == {".o"}


@pytest.mark.parametrize("obstacle", ["file", "read-only"])
def test_folder_that_cannot_be_written_is_no_error(folder, obstacle):
    folder.parent.mkdir(parents=True)
    if obstacle == "file":
        folder.write_text("in the way")
    else:
        folder.mkdir(mode=0o500)
    assert build() == 2
    if obstacle == "read-only" and os.getuid():
        assert build() == 2


def test_other_targets_cache_nothing(folder):
    compile([X], sin(X), target="numpy")(1.0)
    assert not folder.exists() or not list(folder.glob("*.o"))


def test_code_is_made_again_where_any_file_of_the_stage_changed(monkeypatch):
    """The name of an entry depends on every source of the compiler, in whatever folder."""
    read, real = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or real(path))
    before = jit._emitter.__wrapped__()
    stage = Path(native.__file__).parent
    assert {*read} == {*stage.rglob("*.py")} >= {stage / "tape.py", Path(jit.__file__).with_name("emit.py")}
    monkeypatch.setattr(Path, "read_bytes", lambda path: real(path) + b"#" * (path.name == "emit.py"))
    assert jit._emitter.__wrapped__() != before
