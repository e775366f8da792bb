"""Another target is one more kernel: it says how a tape is written and computed, and has the rest."""

import pickle

import numpy as np
import pytest

from polhode.compile import compile
from polhode.compile.targets import TARGETS, Kernel
from polhode.graph import cos, select, sqrt, vector, vector_of
from polhode.graph.scalar import FLOAT


class Interpreted(Kernel):
    """Interprets the tape, state by state."""

    target = "interpreted"

    @property
    def source(self):
        rows = zip(self.tape.ops, self.tape.args, self.tape.data, strict=True)
        return "\n".join(f"{i}: {op} {args} {data}" for i, (op, args, data) in enumerate(rows))

    def run(self, call, threads):
        for state in range(call.count):
            values = []
            for op, args, data in zip(self.tape.ops, self.tape.args, self.tape.data, strict=True):
                if op == "input":
                    rows = call.inputs[data[0]]
                    values.append(rows[state if len(rows) > 1 else 0, data[1]])
                else:
                    values.append(data if op == "const" else FLOAT[op](*[values[a] for a in args]))
            for rows, output in zip(call.outputs, self.tape.outputs, strict=True):
                rows[state] = [values[i] for i in output]


@pytest.fixture
def functions(monkeypatch):
    monkeypatch.setitem(TARGETS, Interpreted.target, Interpreted)
    x, k = vector_of("x", 3), vector_of("k", 2)
    y = vector([x[0] * cos(x[1]) + 3, select(x[0] < x[2], sqrt(x[1] ** 2), k[0] / k[1])])
    return compile([x, k], y, target=Interpreted.target), compile([x, k], y)


def test_it_computes_batches_and_single_states(functions):
    ours, llvm = functions
    x, k = np.random.default_rng(0).normal(size=(9, 3)), np.array([2.0, 3.0])
    assert ours(x, k) == pytest.approx(llvm(x, k), rel=1e-14)
    assert ours(x[0], k=k) == pytest.approx(llvm(x[0], k), rel=1e-14)
    assert pickle.loads(pickle.dumps(ours))(x[0], k) == pytest.approx(llvm(x[0], k), rel=1e-14)


def test_what_it_does_not_have_is_refused_by_name(functions):
    ours, _ = functions
    assert "cos" in ours.source
    assert ours.work_size == 0
    with pytest.raises(TypeError, match=r'"interpreted" has no address\. Compile it with target="llvm"'):
        _ = ours.address
    for ask in (lambda: ours.header, lambda: ours.save(".")):
        with pytest.raises(TypeError, match=r'"interpreted" is not C\. Compile it with target="c"'):
            ask()
