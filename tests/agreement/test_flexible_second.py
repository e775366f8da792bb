"""Bodies of order "second": definite however far they bend, by all methods, and beside order "first"."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import polhode as ph
from polhode.equations import formulate
from polhode.graph import as_expr, evaluate
from polhode.model.definite import bending_limit
from polhode.spatial import Twist
from tests.beam_machines import FOUR_BAR, PENDULUM, SLIDER_CRANK, model, move, softer
from tests.flexible_brute_force import skew
from tests.mechanics import At, close

METHODS = ("poincare", "denoc", "book", "lagrange", "kane", "quasicoordinate")
SPACE = {"EI_z": 20.0, "EI_y": 30.0, "GJ": 5.0, "EA": 1e4, "J_y": 0.02, "J_z": 0.03}
WAYS = {"y": 2, "z": 1, "twist": 1, "stretch": 1}


def arm(order, hub=0.0, **more):
    """Two beams in space, which bend, twist and stretch, the second beside the end of the first."""
    build = ph.Builder("arm", gravity=(0, -3, -9))
    own = {"length": 0.8, "mu": 0.5, "modes": WAYS, "order": order, **SPACE, **more}
    body = {"flexible": ph.beam(**own), "mass": hub, "inertia": (hub,) * 3}
    build.body("upper", joint=ph.revolute("z", name="a"), **body)
    lower = {**own, "axis": (1, 1, 0), "start": (0.1, 0, 0)}
    build.body("lower", parent="upper", at=(0.8, 0.1, 0), joint=ph.revolute("y", name="b"), flexible=ph.beam(**lower))
    return build.build()


def amplitudes(made, size, seed):
    """Coordinates with amplitudes up to a size, and speeds."""
    draw = np.random.default_rng(seed)
    q, u = draw.uniform(-1, 1, (2, made.nu))
    return np.where([name in "ab" for name in made.coordinates], q, size * q), u


@pytest.mark.parametrize("rotary", [False, True])
def test_all_methods_agree_where_beams_bend_far(rotary):
    made = arm("second", rotary=rotary)
    q, u = amplitudes(made, 0.3, 1)
    first, *others = [At(eq, q, u) for eq in (formulate(made, method) for method in METHODS)]
    M, c = first(first.eq.M), first(first.eq.c)
    assert np.linalg.eigvalsh(M)[0] > 0
    for other in others:
        assert close(other(other.eq.M), M, 1e-11)
        assert close(other(other.eq.c), c, 1e-11)


def orders(size):
    """How far M and c of both orders are apart, rows of joints and of modes; hinges stand still."""
    apart = []
    for what in ("M", "c"):
        found = []
        for order in ("first", "second"):
            made = arm(order)
            q, u = amplitudes(made, size, 2)
            modes = np.array([name not in "ab" for name in made.coordinates])
            at = At(formulate(made, "denoc"), q, np.where(modes, size, 1) * u)
            found.append(at(getattr(at.eq, what)))
        gap = np.abs(found[0] - found[1])
        apart += [gap[~modes].max(), gap[modes].max()] if what == "c" else [gap[~modes][:, ~modes].max()]
    return np.array(apart)


def test_both_orders_are_the_same_to_first_order():
    """Joints' M and forces differ in the third order, those of modes in the second."""
    ratio = orders(2e-3) / orders(1e-3)
    assert ratio == pytest.approx([8, 8, 4], rel=0.1)


@pytest.mark.parametrize("shapes", ["exact", "polynomial"])
@pytest.mark.parametrize("many", [3, 4, 6])
def test_the_inertia_of_a_beam_on_a_hinge_is_definite(shapes, many):
    made = {order: model(PENDULUM, many, order, shapes=shapes, ends="clamped-free")[0] for order in ("first", "second")}
    mass = {order: formulate(each, "denoc").compile().mass_matrix for order, each in made.items()}
    bent = np.zeros((4, many + 1))
    bent[:, 1] = [0.03, 0.07, 0.12, 0.3]
    first, second = ([np.linalg.eigvalsh(M)[0] for M in mass[order](bent)] for order in ("first", "second"))
    assert min(first) < 0 < min(second)


def test_symbols_stay_symbols():
    L, mu, J = ph.symbols("L mu J")
    ways = {"y": 2, "z": 1, "twist": 1}
    given = {"EI_z": 1.0, "EI_y": 1.0, "GJ": 1.0, "modes": ways, "order": "second", "rotary": True}
    known = {L: 0.7, mu: 0.3, J: 0.02}
    d, rates = np.random.default_rng(0).uniform(-0.2, 0.2, (2, 4))
    V = Twist.of([as_expr(float(x)) for x in np.random.default_rng(1).normal(size=6)])
    found = []
    for values in ({L: L, mu: mu, J: J}, known):
        beam = ph.beam(length=values[L], mu=values[mu], J_y=values[J], J_z=values[J], axis=(1, 2, 0), **given)
        body = beam.inertia.at([as_expr(float(x)) for x in d])
        found.append(float(evaluate(body.kinetic(V, [as_expr(float(x)) for x in rates]), known)))
    assert found[0] == pytest.approx(found[1], rel=1e-13)


def frame(order, **more):
    """A straight bar of elements along x."""
    made = ph.Frame({"root": (0, 0, 0), "tip": (1.0, 0, 0)})
    made.beam("root", "tip", EA=1e8, EI_y=30.0, EI_z=20.0, GJ=1e3, mu=0.5, elements=8)
    return made.flexible(root="root", modes=4, order=order, **more)


def kinetic(body, d, rates, V):
    d, rates = ([as_expr(float(x)) for x in values] for values in (d, rates))
    return float(evaluate(body.inertia.at(d).kinetic(Twist.of([as_expr(float(x)) for x in V]), rates), {}))


def test_a_bar_of_elements_is_a_beam():
    bar = frame("second")
    beam = ph.beam(length=1.0, mu=0.5, EI_z=20.0, EI_y=30.0, modes=2, order="second")
    place = {"y1": 0, "z1": 1, "y2": 2, "z2": 3}  # by frequency
    draw, across = np.random.default_rng(3), {"y": 1, "z": 2}
    tip = np.array(evaluate(beam.station(ph.vector([1.0, 0, 0]), "tip").Phi, {}))
    ends = [(tip[across[m[0]], k], bar.shapes[1, across[m[0]], place[m]]) for k, m in enumerate(beam.modes)]
    same = np.array([np.sign(one * other) for one, other in ends])
    for _ in range(3):
        d, rates = draw.uniform(-0.2, 0.2, (2, 4))
        V = draw.normal(size=6)
        theirs, speeds = np.zeros((2, 4))
        order = [place[m] for m in beam.modes]
        theirs[order], speeds[order] = d * same, rates * same
        assert kinetic(bar, theirs, speeds, V) == pytest.approx(kinetic(beam, d, rates, V), rel=1e-4)
        assert kinetic(frame("full"), theirs, speeds, V) != pytest.approx(kinetic(beam, d, rates, V), rel=1e-3)


def test_masses_of_nodes_and_their_matrix_are_the_same():
    draw = np.random.default_rng(4)
    x, phi, g = draw.normal(size=(6, 3)), draw.normal(size=(6, 3, 2)), draw.normal(size=(6, 3, 2, 2))
    x[0], phi[0], g[0] = 0, 0, 0
    mass, given = draw.uniform(0.5, 1, 6), {"shapes": phi, "second": g + g.swapaxes(2, 3), "stiffness": np.eye(2)}
    points = ph.flexible(x, mass=mass, order="second", **given)
    whole = ph.flexible(x, mass=np.diag(np.repeat(mass, 3)), order="second", **given)
    d, rates, V = draw.normal(size=2), draw.normal(size=2), draw.normal(size=6)
    s = x + phi @ d + (given["second"] @ d) @ d / 2
    v = V[3:] + np.cross(V[:3], s) + phi @ rates + (given["second"] @ d) @ rates
    expected = (mass[:, None] * v**2).sum() / 2
    assert kinetic(points, d, rates, V) == pytest.approx(expected, rel=1e-12)
    assert kinetic(whole, d, rates, V) == pytest.approx(expected, rel=1e-12)


STOPPED = {
    "pendulum": (softer(PENDULUM, 10), {"modes": 4}, 0.2),
    "slider-crank": (SLIDER_CRANK, {"modes": 4}, 0.02),
    "four-bar": (FOUR_BAR, {"modes": 4}, 0.015),
}


@pytest.mark.parametrize("name", STOPPED)
def test_machines_that_order_first_stops_go_on(name):
    machine, how, bent = STOPPED[name]
    with pytest.warns(ph.SimulationWarning, match=r"'b0' bends so far that one motion has no inertia left.*\"second\""):
        stopped = move(machine, **how)
    assert stopped.t[-1] < machine.span
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Body .* (bends by|turns its sections by) more")
        found = move(machine, order="second", **how)
    assert found.t[-1] == machine.span
    assert bent < np.abs(found.deflection).max() < 0.25


@pytest.mark.parametrize("many", [3, 6])
def test_energy_is_kept_where_a_beam_bends_far(many):
    made, q0, _ = model(softer(PENDULUM, 10), many, "second", shapes="polynomial", ends="clamped-free")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ph.SimulationWarning)
        traj = ph.simulate(formulate(made).compile(), q0, None, 0.4, output=0.02)
    assert np.abs(traj["b0_y1"]).max() > 0.15
    assert np.ptp(traj.energy[:, :2].sum(axis=1)) < 1e-8  # J, where m g L is 9.8 J


def test_a_model_says_where_it_has_no_inertia_left():
    hinged = {many: model(PENDULUM, many, "first", shapes="exact", ends="clamped-free")[0] for many in (4, 5)}
    for many, at in ((4, "6.6 %"), (5, "4.8 %")):
        (said,) = hinged[many].report().findings
        assert f"'b0': where it bends by {at} of its length" in said
    mass = formulate(hinged[4], "denoc").compile().mass_matrix
    limit = bending_limit(hinged[4].bodies[0])
    below, above = (np.linalg.eigvalsh(mass([0, size * limit, 0, 0, 0]))[0] for size in (0.97, 1))
    assert above < 0 < below


@pytest.mark.parametrize("remedy", [{"order": "second"}, {"ends": "pinned-pinned"}, {"hub": 0.01}], ids=str)
def test_what_a_model_says_to_do_helps(remedy):
    machine, how = softer(PENDULUM, 10), {"order": "first", "ends": "clamped-free", **remedy}
    made = model(machine, 4, how["order"], shapes="exact", ends=how["ends"])[0]
    if "hub" in remedy:
        body = replace(made.bodies[0], mass=as_expr(0.1), inertia=ph.matrix(np.diag([0.01] * 3).tolist()))
        made = replace(made, bodies=(body,))
    assert made.report().findings == ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ph.SimulationWarning)
        traj = ph.simulate(formulate(made).compile(), None, None, 1.0, output=0.02)
    assert traj.outcome.finished


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("tip", [0.5, 0.1])
def test_sections_that_turn_weigh_what_their_points_do(rotary, tip):
    """Kinetic energy of a beam against its sections one by one: s = axis + (1 + th~ + th~ th~ / 2) r."""
    L, mu, J = 0.8, [(0, 0.5), (1, tip)], (0.03, 0.02)  # of points along y and z
    made = ph.beam(
        length=L, mu=mu, modes=WAYS, shapes="polynomial", order="second", rotary=rotary,
        **{**SPACE, "J_z": J[0], "J_y": J[1]},
    )  # fmt: skip
    draw = np.random.default_rng(5)
    d, rates, V = draw.uniform(-0.2, 0.2, 5), draw.uniform(-1, 1, 5), draw.normal(size=6)
    w, v = V[:3], V[3:]
    expected = 0.0
    for x, weight in zip(*np.polynomial.legendre.leggauss(16), strict=True):
        at = made.station(ph.vector([float(L * (1 + x) / 2), 0, 0]), "section")
        p, Phi, Psi = (np.array(evaluate(part, {}), dtype=float) for part in (at.p, at.Phi, at.Psi))
        g = np.array([[np.array(evaluate(e, {}), dtype=float) for e in row] for row in at.g])
        Psi = Psi if rotary else Psi * np.array([[1], [0], [0]])
        s, s_dot = (
            p + Phi @ d + np.einsum("klc,k,l->c", g, d, d) / 2,
            Phi @ rates + np.einsum("klc,k,l->c", g, d, rates),
        )
        a, b = skew(Psi @ d), skew(Psi @ rates)
        R, R_dot = np.eye(3) + a + a @ a / 2, b + (a @ b + b @ a) / 2
        moved = [np.interp((1 + x) / 2, *np.transpose(mu)) * np.sum((v + np.cross(w, s) + s_dot) ** 2)]
        moved += [J[i - 1] * np.sum((np.cross(w, R[:, i]) + R_dot[:, i]) ** 2) for i in (1, 2)]
        expected += weight * L / 2 * sum(moved) / 2
    assert kinetic(made, d, rates, V) == pytest.approx(expected, rel=1e-12)
