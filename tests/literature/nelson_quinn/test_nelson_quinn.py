"""Nelson and Quinn: the matrices of the walker, eq. 42 to 49, and the equations of limbs, eq. 1 to 41, by numbers."""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from k2t import bare, walker

import polhode as ph
from polhode.formulations.quasicoordinate import find_limbs, members
from polhode.graph import evaluate
from polhode.kinematics import derive
from polhode.model.expression import Symbols, parse
from polhode.model.grow import grow
from tests.mechanics import random_state


def numbers(m, values=None):
    return np.array(evaluate(list(m.entries), values or {}), dtype=float).reshape(m.shape)


@cache
def tree():
    return ph.formulate(bare().build(), "quasicoordinate")


@cache
def driven():
    return ph.formulate(walker(), "quasicoordinate")


def test_eight_limbs_share_the_frames():
    """(41): an eighth of the top frame, a quarter of the bottom one."""
    limbs = tree().limbs
    assert [limb.bodies for limb in limbs[:2]] == [("top", "bottom", f"femur_{k}", f"tibia_{k}") for k in (1, 2)]
    assert [limb.bodies for limb in limbs[4:6]] == [("top", f"femur_{k}", f"tibia_{k}") for k in (5, 6)]
    assert [limb.shares[0] for limb in limbs] == [Fraction(1, 8)] * 8
    assert [limb.shares[1] for limb in limbs[:4]] == [Fraction(1, 4)] * 4
    assert str(limbs).splitlines()[4] == "tibia_5: top (1/8 of its mass, 0.3125) - femur_5 - tibia_5"


def test_joints_of_a_limb():
    """(42), (43): D of limbs on the top and on the bottom frame, after the base."""
    found = tree().transformations()
    (_, top), (_, bottom) = (found.limbs[name] for name in ("tibia_5", "tibia_1"))
    assert top.shape == (3 + 9, 6 + 2)
    assert bottom.shape == (3 + 12, 6 + 3)
    y, z = [[0], [1], [0]], [[0], [0], [1]]
    assert np.array_equal(numbers(top[6:, 6:]), np.kron(np.eye(2), y))
    blocks = np.zeros((9, 3))
    for i, column in enumerate((z, y, y)):
        blocks[3 * i : 3 * i + 3, i : i + 1] = column
    assert np.array_equal(numbers(bottom[6:, 6:]), blocks)
    assert all(e == 0 for e in (*top[6:, :6].entries, *bottom[6:, :6].entries))


def test_limbs_on_one_base():
    """(44) to (46), each column read as a stack of its own: 68 x 26."""
    expected = np.zeros((68, 26))
    row, column = 0, 6
    for own in (3, 3, 3, 3, 2, 2, 2, 2):
        expected[row : row + 6, :6] = np.eye(6)
        expected[row + 6 : row + 6 + own, column : column + own] = np.eye(own)
        row, column = row + 6 + own, column + own
    assert np.array_equal(numbers(tree().transformations().D1), expected)


def test_limbs_on_one_second_body():
    """(47): 26 x 23, the four turns of the bottom frame are one."""
    expected = np.zeros((26, 23))
    expected[:6, :6] = np.eye(6)
    for leg in range(4):
        expected[6 + 3 * leg, 6] = 1
        expected[7 + 3 * leg : 9 + 3 * leg, 7 + 2 * leg : 9 + 2 * leg] = np.eye(2)
    expected[18:, 15:] = np.eye(8)
    assert np.array_equal(numbers(tree().transformations().D2), expected)


def test_motors_turn_femurs_and_tibiae():
    """(48), (49): 23 x 11, tibiae measured from their frame by (29); rotors have rows of their own."""
    found = driven().transformations()
    joints = [i for i, name in enumerate(found.names[3]) if name.removesuffix("_dot") not in ("B", *MOTORS)]
    D_F, D_T = [1, 0, 1, 0, -1, 0, -1, 0], [0, 1, 0, 1, 0, 1, 0, 1]
    expected = np.zeros((23, 11))
    expected[:7, :7] = np.eye(7)
    for first, column in ((7, 7), (15, 9)):
        expected[first : first + 8, column], expected[first : first + 8, column + 1] = D_F, D_T
    order = [*found.names[4][:6], "B_dot", *(f"{name}_dot" for name in MOTORS)]
    columns = [found.names[4].index(name) for name in order]
    assert np.array_equal(numbers(found.D3)[joints][:, columns], expected)
    rotors = [found.names[3].index(name) for name in order[6:]]
    assert np.array_equal(numbers(found.D3)[rotors][:, columns], np.eye(11)[6:])


MOTORS = ("F_bottom", "T_bottom", "F_top", "T_top")


def test_cables_are_a_column_of_zeros():
    """(29): C^R without what comes from the femur gives the same absolute velocities, in the angles from the frame."""
    eq = driven()
    values = dict(zip(eq.q, np.random.default_rng(3).uniform(-1, 1, len(eq.q)), strict=True))
    cables, plain = eq.transformations(), eq.transformations(inboard={})
    assert np.allclose(numbers(cables.T, values), numbers(plain.T, values), atol=1e-14)
    relative = numbers(cables.limbs["tibia_5"][0], values)
    assert not relative[9:12, 6:9].any()  # of the tibia, from the femur
    assert numbers(plain.limbs["tibia_5"][0], values)[9:12, 6:9].any()


def test_skew_axes_are_no_cable():
    build = ph.Builder("skew")
    build.body("a", joint=ph.revolute("z"), mass=1)
    build.body("b", parent="a", joint=ph.revolute("y"), at=(1, 0, 0), mass=1, com=(0, 0, 1))
    eq = ph.formulate(build.build(), "quasicoordinate")
    with pytest.raises(ValueError, match="its axis is not parallel to that of 'a'"):
        eq.transformations({"b": "world"})
    build.motor("M", inertia=1, on="world", cable=True).drives({"b": 1})
    with pytest.raises(ph.ModelError, match=r"a cable to 'b_dot' along 'a', whose axis is not parallel.*sums="):
        build.build()


def absolute(kin, limbs, values):
    """A and h of (1), of all limbs one after the other, by numbers; the sign of the gyroscopic term as derived."""
    bodies = {m.name: m for m in members(kin)}
    A, h = [], []
    for limb in limbs:
        chain = [bodies[name] for name in limb.bodies]
        n = len(chain)
        C = [numbers(m.C, values) for m in chain]
        w = [numbers(m.omega, values) for m in chain]
        L = [numbers(m.L, values) for m in chain[1:]]
        S = [numbers(m.S, values) for m in chain]
        m, I, Phi = (np.zeros((3 * n, 3 * n)) for _ in range(3))
        Phi_dot = np.zeros_like(Phi)
        for i, (body, share) in enumerate(zip(chain, limb.shares, strict=True)):
            here = slice(3 * i, 3 * i + 3)
            m[here, here] = float(evaluate(body.m, values)) * float(share) * np.eye(3)
            I[here, here] = numbers(body.I, values) * float(share)
            for j in range(i + 1):
                arm = S[i] if j == i else L[j]
                there = slice(3 * j, 3 * j + 3)
                Phi[here, there] = C[j] @ tilde(arm).T
                Phi_dot[here, there] = C[j] @ tilde(w[j]) @ tilde(arm).T
        ones, omega = np.tile(np.eye(3), (n, 1)), np.concatenate(w)
        spin = np.concatenate([tilde(a) @ I[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] @ a for i, a in enumerate(w)])
        left = np.hstack([ones, Phi])
        A.append(left.T @ m @ left + np.pad(I, ((3, 0), (3, 0))))
        h.append(left.T @ m @ (Phi_dot @ omega) + np.concatenate([np.zeros(3), spin]))
    size = sum(map(len, A))
    whole, place = np.zeros((size, size)), 0
    for block in A:
        whole[place : place + len(block), place : place + len(block)] = block
        place += len(block)
    return whole, np.concatenate(h)


def tilde(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


@pytest.mark.parametrize("seed", [None, 1, 3, 5])
def test_the_matrix_equation_of_all_limbs(seed):
    """(18), (33), (36), (40): M = T^T A T, and T^T (A T_dot u + h) are the velocity terms."""
    eq = ph.formulate(bare().build() if seed is None else turning(seed), "quasicoordinate")
    kin = eq.kinematics
    q, u = random_state(eq, 0)
    values = dict(zip([*eq.q, *eq.u], [*q, *u], strict=True))
    T = eq.transformations().T
    A, h = absolute(kin, eq.limbs, values)
    T_dot = numbers(kin.rate(T), values)
    T = numbers(T, values)
    M, c = numbers(eq.M, values), numbers(eq.velocity_terms, values)
    assert np.allclose(T.T @ A @ T, M, rtol=1e-12, atol=1e-12 * np.abs(M).max())
    bias = T.T @ (A @ T_dot @ u + h)
    assert np.allclose(bias, c, rtol=1e-11, atol=1e-11 * np.abs(c).max())


def turning(seed):
    """A grown tree of joints that turn about axes through their bodies' origins."""
    model = grow(seed, ["spherical", "revolute", "spherical", "revolute", "revolute"])
    build = ph.Builder(model.name, gravity=model.gravity)
    for body in model.bodies:
        axis = body.joint.parts[0].H[:3, 0]
        joint = ph.revolute(axis, name=body.name) if body.joint.nu == 1 else body.joint
        build.bodies.append(replace(body, joint=joint))
    return build.build()


def test_limbs_by_hand():
    model = turning(1)
    found = ph.formulate(model, "quasicoordinate")
    tips = [limb.bodies[-1] for limb in found.limbs]
    named = {f"limb {i}": tip for i, tip in enumerate(tips)} | {"trunk": model.bodies[0].name}
    again = ph.formulate(model, limbs=named)
    assert again.method == "quasicoordinate"
    assert [limb.name for limb in again.limbs] == list(named)
    assert again.limbs[-1].shares == (Fraction(1, len(tips) + 1),)
    q, u = random_state(found, 2)
    values = dict(zip([*found.q, *found.u], [*q, *u], strict=True))
    for part in ("M", "c"):
        one, two = (numbers(getattr(eq, part), values) for eq in (found, again))
        assert np.allclose(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("limbs", "error", "said"),
    [
        ({"a": "nobody"}, KeyError, "there is no body 'nobody'"),
        ({"a": 3}, ValueError, "expected the name of its last body"),
        ({"a": ["femur_1", "top"]}, ValueError, "expected the chain from the world"),
        ({"a": "tibia_1"}, ValueError, "no limb has the body 'femur_2'"),
    ],
)
def test_limbs_that_are_none(limbs, error, said):
    with pytest.raises(error, match=said):
        find_limbs(derive(bare().build()), limbs)
    with pytest.raises(ValueError, match="limbs= is for method"):
        ph.formulate(bare().build(), "kane", limbs=limbs)


def test_limbs_without_names():
    with pytest.raises(TypeError, match="expected names of limbs, with the last body of each"):
        ph.formulate(bare().build(), limbs=["tibia_1"])


@pytest.mark.parametrize("on", ["cam", "bracket", "seat"])
def test_a_cable_from_a_welded_body(on):
    """The same matrices as from the body that it is welded to; a bracket need not carry the joint by itself."""

    def found(on):
        build = ph.Builder("welded")
        build.body("p", joint=ph.revolute("y", name="jp"), mass=1, inertia=(0.1, 0.1, 0.1))
        build.body("cam", parent="p", joint=ph.weld(), mass=0.5)
        build.body("bracket", parent="cam", joint=ph.weld(), mass=0.5)
        build.marker("seat", body="bracket", at=(0, 0.1, 0))
        for name, parent in (("a", "cam"), ("b", "a")):
            joint = ph.revolute("y", name=f"j{name}")
            build.body(name, parent=parent, at=(0.1, 0, 0), joint=joint, mass=1, inertia=(0.1, 0.1, 0.1))
        build.motor("M", inertia=0.1, axis="y", on=on, drives={"jb": 1}, cable=True)
        made = ph.formulate(build.build(), "quasicoordinate").transformations()
        *_, rows, columns = made.names
        return {(u, v): made.D3[i, j] for i, u in enumerate(rows) for j, v in enumerate(columns)}

    assert found(on) == found("p")
    assert [found(on)["jb_dot from p", u] for u in ("jp_dot", "ja_dot", "M_dot")] == [
        0,
        0,
        1,
    ]  # measured from the motor


def test_axes_that_are_parallel_to_a_model_are_to_its_transformations():
    build = ph.Builder("finger")
    build.body("first", joint=ph.revolute("y", name="a"), mass=1, inertia=(0.02, 0.02, 0.02))
    joint = ph.revolute("y", name="b")
    build.body("second", parent="first", at=(0.2, 0, 0), rpy=(3.7e-6, 0, 0), joint=joint, mass=1, com=(0.1, 0, 0))
    build.motor("M", inertia=0.01, axis="y", cable=True, drives={"b": 1})
    found = ph.formulate(build.build(), "quasicoordinate").transformations()
    assert numbers(found.D3, {}).tolist() == [[1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize("parent", ["nowhere", "b"])
def test_a_cable_along_bodies_that_hang_on_nothing(parent):
    build = ph.Builder("lost")
    build.body("a", parent=parent, joint=ph.revolute("y", name="ja"), mass=1, inertia=(1, 1, 1))
    build.body("b", parent="a", joint=ph.revolute("y", name="jb"), mass=1, inertia=(1, 1, 1))
    build.motor("M", inertia=0.1, drives={"jb": 1}, cable=True)
    with pytest.raises(ph.ModelError, match="cannot reach 'jb_dot'"):
        build.build()


def test_a_body_that_tumbles_keeps_its_momentum():
    """The sign of omega~ I* omega in (1): energy does not notice it, angular momentum does."""
    build = ph.Builder("brick", gravity=(0, 0, 0))
    build.body("brick", joint=ph.free(), mass=2, com=(0.1, 0, 0.2), inertia=(1, 2, 3))
    dyn = ph.formulate(build.build(), "quasicoordinate").compile()
    run = ph.simulate(dyn, None, {"brick_wx": 0.1, "brick_wy": 3.0, "brick_vz": 1.0}, 20.0)
    assert run.audit().momenta[2].max() < 1e-6
    assert abs(run.energy_drift).max() < 1e-7


def test_coupled_machine_equals_the_constrained_one():
    """The walker of 11 degrees of freedom against the same with 17 rows of constraints, by another formulation."""
    model = walker()
    free = ph.formulate(model, "denoc").compile()
    few = driven().compile()
    G = numbers(few.equations.kinematics.speeds.G)
    draw = np.random.default_rng(1)
    q, v = draw.uniform(-0.4, 0.4, model.nq), draw.uniform(-1, 1, G.shape[1])
    controls = {name: draw.uniform(-5, 5) for name in ("B", *MOTORS)}
    expected = free.forward_dynamics(q, G @ v, np.zeros(model.nu), controls=controls)
    found = few.forward_dynamics(q, v, np.zeros(len(v)), controls=controls)
    assert len(v) == 11
    assert np.allclose(G @ found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_rows_in_print_hold_for_a_motion():
    """Sums of R_dot as they are printed against the velocity of the base; a cable's rate has a name of its own."""
    build = ph.Builder("hand")
    build.body("palm", joint=ph.free(quaternion=False), mass=1, inertia=(0.1, 0.2, 0.3))
    build.body("first", parent="palm", joint=ph.revolute("y", name="a"), mass=1, inertia=(0.02, 0.02, 0.02))
    joint = ph.revolute("y", name="b")
    build.body("second", parent="first", at=(0.2, 0, 0), joint=joint, mass=1, inertia=(0.02, 0.02, 0.02))
    build.motor("M", inertia=0.01, axis="y", on="palm", cable=True, drives={"b": 1})
    eq = ph.formulate(build.build(), "quasicoordinate")
    rng = np.random.default_rng(4)
    values = dict(zip((*eq.q, *eq.u), rng.uniform(-1, 1, len(eq.q) + len(eq.u)), strict=True))
    rows = dict(line.strip().split(" = ") for line in repr(eq.transformations()).splitlines() if " = " in line)
    velocity = numbers(eq.velocity("palm"), values)[3:]
    for axis, expected in zip("xyz", velocity, strict=True):
        text = rows[f"R_dot {axis} of second"].replace(" of second", "").replace(" palm_v", "*palm_v")
        assert evaluate(parse(text, Symbols(), "row"), values) == pytest.approx(expected, abs=1e-12)
    assert rows["b_dot from palm"] == "M_dot"
    assert rows["Omega second from palm y of second"] == "b_dot from palm of second"
    assert rows["Omega first from palm y of second"] == "a_dot of second"
