"""The opening tags of all families, and where in an answer each counts. For `<name>` see call_tags.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from ...protocol import ToolCall
from .families import deepseek, fenced, gemma, harmony, kimi, llama, mistral, phi
from .offer import OfferedTools
from .source import Source, Steps

_Reader: TypeAlias = Callable[[Source, OfferedTools], Steps[list[ToolCall]]]

_TAGGED: dict[str, _Reader] = {
    "<|python_tag|>": llama.read,
    "[TOOL_CALLS]": mistral.read,
    "<｜tool▁calls▁begin｜>": deepseek.read,
    "<｜tool_calls_begin｜>": deepseek.read,
    "<｜tool calls begin｜>": deepseek.read,
    "<｜tool▁calls｜>": deepseek.read,
    "<|tool_calls_section_begin|>": kimi.read,
    "<|tool_call|>": phi.read,
    "<|tool_call>": partial(gemma.read, quote='<|"|>', close="<tool_call|>"),
    "<start_function_call>": partial(gemma.read, quote="<escape>", close="<end_function_call>"),
}
_FENCED: dict[str, _Reader] = {"```": fenced.read}
_WHOLE: dict[str, _Reader] = {"{": llama.read_bare}

TAGS = (*_TAGGED, *harmony.OPENERS)
"""Tags that begin a call at the beginning of a line or after a sentence."""
AT_LINE_START = (*_FENCED, "functools[")
AT_START = (*_WHOLE, harmony.ADDRESS)
"""Tags that begin a call only at the beginning of the answer."""
ONLY_ALONE = frozenset((*_FENCED, *_WHOLE))
"""Tags that also begin examples in JSON or Python. A call counts only at the end of the answer, and only one."""
READERS: dict[str, _Reader] = {**_TAGGED, **_FENCED, **_WHOLE, "functools[": phi.read_functools}

THOUGHTS = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "<|channel>thought": "<channel|>",
}
"""Opening and closing tags of reasoning at the very beginning of an answer. Harmony has its own."""
