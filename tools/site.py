"""The website: README.md, docs/ and the docstrings as pages of HTML, in build/site.

    python tools/site.py [--out build/site] [--gallery]

Pages are what the repository has, so that there is nothing to keep in step; NAVIGATION says in what order. Links
between the files become links between pages. Nothing is loaded from a network, and all but the search and the players
of the gallery works without scripts.
"""

from __future__ import annotations

import argparse
import ast
import html
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from pathlib import Path
from posixpath import normpath, relpath

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from site_api import api_pages
from site_gallery import gallery_page
from site_math import FormulaError, mathml
from site_search import index

ROOT = Path(__file__).parents[1]

# Who comes for what: the sections of the menu, and the files in each. What is in docs/ and not here stops the build.
NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": ("README.md", "docs/install.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    "Tutorials": tuple(
        f"docs/tutorials/{name}.md"
        for name in (
            "cart-pole", "robot-control", "clutches", "flexible-arm", "identification", "microcontroller", "haptics",
        )
    ),
    "How to": tuple(
        f"docs/{name}.md"
        for name in (
            "models", "equations", "simulate", "switching", "linearize", "equilibrium", "derivatives", "study",
            "realtime", "interact", "drives", "flexible", "beams", "flexible-arrays", "graph", "compile",
        )
    ),
    "Theory": ("docs/theory.md", "docs/kane.md", "docs/book.md"),
    "Coming from": ("docs/coming-from.md",),
    "Measured and promised": ("docs/benchmarks.md", "docs/stability.md"),
}  # fmt: skip


class SiteError(Exception):
    """What keeps the site from being made: a link to nothing, a page that nobody reaches."""


@dataclass
class Page:
    """One page: where it is in the site, what it is called, and what is in it."""

    path: str
    title: str
    body: str
    section: str
    anchors: list[tuple[int, str, str]] = field(default_factory=list)  # level, id, text of its headings


def slug(text: str, taken: set[str]) -> str:
    """The anchor of a heading, as the forges make them: lower case, spaces to hyphens, nothing else."""
    base = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
    name, k = base, 0
    while name in taken:
        k += 1
        name = f"{base}-{k}"
    taken.add(name)
    return name


def coloured(code: str, language: str, *_: object) -> str:
    """A block of code with its words marked; markdown-it puts it into <pre><code>."""
    name = {"python": "pycon" if ">>>" in code else "python"}.get(language, language)
    try:
        lexer = get_lexer_by_name(name or "text")
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def plain(token: Token) -> str:
    """The text of a heading, without its marks."""
    return "".join(child.content for child in token.children or () if child.type in ("text", "code_inline"))


def target(source: str) -> str:
    """Where a file of the repository is in the site: README.md is index.html."""
    if source == "README.md":
        return "index.html"
    return source.removesuffix(".md") + ".html" if source.endswith(".md") else source


def from_markdown(source: str, section: str, wanted: set[str]) -> Page:
    """A page from one file. Files that it links and that are no pages are added to `wanted`."""
    made = MarkdownIt("commonmark", {"highlight": coloured, "html": False}).enable(["table", "strikethrough"])
    tokens = made.parse((ROOT / source).read_text(encoding="utf-8"))
    taken: set[str] = set()
    page = Page(target(source), "", "", section)
    for token, inner in pairwise(tokens):
        if token.type == "heading_open":
            text = plain(inner)
            anchor = slug(text, taken)
            token.attrSet("id", anchor)
            page.anchors.append((int(token.tag[1]), anchor, text))
            if token.tag == "h1" and not page.title:
                page.title = text
    for token in tokens:
        if token.type == "fence" and token.info.strip() == "math":
            token.type, token.content = "html_block", formula(token.content, source)
        for child in token.children or ():
            for name in ("href", "src"):
                link = child.attrGet(name)
                if isinstance(link, str):
                    child.attrSet(name, relinked(link, source, wanted))
    if not page.title:
        raise SiteError(f"{source} has no title. Begin it with '# Its title'.")
    page.body = made.renderer.render(tokens, made.options, {})
    page.body = page.body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    return page


def formula(tex: str, source: str) -> str:
    """A block of math, which forges set and the site has as MathML."""
    try:
        return f'<div class="wide formula">{mathml(tex.strip())}</div>\n'
    except FormulaError as error:
        raise SiteError(f"{source}: {error}") from None


def relinked(link: str, source: str, wanted: set[str]) -> str:
    """A link between files as a link between pages."""
    if re.match(r"[a-z]+:", link) or link.startswith("#"):
        return link
    name, _, anchor = link.partition("#")
    file = normpath(f"{source.rpartition('/')[0] or '.'}/{name}")
    if not (ROOT / file).exists() or file.startswith(".."):
        raise SiteError(f"{source} links to {link!r}, and there is no {file}.")
    if (ROOT / file).is_dir():
        file = f"{file}/index.html"
        wanted.add(file)
    elif not file.endswith(".md"):
        wanted.add(file)
    found = relpath(target(file), target(source).rpartition("/")[0] or ".")
    return found + (f"#{anchor}" if anchor else "")


def listing(folder: str, wanted: set[str]) -> Page:
    """A folder that is linked: its files, which are copied, and what each says of itself."""
    files = sorted(path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file())
    files = [name for name in files if "__pycache__" not in name]
    wanted.update(f"{folder}/{name}" for name in files)
    items = "\n".join(
        f'<tr><td><a href="{name}">{name}</a></td><td>{html.escape(about(ROOT / folder / name))}</td></tr>'
        for name in sorted(files, key=lambda name: (name.count("/"), name))
    )
    body = f'<h1>{folder.capitalize()}</h1>\n<div class="wide"><table><tbody>{items}</tbody></table></div>'
    return Page(f"{folder}/index.html", folder.capitalize(), body, "Start")


def about(path: Path) -> str:
    """The first sentence of a program, of a model, or of the tutorial that a notebook is."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].replace("\n", " ")
    if path.suffix == ".ipynb":
        first = "".join(json.loads(text)["cells"][0]["source"])
        return first.split("\n")[0].lstrip("# ")
    if path.suffix == ".toml":
        return " ".join(line.lstrip("# ") for line in takewhile(lambda line: line.startswith("# "), text.splitlines()))
    return "A robot's file, as its makers have it" if path.suffix == ".urdf" else ""


def entry(page: Page, link: str, here: bool) -> str:
    """A page in the menu."""
    return f'<li><a href="{link}"{" aria-current=page" if here else ""}>{html.escape(page.title)}</a></li>'


def onward(page: Page, pages: list[Page], to: Callable[[str], str]) -> str:
    """The pages before and after this one in the menu, of its section."""
    beside = [other for other in pages if other.section == page.section]
    k = next(k for k, other in enumerate(beside) if other is page)
    before = (
        f'<a rel="prev" href="{to(beside[k - 1].path)}">← {html.escape(beside[k - 1].title)}</a>'
        if k
        else "<span></span>"
    )
    after = beside[k + 1 : k + 2]
    later = "".join(f'<a rel="next" href="{to(other.path)}">{html.escape(other.title)} →</a>' for other in after)
    return f'<div class="onward">{before}{later}</div>' if len(beside) > 1 else ""


def framed(page: Page, pages: list[Page]) -> str:
    """The whole of a page: the menu by kind of user, its headings, its body."""

    def to(path: str) -> str:
        return relpath(path, page.path.rpartition("/")[0] or ".")

    menu = []
    for section in dict.fromkeys(other.section for other in pages):
        links = "".join(entry(other, to(other.path), other is page) for other in pages if other.section == section)
        opened = " open" if section == page.section else ""
        menu.append(f"<details{opened}><summary>{html.escape(section)}</summary><ul>{links}</ul></details>")
    inside = [(level, anchor, text) for level, anchor, text in page.anchors if level in (2, 3)]
    outline = "".join(
        f'<li class="l{level}"><a href="#{anchor}">{html.escape(text)}</a></li>' for level, anchor, text in inside
    )
    aside = f"<aside><b>On this page</b><ul>{outline}</ul></aside>" if len(inside) > 1 else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(page.title)}{'' if page.path == 'index.html' else ' · Polhode'}</title>"
        f'<link rel="icon" href="{to("icon.svg")}"><link rel="stylesheet" href="{to("site.css")}"></head>\n<body>'
        f'<nav><a class="home" href="{to("index.html")}">Polhode</a><input type="checkbox" id="menu" aria-label="Menu">'
        '<label for="menu">Menu</label><div class="menu"><input type="search" placeholder="Search" '
        f'aria-label="Search" hidden><ul class="found"></ul><div class="sections">{"".join(menu)}</div></div></nav>'
        f"<main>{page.body}{onward(page, pages, to)}</main>{aside}"
        f'<script src="{to("site.js")}" data-root="{to("index.html").removesuffix("index.html")}"></script>'
        "</body></html>\n"
    )


def build(out: Path, gallery: bool = False) -> list[Page]:
    """Make the site; the pages that it has."""
    listed = {source for sources in NAVIGATION.values() for source in sources}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    if forgotten := sorted(there - listed):
        raise SiteError(f"{', '.join(forgotten)}: not in the menu. Add it to NAVIGATION in tools/site.py.")
    wanted: set[str] = set()
    pages = [from_markdown(source, section, wanted) for section, sources in NAVIGATION.items() for source in sources]
    pages += [Page(path, title, body, "API by stage", anchors) for path, title, body, anchors in api_pages(coloured)]
    for name in sorted(name for name in wanted if name.endswith("/index.html")):
        wanted.discard(name)
        pages.append(listing(name.removesuffix("/index.html"), wanted))
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    if gallery:
        pages.append(Page("gallery/index.html", "Gallery", gallery_page(ROOT, out / "gallery"), "Start"))
    order = [*NAVIGATION, "API by stage"]
    pages.sort(key=lambda page: order.index(page.section))
    for name in wanted:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, out / name)
    for page in pages:
        (out / page.path).parent.mkdir(parents=True, exist_ok=True)
        (out / page.path).write_text(framed(page, pages), encoding="utf-8")
    (out / "search.js").write_text(index([(page.path, page.title, page.body) for page in pages]), encoding="utf-8")
    for name in ("site.js", "icon.svg"):
        shutil.copyfile(Path(__file__).parent / name, out / name)
    (out / "site.css").write_text(style(), encoding="utf-8")
    return pages


def style() -> str:
    """The colours of the house, the layout, and those of code, by day and by night."""
    look = (ROOT / "src/polhode/view/look.css").read_text(encoding="utf-8")
    colours = look[: look.index("* { box-sizing")]
    day = HtmlFormatter(style="default").get_style_defs("pre code")
    night = HtmlFormatter(style="github-dark").get_style_defs("pre code")
    own = (Path(__file__).parent / "site.css").read_text(encoding="utf-8")
    return f"{colours}{day}\n@media (prefers-color-scheme: dark) {{\n{night}\n}}\n{own}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the website.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--gallery", action="store_true", help="simulate examples and add their players")
    given = parser.parse_args()
    pages = build(given.out, given.gallery)
    print(f"{len(pages)} pages: {given.out / 'index.html'}")


if __name__ == "__main__":
    main()
