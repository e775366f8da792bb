"""Kernels as LLVM IR: made from the sources as they are, and the same to the last bit as those of Numba."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from polhode.kernels import shipped
from polhode.kernels.loop import METHODS
from tools.kernels import EXTERNALS

ROOT = Path(__file__).parents[3]
ENTRIES = [entry for layouts in shipped.index()["kernels"].values() for entry in layouts.values()]


def test_what_is_shipped_was_made_from_the_sources():
    assert shipped.is_current(), "the kernels were changed: run make kernels"
    assert {entry["file"] for entry in ENTRIES} == {path.name for path in shipped.FOLDER.glob("*.xz")}


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["file"] for entry in ENTRIES])
def test_the_text_is_what_the_index_says_and_calls_only_what_every_system_has(entry):
    text = shipped.read(entry["file"])
    assert hashlib.sha256(text.encode()).hexdigest() == entry["digest"]
    called = {name for name in re.findall(r"^declare .*?@([\w.]+)\(", text, re.M) if not name.startswith("llvm.")}
    assert called <= EXTERNALS
    assert "target triple" not in text
    assert re.findall(r"^define (?!internal).*@(\w+)\(", text, re.M) == ["kernel"]


def test_a_changed_source_is_not_served_by_what_is_shipped(monkeypatch):
    name, layouts = next(iter(shipped.index()["kernels"].items()))
    layout = next(iter(layouts))
    assert shipped.find(name, layout) is not None
    assert shipped.find(name, layout + ", float") is None
    monkeypatch.setattr(shipped, "sources", lambda: "changed")
    assert shipped.find(name, layout) is None


PROGRAM = """
import sys

if "without" in sys.argv:
    sys.modules["numba"] = None  # importing it raises
if "numba" in sys.argv:
    from polhode.kernels import shipped
    shipped.find = lambda name, layout: None

import numpy as np
import polhode as ph
from tools.kernels import fourbar, pendulum

def show(*arrays):
    print(*[a.tobytes().hex() for a in arrays])

machines = {"pendulum": pendulum, "fourbar": fourbar}
for name in sys.argv[2].split(","):
    dynamics = machines[name]()
    q, u = ph.assemble(dynamics, [0.7] * len(dynamics.equations.q), [1.5] * len(dynamics.equations.u))
    for method in sys.argv[3].split(","):
        steps = {"step": 0.01} if method in ("rk4", "midpoint", "euler", "moreau") else {}
        output = np.linspace(0, 0.5, 11)[::2]
        output.flags.writeable = False
        t = ph.simulate(dynamics, q, u, 0.5, method=method, output=output, reacting=True, **steps)
        assert t.outcome.finished
        show(t.t, t.q, t.u, *([] if t.reactions is None else [t.reactions]))
        if steps:
            show(ph.simulate_many(dynamics, [q, q + 0.0], [u, u], 0.1, method=method, **steps).q)
        show(ph.simulate(dynamics, q, u, 0.1, method=method, output="steps", **steps).q)
    if name == "fourbar":
        show(*dynamics.impulse(q, u))
assert bool(sys.modules.get("numba")) == ("numba" in sys.argv)
"""


def run(how, machines, methods):
    command = [sys.executable, "-c", PROGRAM, how, machines, ",".join(methods)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


OWN_STEPS = sorted({*METHODS} - {"moreau"})  # which has a loop of its own, that Numba takes minutes for


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "methods"), [("pendulum", OWN_STEPS), ("fourbar", ["dop853"])])
def test_runs_without_numba_are_those_of_numba_to_the_last_bit(machine, methods):
    found = run("without", machine, methods)
    assert found.count("\n") > len(methods)
    assert found == run("numba", machine, methods)


def test_every_method_runs_without_numba():
    assert run("without", "pendulum,fourbar", METHODS) == run("with", "pendulum,fourbar", METHODS)


def test_importing_the_stages_does_not_load_numba():
    code = "import sys, polhode.simulate, polhode.cli, polhode.compile.invoke; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
