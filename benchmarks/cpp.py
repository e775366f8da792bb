"""Pinocchio in C++: the program pinocchio.cpp, built against the headers of the `pin` wheel."""

from __future__ import annotations

import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any


def prefix() -> Path:
    """Where the wheels of cmeel lie: headers, libraries and robots."""
    return next(Path(p) / "cmeel.prefix" for p in sys.path if (Path(p) / "cmeel.prefix").is_dir())


def driver(console: Any) -> Path | None:
    """The program, built with -O3 -march=native if it is not there yet for this source; None where it cannot be."""
    source = Path(__file__).with_name("pinocchio.cpp")
    mark = sha256(source.read_bytes()).hexdigest()[:8]
    target, compiler = Path(sys.prefix) / f"pinocchio_benchmark_{mark}", shutil.which("g++")
    if target.exists() or compiler is None:
        return target if target.exists() else None
    console.print("[dim]building the C++ program for Pinocchio, some minutes, once ...[/dim]")
    here = prefix()
    limits = ["-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_MPL_LIMIT_LIST_SIZE=30"]
    limits += ["-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]
    command = [compiler, "-O3", "-DNDEBUG", "-march=native", "-std=c++17", "-w", *limits]
    command += [str(source)]
    command += [f"-I{here}/include", f"-I{here}/include/eigen3", f"-L{here}/lib"]
    command += ["-lboost_filesystem", "-lboost_serialization", f"-Wl,-rpath,{here}/lib"]
    command += ["-Wl,--allow-shlib-undefined", "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        console.print(f"[dim]the C++ program cannot be built: {done.stderr.strip()[-300:]}[/dim]")
        return None
    return target


def run(program: Path | None, file: str) -> list[tuple[str, float]]:
    """Nanoseconds a state of each recursion on a saved model; a recursion with two conventions comes twice."""
    if program is None:
        return []
    done = subprocess.run([str(program), file], capture_output=True, text=True, check=True).stdout
    return [(key, float(value)) for key, value in map(str.split, done.splitlines())]
