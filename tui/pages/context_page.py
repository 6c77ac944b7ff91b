"""Show what the model reads now, message by message: what a compaction, or a full window, left of the conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from textual.content import Content

from rundry.agent import plural, short

from ..text.shorten_cells import cells_cut, cells_fit
from ..text.show_text import one_line, show
from ..text.wrap_lines import wrapped
from .page_size import inner_width
from .text_page import PageDialog

if TYPE_CHECKING:
    from textual.app import App

    from rundry.agent import SentMessage

_WIDTH = 96
_TOKENS, _WRITER, _BAR = 7, 14, 2
"""Width of the columns before the text, and of the scroll bar."""


class ContextScreen(PageDialog):
    """A dialog with the messages of the next prompt. Esc closes it."""

    def __init__(self, messages: Sequence[SentMessage]) -> None:
        super().__init__()
        self._messages = messages

    def rows(self) -> Iterator[Content]:
        """Yield the first line of each message, and all lines of a summary."""
        count, tokens = plural(len(self._messages), "message"), short(sum(one.tokens for one in self._messages))
        yield Content.styled(f"The model reads {count} now, about {tokens} tokens", "bold $bright")
        yield Content.styled("Nothing else of the transcript; its tools are not counted", "$dim")
        yield Content("")
        width = inner_width(cast("App[object]", self.app).size.width, _WIDTH)
        room = max(8, width - _TOKENS - 1 - _WRITER - _BAR)
        for message in self._messages:
            style = "$bright" if message.writer == "you" else "$dim"
            writer = (cells_fit(one_line(message.tool or message.writer), _WRITER), style)
            first, *more = show(message.text).split("\n")
            rest = list[str]()
            if message.writer == "summary":
                first, *rest = wrapped(first, room)
            yield Content.assemble((f"{short(message.tokens):>{_TOKENS}} ", "$dim"), writer, cells_cut(first, room))
            if message.writer == "summary":
                lead = " " * (_TOKENS + 1 + _WRITER)
                yield from (Content(lead + row) for line in [*rest, *more] for row in wrapped(line, room))
