"""What must hold for machines with bodies that deform, on trees of beams grown from a seed."""

from dataclasses import replace

import numpy as np
import pytest

import polhode as ph
from polhode.compile import compile
from polhode.formulations.denoc import articulated, inverse_dynamics
from polhode.graph import as_expr, evaluate, gradient, op_counts
from polhode.kinematics import derive, reduced
from polhode.model.grow import HOLONOMIC, REDUNDANT, grow
from tests.mechanics import At, close, random_state

OTHERS = ("denoc", "kane", "quasicoordinate", "book")


def tree(seed, forces=True, many=None, **options):
    """Two or three bodies, half of them beams."""
    draw = np.random.default_rng(seed)
    kinds = [str(kind) for kind in draw.choice(sorted(HOLONOMIC), many or 2 + seed % 2)]
    return grow(seed, kinds, forces=forces, flexible=0.5, **options)


def at_random(model, seed, method="poincare"):
    eq = ph.formulate(model, method)
    return At(eq, *random_state(eq, seed))


def same_equations(seed):
    """All formulations say the same of one tree, the recursions of denoc too.

    M, velocity terms, gravity and forces by each method; accelerations by its own way where it has one; Lagrange's
    are derivatives of the energies, in the rates of the coordinates.
    """
    model = tree(seed, loops=seed % 3 == 0)
    at = at_random(model, seed)
    M, velocity, gravity, Q = (at(part) for part in (at.eq.M, at.eq.velocity_terms, at.eq.gravity, at.eq.Q))
    draw = np.random.default_rng(seed)
    tau, udot = draw.normal(size=len(at.u)), draw.normal(size=len(at.u))
    size = np.abs(np.diag(M)).max()
    found = np.linalg.solve(M, Q + tau - velocity - gravity)
    inputs = ph.vector(ph.symbols([f"input{i}" for i in range(len(tau))]))
    for method in OTHERS:
        eq = ph.formulate(model, method, embed=False)
        other = At(eq, at.q, at.u, {inputs: list(udot)})
        assert close(other(eq.M), M, 1e-9)
        assert close(other(eq.velocity_terms), velocity, 1e-9)
        assert close(other(eq.gravity), gravity, 1e-9)
        assert close(other(eq.Q), Q, 1e-9)
        assert close(other(eq.c), velocity + gravity, 1e-9)
        if eq.terms.inverse is not None:
            assert close(other(eq.terms.inverse(inputs)), M @ udot + velocity + gravity, 1e-9)
        other.values[inputs] = list(tau)
        if eq.terms.forward is not None:
            assert close(other(eq.terms.forward(eq.Q + inputs)), found, 1e-9 * max(1, np.linalg.cond(M) / 1e3))
        if method == "denoc":
            for kin in (eq.kinematics, reduced(eq.kinematics)):
                by_bodies = other(articulated(kin, eq.Q + inputs))
                assert close(M @ (by_bodies - found), np.zeros(len(tau)), 1e-9 * size)
        if model.constraints:
            for part in ("phi", "psi", "J", "gamma"):
                assert close(other(getattr(eq.constraints, part)), at(getattr(at.eq.constraints, part)), 1e-9)
    lagrange = ph.formulate(model, "lagrange")
    N, N_dot = at(at.eq.N), at.rate(at.eq.N)
    if np.linalg.cond(N) > 1e3:
        return  # near a singularity of the angles there are no rates to compare
    other = At(lagrange, at.q, at.qdot)
    assert close(N.T @ other(lagrange.M) @ N, M, 1e-9)
    assert close(N.T @ other(lagrange.gravity), gravity, 1e-9)
    assert close(N.T @ other(lagrange.Q), Q, 1e-9)
    assert close(N.T @ (other(lagrange.velocity_terms) + other(lagrange.M) @ N_dot @ at.u), velocity, 1e-9)
    assert close(at(at.eq.kinetic), at.u @ M @ at.u / 2)
    assert close([other(lagrange.kinetic), other(lagrange.potential)], [at(at.eq.kinetic), at(at.eq.potential)])


@pytest.mark.parametrize("seed", range(8))
def test_all_formulations_agree_on_trees_of_beams(seed):
    same_equations(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 112))
def test_all_formulations_agree_on_many_trees_of_beams(seed):
    same_equations(seed)


@pytest.mark.parametrize("seed", range(4))
def test_beams_on_quaternions_and_skates(seed):
    """Joints with more coordinates than speeds, for which there are no Lagrange equations."""
    draw = np.random.default_rng(seed)
    kinds = [str(draw.choice(sorted(part))) for part in (REDUNDANT, HOLONOMIC, REDUNDANT)[: 2 + seed % 2]]
    model = grow(seed, kinds, forces=True, flexible=0.6)
    at = at_random(model, seed)
    for method in OTHERS:
        eq = ph.formulate(model, method, embed=False)
        other = At(eq, at.q, at.u)
        for part in ("M", "velocity_terms", "gravity", "Q"):
            assert close(other(getattr(eq, part)), at(getattr(at.eq, part)), 1e-9)


def test_elimination_does_not_ask_far_from_small_deflections():
    """At amplitudes of 10 the power series of rotations lose all digits: what is symmetric is not compared there."""
    at = at_random(grow(15, 3, flexible=0.6), 15, "denoc")
    assert close(at(articulated(at.eq.kinematics, at.eq.Q)), at.udot(), 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_energy_changes_by_the_power_of_what_acts(seed):
    """d(T + U)/dt = u.tau + power of what has no potential, with the stiffness of beams inside U."""
    at = at_random(tree(seed), seed)
    tau = np.random.default_rng(seed).normal(size=len(at.u))
    energy = at.eq.kinetic + at.eq.potential
    by_q, by_u = at(gradient(energy, at.eq.q)), at(gradient(energy, at.eq.u))
    assert close(by_q @ at.qdot + by_u @ at.udot(tau), at.u @ tau + at(at.eq.own_power), 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_markers_on_beams_move_as_their_poses_change(seed):
    at = at_random(tree(seed), seed)
    for marker in [m.name for m in at.eq.model.markers] + [b.name for b in at.eq.model.bodies]:
        X, X_dot = at(at.eq.pose(marker)), at.rate(at.eq.pose(marker))
        turn = X_dot[:3, :3] @ X[:3, :3].T
        V = np.array([turn[2, 1], turn[0, 2], turn[1, 0], *X_dot[:3, 3]])
        assert close(at(at.eq.velocity(marker)), V)
        assert close(at(at.eq.jacobian(marker)) @ at.u, V)


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_loops_are_the_changes_of_what_they_close(seed):
    """psi = d phi/dt = J u, gamma = dJ/dt u, of a point and a distance on bodies that deform."""
    at = at_random(tree(seed, loops=True), seed)
    rows = at.eq.constraints
    assert close(at(rows.psi), at.rate(rows.phi))
    assert close(at(rows.J) @ at.u, at(rows.psi))
    assert close(at(rows.gamma), at.rate(rows.psi))


@pytest.mark.parametrize("method", ["denoc", "quasicoordinate"])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 3))])
def test_m_dot_minus_2c_is_skew(seed, method):
    eq = ph.formulate(tree(seed), method, embed=False)
    at = At(eq, *random_state(eq, seed))
    rest = at.rate(eq.M) - 2 * at(eq.C)
    assert close(rest + rest.T, 0, 1e-9)
    assert close(at(eq.C) @ at.u + at(eq.gravity), at(eq.c), 1e-9)


def satellite():
    """A flexible boom with a hub in free flight, a panel on a hinge half-way, and a payload welded to its tip."""
    build = ph.Builder("satellite", gravity=(0, 0, 0))
    boom = ph.beam(
        length=1, mu=1, EI_z=40, EI_y=60, GJ=3, EA=800, J=0.01, modes={"y": 2, "z": 1, "twist": 1, "stretch": 1}
    )
    panel = ph.beam(length=0.8, mu=0.3, EI_y=3, modes=2, axis="y")
    build.body(
        "hub", joint=ph.free(quaternion=True), mass=2, inertia=(0.1, 0.12, 0.15), com=(-0.1, 0.02, 0), flexible=boom
    )
    build.body("panel", parent="hub", joint=ph.revolute("z"), at=(0.6, 0.1, 0), mass=0.3, com=(0.2, 0, 0),
               inertia=(0.01, 0.01, 0.01), flexible=panel)  # fmt: skip
    build.body("load", parent="hub", joint=ph.weld(), at=(1, 0, 0), mass=0.2, com=(0.1, 0, 0.05))
    return build.build()


@pytest.mark.parametrize("method", ["denoc", "poincare"])
def test_free_flight_keeps_energy_and_momentum(method):
    """Momentum summed over the bodies, and as the rows of M u that belong to the free joint; the centre of mass."""
    model = satellite()
    dyn = ph.formulate(model, method).compile()
    q, u = model.neutral(), np.random.default_rng(1).uniform(-1, 1, model.nu)
    q[model.coordinates.index("hub_y1")] = 0.03
    u[[i for i, name in enumerate(model.speeds) if i > 5 and name != "panel_dot"]] *= 0.1
    traj = ph.simulate(dyn, q, u, 1.0, rtol=1e-11, atol=1e-12, output=0.05)
    assert np.ptp(traj.energy[:, 2]) < 1e-10 * traj.energy[0, 0]
    assert np.ptp(traj.energy[:, 1]) > 0.01
    assert np.ptp(traj.momentum, axis=0).max() < 1e-11
    own = np.array([(dyn.mass_matrix(q) @ u)[:6] for q, u in zip(traj.q, traj.u, strict=True)])
    X = traj.pose("hub")
    f, n = (np.einsum("kij,kj->ki", X[:, :3, :3], part) for part in (own[:, 3:], own[:, :3]))
    n = n + np.cross(X[:, :3, 3], f)
    assert close(np.hstack([n, f]), traj.momentum)
    centre = np.array([dyn.center_of_mass(q) for q in traj.q])
    assert close(centre - centre[0], np.outer(traj.t, f[0]) / (2 + 1 + 0.3 + 0.24 + 0.2))


def stiffened(model, factor):
    """The same model with beams that are stiffer."""
    names = ("EI_y", "EI_z", "GJ", "EA")

    def more(flexible):
        given = {name: getattr(flexible, name) for name in names if getattr(flexible, name) is not None}
        return replace(flexible, **{k: replace(part, scale=part.scale * factor) for k, part in given.items()})

    bodies = [b if b.flexible is None else replace(b, flexible=more(b.flexible)) for b in model.bodies]
    return replace(model, bodies=tuple(bodies))


def rigid(model):
    """The same model with beams that do not deform."""

    def still(body):
        if body.flexible is None:
            return body
        straight = body.flexible.inertia.at([as_expr(0)] * len(body.modes)).inertia
        return replace(body, flexible=None, welded=body.welded + straight)

    return replace(model, bodies=tuple(map(still, model.bodies)), literal=True)


def yielding(model, q, u):
    """Accelerations of the joints where the beams have given way, and their amplitudes: d'' = d' = 0.

    K d is what the motion of the joints needs along the modes; found by repetition.
    """
    eq = ph.formulate(model)
    modes = [name for body in model.bodies for name in body.modes]
    bent = [model.coordinates.index(name) for name in modes]
    moved = [model.speeds.index(f"{name}_dot") for name in modes]
    joints = [i for i in range(len(eq.u)) if i not in moved]
    K = np.zeros((len(modes), len(modes)))
    first = 0
    for body in model.bodies:
        if body.modes:
            own = slice(first, first + len(body.modes))
            K[own, own] = np.array(evaluate(body.flexible.stiffness, {}))
            first += len(body.modes)
    parts = compile({"q": eq.q, "u": eq.u}, {"M": eq.M, "f": eq.Q - eq.c})
    x, v = np.zeros(len(eq.q)), np.zeros(len(eq.u))
    x[[i for i in range(len(x)) if i not in bent]], v[joints] = q, u
    for _ in range(30):
        M, f = parts(x, v)
        udot = np.linalg.solve(M[np.ix_(joints, joints)], f[joints])
        x[bent] += np.linalg.solve(K, f[moved] - M[np.ix_(moved, joints)] @ udot)
    return udot, x[bent]


@pytest.mark.parametrize("seed", [0, 1, 2, 7])
def test_stiff_beams_tend_to_rigid_bodies(seed):
    """As 1/EI: the accelerations of the joints, and the deflections, once the beams have given way."""
    model = replace(tree(seed, forces=False, many=2), gravity=ph.vector([1.0, -2.0, -9.0]))
    bare = rigid(model)
    eq = ph.formulate(bare)
    q, u = random_state(eq, seed)
    expected = At(eq, q, u).udot()
    gaps, bends = [], []
    for factor in (1e3, 1e4, 1e5):
        udot, d = yielding(stiffened(model, factor), q, u)
        gaps.append(np.abs(udot - expected).max())
        bends.append(np.abs(d).max())
    assert gaps[-1] < 1e-3 * max(1, np.abs(expected).max())
    assert np.array(gaps[:-1]) / gaps[1:] == pytest.approx([10, 10], rel=0.05)
    assert np.array(bends[:-1]) / bends[1:] == pytest.approx([10, 10], rel=0.05)


def chain(n):
    """A chain of beams with two modes each, turned by skew hinges."""
    build = ph.Builder("chain")
    for i in range(n):
        flexible = ph.beam(length=1, mu=0.5, EI_z=50, EI_y=60, modes={"y": 1, "z": 1})
        build.body(f"link{i}", parent=f"link{i - 1}" if i else "world", at=(1, 0, 0) if i else (0, 0, 0), mass=0.3,
                   joint=ph.revolute("yz"[i % 2]), inertia=(0.01, 0.02, 0.02), flexible=flexible)  # fmt: skip
    return build.build()


def test_recursions_take_operations_that_grow_linearly():
    """From 4 to 8 links and from 8 to 16 each link costs the same, by inverse dynamics and by articulated bodies."""
    counts = []
    for n in (2, 4, 8, 16):
        kin = reduced(derive(chain(n)))
        given = ph.vector(ph.symbols([f"input{i}" for i in range(len(kin.u))]))
        both = inverse_dynamics(kin, given), articulated(kin, given)
        counts.append([sum(op_counts(part.entries).values()) for part in both])
    each = np.diff(counts, axis=0) / np.array([[2], [4], [8]])
    assert each[2] == pytest.approx(each[1], rel=0.01)
    assert each[1] == pytest.approx(each[0], rel=0.03)
    assert (each[2] < [720, 2000]).all()


def test_stiff_modes_by_rodas5p_and_by_explicit_steps():
    """A slewing arm of stiff damped beams: the same motion in a tenth of the steps, by exact Jacobians."""
    build = ph.Builder("arm")
    for name, parent, at in (("upper", "world", (0, 0, 0)), ("fore", "upper", (1, 0, 0))):
        flexible = ph.beam(length=1, mu=1, EI_y=3e4, modes=3, damping=0.2)
        build.body(name, parent=parent, at=at, joint=ph.revolute("y", damping=0.5), flexible=flexible)
    dyn = ph.formulate(build.build(), "denoc").compile()
    many, end = {}, {}
    for method in ("dop853", "rodas5p"):
        traj = ph.simulate(dyn, {"upper": 0.3, "fore": 0.4}, None, 0.6, method=method, rtol=1e-7, atol=1e-9, output=0.1)
        assert traj.outcome.finished
        many[method], end[method] = traj.statistics["steps"], traj.q
    assert close(end["rodas5p"], end["dop853"], 1e-5)
    assert many["rodas5p"] < many["dop853"] / 10
