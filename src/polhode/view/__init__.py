"""Pictures of a motion: figures, a page that plays it, films."""

from .animate import as_json, filled, page, save, scene_data
from .layout import build
from .optional import needed
from .plot import Curve, figure
from .scene import Scene, Shape, Tie
from .target import FIGURES, FILMS, for_animation, for_figure, placed

__all__ = [
    "FIGURES",
    "FILMS",
    "Curve",
    "Scene",
    "Shape",
    "Tie",
    "as_json",
    "build",
    "figure",
    "filled",
    "for_animation",
    "for_figure",
    "needed",
    "page",
    "placed",
    "save",
    "scene_data",
]
