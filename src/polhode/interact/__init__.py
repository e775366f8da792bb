"""Machines in real time: a loop with deadlines, what goes in and what comes out of it, a hand on it, and its pages."""

from .admittance import Admittance, AdmittanceLink, Moved, admittance
from .ahead import Foreseen, Foresight
from .coupler import Coupler, coupler
from .devices import Scripted
from .evdev import Evdev
from .exported import export
from .inverse3 import Inverse3
from .lateness import Lateness
from .link import Link
from .loop import Realtime, State
from .notebook import Inline, show
from .passivity import Passivity
from .placed import Placed
from .realtime import realtime
from .replaying import replay
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
    "Evdev",
    "Foreseen",
    "Foresight",
    "Inline",
    "Inverse3",
    "Lateness",
    "Link",
    "Moved",
    "Passivity",
    "Placed",
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
    "show",
    "suggest",
]
