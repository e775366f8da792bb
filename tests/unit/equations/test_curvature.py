"""Second derivatives, contracted with multipliers, against differences of first ones."""

import numpy as np
import pytest

import polhode as ph
from polhode.model.grow import grow
from tests.mechanics import close, random_state
from tests.mechanisms import four_bar, windows
from tests.slopes import Moved, slopes


def along(dyn, which, q, u, last, w):
    """d/d(q, u, last) of w . first derivatives; of turns along q exp(r / 2), made symmetric."""
    moved, n, name = Moved(dyn, q), len(u), "tau" if which == "forward_dynamics" else "udot"
    call = getattr(dyn.derivatives, which)
    options = {"check": False} if which == "forward_dynamics" and len(dyn.equations.constraints) else {}

    def gradient(v):
        r, k = v[: len(moved.still)], len(moved.still)
        found = call(moved(r), u + v[k : k + n], last + v[k + n :], **options)
        return np.concatenate([w @ found.q, w @ found.u, w @ getattr(found, name)])

    found = slopes(gradient, np.zeros(len(moved.still) + 2 * n))
    return (found + found.T) / 2


TREES = [["revolute", "prismatic", "revolute"], ["free quaternion"], ["spherical quaternion", "revolute"]]


@pytest.mark.parametrize("kinds", TREES, ids=" ".join)
def test_hessians_of_trees(kinds):
    model = grow(3, kinds, forces=True)
    dyn = ph.formulate(model, "denoc").compile()
    q, u = random_state(dyn.equations, 1, size=0.5)
    tau, w, d = np.random.default_rng(1).normal(size=(3, model.nu))
    second = dyn.derivatives.second
    for which in ("forward_dynamics", "inverse_dynamics"):
        found = getattr(second, which)(q, u, tau, w)
        assert close(found.whole, found.whole.T)
        assert close(found.whole, along(dyn, which, q, u, tau, w), 1e-8), which
        direction = np.concatenate([np.zeros(len(found.names) - len(d)), d])
        assert close(getattr(second, which)(q, u, tau, w, along=direction).whole, found.whole @ direction)
    assert close(found.block("q", "udot"), found.whole[found.parts["q"], found.parts["udot"]])
    assert close(found.block("udot", "udot"), np.zeros((model.nu, model.nu)))


def test_a_pendulum_by_hand():
    build = ph.Builder("pendulum", gravity=(0, 0, -10))
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=ph.symbol("m"), com=(0, 0, -1))
    second = ph.formulate(build.build()).compile().derivatives.second
    found = second.forward_dynamics([0.3], [0.5], [0.7], [2.0], p={"m": 2.0})
    assert found.names == ("theta", "theta_dot", "theta_dot")
    assert close(found.block("q", "q"), [[2 * 10 * np.sin(0.3)]])
    assert close(found.whole[1:], np.zeros((2, 3)))
    batch = second.forward_dynamics(np.full((4, 1), 0.3), [0.5], [0.7], [2.0], p={"m": 2.0})
    assert close(batch.whole, np.tile(found.whole, (4, 1, 1)))
    with pytest.raises(ValueError, match="multiplier has shape"):
        second.forward_dynamics([0.3], [0.5], [0.7], [2.0, 1.0], p={"m": 2.0})
    with pytest.raises(ValueError, match="along has shape"):
        second.forward_dynamics([0.3], [0.5], [0.7], [2.0], [1.0, 2.0], p={"m": 2.0})


@pytest.mark.parametrize(
    "machine",
    [(four_bar(), {"a": 1.0, "b": 0.5, "c": 1.8}), (windows(2), {"crank0": 0.3})],
    ids=["four-bar", "windows"],
)
def test_hessians_of_closed_machines(machine):
    model, start = machine
    dyn = ph.formulate(model).compile()
    q, u = ph.assemble(dyn, start, {f"{next(iter(start))}_dot": 1.0})
    tau, w = np.random.default_rng(1).normal(size=(2, model.nu))
    found = dyn.derivatives.second.forward_dynamics(q, u, tau, w)
    assert close(found.whole, along(dyn, "forward_dynamics", q, u, tau, w), 1e-6)
