"""Readers and writers: URDF, MJCF and Polhode's own TOML."""

from .files import load
from .toml_writer import save

__all__ = ["load", "save"]
