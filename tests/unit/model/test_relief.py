"""Heights from a table: linear between its points, level beyond them, on the ground of a machine."""

import numpy as np
import pytest

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml

XS, YS = [-1.0, 0.0, 0.5, 2.0], [0.0, 1.0, 3.0]
TABLE = np.random.default_rng(0).normal(size=(4, 3))


def bilinear(x, y):
    """Along y at each x, then along x; np.interp is level beyond the ends."""
    return np.interp(x, XS, [np.interp(y, YS, row) for row in TABLE])


def test_between_points_and_beyond():
    height = ph.height_grid(XS, YS, TABLE)
    x, y = ph.symbols("x y")
    for at in np.random.default_rng(1).uniform([-2, -1], [3, 4], size=(200, 2)):
        assert float(ph.evaluate(height, {x: at[0], y: at[1]})) == pytest.approx(bilinear(*at), abs=1e-12)


def test_a_ball_lies_on_it():
    build = ph.Builder("ball")
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("ball", parent="along", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", stiffness=100, relief=ph.height_grid([0, 1, 2], [-1, 1], [[0, 0], [0.5, 0.5], [0.5, 0.5]]))
    dyn = ph.formulate(build.build()).compile()
    for x, h, slope in ((0.4, 0.2, 0.5), (1.5, 0.5, 0.0)):
        push = dyn.forward_dynamics([x, h - 0.1], [0, 0], [0, 0]) + [0, 9.81]
        assert push == pytest.approx([-10 * slope, 10])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([0, 0, 1], YS, TABLE), "xs is .*, expected two or more numbers that rise"),
        ((XS, YS, TABLE.T), r"shape \(3, 4\), expected \(4, 3\)"),
        ((range(30), range(30), np.zeros((30, 30))), "900 points, expected at most 400"),
        ((XS, YS, TABLE * np.nan), "not finite"),
    ],
)
def test_what_is_no_grid(given, said):
    with pytest.raises(ph.ModelError, match=said):
        ph.height_grid(*given)


def test_a_file_has_its_parts_once():
    """Large reliefs are written in parts, which the feet share; x is a coordinate, too."""
    table = np.random.default_rng(2).normal(size=(12, 12))
    build = ph.Builder("feet")
    build.body("along", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("leg", parent="along", joint=ph.prismatic("z", name="z"), mass=1)
    for k in range(3):
        build.marker(f"foot {k}", body="leg", at=(0.1 * k, 0, 0))
        build.contact(f"foot {k}", stiffness=100, relief=ph.height_grid(range(12), range(12), table))
    model = build.build()
    text = write_toml(model)
    assert read_toml(text) == model
    assert "[reliefs]" in text
    assert len(text) < 30_000
