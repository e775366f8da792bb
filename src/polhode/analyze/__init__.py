"""What people ask of a model: whether its formulations agree, how it behaves near a state."""

from .check import Check, check
from .linear_model import LinearModel
from .linearize import linearize
from .modes import Modes

__all__ = ["Check", "LinearModel", "Modes", "check", "linearize"]
