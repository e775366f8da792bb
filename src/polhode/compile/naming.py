"""Identifiers for generated source, whatever the user's names look like."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from itertools import chain, count

_TAKEN = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    bool complex imaginary main sin cos tan asin acos atan2 exp log tanh sqrt fabs pow abs y0 y1 yn j0 j1 jn gamma
    """.split()  # words of C, and names of its mathematics library
)


class Names:
    """Hands out identifiers that clash with no other and no keyword.

    reserved : a pattern of names that the generated source keeps for itself
    """

    def __init__(self, taken: Iterable[str] = (), reserved: str = "") -> None:
        self._taken = {*taken, *_TAKEN, *keyword.kwlist}
        self._reserved = re.compile(reserved)

    def fresh(self, wish: str) -> str:
        """An identifier close to the wish."""
        stem = re.sub(r"[^A-Za-z0-9_]", "_", wish)
        if not re.match(r"[A-Za-z]", stem):
            stem = f"v{stem}"
        candidates = chain([stem], (f"{stem}_{k}" for k in count(2)))
        name = next(c for c in candidates if c not in self._taken and not self._reserved.fullmatch(c))
        self._taken.add(name)
        return name


def comment(text: str) -> str:
    """Text that cannot end a comment or a docstring, nor leave its line."""
    return re.sub(r"[^A-Za-z0-9_ ,.()\[\]<>:=+-]", "_", text)
