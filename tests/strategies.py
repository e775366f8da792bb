"""Random expressions, each with its value and error bound from mpmath alone.

A case is a small program over a pool of values: every step applies an operation
to earlier entries, so subexpressions are shared. The same program runs twice,
once with polhode's constructors and once on (value, error) pairs in mpmath:
|computed - value| <= error for any evaluation in doubles that rounds each
operation to a few ulp. A step that is ill-conditioned at the point is left out.
"""

import operator
import os
import random
from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st
from mpmath import mp, mpf

from polhode import graph

MANY = 20 if os.environ.get("POLHODE_THOROUGH") else 1  # how many times the usual number of cases
ULP = mpf(2) ** -52
ROUNDED = 2 * ULP  # an arithmetic operation, rewritten or contracted
CALLED = 6 * ULP  # a library function
LARGEST = 1e8
TINY = mpf("1e-290")  # absolute: underflow


def _sum(a, b):
    return a[0] + b[0], a[1] + b[1], ROUNDED * (abs(a[0]) + abs(b[0]))


def _difference(a, b):
    return a[0] - b[0], a[1] + b[1], ROUNDED * (abs(a[0]) + abs(b[0]))


def _product(a, b):
    return a[0] * b[0], abs(a[0]) * b[1] + abs(b[0]) * a[1] + a[1] * b[1], ROUNDED


def _quotient(a, b):
    least = abs(b[0]) - b[1]
    if least < 1e-3:
        return None
    value = a[0] / b[0]
    return value, (a[1] + abs(value) * b[1]) / least, ROUNDED


def _power(n):
    def power(a):
        return a[0] ** n, (abs(a[0]) + a[1]) ** n - abs(a[0]) ** n, n * ROUNDED

    return power


def _function(f, slope, domain=lambda v, e: True):
    """f with |f'| <= slope(v, e) within e of v, where domain(v, e) holds."""

    def apply(a):
        v, e = a
        return (f(v), slope(v, e) * e, CALLED) if domain(v, e) else None

    return apply


def _atan2(a, b):
    radius2 = a[0] ** 2 + b[0] ** 2
    if radius2 < 1e-4 or (b[0] < 0 and abs(a[0]) <= 1e-6):
        return None
    return mp.atan2(a[0], b[0]), 2 * (abs(a[0]) * b[1] + abs(b[0]) * a[1]) / radius2, CALLED


def _sign(a):
    return (mp.sign(a[0]), 0, 0) if abs(a[0]) > _margin(a) else None


def _margin(*pairs):
    """How far apart two values must be for a condition to be certain."""
    return 2 * sum(p[1] for p in pairs) + mpf("1e-9")


def _compared(relation):
    def compare(a, b):
        return (mpf(relation(a[0], b[0])), 0, 0) if abs(a[0] - b[0]) > _margin(a, b) else None

    return compare


def _picked(better):
    def pick(a, b):
        return (better(a[0], b[0]), max(a[1], b[1]), 0) if abs(a[0] - b[0]) > _margin(a, b) else None

    return pick


def _select(c, a, b):
    if c[1] and abs(c[0]) <= _margin(c):
        return None
    return (*(a if c[0] else b), 0)


OPERATIONS = {  # name: (number of operands, polhode's constructor, the pair's rule)
    "add": (2, operator.add, _sum),
    "sub": (2, operator.sub, _difference),
    "mul": (2, operator.mul, _product),
    "div": (2, operator.truediv, _quotient),
    "neg": (1, operator.neg, lambda a: (-a[0], a[1], 0)),
    "square": (1, lambda a: a**2, _power(2)),
    "cube": (1, lambda a: a**3, _power(3)),
    "seventh": (1, lambda a: a**7, _power(7)),
    "sin": (1, graph.sin, _function(mp.sin, lambda v, e: 1)),
    "cos": (1, graph.cos, _function(mp.cos, lambda v, e: 1)),
    "tan": (
        1,
        graph.tan,
        _function(mp.tan, lambda v, e: 4 / mp.cos(v) ** 2, lambda v, e: abs(mp.cos(v)) > 0.1 + 2 * e),
    ),
    "asin": (1, graph.asin, _function(mp.asin, lambda v, e: 8, lambda v, e: abs(v) + e < 0.99)),
    "acos": (1, graph.acos, _function(mp.acos, lambda v, e: 8, lambda v, e: abs(v) + e < 0.99)),
    "atan2": (2, graph.atan2, _atan2),
    "exp": (1, graph.exp, _function(mp.exp, lambda v, e: 2 * mp.exp(v), lambda v, e: abs(v) < 18 and e < 0.1)),
    "log": (1, graph.log, _function(mp.log, lambda v, e: 2 / v, lambda v, e: v - 2 * e > 1e-3)),
    "sqrt": (1, graph.sqrt, _function(mp.sqrt, lambda v, e: 1 / mp.sqrt(v), lambda v, e: v - 2 * e > 1e-3)),
    "tanh": (1, graph.tanh, _function(mp.tanh, lambda v, e: 1)),
    "abs": (1, abs, lambda a: (abs(a[0]), a[1], 0) if abs(a[0]) > _margin(a) else None),
    "sign": (1, graph.sign, _sign),
    "min": (2, graph.minimum, _picked(min)),
    "max": (2, graph.maximum, _picked(max)),
    "lt": (2, graph.less, _compared(operator.lt)),
    "le": (2, graph.less_equal, _compared(operator.le)),
    "eq": (2, graph.equal, _compared(operator.eq)),
    "select": (3, graph.select, _select),
}


def _number(value):
    exact = mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else mpf(value)
    return exact, abs(exact) * ULP


@dataclass
class Case:
    """Expressions of `symbols` with their (value, error) at `point`."""

    constants: list
    point: list
    steps: list  # (operation, operands by place in the pool), well-conditioned at the point

    def __init__(self, constants, point, wishes):
        self.constants, self.point = constants, point
        self.symbols = list(graph.symbols("x y z"))
        self.steps = []
        size = len(constants) + len(point)
        for name, *places in wishes:
            arity = OPERATIONS[name][0]
            step = name, [-1 - p if p < 4 else p % size for p in places[:arity]]
            try:
                self.pairs(extra=step)
            except ArithmeticError:
                continue
            self.steps.append(step)
            size += 1

    def pairs(self, point=None, extra=None):
        """The pool as (value, error) pairs."""
        with mp.workdps(60):
            pool = [_number(v) for v in self.constants] + [(mpf(v), mpf(0)) for v in point or self.point]
            for name, places in [*self.steps, *([extra] if extra else [])]:
                made = OPERATIONS[name][2](*[pool[p] for p in places])
                if made is None or abs(made[0]) > LARGEST:
                    raise ArithmeticError(name)
                value, inherited, rounding = made
                scale = 1 if name in ("add", "sub") else abs(value)
                pool.append((value, inherited + rounding * scale + (TINY if rounding else 0)))
            return pool

    @property
    def exprs(self):
        """The pool as polhode expressions."""
        pool = [graph.const(v) for v in self.constants] + self.symbols
        for name, places in self.steps:
            pool.append(OPERATIONS[name][1](*[pool[p] for p in places]))
        return pool

    @property
    def values(self):
        """The point, by symbol."""
        return dict(zip(self.symbols, self.point, strict=True))

    def __repr__(self):
        return f"Case({self.constants!r}, {self.point!r}, steps={self.steps!r})"


_PLACE = st.integers(0, 30)
_WISH = st.tuples(st.sampled_from(sorted(OPERATIONS)), _PLACE, _PLACE, _PLACE)
_EXACT = st.one_of(st.integers(-9, 9), st.fractions(-5, 5, max_denominator=12))
_FLOAT = st.floats(-3, 3, allow_subnormal=False)
_POINT = st.one_of(_FLOAT, st.integers(-290, 290).map(lambda k: k / 97))


def cases(exact=False, most=30):
    """Random cases; with exact=True all constants are whole numbers and fractions."""
    numbers = _EXACT if exact else st.one_of(_EXACT, _FLOAT)
    return st.builds(
        Case,
        st.lists(numbers, min_size=2, max_size=3),
        st.lists(_POINT, min_size=3, max_size=3),
        st.lists(_WISH, min_size=most // 2, max_size=most),
    )


def misfits(found, pairs):
    """The places where a found value leaves its error bound."""
    return [
        (place, float(got), value, error)
        for place, (got, (value, error)) in enumerate(zip(found, pairs, strict=True))
        if not abs(mpf(float(got)) - value) <= error
    ]


def damaged(sound, odd, seed, damages):
    """Tokens of a text of which some are replaced, left out or joined by odd ones."""
    draw = random.Random(seed)
    tokens = list(sound)
    for _ in range(damages):
        k = draw.randrange(len(tokens))
        kind = draw.randrange(4)
        if kind == 0:
            tokens[k] = draw.choice(odd)
        elif kind == 1:
            tokens[k] = draw.choice(sound)
        elif kind == 2:
            del tokens[k]
        else:
            tokens.insert(k, draw.choice(odd))
    return tokens
