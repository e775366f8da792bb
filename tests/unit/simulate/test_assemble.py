"""States that satisfy constraints: closed, nearest to a guess, and otherwise told which constraint is at fault."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.graph import sin, symbol
from polhode.model.constraints import LOOPS
from polhode.model.grow import grow
from polhode.simulate import AssemblyError, assemble
from tests.mechanics import At, close, random_state


def four_bar(kind="point", lengths=(1.0, 2.0, 1.5), ground=2.0):
    build = ph.Builder("four-bar")
    a, b, c = lengths
    rod = {"mass": 1, "inertia": (0.1, 0.1, 0.1)}
    build.body("crank", joint=ph.revolute("y"), com=(a / 2, 0, 0), **rod)
    build.body("coupler", parent="crank", at=(a, 0, 0), joint=ph.revolute("y"), com=(b / 2, 0, 0), **rod)
    build.body("rocker", at=(ground, 0, 0), joint=ph.revolute("y"), com=(c / 2, 0, 0), **rod)
    build.marker("coupler end", body="coupler", at=(b, 0, 0))
    build.marker("rocker end", body="rocker", at=(c, 0, 0))
    build.loop("coupler end", "rocker end", kind, axis="y", name="close")
    return build


@cache
def compiled(kind="point"):
    return ph.formulate(four_bar(kind).build()).compile()


def residuals(eq, state, t=0.0):
    """phi, psi and J at a state."""
    at = At(eq, state.q, state.u)
    at.values[eq.t] = t
    held = eq.constraints
    return at(held.phi), at(held.psi), at(held.J)


def rank(J):
    s = np.linalg.svd(J, compute_uv=False)
    return int((s > 1e-8 * s[0]).sum())


GUESSES = [(-1.0, 0.0, -2.0), (-0.5, 1.0, -1.0), (0.7, -1.0, 1.5), (-2.0, 1.0, -2.0)]


# closed


def two(build):
    """Two constraints for every tip of a grown tree."""
    build.loop("tip1", "tip3", "distance", length=1)
    build.rolling("tip3", radius=0.5)


KINDS = {kind: lambda b, k=kind: b.loop("tip1", "tip3", k, length=1 if k == "distance" else None) for kind in LOOPS}
KINDS |= {
    "disc": lambda b: b.rolling("tip3", "tip1", radius=0.5),
    "sphere": lambda b: b.rolling("tip3", radius=0.5, shape="sphere"),
    "knife edge": lambda b: b.knife_edge("tip3"),
    "two": two,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_closes_on_a_grown_tree(kind):
    build = ph.Builder()
    KINDS[kind](build)
    model = replace(grow(3, ["free quaternion", "revolute", "free"]), constraints=tuple(build.constraints))
    eq = ph.formulate(model)
    found = assemble(eq.compile(), *random_state(eq, 2))
    phi, psi, J = residuals(eq, found)
    assert np.abs(phi).max() < 1e-12
    assert np.abs(psi).max() < 1e-11
    assert rank(J) == len(eq.constraints)
    assert np.linalg.norm(found.q[:4]) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("guess", GUESSES)
def test_no_nearer_state_is_closed(guess):
    optimize = pytest.importorskip("scipy.optimize", reason="NOT TESTED: the package scipy is not installed")
    eq = compiled().equations
    found = assemble(compiled(), guess)

    def phi(q):
        return At(eq, q, np.zeros(3))(eq.constraints.phi)[[0, 2]]

    def away(q):
        return ((q - np.array(guess)) ** 2).sum()

    best = optimize.minimize(
        away, found.q, method="SLSQP", constraints=[{"type": "eq", "fun": phi}], options={"ftol": 1e-14}
    )
    assert away(found.q) == pytest.approx(away(best.x), rel=1e-6)
    assert np.abs(found.q - best.x).max() < 1e-4


def test_a_closed_state_stays_as_it_is():
    first = assemble(compiled(), GUESSES[0], [1, 0, 0])
    again = assemble(compiled(), *first)
    assert close(again.q, first.q, 1e-14)
    assert close(again.u, first.u, 1e-14)


def test_speeds_change_as_little_as_they_can():
    found = assemble(compiled(), GUESSES[0], [1, 2, 3])
    _, psi, J = residuals(compiled().equations, found)
    assert np.abs(psi).max() < 1e-12
    assert close(found.u, [1, 2, 3] - np.linalg.pinv(J) @ J @ [1, 2, 3])


@pytest.mark.parametrize("pace", [1e-8, 1.0, 1e7])
def test_the_nearest_speeds_do_not_depend_on_the_unit_of_time(pace):
    dyn = compiled()
    q = assemble(dyn, GUESSES[0]).q
    slow = assemble(dyn, q, [1, -2, 3.0]).u
    np.testing.assert_allclose(assemble(dyn, q, pace * np.array([1, -2, 3.0])).u / pace, slow, rtol=1e-9)


def test_axes_that_nothing_can_turn_are_parallel_to_rounding():
    """Carts that carry markers written to nine digits: no motion changes how parallel they are."""
    for angle, fits in ((1e-9, True), (1e-3, False)):
        build = ph.Builder("carts")
        for name in "ab":
            build.body(name, joint=ph.prismatic("x", name=name), mass=1)
            build.marker(f"on {name}", body=name, rpy=(0, angle * (name == "b"), 0))
        build.loop("on a", "on b", "parallel", name="parallel")
        build.coupling("a", "b", ratio=2)
        dyn = ph.formulate(build.build()).compile()
        if fits:
            found = assemble(dyn, {"b": 0.5}, keep="b")
            assert found.q[0] == pytest.approx(1)
            assert ph.simulate(dyn, *found, t_end=0.1).outcome.finished
        else:
            with pytest.raises(AssemblyError, match="'parallel'"):
                assemble(dyn, {"b": 0.5})


def test_states_beside_motion_are_where_runs_start_them():
    x, y, z, x_dot = map(symbol, ("x", "y", "z", "x_dot"))
    build = ph.Builder("servo", gravity=(0, 0, 0))
    for name in "xy":
        build.body(name, joint=ph.prismatic("x", name=name), mass=1)
    build.state("z", rate=x_dot - z, start=0.2)
    build.constraint(y - x - z, name="servo")
    dyn = ph.formulate(build.build()).compile()
    q0, u0 = assemble(dyn, {"x": 1.0}, {"x_dot": 0.5}, keep=["x", "x_dot"])
    np.testing.assert_allclose([*q0, *u0], [1.0, 1.2, 0.5, 0.5 + (0.5 - 0.2)])
    assert ph.simulate(dyn, q0, u0, t_end=0.1).outcome.finished


def test_half_a_turn_away_from_a_weld():
    build = ph.Builder()
    build.body("a", joint=ph.free(quaternion=True), mass=1, inertia=(1, 1, 1))
    build.loop("world", "a", "weld")
    dyn = ph.formulate(build.build()).compile()
    for turn in ([0, 1, 0, 0], [0, 0.6, 0, 0.8], [1e-9, 0, 1, 0], [0.1, 0, 0, -1]):
        q = assemble(dyn, [*turn, 1, 2, 3]).q
        assert close(np.abs(q), [1, 0, 0, 0, 0, 0, 0])


def test_nothing_to_close():
    build = ph.Builder()
    build.body("a", joint=ph.revolute("y"), mass=1, com=(1, 0, 0))
    assert assemble(build.build(), [0.3], [2]).q == [0.3]
    assert assemble(build.build()).u == [0]


# keep


def test_what_is_kept_stays():
    found = assemble(compiled(), {"crank": -1.2, "rocker": -2}, {"crank_dot": 3}, keep=["crank", "crank_dot"])
    assert found.q[0] == -1.2
    assert found.u[0] == 3
    phi, psi, _ = residuals(compiled().equations, found)
    assert np.abs(phi).max() < 1e-12
    assert np.abs(psi).max() < 1e-12
    # the loop by the law of cosines
    d = np.array([2, 0]) - [np.cos(1.2), np.sin(1.2)]
    assert d @ d + 1.5**2 - 2 * 1.5 * np.linalg.norm(d) * np.cos(angle(found.q, d)) == pytest.approx(4)


def angle(q, d):
    """Between the rocker and the line to the end of the crank."""
    rocker = np.array([np.cos(q[2]), -np.sin(q[2])])
    return np.arccos(-rocker @ d / np.linalg.norm(d))


def test_what_is_kept_may_be_too_much():
    with pytest.raises(
        AssemblyError, match="'close' cannot be satisfied in its positions while 'crank', 'rocker' stay"
    ):
        assemble(compiled(), {"crank": 0.3, "rocker": 0.5}, keep=["crank", "rocker"])
    with pytest.raises(AssemblyError, match="in its speeds while 'crank_dot', 'rocker_dot' stay"):
        assemble(compiled(), GUESSES[0], {"crank_dot": 1}, keep=["crank_dot", "rocker_dot"])


def test_only_variables_can_be_kept():
    with pytest.raises(KeyError, match="Did you mean 'crank'"):
        assemble(compiled(), keep=["cranc"])


# impossible


def test_links_that_do_not_reach_are_told():
    with pytest.raises(AssemblyError, match="Constraint 'close' cannot be satisfied in its positions: it stays"):
        assemble(four_bar(lengths=(1, 2, 1.5), ground=10).build())


def test_the_culprit_is_named():
    build = four_bar()
    build.body("far", at=(9, 0, 0), joint=ph.revolute("y"), mass=1)
    build.marker("far end", body="far", at=(1, 0, 0))
    build.loop("far end", "world", name="too far")
    with pytest.raises(AssemblyError, match="Constraint 'too far' cannot be satisfied"):
        assemble(build.build(), {"crank": -1, "rocker": -2})


def test_laws_that_contradict_are_told():
    build = four_bar()
    build.prescribe("crank", -1.0, name="first")
    build.constraint(symbol("crank") + 1.5, name="second")
    with pytest.raises(AssemblyError, match=r"Constraint '(first|second)' \(with .*\) cannot be satisfied"):
        assemble(build.build(), GUESSES[0])
    build = four_bar()
    build.prescribe("crank", -1.0, name="still")
    build.constraint(symbol("crank_dot") - 1, name="turning")
    with pytest.raises(AssemblyError, match="cannot be satisfied in its speeds"):
        assemble(build.build(), GUESSES[0])


def test_bad_guesses_are_told():
    with pytest.raises(ValueError, match=r"q0 has shape \(2,\), expected \(3,\): crank, coupler, rocker"):
        assemble(compiled(), [1, 2])
    with pytest.raises(KeyError, match=r"q0: there is no 'cranc'\. Did you mean 'crank'"):
        assemble(compiled(), {"cranc": 1})
    with pytest.raises(ValueError, match="'rocker' is NaN"):
        assemble(compiled(), [0, 0, np.nan])


# rows that repeat others


@pytest.mark.parametrize("kind", ["hinge", "cylinder", "axis"])
def test_rows_that_repeat_others_do_no_harm(kind):
    """In the plane two equations are enough; a hinge has five."""
    plain, over = assemble(compiled(), GUESSES[0], [1, 0, 0]), assemble(compiled(kind), GUESSES[0], [1, 0, 0])
    assert close(over.q, plain.q, 1e-7)
    assert close(over.u, plain.u, 1e-6)
    assert rank(residuals(compiled(kind).equations, over)[2]) == 2


def test_a_loop_closed_twice():
    build = four_bar("hinge")
    build.loop("coupler end", "rocker end", "point", name="again")
    build.constraint(2 * sin(symbol("crank")) - 2 * sin(symbol("crank")) + symbol("crank") + 1, name="law")
    found = assemble(build.build(), GUESSES[0])
    assert found.q[0] == pytest.approx(-1)


def ring(lengths, twists):
    """Links in a ring on hinges: Rz(q1) Tx(a1) Rx(alpha1) Rz(q2) ... = 1, the last hinge a loop."""
    build = ph.Builder("ring")
    parent, place = "world", {}
    for k, (a, alpha) in enumerate(zip(lengths[:-1], twists[:-1], strict=True), 1):
        body = {"mass": 1, "inertia": (0.1, 0.1, 0.1)}
        build.body(f"b{k}", parent=parent, joint=ph.revolute("z", name=f"q{k}"), **place, **body)
        parent, place = f"b{k}", {"at": (a, 0, 0), "rpy": (alpha, 0, 0)}
    build.marker("end", body=parent, **place)
    build.marker("start", body="world", at=(-lengths[-1], 0, 0), rpy=(-twists[-1], 0, 0))
    build.loop("start", "end", "hinge", name="close")
    return ph.formulate(build.build())


def bennett():
    """Four skew hinges that nevertheless move: a / sin(alpha) = b / sin(beta)."""
    alpha, beta = 0.6, 1.0
    a, b = 1.0, np.sin(beta) / np.sin(alpha)
    return ring([a, b, a, b], [alpha, beta, alpha, beta])


def bricard():
    """Six hinges, each square to the next, the trihedral case."""
    return ring([1.0] * 6, [np.pi / 2, -np.pi / 2] * 3)


@pytest.mark.parametrize("make", [bennett, bricard])
def test_overconstrained_linkages_close_and_move(make):
    eq = make()
    dyn, n = eq.compile(), len(eq.u)
    start = assemble(dyn, np.random.default_rng(4).uniform(0.5, 2.5, n))
    for angle in (0.0, -0.1, -0.2):  # it closes wherever its first hinge is put, below 2 pi / 3 for Bricard's
        found = assemble(dyn, start.q + angle * np.eye(n)[0], np.eye(n)[0], keep=["q1", "q1_dot"])
        phi, psi, J = residuals(eq, found)
        assert np.abs(phi).max() < 1e-10
        assert np.abs(psi).max() < 1e-9
        assert J.shape == (5, n)
        assert rank(J) == n - 1
        assert found.u[0] == 1


def test_a_ring_that_is_not_bennetts_does_not_move():
    eq = ring([1, 1.5, 1, 1.5], [0.6, 1.0, 0.6, 1.2])
    start = np.array([0.5, 1.5, 1.0])
    with pytest.raises(AssemblyError, match="'close'"):
        assemble(eq.compile(), start, keep=["q1"])


# time and parameters


def test_a_law_of_time_holds_at_its_time():
    build = four_bar()
    build.prescribe("crank", sin(3 * ph.TIME) - 1)
    build.coupling("coupler", "free", ratio=2, offset=symbol("o"))
    build.body("free", joint=ph.revolute("y"), mass=1, com=(1, 0, 0))
    model = build.build()
    for t in (0.0, 0.4):
        found = assemble(model, {"rocker": -2, "coupler": 0.5}, t=t, p={"o": 0.2})
        assert found.q[0] == pytest.approx(np.sin(3 * t) - 1, abs=1e-12)
        assert found.u[0] == pytest.approx(3 * np.cos(3 * t), abs=1e-11)
        assert found.q[1] == pytest.approx(2 * found.q[3] + 0.2, abs=1e-12)
        assert found.u[1] == pytest.approx(2 * found.u[3], abs=1e-11)
    with pytest.raises(ValueError, match="No value for parameter 'o'"):
        assemble(model)


def test_a_wheel_is_put_on_the_ground_and_rolls():
    build = ph.Builder()
    build.body("wheel", joint=ph.free(quaternion=True, name="w"), mass=1, inertia=(1, 2, 1))
    build.rolling("wheel", radius=0.5)
    found = assemble(build.build(), {"w_z": 2}, {"w_wy": 3}, keep=["w_wx", "w_wy", "w_wz"])
    assert close(found.q, [1, 0, 0, 0, 0, 0, 0.5])
    assert close(found.u, [0, 3, 0, 1.5, 0, 0])
