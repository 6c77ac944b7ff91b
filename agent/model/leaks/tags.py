"""The opening tags of all families, and where in an answer each counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from ...protocol import ToolCall
from .families import coder, deepseek, fenced, gemma, harmony, invoke, kimi, llama, minimax, mistral, phi, tagged
from .offer import OfferedTools
from .source import Source, Steps

_Reader: TypeAlias = Callable[[Source, OfferedTools], Steps[list[ToolCall]]]

_TAGGED: dict[str, _Reader] = {
    "<tool_call>": tagged.read,
    "<function_call>": partial(tagged.read_json, close="</function_call>"),
    "<tools>": partial(tagged.read_json, close="</tools>"),
    "<tool_calls>": partial(minimax.read, close="</tool_calls>"),
    "<TOOLCALL>": partial(minimax.read, close="</TOOLCALL>"),
    "<seed:tool_call>": partial(coder.read_all, close="</seed:tool_call>"),
    "<function=": coder.read,
    "<|python_tag|>": llama.read,
    "[TOOL_CALLS]": mistral.read,
    "<｜tool▁calls▁begin｜>": deepseek.read,
    "<｜tool_calls_begin｜>": deepseek.read,
    "<｜tool calls begin｜>": deepseek.read,
    "<｜tool▁calls｜>": deepseek.read,
    "<｜DSML｜function_calls>": partial(invoke.read, mark="｜DSML｜", close="</｜DSML｜function_calls>"),
    "<｜DSML｜tool_calls>": partial(invoke.read, mark="｜DSML｜", close="</｜DSML｜tool_calls>"),
    "<function_calls>": partial(invoke.read, mark="", close="</function_calls>"),
    "<minimax:tool_call>": partial(invoke.read, mark="", close="</minimax:tool_call>"),
    "<|tool_calls_section_begin|>": kimi.read,
    "<|tool_call|>": phi.read,
    "<|tool_call>": partial(gemma.read, quote='<|"|>', close="<tool_call|>"),
    "<start_function_call>": partial(gemma.read, quote="<escape>", close="<end_function_call>"),
}
_FENCED: dict[str, _Reader] = {
    "```json\n": fenced.read_json,
    "```tool_call\n": fenced.read_json,
    "```tool_code\n": fenced.read_python,
}
_WHOLE: dict[str, _Reader] = {"{": llama.read_bare}

TAGS = (*_TAGGED, *harmony.OPENERS)
"""Tags that begin a call at the beginning of a line or after a sentence."""
AT_LINE_START = (*_FENCED, "functools[")
AT_START = (*_WHOLE, harmony.ADDRESS)
"""Tags that begin a call only at the beginning of the answer."""
ONLY_ALONE = frozenset((*_FENCED, *_WHOLE))
"""Tags that also begin examples in JSON or Python. A call counts only at the end of the answer, and only one."""
READERS: dict[str, _Reader] = {**_TAGGED, **_FENCED, **_WHOLE, "functools[": phi.read_functools}

STOPS = (
    "<|call|>",
    "<|end|>",
    "<|return|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|observation|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "<turn|>",
    "<start_function_response>",
    "<|tool_response>",
    "</s>",
    "[e~[",
)
"""Tokens that end a turn. After a call they are not part of the text."""

THOUGHTS = {
    "<think>": "</think>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "<|channel>thought": "<channel|>",
}
"""Opening and closing tags of reasoning at the very beginning of an answer. Harmony has its own."""
