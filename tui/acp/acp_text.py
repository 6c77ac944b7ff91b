"""Foreign text for an editor: bounded, without hidden characters, and without pictures that the editor would fetch."""

from __future__ import annotations

import re
from collections.abc import Callable

from rundry.agent import middle_cut

from ..export.markup import as_fence
from ..text.show_text import in_place, show, strip

MOST_TEXT = 20_000
"""Maximum number of characters of one text: a result, a note."""
MOST_FILE = 400_000
"""Maximum number of characters of each side of a diff; a larger change is sent as the text of its diff."""
_TAIL = 16
"""Characters of the text before a piece, which decide how its first characters are marked."""
_HELD = 300
"""Maximum number of characters that are held back until the next piece."""
_PICTURE = re.compile(r"!(?=\[[^\]\n]*\][(\[])")
_UNFINISHED = re.compile(r"(?:!(?:\[[^\]\n]*\]?)?|[\r\u200d])\Z")


class StreamedText:
    """One streamed text of the model. A piece can end within a line end, a joined picture or an image link."""

    def __init__(self) -> None:
        self._tail = self._held = ""

    def piece(self, text: str) -> str:
        """Return what can be shown after this piece arrived."""
        text = self._held + text
        found = _UNFINISHED.search(text, max(0, len(text) - _HELD))
        self._held = "" if found is None else text[found.start() :]
        return self._shown(text[: len(text) - len(self._held)])

    def end(self) -> str:
        """Return what was held back, and begin a new text."""
        rest = self._shown(self._held)
        self._tail = self._held = ""
        return rest

    def _shown(self, text: str) -> str:
        if not text:
            return ""
        before, whole = _marked(self._tail), _marked(self._tail + text)
        self._tail = (self._tail + text)[-_TAIL:]
        return without_pictures(whole[len(before) :] if whole.startswith(before) else _marked(text))


def without_pictures(text: str) -> str:
    """Return Markdown in which an image is text: an editor that loads it would send what is in its address."""
    return _PICTURE.sub(r"!\\", text)


def words(text: str) -> str:
    """Return a text of several lines, shortened."""
    return without_pictures(_marked(middle_cut(text, MOST_TEXT)))


def fenced(text: str, language: str = "") -> str:
    """Return the output of a tool or a command as a block of Markdown code, shortened."""
    return as_fence(strip(middle_cut(text, MOST_TEXT)), language)


def code(text: str) -> str:
    """Return the content of a file: tabs are kept, and each hidden character is replaced by one that can be seen."""
    return in_place(text.replace("\r\n", "\n"))


def plain_json(value: object, hide: Callable[[str], str], depth: int = 0) -> object:
    """Return the arguments of a call as JSON with marked and shortened texts."""
    match value:
        case str():
            return _marked(hide(middle_cut(value, MOST_TEXT // 10)))
        case bool() | int() | float() | None:
            return value
        case dict() if depth < 4:
            pairs: list[tuple[object, object]] = list(value.items())[:50]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            return {_marked(str(name)[:100]): plain_json(inner, hide, depth + 1) for name, inner in pairs}
        case list() if depth < 4:
            items: list[object] = value[:50]  # pyright: ignore[reportUnknownVariableType]
            return [plain_json(inner, hide, depth + 1) for inner in items]
        case _:
            return "…"


def _marked(text: str) -> str:
    """Mark hidden characters like `show`, but keep tabs: Markdown needs them in code."""
    return "\t".join(show(part) for part in text.replace("\r\n", "\n").split("\t"))
