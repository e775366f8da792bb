"""The equations of a mode as a page shows them: their elements, what is left out, and what they cost."""

import re
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.equations.latex import named_parts
from polhode.formats import load
from polhode.graph import evaluate, op_counts, substitute, symbol, symbols, vector
from polhode.graph import functions as fn
from polhode.interact.formulas import LONGEST, PREFIX, Writer, fitting, rounded
from polhode.interact.inmode import InMode, operations, title
from polhode.interact.typeset import BOUND, typeset

EXAMPLES = Path(__file__).parents[3] / "examples"


def pendulum():
    """In the plane, with a lock that may hold it."""
    m, L, g = ph.symbols("m L g")
    build = ph.Builder("pendulum", gravity=(0, 0, -g))
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=m, com=(0, 0, -L))
    build.lock("theta", name="brake", active=False)
    return ph.realtime(ph.formulate(build.build()).compile({"m": 1.0, "L": 2.0, "g": 9.81}), record=False)


@pytest.fixture(scope="module")
def cart():
    return ph.realtime(ph.formulate(load(EXAMPLES / "cart.toml")).compile(), record=False)


@pytest.fixture(scope="module")
def automaton(cart):
    return cart.dynamics.automaton()


@pytest.fixture(scope="module")
def walker():
    return InMode.of(ph.realtime(ph.formulate(load(EXAMPLES / "walker.toml")).compile(), record=False))


def blocks(found):
    return {block["part"]: block for block in found["blocks"]}


def test_a_pendulum_has_the_equation_of_textbooks():
    """m L^2 udot + m g L sin(theta) = tau; with the brake on also udot = 0."""
    machine = pendulum()
    found = typeset(InMode.of(machine))
    parts = blocks(found)
    assert found["method"] == "Poincaré's equations"
    assert parts["M"]["tex"] == r"M = \left[\begin{matrix}L^{2} m\end{matrix}\right]"
    assert parts["c"]["tex"] == r"c = \left[\begin{matrix}L g m \sin{\left(\theta \right)}\end{matrix}\right]"
    assert parts["N"]["tex"] == r"\dot q = u"
    assert set(parts) == {"N", "M", "c"}
    assert found["title"] == "nothing holds"
    assert not any("lambda" in line for line in found["form"])
    machine.engage("brake")
    found = typeset(InMode.of(machine))
    assert blocks(found)["J"]["tex"] == r"\begin{aligned}&\text{brake:} && \ddot{\theta} = 0\end{aligned}"
    assert found["title"] == "brake engaged"
    assert any(r"\lambda" in line for line in found["form"])
    assert found["size"] == {"nq": 1, "nu": 1, "rows": 1, "of": 1}


def test_the_rows_are_those_of_the_mode(cart):
    try:
        assert "stuck" not in blocks(typeset(InMode.of(cart)))["J"]["tex"]
        cart.engage("stuck caster")
        cart.release("front wheel")
        tex = blocks(typeset(InMode.of(cart)))["J"]["tex"]
        assert re.findall(r"\\text\{([^}]*):\}", tex) == ["back wheels", "stuck caster"]
        assert r"\text{stuck caster:} && \ddot{q}_{4} = 0" in tex
        assert r"\text{back wheels:} && \dot{\text{slip}} = 0" in tex
    finally:
        cart.reset()


def test_names_stand_for_what_they_replace():
    """Each definition in turn, then what is left: the same numbers as of the expressions themselves."""
    eq = ph.formulate(load(EXAMPLES / "ur5.urdf", limits="ignore"))
    values = [*eq.M.entries, *eq.c]
    definitions, reduced = named_parts(values, PREFIX, LONGEST)
    assert len(definitions) > 10
    rng = np.random.default_rng(1)
    known = {s: float(x) for s, x in zip([*eq.q, *eq.u], rng.normal(size=12), strict=True)}
    wanted = [float(evaluate(e, known)) for e in values]
    for s, e in definitions:
        assert str(s.value).startswith("z")
        known[s] = float(evaluate(e, known))
    np.testing.assert_allclose([float(evaluate(e, known)) for e in reduced], wanted, rtol=1e-9, atol=1e-12)


def test_names_of_the_model_stay_its_own():
    z1, a, b = symbols("z1 a b")
    shared = (a + b) * (a - b) + z1
    definitions, reduced = named_parts([shared * a, shared * b], PREFIX, LONGEST)
    assert [str(s.value) for s, _ in definitions] == ["z2"]
    back = [substitute(e, dict(definitions)) for e in reduced]
    assert back == [shared * a, shared * b]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.043199999999999995, "0.0432"), (20.0, "20"), (1.23456789, "1.2346"), (1e-12, "1.0e-12")]
)
def test_numbers_are_short(value, shown):
    x = symbol("x")
    assert repr(rounded(x * value)).replace("*x", "").replace("1e-12", "1.0e-12") == shown


def test_what_does_not_fit_is_left_out_and_counted(walker):
    x, y = symbols("x y")
    small, large = x * y, sum(((x + k) * (y + k * k) for k in range(1, 60)), x)
    assert fitting([large, small, x], 20) == [False, True, True]
    assert fitting([large, small, x], 1000) == [True, True, True]
    found = typeset(walker)
    left = {block["part"]: block["left"] for block in found["blocks"]}
    assert left["c"] > 0
    assert left["J"] == 0
    eq = walker.program.equations
    kept = len(eq.u) - left["c"]
    sizes = sorted(sum(op_counts(e).values()) for e in eq.c)
    assert sum(sizes[:kept]) < 3 * BOUND  # the small ones
    assert sum(sizes) > 3 * BOUND
    assert sum(len(block["tex"]) for block in found["blocks"]) + len(found["names"]) < 60_000


@pytest.mark.parametrize("engaged", [(), ("back wheels",), ("back wheels", "front wheel"), ("stuck caster",)])
def test_the_operations_of_a_mode_are_those_of_the_automaton(cart, automaton, engaged):
    """And of its rate of change, counted there by other code, in the number of speeds that freedom leaves."""
    try:
        for name in ("back wheels", "front wheel", "stuck caster"):
            (cart.engage if name in engaged else cart.release)(name)
        found = operations(InMode.of(cart))
        words = found["mode"]
        (mode,) = (m for m in automaton.modes if m.words == words)
        assert sum(found["own"].values()) == mode.operations
        assert len(found["speeds"]) == 4 - len(engaged)
        assert found["title"] == mode.title == title(words)
    finally:
        cart.reset()


def test_operations_counted_by_hand():
    """udot = 0.25 (tau + -(19.62 sin)), in numbers: two products, a sum, a sine and a change of sign."""
    found = operations(InMode.of(pendulum()))
    assert found["own"] == {"multiplications": 2, "additions": 1, "others": 2}
    assert found["every"]["multiplications"] >= 2


def test_a_machine_without_constraints_and_one_that_is_large(walker):
    build = ph.Builder("mass")
    build.body("mass", joint=ph.prismatic("x", name="x"), mass=2)
    found = operations(InMode.of(ph.realtime(ph.formulate(build.build()).compile(), record=False)))
    assert sum(found["own"].values()) == 1  # tau / 2
    assert found["speeds"] == ["x_dot"]
    found = operations(walker)
    assert found["own"] is None
    assert "operations" in found["why"]
    assert found["every"]["multiplications"] > 1000


def test_rows_say_what_accelerations_are(cart):
    """The rows that are shown are 0 at the accelerations that another call of the machine finds."""
    mode = InMode.of(cart)
    eq, rows = mode.program.equations, mode.program.constraints
    q, u = [0.3, 0.1, -0.2, 0.7], [0.4, 0.9, 0.0, 0.0]
    u[3] = -float(evaluate(rows.psi[1], dict(zip([*eq.q, *eq.u], [*q, *u], strict=True)))) / -0.12
    udot = cart.dynamics.forward_dynamics(q, u, [1.0, 2.0, 0.0, 0.0], check=False)
    values = dict(zip([*eq.q, *eq.u], [*q, *u], strict=True))
    for i in mode.where(1):
        shown = rounded(rows.J[i] @ vector(list(udot)) + rows.gamma[i])
        assert abs(float(evaluate(shown, values))) < 1e-4


def test_words_stand_apart_and_letters_do_not():
    """A product of a number, a word and a letter, in which one cannot tell where each ends without a space."""
    slip, mast, z, dotted = symbols("slip mast_y1 z_3 mast_y1_dot")
    for e, tex in [
        (slip * z, r"\text{slip} \, z_{3}"),
        (2.5 * mast, r"2.5 \, \text{mast}_{\text{y1}}"),
        (mast**2 * z, r"\text{mast}_{\text{y1}}^{2} \, z_{3}"),
        (z * dotted, r"\dot{\text{mast}}_{\text{y1}} \, z_{3}"),
        (3 * z**2, r"3 z_{3}^{2}"),
        (mast * fn.sin(z), r"\text{mast}_{\text{y1}} \sin{\left(z_{3} \right)}"),
        (z * fn.sin(slip), r"z_{3} \sin{\left(\text{slip} \right)}"),
    ]:
        assert Writer([slip, mast, z, dotted], [e])(e) == tex


def test_equations_with_constraints_embedded():
    """A skate has two speeds of three, and nothing comes or goes; a cart whose caster may stick has but one count."""
    build = ph.Builder("skate", gravity=(0, 0, 0))
    build.body("skate", joint=ph.planar("z"), mass=2, com=(0.3, 0, 0), inertia=(1, 1, 1))
    build.marker("blade", body="skate")
    build.knife_edge("blade", name="edge")
    mode = InMode.of(ph.realtime(ph.formulate(build.build(), "kane", embed=True).compile(), record=False))
    assert typeset(mode)["embedded"] == ["edge"]
    assert typeset(mode)["size"] == {"nq": 3, "nu": 2, "rows": 0, "of": 0}
    assert operations(mode)["own"]["multiplications"] > 0
    eq = ph.formulate(load(EXAMPLES / "cart.toml"), "kane", embed=["back wheels", "front wheel"])
    mode = InMode.of(ph.realtime(eq.compile(), record=False))
    assert typeset(mode)["method"] == "Kane's equations"
    found = operations(mode)
    assert found["own"] is None
    assert found["why"] == "the equations are not in the speeds of the joints"
    assert found["every"]["multiplications"] > 0
