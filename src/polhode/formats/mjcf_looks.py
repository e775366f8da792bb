"""What MJCF bodies look like: geoms as shapes of the bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polhode.model import Builder, Faults, ModelError
from polhode.model.errors import listed
from polhode.spatial import Mesh, Pose

from .looks import add_mesh, hexadecimal, placed
from .mjcf_frames import read_pose
from .mjcf_inertia import SIZES, fit_or_shape
from .mjcf_meshes import Assets, is_there
from .mjcf_text import Settings
from .xml import Element, to_number

MOST = 5000  # shapes of one model
SHOWN, GROUPS = 3, 6  # groups that MuJoCo shows at first, from 0 on; of how many
GREY = "#808080"  # of geoms without a colour


def add_looks(
    root: Element,
    geoms: Sequence[tuple[tuple[Element, str], Pose]],
    settings: Settings,
    assets: Assets,
    builder: Builder,
) -> None:
    """Add the geoms that can be seen; grounds, hidden groups and what is transparent are left out."""
    colors = {e.get("name"): e.get("rgba") for section in root.all("asset") for e in section.all("material")}
    missing: dict[str, None] = {}
    count = 0
    drawn = [(each, X_BF, _color(each[0], colors)) for each, X_BF in geoms]
    drawn = [row for row in drawn if row[2] and _kind(row[0][0]) in ("mesh", *SIZES)]
    shown = _shown([each for each, _, _ in drawn])
    for (element, body), X_BF, seen in drawn:
        kind = _kind(element)
        if _group(element) >= shown:
            continue
        count += 1
        if count > MOST:
            builder.note(f"Of the geoms, the first {MOST} are drawn.")
            break
        faults = Faults()
        try:
            if kind == "mesh":
                _mesh(element, body, X_BF, seen, settings, assets, builder)
                continue
            size, X = fit_or_shape(element, kind, "geom", settings, assets, faults)
        except ModelError:
            missing[element.get("mesh") or ""] = None
            continue
        if not faults.found:
            X = X_BF @ X
            name, scale = _primitive(kind, [float(e) for e in size])
            add_mesh(builder, body, name, placed(X.p, X.R, scale), seen)
    if missing:
        is_not = "Meshes {} are" if len(missing) > 1 else "Mesh {} is"
        builder.note(f"{is_not.format(listed(list(missing), most=3))} not there, or not to be read, and not drawn.")


def _kind(element: Element) -> str:
    return element.get("type") or "sphere"


def _group(element: Element) -> float:
    return float(to_number(element.get("group") or "0") or 0)


def _shown(geoms: Sequence[tuple[Element, str]]) -> float:
    """The groups below which geoms are drawn: more of them where less than half of the bodies would be seen."""
    bodies = {body for _, body in geoms}
    for most in range(SHOWN, GROUPS):
        if 2 * len({body for element, body in geoms if _group(element) < most}) >= len(bodies):
            return most
    return GROUPS


def _mesh(
    element: Element, body: str, X_BF: Pose, color: str, settings: Settings, assets: Assets, builder: Builder
) -> None:
    """A mesh where the file has it: MuJoCo moves its frame to the centre, and the geom with it."""
    asset, faults = assets.asset(element.get("mesh") or ""), Faults()
    if asset.path is not None and not is_there(asset.path):
        raise ModelError(["there is no such file."])
    surface: Mesh | str = assets.surface(asset) if asset.path is None else str(asset.path)
    X = X_BF @ read_pose(element, "geom", settings, faults)
    faults.raise_any()
    corners = np.array([[0, 0, 0], *np.eye(3)]) @ asset.affine[:3, :3].T + asset.affine[:3, 3]
    R = np.array([[float(e) for e in row] for row in X.R.rows()])
    add_mesh(builder, body, surface, corners @ R.T + [float(e) for e in X.p], color)


def _primitive(kind: str, size: list[float]) -> tuple[str, list[float]]:
    """A mesh that needs no file, and its scale."""
    if kind == "box":
        return "box", [2 * e for e in size]
    if kind in ("sphere", "ellipsoid"):
        return "sphere", size * 3 if kind == "sphere" else size
    return kind, [size[0], size[0], 2 * size[1]]


def _color(element: Element, colors: dict[str | None, str | None]) -> str:
    """The colour of a geom, "" where nothing of it is seen."""
    words = element.get("rgba")
    if words is None and element.get("material") is not None:
        words = colors.get(element.get("material"))
    if words is None:
        return GREY
    parts = words.split()
    return "" if len(parts) == 4 and to_number(parts[3]) == 0 else hexadecimal(words) or GREY
