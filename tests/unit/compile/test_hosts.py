"""Code for processors with narrower vectors, as far as this one can run it."""

import llvmlite.binding as llvm
import numpy as np
import pytest

from polhode.compile import compile, native
from polhode.compile.targets.llvm import jit
from polhode.graph import atan2, cos, exp, minimum, select, sign, sin, sqrt, vector, vector_of

HOSTS = {
    "SSE2, no FMA": ("x86-64", "", 2),
    "AVX2 and FMA": ("haswell", "+avx2,+fma", 4),
}


def on(monkeypatch, cpu, features, lanes):
    here = native.host()
    other = native.Host(triple=here.triple, cpu=cpu, features=features, lanes=lanes)
    monkeypatch.setattr(native, "host", lambda: other)
    monkeypatch.setattr(jit, "host", lambda: other)


@pytest.mark.skipif(not llvm.get_process_triple().startswith("x86_64"), reason="x86-64 only")
@pytest.mark.parametrize("host", HOSTS)
def test_other_vector_widths_agree_with_this_processor(monkeypatch, host):
    if "FMA" in host and "no" not in host and not llvm.get_host_cpu_features().get("fma"):
        pytest.skip("this processor has no FMA")
    x = vector_of("x", 5)
    e = [
        sin(x[0]) * x[1] + cos(x[0] * x[2]),
        select(x[1] < x[2], sqrt(x[3] ** 2), exp(x[4])),
        atan2(x[0], x[1]) + sign(x[2]) * minimum(x[3], x[4]),
        *x,
    ]
    states = np.random.default_rng(0).normal(size=(23, 5)) * 3
    states[4, 0], states[7, 2], states[9, 1] = 1e7, np.nan, np.inf
    expected = compile([x], vector(e))(states)
    on(monkeypatch, *HOSTS[host])
    f = compile([x], vector(e))
    assert f(states) == pytest.approx(expected, rel=1e-14, abs=1e-14, nan_ok=True)
    assert np.array([f(s) for s in states]) == pytest.approx(expected, rel=1e-14, abs=1e-14, nan_ok=True)
