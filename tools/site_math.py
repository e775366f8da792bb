"""Formulas of the documents, written in a little of LaTeX, as MathML, which browsers draw without a script."""

from __future__ import annotations

import re
from html import escape

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|\d+(?:\.\d+)?|.", re.DOTALL)
GREEK = dict(
    zip(
        ("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega "
         "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega").split(),
        "αβγδεζηθικλμνξπρστϕχψωΓΔΘΛΞΠΣΦΨΩ", strict=True,
    )
)  # fmt: skip
SIGNS = {
    "cdot": "·", "times": "×", "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "partial": "∂", "int": "∫", "sum": "∑",
    "top": "⊤", "infty": "∞", "pm": "±", "to": "→", "in": "∈", "ldots": "…", "vdots": "⋮", "ddots": "⋱", "sim": "∼",
}  # fmt: skip
FUNCTIONS = {"sin", "cos", "tan", "log", "exp", "min", "max", "det", "rank", "asin", "acos", "atan"}
ACCENTS = {"dot": "˙", "ddot": "¨", "hat": "^", "bar": "¯", "tilde": "~"}
SPACES = {",": 0.17, ";": 0.28, " ": 0.33, "quad": 1, "qquad": 2}
FENCES = {"left", "right", "bigl", "bigr"}
TABLES = {"matrix": "", "bmatrix": "[]", "pmatrix": "()", "aligned": "", "cases": "{"}


class FormulaError(ValueError):
    """What is not in the little of LaTeX that is read here."""


def mathml(tex: str, block: bool = True) -> str:
    """A formula as an element of MathML."""
    reader = _Reader(tex)
    inside = reader.until(())
    if reader.left():
        raise FormulaError(f"{tex!r:.80}: {reader.take()!r} closes nothing.")
    display = ' display="block"' if block else ""
    return f"<math{display}>{inside}</math>"


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, tex: str) -> None:
        self.tex, self.tokens, self.at = tex, TOKEN.findall(tex), 0

    def left(self) -> bool:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.at < len(self.tokens)

    def peek(self) -> str:
        return self.tokens[self.at] if self.left() else ""

    def take(self) -> str:
        token = self.peek()
        if not token:
            raise FormulaError(f"{self.tex!r:.80} ends too early.")
        self.at += 1
        return token

    def word(self) -> str:
        """The text between braces, as it is."""
        if self.take() != "{":
            raise FormulaError(f"{self.tex!r:.80}: expected a brace before {self.tokens[self.at - 1]!r}.")
        text, depth = "", 1
        while True:
            if self.at >= len(self.tokens):
                raise FormulaError(f"{self.tex!r:.80}: a brace does not close.")
            token = self.tokens[self.at]
            self.at += 1
            depth += {"{": 1, "}": -1}.get(token, 0)
            if not depth:
                return text
            text += token[1:] if token in (r"\_", r"\%", r"\&", r"\#") else token

    def until(self, ends: tuple[str, ...]) -> str:
        """What stands before one of these, which is left."""
        parts = []
        while (token := self.peek()) and token not in (*ends, "}", "&", r"\\", r"\right", r"\end"):
            parts.append(self.scripted(self.atom()))
        return "<mrow>" + "".join(parts) + "</mrow>"

    def scripted(self, base: str) -> str:
        scripts: dict[str, str] = {}
        while (mark := self.peek()) in ("_", "^", "'"):
            self.take()
            scripts["^" if mark == "'" else mark] = "<mo>′</mo>" if mark == "'" else self.atom()
        if len(scripts) == 2:
            return f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>"
        if scripts:
            tag = "msub" if "_" in scripts else "msup"
            return f"<{tag}>{base}{''.join(scripts.values())}</{tag}>"
        return base

    def atom(self) -> str:
        token = self.take()
        if token == "{":
            inside = self.until(())
            self.close("}")
            return inside
        if token[0] != "\\":
            if token[0].isdigit():
                return f"<mn>{token}</mn>"
            return f"<mi>{escape(token)}</mi>" if token.isalpha() else self.sign(token)
        return self.command(token[1:])

    def close(self, end: str) -> None:
        if (found := self.take()) != end:
            raise FormulaError(f"{self.tex!r:.80}: expected {end!r}, found {found!r}.")

    def sign(self, token: str, stretchy: bool = False) -> str:
        if token == ".":
            return "" if stretchy else "<mo>.</mo>"
        token = {"-": "−", "*": "∗"}.get(token, token.removeprefix("\\"))
        return f'<mo stretchy="{"true" if stretchy else "false"}">{escape(token)}</mo>'

    def command(self, name: str) -> str:
        if name in GREEK:
            return f"<mi>{GREEK[name]}</mi>"
        if name in SIGNS:
            return f"<mo>{SIGNS[name]}</mo>"
        if name in FUNCTIONS:
            return f'<mspace width="0.17em"></mspace><mi>{name}</mi><mo>\u2061</mo>'
        if name in ACCENTS:
            return f'<mover accent="true">{self.atom()}<mo stretchy="false">{ACCENTS[name]}</mo></mover>'
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}em"></mspace>'
        if name in ("{", "}", "|", "%", "_"):
            return self.sign(name)
        if name == "frac":
            return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.atom()}</msqrt>"
        if name in ("text", "mathrm", "operatorname"):
            return f"<mtext>{escape(self.word())}</mtext>"
        if name in ("mathbf", "boldsymbol"):
            return f'<mrow style="font-weight: bold">{self.atom()}</mrow>'
        if name in ("bigl", "bigr"):
            return self.sign(self.take())
        if name == "left":
            opened = self.sign(self.take(), stretchy=True)
            inside = self.until(())
            self.close(r"\right")
            return f"<mrow>{opened}{inside}{self.sign(self.take(), stretchy=True)}</mrow>"
        if name == "begin":
            return self.table(self.word())
        raise FormulaError(f"{self.tex!r:.80}: \\{name} is not known here. Add it to tools/site_math.py.")

    def table(self, name: str) -> str:
        if name not in TABLES:
            raise FormulaError(f"{self.tex!r:.80}: there is no table {name!r}. There are {', '.join(TABLES)}.")
        rows, row = [], [self.until(())]
        while (token := self.take()) != r"\end":
            if token == r"\\":
                rows.append(row)
                row = []
            elif token != "&":
                raise FormulaError(f"{self.tex!r:.80}: {token!r} closes nothing.")
            row.append(self.until(()))
        if (ended := self.word()) != name:
            raise FormulaError(f"{self.tex!r:.80}: {name} ends as {ended}.")
        if row != ["<mrow></mrow>"]:
            rows.append(row)
        sides = ("right", "left") if name == "aligned" else ("left",) if name == "cases" else ("",)
        body = "".join(
            f"<mtr>{''.join(_cell(cell, sides[k % len(sides)]) for k, cell in enumerate(line))}</mtr>" for line in rows
        )
        shown = f'<mtable displaystyle="{"true" if name == "aligned" else "false"}" class="{name}">{body}</mtable>'
        opened, closed = (f"{TABLES[name]}  "[k] for k in (0, 1))
        around = [self.sign(mark, stretchy=True) if mark.strip() else "" for mark in (opened, closed)]
        return f"<mrow>{around[0]}{shown}{around[1]}</mrow>"


def _cell(inside: str, side: str) -> str:
    """A cell; to the middle as browsers have it, to a side by the style of the site."""
    return f'<mtd class="{side}">{inside}</mtd>' if side else f"<mtd>{inside}</mtd>"
