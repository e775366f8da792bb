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
    "interact",
    "analyze",
    "study",
    "cli",
]
ROOT = Path(polhode.__file__).parent


def imports(path):
    folders = ["polhode", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            above = folders[: len(folders) + 1 - node.level] if node.level else []
            yield ".".join([*above, *([node.module] if node.module else [])])
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_stages_import_only_from_above():
    found = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert found == set(STAGES)
    for k, stage in enumerate(STAGES):
        allowed = {f"polhode.{name}" for name in STAGES[: k + 1]}
        allowed |= {"polhode"} if stage == STAGES[-1] else set()  # its version
        for path in (ROOT / stage).rglob("*.py"):
            for module in imports(path):
                if module.split(".")[0] == "polhode":
                    assert ".".join(module.split(".")[:2]) in allowed, f"{path} imports {module}"


def test_targets_stand_side_by_side_on_what_they_share():
    """A target imports no other; only `function` knows that there are several."""
    folder = ROOT / "compile"
    for path in folder.rglob("*.py"):
        inside = path.relative_to(folder).with_suffix("").parts
        for module in imports(path):
            below = module.removeprefix("polhode.compile.targets").removeprefix(".").split(".")[0]
            if module.startswith("polhode.compile.targets") and below != "kernel" and inside != ("function",):
                assert inside[:2] in {("targets", below), ("targets", "__init__")}, f"{path} imports {module}"


def test_formulations_do_not_import_terms_from_each_other():
    """Two methods with one function for a term cannot disagree in it: what they share stands in the kinematics."""
    papers = {"chain", "denoc", "kane", "lagrange", "poincare"}
    folder = ROOT / "formulations"
    for path in folder.rglob("*.py"):
        own = path.relative_to(folder).parts[0].removesuffix(".py").partition("_")[0]
        for module in imports(path) if own else ():
            other = module.removeprefix("polhode.formulations.").partition(".")[0].partition("_")[0]
            assert other not in papers - {own}, f"{path} imports {module}"


def test_importing_the_graph_loads_nothing_heavy():
    import subprocess
    import sys

    code = "import sys, polhode.graph; print([m for m in ('sympy', 'llvmlite', 'numba', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
