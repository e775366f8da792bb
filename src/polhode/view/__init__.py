"""Pictures of a motion: figures, a page that plays it, films."""

from .animate import as_json, filled, page, save, scene_data
from .frames import Frames
from .layout import build, build_live
from .optional import needed
from .plot import Curve, figure, phase_figure
from .scene import Scene, Shape, Tie
from .target import FIGURES, FILMS, for_animation, for_figure, placed

__all__ = [
    "FIGURES",
    "FILMS",
    "Curve",
    "Frames",
    "Scene",
    "Shape",
    "Tie",
    "as_json",
    "build",
    "build_live",
    "figure",
    "filled",
    "for_animation",
    "for_figure",
    "needed",
    "page",
    "phase_figure",
    "placed",
    "save",
    "scene_data",
]
