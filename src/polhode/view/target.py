"""Where a picture can be written: a name of a known kind, a folder that exists, the program it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .optional import needed

FIGURES = (".png", ".svg", ".pdf", ".jpg")
PAGES = (".html", ".htm")
FILMS = (".gif", ".mp4")


def placed(path: Any) -> Path:
    """The path of a file whose folder exists."""
    found = Path(path)
    if not found.parent.is_dir():
        raise FileNotFoundError(f"{found}: there is no folder {str(found.parent)!r}. Make it, or name another.")
    if found.is_dir():
        raise IsADirectoryError(f"{found}: this is a folder, expected the name of a file.")
    return found


def for_figure(path: Any) -> Path:
    """The path of a figure that can be written."""
    needed("matplotlib", "plot", "A plot")
    return placed(_ends(path, FIGURES))


def for_animation(path: Any) -> Path:
    """The path of a page or a film that can be written."""
    found = placed(_ends(path, (*PAGES, *FILMS)))
    if found.suffix.lower() in FILMS:
        writers = needed("matplotlib.animation", "plot", "A film")
        if found.suffix.lower() == ".mp4" and not writers.FFMpegWriter.isAvailable():
            raise FileNotFoundError(
                f"{found}: ffmpeg is not installed, and writes MP4. Install it, or write .gif or .html."
            )
    return found


def _ends(path: Any, endings: tuple[str, ...]) -> Path:
    found = Path(path)
    if found.suffix.lower() not in endings:
        raise ValueError(f"{found}: expected a name that ends in {', '.join(endings)}.")
    return found
