"""Machines in real time: a loop with deadlines, what goes in and what comes out of it, a hand on it, and its pages."""

from .coupler import Coupler, coupler
from .devices import Scripted
from .exported import export
from .lateness import Lateness
from .link import Link
from .passivity import Passivity
from .realtime import Realtime, Session, State, realtime, replay
from .sample import Device, Sample
from .server import Server
from .stiffness import CouplerWarning, Stiffness, effective_mass, suggest
from .udp import Driver, Udp

__all__ = [
    "Coupler",
    "CouplerWarning",
    "Device",
    "Driver",
    "Lateness",
    "Link",
    "Passivity",
    "Realtime",
    "Sample",
    "Scripted",
    "Server",
    "Session",
    "State",
    "Stiffness",
    "Udp",
    "coupler",
    "effective_mass",
    "export",
    "realtime",
    "replay",
    "suggest",
]
