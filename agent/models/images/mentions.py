"""Parse file names after `@` in a message, and paths that a terminal pastes."""

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
"""Maximum number of characters of a path."""
_MOST_PASTED = 40_000


@dataclass(frozen=True, slots=True)
class Mention:
    """One `@file` mention in a message."""

    path: str
    """The path as written, without quotes and escapes."""
    shorter: str | None = None
    """The path without trailing punctuation, which may belong to the sentence."""


def mentions(text: str) -> Iterator[Mention]:
    """Yield all mentions in the order of the text. Most of them are not images."""
    for found in _MENTION.finditer(text) if "@" in text else ():
        quoted = found["double"] or found["single"]
        if quoted is not None:
            yield Mention(quoted)
            continue
        path = _ESCAPE.sub(r"\1", found["bare"])
        shorter = path.rstrip(_TRAILING)
        yield Mention(path, shorter if shorter and shorter != path else None)


def locate(written: str, root: Path) -> Path | None:
    """Return the absolute path of a mention; None if it cannot be a file name."""
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
    except (RuntimeError, UnicodeEncodeError):  # no such home folder; a name that is not UTF-8
        return None
    return root / path


def dropped_paths(text: str) -> list[Path] | None:
    """Return the absolute paths that a terminal pastes for dropped files; None if the text is anything else.

    A terminal quotes them, escapes blanks with a backslash, or writes `file://` addresses. There may be several,
    separated by blanks or line ends.
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
    if whole is not None and len(found) > 1 and whole.is_file():  # one name with unescaped blanks
        return [whole]
    return found


def mention_of(path: str) -> str:
    """Return the mention of a file: `@shot.png`, `@"my shot.png"`."""
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
