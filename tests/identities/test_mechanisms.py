"""What must hold for every mechanism, on mechanisms grown from a seed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polhode as ph
from polhode.formulations.denoc import articulated
from polhode.formulations.denoc_elements import inertia_matrix
from polhode.formulations.poincare import velocity_terms
from polhode.graph import as_expr, diff_along, gradient
from polhode.kinematics import reduced
from polhode.model.grow import HOLONOMIC, JOINTS, grow
from tests.mechanics import At, close, random_state
from tests.strategies import MANY

seeds = st.integers(0, 10**6)
any_joints = st.lists(st.sampled_from(sorted(JOINTS)), min_size=1, max_size=4)
plain_joints = st.lists(st.sampled_from(sorted(HOLONOMIC)), min_size=1, max_size=4)
some = settings(max_examples=15 * MANY, deadline=None, derandomize=MANY == 1)


def formulated(seed, kinds, **options):
    eq = ph.formulate(grow(seed, kinds, **options), method="poincare")
    return At(eq, *random_state(eq, seed))


@some
@given(seeds, any_joints)
def test_kinetic_energy_is_half_u_M_u(seed, kinds):
    at = formulated(seed, kinds)
    assert close(at.u @ at(at.eq.M) @ at.u / 2, at(at.eq.kinetic))


@some
@given(seeds, any_joints)
def test_momentum_is_the_slope_of_kinetic_energy(seed, kinds):
    at = formulated(seed, kinds)
    assert close(at(at.eq.M) @ at.u, at(gradient(at.eq.kinetic, at.eq.u)))


@some
@given(seeds, any_joints)
def test_mass_matrix_is_positive_definite(seed, kinds):
    at = formulated(seed, kinds)
    M = at(at.eq.M)
    assert close(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


@some
@given(seeds, any_joints)
def test_energy_changes_by_the_power_of_what_acts(seed, kinds):
    """d(T + U)/dt = u . tau, with gravity and springs inside U."""
    at = formulated(seed, kinds)
    tau = np.random.default_rng(seed).normal(size=len(at.u))
    energy = at.eq.kinetic + at.eq.potential
    by_q, by_u = at(gradient(energy, at.eq.q)), at(gradient(energy, at.eq.u))
    assert close(by_q @ at.qdot + by_u @ at.udot(tau), at.u @ tau, 1e-9)


@some
@given(seeds, any_joints)
def test_the_convective_matrix_gives_the_velocity_terms(seed, kinds):
    at = formulated(seed, kinds)
    assert close(at(at.eq.C) @ at.u, at(velocity_terms(at.eq.kinematics)))
    assert close(at(at.eq.c), at(at.eq.C) @ at.u + at(at.eq.gravity))


@some
@given(seeds, any_joints)
def test_velocities_of_markers_are_the_rates_of_their_poses(seed, kinds):
    at = formulated(seed, kinds)
    marker = f"tip{len(kinds)}"
    X, X_dot = at(at.eq.pose(marker)), at.rate(at.eq.pose(marker))
    turn = X_dot[:3, :3] @ X[:3, :3].T
    V = np.array([turn[2, 1], turn[0, 2], turn[1, 0], *X_dot[:3, 3]])
    assert close(at(at.eq.velocity(marker)), V)
    assert close(at(at.eq.jacobian(marker)) @ at.u, V)
    own = np.concatenate([X[:3, :3].T @ V[:3], X[:3, :3].T @ V[3:]])
    assert close(at(at.eq.velocity(marker, axes="marker")), own)
    assert close(at(at.eq.jacobian(marker, axes="marker")) @ at.u, own)


@some
@given(seeds, plain_joints, st.booleans())
def test_poincare_and_lagrange_agree(seed, kinds, forces):
    """The two write the same motion: qddot = N udot + Ndot u, M_u = N^T M_q N.

    Nothing is shared but poses, twists and the laws of joints: every term of Lagrange's is a derivative of an energy.
    """
    at = formulated(seed, kinds, forces=forces)
    lagrange = ph.formulate(grow(seed, kinds, forces=forces), method="lagrange")
    N, N_dot = at(at.eq.N), at.rate(at.eq.N)
    other = At(lagrange, at.q, at.qdot)
    if np.linalg.cond(N) > 1e3:
        return  # near a singularity of the angles there are no rates to compare
    tau = np.random.default_rng(seed).normal(size=len(at.u))
    assert close(N.T @ other(lagrange.M) @ N, at(at.eq.M), 1e-9)
    assert close(N.T @ other(lagrange.gravity), at(at.eq.gravity), 1e-9)
    assert close(N.T @ other(lagrange.Q), at(at.eq.Q), 1e-9)
    assert close(other(lagrange.C) @ at.qdot + other(lagrange.gravity), other(lagrange.c), 1e-9)
    qddot = other.udot(np.linalg.solve(N.T, tau))
    assert close(N @ at.udot(tau) + N_dot @ at.u, qddot, 1e-8)
    assert close([at(at.eq.kinetic), at(at.eq.potential)], [other(lagrange.kinetic), other(lagrange.potential)])


@some
@given(seeds, any_joints, st.booleans())
def test_poincare_and_denoc_agree(seed, kinds, forces):
    """Elements and recursions, in the frames of the model and in those chosen for speed.

    Compared are c, C, gravity, the elements of M, and both recursions. M by composite bodies is one function of
    two sets of frames, and Q is one function: these are compared with Lagrange's and Kane's.
    """
    at = formulated(seed, kinds, forces=forces)
    denoc = ph.formulate(grow(seed, kinds, forces=forces), method="denoc")
    M, c, Q = (at(part) for part in (at.eq.M, at.eq.c, at.eq.Q))
    assert close(at(denoc.M), M)
    assert close(at(denoc.c), c)
    assert close(at(denoc.gravity), at(at.eq.gravity))
    assert close(at(denoc.C) @ at.u, at(at.eq.velocity_terms))
    assert close(at(inertia_matrix(denoc.kinematics)), M)
    tau = np.random.default_rng(seed).normal(size=len(at.u))
    inputs = ph.vector(ph.symbols([f"input{i}" for i in range(len(tau))]))
    at.values[inputs] = list(tau)
    assert close(at(denoc.terms.inverse(inputs)), M @ tau + c)
    udot = np.linalg.solve(M, Q + tau - c)
    for kin in (denoc.kinematics, reduced(denoc.kinematics)):
        assert close(at(articulated(kin, denoc.Q + inputs)), udot, 1e-9)
    assert close(at(denoc.terms.forward(denoc.Q + inputs)), udot, 1e-9)


@some
@given(seeds, any_joints, st.booleans())
def test_book_and_poincare(seed, kinds, forces):
    """Of rigid trees, for which the transformations of links are constant. Q is one function."""
    at = formulated(seed, kinds, forces=forces)
    book = ph.formulate(grow(seed, kinds, forces=forces), method="book")
    M, c = at(at.eq.M), at(at.eq.c)
    assert close(at(book.M), M)
    assert close(at(book.c), c)
    assert close(at(book.C) @ at.u, at(at.eq.velocity_terms))
    udot = np.random.default_rng(seed).normal(size=len(at.u))
    assert close(at(book.terms.inverse(ph.vector(udot.tolist()))), M @ udot + c)


@some
@given(seeds, any_joints)
def test_m_dot_minus_2c_is_skew(seed, kinds):
    """By the methods that say so, also with armatures on speeds whose axes do not commute."""
    grown, draw = grow(seed, kinds), np.random.default_rng(seed)
    geared = [
        replace(body, joint=replace(body.joint, armature=tuple(map(as_expr, draw.uniform(0, 1, body.joint.nu)))))
        for body in grown.bodies
    ]
    for model in (grown, replace(grown, bodies=tuple(geared))):
        for method in ("denoc", "quasicoordinate"):
            eq = ph.formulate(model, method)
            at = At(eq, *random_state(eq, seed))
            rest = at.rate(eq.M) - 2 * at(eq.C)
            assert close(rest + rest.T, 0)
            assert close(at(eq.C) @ at.u + at(eq.gravity), at(eq.c))


@some
@given(seeds, any_joints)
def test_dissipation_takes_power_from_the_system(seed, kinds):
    """With forces on, d(T + U)/dt = u.tau + power of what is not in U."""
    at = formulated(seed, kinds, forces=True)
    energy = at.eq.kinetic + at.eq.potential
    by_q, by_u = at(gradient(energy, at.eq.q)), at(gradient(energy, at.eq.u))
    change = by_q @ at.qdot + by_u @ at.udot()
    elastic = at.eq.potential - at.eq.kinematics.gravitational
    outside = at.u @ at(at.eq.Q) + at(gradient(elastic, at.eq.q)) @ at.qdot
    assert close(change, outside, 1e-9)


FORMS = {
    "spherical": (ph.spherical, [1, 1, 1]),
    "planar": (ph.planar, [1, 1, 1]),
    "cylindrical": (ph.cylindrical, [1, 1]),
    "free": (ph.free, [1] * 6),
}


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("seed", range(4))
def test_simple_and_compound_forms_of_a_joint_move_the_same(kind, seed):
    make, split = FORMS[kind]
    simple = make()
    H = simple.parts[0].H
    forms = [simple, ph.joint(H, split=split)]
    motions = []
    for form in forms:
        build = ph.Builder("one", gravity=(1, 2, -9))
        placed = {"at": (0.3, 0, 1), "rpy": (0.1, 0.2, 0.3)}
        build.body("a", joint=form, mass=2, com=(0.1, 0.2, 0.3), inertia=(1, 1.2, 1.5), **placed)
        build.body("b", parent="a", joint=ph.revolute([1, 2, 2]), at=(0, 0.5, 0), mass=1, com=(0.4, 0, 0))
        motions.append(ph.formulate(build.build()))
    q, u = random_state(motions[0], seed)
    at = At(motions[0], q, u)
    N, N_dot = at(motions[0].N), at.rate(motions[0].N)
    other = At(motions[1], q, at.qdot)
    assert close(at(motions[0].pose("b")), other(motions[1].pose("b")))
    assert close(at(motions[0].kinetic), other(motions[1].kinetic))
    assert close(N @ at.udot() + N_dot @ u, other.udot(), 1e-9)


@pytest.mark.parametrize("make", [ph.spherical, ph.free])
@pytest.mark.parametrize("seed", range(4))
def test_angles_and_quaternions_describe_the_same_motion(make, seed):
    """Where the pose is the same, so are the inertia, the bias and the accelerations."""
    both = []
    for quaternion in (False, True):
        build = ph.Builder("one", gravity=(1, 2, -9))
        build.body("a", joint=make(quaternion=quaternion), mass=2, com=(0.1, 0.2, 0.3), inertia=(1, 1.2, 1.5))
        build.body("b", parent="a", joint=ph.universal(), at=(0, 0.5, 0), mass=1, com=(0.4, 0, 0), inertia=(1, 1, 1))
        both.append(ph.formulate(build.build()))
    angles, quaternions = both
    q, u = random_state(angles, seed)
    at = At(angles, q, u)
    turn = _quaternion(at(angles.pose("a"))[:3, :3])
    other = At(quaternions, [*turn, *q[3:]], u)
    for name in ("a", "b"):
        assert close(at(angles.pose(name)), other(quaternions.pose(name)))
    assert close(at(angles.M), other(quaternions.M))
    assert close(at(angles.c), other(quaternions.c))
    assert close(at.udot(), other.udot())
    assert close(other.qdot[:4] @ turn, 0)  # the quaternion keeps its length


def _quaternion(R):
    """The unit quaternion of a rotation matrix, by its largest entry."""
    K = np.array(
        [
            [np.trace(R), R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, 2 * R[0, 0] - np.trace(R), R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [0, 0, 2 * R[1, 1] - np.trace(R), R[1, 2] + R[2, 1]],
            [0, 0, 0, 2 * R[2, 2] - np.trace(R)],
        ]
    )
    return np.linalg.eigh(np.triu(K) + np.triu(K, 1).T)[1][:, -1]


@some
@given(seeds, plain_joints)
def test_a_body_in_two_welded_pieces_moves_like_the_whole(seed, kinds):
    whole = grow(seed, kinds)
    build = ph.Builder("pieces", gravity=list(whole.gravity))
    for body in whole.bodies:
        pose, half = body.pose, body.mass / 2
        joint = {"joint": body.joint, "at": pose.p, "rotation": pose.R, "parent": body.parent}
        build.body(body.name, mass=half, com=body.com, inertia=body.inertia / 2, **joint)
        build.body(
            f"{body.name} rest",
            parent=body.name,
            joint=ph.weld(),
            at=(0.3, -0.2, 0.1),
            mass=half,
            com=[c - o for c, o in zip(body.com, (0.3, -0.2, 0.1), strict=True)],
            inertia=body.inertia / 2,
        )
    one, two = ph.formulate(whole), ph.formulate(build.build())
    q, u = random_state(one, seed)
    a, b = At(one, q, u), At(two, q, u)
    assert close(a(one.M), b(two.M))
    assert close(a(one.c), b(two.c))


@some
@given(seeds, any_joints)
def test_coordinates_stay_on_their_manifold(seed, kinds):
    """Unit quaternions keep their length: q . qdot is zero over each."""
    at = formulated(seed, kinds)
    first = 0
    for body in at.eq.kinematics.model.bodies:
        for part in body.joint.parts:
            if part.quaternion:
                assert close(at.q[first : first + 4] @ at.qdot[first : first + 4], 0)
            first += part.nq


@some
@given(seeds, any_joints)
def test_the_pose_of_a_joint_changes_by_its_map(seed, kinds):
    """X_dot = X (H u) across every joint: the meaning of H and of N together."""
    from polhode.kinematics import configuration, joint_map, kinematic_matrix

    at = formulated(seed, kinds)
    first_q = first_u = 0
    for body in at.eq.kinematics.model.bodies:
        joint = body.joint
        q, u = at.eq.q[first_q : first_q + joint.nq], at.u[first_u : first_u + joint.nu]
        X = configuration(joint, q).matrix()
        rates = at(kinematic_matrix(joint, q)) @ u
        X_dot = at(diff_along(X, q, list(map(float, rates))))
        twist = np.linalg.inv(at(X)) @ X_dot
        found = [twist[2, 1], twist[0, 2], twist[1, 0], *twist[:3, 3]]
        assert close(found, at(joint_map(joint, q)) @ u)
        first_q, first_u = first_q + joint.nq, first_u + joint.nu


@some
@given(seeds, any_joints)
def test_symbols_for_the_masses_change_nothing_but_the_moment_of_their_values(seed, kinds):
    numbers, letters = (ph.formulate(grow(seed, kinds, symbolic=symbolic)) for symbolic in (False, True))
    masses = {f"m{i + 1}": float(grow(seed, kinds).body(f"b{i + 1}").mass) for i in range(len(kinds))}
    assert [str(s) for s in letters.parameters] == sorted(masses)
    q, u = random_state(numbers, seed)
    a, b = At(numbers, q, u), At(letters, q, u, masses.items())
    assert close(a(numbers.M), b(letters.M))
    assert close(a(numbers.c), b(letters.c))
