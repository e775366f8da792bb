"""Identifiers for generated source, whatever the user's names look like."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

_TAKEN = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "bool",
        "complex",
        "imaginary",
        "main",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan2",
        "exp",
        "log",
        "tanh",
        "sqrt",
        "fabs",
        "pow",
        "abs",
        "y0",
        "y1",
        "yn",
        "j0",
        "j1",
        "jn",
        "gamma",
    ]
)  # words of C, and names of its mathematics library


class Names:
    """Hands out identifiers that clash with no other and no keyword."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken, *_TAKEN, *keyword.kwlist}
        self._counts: dict[str, int] = {}

    def fresh(self, wish: str, number: bool = False) -> str:
        """An identifier close to the wish; with `number`, the wish and a count."""
        stem = re.sub(r"[^A-Za-z0-9_]", "_", wish)
        if not re.match(r"[A-Za-z]", stem):
            stem = f"v{stem}"
        name = stem
        while number or name in self._taken:
            self._counts[stem] = self._counts.get(stem, 0) + 1
            name = f"{stem}{self._counts[stem]}" if number else f"{stem}_{self._counts[stem]}"
            if name not in self._taken:
                break
        self._taken.add(name)
        return name

    @staticmethod
    def comment(text: str) -> str:
        """Text that cannot end a comment or a docstring, nor escape a line."""
        return re.sub(r"[^A-Za-z0-9_ ,.()\[\]<>:=+-]", "_", text)
