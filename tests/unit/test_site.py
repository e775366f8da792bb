"""The website is made of what is in the repository: nothing is lost, and every link inside arrives."""

import importlib.util
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from posixpath import normpath
from xml.etree import ElementTree

import pytest

import polhode

ROOT = Path(__file__).parents[2]


def tool(name):
    """A program of tools/, under a name that is no other module's: `site` is one of Python."""
    spec = importlib.util.spec_from_file_location(f"tool_{name}", ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
    return module


class Read(HTMLParser):
    """What a browser sees of a page: its title, anchors, links and words."""

    def __init__(self, path):
        super().__init__()
        self.title, self.words, self.anchors, self.links, self.inside = "", "", [], [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("href", "src") if name in given]
        if tag not in ("meta", "link", "img", "br", "hr", "input"):
            self.inside.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.inside.pop() == tag

    def handle_data(self, data):
        if "title" in self.inside:
            self.title += data
        elif "main" in self.inside:
            self.words += data


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    tool("site").build(out)
    return {path.relative_to(out).as_posix(): Read(path) for path in out.rglob("*.html")}, out


def test_links_and_anchors_arrive(built):
    pages, out = built
    lost = []
    for name, page in pages.items():
        for link in page.links:
            if re.match(r"https?:", link):
                continue
            file, _, anchor = link.partition("#")
            found = normpath(f"{Path(name).parent.as_posix()}/{file}") if file else name
            if not (out / found).is_file() or (anchor and anchor not in pages[found].anchors):
                lost.append(f"{name}: {link}")
    assert lost == []
    assert sum(len(page.links) for page in pages.values()) > 1000


def test_every_document_is_a_page_and_reached(built):
    pages, _ = built
    documents = {path.relative_to(ROOT).with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert documents <= set(pages)
    reached, new = set(), {"index.html"}
    while new:
        reached |= new
        links = ((name, link.partition("#")[0]) for name in new for link in pages[name].links)
        new = {normpath(f"{Path(name).parent.as_posix()}/{link}") for name, link in links} & set(pages) - reached
    assert reached == set(pages)


def test_titles_differ_and_no_page_is_empty(built):
    pages, _ = built
    titles = [page.title for page in pages.values()]
    assert len(set(titles)) == len(titles)
    for name, page in pages.items():
        assert len(page.anchors) == len(set(page.anchors)), name
        assert len(page.words.split()) > 10, name


def test_every_public_name_has_its_place(built):
    pages, _ = built
    anchors = {anchor for name, page in pages.items() if name.startswith("api/") for anchor in page.anchors}
    assert set(polhode.__all__) <= anchors
    for verb in ("simulate", "study"):  # a stage and its verb: what is shown is the verb
        text = pages[f"api/{verb}.html"].words
        assert f"\n{verb}(*args" not in text
        assert "is this stage and its verb" not in text


def test_nothing_comes_from_a_network(built):
    pages, out = built
    for name in pages:
        text = (out / name).read_text(encoding="utf-8")
        assert not re.search(r'<(script|img|link|iframe)[^>]+(src|href)="(https?:)?//', text), name
    assert not re.search(r"@import|url\(", (out / "site.css").read_text(encoding="utf-8"))


def test_what_is_not_in_the_menu_and_links_to_nothing_are_refused(tmp_path, monkeypatch):
    site = tool("site")
    monkeypatch.setitem(site.NAVIGATION, "Theory", ("docs/theory.md", "docs/book.md"))
    with pytest.raises(site.SiteError, match=r"docs/kane\.md: not in the menu"):
        site.build(tmp_path / "one")
    with pytest.raises(site.SiteError, match=r"README.md links to 'nowhere.md', and there is no nowhere.md"):
        site.relinked("nowhere.md", "README.md", set())


def seen(tex):
    """The elements and the words of a formula, as a reader of XML finds them."""
    found = ElementTree.fromstring(tool("site_math").mathml(tex))
    return [e.tag for e in found.iter()], "".join(found.itertext())


def test_formulas_become_elements():
    tags, words = seen(r"\frac{m_{1} g}{2} + \dot{\theta}^{2} \cos{\left(\theta \right)}")
    assert words == "m1g2+θ˙2cos\u2061(θ)"
    assert [tags.count(tag) for tag in ("mfrac", "msub", "mover", "msup")] == [1, 1, 1, 1]
    tags, words = seen(r"\begin{aligned} a &= \text{b_1} \\ &\quad {} - c \end{aligned}")
    assert (tags.count("mtr"), tags.count("mtd"), words) == (2, 4, "a=b_1−c")


@pytest.mark.parametrize("file", ["cart.toml", "ur5.urdf", "walker.toml"])
def test_equations_of_examples_are_set(file):
    eq = polhode.formulate(polhode.load(ROOT / "examples" / file))
    tags, words = seen(eq.latex())
    assert tags.count("mtr") > 20
    assert "\\" not in words


@pytest.mark.parametrize(
    ("tex", "said"),
    [
        (r"\frobnicate{x}", r"\\frobnicate is not known here"),
        (r"\left( x", "ends too early"),
        ("x}", "closes nothing"),
        (r"\begin{matrix} a \end{aligned}", "matrix ends as aligned"),
        (r"\frac{a", "ends too early"),
    ],
)
def test_what_is_no_formula_stops_the_build(tex, said):
    site = tool("site")
    with pytest.raises(site.SiteError, match=f"page.md: .*{said}"):
        site.formula(tex, "page.md")


def test_documents_have_formulas_and_that_of_the_tutorial_is_what_it_says(built):
    _, out = built
    for page in ("docs/theory", "docs/equations", "docs/tutorials/cart-pole", "docs/tutorials/robot-control"):
        assert '<math display="block">' in (out / f"{page}.html").read_text(encoding="utf-8")
    tutorial = (ROOT / "docs/tutorials/cart-pole.md").read_text(encoding="utf-8")
    build = polhode.Builder("cart-pole")
    build.body("cart", joint=polhode.prismatic("x", name="x"), mass=1.0)
    rod = {"mass": 0.2, "com": (0, 0, "L"), "inertia": ("0.2*L**2/3", "0.2*L**2/3", 0)}
    build.body("pole", parent="cart", joint=polhode.revolute("y", name="theta"), **rod)
    assert f"```math\n{polhode.formulate(build.build()).latex()}\n```" in tutorial


def test_examples_say_what_they_are(built):
    pages, _ = built
    words = pages["examples/index.html"].words
    assert "Tens of thousands of double pendulums at once" in words
    assert "Balance a pole: from equations to LQR" in words  # a notebook


def test_arguments_are_a_table_and_not_cut():
    arguments = tool("site_api").arguments
    assert arguments("q0, u0 : the state,\n         by name\nz0     : others: t") == [
        ("q0, u0", "the state, by name"),
        ("z0", "others: t"),
    ]
    assert arguments("A sentence\nthat says : something") == []
    assert arguments("    M udot : code") == []


def test_the_search_knows_every_page_and_its_places(built):
    pages, out = built
    text = (out / "search.js").read_text(encoding="utf-8")
    rows = json.loads(text.removeprefix("window.polhodeIndex = ").removesuffix(";\n"))
    assert {row[0] for row in rows} == set(pages)
    for path, anchor, title, heading, _ in rows:
        assert not anchor or anchor in pages[path].anchors, (path, anchor)
        assert title
        assert not re.search(r"<[a-z]", heading)
    found = {(row[0], row[1]) for row in rows if "equilibrium" in row[3].lower()}
    assert ("api/analyze.html", "equilibrium") in found
    assert any("solve_continuous_are" in row[4] for row in rows if row[0] == "docs/tutorials/cart-pole.html")
    for name, page in pages.items():  # the script and what it loads are beside the page
        assert any(normpath(f"{Path(name).parent.as_posix()}/{link}") == "site.js" for link in page.links)
