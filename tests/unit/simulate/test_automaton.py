"""Modes with equations of their own move as the loop for all modes does, to 1e-10."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.equations.program import program_of
from polhode.kernels.mode import HELD, OFF
from polhode.simulate.stages import StagedSimulation
from tests.mechanisms import four_bar

G = 9.81
TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def compiled(build: ph.Builder) -> Any:
    return ph.formulate(build.build()).compile()


def rotors(**clutch: Any) -> Any:
    build = ph.Builder("rotors", gravity=(0, 0, 0))
    for name, inertia in (("p", 2.0), ("q", 3.0)):
        build.body(name, joint=ph.revolute("z", name=name), mass=1, inertia=(2, 2, inertia))
    build.clutch("p_dot", "q_dot", name="clutch", active=False, **clutch)
    return compiled(build)


def arm() -> Any:
    build = ph.Builder("arm", gravity=(0, 0, -G))
    link = {"mass": 1, "inertia": (0.1, 0.1, 0.01)}
    build.body("upper", joint=ph.revolute("y", name="a"), com=(0, 0, -0.5), **link)
    build.body("fore", parent="upper", at=(0, 0, -1), joint=ph.revolute("y", name="b"), com=(0, 0, -0.4), **link)
    build.lock("b", name="lock", active=False)
    return compiled(build)


def pendulum(restitution: float = 0.0) -> Any:
    build = ph.Builder("pendulum", gravity=(0, 0, -G))
    build.body("rod", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    build.stop("a", lower=-0.3, upper=1.5, restitution=restitution, name="stop")
    return compiled(build)


def cart() -> Any:
    build = ph.Builder("cart", gravity=(0, 0, -G))
    build.body("cart", joint=ph.planar(name="c"), mass=2, inertia=(0.3, 0.3, 0.3))
    build.marker("wheel", body="cart", at=(-0.4, 0, 0))
    build.knife_edge("wheel", name="edge", active=False)
    return compiled(build)


def ball() -> Any:
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution=0.5, name="ground")
    return compiled(build)


def disc() -> Any:
    build = ph.Builder("disc", gravity=(0, 0, -G))
    build.body("along x", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("along z", parent="along x", joint=ph.prismatic("z", name="z"), mass=0)
    build.body("disc", parent="along z", joint=ph.revolute("y", name="a"), mass=2, inertia=(0.09, 0.09, 0.09))
    build.contact("disc", shape="disc", radius=0.3, axis="y", friction=0.4, name="ground")
    return compiled(build)


def latched() -> Any:
    """Two pendulums whose ends can be tied as they are."""
    build = ph.Builder("tied", gravity=(0, 0, -G))
    for name, x in (("l", 0.0), ("r", 0.8)):
        build.body(name, at=(x, 0, 0), joint=ph.revolute("y", name=name), mass=1, com=(0, 0, -0.5), inertia=(0.1,) * 3)
        build.marker(f"end {name}", body=name, at=(0, 0, -1))
    build.latch("end l", "end r", "distance", name="tie", active=False)
    return compiled(build)


def _four_bar() -> tuple[Any, Any, Any]:
    dyn = ph.formulate(four_bar()).compile()
    return dyn, *ph.assemble(dyn, [-1.0, 0.5, -1.5], {"a_dot": 2.0}, keep=["a_dot"])


CASES: dict[str, Any] = {
    "clutch": lambda: (rotors(), None, [10, -1], 2.0, {"switches": ph.at(1.0, engage="clutch")}),
    "clutch that slips": lambda: (
        rotors(capacity=1.2), None, [10, -1], 20.0, {"switches": ph.at(1.0, engage="clutch")},
    ),
    "lock of an arm": lambda: (
        arm(), [0.3, 0.7], [1.0, -2.0], 2.0,
        {"switches": [ph.at(0.4, engage="lock"), ph.when("a", -1, release="lock")]},
    ),
    "pendulum that rests on its stop": lambda: (pendulum(), [1.2], None, 3.0, {}),
    "pendulum with a stop": lambda: (pendulum(0.6), [1.2], None, 4.0, {}),
    "pendulum that is pushed against its stops": lambda: (
        pendulum(), [-0.3], None, 4.0, {"tau": {"a_dot": "0.2 - 5*cos(t)"}},
    ),
    "cart whose edge sticks": lambda: (
        cart(), None, [0.7, 1.0, 0.3], 3.0, {"switches": [ph.at(0.5, engage="edge"), ph.at(2.0, release="edge")]},
    ),
    "four-bar whose coupler is released": lambda: (*_four_bar(), 1.5, {"switches": ph.at(0.8, release="close")}),
    "ball": lambda: (ball(), [1.0], None, 2.0, {}),
    "wheel that slips": lambda: (disc(), {"z": 0.3}, None, 5.0, {"tau": {"a_dot": "t"}}),
    "pendulums that are tied": lambda: (latched(), [0.5, 0.1], None, 2.0, {"switches": ph.at(0.6, engage="tie")}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_modes_with_their_own_equations_move_as_the_loop_for_all_does(name: str) -> None:
    dyn, q, u, end, given = CASES[name]()
    automaton = dyn.automaton()
    found = automaton.simulate(q, u, end, **TIGHT, **given)
    expected = ph.simulate(dyn, q, u, end, **TIGHT, **given)
    assert [event.why for event in found.events] == [event.why for event in expected.events]
    assert [event.mode for event in found.events] == [event.mode for event in expected.events]
    assert found.events.times == pytest.approx(expected.events.times, abs=1e-10)
    assert found.q == pytest.approx(expected.q, abs=1e-10)
    assert found.u == pytest.approx(expected.u, abs=1e-10)
    assert found.work_done == pytest.approx(expected.work_done, abs=1e-9)


def test_the_run_is_in_fact_by_the_equations_of_the_modes() -> None:
    """Were the loop for all modes used, the agreement above would say nothing."""
    dyn, q, u, _, _ = CASES["four-bar whose coupler is released"]()
    sim = dyn.automaton().simulation(q, u)
    assert isinstance(sim, StagedSimulation)
    assert sim._stage is not None
    assert len(sim._stage.x) == len(sim._x) - 2  # two speeds are dependent
    sim.run(0.1)
    before = sim._machine.constrained.view("f_b").copy()
    sim.run(0.2)
    assert np.array_equal(before, sim._machine.constrained.view("f_b"))  # the factors were not asked
    sim.release("close")
    assert sim._stage is not None
    assert len(sim._stage.x) == len(sim._x)


def test_modes_have_fewer_speeds_and_say_what_they_cost() -> None:
    automaton = rotors(capacity=1.2).automaton()
    assert [mode.title for mode in automaton.modes] == ["nothing holds", "clutch holds", "clutch slips"]
    assert [len(mode.independent) for mode in automaton.modes] == [2, 1, 2]
    held = automaton.modes[1]
    # (2 + 3) p'' = tau_p + tau_q: a sum and a product
    assert held.operations == 2
    assert "clutch slips -> 2" in automaton.graph
    assert {(e.start, e.end, e.why) for e in automaton.transitions} == {
        (0, 1, "engage"), (0, 2, "engage"), (1, 0, "release"), (1, 2, "slips"), (2, 0, "release"), (2, 1, "sticks"),
    }  # fmt: skip


def test_friction_that_slides_is_left_to_the_loop_for_all_modes_and_said() -> None:
    slides = next(mode for mode in disc().automaton().modes if mode.words["ground"] == "slides")
    assert slides.program is None
    assert "friction that depends on a reaction" in slides.why


def test_embedded_equations_agree_with_reactions_in_the_general_form() -> None:
    """M vdot + c = Q + tau + J^T lam at a state, with vdot and lam of the mode in which the disc rolls."""
    dyn = disc()
    automaton = dyn.automaton()
    mode = next(m for m in automaton.modes if m.words["ground"] == "sticks")
    assert mode.program is not None
    assert mode.rows == (HELD, HELD, OFF)
    q, u, tau = np.array([0.4, 0.3, 0.2]), np.array([0.6, 0.0, 2.0]), np.array([0.7, 0.3, -0.5])
    udot, lam = program_of(dyn).respond(
        np.zeros(1), np.concatenate([q, u])[None], tau[None], np.zeros(0), active=["ground"]
    )
    program = mode.program
    p = np.concatenate([np.zeros(len(program.parameters) - 3), tau])
    rate = program.flow(np.zeros(1), np.array([*q, 2.0, 0.0]), tau, p)  # type: ignore[misc]
    assert rate[:3] == pytest.approx(u, abs=1e-14)
    assert rate[3] == pytest.approx(udot[0][2], abs=1e-12)
    watched, _ = program.watch(())
    values = watched(np.zeros(1), np.array([*q, 2.0, 0.0]), rate, p)  # type: ignore[misc]
    assert values[0] == pytest.approx(lam[0][0], abs=1e-12)
    assert values[1] == pytest.approx(0.4 * lam[0][0] - abs(lam[0][1]), abs=1e-12)


def test_a_poor_choice_of_speeds_is_left_before_it_is_singular() -> None:
    """A slider-crank turns through its dead points, where the slider does not tell the speed of the crank."""
    build = ph.Builder("slider-crank", gravity=(0, 0, 0))
    rod = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    build.body("crank", joint=ph.revolute("y", name="a"), com=(0.25, 0, 0), **rod)
    build.body("rod", parent="crank", at=(0.5, 0, 0), joint=ph.revolute("y", name="b"), com=(0.5, 0, 0), **rod)
    build.body("slider", joint=ph.prismatic("x", name="s"), mass=1)
    build.marker("pin", body="rod", at=(1, 0, 0))
    build.loop("pin", "slider", "axis", axis="y", name="close")
    dyn = compiled(build)
    q, u = ph.assemble(dyn, [0.7, -1.0, 1.3], {"a_dot": 5.0}, keep=["a_dot"])
    found = dyn.automaton().simulate(q, u, 3.0, **TIGHT)
    expected = ph.simulate(dyn, q, u, 3.0, **TIGHT)
    assert found.outcome.finished
    assert np.ptp(found["a"]) > 6.5
    assert found.q == pytest.approx(expected.q, abs=1e-9)


def test_many_modes_are_refused_with_a_remedy_that_works() -> None:
    build = ph.Builder("locks", gravity=(0, 0, 0))
    for i in range(7):
        build.body(f"b{i}", joint=ph.prismatic("x", name=f"x{i}"), mass=1)
        build.lock(f"x{i}", name=f"lock {i}", active=i == 6)
    dyn = compiled(build)
    with pytest.raises(ValueError, match=r"128 modes, more than 64\. Name those .* over="):
        dyn.automaton()
    automaton = dyn.automaton(over=["lock 0"])
    assert [mode.independent for mode in automaton.modes] == [
        tuple(f"x{i}_dot" for i in range(6)), tuple(f"x{i}_dot" for i in range(1, 6)),
    ]  # fmt: skip
    with pytest.raises(KeyError, match="there is no constraint 'lok 0'"):
        dyn.automaton(over=["lok 0"])


def test_what_modes_cannot_do_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Sampled"):
        rotors().automaton().simulate(None, None, 1.0, tau=lambda t, q, u: [0, 0])
    embedded = ph.formulate(four_bar(), embed=True).compile()
    with pytest.raises(ValueError, match="expected those of the joints"):
        embedded.automaton()


def test_the_graph_is_drawn(tmp_path: Any) -> None:
    automaton = rotors(capacity=1.2).automaton()
    figure = automaton.plot(tmp_path / "modes.png")
    assert (tmp_path / "modes.png").stat().st_size > 10_000
    said = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert all(word in said for word in ("clutch holds", "engage clutch", "clutch sticks", "8 operations"))


def test_costs_of_steps_and_switches_are_measured_in_every_mode() -> None:
    dyn = disc()
    costs = dyn.step_cost(q={"z": 0.3}, repeats=20)
    assert [cost.mode.words["ground"] for cost in costs] == ["open", "sticks", "slides"]
    for cost in costs:
        assert 0 < cost.median <= cost.worst
        assert 0 < cost.switch <= cost.switch_worst
    assert "ground slides (*)" in str(costs)
    assert "page faults" in str(costs)
    assert len(dyn.step_cost({"ground": "sticks"}, method="rk4", q={"z": 0.3}, repeats=5)) == 1
    with pytest.raises(ValueError, match="sticks"):
        dyn.step_cost({"ground": "stuck"})


def test_dry_friction_of_joints_is_among_the_modes() -> None:
    """Friction of 0.2 stops a wheel of 0.5 kg m^2 that turns with 2 rad/s after 5 s, unless a brake does."""
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a", friction=0.2), mass=1, inertia=(1, 1, 0.5))
    build.brake("a_dot", name="brake", active=False)
    dyn = compiled(build)
    found = dyn.automaton()
    assert {mode.words["friction of a"] for mode in found.modes} == {"released", "holds", "slips"}
    traj = found.simulate(u0={"a_dot": 2.0}, t_end=6.0)
    assert traj.events.times == pytest.approx([0, 5], abs=1e-9)
    assert traj["a"][-1] == pytest.approx(5.0, abs=1e-9)
    assert len(dyn.step_cost(repeats=3)) == len(found.modes)


def test_friction_that_is_smoothed_stays_a_force_in_every_mode() -> None:
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a", friction=0.2, friction_speed=0.5), mass=1, inertia=(1, 1, 0.5))
    build.brake("a_dot", name="brake", active=False)
    dyn = compiled(build)
    own, whole = (run(u0={"a_dot": 2.0}, t_end=3.0) for run in (dyn.automaton().simulate, partial(ph.simulate, dyn)))
    assert own["a_dot"] == pytest.approx(whole["a_dot"], abs=1e-9)
    assert own["a_dot"][-1] < 1.5


def test_costs_are_measured_with_parameters() -> None:
    dyn = rotors(capacity="most")
    with pytest.raises(ValueError, match="No value for parameter 'most'"):
        dyn.step_cost(repeats=3)
    assert len(dyn.step_cost(repeats=3, p={"most": 2.0})) == 3
