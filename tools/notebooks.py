"""Notebooks from tutorials: examples are cells, which end where something is shown, and what is between them is text.

    python tools/notebooks.py [--check]

The tutorials are the source: their examples run as tests, and what they print stays out of the notebooks.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MADE = {"cart-pole": "cart_pole", "clutches": "clutches"}  # tutorial: notebook


def cells(text: str) -> list[tuple[str, str]]:
    """The cells of a tutorial, as ("markdown" or "code", text)."""
    found = []
    for k, part in enumerate(re.split(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)):
        if k % 2:
            found += [("code", cell) for cell in after_answers(part)]
        elif part.strip():
            found.append(("markdown", with_formulas(without_links(part.strip()))))
    return found


def after_answers(block: str) -> list[str]:
    """The lines of a block of examples, in a new cell after each that shows something: a cell shows its last line."""
    made: list[list[str]] = [[]]
    answered = False
    for line in block.splitlines():
        if line.startswith((">>> ", "... ")):
            if answered:
                made.append([])
            made[-1].append(line[4:])
        answered = bool(line) and not line.startswith((">>>", "..."))
    return ["\n".join(lines) for lines in made if lines]


def without_links(text: str) -> str:
    """Text whose links to other pages are only their words: a notebook travels without them."""
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


def with_formulas(text: str) -> str:
    """Blocks of math as notebooks set them."""
    return re.sub(r"^```math\n(.*?)\n```$", r"$$\n\1\n$$", text, flags=re.M | re.S)


def notebook(text: str) -> str:
    """The JSON of a notebook, format 4.5."""
    made = []
    for k, (kind, source) in enumerate(cells(text)):
        cell: dict[str, object] = {"cell_type": kind, "id": f"cell-{k}", "metadata": {}}
        cell |= {"execution_count": None, "outputs": []} if kind == "code" else {}
        made.append(cell | {"source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the notebooks of the examples from the tutorials.")
    parser.add_argument("--check", action="store_true", help="only say whether they are as the tutorials are")
    check = parser.parse_args().check
    for tutorial, name in MADE.items():
        path = ROOT / "examples" / "notebooks" / f"{name}.ipynb"
        text = notebook((ROOT / "docs" / "tutorials" / f"{tutorial}.md").read_text(encoding="utf-8"))
        if check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            sys.exit(f"{path.relative_to(ROOT)} is not what its tutorial says. Run: python tools/notebooks.py")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
