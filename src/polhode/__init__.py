"""Dynamics of machines, as a pipeline of stages:

graph    scalar expressions as one shared graph, with derivatives and matrices
compile  expressions to native code, C99 or NumPy
"""

__version__ = "0.1.0"
