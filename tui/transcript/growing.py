"""The end of a Markdown text that still grows, so that what is drawn does not change its shape with the next words."""

from __future__ import annotations

import re

_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
_STRONG = re.compile(r"\*\*(?=\S)")
_OPEN_LINK = re.compile(r"\[[^\[\]\n]*(?:\](?:\([^()\n]*)?)?$")
_ROW = re.compile(r" {0,3}\|")
_DELIMITER = re.compile(r" {0,3}\|?[ :|-]*-[ :|-]*$")


def settled(source: str) -> str:
    """Return the part of a growing text that can be drawn now, with its open emphasis and code closed.

    A line of a table, and a link, are drawn once they are complete.
    """
    source = _without_open_row(source)
    head, blank, last = source.rpartition("\n\n")
    return head + blank + _closed(last)


def _without_open_row(source: str) -> str:
    """Leave out the last line if it is a growing line of a table, and a header whose second line did not come yet."""
    lines = source.split("\n")
    is_below_row = len(lines) > 1 and _ROW.match(lines[-2]) is not None
    if _ROW.match(lines[-1]) or (is_below_row and not lines[-1].strip("| :-")):
        lines.pop()
    if lines and _ROW.match(lines[-1]) and not (len(lines) > 1 and _in_table(lines)):
        lines.pop()
    return "\n".join(lines)


def _in_table(lines: list[str]) -> bool:
    """Return whether the last line belongs to a table whose second line is known."""
    at = len(lines) - 1
    while at >= 0 and _ROW.match(lines[at]):
        at -= 1
    return len(lines) - at > 2 and _DELIMITER.match(lines[at + 2]) is not None


def _closed(text: str) -> str:
    plain = _CODE.sub(lambda found: "x" * len(found.group()), text)
    opened = plain.find("`")
    if opened >= 0:
        ticks = len(plain[opened:]) - len(plain[opened:].lstrip("`"))
        return text.rstrip("`") if opened + ticks == len(text) else text.rstrip() + "`" * ticks
    link = _OPEN_LINK.search(plain)
    if link is not None and link.group() not in ("[ ]", "[x]"):
        text, plain = text[: link.start()], plain[: link.start()]
    if plain.count("**") % 2:
        text = text.rstrip()
        return text.removesuffix("*").removesuffix("*") if text.endswith("*") else text + "**"
    return text
