"""What people ask of a model: whether its formulations agree."""

from .check import Check, check

__all__ = ["Check", "check"]
