"""The sizes that rows of constraints are measured by: they come from velocities, not from the rows."""

import numpy as np
import pytest

import polhode as ph
from polhode.graph import symbol
from polhode.kinematics import constrain, derive, joined, selected
from polhode.model import WORLD, Loop
from tests.mechanics import At, random_state
from tests.mechanisms import rod
from tests.unit.kinematics.test_constraint_rows import KINDS, TREES, constrained

GEOMETRIC = [kind for kind in KINDS if not kind.startswith(("relation", "gear", "law", "coupling"))]
TURNS = ("turn", "tilt")


def carried(model, name):
    """The speeds of a frame's body and of all before it."""
    body = model.frame(name)[0]
    found = set()
    while body != WORLD:
        here = next(b for b in model.bodies if b.name == body)
        found |= set(here.joint.speeds())
        body = here.parent
    return found


def expected(eq, q, a, b, radius=None):
    """Squares of the velocities that each speed gives two frames, found from their Jacobians in the world."""
    at, model = At(eq, q, np.zeros(len(eq.u))), eq.model
    both = carried(model, a) & carried(model, b)
    own = np.array([str(u.value) not in both for u in eq.u])
    J_A, J_B = at(eq.jacobian(a)) * own, at(eq.jacobian(b)) * own
    p_A, p_B = at(eq.pose(a))[:3, 3], at(eq.pose(b))[:3, 3]
    if radius is not None:  # a wheel on the ground a
        lever = np.cross(J_A[:3].T, touching(at, eq, b, a, radius) - p_A)
        return sum((m**2).sum(axis=0) for m in (J_B[3:], radius * J_B[:3], J_A[3:], lever.T))
    lever = np.cross(J_A[:3].T, p_B - p_A)
    moves = sum((m**2).sum(axis=0) for m in (J_A[3:], J_B[3:], lever.T))
    return moves, (J_A[:3] ** 2 + J_B[:3] ** 2).sum(axis=0)


def touching(at, eq, wheel, ground, radius):
    X, n, (roll,) = at(eq.pose(wheel)), at(eq.pose(ground))[:3, 2], eq.model.constraints
    axis = X[:3, :3] @ [float(e) for e in roll.axis]
    across = n if roll.shape == "sphere" else n - axis * (axis @ n)
    return X[:3, 3] - radius * across / np.linalg.norm(across)


@pytest.mark.parametrize("tree", ["angles", "quaternions"])
@pytest.mark.parametrize("kind", GEOMETRIC)
def test_sizes_are_those_of_the_velocities_that_a_row_compares(tree, kind):
    eq = constrained(tree, kind).eq
    held, (constraint,) = eq.constraints, eq.model.constraints
    q, u = random_state(eq, 3)
    found = At(eq, q, u)(held.reference)
    assert held.geometric == (True,) * len(held)
    if kind == "knife edge":
        moves, turns = (At(eq, q, u)(eq.jacobian("tip5"))[3:] ** 2).sum(axis=0), None
    elif isinstance(constraint, Loop):
        moves, turns = expected(eq, q, "tip1", "tip5")
    else:
        moves, turns = expected(eq, q, constraint.ground, constraint.wheel, 0.7), None
    for label, row in zip(held.labels, found, strict=True):
        assert row == pytest.approx(
            turns if label.rpartition(".")[2].startswith(TURNS) else moves, rel=1e-10, abs=1e-12
        )


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_entry_is_larger_than_its_size(tree, kind):
    rows = constrained(tree, kind)
    q = rows.closed(random_state(rows.eq, 5)[0])
    at = At(rows.eq, q, np.zeros(len(rows.eq.u)))
    J, E2 = rows(q, at.u).J, at(rows.held.reference)
    assert (np.linalg.norm(J, axis=1) > 0.01 * np.sqrt(E2.sum(axis=1))).all()  # these rows are no rounding
    assert (J**2 <= 3 * E2 + 1e-12).all()  # three terms at most


@pytest.mark.parametrize("kind", ["relation", "relation with speeds", "gear", "law", "coupling"])
def test_rows_with_the_users_coefficients_are_their_own_size(kind):
    rows = constrained("angles", kind)
    assert rows.held.geometric == (False,)
    q, u = random_state(rows.eq, 5)
    assert At(rows.eq, q, u)(rows.held.reference) == pytest.approx(rows(q, u).J ** 2)


def test_rows_of_a_turned_four_bar_that_are_rounding_are_small_beside_their_size():
    build = ph.Builder()
    build.body("base", joint=ph.weld(), rpy=(0.3, 0.2, 0.1), mass=1)
    build.body("crank", parent="base", joint=ph.revolute("y"), **rod("x"))
    build.body("rod", parent="crank", at=(1, 0, 0), joint=ph.revolute("y"), **rod("x"))
    build.body("rocker", parent="base", at=(1.2, 0, 0), joint=ph.revolute("y"), **rod("x"))
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y")
    held = constrain(derive(build.build()))
    eq = ph.formulate(build.build())
    at = At(eq, [0.3, 0.5, -0.4], np.zeros(3))
    assert held.groups == (0, 0, 0, 1, 1)
    E2, J = at(held.reference), at(held.J)
    sizes = np.linalg.svd(J[:3] / np.sqrt(E2[:3].sum(axis=1))[:, None])[1]
    assert sizes[1] > 0.05
    assert sizes[2] < 1e-15
    assert np.abs(J[3:]).max() < 1e-15
    assert E2[3:] == pytest.approx(1)


def test_groups_follow_their_rows():
    build = ph.Builder()
    for name in "ab":
        build.body(name, joint=ph.free(), mass=1)
    build.loop("a", "b", "weld")
    build.loop("world", "b", "hinge", axis="y")
    build.body("c", joint=ph.revolute("z"), mass=1)
    build.body("d", joint=ph.revolute("z"), mass=1)
    build.coupling("c", of="d", ratio=symbol("r"))
    held = constrain(derive(build.build()))
    assert held.groups == (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4)
    some = selected(held, [4, 5, 10])
    assert some.groups == (0, 0, 1)
    assert list(some.reference[2]) == list(held.reference[10])
    both = joined(some, held)
    assert both.groups == (0, 0, 1, *(2 + g for g in held.groups))
    assert both.geometric == some.geometric + held.geometric
    assert list(both.reference.entries) == [*some.reference.entries, *held.reference.entries]
