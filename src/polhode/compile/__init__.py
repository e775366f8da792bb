"""Expressions to functions: native code through LLVM, C99 source, NumPy or JavaScript.

>>> from polhode.graph import cos, sin, symbols, vector
>>> from polhode.compile import compile
>>> q, L = symbols("q L")
>>> tip = compile([q, L], vector([L * cos(q), L * sin(q)]), name="tip")
>>> tip(0.0, 2.0)
array([2., 0.])
"""

from .function import Function, compile
from .signature import Port, Signature

__all__ = ["Function", "Port", "Signature", "compile"]
