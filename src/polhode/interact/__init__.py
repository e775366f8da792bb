"""Machines in real time: a loop with deadlines, what goes in and what comes out of it."""

from .page import export
from .realtime import Realtime, realtime

__all__ = ["Realtime", "export", "realtime"]
