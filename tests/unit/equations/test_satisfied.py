"""Calls at states that are off their constraints, or where constraints contradict each other, say so."""

import warnings

import numpy as np
import pytest

import polhode as ph


def cart(*constraints):
    build = ph.Builder("cart")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=3)
    build.body("load", parent="cart", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    for name, e in constraints:
        build.constraint(e, name=name)
    return ph.formulate(build.build()).compile()


X, T = ph.symbol("x"), ph.TIME
CALLS = ("forward_dynamics", "reactions", "response")


def called(dyn, call, q, u, **options):
    tau = () if call == "impulse" else ([0.0, 0.0],)
    return getattr(dyn, call)(q, u, *tau, **options)


@pytest.mark.parametrize("call", [*CALLS, "impulse"])
def test_a_position_off_its_constraint_is_said(call):
    dyn = cart(("brake", X))
    text = rf"^{call}: the position does not satisfy 'brake': it is 0.01 off\..*assemble.*check=False"
    with pytest.warns(ph.ConstraintWarning, match=text) as heard:
        called(dyn, call, [0.01, 0.5], [0.0, 0.0])
    assert len(heard) == 1
    assert heard[0].filename == __file__


@pytest.mark.parametrize("call", CALLS)
def test_a_speed_off_its_constraint_is_said(call):
    with pytest.warns(ph.ConstraintWarning, match="the speed does not satisfy 'brake': it is 0.3 off"):
        called(cart(("brake", X)), call, [0.0, 0.5], [0.3, 2.0])


def test_what_remains_of_contradicting_accelerations_is_said():
    dyn = cart(("slow", X - T**2), ("fast", X - 3 * T**2))
    q, u = [0.0, 0.5], [0.0, 0.0]
    with pytest.warns(ph.ConstraintWarning, match=r"no acceleration satisfies '(slow|fast)' together .* 4 off"):
        udot = dyn.forward_dynamics(q, u, [0.0, 0.0], t=0.0)
    assert udot[0] in (pytest.approx(2), pytest.approx(6))  # one of them holds, so 4 are left of the other
    for active in (["slow"], ("fast",), "slow", ()):
        dyn.forward_dynamics(q, u, [0.0, 0.0], t=0.0, active=active)
    with pytest.warns(ph.ConstraintWarning, match="position does not satisfy 'fast'"):
        dyn.forward_dynamics([0.1, 0.5], u, [0.0, 0.0], t=0.0, active=["fast"])
    with pytest.warns(ph.ConstraintWarning) as heard:
        dyn.forward_dynamics([0.1, 0.5], u, [0.0, 0.0], t=0.0)
    assert len(heard) == 1  # one word a call


def test_what_remains_of_contradicting_impulses_is_said():
    dyn = cart(("slow", X - T), ("fast", X - 3 * T))
    with pytest.warns(ph.ConstraintWarning, match=r"impulse: no impulse satisfies '(slow|fast)' together .* 2 off"):
        dyn.impulse([0.0, 0.5], [0.0, 0.0], t=0.0)
    after, _ = dyn.impulse([0.0, 0.5], [0.0, 0.0], t=0.0, active=["fast"])
    assert after[0] == pytest.approx(3)


def test_the_furthest_of_a_batch_is_named():
    q = np.zeros((5, 2))
    q[[1, 3], 0] = 0.1, -0.2
    with pytest.warns(ph.ConstraintWarning, match="0.2 off in state 3, the furthest of 2 among 5"):
        cart(("brake", X)).forward_dynamics(q, np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("call", [*CALLS, "impulse"])
def test_no_word_where_all_is_well_or_nobody_asks(call):
    dyn, still = cart(("brake", X)), [0.0, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        called(dyn, call, [0.0, 0.5], [0.0, 2.0])
        called(dyn, call, [0.0, 0.0], still)  # held still: nothing moves, and nothing is left
        called(dyn, call, [1.0, 0.5], [0.0, 2.0], check=False)
        called(dyn, call, [1.0, 0.5], [0.0, 2.0], active=())
        dyn.impulse([0.0, 0.5], [0.3, 2.0])  # what it is for
        dyn.impulse([0.0, 0.5], [0.3, 2.0], restitution=0.5)
        dyn.acceleration("load")([1.0, 0.5], still, still, check=False)


def test_nothing_to_satisfy_is_satisfied():
    dyn, still = cart(), [0.0, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after, none = dyn.impulse([0.1, 0.2], [1.0, 2.0])
        udot, lam = dyn.response([0.1, 0.2], still, still)
    np.testing.assert_array_equal(after, [1.0, 2.0])
    np.testing.assert_allclose(udot, dyn.forward_dynamics([0.1, 0.2], still, still), rtol=1e-12)
    assert none.shape == lam.shape == (0,)


def test_rounded_geometry_and_rows_that_repeat_are_satisfied():
    """A closed four-bar with a hinge, whose rows across its plane are dust, moving, and held by a weld besides."""
    rod = {"mass": 1, "com": (0.5, 0, 0), "inertia": (0, 1 / 12, 1 / 12)}
    build = ph.Builder("four-bar")
    build.body("crank", joint=ph.revolute((0, 1, 0.02), name="a"), **rod)
    build.body("rod", parent="crank", at=(1, 0, 0), joint=ph.revolute((0, 1, 0.02), name="b"), **rod)
    build.body("rocker", at=(1.2, 0, 0), joint=ph.revolute((0, 1, 0.02), name="c"), **rod)
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "point", name="close")
    build.constraint(ph.symbol("a"), name="lock")
    dyn = ph.formulate(build.build()).compile()
    q, u = ph.assemble(dyn, {"b": 1.0, "c": -1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dyn.forward_dynamics(q, u, np.ones(3))
        dyn.impulse(q, np.ones(3))
        free = dyn.forward_dynamics(q, u, 1e6 * np.ones(3), active=["close"])
    assert np.isfinite(free).all()


BAD = {"q": ([np.nan, 0.0], [0.0, 0.0], [0.0, 0.0]), "u": ([0.0, 0.0], [0.0, np.inf], [0.0, 0.0]),
       "tau": ([0.0, 0.0], [0.0, 0.0], [-np.inf, 0.0])}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("call", CALLS)
def test_numbers_that_are_none_are_refused_by_name(call, what):
    name = {"q": "'x' is nan", "u": "'a_dot' is inf", "tau": "'x_dot' is -inf"}[what]
    with pytest.raises(ValueError, match=rf"^{call}: {what} of {name}, expected a finite number"):
        getattr(cart(("brake", X)), call)(*BAD[what])


def test_shapes_and_times_are_refused_by_name():
    dyn = cart(("brake", X * T))
    still = [0.0, 0.0]
    with pytest.raises(ValueError, match=r"^reactions: u has shape \(3,\), expected \(\.\.\., 2\): x_dot, a_dot\."):
        dyn.reactions(still, [0, 0, 0], still, t=1.0)
    with pytest.raises(ValueError, match=r"batch shapes differ: q \(2,\), u \(3,\)"):
        dyn.reactions(np.zeros((2, 2)), np.zeros((3, 2)), still, t=1.0)
    with pytest.raises(ValueError, match=r"^impulse: t is nan, expected a finite number"):
        dyn.impulse(still, still, t=np.nan)
    with pytest.raises(TypeError, match=r"^impulse: q is 'x', expected numbers in an array"):
        dyn.impulse("x", still, t=1.0)
