"""Twin limbs in lanes: found whatever their signs, and computed as if one by one."""

import random
from contextlib import contextmanager, suppress
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import MANY, OPERATIONS, Case, misfits

import polhode as ph
from polhode.compile import compile, schedule
from polhode.compile.tape import Tape, record
from polhode.compile.targets.llvm import emit, twins
from polhode.graph import sin, sqrt, vector, vector_of
from polhode.graph.scalar import FLOAT


@contextmanager
def forced(most=schedule.PIECE):
    """Twins wherever there are any, in pieces of `most` operations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twins, "LEAST", 0)
        patch.setattr(twins, "_instructions", lambda tape: 0)
        patch.setattr(emit, "pieces", lambda steps: schedule.pieces(steps, most))
        patch.setenv("POLHODE_CACHE_DIR", __file__)  # no folder: nothing is cached
        yield


def run(tape, x):
    """Interpret a tape, plain or wide, operation by operation in floats."""
    values = []
    for i, (op, args, data) in enumerate(zip(tape.ops, tape.args, tape.data, strict=True)):
        operands = [values[a] for a in args]
        if not args:
            value = (x[data[1]],) if op == "input" else data if tape.width(i) > 1 else (data,)
        elif op in ("pack", "lane"):
            value = sum(operands, ()) if op == "pack" else (operands[0][data],)
        else:
            value = tuple(FLOAT[op](*lanes) for lanes in zip(*operands, strict=True))
        assert len(value) == tape.width(i)
        values.append(value)
    return [[lane for i in output for lane in values[i]] for output in tape.outputs]


def tape_of(inputs, outputs):
    places = {s: (k, e) for k, entries in enumerate(inputs) for e, s in enumerate(entries)}
    return record(places, tuple(map(len, inputs)), [getattr(e, "entries", e) for e in outputs])


def written(inputs, lines, outputs):
    """A tape by hand: inputs, then lines of an operation and its operands."""
    ops, args = ["input"] * inputs + [op for op, *_ in lines], [()] * inputs + [tuple(a) for _, *a in lines]
    data = [(0, k) for k in range(inputs)] + [None] * len(lines)
    return Tape(ops=ops, args=args, data=data, inputs=(inputs,), outputs=[outputs])


class Limbs(Case):
    """A program in several copies of other inputs, constants, signs and orders, on a trunk that sums them up."""

    def __init__(self, copies, seed, trunk, program, again):
        self.vary = random.Random(seed)
        self.constants = [self.vary.uniform(-2, 2) for _ in range(2 * copies)]
        self.point = [self.vary.uniform(-1.5, 1.5) for _ in range(2 * copies + 3)]
        self.symbols, self.steps = list(vector_of("q", len(self.point))), []
        shared = [0, *range(4 * copies, 4 * copies + 3)]
        self.wish(trunk, [shared])
        limbs = [[*shared, *range(c, 4 * copies, copies)] for c in range(copies)]
        self.wish(program, limbs)
        total = [limbs[0][-1]]
        for limb in limbs[1:]:  # up to the trunk and down again
            total.append(limb[-1])
            self.wish([("add", 0, 1)], [total])
        limbs = [[*limb, total[-1]] for limb in limbs]
        self.wish(again, limbs)
        last = sorted([place for limb in limbs for place in limb[-8:]], key=lambda _: self.vary.random())
        self.outputs = [last, [total[-1], *last[:3], *range(2 * copies)]]  # some twice, and constants

    def wish(self, wishes, pools):
        """Apply each operation to every pool, or to none where it is ill-conditioned."""
        for name, *places in wishes:
            kept, made = self.steps[:], []
            for pool in pools:
                operands = [pool[-1 - p if p < 4 else p % len(pool)] for p in places[: OPERATIONS[name][0]]]
                swap, other, negative = (self.vary.random() < chance for chance in (0.5, 0.2, 0.2))
                op = self.vary.choice(_OTHERS.get(name, [name])) if other else name
                order = -1 if swap and (other or name in _OTHERS) else 1
                place = len(self.constants) + len(self.point) + len(self.steps)
                self.steps += [(op, operands[::order]), *[("neg", [place])] * negative]
                made.append(place + negative)
            with suppress(ArithmeticError):
                self.pairs()
                kept = self.steps
                for pool, place in zip(pools, made, strict=True):
                    pool.append(place)
            self.steps = kept


_OTHERS = {"add": ["sub"] * 5 + ["mul"], "sub": ["add"] * 5 + ["div"], "mul": ["mul"] * 5 + ["add"]}
_WISH = st.tuples(st.sampled_from(["add", "sub", "mul", "div"] * 8 + sorted(OPERATIONS)), *[st.integers(0, 15)] * 3)
_WISHES = [st.lists(_WISH, min_size=n, max_size=2 * n) for n in (2, 10, 4)]


def test_limbs_in_lanes_agree_with_plain_ones():
    found = []

    @given(st.builds(Limbs, st.integers(2, 6), st.integers(0, 10**6), *_WISHES), st.sampled_from([6, 30, 2000]))
    @settings(max_examples=50 * MANY)
    def check(case, most):
        exprs, pairs, x = case.exprs, case.pairs(), np.array(case.point)
        outputs = [[exprs[i] for i in output] for output in case.outputs]
        with forced(most):
            wide = twins.widened(tape := tape_of([case.symbols], outputs))
            f, plain = (compile([case.symbols], [*map(vector, outputs)], target=t) for t in ("llvm", "numpy"))
            batches = [[y[-1] for y in f(np.stack([x + 1] * n + [x]))] for n in (1, 8)]  # one by one, and in lanes
        assert run(wide, case.point) == run(tape, case.point)
        for way, k in product([f(x), *batches, plain(x)], (0, 1)):
            assert not misfits(way[k], [pairs[i] for i in case.outputs[k]])
        x[0] = np.nan  # in one limb
        for one, other in zip(f(x), plain(x), strict=True):
            np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
        found.extend(wide.widths)

    check()
    assert min(found.count(2), found.count(4)) > 100, "twins were not found: the test was none"


def test_every_pattern_of_signs():
    """(±x ± y) x in four lanes, also where y is x."""
    kinds = list(product(["add", "sub"], [1, -1], [0, 1]))  # operation, order of operands, result negated
    for apart, first, second, third in product([4, 0], kinds, kinds, kinds):
        lines = []
        for lane, (op, order, negated) in enumerate([first, second, third, first]):
            made = 8 + 3 * lane
            lines += [(op, *(lane, lane + apart)[::order]), ("neg", made), ("mul", lane, made + negated)]
        tape, x = written(8, lines, [10, 13, 16, 19]), [3.0, 5.0, 7.0, 11.0, 0.5, 0.25, 2.0, 4.0]
        with forced():
            wide = twins.widened(tape)
        assert wide.widths.count(4) >= 3
        assert run(wide, x) == run(tape, x)


def test_mirrored_limbs_are_found():
    def limb(x, y, z, sign, k):
        a = x * y + sign * (k * x - y / z)
        b = sqrt(a * a + 2) * sign - sin(x) * y
        return [a * b - sign * k * z, a + b * b]

    q = list(vector_of("q", 6))
    tape = tape_of([q], [limb(*q[:3], 1, 0.3) + limb(*q[3:], -1, 0.7)])
    assert sorted(twins.Twins(tape).home) == [i for i, op in enumerate(tape.ops) if op in ("add", "sub", "mul", "div")]


def equations(limbs):
    """Inputs and outputs of a floating trunk with limbs, (axes of the joints, hip); no two masses are alike."""
    build = ph.Builder("robot")
    build.body("trunk", joint=ph.free(quaternion=True), mass=9, inertia=(0.3, 0.4, 0.5))
    for n, (axes, hip) in enumerate(limbs):
        body = {"com": (0.01, 0.2 * hip[1], -0.1), "inertia": (0.02, 0.03, 0.01)}
        for k, axis in enumerate(axes):
            parent, at = (f"{n}-{k - 1}", (0, 0.5 * hip[1], -0.25)) if k else ("trunk", hip)
            build.body(f"{n}-{k}", parent=parent, joint=ph.revolute(axis), at=at, mass=1.13 + n + 0.37 * k, **body)
    eq = ph.formulate(build.build())
    return [eq.q, eq.u], [eq.M, eq.c]


QUADRUPED = [("xyy", (x, y, 0)) for x in (0.3, -0.3) for y in (0.1, -0.1)]
HUMANOID = [(axes, (0, y, z)) for axes, z in (("zxyy", 0), ("yxz", 0.4)) for y in (0.1, -0.1)]


@pytest.mark.parametrize(("lanes", "limbs"), [(4, QUADRUPED), (2, HUMANOID)])
def test_robots_fill_their_lanes(lanes, limbs):
    inputs, outputs = equations(limbs)
    wide = twins.widened(tape := tape_of(inputs, outputs))
    assert wide.widths.count(lanes) > 0.9 * sum(w > 1 for w in wide.widths)
    assert twins._instructions(wide) < 0.75 * tape.operations()
    f = compile(inputs, outputs)
    assert f"fmul contract <{lanes} x double>" in f.source
    states = [np.random.default_rng(k).uniform(-1, 1, (9, len(x))) for k, x in enumerate(inputs)]
    for one, many in zip(f(*[x[4] for x in states]), f(*states), strict=True):
        np.testing.assert_allclose(one, many[4], rtol=1e-12, atol=1e-13)


def test_an_unsymmetric_robot_keeps_its_tape():
    tape = tape_of(*equations([("xyzxyz", (0.3, 0.1, 0)), ("zyx", (-0.3, 0.1, 0))]))
    assert tape.operations() > twins.LEAST
    assert twins.widened(tape) is tape
