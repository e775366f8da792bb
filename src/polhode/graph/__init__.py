"""Scalar expressions as one hash-consed graph, with vectors and matrices of them.

>>> from polhode.graph import symbols, sin, cos, diff
>>> m, L, q = symbols("m L q")
>>> energy = m * L**2 * (sin(q) ** 2 + cos(q) ** 2) / 2
>>> energy
L**2*m/2
>>> diff(energy, L)
L*m
"""

from .node import Constant, Expr, as_expr, const, node_count, symbol, symbols  # isort: skip
from .calculus import diff, diff_along, gradient, jacobian
from .evaluate import evaluate
from .functions import (
    absolute,
    acos,
    asin,
    atan,
    atan2,
    cos,
    equal,
    exp,
    less,
    less_equal,
    log,
    maximum,
    minimum,
    pi,
    select,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
)
from .linear import LDL, inverse, solve
from .matrix import Matrix, as_matrix, cross, identity, matrix, mirrored, vector, vector_of, zeros
from .printing import intermediates, tree_size
from .tidy import tidy
from .views import from_sympy, latex, to_sympy
from .walk import free_symbols, op_counts, substitute, topological

__all__ = [
    "LDL",
    "Constant",
    "Expr",
    "Matrix",
    "absolute",
    "acos",
    "as_expr",
    "as_matrix",
    "asin",
    "atan",
    "atan2",
    "const",
    "cos",
    "cross",
    "diff",
    "diff_along",
    "equal",
    "evaluate",
    "exp",
    "free_symbols",
    "from_sympy",
    "gradient",
    "identity",
    "intermediates",
    "inverse",
    "jacobian",
    "latex",
    "less",
    "less_equal",
    "log",
    "matrix",
    "maximum",
    "minimum",
    "mirrored",
    "node_count",
    "op_counts",
    "pi",
    "select",
    "sign",
    "sin",
    "solve",
    "sqrt",
    "substitute",
    "symbol",
    "symbols",
    "tan",
    "tanh",
    "tidy",
    "to_sympy",
    "topological",
    "tree_size",
    "vector",
    "vector_of",
    "zeros",
]
