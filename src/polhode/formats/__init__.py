"""Readers and writers: URDF, SDFormat, MJCF and Polhode's own TOML; matrices of CalculiX, flexible bodies as arrays."""

from .calculix import load_calculix
from .files import load
from .npz import load_flexible, save_flexible
from .toml_writer import save

__all__ = ["load", "load_calculix", "load_flexible", "save", "save_flexible"]
