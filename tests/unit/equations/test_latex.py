"""LaTeX of equations fits a page, and loses nothing on the way."""

import re

import pytest

import polhode as ph
from polhode.equations.latex import ROOM
from polhode.equations.page import broken, packed, sides, width
from polhode.model.grow import grow


def chain(count):
    build = ph.Builder("chain", gravity=(0, 0, "-g"))
    for k in range(1, count + 1):
        below = {"parent": f"b{k - 1}", "at": (0, 0, f"-L{k - 1}")} if k > 1 else {}
        joint = ph.revolute("y", name=f"theta{k}")
        build.body(f"b{k}", joint=joint, mass=f"m{k}", com=(0, 0, f"-L{k}/2"), inertia=(0, f"J{k}", f"J{k}"), **below)
    return build


def four_bar():
    build = chain(2)
    build.body("rocker", at=("d", 0, 0), joint=ph.revolute("y", name="rocker"), mass="m", com=("l", 0, 0))
    build.marker("tip", body="b2", at=(0, 0, "-L2"))
    build.marker("top", body="rocker", at=("c", 0, 0))
    build.loop("tip", "top", "hinge", axis="y", name="close")
    return build


def servo():
    build = chain(1)
    wound = {"constant": 0.05, "resistance": 0.5, "inductance": 1e-3, "lower": -24, "upper": 24}
    build.motor("M", inertia=1e-5, ratio=50, axis="y", **wound).drives({"theta1": 1})
    return build


MACHINES = [
    ("one", lambda: chain(1).build()),
    ("two", lambda: chain(2).build()),
    ("three", lambda: chain(3).build()),
    ("loop", lambda: four_bar().build()),
    ("servo", lambda: servo().build()),
    ("spatial", lambda: grow(8, ["revolute", "free", "spherical quaternion"], loops=True)),
    ("cart", lambda: ph.load("examples/cart.toml")),
    ("ur5", lambda: ph.load("examples/ur5.urdf")),
]


@pytest.mark.parametrize("made", [m for _, m in MACHINES], ids=[name for name, _ in MACHINES])
def test_no_line_is_wider_than_the_page(made):
    text = ph.formulate(made()).latex()
    lines = text.splitlines()[1:-1]
    assert len(lines) > 0
    assert max(map(width, lines)) <= ROOM + 1
    left, right = (max(side) for side in zip(*map(sides, lines), strict=True))
    assert left + right <= ROOM + 3  # one below another at their signs; of long names the estimate is too wide
    assert text.count("{") == text.count("}")
    assert all(line.count(r"\left") == line.count(r"\right") for line in lines)  # TeX takes them by pairs in a line


@pytest.mark.parametrize(
    "tex",
    [
        r"L_{1} L_{2} m_{2} \cos{\left(q_{2} \right)} + L_{2}^{2} m_{2}",
        r"- L_{1} m_{1} \dot{\theta}_{1}^{2} \sin{\left(\theta_{1} \right)} + g m_{2}",
        r"\frac{L_{1}^{2} m_{1}}{4} + J_{1} + 0.0177847 x_{12}",
        r"M W m w + \alpha \beta \gamma - A B C",
    ],
)
def test_widths_are_those_that_matplotlib_sets(tex):
    """Matplotlib sets formulas in Computer Modern by TeX's own rules; its inks are measured."""
    pytest.importorskip("matplotlib")
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    plain = re.sub(r"\\(left|right)", "", tex)
    found, _, _ = TextToPath().get_text_width_height_descent(
        f"${plain}$", FontProperties(size=100, math_fontfamily="cm"), ismath=True
    )
    assert width(tex) == pytest.approx(found / 100, rel=0.25)
    assert width(tex) > 0.9 * found / 100


def test_what_fits_is_one_equation():
    text = ph.formulate(chain(1).build()).latex()
    assert text.count("&=") == 1
    assert r"\ddot{\theta}_{1}" in text


def test_what_does_not_fit_is_written_part_by_part():
    text = ph.formulate(chain(2).build()).latex()
    assert r"M \dot{u} + c &= \tau" in text
    for part in ("M_{11} ", "M_{12} ", "M_{22} ", "c_{1} ", "c_{2} ", "M_{ji} = M_{ij}"):
        assert part in text
    assert "M_{21}" not in text
    wide = ph.formulate(chain(2).build()).latex(width=200)
    assert wide.count("&=") == 1


def test_breaking_loses_nothing():
    term = r"a \left(b + \frac{c + d}{2} - \sin{\left(e - f \right)}\right)"
    right = " + ".join([term] * 6)
    lines = broken("x", right, 12)
    assert len(lines) > 6
    again = (
        " ".join(lines).replace("x &=", "").replace(r"&\quad {}", "").replace("bigl", "left").replace("bigr", "right")
    )
    assert again.split() == right.split()
    assert broken("x", right, 1000) == [f"x &= {right}"]
    assert not any(r"\frac{c" in line and "}{2}" not in line for line in lines)  # fractions stay whole


def test_short_definitions_stand_side_by_side():
    assert packed([("a", "b"), ("c", "d"), ("e", "f" * 40)], 20) == [r"a &= b, \quad c = d", "e &= " + "f" * 40]


def test_numbers_have_six_digits_or_all():
    build = ph.Builder("bob", gravity=(0, 0, 0))
    build.body("bob", joint=ph.revolute("y", name="a"), mass=1, inertia=(1, 1.23456789, 1))
    eq = ph.formulate(build.build())
    assert "1.23457" in eq.latex()
    assert "1.23456789" in eq.latex(digits=None)


def test_the_environment_may_break_across_pages():
    text = ph.formulate(chain(3).build()).latex(environment="align*")
    assert text.startswith("\\begin{align*}\n")
    assert text.endswith("\n\\end{align*}")


def test_sympy_like_simplification_fits_too():
    text = ph.formulate(chain(2).build()).latex(simplify=True)
    assert "x_{1}" not in text
    assert max(map(width, text.splitlines()[1:-1])) <= ROOM + 1


def test_nothing_has_two_meanings():
    """Coordinates x_1, x_2 of a joint 'x' look like variables x1, x2, a mass M like the matrix."""
    build = ph.Builder("clash", gravity=(0, 0, -9.81))
    common = {"com": (0.1, 0.2, 0.3), "inertia": (1, 1.2, 1.3)}
    build.body("a", joint=ph.universal(("x", "y"), name="x"), mass="M", **common)
    build.body("b", parent="a", at=(0, 0, 1), joint=ph.revolute("z", name="x_3"), mass="x1", **common)
    text = ph.formulate(build.build()).latex()
    defined = re.findall(r"(?:^|quad )(x_\{\d+\}) &?=", text, re.M)
    assert len(defined) > 3
    assert not {"x_{1}", "x_{2}", "x_{3}"} & {*defined}
    assert r"\text{x1}" in text  # the parameter, beside the coordinate x_1
    assert r"\mathbf{M} \dot{\mathbf{u}} + \mathbf{c} &= \boldsymbol{\tau}" in text
    assert r"\mathbf{M}_{11} &=" in text
    assert "mathbf" not in ph.formulate(chain(2).build()).latex()


def test_states_that_are_not_motion_have_their_rates():
    build = ph.Builder("servo", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass="m")
    build.state("x_int", rate="x_0 - x")
    build.force("x_dot", "k*x_int")
    text = ph.formulate(build.build()).latex()
    assert r"\dot{x}_{\text{int}} &= - x + x_{0}" in text
    assert r"k \, x_{\text{int}}" in text


def test_letters_are_bold_where_a_parameter_is_called_like_a_matrix():
    build = ph.Builder("cart", gravity=(0, 0, "-g"))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass="M")
    build.body("bob", parent="cart", joint=ph.revolute("y", name="theta"), mass="m", com=(0, 0, "-L"))
    text = ph.formulate(build.build()).latex(width=20)
    assert r"\mathbf{M} \dot{\mathbf{u}} + \mathbf{c} &= \boldsymbol{\tau}" in text
    assert r"\mathbf{M} &= \left[\begin{matrix}M + m" in text
    assert r"\mathbf" not in ph.formulate(chain(2).build()).latex()
