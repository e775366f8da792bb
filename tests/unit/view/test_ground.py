"""Grounds in pictures: reliefs, feet that press, and machines with motors."""

import numpy as np
import pytest

import polhode as ph


def hopper(**ground):
    """A leg on a slide, driven by a motor; its foot is 0.2 below."""
    build = ph.Builder("hopper")
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0.1, com=(0, 0, 0.1))
    build.body("leg", parent="along", joint=ph.prismatic("z", name="z"), mass=1)
    build.body("arm", parent="leg", joint=ph.revolute("y", name="arm"), mass=0.1, com=(0.1, 0, 0))
    build.marker("foot", body="leg", at=(0, 0, -0.2))
    build.motor("M", inertia=1e-4, ratio=10, on="leg", axis="y").drives({"arm": 1})
    build.contact("foot", **({"stiffness": 2e3, "dissipation": 2.0} | ground))
    dyn = ph.formulate(build.build()).compile()
    return ph.simulate(dyn, {"z": 0.3}, {"x_dot": 0.5}, 1.0, tau={"M": 0.01})


def test_a_relief_is_drawn_where_feet_went():
    traj = hopper(relief="0.05*sin(8*x)*cos(8*y)")
    scene = traj.scene(fps=30)
    patches = [tie for tie in scene.ties if tie.kind == "patch"]
    corners = np.concatenate([tie.points for tie in patches])
    assert corners[:, 2] == pytest.approx(0.05 * np.sin(8 * corners[:, 0]) * np.cos(8 * corners[:, 1]), abs=1e-12)
    assert corners[:, 0].min() < traj["x"].min()
    assert corners[:, 0].max() > traj["x"].max()
    assert not scene.view.follow
    assert scene.floor == 0


def test_rigid_hills_are_drawn_and_feet_marked_while_they_touch():
    traj = hopper(relief="0.05*sin(8*x)*cos(8*y)", stiffness=None, dissipation=None)
    scene = traj.scene(fps=100)
    corners = np.concatenate([tie.points for tie in scene.ties if tie.kind == "patch"])
    assert corners[:, 2] == pytest.approx(0.05 * np.sin(8 * corners[:, 0]) * np.cos(8 * corners[:, 1]), abs=1e-12)
    (pin,) = [shape for shape in scene.shapes if shape.kind == "pin"]
    q = traj.at(scene.t)[0]
    height = q[:, 1] - 0.2 - 0.05 * np.sin(8 * q[:, 0])
    pressed = np.array([any(a <= t <= b for a, b in pin.when) for t in scene.t])
    assert np.abs(height[pressed]).max() < 1e-9
    assert 0 < pressed.sum() < len(pressed)
    assert not [shape for shape in scene.shapes if shape.role == "stand"]  # no plate


def test_a_block_is_drawn_alone():
    x, y = ph.symbols("x y")
    scene = hopper(relief=ph.select((x > 0.2) & (x < 0.4) & (y > 0), 0.03, 0)).scene(fps=30)
    corners = np.concatenate([tie.points for tie in scene.ties if tie.kind == "patch"])
    assert set(corners[:, 2]) == {0.0, 0.03}
    # with walls: its edges are where it jumps
    assert [corners[:, 0].min(), corners[:, 0].max(), corners[:, 1].min()] == pytest.approx([0.2, 0.4, 0], abs=1e-5)


def test_a_frame_that_carries_legs_is_a_plate():
    build = ph.Builder("table")
    build.body("frame", joint=ph.free(quaternion=False), mass=3, inertia=(0.02, 0.04, 0.06))
    for k, (a, b) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))):
        build.body(f"leg {k}", parent="frame", at=(a, b, -0.1), joint=ph.revolute("y"), mass=0.1, com=(0, 0, -0.2))
    traj = ph.simulate(ph.formulate(build.build()).compile(), t_end=0.1)
    (box,) = [shape for shape in traj.scene().shapes if shape.kind == "box"]
    assert box.size[:2] == pytest.approx((0.6, 0.4))
    assert box.pose[:3, 3] == pytest.approx([0, 0, -0.1])
    assert box.size[2] < 0.1


def test_feet_are_marked_while_they_press(tmp_path):
    traj = hopper()
    scene = traj.scene(fps=100)
    (pin,) = [shape for shape in scene.shapes if shape.kind == "pin"]
    depth = traj.at(scene.t)[0][:, 1] - 0.2
    pressed = np.array([any(a <= t <= b for a, b in pin.when) for t in scene.t])
    assert np.array_equal(pressed, depth < 0)
    assert 0 < pressed.sum() < len(pressed)
    assert not [tie for tie in scene.ties if tie.kind == "patch"]
    scene.picture(0.5, tmp_path / "moment.png")
    traj.animate(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_rotors_are_not_drawn_and_controls_are_plotted():
    traj = hopper()
    scene = traj.scene(fps=30)
    assert scene.bodies.index("M") not in {shape.body for shape in scene.shapes}
    titles = [ax.get_title(loc="left") for ax in traj.plot().axes]
    assert any(title.startswith("Controls") for title in titles), titles
