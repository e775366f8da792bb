"""Modes of contacts in space where the search of all at once fails: states one by one, and directions of slips."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import polhode as ph
from polhode.kernels import impacts, kernel, lawful, slips
from polhode.kernels.coulomb import EQUAL as EQUATION
from polhode.kernels.coulomb import TANGENT
from polhode.kernels.mode import UNILATERAL, make_switching
from polhode.kernels.modes import HELD, OPEN


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setattr(kernel, "PLAIN", True)


def body_on_feet(seed: int, feet: int):
    """W = J M^-1 J^T of a body on points, normals tilted, and the accelerations of a push; normals, then tangents."""
    draw = np.random.default_rng(seed)
    inverse = np.diag(1 / np.r_[draw.uniform(0.05, 0.2, 3), np.ones(3)])
    normals, tangents = [], []
    for k in range(feet):
        at = np.array([0.4 * np.cos(2.2 * k), 0.4 * np.sin(2.2 * k), -0.3]) + 0.05 * draw.normal(size=3)
        axes = np.linalg.qr(np.eye(3) + 0.1 * draw.normal(size=(3, 3)))[0]
        axes *= np.sign(np.diag(axes))
        rows = [np.r_[np.cross(at, axis), axis] for axis in axes.T]
        normals.append(rows[2])
        tangents += rows[:2]
    J = np.array(normals + tangents)
    push = np.r_[draw.normal(size=3), draw.normal(size=3) * 6 - (0, 0, 9)]
    return J @ inverse @ J.T, J @ inverse @ push


def gathered(feet: int, mu, mu_s):
    """Room for a problem of contacts, and its laws."""
    k = 3 * feet
    w = make_switching(rows=k, groups=feet, guards=0, captures=0, n=6, entries=12)
    w.view("which")[:] = range(k)
    w.view("kinds")[:] = [UNILATERAL] * feet + [TANGENT] * 2 * feet
    w.view("sizes")[:] = [0] * feet + [2, 0] * feet
    w.view("ofs")[:] = [-1] * feet + [a for c in range(feet) for a in (c, c)]
    w.view("mu")[feet:], w.view("mu_s")[feet:] = np.repeat(mu, 2), np.repeat(mu_s, 2)
    return w


def check_laws(w, A, b, feet, mu, mu_s):
    """Compare reactions and states with the laws, by NumPy; the accelerations."""
    lam, state, way = w.view("found"), w.view("states"), w.view("part")
    acc, size = A @ lam + b, np.abs(b).max()
    for c in range(feet):
        T = slice(feet + 2 * c, feet + 2 * c + 2)
        if state[c] == OPEN:
            assert lam[c] == 0
            assert (lam[T] == 0).all()
            assert acc[c] > -1e-8 * size
            continue
        assert state[c] == HELD
        assert lam[c] > -1e-8 * size
        assert abs(acc[c]) < 1e-8 * size
        if state[T.start] == HELD:
            assert np.abs(acc[T]).max() < 1e-8 * size
            assert np.hypot(*lam[T]) < mu_s[c] * lam[c] + 1e-8 * size
        else:
            assert way[T] == pytest.approx(acc[T] / np.hypot(*acc[T]), abs=1e-6)
            assert lam[T] == pytest.approx(-mu[c] * lam[c] * way[T], abs=1e-6 * size)
    return acc


@pytest.mark.parametrize("feet", [1, 2, 3])
def test_states_one_by_one_find_what_all_at_once_finds(feet, monkeypatch):
    modes = set()
    for seed in range(12):
        A, b = body_on_feet(seed, feet)
        mu = np.random.default_rng(100 + seed).uniform(0.1, 0.5, feet)
        w = gathered(feet, mu, mu)
        assert lawful.one_mode(w, A, b, 3 * feet, 0.0) == 1
        at_once = check_laws(w, A, b, feet, mu, mu)
        with monkeypatch.context() as patch:
            patch.setattr(lawful, "_all_at_once", lambda *args: False)
            w = gathered(feet, mu, mu)
            assert lawful.one_mode(w, A, b, 3 * feet, 0.0) == 1
        assert check_laws(w, A, b, feet, mu, mu) == pytest.approx(at_once, abs=1e-6 * np.abs(b).max())
        modes.add(tuple(w.view("states")))
    assert len(modes) > 1


def test_no_state_is_taken_that_breaks_a_law(monkeypatch):
    # forces that are none of a problem's: each combination is refused
    monkeypatch.setattr(lawful, "_all_at_once", lambda *args: False)
    monkeypatch.setattr(lawful.lcp, "solve", lambda *args: args[6].fill(-1.0) or 0)
    A, b = body_on_feet(0, 2)
    assert lawful.one_mode(gathered(2, [0.3, 0.3], [0.3, 0.3]), A, b, 6, 0.0) == 0


def about_to_slip(seed: int):
    """Two feet that just cannot both stick; the friction of the first at which that is so.

    Tension between them is free: of all reactions without motion, lam_0 + s e, the least |lam_T| / lam_N counts.
    """
    A, b = body_on_feet(seed, 2)
    values, vectors = np.linalg.eigh(A)
    assert values[0] < 1e-12 < values[1]
    still = -np.linalg.lstsq(A, b, rcond=1e-10)[0]

    def needs(s, c=0):
        lam = still + s * vectors[:, 0]
        return np.hypot(*lam[2 + 2 * c : 4 + 2 * c]) / lam[c]

    found = minimize_scalar(needs, bracket=(-1, 1), tol=1e-14)
    assert 0 < found.fun < 2
    assert 0 < needs(found.x, 1) < 2
    return A, b, found.fun, needs(found.x, 1)


def slips_around(A, b, mu):
    """Slips of the first foot where the other sticks, by the angle at which the force opposes the acceleration."""
    held = [0, 1, 4, 5]

    def moved(angle):
        d, G = np.array([np.cos(angle), np.sin(angle)]), A.copy()
        G[:, 0] -= mu * A[:, 2:4] @ d
        lam = np.zeros(6)
        lam[held] = -np.linalg.solve(G[np.ix_(held, held)], b[held])
        lam[2:4] = -mu * lam[0] * d
        return lam, (A @ lam + b)[2:4], d

    def across(angle):
        _, acc, d = moved(angle)
        return d[0] * acc[1] - d[1] * acc[0]

    angles = np.linspace(0, 2 * np.pi, 2001)
    values = [across(a) for a in angles]
    roots = [
        brentq(across, a, c, xtol=1e-15)
        for a, c, x, y in zip(angles[:-1], angles[1:], values[:-1], values[1:], strict=True)
        if x * y < 0
    ]
    return [moved(a) for a in roots if moved(a)[1] @ moved(a)[2] > 0 and moved(a)[0][0] > 0]


@pytest.mark.parametrize("seed", [4, 6, 7, 9, 18])
@pytest.mark.parametrize("less", [1e-7, 1e-5, 1e-2])
def test_a_foot_that_begins_to_slip_around_one_that_sticks(seed, less):
    A, b, mu, other = about_to_slip(seed)
    mu, mu_other = mu * (1 - less), 1.5 * other
    expected = slips_around(A, b, mu)
    w = gathered(2, [mu, mu_other], [mu, mu_other])
    assert lawful.one_mode(w, A, b, 6, 0.0) == 1
    acc = check_laws(w, A, b, 2, [mu, mu_other], [mu, mu_other])
    assert w.view("states").tolist()[:2] == [HELD, HELD]
    assert w.view("states")[4] == HELD
    assert any(acc[2:4] == pytest.approx(way, rel=1e-4) for _, way, _ in expected)


def test_directions_of_two_slips():
    # both slip: compared with forces and accelerations that are opposed, by NumPy
    A, b = body_on_feet(5, 2)
    b[2:] *= 10
    kind, size, of = (
        np.array([EQUATION] * 2 + [TANGENT] * 4),
        np.array([0, 0, 2, 0, 2, 0]),
        np.array([-1, -1, 0, 0, 1, 1]),
    )
    bound, lam = np.array([0, 0, 0.2, 0.2, 0.1, 0.1]), np.zeros(6)
    assert slips.find_slips(A, b, kind, size, of, bound, lam, np.full(36 + 24, np.nan), np.zeros(6, np.int64))
    acc = A @ lam + b
    assert np.abs(acc[:2]).max() < 1e-9
    for c, T in enumerate((slice(2, 4), slice(4, 6))):
        assert lam[T] == pytest.approx(-bound[T.start] * lam[c] * acc[T] / np.hypot(*acc[T]), abs=1e-5)


def dropped(restitution: float = 0.5) -> ph.Dynamics:
    build = ph.Builder("dropped")
    build.body("b", joint=ph.free(quaternion=True, name="f"), mass=2, inertia=(0.02, 0.03, 0.04))
    build.marker("foot", body="b", at=(0.1, 0.05, -0.2))
    build.contact("foot", friction=0.3, restitution=restitution, name="c")
    return ph.formulate(build.build()).compile()


def run(dyn: ph.Dynamics) -> ph.Trajectory:
    return ph.simulate(dyn, {"f_z": 0.3, "f_qw": 1.0}, {"f_vx": 0.4}, 0.2, method="rk4", step=0.01, output="steps")


def test_an_impact_that_is_not_solved_at_once_is_found_state_by_state(monkeypatch):
    dyn = dropped()
    expected = run(dyn)
    monkeypatch.setattr(impacts, "solve_rows", lambda *args: 1)
    found = run(dyn)
    assert [event.why for event in found.events] == ["start", "closes"]
    assert found.events[1].lost == pytest.approx(expected.events[1].lost, rel=1e-9)
    assert found.u[-1] == pytest.approx(expected.u[-1], abs=1e-9)


@pytest.mark.parametrize("many", [0.0, 50.0])
def test_an_impact_without_lawful_impulses_is_refused_and_changes_nothing(many, monkeypatch):
    # many : impulses at hand, none of which stops what approaches, or which make energy
    def wrong(w, A, b, rows):
        w.real[w.places[0].found] = many
        return 1

    monkeypatch.setattr(impacts, "solve_rows", wrong)
    monkeypatch.setattr(impacts, "one_by_one", lambda *args: False)
    with pytest.warns(ph.SimulationWarning, match="the machine jams"):
        traj = run(dropped())
    assert "the machine jams" in str(traj.outcome)
    assert len(traj.events) == 1
    assert traj.u[-1][3:] == pytest.approx([0.4, 0, -9.81 * traj.t[-1]], abs=1e-9)
