"""Pages of the public names, a page a stage, from their signatures and docstrings."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import polhode

Made = tuple[str, str, str, list[tuple[int, str, str]]]  # path, title, body, headings


def api_pages(coloured: Callable[..., str]) -> Iterator[Made]:
    """A page of all public names, and one for each stage that has some."""
    yield "api/index.html", "All names", index(), []
    for stage, names in polhode._PUBLIC.items():
        title = f"polhode.{stage}"
        parts = [f"<h1>{title}</h1>", documented(import_module(title).__doc__, coloured)]
        headings = []
        for name in names.split():
            found = getattr(polhode, name)
            if inspect.ismodule(found):  # a stage and its verb, as `simulate` is
                found = getattr(found, name)
            headings.append((2, name, name))
            parts.append(f'<h2 id="{name}">{name}</h2>{described(name, found, coloured)}')
            for method, what in methods(found):
                anchor = f"{name}.{method}"
                parts.append(f'<h3 id="{anchor}">{anchor}</h3>{described(anchor, what, coloured)}')
        yield f"api/{stage}.html", title, "\n".join(parts), headings


def index() -> str:
    """Every public name, where it is described, and the first sentence of what is said of it."""
    rows = []
    for stage, names in polhode._PUBLIC.items():
        for name in names.split():
            found = getattr(polhode, name)
            found = getattr(found, name) if inspect.ismodule(found) else found
            own = found.__doc__ if inspect.isclass(found) or inspect.isfunction(found) else type(found).__doc__
            first = " ".join(inspect.cleandoc(own or "").split("\n\n")[0].split())
            link = f'<a href="{stage}.html#{name}">{name}</a>'
            rows.append((name.lower(), f"<tr><td>{link}</td><td>{worded(first)}</td><td>{stage}</td></tr>"))
    body = "".join(row for _, row in sorted(rows))
    head = "<thead><tr><th>polhode.</th><th>what it is</th><th>stage</th></tr></thead>"
    return f'<h1>All names</h1>\n<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'


def methods(found: Any) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that have a docstring of their own."""
    if not inspect.isclass(found) or issubclass(found, Exception):
        return
    for name in sorted(name for name in dir(found) if not name.startswith("_")):
        what = inspect.getattr_static(found, name)
        what = getattr(what, "fget", None) or getattr(what, "func", None) or getattr(what, "__func__", what)
        if getattr(what, "__doc__", None) and (inspect.isfunction(what) or inspect.ismethoddescriptor(what)):
            owners = [owner for owner in found.__mro__ if name in vars(owner)]
            if owners and owners[0].__module__.startswith("polhode"):
                yield name, what


def described(name: str, found: Any, coloured: Callable[..., str]) -> str:
    """The signature, if there is one, and the docstring."""
    signature = ""
    if callable(found):
        try:
            signature = name + re.sub(r"""(: |-> )(['\"])(.*?)\2""", r"\1\3", str(inspect.signature(found)))
        except (TypeError, ValueError):
            signature = ""
    shown = f'<pre class="signature"><code>{html.escape(signature)}</code></pre>' if signature else ""
    own = found.__doc__ if inspect.isclass(found) or inspect.isfunction(found) else type(found).__doc__
    return shown + documented(own, coloured)


def documented(text: str | None, coloured: Callable[..., str]) -> str:
    """A docstring: paragraphs, arguments as a table, and what else is indented or an example as code."""
    parts = []
    for block in inspect.cleandoc(text or "").split("\n\n"):
        if not block.strip():
            continue
        if ">>>" in block:
            parts.append(f"<pre><code>{coloured(block, 'python')}</code></pre>")
        elif rows := arguments(block):
            body = "".join(
                f"<tr><td><code>{html.escape(name)}</code></td><td>{worded(said)}</td></tr>" for name, said in rows
            )
            parts.append(f'<div class="wide"><table class="arguments"><tbody>{body}</tbody></table></div>')
        elif any(line.startswith((" ", "\t")) for line in block.splitlines()) or " : " in block:
            parts.append(f"<pre><code>{html.escape(block)}</code></pre>")
        else:
            parts.append(f"<p>{worded(block)}</p>")
    return "\n".join(parts)


def arguments(block: str) -> list[tuple[str, str]]:
    """Lines of NAME : what it is, with what goes on below; none where a line is something else."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if begun := re.match(r"(\S.*?) +: (.*)", line):
            found.append((begun[1], begun[2]))
        elif found and line.startswith(" "):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            return []
    return found


def worded(text: str) -> str:
    """Words, and code where they are marked as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
