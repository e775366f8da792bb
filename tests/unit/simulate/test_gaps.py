"""Gaps of candidates that are not wired: what closes is what closes where all are wired, and where geometry says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.equations.program import program_of
from polhode.kernels.gaps import DISC, HEIGHT, POSE, ROPE
from polhode.kinematics.candidates import UNILATERAL, candidates
from polhode.simulate import modes

G = 9.81
Machine = tuple[Any, dict[str, Any]]  # a builder, and what a run is given


def balls() -> Machine:
    """Two at a time meet the ground, at one time each; one bounces twice."""
    build = ph.Builder("balls", gravity=(0, 0, -G))
    for i in range(4):
        build.body(f"ball {i}", joint=ph.prismatic("z", name=f"z{i}"), mass=1 + i)
        build.contact(f"ball {i}", restitution=0.5, name=f"c{i}")
    return build, {"q0": {f"z{i}": 0.1 + 0.1 * (i // 2) for i in range(4)}, "t_end": 0.4}


def carts() -> Machine:
    """Carts tied by springs, between stops; some of them are out of reach."""
    build = ph.Builder("carts", gravity=(0, 0, 0))
    for i in range(3):
        build.body(f"cart {i}", joint=ph.prismatic("x", name=f"x{i}", stiffness=30.0), mass=1 + i)
        build.stop(f"x{i}", lower=-0.3, upper=0.2 + 10 * (i == 1), restitution=0.7, name=f"stop {i}")
    return build, {"u0": {"x0_dot": 3.0, "x1_dot": -2.0, "x2_dot": 1.0}, "t_end": 0.7}


def ropes() -> Machine:
    """A load that is thrown to the end of its ropes, and a weight on a moving trolley."""
    build = ph.Builder("ropes", gravity=(0, 0, -G))
    parent = "world"
    for axis in "xyz":
        build.body(f"load {axis}", parent=parent, joint=ph.prismatic(axis, name=axis), mass=1 if axis == "z" else 0)
        parent = f"load {axis}"
    build.body("trolley", joint=ph.prismatic("x", name="s"), mass=3)
    for k, length in enumerate((0.7, 0.9, 2.0)):
        build.marker(f"hook {k}", body="trolley" if k == 1 else "world", at=(0.2 * k, 0.1, 0.3))
        build.rope(f"hook {k}", "load z", length=length, restitution=0.3, name=f"rope {k}")
    return build, {"u0": {"x_dot": 1.0, "y_dot": 0.5, "z_dot": 2.0, "s_dot": -0.5}, "t_end": 0.5}


def chain() -> Machine:
    """A chain of spheres that swings over tilted planes."""
    build = ph.Builder("chain", gravity=(0, 0, -G))
    for k in range(4):
        build.marker(f"plane {k}", body="world", at=(0.3 * k - 0.3, 0, -0.9), rpy=(0.2 * k, 0.5 - 0.4 * k, 0))
    parent = "world"
    for i in range(3):
        joint, at = ph.revolute("yxy"[i], name=f"q{i}"), (0, 0, -0.3 if i else 0)
        build.body(f"l{i}", parent=parent, at=at, joint=joint, mass=1, com=(0, 0, -0.15), inertia=(0.02, 0.02, 0.01))
        parent = f"l{i}"
        build.marker(f"ball {i}", body=parent, at=(0, 0, -0.3))
        for k in range(4):
            build.contact(
                f"ball {i}", f"plane {k}", shape="sphere", radius=0.05, restitution=0.4, name=f"ball {i} on {k}"
            )
    return build, {"q0": {"q0": 1.1, "q1": 0.3, "q2": 0.5}, "t_end": 0.6}


def thrown(above: float) -> Machine:
    """A point that is thrown so that the top of its way is as far above a ceiling: less than a step of the method."""
    build = ph.Builder("thrown", gravity=(0, 0, -G))
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("point", parent="along", joint=ph.prismatic("z", name="z"), mass=1)
    for k in range(3):
        build.marker(f"ceiling {k}", body="world", at=(0, 0, 0.5 - above + k), rpy=(np.pi, 0, 0))
        build.contact("point", f"ceiling {k}", name=f"ceiling {k}")
    return build, {"u0": {"x_dot": 2.0, "z_dot": np.sqrt(G)}, "t_end": 0.6}


def fast() -> Machine:
    """A bullet between walls, whose steps are as long as they can be."""
    build = ph.Builder("bullet", gravity=(0, 0, 0))
    build.body("bullet", joint=ph.prismatic("x", name="x"), mass=1)
    for k, (x, turn) in enumerate(((-1.0, 1), (2.0, -1), (30.0, -1))):
        build.marker(f"wall {k}", body="world", at=(x, 0, 0), rpy=(0, turn * np.pi / 2, 0))
        build.contact("bullet", f"wall {k}", restitution=0.9, name=f"wall {k}")
    return build, {"u0": {"x_dot": 300.0}, "t_end": 0.05}


def rod() -> Machine:
    """A long rod that spins on a slider, whose tips touch walls in the middle of a turn."""
    build = ph.Builder("rod", gravity=(0, 0, 0))
    build.body("slider", joint=ph.prismatic("x", name="x"), mass=5)
    build.body("rod", parent="slider", joint=ph.revolute("z", name="a"), mass=1, inertia=(0.3, 0.3, 0.3))
    build.marker("wall", body="world", at=(1.3, 0, 0), rpy=(0, -np.pi / 2, 0))
    build.marker("back", body="world", at=(-5, 0, 0), rpy=(0, np.pi / 2, 0))
    for k, r in enumerate((1.0, -1.0, 0.4)):
        build.marker(f"tip {k}", body="rod", at=(r, 0.01 * k, 0))
        for wall in ("wall", "back"):
            build.contact(f"tip {k}", wall, restitution=0.6, name=f"tip {k} at {wall}")
    return build, {"u0": {"x_dot": 0.4, "a_dot": 9.0}, "q0": {"a": 1.7}, "t_end": 1.5}


def spun() -> Machine:
    """A rod that turns about its middle until its tips meet stops."""
    build = ph.Builder("spun", gravity=(0, 0, 0))
    build.body("rod", joint=ph.revolute("y", name="a"), mass=1, inertia=(0.3, 0.3, 0.3))
    for k, r in enumerate((1.0, -1.0)):
        build.marker(f"tip {k}", body="rod", at=(r, 0, 0))
        build.marker(f"floor {k}", body="world", at=(0, 0, -0.4 - 0.2 * k))
        build.contact(f"tip {k}", f"floor {k}", restitution=0.8, name=f"tip {k}")
    return build, {"u0": {"a_dot": 2.0}, "t_end": 1.0}


def coin() -> Machine:
    """A coin that falls and turns, over a table that moves."""
    build = ph.Builder("coin", gravity=(0, 0, -G))
    build.body("table", joint=ph.prismatic("z", name="lift", stiffness=5000.0), mass=4)
    build.body("tilt", parent="table", joint=ph.revolute("x", name="tilt", stiffness=400.0), mass=1, inertia=(1, 1, 1))
    build.body("coin", joint=ph.free(name="coin"), mass=0.2, inertia=(1e-3, 2e-3, 1e-3))
    build.marker("top", body="tilt", at=(0, 0, 0.1))
    build.contact("coin", "top", shape="disc", radius=0.1, axis="y", restitution=0.3, friction=0.2, name="coin on top")
    build.contact("coin", "world", shape="disc", radius=0.1, axis="y", name="coin on ground", active=False)
    build.contact("coin", "table", name="middle", restitution=0.3)
    build.rope("coin", "world", length=3.0, name="leash")
    q = {"tilt": 0.2, "coin_ax": 0.5, "coin_ay": 0.3, "coin_az": 0.1, "coin_z": 0.4}
    return build, {"q0": q, "u0": {"coin_wx": 5.0}, "t_end": 0.3}


def symbols() -> Machine:
    """An arm whose length and the radius of whose tip are values of a run, over several grounds."""
    build = ph.Builder("arm", gravity=(0, 0, -G))
    build.body("arm", joint=ph.revolute("y", name="a"), mass=1, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    build.body("hand", parent="arm", at=("l", 0, 0), joint=ph.revolute("y", name="b"), mass=1, com=(0.1, 0, 0))
    for k in range(3):
        build.marker(f"ground {k}", body="world", at=(0, 0, -0.3 - 0.1 * k))
        build.contact("hand", f"ground {k}", restitution=0.5, name=f"point on {k}")
        build.contact("hand", f"ground {k}", shape="sphere", radius="r", restitution=0.5, name=f"ball on {k}")
    return build, {"p": {"l": 0.5, "r": 0.02}, "t_end": 0.6}


MACHINES = {
    "balls": balls, "carts": carts, "ropes": ropes, "chain": chain, "fast": fast, "rod": rod, "coin": coin,
    "spun": spun,
    "grazes": lambda: thrown(1e-5), "barely": lambda: thrown(1e-9), "misses": lambda: thrown(-1e-6),
    "symbols": symbols,
}  # fmt: skip


def both(name: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, Any]:
    """A run in which nothing is wired before it touches, and one in which all is."""
    build, given = MACHINES[name]()
    dyn, found = ph.formulate(build.build()).compile(), []
    for rows in (0, 10_000):
        monkeypatch.setattr(modes, "WIRED", rows)
        found.append(ph.simulate(dyn, **given, **options))
    return found[0], found[1]


def agree(found: Any, exact: Any, tight: float) -> None:
    assert [event.why for event in found.events] == [event.why for event in exact.events]
    assert [event.what for event in found.events] == [event.what for event in exact.events]
    assert found.events.times == pytest.approx(exact.events.times, abs=tight)
    assert found.q == pytest.approx(exact.q, abs=10 * tight)
    assert found.u[-1] == pytest.approx(exact.u[-1], abs=100 * tight)


@pytest.mark.parametrize("name", MACHINES)
def test_what_closes_is_what_closes_where_all_is_wired(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, exact = both(name, monkeypatch)
    assert len(exact.events) > (0 if name == "misses" else 1)
    agree(found, exact, 1e-7)


@pytest.mark.parametrize("method", ["euler", "dopri5", "rodas5p"])
@pytest.mark.parametrize("name", ["chain", "rod"])
def test_other_methods(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"step": 2e-3} if method == "euler" else {}
    agree(*both(name, monkeypatch, method=method, **options), 1e-7)


@pytest.mark.parametrize("name", ["balls", "ropes", "spun"])
def test_steps_that_are_short_against_gaps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here what was travelled since a gap was looked at says when it is due, not the length of a step."""
    agree(*both(name, monkeypatch, method="midpoint", step=1e-3), 1e-9)


def test_a_way_to_a_ceiling_and_back_within_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is travelled from one end of the step to the other; v = g h / 2 leads to g h^2 / 8."""
    build = ph.Builder("thrown", gravity=(0, 0, -G))
    build.body("point", joint=ph.prismatic("z", name="z"), mass=1)
    build.marker("ceiling", body="world", at=(0, 0, G * 0.2**2 / 8 - 1e-3), rpy=(np.pi, 0, 0))
    build.contact("point", "ceiling", name="ceiling")
    build.stop("z", lower=-100.0, name="far")
    monkeypatch.setattr(modes, "WIRED", 0)
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, None, {"z_dot": G * 0.1}, 0.2, method="rk4", step=0.2)
    assert traj.events.times[1:] == pytest.approx([0.1 - np.sqrt(2e-3 / G)], abs=1e-9)


@pytest.mark.parametrize("name", ["balls", "carts", "ropes", "chain", "rod", "coin"])
def test_time_stepping(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may act in a step is wired before it, so that the steps are the same."""
    agree(*both(name, monkeypatch, method="moreau", step=2e-3), 1e-9)


def planes(many: int, seed: int) -> tuple[Any, np.ndarray]:
    """A point among planes that touch the sphere around the origin, and their normals."""
    n = np.random.default_rng(seed).normal(size=(many, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    build, parent = ph.Builder("point", gravity=(0, 0, 0)), "world"
    for axis in "xyz":
        build.body(axis, parent=parent, joint=ph.prismatic(axis, name=f"q{axis}"), mass=1 if axis == "z" else 0)
        parent = axis
    for k, (a, b, c) in enumerate(n.tolist()):
        build.marker(f"plane {k}", body="world", at=(-a, -b, -c), rpy=(0, np.arccos(c), np.arctan2(b, a)))
        build.contact("z", f"plane {k}", restitution=1, name=f"c{k}")
    return build, n


def reflected(n: np.ndarray, v: np.ndarray, end: float) -> tuple[list[float], list[int], np.ndarray]:
    """Where straight lines meet the planes n.x = -1 one after the other, and where they end."""
    x, t, times, met = np.zeros(3), 0.0, [], []
    while True:
        speed = n @ v
        with np.errstate(divide="ignore"):
            after = np.where(speed < -1e-12, (1 + n @ x) / -speed, np.inf)
        k = int(after.argmin())
        if t + after[k] > end:
            return times, met, x + v * (end - t)
        x, t = x + v * after[k], t + float(after[k])
        v = v - 2 * (n[k] @ v) * n[k]
        times.append(t)
        met.append(k)


def test_a_point_among_three_hundred_planes_meets_those_that_geometry_says() -> None:
    """More candidates than are wired by themselves; as geometry has it, not another run."""
    build, n = planes(300, 7)
    dyn, v = ph.formulate(build.build()).compile(), np.array([1.0, 0.6, -0.3])
    times, met, last = reflected(n, v, 7.0)
    traj = ph.simulate(dyn, None, v, 7.0, output=[0, 7.0])
    assert len(met) >= 3
    assert [event.what for event in traj.events[1:]] == [(f"c{k}",) for k in met]
    assert traj.events.times[1:] == pytest.approx(times, abs=1e-9)
    assert traj.q[-1] == pytest.approx(last, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dop853", "moreau"])
def test_three_hundred_planes_as_where_all_are_wired(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build, _ = planes(300, 3)
    dyn, found = ph.formulate(build.build()).compile(), []
    for rows in (240, 10_000):
        monkeypatch.setattr(modes, "WIRED", rows)
        step = 1e-2 if method == "moreau" else None
        found.append(ph.simulate(dyn, None, [0.9, -0.5, 0.2], 4.0, method=method, step=step))
    agree(found[0], found[1], 1e-9)


@pytest.mark.parametrize("name", ["carts", "ropes", "chain", "rod", "coin"])
def test_the_table_has_the_gaps_that_the_rows_have(name: str) -> None:
    """Numbers from poses against expressions of the rows, at random states."""
    build, _ = MACHINES[name]()
    dyn = ph.formulate(build.build()).compile()
    program, eq = program_of(dyn), dyn.equations
    table, others = program.gaps
    assert not others
    assert len(table)
    found = candidates(eq.kinematics, set(table.names))
    rows = [i for i, law in enumerate(found.laws) if law.kind == UNILATERAL]
    phi = program.compiled("gaps", [found.rows.phi[i] for i in rows])
    assert table.names == tuple(found.rows.names[i] for i in rows)
    rng, p = np.random.default_rng(1), np.zeros(1)
    for _ in range(5):
        x = rng.normal(size=len(program.x))
        value = table.measured(0.0, x, np.zeros_like(x), p)[0]
        assert value == pytest.approx(phi(np.zeros(1), x, p), abs=1e-12)


@pytest.mark.parametrize("name", ["carts", "ropes", "chain", "rod", "coin"])
def test_no_gap_changes_by_more_than_its_pair_travels(name: str) -> None:
    """|clear1 - clear0| <= |p1 - p0| + reach |R1 - R0|, and rates are no more than the pace; at random states."""
    build, _ = MACHINES[name]()
    dyn = ph.formulate(build.build()).compile()
    table, _ = program_of(dyn).gaps
    rng, p, nq = np.random.default_rng(2), np.zeros(1), len(dyn.equations.q)
    assert table.poses is not None
    tightest = np.inf
    for k in range(200):
        q, dq = rng.normal(size=nq), rng.normal(size=nq)
        h = 10.0 ** -(k % 5)
        X, Y = (table.poses(np.zeros(1), at, dq, p).reshape(-1, POSE) for at in (q, q + h * dq))
        turn = np.linalg.norm((Y - X)[:, :9], axis=1)
        travel = np.linalg.norm((Y - X)[:, 9:12], axis=1) + table.reach * turn
        clear = [_clear(table, Z) for Z in (X, Y)]
        change = np.abs(clear[1] - clear[0])
        assert (change <= travel[table.pair] + 1e-12).all()
        tightest = min(tightest, float((travel[table.pair] / np.maximum(change, 1e-300)).min()))
        value, pace = table.measured(0.0, q, dq, p)
        rate = (table.measured(0.0, q + 1e-7 * dq, dq, p)[0] - value) / 1e-7
        assert (np.abs(rate)[clear[0] > 0] <= pace[clear[0] > 0] + 1e-5).all()
    assert tightest < 1.5  # a bound, and not a wide one


def _clear(table: Any, X: np.ndarray) -> np.ndarray:
    """How far each gap is from closing, by its points alone."""
    found = []
    for kind, pair, row in zip(table.kind, table.pair, table.rows, strict=True):
        R, p = X[pair, :9].reshape(3, 3), X[pair, 9:12]
        at, n = R @ row[:3] + p, row[3:6]
        if kind == ROPE:
            found.append(row[7] - np.linalg.norm(at - n))
        elif kind == HEIGHT:
            found.append(n @ at - row[6])
        else:
            assert kind == DISC
            a = R @ row[8:]
            side = np.cross(a, n)
            found.append(n @ at - row[6] - row[7] * np.linalg.norm(side))
    return np.array(found)


def test_what_starts_beyond_is_refused_also_where_it_is_not_wired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modes, "WIRED", 0)
    build, _ = balls()
    dyn = ph.formulate(build.build()).compile()
    with pytest.raises(ValueError, match="beyond 'c1'"):
        ph.simulate(dyn, {"z0": 1, "z1": -0.1, "z2": 1, "z3": 1}, t_end=1.0)


def test_a_state_that_is_set_by_hand_is_looked_at_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ball far up that is set down to near the ground, and one that is set beyond it."""
    monkeypatch.setattr(modes, "WIRED", 0)
    build, _ = balls()
    sim = ph.Simulation(ph.formulate(build.build()).compile(), {f"z{i}": 50.0 + i for i in range(4)})
    sim.run(0.1)
    sim.q, sim.u = {"z2": 0.2}, {"z2_dot": 0.0}
    sim.run(0.4)
    assert sim.events.times[1] == pytest.approx(0.1 + np.sqrt(0.4 / G), abs=1e-9)
    sim.q = {"z3": -0.1}
    with pytest.raises(ValueError, match="beyond 'c3'"):
        sim.run(0.5)
