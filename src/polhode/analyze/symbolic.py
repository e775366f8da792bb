"""Linear models of small machines as expressions.

    M d udot = d(Q + tau - c - M a),   d qdot = d(N u),   a = udot at the point

so that A and B are made of the derivatives of forces and of one inverse, M^-1 at the point. With constraints it is
that of G^T M G, of the independent speeds, see symbolic_ties.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from polhode.compile import Function, compile
from polhode.equations import Equations
from polhode.equations.inputs import input_names, inputs
from polhode.equations.latex import ROOM
from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    evaluate,
    free_symbols,
    pi,
    substitute,
    symbol,
    to_sympy,
    tree_size,
    vector,
)
from polhode.graph.printing import READABLE
from polhode.kinematics.numeric import unit_quaternions
from polhode.model.elsewhere import Elsewhere
from polhode.model.errors import closest, listed
from polhode.model.expression import Symbols, parse

from .entries import entry
from .modes import columns
from .short import part, product, short, shortest
from .symbolic_latex import symbolic_latex
from .symbolic_rates import outputs_at, rates_at
from .symbolic_ties import Drawn, ties_of

_SPEEDS, _TIED = 8, 12  # speeds without constraints, of which M is inverted, and with constraints
_LARGEST = 20_000  # nodes of an expression that SymPy is given


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SymbolicModel(Elsewhere):
    """A machine near a point, as expressions: dy/dt = drift + A y + B v, w = C y + D v.

    A, B, C, D : (n, n), (n, inputs), (outputs, n), (outputs, inputs); drift : (n,), 0 at an equilibrium
    states     : independent coordinates, speeds, other states, by name; dependent : those that constraints tie to them
    inputs     : forces by the names of speeds, and actuators; outputs : by name; holds : the constraints that hold
    parameters : the symbols that are left, by name
    """

    _elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("modes", "response", "plot", "to_control", "poles", "eigenvalues", "without"),
        "A, B = lin.evaluate({{...}}), or ph.linearize(eq.compile(), ...), which has numbers",
    )

    name: str
    A: Matrix
    B: Matrix
    C: Matrix
    D: Matrix
    drift: Matrix
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    holds: tuple[str, ...] = ()
    dependent: tuple[str, ...] = ()

    def __getitem__(self, places: tuple[str, str]) -> Expr:
        """The entry of A, or of B, by the names of its row and column: lin["x_dot", "theta"]."""
        found: Expr = entry(self, places)
        return found

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the symbols that are left."""
        every = [e for part in (self.A, self.B, self.C, self.D, self.drift) for e in part.entries]
        return tuple(sorted(str(s.value) for s in free_symbols(every)))

    def to_sympy(self) -> tuple[Any, Any]:
        """A and B as SymPy matrices."""
        return to_sympy(self.A), to_sympy(self.B)

    def latex(self, width: float = ROOM, digits: int | None = 6) -> str:
        """Write dy/dt = A y + B v and its matrices as LaTeX that fits a page, as `eq.latex()` does; w = C y + D v where
        there are outputs of your own.

        width  : of a line, in em; digits : of numbers, all for None
        """
        return symbolic_latex(self, width, digits)

    def _repr_latex_(self) -> str | None:
        """What a notebook shows; large models as plain text."""
        every = [e for part in (self.A, self.B, self.C, self.D) for e in part.entries]
        return f"$\\displaystyle {self.latex()}$" if sum(map(tree_size, every)) <= 12 * READABLE else None

    def evaluate(self, values: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """A and B by numbers."""
        known = {symbol(str(name)): float(value) for name, value in values.items()}
        if missing := [name for name in self.parameters if symbol(name) not in known]:
            raise ValueError(f"evaluate: no value for {listed(missing)}. Give {{{missing[0]!r}: ...}}.")
        return (
            np.array(evaluate([*self.A.entries], known), dtype=float).reshape(self.A.shape),
            np.array(evaluate([*self.B.entries], known), dtype=float).reshape(self.B.shape),
        )

    def compile(self, target: str = "llvm") -> Function:
        """A function of p, the values of `parameters` in their order, that gives A and B."""
        found: Function = compile(
            {"p": vector([symbol(name) for name in self.parameters])}, {"A": self.A, "B": self.B}, target, "linear"
        )
        return found

    def __str__(self) -> str:
        head = ("rate of", *self.states, *(f"[{name}]" for name in self.inputs))
        rows = [
            (name, *map(str, self.A[i, :].entries), *(str(self.B[i, j]) for j in range(len(self.inputs))))
            for i, name in enumerate(self.states)
        ]
        lines = [f"Linear model of {self.name!r} as expressions: {len(self.states)} states", self._said_of_point()]
        if self.holds:
            follow = f"follow{'s' * (len(self.dependent) == 1)}"
            lines.append(f"Holding {listed(self.holds)}: {', '.join(self.dependent)} {follow}.")
        lines += ["", columns([head, *rows], left=1)]
        if self.outputs != self.states:
            sides = ((self.C, len(self.states)), (self.D, len(self.inputs)))
            rows = [
                (name, *(str(part[i, j]) for part, width in sides for j in range(width)))
                for i, name in enumerate(self.outputs)
            ]
            lines += ["", columns([("output", *head[1:]), *rows], left=1)]
        return "\n".join(lines)

    def _said_of_point(self) -> str:
        moving = [name for name, e in zip(self.states, self.drift, strict=True) if e != 0]
        if not moving:
            return "About an equilibrium."
        return f"About a point at which {listed(moving)} change{'s' * (len(moving) == 1)}, see drift."

    def __repr__(self) -> str:
        return f"SymbolicModel of {self.name!r}: {len(self.states)} states, {len(self.inputs)} inputs"


def symbolic_model(
    eq: Equations,
    q: Any = None,
    u: Any = None,
    tau: Any = None,
    *,
    controls: Any = None,
    z: Any = None,
    p: Any = None,
    asked: Sequence[str] | None = None,
    outputs: Mapping[str, Expr] | None = None,
    independent: Sequence[str] = (),
) -> SymbolicModel:
    """The linear model at a point of numbers, expressions and symbols; see `linearize`."""
    _require_small(eq)
    names = input_names(eq)
    values = {symbol(k): e for k, e in _values(p, [str(s.value) for s in eq.parameters], "p", {}).items()}
    point: dict[Expr, Expr] = {}
    starts = {str(s.value): state.start for s, state in zip(eq.z, eq.model.states, strict=True)}
    rest = {"q": dict(zip(map(str, eq.model.coordinates), eq.model.neutral(), strict=True)), "u": {}, "z": starts}
    for what, given in (("q", q), ("u", u), ("z", z)):
        known = [str(s.value) for s in getattr(eq, what)]
        found = _values(given, known, what, rest[what])
        point |= {symbol(name): as_expr(found.get(name, 0)) for name in known}
    applied = dict(zip(inputs(eq), [as_expr(0)] * len(names), strict=True))
    for what, given, first in (("tau", tau, 0), ("controls", controls, len(eq.u))):
        for name, e in _values(given, list(names[first:]), what, {}).items():
            applied[inputs(eq)[names.index(name)]] += e
    here = {s: substitute(e, values) for s, e in point.items()} | values
    chosen = list(asked if asked is not None else names[len(eq.u) :] or names)
    for name in chosen:
        if name not in names:
            raise KeyError(f"inputs: there is no speed or actuator {name!r}. {closest(name, names)}")
    ties, drawn = ties_of(eq, here, applied, independent) if eq.model.holding else (None, None)
    rates = rates_at(eq, here, applied, ties)
    whole = tuple(map(str, (*eq.q, *eq.u, *eq.z)))
    N = len(whole)
    free = list(range(N)) if ties is None else list(ties.free)
    places = [names.index(name) for name in chosen]
    C, D = outputs_at(eq, outputs, rates, places, here, ties, [whole[i] for i in free])
    made = SymbolicModel(
        name=eq.model.name,
        A=product(part(rates.x, free, range(N)), ties.L) if ties else short(rates.x),
        B=short(part(rates.v, free, places)),
        C=C,
        D=D,
        drift=vector([shortest(rates.drift[i]) for i in free]),
        states=tuple(whole[i] for i in free),
        inputs=tuple(chosen),
        outputs=tuple(outputs or [whole[i] for i in free]),
        holds=ties.holds if ties else (),
        dependent=tuple(name for i, name in enumerate(whole) if i not in free),
    )
    if drawn is not None:
        _require_same(made, drawn)
    return made


def _require_same(found: SymbolicModel, drawn: Drawn) -> None:
    """Refuse expressions that do not have the numbers of the compiled machine: none should."""
    from .linearize import linearize

    numbers = linearize(
        drawn.dynamics, drawn.q, drawn.u, drawn.tau, controls=drawn.controls, z=drawn.z, t=drawn.t,
        inputs=found.inputs, independent=[*found.states],
    )  # fmt: skip
    A, B = found.evaluate({str(s.value): e for s, e in drawn.values.items()})
    size = np.abs(A).max(initial=0)
    for made, expected in ((A, numbers.A), (B, numbers.B)):
        if numbers.states != found.states or not np.allclose(made, expected, rtol=1e-6, atol=1e-8 * size):
            raise ValueError(
                f"linearize: the expressions of {found.name!r} do not have the numbers of its native code at this "
                "point. Compile the equations: linearize(eq.compile(...), ...)."
            )


def _require_small(eq: Equations) -> None:
    model = eq.model
    if unit_quaternions(eq.kinematics.joints):
        raise ValueError(
            "linearize: quaternions have no linear model as expressions. Give the joint angles, quaternion=False, or "
            "compile the equations: linearize(eq.compile(...), ...)."
        )
    most = _SPEEDS if not model.holding else _TIED
    if len(eq.u) > most or tree_size(eq.M) > _LARGEST:
        raise ValueError(
            f"linearize: {model.name!r} has {len(eq.u)} speeds and {tree_size(eq.M):,} operations in M, expected at "
            f"most {most} and {_LARGEST:,} for expressions. Compile the equations: linearize(eq.compile(...), ...)."
        )


def _values(given: Any, known: Sequence[str], what: str, rest: Mapping[str, Any]) -> dict[str, Expr]:
    """Expressions by name, of numbers, text and expressions."""
    found = {name: as_expr(value if isinstance(value, Expr) else _whole(value)) for name, value in rest.items()}
    if given is None:
        return found
    pairs = given.items() if isinstance(given, Mapping) else zip(known, list(given), strict=True)
    for key, value in pairs:
        name = str(key)
        if name not in known:
            raise KeyError(f"{what}: there is no {name!r}. {closest(name, known)}")
        e = parse(value, Symbols(), f"{what} of {name!r}") if isinstance(value, str) else as_expr(value)
        found[name] = angle(e) if what == "q" else e
    return found


def angle(e: Expr) -> Expr:
    """numpy.pi / 6 as pi/6: a number that is a multiple of pi/12 to the last digit or two."""
    number = float(e.value) if e.op == "const" else 0.0
    k = round(number * 12 / math.pi)
    return pi * k / 12 if 0 < abs(k) <= 48 and abs(number - k * math.pi / 12) <= 2 * math.ulp(number) else e


def _whole(value: Any) -> Any:
    number = float(value)
    return int(number) if number.is_integer() else number
