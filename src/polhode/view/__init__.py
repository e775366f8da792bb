"""Pictures of a motion: figures, a page that plays it, films."""

from .animate import FILMS, page, save
from .layout import build
from .optional import needed
from .plot import Curve, figure
from .scene import Scene

__all__ = ["FILMS", "Curve", "Scene", "build", "figure", "needed", "page", "save"]
