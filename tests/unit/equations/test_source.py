"""Equations as C and Python that stand alone: they hold constraints as the product's own calls do."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import polhode as ph
from polhode.equations import held
from polhode.kernels import rows
from tests.mechanisms import bricard, four_bar, slider_crank

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2", "-shared", "-fPIC"]


def disc():
    build = ph.Builder("disc")
    build.body("disc", joint=ph.free(quaternion=True), mass=1, inertia=(0.1, 0.2, 0.1))
    build.rolling("disc", radius=0.5)
    return build.build()


def tilted(angle):
    """A four-bar whose last hinge is askew: by what files round, or by more, so that it would jam."""
    build = ph.Builder("tilted")
    for name, parent, at in (("a", "world", 0), ("b", "a", 1), ("c", "world", 1.2)):
        joint = ph.revolute("y", name=f"q{name}")
        build.body(name, parent=parent, at=(at, 0, 0), joint=joint, mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    build.marker("tip", body="b", at=(1, 0, 0), rpy=(angle, 0, 0))
    build.marker("top", body="c", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    return build.build()


def gears():
    """Three wheels, the middle one next to weightless, tied in a ring: one row repeats the others."""
    build = ph.Builder("gears")
    build.body("one", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 1))
    build.body("two", joint=ph.revolute("z", name="b"), mass=1, inertia=(2, 2, 3e-17))
    build.body("three", joint=ph.revolute("z", name="c"), mass=1, inertia=(5, 5, 7))
    build.coupling("b", "a", ratio=-20_000)
    build.coupling("c", "b", ratio=0.01)
    build.coupling("a", "c", ratio=-1 / 200)
    return build.build()


def massless(rods=1, stay=False):
    """A slider-crank in the plane whose rod weighs nothing; or two of them, side by side, or one and a distance."""
    build = ph.Builder("massless rod")
    build.body("crank", joint=ph.revolute("y", name="a"), mass=1, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    build.body("slider", joint=ph.prismatic("x", name="x"), mass=3)
    for k in range(rods):
        build.body(f"rod{k}", parent="crank", at=(0.3, 0, 0), joint=ph.revolute("y", name=f"b{k}"), mass=0)
        build.marker(f"tip{k}", body=f"rod{k}", at=(0.8, 0, 0))
        build.loop("slider", f"tip{k}", "hinge", axis="y", name=f"pin{k}")
    if stay:
        build.marker("pin", body="crank", at=(0.3, 0, 0))
        build.loop("pin", "slider", "distance", length=0.8, name="stay")
    return build.build()


def light():
    """Free bodies in a row; the one in the middle weighs next to nothing."""
    build = ph.Builder("light in the middle")
    for k, m in enumerate((1.0, 1e-10, 1.0)):
        inertia = (m * 0.08, m * 0.09, m * 0.02)
        build.body(f"b{k}", joint=ph.free(quaternion=True, name=f"f{k}"), mass=m, inertia=inertia)
        build.marker(f"top{k}", body=f"b{k}", at=(0, 0, 0.5))
        build.marker(f"end{k}", body=f"b{k}", at=(0, 0, -0.5))
    build.loop("end0", "top1", "hinge", name="first")
    build.loop("end1", "top2", "hinge", axis="y", name="second")
    build.loop("world", "top0", "point", name="pivot")
    return build.build()


def servo():
    """A four-bar with a length at run time, a hand that moves with time, and the current of a motor."""
    L, a_dot, i = ph.symbols("L a_dot i")
    build = ph.Builder("servo 4")
    rod = {"mass": L, "com": (0.5, 0, 0), "inertia": (0, 1 / 12, 1 / 12)}
    build.body("crank", joint=ph.revolute("y", name="a", damping=0.1), **rod)
    build.body("rod", parent="crank", at=(L, 0, 0), joint=ph.revolute("y", name="b"), **rod)
    build.body("rocker", at=(1.2, 0, 0), joint=ph.revolute("y", name="c"), **rod)
    build.body("hand", parent="rod", joint=ph.prismatic("x", name="x"), mass=0.2)
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    build.prescribe("x", 0.1 * ph.sin(3 * ph.TIME) + 0.02 * L, name="hand moves")
    build.state("i", rate=-i - a_dot, start=1)
    build.force("a_dot", 2 * i)
    return build.build()


CLOSED = {"a": -0.9, "b": 0.7, "c": -0.5}
MACHINES = {
    "four-bar, rows that repeat": (four_bar, CLOSED, {"a_dot": 1.0}),
    "slider-crank": (slider_crank, {"crank": 0.4}, {"crank_dot": 2.0}),
    "bricard, one row too many": (bricard, {}, {"bar1_dot": 1.0}),
    "rolling disc": (disc, {"disc_qx": 0.2, "disc_qz": 0.1}, {"disc_wy": 4.0, "disc_wz": 0.5}),
    "gears": (gears, {}, {"a_dot": 0.3}),
    "rounded": (lambda: tilted(1e-7), None, [1.0, -2.0, 0.5]),
    "jammed": (lambda: tilted(1e-3), None, [1.0, -2.0, 0.5]),
    "massless rod": (massless, {"a": 0.7, "x": 0.9}, {"a_dot": 1.5}),
    "two massless rods": (lambda: massless(2), {"a": 0.7, "x": 0.9}, {"a_dot": 1.5}),
    "massless rod and a distance": (lambda: massless(stay=True), {"a": 0.7, "x": 0.9}, {"a_dot": 1.5}),
    "light in the middle": (light, {"f0_z": -0.5, "f1_z": -1.5, "f2_z": -2.5}, {"f0_wx": 1.0}),
    "parameters, time and a state": (servo, CLOSED, {"a_dot": 1.0}),
}
GIVEN = {"parameters, time and a state": {"t": 0.3, "z": [0.7], "p": [1.1]}}


@pytest.fixture(params=["gcc", "clang"])
def compiler(request):
    found = shutil.which(request.param)
    if found is None:
        pytest.skip(f"{request.param} IS MISSING: the C source is not checked with it")
    return found


def built(compiler, source):
    """Compile a file with all warnings as errors, and load it."""
    library = source.with_suffix(".so")
    command = [compiler, *STRICT, source, "-o", library, "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(library))


def called(function, *arrays):
    held_on = [np.ascontiguousarray(a, dtype=float) for a in arrays]
    return function(*[a.ctypes.data_as(ctypes.c_void_p) for a in held_on])


def state(name):
    """A machine, a state that satisfies its constraints where it can, forces, and what else its calls take."""
    make, q, u = MACHINES[name]
    eq = ph.formulate(make())
    given = GIVEN.get(name, {})
    dyn = eq.compile()
    if q is None:
        q = np.array([-0.9, 0.7, -0.5])
    else:
        q, u = ph.assemble(dyn, q, u, keep=list(u), **{key: given[key] for key in ("t", "p") if key in given})
    tau = np.random.default_rng(3).normal(size=len(eq.u))
    return eq, q, u, tau, given


def expected(eq, q, u, tau, given):
    dyn = eq.compile()
    return dyn.forward_dynamics(q, u, tau, **given, check=False), dyn.reactions(q, u, tau, **given, check=False)


def near(found, wanted):
    return np.abs(found - wanted).max() <= 1e-12 * max(np.abs(wanted).max(), 1e-300)


@pytest.mark.parametrize("name", MACHINES)
def test_c_holds_constraints(name, compiler, tmp_path):
    eq, q, u, tau, given = state(name)
    source, header = eq.to_c(tmp_path)
    library = built(compiler, source)
    udot, lam = np.zeros(len(eq.u)), np.zeros(len(eq.constraints))
    rest = [given[key] for key in ("z", "p") if key in given]
    solve = library[f"forward_{source.stem}"]
    assert called(solve, q, u, tau, [given.get("t", 0.0)], *rest, udot, lam) == 0
    wanted = expected(eq, q, u, tau, given)
    assert near(udot, wanted[0])
    assert near(lam, wanted[1])
    assert f"int forward_{source.stem}(" in header.read_text()


@pytest.mark.parametrize("name", MACHINES)
def test_python_holds_constraints(name):
    eq, q, u, tau, given = state(name)
    space = {}
    exec(eq.to_python(), space)
    found = space["dynamics"](np.stack([q, q]), u, tau, **given)
    wanted = expected(eq, q, u, tau, given)
    for k in range(2):
        assert near(found["udot"][k], wanted[0])
        assert near(found["lam"][k], wanted[1])
    # the equations themselves, not only the same numbers
    M, J, right = found["mass_matrix"][0], found["J"][0], found["forces"][0] + tau - found["bias"][0]
    scale = np.abs(M @ found["udot"][0]).max() + np.abs(right).max()
    assert np.abs(M @ found["udot"][0] - right - J.T @ found["lam"][0]).max() < 1e-9 * scale
    if MACHINES[name][1] is None:
        return  # the state is off its constraints, so its rows contradict each other
    size = np.abs(J) @ np.abs(found["udot"][0]) + np.abs(found["gamma"][0])
    assert (np.abs(J @ found["udot"][0] + found["gamma"][0]) <= 1e-9 * size.max()).all()


def test_what_is_not_determined_is_nan(compiler, tmp_path):
    build = ph.Builder("idle")
    build.body("crank", joint=ph.revolute("y", name="a"), mass=1, com=(1, 0, 0))
    build.body("wheel", parent="crank", joint=ph.revolute("y", name="b"), mass=0)
    build.prescribe("a", 0.5 * ph.TIME)
    eq = ph.formulate(build.build())
    source, _ = eq.to_c(tmp_path)
    udot, lam = np.zeros(2), np.zeros(1)
    assert called(built(compiler, source).forward_dynamics_idle, [0, 0], [0.5, 0], [0, 0], [0], udot, lam) == 1
    assert np.isnan([*udot, *lam]).all()
    space = {}
    exec(eq.to_python(), space)
    found = space["dynamics"]([0, 0], [0.5, 0], [0, 0])
    assert np.isnan([*found["udot"], *found["lam"]]).all()


def test_values_become_constants(compiler, tmp_path):
    eq, q, u, tau, given = state("parameters, time and a state")
    source, header = eq.to_c(tmp_path, values={"L": 1.1})
    assert "* p: input" not in header.read_text()
    udot, lam = np.zeros(len(eq.u)), np.zeros(len(eq.constraints))
    called(built(compiler, source).forward_dynamics_servo_4, q, u, tau, [0.3], [0.7], udot, lam)
    assert near(udot, expected(eq, q, u, tau, given)[0])
    space = {}
    exec(eq.to_python(values={"L": 1.1}), space)
    assert near(space["dynamics"](q, u, tau, z=[0.7], t=0.3)["udot"], udot)
    with pytest.raises(ValueError, match="'M' is no parameter"):
        eq.to_c(tmp_path, values={"M": 1})


def test_a_tree_gives_its_accelerations(compiler, tmp_path):
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="a"), mass=2, com=(0, 0, -0.5))
    build.state("i", rate=-ph.symbol("a"))
    source, header = ph.formulate(build.build()).to_c(tmp_path)
    assert "forward_dynamics" not in header.read_text()
    M, bias, forces, udot, qdot, zdot = (np.zeros(1) for _ in range(6))
    call = built(compiler, source).dynamics_pendulum
    called(call, [0.3], [0.1], [1.0], [0.0], [0.0], M, bias, forces, udot, qdot, zdot)
    assert udot[0] == pytest.approx((1 - 9.81 * np.sin(0.3)) / 0.5, rel=1e-14)
    assert zdot[0] == -0.3


def driven():
    """Actuators with names that are no identifiers, or that become the same."""
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body("arm", joint=ph.revolute("z", name="elbow"), mass=1, inertia=(1, 1, 0.5))
    build.actuator("jet", {"elbow_dot": 1}, force=10 * ph.symbol("jet_control"))
    build.motor("M 1", inertia=1e-4, ratio=100, lower=-0.2, upper=0.2).drives({"elbow": 1})
    build.actuator("M*/1", {"elbow_dot": 3})
    return build.build()


@pytest.mark.parametrize("method", ["poincare", "quasicoordinate"])
def test_the_header_says_where_controls_are(method, compiler, tmp_path):
    """A program that sets controls by the constants of the header, beside a direct call by names."""
    eq = ph.formulate(driven(), method)
    source, header = eq.to_c(tmp_path)
    assert "/* M 1, >= -0.2, <= 0.2 */" in header.read_text()
    held = len(eq.constraints) > 0
    n, rows = len(eq.u), len(eq.constraints)
    call = (
        "forward_dynamics_arm(q, u, tau, t, udot, lam)" if held else "dynamics_arm(q, u, tau, t, M, c, Q, udot, qdot)"
    )
    user = tmp_path / "user.c"
    user.write_text(f"""#include <stdio.h>
#include "{header.name}"
int main(void) {{
    double q[2] = {{0}}, u[{n}] = {{0}}, tau[{n} + 3] = {{0}}, t[1] = {{0}}, udot[{n}], lam[{rows} + 1];
    double M[{n * n}], c[{n}], Q[{n}], qdot[2];
    tau[dynamics_arm_control_jet] = 0.3;
    tau[dynamics_arm_control_M_1] = 0.5;
    tau[dynamics_arm_control_M__1] = 0.7;
    {call};
    (void)lam; (void)M; (void)c; (void)Q; (void)qdot;
    printf("%.17g", udot[{n - 1}]);
    return 0;
}}
""")
    program = tmp_path / "user"
    subprocess.run([compiler, "-std=c99", "-Wall", user, source, "-lm", "-o", program], check=True)
    found = float(subprocess.run([program], capture_output=True, check=True, text=True).stdout)
    controls = {"jet": 0.3, "M 1": 0.5, "M*/1": 0.7}
    wanted = eq.compile().forward_dynamics(np.zeros(2), np.zeros(n), np.zeros(n), controls=controls)[-1]
    whole = 0.5 / 100 + 1e-4 * 100  # at the elbow, for each turn of the rotor
    assert wanted == pytest.approx((10 * 0.3 + 100 * 0.2 + 3 * 0.7) / whole, rel=1e-9)
    assert found == pytest.approx(wanted, rel=1e-12)


def test_the_header_is_read_by_cpp_and_two_machines_go_together(compiler, tmp_path):
    names = [ph.formulate(make()).to_c(tmp_path)[0].stem for make in (four_bar, gears, driven)]
    user = tmp_path / "user.cpp"
    user.write_text("".join(f'#include "{name}.h"\n' for name in names))
    command = [compiler, "-x", "c++", "-Wall", "-Werror", "-fsyntax-only", user]
    assert subprocess.run(command, check=False).returncode == 0
    both = tmp_path / "both.c"
    both.write_text("".join(f'#include "{name}.c"\n' for name in names))
    built(compiler, both)


def test_names_cannot_leave_their_comments(compiler, tmp_path):
    build = ph.Builder("'''\nimport missing\n'''")
    build.body("b", joint=ph.prismatic("x", name="x"), mass=1)
    build.constraint(ph.symbol("x"), name="*/ #error ??/ \\ ''' /*")
    eq = ph.formulate(build.build())
    built(compiler, eq.to_c(tmp_path)[0])
    exec(eq.to_python(), {})


def test_source_allocates_nothing_and_changes_no_globals(tmp_path):
    source, _ = ph.formulate(four_bar()).to_c(tmp_path)
    text = source.read_text()
    assert "alloc" not in text
    globals_ = [line for line in text.splitlines() if line.startswith(("double", "static")) and "(" not in line]
    assert all(line.startswith("static const") for line in globals_)


def test_both_know_the_same_floor():
    assert held.FLOOR == rows.FLOOR
