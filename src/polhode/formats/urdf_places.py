"""Where the files that a URDF or SDFormat names are: package:// and file:// and beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

PATHS = ("ROS_PACKAGE_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")


class Places:
    """Finds files by the names that a robot has for them.

    file     : the robot's own
    packages : folders in which packages lie

    A package is looked for in these folders, then in those above the file, by its name, by what its package.xml
    is called, or in share/ of them, then in those of ROS_PACKAGE_PATH and of Gazebo's variables.
    """

    def __init__(self, file: Path | None, packages: Iterable[str | Path] = ()) -> None:
        if isinstance(packages, str | Path):
            raise TypeError(f"packages is {str(packages)!r:.60}, expected a list of folders: [{str(packages)!r:.60}].")
        self.folder = None if file is None else file.absolute().parent
        self.given = [Path(each) for each in packages]
        self._known: dict[str, list[Path]] = {}

    def find(self, name: str) -> Path | None:
        """The file of that name, None where it is not there."""
        if "\0" in name:
            return None
        for path in self._candidates(name):
            try:
                if path.is_file():
                    return path
            except (OSError, ValueError):
                continue
        return None

    def _candidates(self, name: str) -> list[Path]:
        scheme, apart, rest = name.partition("://")
        if not apart:
            return [Path(name)] if self.folder is None else [self.folder / name]
        rest = unquote(rest)
        if scheme == "file":
            return [Path(rest)]
        if scheme not in ("package", "model"):
            return []
        package, _, inside = rest.lstrip("/").partition("/")
        if package not in self._known:
            self._known[package] = self._packages(package)
        return [folder / inside for folder in self._known[package]]

    def _packages(self, package: str) -> list[Path]:
        """Every folder that may be the package, the likeliest first."""
        above = [] if self.folder is None else [self.folder, *self.folder.parents]
        listed = [Path(each) for name in PATHS for each in os.environ.get(name, "").split(os.pathsep) if each]
        found = [folder for root in self.given for folder in (root / package, root)]
        for root in above:
            if root.name == package or _called(root) == package:
                found.append(root)
            found += [root / package, root / "share" / package]
        found += [folder for root in listed for folder in (root / package, root)]
        return [folder for folder in dict.fromkeys(found) if folder.is_dir()]


def _called(folder: Path) -> str:
    """The name that the package.xml of a folder gives it, "" if there is none."""
    try:
        text = (folder / "package.xml").read_text(encoding="utf-8", errors="replace")[:100_000]
    except (OSError, ValueError):
        return ""
    _, _, rest = text.partition("<name>")
    return rest.partition("</name>")[0].strip()
