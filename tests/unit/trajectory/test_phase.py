"""Phase plots, names one by one, what is rounding, and what notebooks show."""

import numpy as np
import pytest

import polhode as ph

pytest.importorskip("matplotlib")


def cart_pole(**start):
    build = ph.Builder("cart <1>")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("bob", parent="cart", joint=ph.revolute("y", name="theta"), mass=0.2, com=(0, 0, -0.5))
    build.stop("x", upper=0.02, restitution=0.5, name="wall")
    return ph.simulate(ph.formulate(build.build()).compile(), t_end=2.0, **start)


def test_a_phase_plot_has_the_run_and_its_jumps(tmp_path):
    traj = cart_pole(q0={"theta": 2.5})
    ax = traj.phase("x", path=tmp_path / "x.png").axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x [m]", "x_dot [m/s]")
    lines = [line for line in ax.lines if line.get_linestyle() == "-"]
    drawn = np.concatenate([line.get_xydata() for line in lines])
    assert set(zip(traj["x"], traj["x_dot"], strict=True)) <= set(map(tuple, drawn.tolist()))
    jumps = [line.get_xydata() for line in ax.lines if line.get_linestyle() == ":"]
    bounces = [event for event in traj.events if event.reason == "closes"]
    assert len(jumps) == len(bounces) > 0
    for jump in jumps:  # it comes off with half the speed
        assert np.isclose(jump[1, 1], -0.5 * jump[0, 1], atol=0.005)
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_expressions_and_energies_have_phases(tmp_path):
    traj = cart_pole(q0={"theta": 1.0})
    ax = traj.phase("0.5*sin(theta)", "kinetic", tmp_path / "a.svg").axes[0]
    assert np.allclose(ax.lines[0].get_xdata()[:9], 0.5 * np.sin(traj["theta"][:9]))
    assert ax.get_ylabel() == "kinetic [J]"


def test_curves_are_curved_between_the_outputs(tmp_path):
    build = ph.Builder("oscillator", gravity=(0, 0, 0))
    build.body("block", joint=ph.prismatic("x", name="x", stiffness=1), mass=1)
    traj = ph.simulate(ph.formulate(build.build()).compile(), {"x": 1.0}, t_end=6.2, output=0.6)
    for x, y in (("x", None), ("x", "2*x_dot")):
        line = traj.phase(x, y, tmp_path / "x.png").axes[0].lines[0]
        across, up = line.get_xydata().T
        assert len(across) > 5 * len(traj)
        assert np.abs(np.hypot(across, up / (1 if y is None else 2)) - 1).max() < 1e-3  # a circle, and no polygon


def test_a_misspelt_name_of_a_phase_is_said():
    with pytest.raises(KeyError, match=r"phase: there is no 'thta'. Did you mean 'theta'"):
        cart_pole(q0={"theta": 1.0}).phase("thta")


def test_what_has_no_rate_of_its_own_is_refused():
    with pytest.raises(ValueError, match="'theta_dot' is no coordinate with a rate of its own"):
        cart_pole(q0={"theta": 1.0}).phase("theta_dot")


def test_names_come_one_by_one_or_in_lists(tmp_path):
    traj = cart_pole(q0={"theta": 1.0})
    for names in (("x", "theta"), (["x", "theta"],)):
        assert len(traj.plot(*names, path=tmp_path / "a.png").axes) == 2
    traj.plot("x", "theta", tmp_path / "b.png")
    traj.plot(["x"], str(tmp_path / "c.png"))
    assert (tmp_path / "b.png").exists()
    assert (tmp_path / "c.png").exists()
    with pytest.raises(KeyError, match="nothing to plot called 'thta'"):
        traj.plot("x", "thta")


def test_rounding_of_what_hangs_at_rest_is_not_drawn_as_motion(tmp_path):
    build = ph.Builder("double pendulum")
    build.body("u", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    build.body("l", parent="u", at=(0, 0, -1), joint=ph.revolute("y", name="b"), mass=1, com=(0, 0, -1))
    rest = ph.simulate(ph.formulate(build.build()).compile(), {"a": 1e-15}, t_end=2.0)
    assert 0 < np.abs(rest.u).max() < 1e-12
    for ax in rest.plot("a_dot", "b_dot", "drift", path=tmp_path / "rest.png").axes:
        assert ax.get_ylim()[1] > 0.1


def test_rounding_is_not_drawn_as_motion(tmp_path):
    build = ph.Builder("two")
    build.body("slide", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("still", joint=ph.prismatic("y", name="y"), mass=1)
    traj = ph.simulate(ph.formulate(build.build()).compile(), {"y": 1e-13}, {"x_dot": 1.0, "y_dot": 1e-12}, 1.0)
    limits = {
        ax.get_title(loc="left"): np.ptp(ax.get_ylim()) for ax in traj.plot("y", "y_dot", path=tmp_path / "a.png").axes
    }
    assert all(span > 0.5 for span in limits.values()), limits
    moving = traj.plot("x", path=tmp_path / "b.png").axes[0]
    assert np.ptp(moving.get_ylim()) > 1


def test_notebooks_show_a_model_its_constraints_and_its_motion():
    traj = cart_pole(q0={"theta": 1.0})
    shown = traj._repr_html_()
    assert "<iframe" in shown
    assert "http" not in shown.replace("http://www.w3.org", "")  # it needs no network
    assert str(traj.outcome) in shown
    model = traj.dynamics.equations.model
    table = model._repr_html_()
    assert "cart &lt;1&gt;" in table
    assert "<td" in table
    assert "theta" in table
    assert "wall" in traj.dynamics.equations.rows._repr_html_()
    printed = repr(traj.dynamics.equations.rows)
    assert "wall" in printed
    assert len(printed) < 300


def test_where_files_go_is_checked_and_the_path_may_be_last(tmp_path):
    traj = cart_pole(q0={"theta": 1.0})
    traj.phase("theta", str(tmp_path / "phase.png"))
    assert (tmp_path / "phase.png").stat().st_size > 1000
    for write in (traj.to_csv, traj.to_json):
        with pytest.raises(FileNotFoundError, match=r"there is no folder .* Make it, or name another"):
            write(tmp_path / "none" / "run.txt")
    with pytest.raises(KeyError, match=r"The path of a figure ends in \.png, \.svg"):
        traj.plot("x", "run.bmp")
