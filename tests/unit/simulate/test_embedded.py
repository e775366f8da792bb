"""Constraints embedded in the equations hold while a machine moves, as those held at run time do."""

import numpy as np
import pytest

import polhode as ph
from polhode.simulate import AssemblyError
from tests.mechanisms import four_bar

GUESS = {"a": -1.0, "b": 1.0, "c": -1.0}


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize("way", ["substitution", "recombination"])
def test_an_embedded_loop_stays_closed(way, method):
    options = {"step": 2e-3} if method == "rk4" else {}
    model = four_bar()
    found = ph.formulate(model, embed=True, independent=["a_dot"], embed_by=way).compile()
    held = ph.formulate(model).compile()
    q0, u0 = ph.assemble(held, GUESS, {"a_dot": 0.5}, keep=["a", "a_dot"])
    start, speeds = ph.assemble(found, GUESS, {"a_dot": 0.5}, keep=["a"])
    np.testing.assert_allclose(start, q0, atol=1e-12)
    assert speeds.tolist() == [0.5]
    expected = ph.simulate(held, q0, u0, t_end=0.8, method=method, **options)
    traj = ph.simulate(found, start, speeds, t_end=0.8, method=method, **options)
    np.testing.assert_allclose(traj.q, expected.q, atol=1e-6 if method == "rk4" else 1e-7)
    assert traj.residuals.shape == expected.residuals.shape == (501, 5)  # rows that repeat others are watched too
    assert all(name.startswith("close.") for name in traj.constraint_names)
    assert np.abs(traj.residuals).max() < 1e-12


def test_speeds_that_move_with_time_leave_the_loop_closed():
    """qdot = W u + X: a correction of the positions must not add X."""
    a_dot, b_dot, c_dot = ph.symbols("a_dot b_dot c_dot")
    speeds = {"u1": a_dot + ph.sin(ph.TIME), "u2": b_dot - 3, "u3": c_dot}
    model = four_bar()
    found, held = ph.formulate(model, speeds=speeds).compile(), ph.formulate(model).compile()
    q0, u0 = ph.assemble(held, GUESS, {"a_dot": 0.5}, keep=["a", "a_dot"])
    start, u1 = ph.assemble(found, GUESS, u0 - [0, 3, 0], keep=["a", "u1"])
    np.testing.assert_allclose(start, q0, atol=1e-12)
    np.testing.assert_allclose(u1, u0 - [0, 3, 0], atol=1e-12)
    expected, traj = ph.simulate(held, q0, u0, t_end=3.0), ph.simulate(found, start, u1, t_end=3.0)
    np.testing.assert_allclose(traj.q, expected.q, atol=1e-7)
    assert np.abs(traj.residuals).max() < 1e-12


def test_one_constraint_embedded_and_another_held():
    model = four_bar(-1 + 0.3 * ph.sin(2 * ph.TIME))
    q0, u0 = ph.assemble(ph.formulate(model).compile(), GUESS)
    expected = ph.simulate(ph.formulate(model).compile(), q0, u0, t_end=3.0)
    for name in ("close", "drive"):
        dyn = ph.formulate(model, embed=[name]).compile()
        start = ph.assemble(dyn, q0)
        traj = ph.simulate(dyn, *start, t_end=3.0, reacting=True)
        np.testing.assert_allclose(traj.q, expected.q, atol=1e-7)
        assert np.abs(traj.residuals).max() < 1e-12
        assert traj.reactions.shape == (501, len(dyn.equations.constraints))
        assert {n.split(".")[0] for n in traj.constraint_names} == {"close", "drive"}


def test_an_open_start_of_an_embedded_loop_is_refused():
    dyn = ph.formulate(four_bar(), embed=True).compile()
    with pytest.raises(ValueError, match=r"position does not satisfy 'close\..*assemble"):
        ph.simulate(dyn, {"a": 0.3}, t_end=1.0)


def two_rows(apart):
    """Two bodies that turn alike, said twice; the second time with an angle between them."""
    build = ph.Builder("two")
    for name in "ab":
        build.body(name, joint=ph.revolute("y", name=name), mass=1, com=(1, 0, 0))
    build.coupling("a", of="b")
    build.constraint(ph.symbol("a") - ph.symbol("b") - apart, name="again")
    return ph.formulate(build.build(), embed=True)


def test_rows_that_repeat_speeds_and_contradict_positions_are_found():
    eq = two_rows(apart=1)
    assert eq.kane.repeated == ("again",)
    dyn = eq.compile()
    with pytest.raises(AssemblyError, match=r"'again'.* cannot be satisfied in its positions"):
        ph.assemble(dyn)
    with pytest.raises(ValueError, match="position does not satisfy 'again'"):
        ph.simulate(dyn, t_end=1.0)


def test_rows_that_repeat_others_leave_the_motion_alone():
    eq = two_rows(apart=0)
    assert eq.kane.repeated == ("again",)
    start = ph.assemble(eq.compile(), {"a": 0.4, "b": 0.2})
    np.testing.assert_allclose(start.q, 0.3)
    traj = ph.simulate(eq.compile(), *start, t_end=1.0)
    np.testing.assert_allclose(traj.q[:, 0], traj.q[:, 1], atol=1e-12)
    assert traj.constraint_names == ("coupling of a", "again")
    assert np.abs(traj.residuals).max() < 1e-12
