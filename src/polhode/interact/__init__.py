"""Machines in real time: a loop with deadlines, what goes in and what comes out of it."""

from .realtime import Realtime, realtime
from .server import Server

__all__ = ["Realtime", "Server", "realtime"]
