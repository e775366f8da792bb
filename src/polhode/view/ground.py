"""The ground below a machine: how high it is, its relief as patches, and where feet that yield press on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polhode.compile import compile
from polhode.graph import Expr, substitute, symbol, topological, vector
from polhode.model import CompliantContact, Contact, Model

from .scene import Spans

if TYPE_CHECKING:
    from .layout import _Layout

PATCHES = 1500  # most pieces of a relief


def contacts(model: Model) -> list[Contact | CompliantContact]:
    """All that touches a ground, rigid or not."""
    return [part for part in (*model.constraints, *model.forces) if isinstance(part, Contact | CompliantContact)]


def level(layout: _Layout, U: np.ndarray) -> float | None:
    """The height of the ground that something may touch, where it is level and belongs to the world."""
    for contact in contacts(layout.model):
        body, X = layout.frame(contact.ground)
        if body == 0 and (U @ X[:3, 2])[2] > 1 - 1e-9:
            return float((U @ X[:3, 3])[2])
    return None


def draw(layout: _Layout) -> None:
    """Add the patches of reliefs, and a pin for every point while it presses on ground that yields.

    What is rigid has its pins from the mode of a run.
    """
    feet: dict[tuple[str, Expr], list[np.ndarray]] = {}
    for c in contacts(layout.model):
        if c.shape != "point" or (isinstance(c, Contact) and c.relief is None):
            continue
        (body, X), (ground, Y) = layout.frame(c.marker), layout.frame(c.ground)
        X_GM = np.linalg.inv(layout.true[:, ground] @ Y) @ layout.true[:, body] @ X
        place = X_GM[:, :3, 3]
        heights = np.zeros(len(place))
        if c.relief is not None:
            heights = heights_of(c.relief, place[:, :2], layout)
            feet.setdefault((c.ground, c.relief), []).append(place)
        if isinstance(c, CompliantContact):
            acts = _spans(layout.t, place[:, 2] < heights)
            layout.add("pin", body, X, 0.016 * layout.thick, role="accent", when=acts)
    for (marker, relief), places in feet.items():
        _patches(layout, marker, relief, np.concatenate(places))


def heights_of(relief: Expr, places: np.ndarray, layout: _Layout) -> np.ndarray:
    """A relief at places (n, 2)."""
    at = vector([symbol("x"), symbol("y")])
    known = {s: e for s, e in layout.values.items() if s not in (at[0], at[1])}
    height = compile([at], vector([substitute(relief, known)]), target="numpy")
    found: np.ndarray = height(np.ascontiguousarray(places))[:, 0]
    return found


def _patches(layout: _Layout, marker: str, relief: Expr, feet: np.ndarray) -> None:
    """The relief around where feet went, as squares; not where it is level with its plane."""
    body, X = layout.frame(marker)
    margin = 0.3 * layout.size
    low, high = feet[:, :2].min(axis=0) - margin, feet[:, :2].max(axis=0) + margin
    cell = float(np.sqrt(np.prod(high - low) / PATCHES))
    ticks = (np.linspace(a, b, max(2, round((b - a) / cell) + 1)) for a, b in zip(low, high, strict=True))
    xs, ys = (_cut(each, edges(relief, s), 1e-6 * layout.size) for each, s in zip(ticks, "xy", strict=True))
    x, y = np.meshgrid(xs, ys, indexing="ij")
    flat = np.stack([x.ravel(), y.ravel()], axis=1)
    points = np.column_stack([flat, heights_of(relief, flat, layout)]).reshape(*x.shape, 3)
    world = points @ X[:3, :3].T + X[:3, 3]
    for i in range(len(xs) - 1):
        for j in range(len(ys) - 1):
            corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            if any(abs(points[k][2]) > 1e-6 * layout.size for k in corners):
                layout.patch(body, np.array([world[k] for k in corners]))


def edges(relief: Expr, name: str) -> list[float]:
    """Numbers that x or y is compared with in a relief: where it may jump."""
    s, found = symbol(name), set()
    for e in topological([relief]):
        if e.op in ("lt", "le") and s in e.args:
            found |= {float(arg.number) for arg in e.args if arg.number is not None}
    return sorted(found)


def _cut(ticks: np.ndarray, at: list[float], tiny: float) -> np.ndarray:
    """Lines of a grid, with two close to each place where the ground may jump, and none near these."""
    inside = [c for c in at if ticks[0] < c < ticks[-1]]
    apart = 0.3 * (ticks[1] - ticks[0])
    kept = [x for x in ticks.tolist() if all(abs(x - c) > apart for c in inside)]
    return np.array(sorted([*kept, *(c + side * tiny for c in inside for side in (-1, 1))]))


def _spans(t: np.ndarray, acts: np.ndarray) -> Spans:
    """From when to when something is true at frames."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], acts.astype(int), [0]])))
    return tuple((float(t[a]), float(t[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True))
