"""The equations of motion in a mode as LaTeX, in pieces that fit a page: what is too long is left out, and said so.

    qdot = N u (+ X)        M udot + c = Q + tau + J^T lam        J udot + gamma = 0        zdot = f

J and gamma are those of the rows that hold or slide in the mode.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from polhode.equations import Equations
from polhode.equations.views import symbol_latex, upright
from polhode.graph import Expr, op_counts, symbol
from polhode.kernels.mode import HELD, SLIDES

from .formulas import Writer, fitting, rounded
from .inmode import InMode, title

BOUND = 400  # operations that are typeset, shared ones counted once
MANY = 40  # speeds, beyond which M and c are not derived for a page
WIDE, LETTERS = 8, 100  # rows of a matrix, and letters of one of them; of a larger one, elements are listed
NAMED = 12  # symbols of a vector that are listed
METHODS = {
    "poincare": "Poincaré's equations", "lagrange": "Lagrange's equations", "kane": "Kane's equations",
    "denoc": "recursions of Saha and Goel (denoc)", "book": "Book's method",
    "quasicoordinate": "the quasicoordinate method",
}  # fmt: skip

Element = tuple[int, ...]
Part = dict[Element, Expr]


def typeset(mode: InMode) -> dict[str, Any]:
    """Write the equations of a mode: what they are called, their form, and blocks of LaTeX.

    form   : the equations with the sizes of their parts; symbols : what q, u and lam are
    blocks : LaTeX, with how many elements there are, how many were left out, and their operations
    """
    eq, rows = mode.program.equations, mode.program.constraints
    acts = sorted((*mode.where(HELD), *mode.where(SLIDES)))
    parts = _parts(mode, acts)
    found = [e for part in parts.values() for e in part.values()]
    shown = {e for e, fits in zip(found, fitting(found, BOUND), strict=True) if fits}
    udot = [_rate(u) for u in eq.u]
    writer = Writer([*eq.q, *eq.u, *eq.z, *eq.parameters, *eq.controls, *udot], [e for e in found if e in shown])
    notes: dict[Element, str] = {(i,): rows.labels[i] + (", sliding" if mode.rows[i] == SLIDES else "") for i in acts}
    blocks = [_block(eq, writer, name, part, shown, notes) for name, part in parts.items()]
    return {
        "mode": dict(mode.words), "title": title(mode.words), "method": METHODS.get(eq.method, eq.method),
        "size": {"nq": len(eq.q), "nu": len(eq.u), "rows": len(acts), "of": len(rows)},
        "embedded": sorted(eq.kinematics.embedded), "operations": sum(op_counts(found).values()),
        "form": _form(eq, len(acts), parts), "symbols": _symbols(eq), "blocks": [b for b in blocks if b is not None],
        "names": _aligned(writer.definitions()), "underived": len(eq.u) > MANY,
    }  # fmt: skip


def _rate(s: Expr) -> Expr:
    return symbol(f"{s.value}_dot")


def _parts(mode: InMode, acts: Sequence[int]) -> dict[str, Part]:
    """The parts of the equations, element by element; of M its upper triangle."""
    eq, rows, n = mode.program.equations, mode.program.constraints, len(mode.program.equations.u)
    found: dict[str, Part] = {"N": {(i,): e for i, e in enumerate(eq.kinematics.q_dot)}}
    if n <= MANY:
        found["M"] = {(i, j): eq.M[i, j] for i in range(n) for j in range(i, n)}
        found["c"] = {(i,): e for i, e in enumerate(eq.c)}
        found["Q"] = {(i,): e for i, e in enumerate(eq.Q)} if any(e != 0 for e in eq.Q) else {}
    udot = [_rate(u) for u in eq.u]
    found["J"] = {(i,): rows.J[i] @ udot + rows.gamma[i] for i in acts}
    found["z"] = {(i,): e for i, e in enumerate(eq.z_dot)}
    return {name: {k: rounded(e) for k, e in part.items()} for name, part in found.items() if part}


def _form(eq: Equations, rows: int, parts: Mapping[str, Part]) -> list[str]:
    """The equations without their elements, with sizes below them."""
    n, nq = len(eq.u), len(eq.q)
    drift = " + X" if any(e != 0 for e in eq.kinematics.drift) else ""
    force = "Q + " if n > MANY or "Q" in parts else ""
    pull = rf" + \underbrace{{J^T}}_{{{n} \times {rows}}} \lambda" if rows else ""
    rates = rf"\underbrace{{\dot q}}_{{{nq}}} = \underbrace{{N}}_{{{nq} \times {n}}}\, \underbrace{{u}}_{{{n}}}{drift}"
    motion = rf"\underbrace{{M}}_{{{n} \times {n}}}\, \dot u + c = {force}\tau{pull}"
    return [rates, motion, *([r"J \dot u + \gamma = 0"] if rows else []), *([r"\dot z = f"] if len(eq.z) else [])]


def _symbols(eq: Equations) -> list[str]:
    """What the entries of q, u and z are called."""

    def column(name: str, symbols: Sequence[Expr]) -> str:
        listed = [symbol_latex(str(s.value)) for s in symbols[:NAMED]] + [r"\ldots"] * (len(symbols) > NAMED)
        return rf"{name} = \left(" + r",\; ".join(listed) + r"\right)"

    return [column(name, list(part)) for name, part in (("q", eq.q), ("u", eq.u), ("z", eq.z)) if len(part)]


def _block(
    eq: Equations, writer: Writer, name: str, part: Part, shown: set[Expr], notes: Mapping[Element, str]
) -> dict[str, Any] | None:
    """One part of the equations."""
    left = [e for e in part.values() if e not in shown]
    texts = {k: writer(e) for k, e in part.items() if e in shown}
    listed = _is_wide(name, len(eq.u), texts)
    if name == "N":
        names: dict[Element, str] = {(i,): symbol_latex(f"{s.value}_dot") for i, s in enumerate(eq.q)}
        lines = [f"{names[k]} &= {text}" for k, text in texts.items() if text != names[k]]
        tex = _aligned(lines) if lines or left else r"\dot q = u"
    elif name == "z":
        tex = _aligned([f"{symbol_latex(f'{eq.z[k[0]].value}_dot')} &= {text}" for k, text in texts.items()])
    elif name == "J":
        tex = _aligned([rf"&{upright(notes[k] + ':')} && {text} = 0" for k, text in texts.items()])
    elif listed:
        places = {k: ",".join(str(i + 1) for i in k) for k in texts}
        tex = _aligned([f"{name}_{{{places[k]}}} &= {text}" for k, text in texts.items() if part[k] != 0])
    else:
        tex = f"{name} = {_matrix(texts, len(eq.u)) if name == 'M' else _column(texts, len(eq.u))}"
    return {"part": name, "tex": tex, "of": len(part), "left": len(left), "operations": sum(op_counts(left).values()),
            "listed": listed}  # fmt: skip


def _is_wide(name: str, rows: int, texts: Mapping[Element, str]) -> bool:
    """Whether a part is no matrix to be looked at, and its elements are listed."""
    if name == "M":
        columns = [max((len(_seen(text)) for k, text in texts.items() if j in k), default=0) for j in range(rows)]
        return rows > WIDE or sum(columns) > LETTERS
    return name in ("c", "Q") and rows > WIDE


def _seen(tex: str) -> str:
    """About the letters that a formula has when it is set."""
    return re.sub(r"\\(?!sin|cos|tan|left|right)[a-z]+|\\(left|right)|[\\{}_^ ]", "", tex)


def _matrix(texts: Mapping[Element, str], n: int) -> str:
    """A symmetric matrix, with dots for what is left out; of more than four rows its upper triangle."""

    def entry(i: int, j: int) -> str:
        if i > j and n > 4:
            return r"\text{sym.}" if (i, j) == (n - 1, 0) else ""
        return texts.get((min(i, j), max(i, j)), r"\cdots")

    return _bracketed([" & ".join(entry(i, j) for j in range(n)) for i in range(n)])


def _column(texts: Mapping[Element, str], n: int) -> str:
    return _bracketed([texts.get((i,), r"\cdots") for i in range(n)])


def _bracketed(lines: Sequence[str]) -> str:
    return r"\left[\begin{matrix}" + r"\\".join(lines) + r"\end{matrix}\right]"


def _aligned(lines: Sequence[str]) -> str:
    return r"\begin{aligned}" + r"\\[2pt]".join(lines) + r"\end{aligned}" if lines else ""
