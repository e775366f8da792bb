"""Readers and writers: URDF, MJCF and Polhode's own TOML."""

from .load import load

__all__ = ["load"]
