"""How `benchmarks.realtime` looks for the largest machine that holds a rate: by costs that are known."""

import math

import pytest

pytest.importorskip("rich", reason="rich is not installed: benchmarks are not tested")

from benchmarks.realtime import LIMIT, sizes_to_try


@pytest.mark.parametrize(("power", "edge"), [(1.0, 700), (2.0, 93), (3.0, 51), (2.0, 9), (3.0, 1500)])
@pytest.mark.parametrize(("first", "step"), [(24, 1), (9, 3), (6, 2)])
def test_the_edge_is_found_in_few_trials(power, edge, first, step):
    tried = []

    def hear(size):
        tried.append(size)
        return LIMIT * (size / (edge + 0.5)) ** power + 1e-6 * (size % 3)  # not quite a power law

    *_, (good, bad) = sizes_to_try(first, step, hear)
    assert good <= edge + 0.5
    assert bad > good
    assert bad <= max(1.04 * good, good + step)
    assert all(size % step == 0 for size in tried)
    assert len(tried) == len(set(tried)) < 16


def test_machines_that_fail_do_not_hold():
    *_, (good, bad) = sizes_to_try(24, 1, lambda size: 1e-5 if size < 40 else math.inf)
    assert (good, bad) == (39, 40) or bad <= 1.04 * good
    *_, (good, bad) = sizes_to_try(6, 2, lambda size: math.inf)
    assert (good, bad) == (0, 2)


def test_both_engines_have_the_same_machines():
    """Where they are after a hundred steps, which are small: MuJoCo's ties and contacts give way a little."""
    mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed")
    import numpy as np

    import polhode as ph
    from benchmarks.realtime import FILES, RIGID, legs

    for family, size in (("tree", 14), ("loops", 6), ("legs", 4)):
        text = FILES[family](size)
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        mujoco.mj_step(model, data, nstep=100)
        if family == "legs":
            dyn = ph.formulate(legs(size, RIGID)).compile()
            start = {"hull_z": 0.305}
        else:
            from polhode.formats.mjcf import read_mjcf

            dyn, start = ph.formulate(read_mjcf(text)).compile(), None
        run = ph.simulate(dyn, start, None, 0.1, method="moreau", step=1e-3)
        if family == "legs":  # it fell 5 mm, and stands; MuJoCo's sinks in
            assert run["hull_z"][-1] == pytest.approx(0.3, abs=1e-6)
            assert data.qpos[2] == pytest.approx(0.3, abs=2e-3)
            assert data.ncon == size
        else:
            assert np.abs(run.q[-1] - data.qpos).max() < 0.15 * np.abs(data.qpos).max() > 0, family
