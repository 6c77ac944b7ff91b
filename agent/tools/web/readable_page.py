"""Turn an HTML page into lines of text and a list of links."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import msgspec

from .page_markup import base_of_links, tree_of
from .urls import join_url

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_DROPPED = frozenset(
    ["script", "style", "noscript", "template", "svg", "math", "canvas", "iframe", "object", "head", "select"]
)
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "li", "main", "nav", "ol",
    "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "title", "tr", "ul",
))  # fmt: skip
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLANK_LINE_AFTER = frozenset(["p", "pre", "ul", "ol", "table", "blockquote", *_HEADINGS])
_LONGEST_WORDS = 200
"""Maximum number of characters of the text of a link."""
_HIDING = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:opacity|font-size)\s*:\s*0*\.?0*(?![.\d]))",
    re.IGNORECASE,
)
"""A style that shows nothing. What a style sheet hides is not known."""
_SPACE = re.compile(r"[^\S\xa0]+")


class Readable(msgspec.Struct, frozen=True, kw_only=True):
    """The readable content of a page."""

    title: str
    text: str
    links: list[tuple[str, str]]
    """URL and text of each link, each URL once, in the order of the page."""


def readable_content(page: str | bytes, url: str, *, marks_hidden: bool = False) -> Readable:
    """Return the readable content of a page. `url`: its URL, for relative links. Raises UnreadablePage.

    `marks_hidden`: text that the page hides from a reader by an attribute is kept, and marked as hidden.
    """
    tree = tree_of(page)
    title = tree.css_first("title")
    hidden = {node.mem_id for node in tree.css("[hidden],[style]") if _is_hidden(node)} if marks_hidden else set[int]()
    writer = _Writer(base_of_links(tree, url), hidden)
    if tree.body is not None:
        writer.write(tree.body)
    name = _SPACE.sub(" ", title.text()).strip() if title is not None else ""
    return Readable(title=name, text=writer.text(), links=list(writer.links.items()))


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    return "hidden" in attributes or _HIDING.search(attributes.get("style") or "") is not None


class _Writer:
    """Walks the tree without recursion, because a page may be nested deeper than Python's stack."""

    def __init__(self, base: str, hidden: Collection[int]) -> None:
        self._base, self._hidden = base, hidden
        self._lines: list[str] = []
        self._parts: list[str] = []
        """Pieces of the line that is being written."""
        self._kept = 0
        """Number of open `pre` elements. In these, white space is kept."""
        self._open: list[tuple[str, list[str]]] = []
        """URLs of the open links, with their text so far."""
        self.links: dict[str, str] = {}

    def text(self) -> str:
        self._end_line()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._lines)).strip("\n")

    def write(self, root: LexborNode) -> None:
        for node, enters in _walk(root):
            tag = node.tag or ""
            if tag == "-text":
                if enters:
                    self._add_text(node.text_content or "")
            elif enters:
                self._enter(tag, node)
                if self._hidden and node.mem_id in self._hidden:
                    self._parts.append("[hidden on the page: ")
            else:
                if self._hidden and node.mem_id in self._hidden:
                    self._parts.append("]")
                self._leave(tag)

    def _enter(self, tag: str, node: LexborNode) -> None:
        if tag in _BLOCKS or tag == "br":
            self._end_line()
        if tag in _HEADINGS:
            self._lines.append("")
            self._parts.append(_HEADINGS[tag])
        elif tag == "li":
            self._parts.append("- ")
        elif tag == "pre":
            self._kept += 1
        elif tag in ("td", "th") and self._parts:
            self._parts.append(" | ")
        elif tag == "img" and (described := node.attributes.get("alt")):
            self._add_text(f"[image: {described}]")
        elif tag == "a":
            target = join_url(self._base, node.attributes.get("href") or "#")
            web = target is not None and target.startswith(("http://", "https://"))
            self._open.append((target if target is not None and web else "", []))

    def _leave(self, tag: str) -> None:
        if tag == "a":
            target, words = self._open.pop()
            if target and target != self._base:
                self.links.setdefault(target, " ".join("".join(words).split())[:_LONGEST_WORDS])
        if tag == "pre":
            self._end_line()
            self._kept -= 1
        if tag in _BLOCKS:
            self._end_line()
        if tag in _BLANK_LINE_AFTER:
            self._lines.append("")

    def _add_text(self, words: str) -> None:
        if self._open:
            self._open[-1][1].append(words)
        if self._kept:
            *whole, last = words.split("\n")
            for line in whole:
                self._parts.append(line)
                self._end_line()
            self._parts.append(last)
            return
        words = _SPACE.sub(" ", words)
        if not self._parts or self._parts[-1].endswith(" "):
            words = words.lstrip(" ")
        if words:
            self._parts.append(words)

    def _end_line(self) -> None:
        line = "".join(self._parts).rstrip()
        self._parts.clear()
        if line or (self._kept and self._lines):
            self._lines.append(line)


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each node twice, in the order of the page: with True when it is entered, with False when it is left."""
    node: LexborNode | None = root
    while node is not None:
        yield node, True
        inner = node.child if (node.tag or "") not in _DROPPED else None
        if inner is not None:
            node = inner
            continue
        while node is not None:
            yield node, False
            if node.mem_id == root.mem_id:
                return
            if (following := node.next) is not None:
                node = following
                break
            node = node.parent
