"""A stage imports only from the stages above it."""

import ast
from pathlib import Path

import polhode

# in the order of the pipeline
STAGES = [
    "graph",
    "compile",
    "kernels",
    "spatial",
    "model",
    "formats",
    "kinematics",
    "formulations",
    "equations",
    "view",
    "trajectory",
    "simulate",
    "analyze",
    "cli",
]
ROOT = Path(polhode.__file__).parent


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
        elif isinstance(node, ast.ImportFrom) and node.level > 1:
            yield "polhode." + (node.module or "")
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_stages_import_only_from_above():
    found = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert found == set(STAGES)
    for k, stage in enumerate(STAGES):
        allowed = {f"polhode.{name}" for name in STAGES[: k + 1]}
        allowed |= {"polhode"} if stage == STAGES[-1] else set()  # its version
        for path in (ROOT / stage).glob("*.py"):
            for module in imports(path):
                if module.split(".")[0] == "polhode":
                    assert ".".join(module.split(".")[:2]) in allowed, f"{path} imports {module}"


def test_importing_the_graph_loads_nothing_heavy():
    import subprocess
    import sys

    code = "import sys, polhode.graph; print([m for m in ('sympy', 'llvmlite', 'numba', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
