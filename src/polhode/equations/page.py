"""LaTeX that fits a page: how wide a formula is, and where it breaks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|\s+|.", re.DOTALL)
MARKS = {r"\dot", r"\ddot", r"\mathbf", r"\boldsymbol", r"\mathrm", r"\hat"}  # which take no room of their own
FENCES = {r"\left", r"\right", r"\bigl", r"\bigr"}
SPACES = {r"\quad": 1.0, r"\qquad": 2.0, r"\,": 0.17, r"\;": 0.28, r"\ ": 0.33}
WIDE = {"m": 0.88, "w": 0.72, "M": 0.97, "W": 0.94, "+": 1.22, "-": 1.22, "=": 1.33, ",": 0.44, "(": 0.4, ")": 0.4}
COMMAND, CAPITAL, LETTER = 0.6, 0.72, 0.52  # em, of one Greek letter, A and a in Computer Modern
SHORT = 6.0  # em, of what stands before a sign
INDENT = 2.0  # em, of a line that goes on


def width(tex: str) -> float:
    """How wide a formula is, in em: an estimate, seldom below what TeX makes of it."""
    return _Width(TOKEN.findall(tex)).rest()


class _Width:
    """Reads a formula from left to right."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = [t for t in tokens if not t.isspace()], 0

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def rest(self, ends: tuple[str, ...] = ("",)) -> float:
        total = 0.0
        while (token := self.take()) not in (*ends, ""):
            total += self.one(token)
        self.last = token
        return total

    def group(self) -> float:
        token = self.take()
        return self.rest(("}",)) if token == "{" else self.one(token)

    def one(self, token: str) -> float:
        if token == "{":
            return self.rest(("}",))
        if token in ("_", "^"):
            return 0.7 * self.group()
        if token == r"\frac":
            return max(self.group(), self.group()) + 0.24
        if token == r"\sqrt":
            return self.group() + 0.9
        if token in MARKS:
            return self.group()
        if token == r"\begin":
            return self.table()
        if token == r"\text":
            return self.group()
        if token in FENCES or token in ("&", r"\displaystyle"):
            return 0.0
        if token in SPACES:
            return SPACES[token]
        if token[0] == "\\" and token[1:].isalpha():
            named = token[1:] in ("sin", "cos", "tan", "log", "exp", "operatorname", "asin", "acos", "atan")
            return 0.5 * len(token[1:]) + 0.17 if named else COMMAND
        return WIDE.get(token, CAPITAL if token.isupper() else LETTER)

    def table(self) -> float:
        r"""A \begin{matrix} or its like: its widest entries and what is between them."""
        self.group()
        columns: list[float] = []
        k = 0
        while True:
            entry = self.rest(("&", r"\\", r"\end"))
            columns += [0.0] * (k + 1 - len(columns))
            columns[k] = max(columns[k], entry)
            if self.last == "&":
                k += 1
            elif self.last == r"\\":
                k = 0
            else:
                break
        self.group()
        return sum(columns) + len(columns)


def pieces(tex: str) -> list[str]:
    """The terms of a sum, also of one in parentheses, which then no longer grow with what they hold."""
    found, depth, fence, whole = [""], 0, 0, ""
    tokens = TOKEN.findall(tex)
    for k, read in enumerate(tokens):
        token = read
        depth += {"{": 1, "}": -1}.get(token, 0)
        if depth == 0 and token in (r"\left", r"\right"):
            token = r"\bigl" if token == r"\left" else r"\bigr"
        if depth == 0 and token in ("+", "-") and whole.strip() and tokens[k - 1].isspace():
            fence = max(fence, whole.count(r"\bigl") - whole.count(r"\bigr"))
            found.append("")
        found[-1] += token
        whole += token
    return found if fence else [part.replace(r"\bigl", r"\left").replace(r"\bigr", r"\right") for part in found]


def broken(left: str, right: str, room: float) -> list[str]:
    """left &= right as lines of an aligned formula, broken before + and - where it is wider than `room`."""
    if width(left) + width(right) + 1.3 <= room:
        return [f"{left} &= {right}"]
    lines, used = [f"{left} &="], width(left) + 1.3
    for k, part in enumerate(pieces(right)):
        if k and used + width(part) > room:
            lines.append(r"&\quad {}")
            used = width(left) + 1.3 + INDENT
        lines[-1] += f" {part.strip()}"
        used += width(part)
    return lines


def sides(line: str) -> tuple[float, float]:
    """How wide a line is before and behind the sign at which lines are aligned."""
    left, found, right = ("", "&", line) if line.startswith("&") else line.partition("&=")
    return width(left), width(right) + 1.3 * (found == "&=")


def aligned(lines: Sequence[str], room: float) -> list[str]:
    """The same lines, or where together they are too wide, those with much before the sign moved to where it is."""
    left, right = (max(side) for side in zip(*map(sides, lines), strict=True))
    if left + right <= room:
        return [*lines]
    return [f"& {line.replace('&=', '=', 1)}" if sides(line)[0] > SHORT else line for line in lines]


def packed(definitions: Iterable[tuple[str, str]], room: float) -> list[str]:
    """Short definitions beside one another, long ones broken."""
    lines: list[str] = []
    used = room
    for left, right in definitions:
        needed = width(left) + width(right) + 1.3
        if lines and used + needed + 1.4 <= room:
            lines[-1] += rf", \quad {left} = {right}"
            used += needed + 1.4
        else:
            lines += broken(left, right, room)
            used = needed if needed <= room else room
    return lines
