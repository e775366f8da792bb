"""Views into SymPy and LaTeX, for people and for other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from typing import Any

from . import functions as fn
from .algebra import add, div, mul, power
from .matrix import Entries, Matrix, as_matrix
from .node import Expr, coerce, const, symbol
from .printing import READABLE, intermediates, tree_size
from .walk import roots_of, topological


def _one_or_matrix(expr: object) -> Expr | Matrix:
    scalar = coerce(expr)
    return as_matrix(expr) if scalar is None else scalar


def to_sympy(expr: Expr | Matrix | Entries, symbols: Mapping[Expr, Any] | None = None) -> Any:
    """Convert to a SymPy expression or matrix; a vector becomes a column.

    `symbols` gives the SymPy objects to use for some symbols; the others
    become sympy.Symbol(name, real=True).
    """
    import sympy

    expr = _one_or_matrix(expr)
    roots = roots_of(expr)
    made = _convert(roots, dict(symbols or {}))
    if isinstance(expr, Expr):
        return made[expr]
    rows, columns = expr.shape if len(expr.shape) == 2 else (*expr.shape, 1)
    return sympy.ImmutableMatrix(rows, columns, [made[e] for e in roots])


def _convert(roots: list[Expr], made: dict[Expr, Any]) -> dict[Expr, Any]:
    import sympy

    def number(value: int | Fraction | float) -> Any:
        if isinstance(value, Fraction):
            return sympy.Rational(value.numerator, value.denominator)
        return sympy.Float(value, 17) if isinstance(value, float) else sympy.Integer(value)

    # unevaluated: SymPy would try to solve conditions, and can fail or take long
    def choose(a: Any, condition: Any, b: Any) -> Any:
        return sympy.Piecewise((a, condition), (b, True), evaluate=False)

    def compare(relation: Any) -> Callable[..., Any]:
        return lambda a, b: choose(1, relation(a, b, evaluate=False), 0)

    build: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "neg": lambda a: -a,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, n: a**n,
        "abs": sympy.Abs,
        "min": sympy.Min,
        "max": sympy.Max,
        "lt": compare(sympy.Lt),
        "le": compare(sympy.Le),
        "eq": compare(sympy.Eq),
    }
    relations = {"lt": sympy.Lt, "le": sympy.Le, "eq": sympy.Eq}
    for e in topological(roots):
        if e in made:
            continue
        args = [made[a] for a in e.args]
        if e.op == "const":
            made[e] = number(e.value)
        elif e.op == "symbol":
            made[e] = sympy.Symbol(e.value, real=True)
        elif e.op == "select":
            c = e.args[0]
            sides = [made[a] for a in c.args] if c.op in relations else [args[0], sympy.Integer(0)]
            condition = relations.get(c.op, sympy.Ne)(*sides, evaluate=False)
            made[e] = choose(args[1], condition, args[2])
        else:
            extra = () if e.value is None else (e.value,)
            made[e] = build.get(e.op, getattr(sympy, e.op, None))(*args, *extra)  # type: ignore[misc]
    return made


def from_sympy(expr: Any, symbols: Mapping[Any, Expr] | None = None) -> Any:
    """Convert a SymPy expression or matrix; exact numbers stay exact.

    A symbol or a function of time such as q1(t) becomes the symbol of its
    name, unless `symbols` says otherwise (needed for derivatives).
    """
    import sympy

    whole = isinstance(expr, sympy.MatrixBase)
    roots = list(expr) if whole else [sympy.sympify(expr) if not isinstance(expr, str) else _refuse(expr)]
    made: dict[Any, Expr] = dict(symbols or {})
    owner: dict[Expr, Any] = {}  # the SymPy object behind each symbol
    stack = roots[:]
    while stack:
        e = stack[-1]
        if e in made:
            stack.pop()
            continue
        below = _children(e)
        waiting = [a for a in below if a not in made]
        if waiting:
            stack.extend(waiting)
            continue
        new = made[stack.pop()] = _build_from(e, [made[a] for a in below])
        named = isinstance(e, (sympy.Symbol, sympy.core.function.AppliedUndef))  # others may fold to a symbol
        if named and owner.setdefault(new, e) != e:
            raise ValueError(
                f"Two different SymPy symbols are named {new.value!r}. Say in symbols= what each of them becomes."
            )
    if not whole:
        return made[roots[0]]
    return Matrix(expr.shape, [made[e] for e in roots])


def _refuse(text: str) -> Any:
    raise TypeError(f"from_sympy was given the text {text!r}, expected a SymPy object. Text is never evaluated.")


def _children(e: Any) -> tuple[Any, ...]:
    import sympy

    if isinstance(e, sympy.Piecewise):
        return tuple(x for branch in e.args for x in branch.args)
    if isinstance(e, sympy.Pow) and isinstance(e.exp, (sympy.Rational, sympy.Float)):
        return (e.base,)
    return () if isinstance(e, (sympy.Derivative, sympy.core.function.AppliedUndef)) else e.args


def _build_from(e: Any, args: list[Expr]) -> Expr:
    import sympy

    simple: dict[Any, Callable[..., Expr]] = {
        sympy.sin: fn.sin,
        sympy.cos: fn.cos,
        sympy.tan: fn.tan,
        sympy.asin: fn.asin,
        sympy.acos: fn.acos,
        sympy.atan: lambda x: fn.atan2(x, 1),
        sympy.atan2: fn.atan2,
        sympy.exp: fn.exp,
        sympy.log: fn.log,
        sympy.tanh: fn.tanh,
        sympy.Abs: fn.absolute,
        sympy.sign: fn.sign,
        sympy.Min: fn.minimum,
        sympy.Max: fn.maximum,
        sympy.StrictLessThan: fn.less,
        sympy.LessThan: fn.less_equal,
        sympy.StrictGreaterThan: lambda a, b: fn.less(b, a),
        sympy.GreaterThan: lambda a, b: fn.less_equal(b, a),
        sympy.Equality: fn.equal,
        sympy.Unequality: lambda a, b: 1 - fn.equal(a, b),
        sympy.And: fn.minimum,
        sympy.Or: fn.maximum,
        sympy.Not: lambda a: 1 - a,
        sympy.ITE: fn.select,
    }
    if isinstance(e, sympy.Rational):
        return const(Fraction(int(e.p), int(e.q)))
    if isinstance(e, sympy.Float):
        return const(float(e))
    if e is sympy.pi:
        return fn.pi
    if e is sympy.E:
        return fn.exp(1)
    if e in (sympy.oo, -sympy.oo, sympy.nan):
        return const(float(e))
    if e in (sympy.true, sympy.false):
        return const(int(bool(e)))
    if isinstance(e, sympy.Symbol):
        return symbol(e.name)
    if isinstance(e, sympy.core.function.AppliedUndef):
        return symbol(e.func.__name__)
    if isinstance(e, sympy.Add):
        return reduce(add, args)
    if isinstance(e, sympy.Mul):
        return _quotient(e, args)
    if isinstance(e, sympy.Pow):
        exponent = args[1] if len(args) == 2 else _build_from(e.exp, [])
        if exponent.op == "const" and 2 * exponent.value == int(2 * exponent.value):
            return power(args[0], exponent)
        return fn.exp(exponent * fn.log(args[0]))
    if isinstance(e, sympy.Piecewise):
        result: Expr = const(float("nan"))
        for value, condition in reversed(list(zip(args[::2], args[1::2], strict=True))):
            result = fn.select(condition, value, result)
        return result
    if type(e) in simple:
        return simple[type(e)](*args)
    raise TypeError(
        f"SymPy's {type(e).__name__} in {str(e)[:60]!r} has no counterpart here. "
        "Replace it by one of the supported functions, or give its image in `symbols`."
    )


def _quotient(e: Any, args: list[Expr]) -> Expr:
    """A SymPy product, with its negative powers gathered below one division."""
    import sympy

    top, bottom = const(1), const(1)
    for original, arg in zip(e.args, args, strict=True):
        if arg.op == "div" and arg.args[0] == 1 and isinstance(original, sympy.Pow):
            bottom = mul(bottom, arg.args[1])
        else:
            top = mul(top, arg)
    return top if bottom == 1 else div(top, bottom)


def latex(expr: Expr | Matrix | Entries, named: bool | None = None, prefix: str = "x", name: str = "") -> str:
    """Write LaTeX, with intermediate variables when asked or when it is long.

    named  : True to name shared and long subexpressions, False never to,
             None to do so where the expression has over 120 operations
    prefix : of the names of the intermediate variables
    name   : LaTeX of what the expression is, to write name = expression
    """
    expr = _one_or_matrix(expr)
    if named is None:
        named = tree_size(expr) > READABLE
    if not named:
        return (f"{name} = " if name else "") + sympy_latex(to_sympy(expr))
    definitions, reduced = intermediates(expr, prefix)
    body = reduced[0] if isinstance(expr, Expr) else Matrix(expr.shape, reduced)
    lines = [f"{sympy_latex(to_sympy(s))} &= {sympy_latex(to_sympy(e))}" for s, e in definitions]
    lines.append(f"{name} &= {sympy_latex(to_sympy(body))}")
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def sympy_latex(expr: Any, **options: Any) -> str:
    """Write SymPy's LaTeX with decimals as short as they can be."""
    import sympy

    return str(sympy.latex(short_floats(expr), **options))


def short_floats(expr: Any) -> Any:
    """A SymPy expression that prints its decimals as Python does: 0.35, not 0.34999999999999998."""
    import sympy

    def short(x: Any) -> Any:
        text = repr(float(x))
        return sympy.Float(text, max(1, len(text.split("e")[0].replace("-", "").replace(".", "").lstrip("0"))))

    found = expr.atoms(sympy.Float)
    return expr.xreplace({x: short(x) for x in found}) if found else expr
