"""Loops over native code, compiled once for every model: constraints, integrators."""
