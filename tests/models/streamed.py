"""A fragment of a tool call."""

from __future__ import annotations


def call(index: int, *, id: str | None = None, name: str | None = None, arguments: str = "") -> dict[str, object]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {"tool_calls": [{"index": index, **({"id": id, "type": "function"} if id else {}), "function": function}]}
