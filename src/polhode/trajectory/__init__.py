"""What a run leaves behind: states by name, energies, files, pictures."""

from .events import Event, Events
from .outcome import Outcome
from .trajectory import Trajectory

__all__ = ["Event", "Events", "Outcome", "Trajectory"]
