"""Files that a message names with `@`, and paths as terminals paste them. No disk is read here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

_MENTION = re.compile(r"""(?<!\S)@(?:"(?P<double>[^"\n]+)"|'(?P<single>[^'\n]+)'|(?P<bare>(?:\\.|[^\s\\])+))""")
_PASTED = re.compile(r""""(?P<double>[^"\n]+)"|'(?P<single>(?:[^'\n]|'\\'')+)'|(?P<bare>(?:\\.|[^\s\\"'])+)""")
_ESCAPE = re.compile(r"\\(.)")
_TRAILING = ".,;:!?)]}'\""
_PLAIN = re.compile(r"[^\s\\\"'@]+")
LONGEST = 4_096
"""Characters of a path."""
_MOST_PASTED = 40_000


@dataclass(frozen=True, slots=True)
class Mention:
    """One `@file` of a message."""

    path: str
    """As it is written, without the quotes and escapes."""
    shorter: str | None = None
    """The same without the punctuation behind it, which may belong to the sentence."""


def mentions(text: str) -> Iterator[Mention]:
    """The files that the text names, in order; most of them are no images."""
    for found in _MENTION.finditer(text) if "@" in text else ():
        quoted = found["double"] or found["single"]
        if quoted is not None:
            yield Mention(quoted)
            continue
        path = _ESCAPE.sub(r"\1", found["bare"])
        shorter = path.rstrip(_TRAILING)
        yield Mention(path, shorter if shorter and shorter != path else None)


def locate(written: str, root: Path) -> Path | None:
    """The absolute path that is meant; None where it cannot be the name of a file of this machine."""
    if written.startswith("file:"):
        try:
            url = urlsplit(written)
        except ValueError:
            return None
        if url.netloc not in ("", "localhost"):
            return None
        written = unquote(url.path)
    if not written or "\0" in written or len(written) > LONGEST:
        return None
    try:
        path = Path(written).expanduser()
        path.as_posix().encode()
    except (RuntimeError, UnicodeEncodeError):  # no such home; a name that is not UTF-8
        return None
    return root / path


def dropped(text: str) -> list[Path] | None:
    """The absolute paths that a terminal pastes for dropped files; None where the text is anything else.

    A terminal quotes them, escapes blanks with a backslash, or gives `file://` addresses; there may be several, with
    blanks or line ends between them.
    """
    text = text.strip()
    if not text or len(text) > _MOST_PASTED or not text.startswith(("/", "~/", "'", '"', "file:")):
        return None
    whole = locate(text, Path("/")) if "\n" not in text and text.startswith(("/", "~/", "file:")) else None
    found, at = list[Path](), 0
    while at < len(text):
        one = _PASTED.match(text, at)
        path = locate(_unquoted(one), Path("/relative")) if one is not None else None
        if one is None or path is None or path.is_relative_to("/relative"):
            return None if whole is None else [whole]
        found.append(path)
        at = one.end()
        rest = text[at:]
        if rest and not rest[0].isspace():
            return None if whole is None else [whole]
        at += len(rest) - len(rest.lstrip())
    if whole is not None and len(found) > 1 and whole.is_file():  # one name with blanks that nobody escaped
        return [whole]
    return found


def as_mention(path: str) -> str:
    """How a message names this file: `@shot.png`, `@"my shot.png"`."""
    if _PLAIN.fullmatch(path) and path[-1] not in _TRAILING:
        return f"@{path}"
    if '"' not in path:
        return f'@"{path}"'
    return "@" + re.sub(r"([\s\\\"'])", r"\\\1", path)


def _unquoted(found: re.Match[str]) -> str:
    if found["double"] is not None:
        return found["double"]
    if found["single"] is not None:
        return found["single"].replace("'\\''", "'")
    return _ESCAPE.sub(r"\1", found["bare"])
