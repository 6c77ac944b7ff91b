"""Decide by the words in a tag's name whether the tag may hold calls, for example `<tools>` or `<function_call>`."""

from __future__ import annotations

import re

DSML = "｜DSML｜"
"""DeepSeek's mark before the names of its tags."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CALLING = re.compile(r"(?:tool|function|func|call|calling|invoke|invocation|action|use)+s?")
_NOT_A_CALL = re.compile(r"(?:name|id|result|response|output|return|error|schema|definition|description|list)s?")
_ALONE = frozenset({"use", "uses"})
_ENDS_WITH_TAG = re.compile(rf"<((?:{DSML})?[A-Za-z][\w:.-]*)[^<>\n]*>$")


def is_about_calls(name: str) -> bool:
    """Return whether a name says that calls follow: `tool_calls`, `ToolUse`, `seed:function`; not `tool_result`."""
    words = [word.lower() for word in _WORD.findall(name)]
    calling = [word for word in words if _CALLING.fullmatch(word)]
    return bool(set(calling) - _ALONE) and not any(_NOT_A_CALL.fullmatch(word) for word in words)


def ends_with_call_tag(text: str) -> bool:
    """Return whether the text ends with an opening tag that is about calls."""
    found = _ENDS_WITH_TAG.search(text)
    return found is not None and is_about_calls(found[1])
