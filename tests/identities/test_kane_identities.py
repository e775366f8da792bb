"""Kane's method against the other formulations, against multipliers, and its reactions against momentum."""

import random
from dataclasses import replace

import numpy as np
import pytest

import polhode as ph
from polhode.graph import as_expr, cross, diff_along, gradient, jacobian, matrix, substitute, symbol, vector
from polhode.kinematics.generic import generic_points
from polhode.model import KnifeEdge, Loop, Marker, Relation
from polhode.model.grow import HOLONOMIC, JOINTS, grow
from polhode.spatial import Pose, Wrench
from tests.mechanics import At, close, random_state
from tests.mechanisms import squeezer
from tests.strategies import MANY

TREES = range(24 * min(MANY, 8))
CONSTRAINED = range(32 * min(MANY, 8))


def kinds_of(seed, among=JOINTS, most=4):
    draw = random.Random(seed)
    return [draw.choice(sorted(among)) for _ in range(draw.randint(1, most))]


def tree(seed, among=JOINTS, most=4):
    return grow(seed, kinds_of(seed, among, most), forces=seed % 2 == 1)


# trees, in the speeds of the joints


@pytest.mark.parametrize("seed", TREES)
def test_kane_agrees_with_poincare_and_denoc(seed):
    """Every term is Kane's own: bodies by partial velocities, where the others have composite bodies and recursions.

    Only the laws of springs' energies and of speeds are read by one function.
    """
    model = tree(seed)
    kane, poincare, denoc = (ph.formulate(model, method=name) for name in ("kane", "poincare", "denoc"))
    at = At(poincare, *random_state(poincare, seed))
    for other in (poincare, denoc):
        assert close(at(kane.M), at(other.M), 1e-9)
        assert close(at(kane.c), at(other.c), 1e-9)
        assert close(at(kane.Q), at(other.Q), 1e-9)
        assert close(at(kane.gravity), at(other.gravity), 1e-9)
    assert close(at(kane.C) @ at.u, at(kane.velocity_terms), 1e-9)


@pytest.mark.parametrize("seed", TREES)
def test_kane_agrees_with_lagrange(seed):
    """M_u = N^T M_q N, and qddot = N udot + N_dot u; Lagrange's terms come from the energies alone.

    No term has a function of both: these two are the independent check of the others.
    """
    model = tree(seed, HOLONOMIC, 3)
    kane, lagrange = (ph.formulate(model, method=name) for name in ("kane", "lagrange"))
    at = At(kane, *random_state(kane, seed))
    N, N_dot = at(kane.N), at.rate(kane.N)
    if np.linalg.cond(N) > 1e3:
        pytest.skip("near a singularity of the angles there are no rates to compare")
    other = At(lagrange, at.q, at.qdot)
    tau = np.random.default_rng(seed).normal(size=len(at.u))
    assert close(N.T @ other(lagrange.M) @ N, at(kane.M), 1e-9)
    for ours, theirs in ((kane.gravity, lagrange.gravity), (kane.Q, lagrange.Q)):
        assert close(N.T @ other(theirs), at(ours), 1e-9)
    qddot = other.udot(np.linalg.solve(N.T, tau))
    assert close(N @ at.udot(tau) + N_dot @ at.u, qddot, 1e-9 * max(1, np.linalg.cond(N)))


@pytest.mark.parametrize("seed", TREES)
def test_the_equations_are_active_plus_inertia_forces(seed):
    """F + F* = -(M udot + c) + Q, M the slopes of -F* by udot."""
    eq = ph.formulate(tree(seed, most=2), method="kane")
    at = At(eq, *random_state(eq, seed))
    udot = np.random.default_rng(seed).normal(size=len(eq.u))
    at.values[eq.kane.udot] = list(udot)
    M, c, Q = at(eq.M), at(eq.c), at(eq.Q)
    assert close(at(eq.kane.F) + at(eq.kane.F_star), Q - M @ udot - c, 1e-9)
    assert close(-at(jacobian(eq.kane.F_star, eq.kane.udot)), M, 1e-9)


def test_armatures_on_axes_that_do_not_commute():
    """The rotors of a spherical joint, seen by Poincare's bracket and by Kane's differentiation."""
    build = ph.Builder("rotors", gravity=(1, 2, -9))
    joint = ph.spherical(name="ball", armature=(0.3, 0.5, 0.9))
    build.body("a", joint=joint, mass=2, com=(0.1, 0.2, 0.3), inertia=(1, 1.2, 1.5))
    build.body("b", parent="a", joint=ph.revolute("x", armature=0.4), at=(0, 1, 0), mass=1, com=(0, 0, 1))
    model = build.build()
    poincare = ph.formulate(model, method="poincare")
    w = poincare.velocity("b", axes="marker")
    speeds = {"u1": w[0], "u2": w[1], "u3": w[2], "u4": symbol("ball_wx")}
    at = At(poincare, *random_state(poincare, 3))
    kane = ph.formulate(model, method="kane")
    assert close(at(kane.M), at(poincare.M))
    assert close(at(kane.c), at(poincare.c))
    _compare_speeds(poincare, ph.formulate(model, speeds=speeds), 3)
    lagrange = ph.formulate(model, method="lagrange")
    at = At(lagrange, *random_state(lagrange, 3))
    assert close(at(lagrange.kane.mass()), at(lagrange.M))
    assert close(at(lagrange.kane.velocity()), at(lagrange.velocity_terms))


@pytest.mark.parametrize("seed", TREES[::3])
def test_partial_velocities_of_other_methods_give_their_equations(seed):
    """eq.kane reads any kinematics: here the rates of the coordinates."""
    eq = ph.formulate(tree(seed, HOLONOMIC, 2), method="lagrange")
    at = At(eq, *random_state(eq, seed))
    assert close(at(eq.kane.mass()), at(eq.M), 1e-9)
    assert close(at(eq.kane.velocity()), at(eq.velocity_terms), 1e-9)
    assert close(at(eq.kane.F), at(eq.Q) - at(eq.gravity), 1e-9)


# other speeds


def _compare_speeds(plain, eq, seed):
    """The same motion in other speeds: v_dot, energies and power."""
    kin = eq.kinematics
    one = At(eq, *random_state(eq, seed))
    v = one(vector([kin.quasi[s] for s in plain.u]))
    two = At(plain, one.q, v)
    tau = np.random.default_rng(seed).normal(size=len(v))
    G = one(eq.kane.G)
    one.values[eq.kane.udot] = list(one.udot(G.T @ tau))
    v_dot = one(eq.kane.rate(vector([kin.quasi[s] for s in plain.u]), eq.kane.udot))
    assert close(v_dot, two.udot(tau), 1e-9)
    assert close(one(kin.q_dot), two(plain.kinematics.q_dot), 1e-9)
    assert close([one(eq.kinetic), one(eq.potential)], [two(plain.kinetic), two(plain.potential)], 1e-9)
    marker = plain.model.frames[-1]
    assert close(one(eq.velocity(marker)), two(plain.velocity(marker)), 1e-9)
    drift = one(substitute(eq.velocity(marker), dict.fromkeys(eq.u, 0)))
    assert close(one(eq.jacobian(marker)) @ one.u + drift, two(plain.velocity(marker)), 1e-9)


@pytest.mark.parametrize("seed", TREES)
@pytest.mark.parametrize("timed", [False, True])
def test_speeds_of_any_definition_describe_the_same_motion(seed, timed):
    """u = Y(q, t) v + Z(q, t)."""
    model = tree(seed, most=2)
    plain = ph.formulate(model, method="poincare")
    draw = random.Random(seed)
    n = len(plain.u)
    q = [*plain.q]
    speeds = {}
    for i, v in enumerate(plain.u):
        other = plain.u[draw.randrange(n)]
        meaning = v * (2 + ph.cos(draw.choice(q))) + (other * ph.sin(draw.choice(q)) / 2 if other is not v else 0)
        speeds[f"s{i}"] = meaning + (ph.sin(ph.TIME) * draw.choice(q) if timed else 0)
    eq = ph.formulate(model, speeds=speeds)
    assert any(e != 0 for e in eq.kane.X) == timed
    _compare_speeds(plain, eq, seed)


# constraints

LOOPS = ["point", "axis", "plane", "distance", "parallel", "orientation", "hinge"]


def constrained(seed):
    """A grown tree with one or two constraints that hold at the returned coordinates; t = 0.3."""
    draw = random.Random(seed)
    kinds = [draw.choice(sorted(JOINTS)) for _ in range(draw.randint(2, 3))]
    model = grow(seed, kinds, forces=draw.random() < 0.5)
    eq = ph.formulate(model, method="poincare")
    q, _ = random_state(eq, seed)
    at = At(eq, q, np.zeros(len(eq.u)))
    tip = f"tip{len(kinds)}"
    markers, found = list(model.markers), []
    for kind in draw.sample(["relation", "law", "knife edge", "loop"], draw.randint(1, 2)):
        if kind == "relation":
            v = [symbol(name) for name in draw.sample(model.speeds, 2)]
            turn = ph.cos(symbol(draw.choice(model.coordinates)))
            value = v[0] * draw.uniform(0.5, 1) + v[1] * turn + draw.uniform(-1, 1) * ph.sin(ph.TIME)
            found.append(Relation(name=kind, value=value))
        elif kind == "law":
            a, b = (symbol(draw.choice(model.coordinates)) for _ in range(2))
            value = 2 * a + ph.sin(b)
            found.append(Relation(name=kind, value=value - at(value) * ph.cos(ph.TIME) / float(np.cos(0.3))))
        elif kind == "knife edge":
            found.append(KnifeEdge(name=kind, marker=tip, axis=vector([0, 1, 0])))
        else:
            what, X = draw.choice(LOOPS), at(eq.pose(tip))
            away = np.array([0, 0, 0.7 if what == "distance" else 0])
            pose = Pose(matrix(X[:3, :3].tolist()), vector((X[:3, 3] + away).tolist()))
            markers.append(Marker(name="anchor", body="world", pose=pose))
            loop = {"axis": vector([0, 0, 1]), "length": as_expr(0.7)}
            found.append(Loop(name=kind, kind=what, ends=("anchor", tip), **loop))
    return replace(model, markers=tuple(markers), constraints=tuple(found)), q


def multipliers(eq, at, tau):
    """v_dot and lam from [M J^T; J 0]; the smallest lam where rows repeat others."""
    held = eq.constraints
    M, J, gamma = at(eq.M), at(held.J), at(held.gamma)
    system = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    found = np.linalg.lstsq(system, np.concatenate([at(eq.Q) + tau - at(eq.c), -gamma]), rcond=1e-12)[0]
    return found[: len(M)], found[len(M) :]


def satisfiable(still, rows):
    """Whether J v + b = 0 has a solution: a speed that a loop prevents may be prescribed as well."""
    J, b = still(rows.J), still(rows.psi)
    return close(J @ np.linalg.lstsq(J, -b, rcond=1e-9)[0], -b, 1e-9)


@pytest.mark.parametrize("seed", CONSTRAINED)
def test_embedded_constraints_give_the_accelerations_of_multipliers(seed):
    model, q = constrained(seed)
    plain = ph.formulate(model, method="poincare")
    there = At(plain, q, np.zeros(len(plain.u)))
    assert close(there(plain.constraints.phi), 0)
    sizes = np.linalg.svd(there(plain.constraints.J), compute_uv=False)
    rank = int((sizes > 1e-9).sum())
    if rank == len(plain.u) or sizes[rank - 1] < 1e-2:
        pytest.skip("no motion is left, or hardly")
    if not satisfiable(there, plain.constraints):
        with pytest.raises(ValueError, match="contradicts others: no motion satisfies them all"):
            ph.formulate(model, method="kane", embed=True)
        return
    accelerations = []
    for way in ("substitution", "recombination"):
        eq = ph.formulate(model, method="kane", embed=True, embed_by=way)
        kin = eq.kinematics
        if len(eq.u) < len(plain.u) - rank:
            assert {*plain.constraints.names} == {"knife edge", "loop"}
            pytest.skip("the edge repeats the loop here, where it is in line with the anchor, and nowhere else")
        assert len(eq.u) == len(plain.u) - rank
        draw = np.random.default_rng(seed)
        at = At(eq, q, draw.uniform(-1, 1, len(eq.u)))
        speeds = vector([kin.quasi[v] for v in plain.u])
        other = At(plain, q, at(speeds))
        assert close(other(plain.constraints.psi), 0, 1e-9)
        tau = draw.normal(size=len(plain.u))
        at.values[eq.kane.udot] = list(at.udot(at(eq.kane.G).T @ tau))
        v_dot = at(eq.kane.rate(speeds, eq.kane.udot))
        assert close(v_dot, multipliers(plain, other, tau)[0], 1e-9)
        accelerations.append(at.udot())
    assert close(*accelerations, 1e-9)
    # and the forces themselves, recombined
    both = eq.kane.recombined
    assert close(at(both.F), at(eq.kane.F), 1e-9)
    assert close(at(both.F_star), at(eq.kane.F_star), 1e-9)


@pytest.mark.parametrize("seed", CONSTRAINED[::4])
def test_reactions_of_embedded_constraints_are_the_multipliers(seed):
    model, q = constrained(seed)
    plain = ph.formulate(model, method="poincare")
    J = At(plain, q, np.zeros(len(plain.u)))(plain.constraints.J)
    sizes = np.linalg.svd(J, compute_uv=False)
    if len(J) >= len(plain.u) or sizes.min() < 1e-2:
        pytest.skip("rows that repeat others have no forces of their own")
    eq = ph.formulate(model, method="kane", embed=True)
    at = At(eq, q, np.random.default_rng(seed).uniform(-1, 1, len(eq.u)))
    at.values[eq.kane.udot] = list(at.udot())
    other = At(plain, q, at(vector([eq.kinematics.quasi[v] for v in plain.u])))
    v_dot, lam = multipliers(plain, other, 0)
    found = np.concatenate([at(eq.reaction(constraint.name)) for constraint in model.constraints])
    assert close(found, lam, 1e-8)
    # the wrench of every joint, with the multipliers as expressions or as symbols
    for label, value in zip(plain.constraints.labels, lam, strict=True):
        other.values[symbol(f"lam_{label}")] = value
    other.values[plain.kane.udot] = list(v_dot)
    for body in model.bodies:
        assert close(at(eq.reaction(body.name)), other(plain.reaction(body.name)), 1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_constraints_that_stay_outside_are_written_in_the_new_speeds(seed):
    """One is embedded, the other held by a multiplier: the same accelerations."""
    model = grow(seed, ["free", "revolute", "spherical"])
    v = [symbol(name) for name in model.speeds]
    first = Relation(name="first", value=v[0] + ph.cos(symbol(model.coordinates[1])) * v[4])
    second = KnifeEdge(name="second", marker="tip3", axis=vector([0, 1, 0]))
    model = replace(model, constraints=(first, second))
    plain, eq = ph.formulate(model, method="poincare"), ph.formulate(model, embed=["first"])
    assert eq.constraints.names == ("second",)
    whole = ph.formulate(model, embed=True)
    at = At(whole, *random_state(whole, seed))
    v_all = at(vector([whole.kinematics.quasi[s] for s in plain.u]))
    lookup = dict(zip(plain.u, v_all, strict=True))
    here = At(eq, at.q, [lookup[u] for u in eq.u])
    assert close(here(eq.constraints.psi), 0, 1e-9)
    here.values[eq.kane.udot] = list(multipliers(eq, here, 0)[0])
    v_dot = here(eq.kane.rate(vector([eq.kinematics.quasi[s] for s in plain.u]), eq.kane.udot))
    assert close(v_dot, multipliers(plain, At(plain, at.q, v_all), 0)[0], 1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_embedding_keeps_energy_that_constraints_do_not_take(seed):
    """d(T + U)/dt = u . tau where nothing depends on time."""
    model = grow(seed, ["revolute", "free", "revolute"])
    edge = KnifeEdge(name="edge", marker="tip3", axis=vector([0, 1, 0]))
    eq = ph.formulate(replace(model, constraints=(edge,)), embed=True)
    at = At(eq, *random_state(eq, seed))
    tau = np.random.default_rng(seed).normal(size=len(at.u))
    energy = eq.kinetic + eq.potential
    change = at(gradient(energy, eq.q)) @ at.qdot + at(gradient(energy, eq.u)) @ at.udot(tau)
    assert close(change, at.u @ tau, 1e-9)


# reactions


def _outside(kin, model, beyond):
    """Weight and forces of the model on some links, about the origin of the world."""
    total = Wrench.zero()
    for k in beyond:
        body = kin.links[k].inertia
        g = kin.X_W[k].R.T @ kin.model.gravity
        total = total + kin.X_W[k] @ Wrench(cross(body.h, g), g * body.m)
    for force in model.forces:
        if hasattr(force, "marker") and kin.frame(force.marker)[0] in beyond:
            X = kin.pose(force.marker)
            f, n = ((X.R @ part if force.axes == "marker" else part) for part in (force.force, force.torque))
            total = total + Wrench(n + cross(X.p, f), f)
        elif hasattr(force, "ends"):
            a, b = (kin.pose(end).p for end in force.ends)
            l = ph.sqrt((b - a) @ (b - a))
            change = diff_along(l, kin.q, kin.q_dot)
            pull = (b - a) * (force.stiffness * (l - force.length) / l + force.damping * change / l)
            for end, sign in zip(force.ends, (1, -1), strict=True):
                if kin.frame(end)[0] in beyond:
                    total = total + Wrench(cross(kin.pose(end).p, pull * sign), pull * sign)
    return total


@pytest.mark.parametrize("seed", TREES)
def test_a_joint_exerts_the_rate_of_momentum_beyond_it_less_what_acts_there(seed):
    """Newton and Euler for everything beyond the joint, in the world: no partial velocity is used."""
    model = grow(seed, kinds_of(seed), forces=True)
    eq = ph.formulate(model, method="poincare")
    kin = eq.kinematics
    at = At(eq, *random_state(eq, seed))
    at.values[eq.kane.udot] = list(np.random.default_rng(seed).normal(size=len(eq.u)))
    body = random.Random(seed).choice(model.bodies).name
    cut = kin.carriers[body]
    beyond = [k for k in range(len(kin.links)) if cut in kin.ancestors(k)]
    momentum = Wrench.zero()
    for k in beyond:
        momentum = momentum + kin.X_W[k] @ (kin.links[k].inertia @ kin.V[k])
    rate = diff_along(momentum.vector(), [*kin.q, *kin.u], [*kin.q_dot, *eq.kane.udot])
    needed = at(rate) - at(_outside(kin, model, beyond).vector())
    X = at(kin.X_W[cut].matrix())
    R, p = X[:3, :3], X[:3, 3]
    moment = needed[:3] - np.cross(p, needed[3:])
    assert close(at(eq.reaction(body, axes="world")), [*moment, *needed[3:]], 1e-9)
    assert close(at(eq.reaction(body)), [*(R.T @ moment), *(R.T @ needed[3:])], 1e-9)


def test_reactions_are_pinocchio_s_forces():
    pin = pytest.importorskip("pinocchio")
    file = "examples/ur5.urdf"
    eq = ph.formulate(ph.load(file))
    model = pin.buildModelFromUrdf(file)
    data = model.createData()
    q, u, a = np.random.default_rng(1).normal(size=(3, 6))
    pin.rnea(model, data, q, u, a)
    at = At(eq, q, u)
    at.values[eq.kane.udot] = list(a)
    for name in map(str, eq.q):
        force = data.f[model.getJointId(name)]
        assert close(at(eq.reaction(name)), [*force.angular, *force.linear])


def linkage(cut):
    """A four-bar O-A-B-D, as a chain from O cut open at D, or from D cut open at O."""
    build = ph.Builder(f"cut at {cut}", gravity=(0, 0, -9.81))
    bars = [("crank", 0.5, 1.0), ("coupler", 1.3, 2.0), ("rocker", 0.9, 1.5)]
    start, end = ("O", "D") if cut == "D" else ("D", "O")
    place = {"O": (0, 0, 0), "D": (1.2, 0, 0.1)}
    build.marker("ground", body="world", at=place[end])
    parent, at = "world", place[start]
    for name, length, mass in bars if cut == "D" else bars[::-1]:
        joint = ph.revolute("y", name=f"{name} joint")
        build.body(name, parent=parent, at=at, joint=joint, mass=mass, com=(length / 2, 0, 0), inertia=(0.1, 0.1, 0.1))
        parent, at = name, (length, 0, 0)
    build.marker("end", body=parent, at=at)
    build.loop("ground", "end", kind="point", name="pin")
    return build.build()


def test_a_pin_bears_the_same_whether_it_is_a_joint_or_a_constraint():
    """Four-bar: the chain from either side, all pins compared."""
    forward, backward = (ph.formulate(linkage(cut), method="kane", embed=True) for cut in "DO")
    assert forward.kane.repeated == backward.kane.repeated == ("pin.y",)
    assert len(forward.u) == len(backward.u) == 1
    # a configuration: angles of the bars from O by Newton's method, then the same bars from D
    th = np.array([-1.0, -0.2, 0.9])
    lengths = np.array([0.5, 1.3, 0.9])
    for _ in range(50):
        gap = np.array([lengths @ np.cos(th) - 1.2, -lengths @ np.sin(th) - 0.1])
        slope = np.array([-lengths * np.sin(th), -lengths * np.cos(th)])
        th = th - np.linalg.pinv(slope) @ gap
    q = np.array([th[0], th[1] - th[0], th[2] - th[1]])
    turned = th[::-1] + np.pi
    q_back = np.array([turned[0], turned[1] - turned[0], turned[2] - turned[1]])
    states = []
    for eq, at_q in ((forward, q), (backward, q_back)):
        at = At(eq, at_q, [0.0])
        assert close(at(eq.kane.kinematics.speeds.embedded.phi), 0, 1e-9)
        states.append(at)
    # one motion: the angular velocity of the crank is 2
    for eq, at in zip((forward, backward), states, strict=True):
        one = At(eq, at.q, [1.0])
        at.values[eq.u] = [2.0 / one(eq.velocity("crank"))[1]]
        at.u = np.array(at.values[eq.u])
        at.values[eq.kane.udot] = list(at.udot())
    a, b = states
    assert close(a(forward.velocity("rocker"))[1], b(backward.velocity("rocker"))[1], 1e-9)
    alpha = [at(at.eq.kane.rate(at.eq.velocity("crank"), at.eq.kane.udot))[1] for at in states]
    assert close(*alpha, 1e-9)

    def force(eq, at, name):
        return at(eq.reaction(name, axes="world"))[3:]

    # at D the ground holds the rocker; at A and B action is reaction; at O the ground holds the crank
    assert close(a(forward.reaction("pin")), force(backward, b, "rocker joint"), 1e-9)
    assert close(force(forward, a, "crank joint"), b(backward.reaction("pin")), 1e-9)
    assert close(force(forward, a, "coupler joint"), -force(backward, b, "crank joint"), 1e-9)
    assert close(force(forward, a, "rocker joint"), -force(backward, b, "coupler joint"), 1e-9)


def test_the_squeezing_mechanism_has_one_equation():
    """Seven bodies, three loops: nine rows, of which three repeat others."""
    model = squeezer()
    eq, plain = ph.formulate(model, embed=True), ph.formulate(model, method="poincare")
    assert len(eq.u) == 1
    assert eq.kane.repeated == ("E K3.z", "E K4.z", "E K6.z")
    assert sum(eq.op_counts().values()) < 700
    speeds = vector([eq.kinematics.quasi[v] for v in plain.u])
    for point in generic_points(plain.kinematics, plain.constraints.phi)[1:4]:
        at = At(eq, [point[q] for q in plain.q], [0.7])
        at.values[eq.kane.udot] = list(at.udot())
        other = At(plain, at.q, at(speeds))
        assert close(at(eq.kane.rate(speeds, eq.kane.udot)), multipliers(plain, other, 0)[0], 1e-9)


@pytest.mark.parametrize("shape", ["disc", "sphere"])
@pytest.mark.parametrize("quaternion", [False, True])
def test_rolling_without_slip_is_embedded(shape, quaternion):
    """The height is a configuration constraint, the slip a motion constraint; three speeds are left."""
    build = ph.Builder(shape, gravity=(0, 0, -9.81))
    build.body("W", joint=ph.free(quaternion=quaternion, name="f"), mass=2, inertia=(0.5, 1, 0.5))
    build.rolling("W", radius=1, shape=shape, name="roll")
    model = build.build()
    eq, plain = ph.formulate(model, embed=True), ph.formulate(model, method="poincare")
    assert eq.kane.independent == ("f_wx", "f_wy", "f_wz")
    speeds = vector([eq.kinematics.quasi[v] for v in plain.u])
    for seed in range(3):
        q, u = random_state(plain, seed)
        q[-1] = 1 if shape == "sphere" else float(np.sqrt(1 - At(plain, q, u)(plain.pose("W"))[2, 1] ** 2))
        at = At(eq, q, u[:3])
        at.values[eq.kane.udot] = list(at.udot())
        other = At(plain, q, at(speeds))
        assert close(other(plain.constraints.phi), 0)
        assert close(other(plain.constraints.psi), 0)
        v_dot, lam = multipliers(plain, other, 0)
        assert close(at(eq.kane.rate(speeds, eq.kane.udot)), v_dot, 1e-9)
        assert close(at(eq.reaction("roll")), lam, 1e-9)


def test_the_rolling_disk_of_the_textbooks():
    """Three definitions for six coordinates, completed by the rows of rolling: M = m r^2 diag(5/4, 1/4, 3/2)."""
    m, r, g = ph.symbols("m r g")
    build = ph.Builder("disk", gravity=(0, 0, -g))
    slides = [ph.prismatic(axis) for axis in "zyx"]
    joint = ph.compound([*(ph.revolute(a) for a in "yxz"), *slides], q=["spin", "lean", "yaw", "z", "y", "x"], name="f")
    build.body("W", joint=joint, mass=m, inertia=(m * r**2 / 4, m * r**2 / 2, m * r**2 / 4))
    build.rolling("W", radius=r, name="roll")
    spin, lean, yaw = ph.symbols("spin_dot lean_dot yaw_dot")
    tilt = symbol("lean")
    speeds = {"u1": lean, "u2": yaw * ph.cos(tilt), "u3": spin + yaw * ph.sin(tilt)}
    eq = ph.formulate(build.build(), speeds=speeds, embed=True)
    assert str(eq.M).replace("\n", "") == "[[5*m*r**2/4, 0, 0], [0, m*r**2/4, 0], [0, 0, 3*m*r**2/2]]"
