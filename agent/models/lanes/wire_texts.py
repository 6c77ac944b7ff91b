"""Prepare a conversation's texts for any wire format."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Any

import msgspec

from ..call_fragments import is_object

_NAME = re.compile(r"[^a-zA-Z0-9_-]")
CACHE_MARK = {"type": "ephemeral"}
"""Anthropic, "Prompt caching": everything up to a marked block is cached for five minutes."""
EMPTY = "(nothing)"
"""Placeholder, because Anthropic and Bedrock refuse a message without text."""


def encodable(text: str) -> str:
    """Remove lone surrogates (a file name that is not UTF-8), which a request cannot contain."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=1024)
def arguments_json(text: str) -> str:
    """Return a call's arguments as one JSON object. Broken JSON is wrapped, because several servers fail on it."""
    if is_object(text):
        return text
    return msgspec.json.encode({"not_json": encodable(text)}).decode() if text.strip() else "{}"


def arguments_object(text: str) -> dict[str, Any]:
    """Return a call's arguments as a dict."""
    return msgspec.json.decode(arguments_json(text), type=dict[str, Any])


def tool_name(name: str) -> str:
    """Return a name that providers accept: letters, digits, `_`, `-`; at most 64 characters."""
    return _NAME.sub("_", name)[:64] or "unnamed"


def short_id(call_id: str) -> str:
    """Return nine letters and digits, always the same for the same id."""
    return hashlib.sha256(call_id.encode()).hexdigest()[:9]
