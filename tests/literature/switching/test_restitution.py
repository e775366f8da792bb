"""Newton's and Poisson's restitution, alone and with friction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from machines import ball, compiled, in_plane, turning

import polhode as ph

HALF = 1.0


def rod(law: str, ends: int = 1) -> Any:
    """A rod of mass 1 that strikes the ground with one end, or stands on two feet below it."""
    build = turning(in_plane("rod", gravity=0), 1.0, HALF**2 / 3)
    for i in range(ends):
        at = (-HALF, 0, 0) if ends == 1 else ((2 * i - 1) * HALF, 0, -0.5)
        build.marker(f"end {i}", body="body", at=at)
        build.contact(f"end {i}", name=f"end {i}", restitution=ph.symbol(f"e{i}"), restitution_law=law,
                      friction=ph.symbol("mu"))  # fmt: skip
    return compiled(build)


def struck(dyn: Any, q: Any, u: Any, p: Any) -> tuple[np.ndarray, Any]:
    """The speeds after an impact at the start, and the event."""
    sim = ph.Simulation(dyn, q, u, p=p)
    return sim.u, sim.events[0]


def by_poisson(a: float, u: np.ndarray, e: float, mu: float) -> np.ndarray:
    """The speeds of the rod after an impact: stop the end, then give back e of that, each with friction."""
    s, c = np.sin(a), np.cos(a)
    J = np.array([[0.0, 1.0, HALF * c], [1.0, 0.0, HALF * s]])  # normal, tangent of the end, by x, z, a
    M = np.diag([1.0, 1.0, HALF**2 / 3])
    W = J @ np.linalg.solve(M, J.T)
    w = J @ u
    if w[0] >= 0:
        return u
    stick = np.linalg.solve(W, -w)
    if abs(stick[1]) <= mu * stick[0]:
        first = stick
    else:
        for side in (1, -1):
            n = -w[0] / (W[0, 0] + side * mu * W[0, 1])
            first = np.array([n, side * mu * n])
            if n > 0 and side * (w + W @ first)[1] <= 0:
                break
    w = w + W @ first
    second = e * first[0]
    w = w + W[:, 0] * second
    along = np.clip(-w[1] / W[1, 1], -mu * second, mu * second)
    w = w + W[:, 1] * along
    third = max(-w[0], 0.0)  # what friction drove back
    assert third < 1e-9
    return u + np.linalg.solve(M, J.T @ (first + [second, along]))


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_cradle_of_three(law: str) -> None:
    """Struck at once: (-1/3, 2/3, 2/3) by either law."""
    build = ph.Builder("cradle", gravity=(0, 0, 0))
    for i in range(3):
        build.body(f"m{i}", joint=ph.prismatic("x", name=f"x{i}"), mass=1)
    for i in range(2):
        build.marker(f"face{i}", body=f"m{i}", rpy=(0, np.pi / 2, 0))
        build.contact(f"m{i + 1}", f"face{i}", restitution=1, restitution_law=law, name=f"c{i}")
    sim = ph.Simulation(compiled(build), None, {"x0_dot": 1.0})
    assert sim.u == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-12)
    assert sim.events[0].lost == pytest.approx(0, abs=1e-12)


def test_poissons_law_moves_what_newtons_leaves() -> None:
    """Stopped together at 1/3, by impulses 2/3 and 1/3; a quarter and a half of these again: 1/6, 1/3, 1/2.

    By Newton's law the contact that was at rest only pushes: 1/6, 5/12, 5/12.
    """
    speeds = {}
    for law in ("newton", "poisson"):
        build = ph.Builder("cradle", gravity=(0, 0, 0))
        for i in range(3):
            build.body(f"m{i}", joint=ph.prismatic("x", name=f"x{i}"), mass=1)
        for i, e in enumerate((0.25, 0.5)):
            build.marker(f"face{i}", body=f"m{i}", rpy=(0, np.pi / 2, 0))
            build.contact(f"m{i + 1}", f"face{i}", restitution=e, restitution_law=law, name=f"c{i}")
        speeds[law] = ph.Simulation(compiled(build), None, {"x0_dot": 1.0}).u
    assert speeds["poisson"] == pytest.approx([1 / 6, 1 / 3, 1 / 2], abs=1e-12)
    assert speeds["newton"] == pytest.approx([1 / 6, 5 / 12, 5 / 12], abs=1e-12)


def test_the_laws_agree_on_one_contact_without_friction() -> None:
    for h, law in ((1.0, "newton"), (1.0, "poisson")):
        traj = ph.simulate(ball(0.6, restitution_law=law), {"z": h}, t_end=1.5)
        fall = np.sqrt(2 * h / 9.81)
        assert traj.events.times[1:3] == pytest.approx([fall, fall * 2.2], abs=1e-10)


def test_a_rod_with_friction_by_poissons_law() -> None:
    dyn, rng = rod("poisson"), np.random.default_rng(1)
    hit = 0
    for _ in range(150):
        a, e, mu = rng.uniform(-1.4, -0.1), rng.uniform(0, 1), rng.uniform(0, 0.8)
        u = rng.normal(size=3)
        found, _ = struck(dyn, {"z": -HALF * np.sin(a), "a": a}, u, {"e0": e, "mu": mu})
        assert found == pytest.approx(by_poisson(a, u, e, mu), abs=1e-9)
        hit += not np.allclose(found, u)
    assert hit > 50


@pytest.mark.parametrize(("law", "ends", "many"), [("newton", 1, 1000), ("newton", 2, 500), ("poisson", 2, 300)])
def test_no_impact_makes_energy(law: str, ends: int, many: int) -> None:
    """Newton's law with friction would, in 3.6 % of such impacts, were it not made smaller there."""
    dyn, rng, M = rod(law, ends), np.random.default_rng(2), np.array([1.0, 1.0, HALF**2 / 3])
    hit = 0
    for _ in range(many):
        p = {f"e{i}": rng.uniform(0, 1) for i in range(ends)} | {"mu": rng.uniform(0, 2)}
        u = rng.normal(size=3)
        a = rng.uniform(-1.4, -0.1) if ends == 1 else 0.0
        q = {"z": -HALF * np.sin(a), "a": a} if ends == 1 else {"z": 0.5}
        found, event = struck(dyn, q, u, p)
        before, after = M @ u**2 / 2, M @ found**2 / 2
        assert after <= before * (1 + 1e-12)
        assert event.lost == pytest.approx(before - after, abs=1e-10)
        hit += after < before
    assert hit > many / 4
