"""Triangles as an image, by the nearest one at each pixel."""

from __future__ import annotations

import numpy as np

CHUNK = 2_000_000  # pixels that are tried at once
_NAME = np.uint64(0xFFFFFFFF)


def rastered(xy: np.ndarray, near: np.ndarray, colors: np.ndarray, width: int, height: int) -> np.ndarray:
    """Draw triangles; return red, green, blue and how much is covered, (height, width, 4) bytes, the lowest row first.

    xy     : corners in pixels, (n, 3, 2); near : larger where nearer and linear in the picture, (n, 3)
    colors : (n, 4) from 0 to 1; what is half seen is mixed with the nearest that is not
    """
    solid, half = (np.zeros(width * height, dtype=np.uint64) for _ in range(2))
    low, high = float(near.min()), float(near.max())
    levels = (near - low) / max(high - low, 1e-300)
    seen = colors[:, 3] > 0.999
    for buffer, which in ((solid, seen), (half, ~seen)):
        if which.any():
            _fill(buffer, np.flatnonzero(which), xy[which].astype(float), levels[which], width, height)
    paint = np.round(255 * np.clip(colors, 0, 1)).astype(np.uint8)
    image = np.zeros((width * height, 4), dtype=np.uint8)
    covered = np.flatnonzero(solid)
    image[covered] = paint[(solid[covered] & _NAME).astype(np.int64)]
    before = np.flatnonzero(half > solid)
    if len(before):
        over, under = colors[(half[before] & _NAME).astype(np.int64)], image[before] / 255.0
        a, b = over[:, 3:], under[:, 3:] * (1 - over[:, 3:])
        mixed = np.concatenate([(over[:, :3] * a + under[:, :3] * b) / np.maximum(a + b, 1e-9), a + b], axis=1)
        image[before] = np.round(255 * np.clip(mixed, 0, 1)).astype(np.uint8)
    return image.reshape(height, width, 4)


def _fill(buffer: np.ndarray, names: np.ndarray, xy: np.ndarray, levels: np.ndarray, width: int, height: int) -> None:
    """Keep, of each pixel, the highest level and whose it is: level in the upper 32 bits, name in the lower.

    Triangles are cut into rows, rows into pixels, all at once.
    """
    d, e = xy[:, 1] - xy[:, 0], xy[:, 2] - xy[:, 0]
    area = d[:, 0] * e[:, 1] - d[:, 1] * e[:, 0]
    low = np.clip(np.ceil(xy[:, :, 1].min(axis=1) - 0.5), 0, height).astype(np.int64)
    tall = np.clip(np.ceil(xy[:, :, 1].max(axis=1) - 0.5), 0, height).astype(np.int64) - low
    kept = (np.abs(area) > 1e-9) & (tall > 0) & np.isfinite(area)
    names, xy, levels, d, e, area, low, tall = (each[kept] for each in (names, xy, levels, d, e, area, low, tall))
    # level = slope . (x, y) + rest
    f, g = levels[:, 1] - levels[:, 0], levels[:, 2] - levels[:, 0]
    slope = np.stack([f * e[:, 1] - g * d[:, 1], g * d[:, 0] - f * e[:, 0]], axis=1) / area[:, None]
    rest = levels[:, 0] - np.einsum("ij,ij->i", slope, xy[:, 0])
    k, step = _counted(tall)
    y = low[k] + step
    left, right = np.full(len(k), np.inf), np.full(len(k), -np.inf)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        (px, py), (qx, qy) = xy[k, i].T, xy[k, j].T
        across = (y + 0.5 >= np.minimum(py, qy)) & (y + 0.5 < np.maximum(py, qy))
        with np.errstate(divide="ignore", invalid="ignore"):
            x = px + (y + 0.5 - py) / (qy - py) * (qx - px)
        left, right = np.where(across, np.minimum(left, x), left), np.where(across, np.maximum(right, x), right)
    some = right >= left
    k, y, left, right = k[some], y[some], left[some], right[some]
    first = np.clip(np.ceil(left - 0.5), 0, width).astype(np.int64)
    counts = np.maximum(np.clip(np.ceil(right - 0.5), 0, width).astype(np.int64) - first, 0)
    start = slope[k, 0] * (first + 0.5) + slope[k, 1] * (y + 0.5) + rest[k]
    ends = np.cumsum(counts)
    for chunk in np.split(
        np.arange(len(k)), np.searchsorted(ends, np.arange(CHUNK, ends[-1] if len(ends) else 0, CHUNK))
    ):
        row, step = _counted(counts[chunk])
        row = chunk[row]
        level = np.clip(start[row] + step * slope[k[row], 0], 0, 1)
        key = (1 + level * 4e9).astype(np.uint64) << np.uint64(32) | names[k[row]].astype(np.uint64)
        np.maximum.at(buffer, y[row] * width + first[row] + step, key)


def _counted(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each place as often as it counts, and how often it was there before: [2, 1] gives [0, 0, 1] and [0, 1, 0]."""
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
