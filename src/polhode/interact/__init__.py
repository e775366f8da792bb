"""Machines in real time: a loop with deadlines, what goes in and what comes out of it."""

from .lateness import Lateness
from .realtime import Realtime, Session, State, realtime, replay

__all__ = ["Lateness", "Realtime", "Session", "State", "realtime", "replay"]
