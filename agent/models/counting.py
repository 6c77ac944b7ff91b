"""Count the tokens of prompts locally, without network."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from math import ceil
from typing import TYPE_CHECKING

import msgspec

from .litellm_use.load_litellm import set_tiktoken_folder
from .server_tokenizer import MORE_TOOLS, ONE_TOOL, SAMPLE_TEXT, SampleSizes, tool_text

if TYPE_CHECKING:
    from tiktoken import Encoding

    from ..protocol import ImageRef, Message, ToolSpec

_PER_PROMPT = 3
"""Tokens that start the answer with its role (OpenAI cookbook, "How to count tokens")."""
_PER_MESSAGE = 5
_PER_CALL = 16
"""Tokens for the id, the type and the JSON around a call or a tool's answer."""
_PER_TOOL = 12
_LARGEST_IMAGE = 4_800
"""Tokens that the newest Claude models bill for an image of the largest size; larger ones are scaled down."""
_CLAUDE = 1.3
"""Factor for Claude, whose tokenizer is not public: 16 % (prose) to 30 % (Python) more tokens than cl100k_base."""


_WIDEST = 5.0
"""If a server's count is this many times larger or smaller than ours, it does not count tokens."""


class Counter:
    """Counts texts and prompts for one model. The first count loads the encoding (about 0.3 s).

    `sizes`: what the server's own tokenizer says about the samples. The counts are then scaled to it.
    """

    def __init__(self, model: str, sizes: SampleSizes | None = None) -> None:
        name = model.lower()
        self._encoding = "cl100k_base" if _is_not_of_openai(name) else "o200k_base"
        self._usual = _CLAUDE if "claude" in name else 1.0
        self._sizes = sizes

    def text(self, text: str) -> int:
        """Count the tokens of a text."""
        return int(self._raw(text) * self._scale)

    def prompt(self, messages: Sequence[Message], tools: Sequence[ToolSpec], *, provider: str = "") -> int:
        """Count the tokens of a whole prompt: texts, calls, images, tool schemas, and the JSON around each.

        `provider`: the provider that is called. Opaque parts of other providers are not sent.
        """
        count = self.text
        total = _PER_PROMPT
        for message in messages:
            total += _PER_MESSAGE + count(message.text)
            if message.call_id is not None:
                total += _PER_CALL
            if message.opaque is not None and message.opaque.maker == provider:
                total += message.opaque.tokens
            total += sum(image_tokens(image) for image in message.images)
            for call in message.calls:
                total += _PER_CALL + count(call.tool) + count(call.arguments)
        return total + self._tools(tools)

    def _raw(self, text: str) -> int:
        return _count(self._encoding, text)

    @cached_property
    def _believed(self) -> SampleSizes | None:
        """The server's counts of the samples, or None if it has none or they cannot be counts of tokens."""
        if self._sizes is None:
            return None
        return self._sizes if 1 / _WIDEST < self._sizes.text / self._raw(SAMPLE_TEXT) < _WIDEST else None

    @cached_property
    def _scale(self) -> float:
        """The server's tokens for one of our tokens."""
        return self._usual if self._believed is None else self._believed.text / self._raw(SAMPLE_TEXT)

    def _tools(self, tools: Sequence[ToolSpec]) -> int:
        if not tools:
            return 0
        if self._template is None:
            return sum(_PER_TOOL + self.text(_schema_text(tool)) for tool in tools)
        fixed, scale = self._template
        return ceil(fixed + scale * self._raw_tools(tools))

    def _raw_tools(self, tools: Sequence[ToolSpec]) -> int:
        return sum(self._raw(tool_text(tool)) for tool in tools)

    @cached_property
    def _template(self) -> tuple[float, float] | None:
        """The tokens that the server's chat template writes around all tools, and for one of our tokens of a tool."""
        sizes = self._believed
        if sizes is None or sizes.one_tool is None or sizes.more_tools is None:
            return None
        one, more = self._raw_tools(ONE_TOOL), self._raw_tools(MORE_TOOLS)
        scale = (sizes.more_tools - sizes.one_tool) / (more - one)
        if scale > _WIDEST:
            return None
        return max(0.0, sizes.one_tool - scale * one), scale


def image_tokens(image: ImageRef) -> int:
    """Estimate an upper bound: Anthropic bills a token per 750 pixels, OpenAI at most 1,105 per `high` image."""
    if not (image.width and image.height):
        return _LARGEST_IMAGE
    return min(max(image.width * image.height // 750, 85), _LARGEST_IMAGE)


def _is_not_of_openai(name: str) -> bool:
    return not any(mark in name for mark in ("gpt-4o", "gpt-4.1", "gpt-5", "gpt-oss", "o1", "o3", "o4", "chatgpt"))


def _schema_text(tool: ToolSpec) -> str:
    return msgspec.json.encode(tool).decode()


def _count(encoding: str, text: str) -> int:
    """Count a text's tokens. Each step counts the whole history; a str caches its hash, so only new texts cost."""
    if not text:
        return 0
    key = hash((encoding, len(text), text))
    with _COUNTING:
        found = _counts.pop(key, None)
        if found is not None:
            _counts[key] = found
            return found
    found = _encode(encoding)(text)
    with _COUNTING:
        _counts[key] = found
        if len(_counts) > _REMEMBERED:
            del _counts[next(iter(_counts))]
    return found


def _encode(encoding: str) -> Callable[[str], int]:
    loaded = _load(encoding)
    return lambda text: len(loaded.encode_ordinary(text))


_LOADING, _COUNTING = threading.Lock(), threading.Lock()
_REMEMBERED = 4_096
"""Number of texts whose counts are remembered."""
_counts: dict[int, int] = {}
"""Maps a hash of encoding and text to the count, the most recently used last. The texts themselves, megabytes
that are not sent again, are not stored; two texts with the same 64-bit hash would only share a count."""


def _load(encoding: str) -> Encoding:
    with _LOADING:  # two threads that load the same encoding would do the work twice
        return _loaded(encoding)


@lru_cache(maxsize=4)
def _loaded(encoding: str) -> Encoding:
    set_tiktoken_folder()
    import tiktoken

    return tiktoken.get_encoding(encoding)
