"""What the search of the site looks through: every section of every page, in one file that is loaded when asked."""

from __future__ import annotations

import html
import json
import re

HEADING = re.compile(r'<h([1-4])(?: id="([^"]*)")?[^>]*>(.*?)</h\1>', re.DOTALL)


def sections(body: str) -> list[tuple[str, str, str]]:
    """Anchor, heading and words of each part of a page; the first may have no heading."""
    found, last, anchor, heading = [], 0, "", ""
    for match in HEADING.finditer(body):
        found.append((anchor, heading, words(body[last : match.start()])))
        last, anchor, heading = match.end(), match[2] or "", words(match[3])
    found.append((anchor, heading, words(body[last:])))
    return [part for part in found if part[1] or part[2]]


def words(part: str) -> str:
    """The text of a piece of a page, without its marks, formulas and drawings."""
    part = re.sub(r"<(math|script|style)\b.*?</\1>", " ", part, flags=re.DOTALL)
    part = re.sub(r"</?(?:p|pre|div|li|tr|td|th|h\d|br|table)\b[^>]*>", " ", part)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", part)).split())


def index(pages: list[tuple[str, str, str]]) -> str:
    """A script that has the sections of pages, each given as path, title and body."""
    rows = [
        [path, anchor, title, heading, text] for path, title, body in pages for anchor, heading, text in sections(body)
    ]
    return f"window.polhodeIndex = {json.dumps(rows, ensure_ascii=False, separators=(',', ':'))};\n"
