"""What lets go gradually, by steps of one size: its acceleration begins at 0, the first step leaves hardly a trace."""

from __future__ import annotations

import pytest

import polhode as ph


def machine(kind: str) -> ph.Dynamics:
    """A mass that its weight, or a brake of the same size, holds."""
    build = ph.Builder(kind)
    build.body("z", joint=ph.prismatic("x" if kind == "brake" else "z", name="z"), mass="m")
    if kind == "ground":
        build.contact("z")
    elif kind == "rope":
        build.marker("hook", body="world", at=(0, 0, 50))
        build.rope("hook", "z", 50.0)
    elif kind == "brake":
        build.brake("z_dot", capacity="9.81*m")
    else:
        build.stop("z", lower=0)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("method", ["euler", "midpoint", "rk4"])
@pytest.mark.parametrize("kind", ["ground", "rope", "stop", "brake"])
def test_what_is_pulled_ever_more_lets_go_once(kind: str, method: str) -> None:
    """m u' = r t - 9.81 m from t0 = 9.81 m / r on, so u = r (t - t0)^2 / (2 m)."""
    dyn = machine(kind)
    for m, r in ((1.45, 11.2), (0.6, 8.7), (0.9, 19.3)):
        t0 = 9.81 * m / r
        run = ph.simulate(dyn, t_end=t0 + 0.2, p={"m": m}, tau={"z_dot": f"{r}*t"}, method=method, step=1e-3)
        assert run.outcome.finished
        assert len(run.events) <= 2
        exact, error = r * 0.2**2 / (2 * m), 1e-12 if method != "euler" else 1e-3 * 0.2 * r / m
        assert run["z_dot"][-1] == pytest.approx(exact, abs=error)
