"""Turn the result of a call into text for the model, and find its images."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import msgspec


class CallText(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call as text that is not bounded yet."""

    ok: bool
    text: str


class Images(Protocol):
    """Takes the images of a result."""

    def take(self, data: str) -> str:
        """Keep an image in base64 for the model. Returns what a line of the result says about it."""
        ...


def call_text(result: Mapping[str, Any], images: Images) -> CallText:
    """Return the text of a result. Images, audio and binary resources become a line that describes them."""
    content = result.get("content")
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    parts = [_block(cast("dict[str, Any]", block), images) for block in blocks if isinstance(block, dict)]
    structured = result.get("structuredContent")
    if structured is not None and not _is_known(structured, parts):
        parts.append(json.dumps(structured, ensure_ascii=False, indent=1))
    return CallText(ok=result.get("isError") is not True, text="\n".join(part for part in parts if part))


def _block(block: Mapping[str, Any], images: Images) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" if isinstance(block.get("data"), str):
            return f"[image {block.get('mimeType', '')}, {_size(block['data'])}: {images.take(block['data'])}]"
        case "image" | "audio" as kind:
            return f"[{kind} {block.get('mimeType', '')}, {_size(block.get('data'))}: not shown]"
        case "resource_link":
            words = (block.get("title") or block.get("name"), block.get("description"))
            return f"[resource {block.get('uri', '')}: {' - '.join(str(word) for word in words if word)}]"
        case "resource":
            inner = block.get("resource")
            return _resource(cast("dict[str, Any]", inner), images) if isinstance(inner, dict) else ""
        case other:
            return f"[content of an unknown type: {other}]"


def _resource(resource: Mapping[str, Any], images: Images) -> str:
    head = f"[resource {resource.get('uri', '')}"
    if isinstance(resource.get("text"), str):
        return f"{head}]\n{resource['text']}"
    media, data = str(resource.get("mimeType", "")), resource.get("blob")
    shown = images.take(data) if media.startswith("image/") and isinstance(data, str) else "not shown"
    return f"{head} {media}, {_size(data)}: {shown}]"


def _size(data: object) -> str:
    """Return the size of data in base64."""
    return f"{len(data) * 3 // 4:,} bytes" if isinstance(data, str) else "no data"


def _is_known(value: object, texts: Sequence[str]) -> bool:
    """Return whether the texts have the content of a value already: as JSON, or as its only field."""
    if isinstance(value, dict):
        fields = list(cast("dict[str, object]", value).values())
        if len(fields) == 1 and fields[0] in texts:
            return True
    return any(_is_same(text, cast(object, value)) for text in texts)


def _is_same(text: str, value: object) -> bool:
    """Return whether a text is the JSON of the value; servers often send both."""
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False
