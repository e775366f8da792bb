"""Newton's and Poisson's restitution, alone and with friction."""

from __future__ import annotations

import itertools
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


def two_feet() -> tuple[np.ndarray, np.ndarray]:
    """M and J of the rod on two feet: normal and tangent of each, by x, z, a."""
    M = np.diag([1.0, 1.0, HALF**2 / 3])
    J = np.array([row for x in (-HALF, HALF) for row in ([0.0, 1.0, -x], [1.0, 0.0, -0.5])])
    return M, J


def phases(W: np.ndarray, w: np.ndarray, known: np.ndarray, mu: float) -> list[np.ndarray]:
    """All impulses of one phase of two contacts, every combination of what they may do tried.

    psi = w + W Lam;  0 <= psi_N  perpendicular  Lam_N - known >= 0,  |Lam_T| <= mu Lam_N against psi_T
    """
    found: list[np.ndarray] = []
    for pushes in itertools.product((False, True), repeat=2):
        for slips in itertools.product((0, 1, -1), repeat=2):  # sticks, or slides this way
            A, b = np.zeros((4, 4)), np.zeros(4)
            for c in range(2):
                n, t = 2 * c, 2 * c + 1
                if pushes[c]:
                    A[n], b[n] = W[n], -w[n]
                else:
                    A[n, n], b[n] = 1.0, known[c]
                if slips[c]:
                    A[t, t], A[t, n] = 1.0, slips[c] * mu
                else:
                    A[t], b[t] = W[t], -w[t]
            if np.linalg.cond(A) > 1e12:
                continue
            lam = np.linalg.solve(A, b)
            psi = w + W @ lam
            ok = all(lam[2 * c] >= known[c] - 1e-10 and psi[2 * c] >= -1e-10 for c in range(2))
            ok = ok and all(abs(lam[2 * c + 1]) <= mu * lam[2 * c] + 1e-10 for c in range(2))
            ok = ok and all(s * psi[2 * c + 1] >= -1e-10 for c, s in enumerate(slips))
            if ok and not any(np.allclose(W @ lam, W @ other, atol=1e-8) for other in found):
                found.append(lam)
    return found


def test_two_feet_with_friction_by_poissons_law() -> None:
    """Both phases are problems of both feet at once: against every combination of what they may do, tried in turn."""
    dyn, rng = rod("poisson", 2), np.random.default_rng(5)
    M, J = two_feet()
    W = J @ np.linalg.solve(M, J.T)
    compared = 0
    pushed_again = 0
    for _ in range(300):
        e, mu, u = rng.uniform(0, 1, size=2), rng.uniform(0, 0.9), rng.normal(size=3) * [2.0, 1.0, 1.0]
        w = J @ u
        if min(w[0], w[2]) > -1e-3:
            continue
        first = phases(W, w, np.zeros(2), mu)
        if len(first) != 1:
            continue
        known = e * first[0][[0, 2]]
        second = phases(W, w + W @ first[0], known, mu)
        if len(second) != 1:
            continue
        total = first[0] + second[0]
        if total @ (2 * w + W @ total) > 1e-12:  # it would make energy
            continue
        found, _ = struck(dyn, {"z": 0.5}, u, {"e0": e[0], "e1": e[1], "mu": mu})
        assert found == pytest.approx(u + np.linalg.solve(M, J.T @ total), abs=1e-8)
        pushed_again += bool(np.any(second[0][[0, 2]] > known + 1e-6))
        compared += 1
    assert compared > 120
    assert pushed_again > 5  # a foot is driven back by the other, in the second phase


def cradle(law: str, restitutions: tuple[float, float]) -> Any:
    """Three masses on a line, with a contact between neighbours."""
    build = ph.Builder("cradle", gravity=(0, 0, 0))
    for i in range(3):
        build.body(f"m{i}", joint=ph.prismatic("x", name=f"x{i}"), mass=1)
    for i, e in enumerate(restitutions):
        build.marker(f"face{i}", body=f"m{i}", rpy=(0, np.pi / 2, 0))
        build.contact(f"m{i + 1}", f"face{i}", restitution=e, restitution_law=law, name=f"c{i}")
    return compiled(build)


@pytest.mark.parametrize("method", ["dop853", "moreau"])
@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_cradle_of_three(law: str, method: str) -> None:
    """Struck at once: (-1/3, 2/3, 2/3) by either law."""
    traj = ph.simulate(cradle(law, (1.0, 1.0)), {"x0": -0.1}, {"x0_dot": 1.0}, 0.2, method=method,
                       step=0.01 if method == "moreau" else None)  # fmt: skip
    assert traj.u[-1] == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-12)
    assert sum(event.lost for event in traj.events) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("method", ["dop853", "moreau"])
def test_poissons_law_moves_what_newtons_leaves(method: str) -> None:
    """Stopped together at 1/3, by impulses 2/3 and 1/3; a quarter and a half of these again: 1/6, 1/3, 1/2.

    By Newton's law the contact that was at rest only pushes: 1/6, 5/12, 5/12.
    """
    speeds = {}
    for law in ("newton", "poisson"):
        step = 0.01 if method == "moreau" else None
        traj = ph.simulate(cradle(law, (0.25, 0.5)), {"x0": -0.1}, {"x0_dot": 1.0}, 0.2, method=method, step=step)
        speeds[law] = traj.u[-1]
    assert speeds["poisson"] == pytest.approx([1 / 6, 1 / 3, 1 / 2], abs=1e-12)
    assert speeds["newton"] == pytest.approx([1 / 6, 5 / 12, 5 / 12], abs=1e-12)


def test_time_stepping_of_poissons_law_tends_to_events() -> None:
    """The rod falls on two feet with friction: after it, it has the speeds of the event as the step goes to 0."""
    dyn, p, u = rod("poisson", 2), {"e0": 0.8, "e1": 0.3, "mu": 0.3}, {"x_dot": 1.0, "z_dot": -1.0, "a_dot": 0.05}
    q = {"z": 0.6, "a": -0.05 * 0.1}
    exact = ph.simulate(dyn, q, u, 0.2, p=p)
    ends = [ph.simulate(dyn, q, u, 0.2, p=p, method="moreau", step=h).u[-1] for h in (4e-3, 2.5e-4)]
    assert np.abs(ends[1] - exact.u[-1]).max() < 2e-2
    assert sum(event.lost > 0.1 for event in exact.events) >= 1


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


@pytest.mark.parametrize(("law", "ends", "many"), [("newton", 1, 1000), ("newton", 2, 500), ("poisson", 2, 500)])
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
