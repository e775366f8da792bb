"""examples/cart.toml is Gillespie's cart: that of the tests, which is built in Python from other joints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_gillespie_cart import BEGIN, FORCE, TIGHT, TORQUE, WHEELS, cart, ratio, speeds, started

import polhode as ph

FILE = Path(__file__).parents[3] / "examples" / "cart.toml"
DAMPING = {"u1": 6.0, "u2": 2.0}  # of the file, which the paper does not have


@pytest.fixture(scope="module")
def from_file() -> Any:
    return ph.formulate(ph.load(FILE)).compile()


def state_of(dyn: Any, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """[q1 q2 q3 q4 u1 u2] as q and u of a cart."""
    q = dict(zip(("q1", "q2", "q3", "q4"), state, strict=False))
    u = speeds(state) | {"slip": 0.0}
    eq = dyn.equations
    return np.array([q[str(s)] for s in eq.q]), np.array([u[str(s)] for s in eq.u])


def rates(state: np.ndarray, found: dict[str, float]) -> list[float]:
    """The accelerations of q1 to q4, from those of the file's speeds."""
    _, _, q3, _, u1, u2 = state
    s, c = np.sin(q3), np.cos(q3)
    along, across = found["u1"], found["slip"] + u1 * u2
    return [along * c - across * s, along * s + across * c, found["u2"], found["q4_dot"]]


@pytest.mark.parametrize("stuck", [False, True], ids=["free", "stuck"])
def test_it_accelerates_as_the_one_in_python(from_file: Any, stuck: bool) -> None:
    python, rng = cart(False, active=False), np.random.default_rng(3)
    for _ in range(20):
        state = rng.uniform(-1, 1, 6)
        if stuck:
            state[5] = ratio(state[3]) * state[4]
        push = {"u1": FORCE + DAMPING["u1"] * state[4], "u2": TORQUE + DAMPING["u2"] * state[5]}
        names = [str(s) for s in from_file.equations.u]
        tau = np.array([push.get(name, 0.0) for name in names])
        extra = ("caster", "stuck caster") if stuck else (None, None)
        acting = [[*WHEELS, name] if name else WHEELS for name in extra]
        wanted = python.forward_dynamics(*state_of(python, state), np.zeros(4), active=acting[0])
        found = from_file.forward_dynamics(*state_of(from_file, state), tau, active=acting[1])
        got = rates(state, dict(zip(names, found, strict=True)))
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12 * np.abs(wanted).max())


def test_it_moves_as_the_one_in_python_free_stuck_and_free_again(from_file: Any) -> None:
    python = cart(False, active=False)
    push = {"u1": f"{FORCE} + {DAMPING['u1']}*u1", "u2": f"{TORQUE} + {DAMPING['u2']}*u2"}

    def run(dyn: Any, name: str, **more: Any) -> Any:
        switches = [ph.at(0.4, engage=name), ph.at(1.0, release=name)]
        return ph.simulate(dyn, *more.pop("start"), 1.5, switches=switches, output=[0.0, 0.7, 1.5], **TIGHT, **more)

    wanted = run(python, "caster", start=started(python, BEGIN))
    q, u = started(python, BEGIN)
    u = {name: value for name, value in speeds(BEGIN).items() if name in ("u1", "u2", "q4_dot")}
    found = run(from_file, "stuck caster", start=(q, u), tau=push)
    for name in ("q1", "q2", "q3", "q4"):
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-12)
