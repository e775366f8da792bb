"""Speeds and rows eliminated together: against dense solutions, against embedding, and with rows that do not hold."""

from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.equations import saddle
from polhode.equations.program import program_of
from polhode.graph import evaluate as evaluated
from polhode.graph import symbol, vector
from polhode.kernels.hold import evaluate
from polhode.kernels.settle import settle
from polhode.kinematics.numeric import amplitude_sizes
from tests.mechanisms import four_bar

TRUNK, LOOPS = 4, 5


@cache
def tied():
    """A trunk of hinges with branches of two, whose ends are tied in pairs, all axes skew."""
    draw = np.random.default_rng(7)
    build = ph.Builder("tied branches", gravity=(0, 0, -9.81))
    place = {"world": np.zeros(3)}

    def add(name, parent, at):
        axis = draw.normal(size=3)
        joint = ph.revolute(tuple(axis / np.linalg.norm(axis)), name=f"{name}_joint")
        shape = {"mass": draw.uniform(0.2, 1), "com": tuple(draw.normal(size=3) * 0.05), "inertia": (0.02, 0.03, 0.025)}
        build.body(name, parent=parent, at=tuple(at), joint=joint, **shape)
        place[name] = place[parent] + at
        return name

    parent = "world"
    for k in range(TRUNK):
        parent = add(f"t{k}", parent, draw.normal(size=3) * 0.15 + [0.3, 0, 0])
    for k in range(LOOPS):
        ends = []
        for side in "ab":
            root = add(f"{side}{k}0", f"t{draw.integers(TRUNK)}", draw.normal(size=3) * 0.2)
            ends.append(add(f"{side}{k}1", root, draw.normal(size=3) * 0.2))
        point = (place[ends[0]] + place[ends[1]]) / 2
        for end in ends:
            build.marker(f"{end} end", body=end, at=tuple(point - place[end]))
        build.loop(f"{ends[0]} end", f"{ends[1]} end", "point", name=f"loop {k}")
    return program_of(ph.formulate(build.build()).compile())


def at(program, seed):
    draw = np.random.default_rng(seed)
    return np.concatenate(
        [draw.normal(size=len(program.equations.q)) * 0.1, draw.normal(size=len(program.equations.u))]
    )


def test_rows_of_a_loop_are_pivots_before_the_trunk():
    program = tied()
    order, n = program._rows.order, len(program.equations.u)
    assert all(order.independent)
    rows = [a for a, k in enumerate(order.nodes) if k >= n]
    speeds = [a for a, k in enumerate(order.nodes) if k < n]
    assert min(rows) < max(speeds)


def test_an_elimination_solves_the_equations():
    n, m = 5, 2
    draw = np.random.default_rng(3)
    root, J = draw.normal(size=(n, n)), draw.normal(size=(m, n))
    M = root @ root.T
    M[0, 3:] = M[3:, 0] = J[0, 2:4] = 0.0
    right = draw.normal(size=n + m)
    exprs = [
        vector([symbol(f"{i} {j}") if e else 0 for j, e in enumerate(row)]) for i, row in enumerate(np.vstack([M, J]))
    ]
    known = {exprs[i][j]: e for i, row in enumerate(np.vstack([M, J])) for j, e in enumerate(row) if e}
    symmetric = ph.matrix([[exprs[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)])
    order = [0, 1, n, 4, n + 1, 2, 3]
    found = saddle.Elimination(symmetric, exprs[n:], order)
    solved = evaluated(found.solve([symbol(f"right {i}") for i in range(n + m)]), known | dict(_named("right", right)))
    whole = np.block([[M, J.T], [J, np.zeros((m, m))]])
    np.testing.assert_allclose(solved, np.linalg.solve(whole, right), rtol=1e-9)
    # what a row has left is the Schur complement of what was eliminated before it
    for i, before in ((0, [0, 1]), (1, [0, 1, n, 4])):
        across = whole[n + i, before]
        expected = across @ np.linalg.solve(whole[np.ix_(before, before)], across)
        had, left = evaluated([found.had[i], found.left[i]], known)
        assert left == pytest.approx(expected)
        assert (had > left) if i else (had == left)


def _named(name, values):
    return [(symbol(f"{name} {i}"), e) for i, e in enumerate(values)]


@pytest.mark.parametrize("active", [None, ("loop 0", "loop 3"), ("loop 1",)])
@pytest.mark.parametrize("seed", [0, 1])
def test_accelerations_are_those_of_embedding(active, seed):
    program, x = tied(), at(tied(), seed)
    machine = program.machine(active=active)
    dx = np.zeros(len(program.x))
    assert evaluate(machine, 0.0, x, dx, True) == 0
    places = machine.constrained.places[0]
    assert (places["whole"], places["known"]) == ((1, 0) if active is None else (0, 1))
    n = len(program.equations.u)
    none = np.zeros((1, n))
    udot, lam = program.respond(np.zeros(1), x[None], none, np.zeros(0), active)
    np.testing.assert_allclose(dx[-n:], udot[0], rtol=1e-8, atol=1e-8 * abs(udot).max())
    np.testing.assert_allclose(
        machine.constrained.view("lam" if active else "direct_lam"), lam[0], rtol=1e-8, atol=1e-8 * abs(lam).max()
    )


def test_rows_with_too_little_of_their_own_are_chosen_in_w():
    program, x = tied(), at(tied(), 2)
    machine = program.machine()
    dx, other = np.zeros((2, len(program.x)))
    assert evaluate(machine, 0.0, x, dx, True) == 0
    machine.constrained.view("solved")[4] = 0  # as if the elimination had not counted on this one
    assert evaluate(machine, 0.0, x, other, True) == 0
    assert not machine.constrained.places[0]["whole"]
    np.testing.assert_allclose(other, dx, rtol=1e-9, atol=1e-9 * abs(dx).max())


@pytest.mark.parametrize("active", [None, ("loop 0", "loop 3")])
def test_a_state_is_settled_by_either_factors(active):
    program = tied()
    x = np.concatenate([np.zeros(len(program.equations.q)), at(program, 4)[-len(program.equations.u) :]])
    x[0] += 0.01
    x[-1] += 0.01
    machine, dx = program.machine(active=active), np.zeros(len(program.x))
    x[: len(program.equations.q)] += 1e-3 * at(program, 5)[: len(program.equations.q)]
    evaluate(machine, 0.0, x, dx, True)
    assert settle(machine, 0.0, x) == 0
    phi, psi, reach, pace = program.measured(0.0, x, np.zeros(0) if not len(machine.p) else machine.p)
    on = [active is None or name in active for name in program.constraints.names]
    assert abs(phi / reach)[on].max() < 1e-14
    assert abs(psi / pace)[on].max() < 1e-14


def test_rows_that_repeat_others_are_left_out():
    program = program_of(ph.formulate(four_bar()).compile())
    order = program._rows.order
    assert len(program.constraints) - sum(order.independent) == 3
    assert len(order.nodes) == len(program.equations.u) + 2


def test_an_order_is_found_where_deflections_are_small():
    """Far from there the inertia of a beam is not definite, and a row that ties it would count as a repetition."""
    build = ph.Builder("tied beam")
    build.body(
        "arm", joint=ph.revolute("z"), flexible=ph.beam(length=0.02, mu=1, EI_z=1, modes=3, ends="pinned-pinned")
    )
    build.marker("tip", body="arm", at=(0.02, 0, 0))
    build.marker("ground", body="world", at=(0.02, 0, 0))
    build.loop("ground", "tip", "plane", axis="y")
    eq = ph.formulate(build.build(), "poincare")
    rows, small = eq.constraints, amplitude_sizes(eq.kinematics)
    rho2 = [sum((e * e / eq.M[j, j] for j, e in enumerate(row)), symbol("L") * 0) for row in rows.J.rows()]
    found = saddle.order_of(eq.M, rows.J, rho2, [True], small)
    assert found.independent == [True]
    for M, _, _ in saddle._drawn(eq.M, rows.J, rho2, small):
        assert np.linalg.eigvalsh(M).min() > 0
    assert any(np.linalg.eigvalsh(M).min() < 0 for M, _, _ in saddle._drawn(eq.M, rows.J, rho2, {}))
