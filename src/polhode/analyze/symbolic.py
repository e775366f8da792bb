"""Linear models of small machines as expressions.

    M d udot = d(Q + tau - c - M a),   d qdot = d(N u),   a = udot at the point

so that A and B are made of the derivatives of forces and of one inverse, M^-1 at the point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.compile import Function, compile
from polhode.equations import Equations
from polhode.equations.dynamics import needed_forces
from polhode.equations.inputs import fresh, input_names, inputs
from polhode.equations.views import simplified
from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    evaluate,
    free_symbols,
    from_sympy,
    jacobian,
    substitute,
    symbol,
    tidy,
    to_sympy,
    tree_size,
    vector,
)
from polhode.kinematics.numeric import unit_quaternions
from polhode.model.errors import closest, listed
from polhode.model.expression import Symbols, parse

from .modes import columns

_SPEEDS = 8  # of which M is inverted
_LARGEST = 20_000  # nodes of an expression that SymPy is given
_SIMPLE, _RATIONAL = 30, 400  # nodes of one that SymPy makes shorter, with functions and without


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SymbolicModel:
    """A machine near a point, as expressions: dy/dt = drift + A y + B v.

    A, B       : (n, n), (n, inputs); drift : (n,), 0 at an equilibrium
    states     : coordinates, speeds, other states, by name; inputs : forces by the names of speeds, and actuators
    parameters : the symbols that are left, by name
    """

    name: str
    A: Matrix
    B: Matrix
    drift: Matrix
    states: tuple[str, ...]
    inputs: tuple[str, ...]

    def __getitem__(self, places: tuple[str, str]) -> Expr:
        """The entry of A, or of B, by the names of its row and column: lin["x_dot", "theta"]."""
        row, column = places
        if row not in self.states:
            raise KeyError(f"There is no state {row!r}. {closest(row, self.states)}")
        i, inner = self.states.index(row), column[1:-1] if column.startswith("[") else column
        if column in self.states or inner in self.inputs:
            found: Expr = (
                self.A[i, self.states.index(column)] if column in self.states else self.B[i, self.inputs.index(inner)]
            )
            return found
        raise KeyError(
            f"There is no state or input {column!r}. {closest(column, [*self.states, *self.inputs])} "
            'Of an input that is called like a speed: "[x_dot]".'
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the symbols that are left."""
        every = [*self.A.entries, *self.B.entries, *self.drift.entries]
        return tuple(sorted(str(s.value) for s in free_symbols(every)))

    def to_sympy(self) -> tuple[Any, Any]:
        """A and B as SymPy matrices."""
        return to_sympy(self.A), to_sympy(self.B)

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
        still = all(e == 0 for e in self.drift)
        moving = [name for name, e in zip(self.states, self.drift, strict=True) if e != 0]
        said = "About an equilibrium." if still else f"About a point at which {listed(moving)} change, see drift."
        return f"Linear model of {self.name!r} as expressions: {len(self.states)} states\n{said}\n\n" + columns(
            [head, *rows], left=1
        )

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
    x = vector([*eq.q, *eq.u, *eq.z])
    udot = fresh("udot", eq)[: len(eq.u)]
    v = inputs(eq)
    # laws of the state close the loop: their input is what is added
    laws = {s: s + e for s, e in applied.items() if e != 0}
    given_tau = vector([*v][: len(eq.u)])
    R = substitute(given_tau - needed_forces(eq, udot), laws) if laws else given_tau - needed_forces(eq, udot)
    none = {s: as_expr(0) for s in v}

    def at(e: Matrix, more: Mapping[Expr, Expr]) -> Matrix:
        return substitute(substitute(e, {**none, **more}), here)

    still = {s: as_expr(0) for s in udot}
    M = _short(at(-jacobian(R, udot), still))
    inverse = _inverse(M, eq)
    a = _product(inverse, _column(_short(at(R, still))))
    moving = dict(zip(udot, a.entries, strict=True))
    by_x, by_v = _short(at(jacobian(R, x), moving)), _short(at(jacobian(R, v), moving))
    z_dot = substitute(eq.z_dot, laws) if laws else eq.z_dot
    rates = [*eq.kinematics.q_dot, *z_dot]
    nq, nx = len(eq.q), len(x)
    if rates:
        kin_x, kin_v = at(jacobian(rates, x), still), at(jacobian(rates, v), still)
    drift = [*at(vector([*eq.kinematics.q_dot]), still), *a.entries, *(at(z_dot, still) if len(z_dot) else [])]
    A = _stacked(kin_x, _product(inverse, by_x), nq, nx)
    B = _stacked(kin_v, _product(inverse, by_v), nq, len(v))
    chosen = list(asked if asked is not None else names[len(eq.u) :] or names)
    for name in chosen:
        if name not in names:
            raise KeyError(f"inputs: there is no speed or actuator {name!r}. {closest(name, names)}")
    places = [names.index(name) for name in chosen]
    B = Matrix((nx, len(places)), [B[i, j] for i in range(nx) for j in places])
    return SymbolicModel(
        name=eq.model.name,
        A=A.map(_shortest),
        B=B.map(_shortest),
        drift=vector([_shortest(e) for e in drift]),
        states=tuple(str(s.value) for s in x),
        inputs=tuple(chosen),
    )


def _require_small(eq: Equations) -> None:
    model = eq.model
    if model.holding:
        names = ", ".join(repr(c.name) for c in model.holding[:4])
        raise ValueError(
            f"linearize: {model.name!r} has constraints, {names}, whose linear models are numbers only. Compile the "
            "equations: linearize(eq.compile(...), ...)."
        )
    if unit_quaternions(eq.kinematics.joints):
        raise ValueError(
            "linearize: quaternions have no linear model as expressions. Give the joint angles, quaternion=False, or "
            "compile the equations: linearize(eq.compile(...), ...)."
        )
    if len(eq.u) > _SPEEDS or tree_size(eq.M) > _LARGEST:
        raise ValueError(
            f"linearize: {model.name!r} has {len(eq.u)} speeds and {tree_size(eq.M):,} operations in M, expected at "
            f"most {_SPEEDS} and {_LARGEST:,} for expressions. Compile the equations: linearize(eq.compile(...), ...)."
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
        found[name] = e
    return found


def _whole(value: Any) -> Any:
    number = float(value)
    return int(number) if number.is_integer() else number


def _column(e: Matrix) -> Matrix:
    return Matrix((len(e), 1), e.entries)


def _stacked(kinematic: Matrix, accelerations: Matrix, nq: int, width: int) -> Matrix:
    """Rates of coordinates, accelerations, rates of other states, one above the other."""
    entries = list(kinematic.entries)
    rows = [*entries[: nq * width], *accelerations.entries, *entries[nq * width :]]
    return Matrix((len(rows) // width, width), rows)


def _product(a: Matrix, b: Matrix) -> Matrix:
    n, k, m = a.shape[0], a.shape[1], b.shape[1]
    entries = [sum((a[i, r] * b[r, j] for r in range(k)), as_expr(0)) for i in range(n) for j in range(m)]
    return Matrix((n, m), [_shortest(e) for e in entries])


def _short(e: Matrix) -> Matrix:
    return e.map(_shortest)


def _shortest(e: Expr) -> Expr:
    """The shorter of what is written, tidied, and made by SymPy where that is quick."""
    import sympy

    made = tidy(e)
    assert isinstance(made, Expr)
    size = tree_size(made)
    if size <= 3:
        return made
    found = to_sympy(made)
    plain = not found.atoms(sympy.Function, sympy.Piecewise)
    if size > (_RATIONAL if plain else _SIMPLE):
        return made
    shorter = sympy.factor(found) if plain else simplified(found)
    other = from_sympy(shorter, {to_sympy(s): s for s in free_symbols([made])})
    return other if tree_size(other) < size else made


def _inverse(M: Matrix, eq: Equations) -> Matrix:
    """M^-1 by cofactors of its independent blocks, in lowest terms."""
    import sympy

    n = len(eq.u)
    found = to_sympy(M)
    back = {to_sympy(s): s for s in free_symbols([*M.entries])}
    entries = [as_expr(0)] * (n * n)
    for block in _blocks(M):
        part = found.extract(block, block)
        below = sympy.factor(part.det(method="berkowitz")) if len(block) > 1 else part[0]
        if below == 0 or sympy.simplify(below) == 0:
            raise ValueError(
                f"linearize: the inertia of {eq.model.name!r} is singular here, so its accelerations are not "
                "determined. Give what moves mass or an armature."
            )
        above = part.adjugate() if len(block) > 1 else sympy.eye(1)
        for i, r in enumerate(block):
            for j, c in enumerate(block):
                entries[r * n + c] = from_sympy(sympy.cancel(above[i, j] / below), back)
    return Matrix((n, n), entries)


def _blocks(M: Matrix) -> list[list[int]]:
    """Speeds that inertia ties together."""
    left, found = set(range(M.shape[0])), list[list[int]]()
    while left:
        block, new = set[int](), {min(left)}
        while new:
            block |= new
            new = {j for i in new for j in left if M[i, j] != 0 or M[j, i] != 0} - block
        left -= block
        found.append(sorted(block))
    return found
