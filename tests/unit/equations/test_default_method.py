"""Which method a model gets by default follows from what it is, not from where it was read."""

import pytest

import polhode as ph


def chain(n, mass=1.0, **options):
    build = ph.Builder(f"{n} bodies", **options)
    for i in range(n):
        build.body(f"b{i}", parent=f"b{i - 1}" if i else "world", at=(0, 0, -1), joint=ph.revolute("y"), mass=mass)
    return build


@pytest.mark.parametrize("literal", [False, True])
def test_few_bodies_are_for_reading_and_many_are_for_speed(literal):
    for n, method in ((1, "poincare"), (3, "poincare"), (4, "denoc"), (7, "denoc")):
        assert ph.formulate(chain(n, literal=literal).build()).method == method


def test_symbols_are_for_reading():
    assert ph.formulate(chain(5, ph.symbol("m")).build()).method == "poincare"


def test_what_does_not_move_does_not_count():
    build = chain(3)
    for name in "cd":
        build.body(name, parent="b2", joint=ph.weld(), mass=1)
    model = build.build()
    assert ph.formulate(model).method == "poincare"
    assert ph.formulate(model.merged()).method == "poincare"


def test_files_get_the_same_as_models_from_python():
    arm = ph.load("examples/ur5.urdf")
    assert ph.formulate(arm).method == "denoc"
    held = ph.locked(arm, ["wrist_1", "wrist_2", "wrist_3"])
    assert ph.formulate(held).method == "poincare"
