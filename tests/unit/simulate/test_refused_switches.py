"""Switches that cannot be: each is refused by a clear message, and a running simulation keeps its state."""

import re

import numpy as np
import pytest

import polhode as ph
from polhode.model import ModelError


def wheel(**options):
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a", **options), mass=1, inertia=(1, 1, 2))
    return build


def compiled(build):
    return ph.formulate(build.build()).compile()


def rotors():
    build = ph.Builder("rotors", gravity=(0, 0, 0))
    for name in "pq":
        build.body(name, joint=ph.revolute("z"), mass=1, inertia=(1, 1, 2))
    build.clutch("p_dot", "q_dot", name="clutch", active=False)
    build.constraint("p_dot - q_dot - 1", name="drift", active=False)
    return compiled(build)


def laws():
    build = wheel()
    build.prescribe("a", "t", name="slow", active=False)
    build.prescribe("a", "2*t", name="fast", active=False)
    return compiled(build)


def same_after(sim, command, match, error=ph.SwitchError):
    """A refused command leaves all as it was; and the run goes on as one without it."""
    before = sim.t, sim.q.tolist(), sim.u.tolist(), sim.mode, len(sim.events)
    with pytest.raises(error, match=match):
        command()
    assert before == (sim.t, sim.q.tolist(), sim.u.tolist(), sim.mode, len(sim.events))


def test_what_is_not_declared_cannot_be_engaged():
    sim = ph.Simulation(rotors(), None, {"p_dot": 1.0, "q_dot": 3.0})
    sim.run(0.5)
    same_after(sim, lambda: sim.engage("cluch"), r"no constraint 'cluch' to engage or release. Did you mean 'clutch'\?",
               KeyError)  # fmt: skip
    same_after(sim, lambda: sim.release("brake"), "There are 'clutch', 'drift'", KeyError)
    with pytest.raises(KeyError, match="Did you mean 'clutch'"):
        ph.simulate(rotors(), t_end=1.0, switches=ph.at(0.5, engage="clutsch"))
    with pytest.raises(KeyError, match="The model declares none"):
        ph.Simulation(compiled(wheel())).engage("brake")


def test_contradictory_constraints_are_refused_together_and_one_after_the_other():
    sim = ph.Simulation(rotors(), None, {"p_dot": 1.0, "q_dot": 3.0})
    sim.run(0.5)
    same_after(sim, lambda: sim.engage("clutch", "drift"), "'clutch', 'drift' cannot be engaged together at t = 0.5 s")
    sim.engage("clutch")
    assert sim.u == pytest.approx([2, 2], abs=1e-14)
    same_after(sim, lambda: sim.engage("drift"), "'drift' cannot be engaged beside 'clutch'")
    sim.run(1.5)
    assert sim.u == pytest.approx([2, 2], abs=1e-13)
    assert sim.q == pytest.approx([0.5 + 2, 1.5 + 2], abs=1e-12)


def test_two_laws_of_one_coordinate_are_refused_at_once_and_one_at_a_time_is_fine():
    build = wheel()
    build.prescribe("a", "t")
    build.prescribe("a", "2*t")
    with pytest.raises(ModelError, match="Coordinate 'a' follows 2 laws at once, expected one"):
        build.build()
    sim = ph.Simulation(laws())
    same_after(sim, lambda: sim.engage("slow", "fast"), "'slow', 'fast' cannot be engaged together")
    sim.engage("slow")
    sim.run(1.0)
    assert sim.q == pytest.approx([1.0], abs=1e-12)
    same_after(sim, lambda: sim.engage("fast"), "'fast' is -1 off, expected 0")
    build = wheel(limits=(-1, 1))
    build.stop("a", upper=2)
    with pytest.raises(ModelError, match="Coordinate 'a' has 2 stops, expected one law for it"):
        build.build()
    build.limits = "ignore"  # the remedy
    build.build()


def test_a_refused_command_does_not_disturb_the_motion():
    """The rate at the state is not that of another machine: a free wheel turns on as it did."""
    build = wheel()
    build.constraint("a - 1", name="pin", active=False)
    sim = ph.Simulation(compiled(build), None, {"a_dot": 1.0})
    sim.run(0.5)
    same_after(sim, lambda: sim.engage("pin"), "'pin' is -0.5 off, expected 0")
    sim.run(1.0)
    assert sim.q == pytest.approx([1.0], abs=1e-14)
    sim.engage("pin")
    assert sim.u == pytest.approx([0.0], abs=1e-14)


def test_a_run_that_meets_a_contradiction_stops_with_its_state():
    with pytest.warns(ph.SimulationWarning, match="cannot be engaged together"):
        traj = ph.simulate(rotors(), None, {"p_dot": 1.0, "q_dot": 3.0}, 2.0,
                           switches=ph.at(1.0, engage=["clutch", "drift"]))  # fmt: skip
    assert not traj.outcome.finished
    assert traj.t[-1] == 1.0
    assert traj.u[-1] == pytest.approx([1.0, 3.0], abs=1e-14)


@pytest.mark.parametrize("text", ["sqrt(-1 - a**2)", "log(-1 - a**2) > 0", "a/(a - a)", "1/a"])
def test_guards_that_are_not_finite_are_refused(text):
    dyn = compiled(wheel(friction=0.1))
    switch = ph.when(text, release="friction of a")
    with pytest.raises(ValueError, match=re.escape(str(switch)) + ".*expected a finite number"):
        ph.simulate(dyn, None, {"a_dot": 1.0}, 1.0, switches=switch)
    sim = ph.Simulation(dyn, None, {"a_dot": 1.0})
    same_after(sim, lambda: sim.run(ph.when(text)), "expected a finite number", ValueError)
    sim.run(1.0)
    assert sim.u == pytest.approx([1 - 0.05], abs=1e-12)


def test_a_guard_that_becomes_nan_is_said():
    dyn = compiled(wheel(friction=0.1))
    with pytest.warns(ph.SimulationWarning, match="it is nan at t = 2 s.* may have passed 0 unseen"):
        ph.simulate(dyn, None, {"a_dot": 1.0}, 2.0, switches=ph.when("sqrt(1 - a)", release="friction of a"))


def test_names_in_guards():
    dyn = compiled(wheel(friction=0.1))
    with pytest.raises(ValueError, match=r"'b' is none of the coordinates.*There are 'a', 'a_dot', 't'"):
        ph.simulate(dyn, t_end=1.0, switches=ph.when("b > 1", release="friction of a"))
    with pytest.raises(ValueError, match="nothing in it changes"):
        ph.simulate(dyn, t_end=1.0, until=ph.when("5"))
    with pytest.raises(ValueError, match="expected a number or an expression"):
        ph.when("a >")


UNIT = "expected a number from 0 to 1"
WRONG = {
    "restitution of a stop": (lambda b: b.stop("a", upper=1, restitution=1.2), f"restitution is 1.2, {UNIT}"),
    "restitution of a contact": (lambda b: b.contact("wheel", restitution=-0.1), f"restitution is -0.1, {UNIT}"),
    "restitution of a rope": (lambda b: b.rope("wheel", "world", length=1, restitution=2), f"is 2, {UNIT}"),
    "capacity of a brake": (lambda b: b.brake("a_dot", capacity=-1), "capacity is -1, expected 0 or more"),
    "capacity of a clutch": (lambda b: b.clutch("a_dot", "b_dot", capacity=-2), "capacity is -2, expected 0 or more"),
    "friction of a joint": (lambda b: ph.revolute("x", friction=-1), "friction is -1, expected 0 or more"),
}


@pytest.mark.parametrize("name", WRONG)
def test_numbers_out_of_their_bounds(name):
    make, match = WRONG[name]
    with pytest.raises(ModelError, match=re.escape(match)):
        make(wheel())


def test_a_start_inside_of_something_is_refused():
    build = wheel()
    build.stop("a", upper=1, name="end")
    with pytest.raises(ValueError, match=r"The initial position is 0.5 rad beyond 'end'.*active=False"):
        ph.Simulation(compiled(build), {"a": 1.5})
    build = wheel()
    build.stop("a", upper=1, name="end", active=False)  # the remedy
    sim = ph.Simulation(compiled(build), {"a": 1.5}, {"a_dot": -1.0})
    sim.run(1.0)
    sim.engage("end")
    assert sim.mode["end"] == "open"
    # limits of a file are left open, with a word
    with pytest.warns(ph.SimulationWarning, match="'a' starts 0.5 rad beyond its limits"):
        ph.Simulation(compiled(wheel(limits=(-1, 1))), {"a": 1.5})


def test_a_lock_that_is_engaged_from_the_start_bears_all():
    """The bare torque of 3 on an inertia of 2 accelerates by 1.5; calls hold the lock where they are told to."""
    build = wheel()
    build.lock("a", name="lock")
    dyn = compiled(build)
    at = np.zeros(1), np.zeros(1), np.array([3.0])
    assert dyn.forward_dynamics(*at, active=["lock"]) == pytest.approx([0], abs=1e-14)
    assert dyn.forward_dynamics(*at, active=()) == pytest.approx([1.5])
    assert dyn.reactions(*at, active=["lock"]) == pytest.approx([-3.0])
    traj = ph.simulate(dyn, t_end=2.0, tau=[3.0], switches=ph.at(1.0, release="lock"))
    assert traj["a_dot"][-1] == pytest.approx(1.5, abs=1e-12)
