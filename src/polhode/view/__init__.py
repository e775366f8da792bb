"""Pictures of a motion: figures, a page that plays it, films."""

from .animate import page, save
from .layout import build
from .optional import needed
from .plot import Curve, figure
from .scene import Scene
from .target import FILMS, for_animation, for_figure, placed

__all__ = [
    "FILMS",
    "Curve",
    "Scene",
    "build",
    "figure",
    "for_animation",
    "for_figure",
    "needed",
    "page",
    "placed",
    "save",
]
