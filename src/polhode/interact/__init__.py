"""Machines in real time: a loop with deadlines, what goes in and what comes out of it, a hand on it, and its pages."""

from .admittance import Admittance, AdmittanceLink, Moved, admittance
from .coupler import Coupler, coupler
from .devices import Scripted
from .exported import export
from .lateness import Lateness
from .link import Link
from .passivity import Passivity
from .realtime import Realtime, State, realtime, replay
from .sample import Device, Sample
from .server import Server
from .session import Session
from .slow import Pushed, Smoothed
from .stiffness import CouplerWarning, Stiffness, effective_mass, suggest
from .udp import Driver, Udp

__all__ = [
    "Admittance",
    "AdmittanceLink",
    "Coupler",
    "CouplerWarning",
    "Device",
    "Driver",
    "Lateness",
    "Link",
    "Moved",
    "Passivity",
    "Pushed",
    "Realtime",
    "Sample",
    "Scripted",
    "Server",
    "Session",
    "Smoothed",
    "State",
    "Stiffness",
    "Udp",
    "admittance",
    "coupler",
    "effective_mass",
    "export",
    "realtime",
    "replay",
    "suggest",
]
