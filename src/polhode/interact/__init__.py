"""Machines in real time: a loop with deadlines, what goes in and what comes out of it, and a hand on it."""

from .admittance import Admittance, AdmittanceLink, Moved, admittance
from .coupler import Coupler, coupler
from .devices import Scripted
from .link import Link
from .passivity import Passivity
from .realtime import Realtime, realtime
from .sample import Device, Sample
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
    "Link",
    "Moved",
    "Passivity",
    "Pushed",
    "Realtime",
    "Sample",
    "Scripted",
    "Smoothed",
    "Stiffness",
    "Udp",
    "admittance",
    "coupler",
    "effective_mass",
    "realtime",
    "suggest",
]
