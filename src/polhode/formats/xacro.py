"""URDF written in xacro, expanded by the package of that name where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from polhode.model import ModelError


def expanded(path: Path, arguments: Mapping[str, object]) -> str:
    """The plain text of a .xacro file.

    xacro evaluates expressions of the file as Python, restricted by itself: load only files that you trust.
    """
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        raise TypeError(f'xacro is {arguments!r:.60}, expected arguments by their names: {{"arm": "left"}}.')
    try:
        xacro = import_module("xacro")
    except ImportError:
        raise ModelError(
            [
                "this is xacro, which the package of that name expands. Install it: pip install xacro, or "
                'pip install "polhode[xacro]".'
            ],
            str(path),
        ) from None
    given = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in arguments.items()}
    try:
        return str(xacro.process_file(str(path), mappings=given).toxml())
    except (Exception, SystemExit) as error:  # of any kind, from expressions of the file
        said = " ".join(str(error).split()) or type(error).__name__
        raise ModelError([f"xacro cannot expand it: {said:.300}."], str(path)) from None
