"""gpt-oss (harmony): messages on channels. A message with a recipient is a call, the analysis channel is reasoning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..answer_source import NotACall, Source, Steps

if TYPE_CHECKING:
    from ....protocol import ToolCall
    from ..offered_calls import OfferedTools

START, _CHANNEL = "<|start|>assistant", "<|channel|>"
ADDRESS = "to=functions."
"""The prompt ends with `<|start|>assistant`, and the recipient may precede the channel."""
END = "<|end|>"
OPENERS = (_CHANNEL, START)
ENDS = (END, "<|return|>")
FRAMES = frozenset((*OPENERS, *ENDS, ADDRESS))

_TO = r"(?:to=(?P<{}>[\w.-]+))?\s*"
_HEADER = re.compile(
    r"(?:<\|start\|>assistant)?\s*"
    + _TO.format("before")
    + r"<\|channel\|>(?P<channel>analysis|commentary|final)\s*"
    + _TO.format("behind")
    + r"(?:<\|constrain\|>)?\s*\w*\s*"
)


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a message."""

    channel: str
    recipient: str
    """Empty means that the message is for the user."""


def header(source: Source, opener: str) -> Steps[Header]:
    """Read the header after its first token, and the token that follows it."""
    found = _HEADER.fullmatch(opener + (yield from source.short("<|message|>")))
    if found is None:
        raise NotACall
    recipient = found["behind"] or found["before"] or ""
    return Header(found["channel"], recipient.removeprefix("functions."))


def call(source: Source, offer: OfferedTools, recipient: str) -> Steps[ToolCall]:
    """Read the call for the recipient. The token that ends it is a stop token, which servers omit."""
    offer.name(recipient)
    yield from source.space()
    return offer.from_arguments(recipient, (yield from source.json()))
