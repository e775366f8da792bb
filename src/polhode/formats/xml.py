"""XML as untrusted text: a parse that expands nothing, and attributes read as numbers.

Elements, attributes and text are kept. A document type, which could define
entities, is refused, and so are files that nest or grow beyond any mechanism.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.parsers import expat

from polhode.model import Faults, ModelError
from polhode.model.errors import closest

DEEPEST = 1000  # elements within elements
MOST = 400_000  # elements of one file
MOST_UNKNOWN = 100  # kinds of attributes that do not exist, worth a fault each
LARGEST = 1e30  # in size; beyond it products overflow, and no mechanism has it

Number = int | float
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"""<[A-Za-z](?:[^<>"']|"[^"<]*"|'[^'<]*')*>""")
_TOUCHING = re.compile(r"""("[^"]*"|'[^']*')(?=[A-Za-z_])""")
_INTEGER = re.compile(r"[+-]?\d{1,15}", re.ASCII)


@dataclass(slots=True)
class Element:
    """An element: its tag, attributes, children, the line where it starts, and the text before and between them.

    folder : where the file lies that has it, if that was included and it matters
    scope  : what the file says that has it, if that is another than the model (see mjcf_attach)
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""
    folder: Path | None = None
    scope: Any = None

    def get(self, key: str) -> str | None:
        """The text of an attribute, without blanks around it."""
        text = self.attributes.get(key)
        return None if text is None else text.strip()

    def first(self, tag: str) -> Element | None:
        """The first child with that tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, *tags: str) -> list[Element]:
        """The children with one of those tags."""
        return [child for child in self.children if child.tag in tags]

    def walk(self) -> Iterator[Element]:
        """The element and everything inside it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)

    def copy(self) -> Element:
        """Another element with all that is inside."""
        made = replace(self, attributes=dict(self.attributes))
        waiting = [made]
        while waiting:
            element = waiting.pop()
            element.children = [replace(child, attributes=dict(child.attributes)) for child in element.children]
            waiting += element.children
        return made

    def by_name(self, tag: str, faults: Faults) -> dict[str, Element]:
        """The children with that tag by their names; each must have one of its own."""
        found: dict[str, Element] = {}
        for child in self.all(tag):
            name = child.get("name")
            if not name:
                faults.add(f'{tag.capitalize()} on line {child.line} has no name, expected <{tag} name="...">.')
            elif name in found:
                faults.add(
                    f"{tag.capitalize()} {name!r} exists more than once (line {child.line}). Rename all but one."
                )
            else:
                found[name] = child
        return found


class Unknown:
    """Attributes that do not exist: one fault a kind, naming the first element that has it."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, str], tuple[str, Collection[str]]] = {}
        self.counts: Counter[tuple[str, str]] = Counter()

    def check(self, element: Element, known: Collection[str], what: str, wrong: Collection[str] | None = None) -> None:
        """Keep the attributes that are not known, or only the wrong ones; prefixes (xmlns:...) are others' business."""
        for key in element.attributes:
            if key not in known and key != "xmlns" and ":" not in key and (wrong is None or key in wrong):
                self.counts[element.tag, key] += 1
                if len(self.first) < MOST_UNKNOWN:
                    self.first.setdefault((element.tag, key), (f"{what} on line {element.line}", known))

    def report(self, faults: Faults) -> None:
        for (tag, key), (what, known) in self.first.items():
            n = self.counts[tag, key]
            more = f" ({n - 1} more <{tag}> have it)" if n > 1 else ""
            faults.add(f"{what}: unknown attribute {key[:60]!r}{more}. {closest(key[:60].lower(), known)}")


class _RefusedError(Exception):
    """Ends a parse from inside one of its callbacks."""


class _Tree:
    """Builds the elements while expat reads."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.buffer_size = 1 << 20  # long lists of numbers come in few pieces
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.write
        self.parser.StartDoctypeDeclHandler = self.refuse_definitions
        self.parser.EntityDeclHandler = self.refuse_definitions
        self.open: list[Element] = []
        self.root: Element | None = None
        self.count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        if len(self.open) > DEEPEST:
            raise _RefusedError(f"elements are nested more than {DEEPEST} deep (line {element.line}).")
        if self.count > MOST:
            raise _RefusedError(f"there are more than {MOST:,} elements, more than a mechanism needs.")

    def write(self, text: str) -> None:
        if not text.isspace():
            self.open[-1].text += text

    def end(self, _tag: str) -> None:
        self.open.pop()

    def refuse_definitions(self, *_: object) -> None:
        raise _RefusedError(
            f"line {self.parser.CurrentLineNumber} declares a document type or entities (<!DOCTYPE, <!ENTITY), "
            "which are refused because they can make a small file expand without end. Remove the declaration."
        )


def mended(text: str) -> str:
    """The text as MuJoCo's parser takes it, lines where they were: comments with -- in them, attributes in a row."""
    bare = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    return _TAG.sub(lambda found: _TOUCHING.sub(r"\1 ", found[0]), bare)


def parse(text: str, source: str = "", lenient: bool = False) -> Element:
    """Read XML text into its root element; every fault is one ModelError.

    lenient : try again where it is only not well-formed in the ways that `mended` knows
    """
    tree = _Tree()
    try:
        tree.parser.Parse(text.removeprefix("\ufeff"), True)
    except _RefusedError as refused:
        raise ModelError([str(refused)], source) from None
    except expat.ExpatError as error:
        if lenient and (other := mended(text)) != text:
            try:
                return parse(other, source)
            except ModelError:
                pass  # the fault of the file as it is says more
        inside = f" inside <{tree.open[-1].tag}>" if tree.open else ""
        reason = expat.errors.messages.get(error.code, str(error))
        raise ModelError(
            [f"the XML ends or breaks at line {error.lineno}, column {error.offset + 1}{inside}: {reason}."], source
        ) from None
    except (ValueError, LookupError) as error:
        raise ModelError([f"the XML cannot be read: {error}."], source) from None
    if tree.root is None:
        raise ModelError(["the XML has no element."], source)
    return tree.root


def to_number(text: str) -> Number | None:
    """The finite number that a text spells, None if it spells none; whole numbers stay exact."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if not _NUMBER.fullmatch(text):
        return None
    x = float(text)
    if not math.isfinite(x):
        return None
    return int(x) if x in (0.0, 1.0, -1.0) else x


def number(element: Element, key: str, what: str, faults: Faults, default: Number | None = None) -> Number:
    """Read an attribute as a number; without a default it must be there. `what` names it in messages."""
    text = element.get(key)
    if text is None:
        if default is None:
            faults.add(f'{what} is missing, expected a number: {key}="..." in <{element.tag}>, line {element.line}.')
        return default or 0
    x = to_number(text)
    if x is None or abs(x) > LARGEST:
        faults.add(f"{what} is {text!r:.60}, expected {_expected(x, 'a number')}.")
        return default or 0
    return x


def numbers(
    element: Element,
    key: str,
    n: int,
    what: str,
    faults: Faults,
    default: Sequence[Number] | None = None,
    least: int | None = None,
) -> list[Number]:
    """Read an attribute as n numbers, or from `least` to n; without a default it must be there."""
    least = n if least is None else least
    wanted = f"{n} numbers" if least == n else f"{least} to {n} numbers"
    instead: list[Number] = [0] * n if default is None else list(default)
    text = element.get(key)
    if text is None:
        if default is None:
            faults.add(f'{what} is missing, expected {wanted}: {key}="..." in <{element.tag}>, line {element.line}.')
        return instead
    words = text.split(maxsplit=n)
    found = [to_number(word) for word in words]
    if not least <= len(words) <= n:
        faults.add(f"{what} is {text!r:.60}, expected {wanted}.")
        return instead
    for x in found:
        if x is None or abs(x) > LARGEST:
            faults.add(f"{what} is {text!r:.60}, expected {_expected(x, wanted)}.")
            return instead
    return [x for x in found if x is not None]


def _expected(x: Number | None, wanted: str) -> str:
    return wanted if x is None else f"{wanted} of at most {LARGEST:g} in size"
