"""What flexible bodies say of themselves, and messages about them."""

import warnings

import numpy as np
import pytest

import polhode as ph
from polhode.model import ModelError


def beam(**said):
    return ph.beam(**{"length": 1.0, "mu": 1.0, "EI_z": 10.0, "modes": 2} | said)


def on(flexible, **hub):
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body("arm", joint=ph.revolute("z", name="hub"), flexible=flexible, **hub)
    return build


def test_frames_and_their_bodies_print_in_a_line():
    frame = ph.Frame({"a": (0, 0, 0), "b": (1, 0, 0)})
    frame.beam("a", "b", EA=1e6, EI_y=10, EI_z=10, GJ=5, mu=1, elements=4)
    assert repr(frame) == "frame of the nodes a, b with 4 elements"
    made = frame.flexible(root="a", modes=2)
    assert repr(made) == f"flexible body of 5 nodes with modes {', '.join(made.modes)}"


def test_a_beam_has_the_frequencies_of_the_textbook():
    expected = np.array([1.8751041, 4.6940911]) ** 2 * np.sqrt(10.0)
    assert beam().frequencies == pytest.approx(expected, rel=1e-7)
    assert beam(shapes="polynomial", modes=8).frequencies[:2] == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ModelError, match="has symbols, and so no numbers for its frequencies"):
        _ = beam(mu=ph.symbol("m")).frequencies


@pytest.mark.parametrize(
    ("at", "said"),
    [(1.0000001, "is at 1.0000001 of the length"), (ph.symbol("a"), "has x = a along a beam of the length 1.0")],
)
def test_places_beyond_a_beam_are_told_as_they_are(at, said):
    build = on(beam())
    build.body("load", parent="arm", at=(at, 0, 0), joint=ph.weld(), mass=1)
    with pytest.raises(ModelError, match=said):
        build.build()


def test_locks_of_amplitudes_name_what_holds_them():
    build = on(beam())
    build.lock("arm_y1")
    with pytest.raises(ModelError, match=r"which constraint\('arm_y1'\) holds at 0"):
        build.build()
    held = on(beam(), mass=1, inertia=(1, 1, 1))
    held.constraint("arm_y1")
    traj = ph.simulate(ph.formulate(held.build()).compile(), u0={"hub_dot": 1.0}, t_end=0.1)
    assert np.abs(traj["arm_y1"]).max() < 1e-12


def test_many_runs_say_how_many_bend_too_far():
    dyn = ph.formulate(on(beam(), mass=1, inertia=(1, 1, 1)).build()).compile()
    starts = np.zeros((3, 3))
    starts[1:, 1] = 0.2
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ph.simulate_many(dyn, q0=starts, t_end=0.01, method="rk4", step=1e-4)
    (text,) = [str(w.message) for w in seen]
    assert text.startswith("2 of 3 runs are doubtful. Run 1: Body 'arm' bends by more than 10 %")
