"""Slides that begin in a plane: their directions, beside a speed that is hardly any."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from polhode.kernels import begin, kernel, sliding
from polhode.kernels.gathering import CREEP, STILL
from polhode.kernels.mode import HELD, SLIDES


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setattr(kernel, "PLAIN", True)


def set_of_two(psi, d, W=None, lam=(0, 0), r=(0, 0)):
    """Two tangents that slide, and what is known of them: machine and mode, as far as they are asked."""
    rows, reach = 2, 0.7
    h = SimpleNamespace(real=np.r_[psi, np.full(2, reach**2), np.ravel(np.eye(2) if W is None else W)])
    h.places = [SimpleNamespace(rows=rows, psi=0, reach2=2, W=4)]
    w = SimpleNamespace(
        real=np.r_[d, d, lam, r, 0.5, 0.5].astype(float), whole=np.array([2, 0, SLIDES, SLIDES, -1, -1])
    )
    w.places = [SimpleNamespace(slip=0, part=2, lam=4, r=6, grip=8, size=0, mode=2, of=4)]
    return h, w, reach


@pytest.mark.parametrize("seed", range(20))
def test_a_slide_is_led_to_where_it_is_aimed(seed: int) -> None:
    draw = np.random.default_rng(seed)
    way, turn = draw.uniform(0, 2 * np.pi, 2)
    d = np.array([np.cos(turn), np.sin(turn)])
    psi = draw.uniform(0, 1) * 0.7 * STILL * np.array([np.cos(way), np.sin(way)])
    h, w, reach = set_of_two(psi, d)
    sliding.aim(h, w, d, w.real[2:4])
    across = abs(d[0] * psi[1] - d[1] * psi[0]) / (CREEP * reach)
    assert np.abs(w.real[2:4] - d).max() > 0.5 * across  # psi turns it
    begin._lead(h, w, 0, *d)
    sliding.aim(h, w, w.real[:2].copy(), w.real[2:4])
    assert w.real[2:4] == pytest.approx(d, abs=1e-13)
    assert np.linalg.norm(w.real[:2]) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("size", [0.9, 1.1])
def test_what_friction_pushes_back_is_told(size: float) -> None:
    """a = r + W lam with r = 2 size d and lam = -2 d: along d where what is given is more than friction."""
    d = np.array([0.6, -0.8])
    h, w, _ = set_of_two((0, 0), d, lam=-2 * d, r=2 * size * d)
    a, b, k = begin._accelerated(h, w, 0)
    assert [a, b] == pytest.approx(2 * (size - 1) * d)
    assert k == pytest.approx(1.2 + 1.6)  # of both reactions
    assert begin._goes_back(h, w, 0) == (size < 1)


@pytest.mark.parametrize("pull", [0.49, 0.51])
def test_what_is_held_stays_within_its_grip(pull: float) -> None:
    _, w, _ = set_of_two((0, 0), (1, 0), lam=(0.6 * pull, 0.8 * pull))
    w.whole[2:4] = HELD
    assert begin._grips(w, 0) == (pull < 0.5)
