"""Find the blocks of code in an answer of a chat, and the names of files that stand next to each. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .format_words import language
from .read_answer import BLOCK, FENCE, THOUGHT, is_closed

_PATH = re.compile(r"[\w./\\-]*\w\.\w+")
_COMMENT = re.compile(r"[ \t]*(?:#|//|--|;|<!--|/\*)[ \t]*([\w./\\-]*\w\.\w+)[ \t]*(?:-->|\*/)?[ \t]*")
_AROUND = "*_#>-:`'\"()[] \t"
"""Characters that may stand around a path that is alone on its line."""
_LABEL = re.compile(r"(?:in|file|path|new file|create|update|updated|edit|change)\b[ \t:]*", re.IGNORECASE)
_OF_CHANGES = ("diff", "patch")
_HUNK = re.compile(r"^@@ ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fence with its end, or a search and replace without one."""

    text: str
    names: Sequence[str]
    """Paths that stand for the block: on its fence, alone in its first comment, or alone on the line before it."""
    mentions: Sequence[str]
    """Words like paths in the line before it, which may only be talked about."""
    language: str = ""
    """The first word of its fence, lower-case, if it is not a path."""
    comment: str = ""
    """Its first line, if that is a comment with only a path."""
    is_marked: bool = False
    """It is a search and replace or a diff, and not code that may be an example."""

    def fits(self, path: str) -> bool:
        """Return whether the word on its fence fits the language of the file."""
        ending = path.rpartition(".")[2].lower()
        known = ("", ending, language(path), *_OF_CHANGES)
        return self.language in known or self.language.rstrip("0123456789") in known

    def text_for(self, first_line: str) -> str:
        """Return its text without the comment that only names the file, unless the file begins with that line."""
        is_own = not self.comment or self.comment == first_line
        return self.text if is_own else self.text.replace(f"{self.comment}\n", "", 1)


def blocks_of(said: str) -> Iterator[Block]:
    """Yield the blocks of an answer, in order. A fence that was cut off is not one."""
    said = THOUGHT.sub("", said).replace("\r\n", "\n")
    fences = [match for match in FENCE.finditer(said) if match[3].strip()]
    loose = [
        match
        for match in BLOCK.finditer(said)
        if not any(fence.start() <= match.start() < fence.end() for fence in fences)
    ]
    for match in sorted((*filter(is_closed, fences), *loose), key=lambda match: match.start()):
        before = _line_before(said[: match.start()])
        alone = _alone(before)
        if match.re is BLOCK:
            yield Block(match[0], alone, [] if alone else _PATH.findall(before), is_marked=True)
            continue
        word, on_fence = _info(match[2])
        code: str = match[3]
        first = code.partition("\n")[0]
        comment = _COMMENT.fullmatch(first)
        names = on_fence or ([comment[1]] if comment is not None else alone)
        is_marked = word in _OF_CHANGES or BLOCK.search(code) is not None or _HUNK.search(code) is not None
        mentions = [] if names else _PATH.findall(before)
        yield Block(match[0], names, mentions, word, first if comment is not None else "", is_marked)


def _line_before(text: str) -> str:
    """Return the line right before a block, also with one empty line between them; not the end of another block."""
    lines = text.removesuffix("\n").rsplit("\n", 2)[-2:]
    line = next((line for line in reversed(lines) if line.strip()), "")
    return "" if line.lstrip().startswith(("```", "~~~", ">>>>>")) else line


def _alone(line: str) -> list[str]:
    """Return the path that is alone on a line, next to marks and a word such as `File:`."""
    bare = line.strip(_AROUND)
    bare = _LABEL.sub("", bare, count=1).strip(_AROUND) if _LABEL.match(bare) else bare
    return [bare] if _PATH.fullmatch(bare) else []


def _info(info: str) -> tuple[str, list[str]]:
    """Return the language and the paths of the line that opens a fence: `python calc/core.py`, `py:core.py`."""
    words = re.split(r"[\s:={}\"',]+", info.strip())
    paths = [word for word in words if _PATH.fullmatch(word)]
    return ("" if words[0] in paths else words[0].lower()), paths
