"""Constraints held at run time: scales, contradictions, lower ranks; and what is told of them."""

import numpy as np
import pytest

import polhode as ph

S, t = ph.symbol, ph.TIME


def carts(names="xyz", gravity=(0, 0, -9.81)):
    build = ph.Builder("carts", gravity=gravity)
    for name, axis in zip(names, "xyz", strict=False):
        build.body(name, joint=ph.prismatic(axis, name=name), mass=1)
    return build


def four_bar(scale=1.0, lengths=(1, 2, 1, 2), rod_mass=1):
    a, b, c, d = (scale * length for length in lengths)
    build = ph.Builder("four-bar")
    build.body("crank", joint=ph.revolute("y", name="a"), mass=1, com=(a / 2, 0, 0))
    build.body("rod", parent="crank", at=(a, 0, 0), joint=ph.revolute("y", name="b"), mass=rod_mass, com=(b / 2, 0, 0))
    build.body("rocker", at=(d, 0, 0), joint=ph.revolute("y", name="c"), mass=1, com=(c / 2, 0, 0))
    build.marker("tip", body="rod", at=(b, 0, 0))
    build.marker("top", body="rocker", at=(c, 0, 0))
    build.loop("top", "tip", "point", name="close")
    return ph.formulate(build.build()).compile()


def test_speeds_that_contradict_each_other_end_the_run():
    build = carts()
    build.constraint(S("x_dot") - 1, name="A")
    build.constraint(S("x_dot") - 1 - t, name="B")
    traj = ph.simulate(ph.formulate(build.build()).compile(), None, {"x_dot": 1.0}, t_end=1.0)
    assert not traj.outcome.finished
    assert traj.outcome.culprit in ("A", "B")
    assert "speeds can no longer satisfy" in traj.outcome.reason


@pytest.mark.parametrize("start", [1e-5, 1e-4, 1e-2])
def test_a_row_that_begins_small_does_not_push_out_others(start):
    build = carts()
    build.constraint(S("x") * S("y_dot") - S("y") * S("x_dot"), name="A")
    build.constraint(S("z_dot") - S("x_dot"), name="B")
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, {"x": start}, {"x_dot": 1.0, "z_dot": 1.0}, t_end=1.0)
    assert np.abs(traj.residuals).max() < 1e-12
    np.testing.assert_allclose(traj["z"][-1], 1 - 9.81 / 4, atol=1e-8)


def test_large_and_small_machines():
    build = ph.Builder("satellites", gravity=(0, 0, 0))
    for name in "ab":
        build.body(name, joint=ph.free(quaternion=True, name=name), mass=100, inertia=(10, 12, 14))
    build.marker("pa", body="a", at=(1, 0.3, 0))
    build.marker("pb", body="b", at=(-1, 0, 0.2))
    build.loop("pa", "pb", "point", name="dock")
    dyn, R = ph.formulate(build.build()).compile(), 7e6
    start = ph.assemble(
        dyn, {"a_x": R, "b_x": R + 2, "a_y": R / 3, "b_y": R / 3 + 0.3}, {"a_wx": 0.3, "a_wy": 0.2, "b_wz": 0.4}
    )
    assert ph.simulate(dyn, *start, t_end=20.0).outcome.finished
    for scale in (1e-6, 1.0, 1e6):
        dyn = four_bar(scale, (1, 2, 1.5, 2))
        q0, _ = ph.assemble(dyn, [-1.0, 0.3, -1.2], keep=["a"])
        np.testing.assert_allclose(q0, ph.assemble(four_bar(1.0, (1, 2, 1.5, 2)), [-1.0, 0.3, -1.2], keep=["a"]).q)
        with pytest.raises(ValueError, match="does not satisfy"):
            ph.simulate(dyn, q0 + [0, 0.1, 0], t_end=1.0)


def test_a_flat_parallelogram_has_finite_reactions():
    dyn = four_bar()
    found = [ph.simulate(dyn, [0, 0, 0.0], [5, -5, 5], t_end=0.2, reacting=r) for r in (True, False)]
    assert np.isfinite(found[0].reactions).all()
    np.testing.assert_allclose(found[0].accelerations, found[1].accelerations, atol=1e-9)
    assert np.isfinite(found[0].at(0.001)[1]).all()


def test_a_massless_rod_can_be_audited():
    dyn = four_bar(lengths=(1, 2, 1.5, 2), rod_mass=0)
    q0, u0 = ph.assemble(dyn, [-1.0, 0.3, -1.2], {"a_dot": 1.0}, keep=["a", "a_dot"])
    traj = ph.simulate(dyn, q0, u0, t_end=1.0)
    assert traj.outcome.finished
    assert abs(traj.audit().relative_drift) < 1e-6


def test_a_root_of_a_negative_number_ends_the_run():
    build = carts("xy", (0, 0, 0))
    build.constraint(S("y") - ph.sqrt(1 - S("x")), name="root")
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, {"y": 1.0}, {"x_dot": 1.0, "y_dot": -0.5}, t_end=5.0, method="euler", step=1e-3)
    assert traj.outcome.culprit == "root"


def test_scales_of_rows_do_not_change_accelerations():
    found = []
    for factor in (1, 1e-8):
        build = carts()
        build.constraint(factor * (S("x") - S("z")), name="A")
        dyn = ph.formulate(build.build()).compile()
        found.append(ph.simulate(dyn, t_end=0.1).accelerations)
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
    np.testing.assert_allclose(found[0][0], [-4.905, 0, -4.905], atol=1e-9)


@pytest.mark.parametrize("axis", [(1, 2, 3), (0.3, -1, 0.2)])
@pytest.mark.parametrize("embed", [False, True])
def test_rows_of_rounding_are_no_rows(axis, embed):
    """A hinge about an oblique axis: its tilts repeat others, and are not exactly 0."""
    n = np.array(axis) / np.linalg.norm(axis)
    a = np.cross(n, [0, 0, 1])
    a /= np.linalg.norm(a)
    b = np.cross(n, a)
    build = ph.Builder("parallelogram")
    inertia = (0.1, 0.1, 0.1)
    for i in (0, 1):
        joint = ph.revolute(tuple(n), name=f"c{i}")
        build.body(f"c{i}", at=tuple(a * i), joint=joint, mass=1, com=tuple(b / 2), inertia=inertia)
    joint = ph.revolute(tuple(n), name="r")
    build.body("r", parent="c0", at=tuple(b), joint=joint, mass=1, com=tuple(a / 2), inertia=inertia)
    build.marker("e", body="r", at=tuple(a))
    build.marker("t", body="c1", at=tuple(b))
    build.loop("e", "t", "hinge", axis=tuple(n), name="L")
    dyn = ph.formulate(build.build(), embed=embed).compile()
    traj = ph.simulate(dyn, *ph.assemble(dyn), t_end=0.5, reacting=True)
    assert traj.outcome.finished
    np.testing.assert_allclose(traj["c0"], traj["c1"], atol=1e-7)
    if not embed:
        assert np.abs(traj.reactions).max() < 1e3
