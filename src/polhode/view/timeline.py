"""What happened when, on figures: thin lines at events, and a strip of what every constraint did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Bands = Mapping[str, Sequence[tuple[float, float, str]]]  # from when to when each did what

_LINE = "#aab3bd"
_IDLE, _HOLDS, _SLIDES = "#edf0f3", "#7fa3d1", "#efb183"
_COLORS = {"open": _IDLE, "released": _IDLE, "slides": _SLIDES, "slips": _SLIDES, "upper": "#8fc3a8"}


def color_of(word: str) -> str:
    """Of a piece of a band."""
    return _COLORS.get(word, _HOLDS)


MOST_BANDS = 10  # in one strip
_NARROW = 0.012  # of the width: closer labels would cover each other
_WORD = 0.062  # inches, that a letter takes
_TALL = 0.028  # of the height of a panel, that a letter of an event takes
MANY = 12  # words that have room, beyond which each is said once


def draw_lines(ax: Any, t: np.ndarray, events: Sequence[tuple[float, str]], labelled: bool) -> None:
    """Mark events by thin lines, fainter the more there are; with a word at each that has room for it.

    Words stand above the curves, for which the panel is made higher; of many events, each word once.
    """
    faint = min(1.0, 25 / max(len(events), 1)) ** 0.5
    for time, _ in events:
        ax.axvline(time, color=_LINE, lw=0.7, alpha=faint, zorder=0.9)
    span, last = float(t[-1] - t[0]) or 1.0, -float("inf")
    words: dict[float, str] = {}
    for time, text in events if labelled else ():
        if (time - last) / span >= 2 * _NARROW:
            words[time], last = text, time
    if len(words) > MANY:
        words = _first_of_each(events, 2 * _NARROW * span)
    if words:
        share = min(0.5, 0.05 + _TALL * max(len(_short(text)) for text in words.values()))
        low, high = ax.get_ylim()
        ax.set_ylim(low, low + (high - low) / (1 - share))
    for time, text in words.items():
        side = "left" if (time - t[0]) / span < 2 * _NARROW else "right"  # within the panel
        ax.text(
            time, 0.985, f" {_short(text)}", transform=ax.get_xaxis_transform(), rotation=90, ha=side, va="top",
            fontsize=6, color="#7a848f", parse_math=False, zorder=0.95, clip_on=True,
        )  # fmt: skip


def _first_of_each(events: Sequence[tuple[float, str]], room: float) -> dict[float, str]:
    """Each word once, by the time of an event that has room for it."""
    found: dict[float, str] = {}
    last = -float("inf")
    for time, text in events:
        if time - last >= room and text not in found.values():
            found[time], last = text, time
    return found


def draw_bands(ax: Any, t: np.ndarray, bands: Bands, wide: float, first: bool = True, last: bool = True) -> None:
    """Draw a bar for each constraint, in pieces coloured by what it did, with words where they fit.

    wide        : about how wide it is, inches
    first, last : of several next to each other, below columns of panels: names stand at the first, colours at the last
    """
    shown = dict(list(bands.items())[:MOST_BANDS])
    span = float(t[-1] - t[0]) or 1.0
    for row, (_, pieces) in enumerate(shown.items()):
        for start, end, word in pieces:
            color = color_of(word)
            ax.barh(row, end - start, left=start, height=0.72, color=color, lw=0.8, edgecolor="white", zorder=2)
            if (end - start) / span * wide > _WORD * (len(word) + 2):
                ax.text((start + end) / 2, row, word, ha="center", va="center", fontsize=7, color="#2a3038", zorder=3)
    left_out = len(bands) - len(shown)
    if first:
        ax.set_title("What holds" + (f", without {left_out} more" if left_out else ""), color="#2a3038")
    ax.set_yticks(range(len(shown)), [_short(name) if first else "" for name in shown])
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.grid(visible=False)
    ax.spines["left"].set_visible(False)
    if not last:
        return
    words = list(dict.fromkeys(word for pieces in shown.values() for _, _, word in pieces))
    alike: dict[str, list[str]] = {}
    for word in words:
        alike.setdefault(_COLORS.get(word, _HOLDS), []).append(word)
    handles = [ax.barh(0, 0, color=color, label=", ".join(these)) for color, these in alike.items()]
    ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.015, 0.5), handlelength=0.9)


def height(bands: Bands) -> float:
    """Of the strip, by that of a panel of curves."""
    return 0.26 + 0.13 * max(min(len(bands), MOST_BANDS), 1)


def _short(name: str, most: int = 18) -> str:
    name = name.replace("$", r"\$")
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most // 2 - 1) :]}"
