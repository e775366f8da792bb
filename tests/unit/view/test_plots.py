"""Figures: what is on them, and that nothing hides anything else."""

import sys
from dataclasses import replace

import numpy as np
import pytest

import polhode as ph
from polhode.view import Curve, figure
from tests.motions import double

FigureCanvasAgg = pytest.importorskip("matplotlib.backends.backend_agg").FigureCanvasAgg


def test_default_panels(tmp_path):
    fig = double().plot(path=tmp_path / "all.svg")
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    assert titles == ["Angles [rad]", "Angular speeds [rad/s]", "Torques [N m]", "Energy [J]", "Energy drift [J]"]
    assert [line.get_label() for line in fig.axes[0].lines] == ["shoulder", "elbow"]
    text = (tmp_path / "all.svg").read_text()
    assert "went too far" in text
    assert (tmp_path / "all.svg").stat().st_size > 10_000


def test_chosen_panels_and_files(tmp_path):
    for ending in ("png", "pdf"):
        fig = double().plot("elbow", path=tmp_path / f"one.{ending}")
        assert (tmp_path / f"one.{ending}").stat().st_size > 1000
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["Angles: 'elbow' [rad]"]
    with pytest.raises(KeyError, match="Did you mean 'elbow'"):
        double().plot(["elbo"])
    with pytest.raises(ValueError, match=r"expected a name that ends in \.png"):
        double().plot(path=tmp_path / "one.txt")


def test_a_path_may_come_first(tmp_path):
    for path in (str(tmp_path / "first.png"), tmp_path / "path.svg", str(tmp_path / "LOUD.PDF")):
        fig = double().plot(path)
        assert len(fig.axes) == 5
    assert sorted(p.name for p in tmp_path.iterdir()) == ["LOUD.PDF", "first.png", "path.svg"]
    with pytest.raises(KeyError, match=r"first\.png"):
        double().plot("first.png", path=tmp_path / "second.png")


def test_many_curves_are_divided_and_nothing_overlaps(tmp_path):
    t = np.linspace(0, 1, 5)
    many = [Curve(name=f"joint {k}", values=k * t, quantity="Angles", unit="rad", side=k % 2) for k in range(14)]
    many += [Curve(name=f"more {k}", values=k * t, quantity="Speeds", unit="m/s", section=1) for k in range(60)]
    fig = figure(t, many, "many", "and a note", tmp_path / "many.png")
    assert max(len(ax.lines) for ax in fig.axes) <= 6
    shown = [line.get_label() for ax in fig.axes for line in ax.lines]
    assert len(shown) == 14 + 36
    assert "more 59" in shown
    assert "more 1" not in shown
    renderer = FigureCanvasAgg(fig).get_renderer()
    boxes = [ax.get_window_extent(renderer) for ax in fig.axes]
    boxes += [ax.get_legend().get_window_extent(renderer) for ax in fig.axes]
    for i, a in enumerate(boxes):
        assert not any(a.overlaps(b) for b in boxes[:i])


def test_missing_programs_say_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="ffmpeg is not installed"):
        double().animate(tmp_path / "run.mp4")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r'needs matplotlib.*pip install "polhode\[plot\]"'):
        double().plot()


def test_reactions_are_forces_or_moments_and_zeros_are_left_out():
    t, a = ph.symbols("t a")
    make = ph.Builder("cantilever")
    make.body("arm", joint=ph.free(), mass=1, com=(1, 0, 0), inertia=(1, 1, 1))
    make.body("motor", joint=ph.revolute("y", name="a"), mass=1, com=(1, 0, 0))
    make.loop("world", "arm", "weld", name="wall")
    make.constraint(a - 2 * t, name="drive")
    dyn = ph.formulate(make.build()).compile()
    state = ph.assemble(dyn)
    fig = ph.simulate(dyn, *state, t_end=1.0, reacting=True).plot()
    panels = {ax.get_title(loc="left"): ax for ax in fig.axes}
    assert [line.get_label() for line in panels["Reaction moments [N m]"].lines] == [
        "wall.turn y",
        "drive",
    ]
    assert "Reaction forces: 'reaction wall.z' [N]" in panels
    assert not panels["Energy drift [J]"].texts


def test_what_the_balance_of_energy_leaves_out_is_said():
    make = ph.Builder("damped")
    make.body("bob", joint=ph.revolute("y", name="a", damping=1), mass=1, com=(1, 0, 0))
    counted = ph.simulate(ph.formulate(make.build()).compile(), t_end=10.0, output=1.0)
    for traj, words in ((counted, []), (replace(counted, work_done=None), ["Outputs"])):  # of a file, for instance
        drift = next(ax for ax in traj.plot().axes if "drift" in ax.get_title(loc="left"))
        assert [text.get_text().split()[0] for text in drift.texts] == words


def test_tolerance_is_no_motion():
    t = np.linspace(0, 1, 50)
    steady, moving = 3 + 1e-10 * np.sin(9 * t), 3 + 1e-4 * np.sin(9 * t)
    for values, wide in ((steady, True), (moving, False)):
        fig = figure(t, [Curve(name="a", values=values, quantity="Speeds", unit="m/s")])
        assert (np.ptp(fig.axes[0].get_ylim()) > 1) == wide


@pytest.mark.parametrize("name", ["s", "m", "x", "rad"])
def test_names_are_told_from_units(name):
    make = ph.Builder("cart")
    make.body("cart", joint=ph.prismatic("x", name=name), mass=1)
    make.body("arm", parent="cart", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    make.constraint(ph.symbol(name) - 1, name="N")
    fig = ph.simulate(ph.formulate(make.build()).compile(), [1.0, 0.5], t_end=0.1, reacting=True).plot()
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    assert titles[:4] == [
        f"Positions: '{name}' [m]",
        f"Speeds: '{name}_dot' [m/s]",
        "Angles: 'a' [rad]",
        "Angular speeds: 'a_dot' [rad/s]",
    ]
    assert {"Energy drift [J]", "Constraint residuals: 'N'", "Reaction forces: 'reaction N' [N]"} < set(titles)
    assert {ax.get_xlabel() for ax in fig.axes} == {"", "time [s]"}


def test_strips_line_up_with_the_columns_and_their_legend_names_each_colour_once():
    t = np.linspace(0, 10, 50)
    curves = [
        Curve(name="a", values=t, quantity="Angles", side=0),
        Curve(name="b", values=-t, quantity="Rates", side=1),
    ]
    bands = {
        "brake": [(0, 4, "released"), (4, 4.2, "holds"), (4.2, 10, "slips")],
        "floor": [(0, 6, "open"), (6, 10, "closed")],
    }
    fig = figure(t, curves, events=[(4.0, "command"), (6.0, "closes")], bands=bands)
    fig.canvas.draw()
    left, right, *strips = fig.axes
    assert [ax.get_title(loc="left") for ax in strips] == ["What holds", ""]
    for above, strip in zip((left, right), strips, strict=True):
        assert strip.get_position().x0 == pytest.approx(above.get_position().x0, abs=1e-3)
        assert strip.get_position().x1 == pytest.approx(above.get_position().x1, abs=1e-3)
        assert strip.get_xlim() == pytest.approx(above.get_xlim())
    assert strips[0].get_legend() is None
    said = [text.get_text() for text in strips[1].get_legend().get_texts()]
    assert said == ["released, open", "holds, closed", "slips"]
    # words are no wider than what they stand on, and those of events stand above the curves
    pieces = {(start, end): word for row in bands.values() for start, end, word in row}
    boxes = [text.get_window_extent() for text in strips[0].texts]
    assert len(boxes) == len(pieces) - 1
    for text, box in zip(strips[0].texts, boxes, strict=True):
        span = next(
            s for s, word in pieces.items() if word == text.get_text() and s[0] <= text.get_position()[0] <= s[1]
        )
        ends = [strips[0].transData.transform((x, 0))[0] for x in span]
        assert ends[0] <= box.x0 < box.x1 <= ends[1]
    top = left.transData.transform((0, t.max()))[1]
    assert all(text.get_window_extent().y0 >= top for text in left.texts)


def test_a_word_at_the_start_stands_within_its_panel():
    t = np.linspace(0, 10, 50)
    fig = figure(t, [Curve(name="a", values=t, quantity="Angles")], events=[(0.0, "command"), (9.0, "closes")])
    fig.canvas.draw()
    ax = fig.axes[0]
    for word in ax.texts:
        box, panel = word.get_window_extent(), ax.get_window_extent()
        assert panel.x0 - 1 <= box.x0 < box.x1 <= panel.x1 + 1
