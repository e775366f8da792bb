"""Book's recursions against Lagrange's equations summed over points, and against the other formulations."""

import numpy as np
import pytest

from polhode.equations import formulate
from polhode.formulations.book.base_axes import BaseAxes
from polhode.formulations.book.frames import frames
from polhode.formulations.book.inertia import inertia_matrix
from polhode.formulations.book.right_side import needed
from polhode.graph import vector, zeros
from polhode.kinematics import derive
from polhode.model import Builder
from polhode.model.named import free, prismatic, revolute, screw, spherical, universal
from tests.flexible_brute_force import equations, left_out, names, poses
from tests.flexible_clouds import GRAVITY, Cloud, Held, Points, model_of, random_arm
from tests.mechanics import At, close, random_state


def at_random(eq, seed, size=1.0):
    draw = np.random.default_rng(seed)
    return At(eq, draw.uniform(-size, size, len(eq.q)), draw.uniform(-1, 1, len(eq.u)))


def places(eq, arm):
    """Where the coordinates of the sums over points are among those of the equations."""
    known = [str(e.value) for e in eq.q]
    return [known.index(name) for name in names(arm)]


def summed_over_points(arm, method, seed):
    """The largest difference of M, velocity and gravity terms from the sums."""
    eq = formulate(model_of(arm), method)
    at, own = at_random(eq, seed), places(eq, arm)
    M, c, gravity = equations(arm, at.q[own], at.u[own])
    assert close(at(eq.terms.mass())[np.ix_(own, own)], M, 1e-12)
    assert close(at(eq.terms.velocity())[own], c, 1e-12)
    assert close(at(eq.terms.gravity())[own], gravity, 1e-12)


@pytest.mark.parametrize("rotation", ["proper", "linear"])
@pytest.mark.parametrize("order", ["first", "second", "full", "paper"])
@pytest.mark.parametrize("seed", range(3))
def test_book_is_lagrange_summed_over_points(seed, order, rotation):
    arm = random_arm(seed, order, rotation, bodies=3 + (seed == 0), planar=seed == 1, chain=seed == 2)
    summed_over_points(arm, "book", seed)


@pytest.mark.parametrize("method", ["book", "poincare", "denoc", "lagrange", "kane", "quasicoordinate"])
@pytest.mark.parametrize("order", ["first", "second", "full"])
def test_shapes_that_move_at_the_joint(method, order):
    summed_over_points(random_arm(7, order, pinned=True, bodies=3), method, 7)


@pytest.mark.parametrize("order", ["first", "second", "full"])
def test_linear_rotations_by_book_and_by_lagrange(order):
    model = model_of(random_arm(5, order, "linear", bodies=3, chain=True))
    book, lagrange = (formulate(model, method) for method in ("book", "lagrange"))
    at = at_random(book, 5)
    other = At(lagrange, at.q, at.u)
    assert close(at(book.M), other(lagrange.M), 1e-12)
    assert close(at(book.c), other(lagrange.c), 1e-12)
    proper = formulate(model_of(random_arm(5, order, bodies=3, chain=True)), "book")
    assert not close(At(proper, at.q, at.u)(proper.M), at(book.M), 1e-3)


def test_both_axes_agree_where_rotations_are_proper():
    """The traces as printed, against what proper rotations leave of them."""
    eq = formulate(model_of(random_arm(3, pinned=True)), "book")
    kin = derive(eq.model)
    n, at = len(eq.u), at_random(eq, 3)
    udot = vector(np.random.default_rng(0).uniform(-1, 1, n).tolist())
    printed = BaseAxes(frames(kin), udot, -kin.model.gravity)
    assert close(at(inertia_matrix(printed, n)), at(eq.M), 1e-13)
    assert close(at(needed(printed, n)), at(eq.terms.inverse(udot)), 1e-13)


def branched(seed):
    """Clouds in a tree of joints of all kinds, with armatures and a payload without a joint."""
    draw = np.random.default_rng(seed)
    joints = [
        free(quaternion=True, name="base"),
        spherical(quaternion=True, armature=[0.1, 0.2, 0.3], name="ball"),
        universal(("x", "y"), armature=[0.3, 0.2], name="cross"),
        screw("z", pitch=0.3, name="screw"),
        prismatic([1, 2, 3], name="slide"),
        spherical(name="angles"),
    ]
    build = Builder("branched", gravity=GRAVITY)
    clouds = []
    for k, joint in enumerate(joints):
        modes = 0 if k in (2, 4) else 2
        still = Held(np.zeros(3), np.zeros((3, modes)), np.zeros((3, modes)), np.zeros((3, modes, modes)))
        clouds.append(Cloud(Points.random(draw, 4, modes), (still, *(Held.random(draw, modes) for _ in range(2)))))
        parent = max(0, k - 1 - int(draw.integers(0, 2)))
        rigid = {"mass": 1.2, "com": [0.1, 0.2, -0.1], "inertia": [0.3, 0.35, 0.4, 0.02, 0.01, 0.03]}
        build.body(
            f"b{k}",
            parent=f"b{parent}" if k else "world",
            at=clouds[parent].held[1].p.tolist() if k else (0, 0, 0),
            joint=joint,
            **({"flexible": clouds[k]} if modes else {}),
            **(rigid if k % 2 == 0 else {}),  # of flexible ones a hub
        )
    return build.build()


@pytest.mark.parametrize("seed", range(2))
def test_trees_of_all_joints_against_poincare(seed):
    model = branched(seed)
    book, poincare = (formulate(model, method) for method in ("book", "poincare"))
    q, u = random_state(book, seed)
    at, other = At(book, q, u), At(poincare, q, u)
    for term in ("mass", "velocity", "gravity"):
        assert close(at(getattr(book.terms, term)()), other(getattr(poincare.terms, term)()), 1e-11), term
    C = at(book.terms.convective())
    assert close(C @ u, at(book.terms.velocity()), 1e-12)
    udot = np.random.default_rng(seed).uniform(-1, 1, len(u))
    needed = at(book.terms.inverse(vector(udot.tolist())))
    assert close(needed, at(book.M) @ udot + at(book.c), 1e-11)
    assert close(at(book.terms.forward(vector(needed.tolist()), zeros(len(u)))), udot, 1e-9)


@pytest.mark.parametrize(("order", "rotation"), [("first", "proper"), ("full", "proper"), ("full", "linear")])
def test_energy_is_conserved(order, rotation):
    assert abs(power(random_arm(11, order, rotation))) < 1e-11


@pytest.mark.parametrize("rotation", ["proper", "linear"])
def test_the_order_of_the_paper_drifts_as_known(rotation):
    """dE/dt = -1/2 sum_i Tr{ W_i' S_i' W_i'^T }, S_i what eq. 37 leaves out of eq. 29."""
    arm = random_arm(11, "paper", rotation)
    expected = 0.0
    q, u = at_brute(arm)
    for W_dot, S_dot in zip(poses(arm, q, u)[1], left_out(arm, q, u), strict=True):
        expected -= np.real(np.trace(W_dot @ S_dot @ W_dot.T)) / 2
    assert abs(expected) > 1e-2
    assert abs(power(arm) - expected) < 1e-11


def at_brute(arm):
    draw = np.random.default_rng(2)
    n = len(names(arm))
    return draw.uniform(-1, 1, n), draw.uniform(-1, 1, n)


def power(arm):
    """The change of u^T J u / 2 + V with time, of the free motion."""
    eq = formulate(model_of(arm), "book")
    own, (q, u) = places(eq, arm), at_brute(arm)
    at = At(eq, *(np.array([x[own.index(i)] for i in range(len(own))]) for x in (q, u)))
    J, gravity = at(eq.M), at(eq.terms.gravity())
    udot = np.linalg.solve(J, -at(eq.c))
    return at.u @ J @ udot + at.u @ at.rate(eq.M) @ at.u / 2 + gravity @ at.u


def test_rigid_links_cost_nothing_extra():
    """A body without modes makes one frame and no sections."""
    build = Builder("rigid")
    for k in range(3):
        parent = f"b{k - 1}" if k else "world"
        build.body(f"b{k}", parent=parent, at=(1, 0, 0), joint=revolute("y", name=f"q{k}"), mass=1, com=(0.5, 0, 0))
    assert len(frames(derive(build.build()))) == 3


@pytest.mark.parametrize(
    ("order", "rotation", "method", "words"),
    [
        (
            "paper",
            "proper",
            "poincare",
            r"Body 'b0': its order is \"paper\".* only method=\"book\" has it; found 'poincare'",
        ),
        ("full", "linear", "denoc", r"rotation=\"linear\".* only \"book\" and \"lagrange\" have that, found 'denoc'"),
    ],
)
def test_methods_refuse_what_they_have_not(order, rotation, method, words):
    model = model_of(random_arm(0, order, rotation))
    with pytest.raises(ValueError, match=words):
        formulate(model, method)
    assert formulate(model).method == "book"


def test_linear_rotations_need_clamped_shapes():
    with pytest.raises(ValueError, match=r"needs shapes that are 0 with their slopes at the joint"):
        formulate(model_of(random_arm(0, "full", "linear", pinned=True)), "book")
