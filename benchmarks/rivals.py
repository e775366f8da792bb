"""CasADi's generated C and MuJoCo on the robots, each looped over the states in native code.

CasADi gets the recursions of `recursions.py` as SX expressions, after its own
elimination of common parts, as C through gcc -O3 -march=native. MuJoCo gets the
same robot, built from Pinocchio's model, without contacts, limits, friction and
actuators. Both come with what is missing said in a note, never an error.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .engines import GCC, _casadi_operations
from .recursions import GRAVITY, articulated, factorised, inertia_matrix, inverse_dynamics, rotations, tree

PATIENCE = 300  # seconds for gcc
SHORT = 40  # hinges; up to here both ways to the accelerations are counted


@dataclass(frozen=True)
class Rival:
    """One call of an engine over all states, and its result for the last of them."""

    run: Callable[[], Any]
    result: Callable[[], np.ndarray]
    operations: int | None = None
    keep: Any = None  # alive as long as the call may run


Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, u and accelerations or forces, in the order of the tree


def casadi_c(theirs: Any, states: Arrays) -> tuple[dict[str, Rival], str]:
    """C from CasADi for each recursion, and why some are missing."""
    try:
        import casadi as ca
    except ImportError:
        return {}, "CasADi is not installed"
    if shutil.which(GCC[0]) is None:
        return {}, f"CasADi's C needs {GCC[0]}"
    found, notes = {}, []
    for key, (inputs, output) in _expressions(theirs, ca).items():
        f = ca.Function(key, inputs, [ca.cse(output)])
        try:
            found[key] = _built(f, states, ca)
        except subprocess.SubprocessError:
            notes.append(f"gcc failed or took over {PATIENCE} s for CasADi's {_casadi_operations(f):,} operations")
    return found, "; ".join(notes)


def _expressions(theirs: Any, ca: Any) -> dict[str, Any]:
    robot = tree(theirs)
    n = theirs.nv
    q, u, x = (ca.SX.sym(name, k) for name, k in (("q", n + robot.floating), ("u", n), ("x", n)))
    rows, speeds, last = (ca.vertsplit(v) for v in (q, u, x))
    R = rotations(robot, rows, ca.sin, ca.cos)
    found = {"rnea": ([q, u, x], ca.vertcat(*inverse_dynamics(robot, R, speeds, last)))}
    b = [f - c for f, c in zip(last, inverse_dynamics(robot, R, speeds, [0] * n), strict=True)]
    ways = [ca.cse(ca.vertcat(*articulated(robot, R, b)))]
    if len(robot.links) <= SHORT:
        M = inertia_matrix(robot, R)
        found["crba"] = [q], ca.vertcat(*[M[max(r, c)][min(r, c)] for r in range(n) for c in range(n)])
        ways.append(ca.cse(ca.vertcat(*factorised(robot, R, b))))
    best = min(ways, key=lambda way: _casadi_operations(ca.Function("f", [q, u, x], [way])))
    return found | {"aba": ([q, u, x], best)}


def _built(f: Any, states: Arrays, ca: Any) -> Rival:
    """Generate, compile and load one function with a loop over the states around it."""
    generator = ca.CodeGenerator("f.c")
    generator.add(f)
    used = list(states[: f.n_in()])
    ins = ", ".join(f"in{k} + i * {a.shape[1]}" for k, a in enumerate(used))
    pointers = ", ".join(f"const double *in{k}" for k in range(len(used)))
    loop = f"""
    int {f.name()}(const double **, double **, long long *, double *, int);
    static double work[{max(f.sz_w(), 1)}];
    void loop({pointers}, double *out, long count)
    {{
        for (long i = 0; i < count; i++) {{
            const double *arguments[{f.sz_arg()}] = {{{ins}}};
            double *results[{f.sz_res()}] = {{out}};
            {f.name()}(arguments, results, 0, work, 0);
        }}
    }}
    """
    with tempfile.TemporaryDirectory() as folder:
        sources = [Path(folder) / "f.c", Path(folder) / "loop.c"]
        for path, text in zip(sources, (generator.dump(), loop), strict=True):
            path.write_text(text)
        library = Path(folder) / "f.so"
        _gcc([*map(str, sources), "-lm", "-o", str(library)])
        function = ctypes.CDLL(str(library)).loop
    function.argtypes = [ctypes.c_void_p] * (len(used) + 1) + [ctypes.c_long]
    out = np.empty(f.numel_out(0))
    addresses = [a.ctypes.data for a in (*used, out)]
    return Rival(partial(function, *addresses, len(used[0])), lambda: out, _casadi_operations(f), keep=used)


def _gcc(arguments: list[str]) -> None:
    """Compile, and when patience ends, end the compiler's own children too."""
    with subprocess.Popen([*GCC, *arguments], start_new_session=True) as process:
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if code:
        raise subprocess.CalledProcessError(code, GCC)


def mujoco(theirs: Any, states: Arrays) -> tuple[dict[str, Rival], str]:
    """MuJoCo's inverse and forward dynamics and its step, or why they are missing."""
    try:
        import mujoco as mj
    except ImportError:
        return {}, "MuJoCo is not installed"
    folder = Path(mj.__file__).parent
    library = next((p for p in folder.iterdir() if p.name.startswith(("libmujoco.", "mujoco.dll"))), None)
    if library is None:
        return {}, f"MuJoCo's library is not in {folder}"
    native, model = ctypes.CDLL(str(library)), _mujoco_model(theirs, mj)
    data = mj.MjData(model)
    q, u, x = states
    if model.nq > model.nv:  # a floating base: the linear part comes first
        swapped = [3, 4, 5, 0, 1, 2, *range(6, model.nv)]
        q, u, x = q[:, [4, 5, 6, 0, 1, 2, 3, *range(7, model.nq)]], u[:, swapped], x[:, swapped]
    calls = {
        "aba": (native.mj_forward, data.qfrc_applied, data.qacc),
        "step": (native.mj_step, data.qfrc_applied, data.qacc),
        "rnea": (native.mj_inverse, data.qacc, data.qfrc_inverse),
    }
    found = {}
    for key, (function, driven, result) in calls.items():
        run = partial(_native_loop(function), model._address, data._address, data.qpos, data.qvel, driven, q, u, x)
        found[key] = Rival(run, partial(np.array, result), keep=(model, data))
    return found, ""


def _mujoco_model(theirs: Any, mj: Any) -> Any:
    """Pinocchio's model as MuJoCo's: bodies and joints alone."""
    import pinocchio as pin

    spec, robot, off = mj.MjSpec(), tree(theirs), mj.mjtDisableBit
    for bit in (off.mjDSBL_CONSTRAINT, off.mjDSBL_CONTACT, off.mjDSBL_ACTUATION, off.mjDSBL_SENSOR):
        spec.option.disableflags |= bit
    spec.option.gravity = [0, 0, -GRAVITY]
    spec.option.integrator = mj.mjtIntegrator.mjINT_EULER
    bodies = [spec.worldbody]
    for link in robot.links:
        x, y, z, w = pin.Quaternion(np.array(link.R)).coeffs()
        body = bodies[link.parent + 1].add_body(pos=link.p, quat=[w, x, y, z])
        c = np.array(link.h) / link.m
        I = np.array(link.I) - link.m * (c @ c * np.eye(3) - np.outer(c, c))
        body.mass, body.ipos, body.explicitinertial = link.m, c, True
        body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        if robot.floating and len(bodies) == 1:
            body.add_freejoint()
        else:
            body.add_joint(type=mj.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
        bodies.append(body)
    return spec.compile()


def _native_loop(function: Any) -> Callable[..., None]:
    """A loop that sets each state and calls a function of MuJoCo, compiled by Numba."""
    import numba

    function.argtypes, function.restype = [ctypes.c_size_t] * 2, None

    @numba.njit
    def loop(model, data, qpos, qvel, driven, q, u, x):  # type: ignore[no-untyped-def]
        for i in range(len(q)):
            qpos[:], qvel[:], driven[:] = q[i], u[i], x[i]
            function(model, data)

    return loop  # type: ignore[no-any-return]
