"""How much of a request Anthropic would read from its cache ("Prompt caching"): marks, lookback, and what voids it."""

from __future__ import annotations

import json
from typing import Any

LOOKBACK, MARKS = 20, 4


class AnthropicCache:
    """Counts characters. Nothing expires, and the shortest cacheable prompt is not modelled."""

    def __init__(self) -> None:
        self._written: set[str] = set()
        self._sent: set[str] = set()
        self.read, self.readable = 0, 0
        """Characters that marks made readable, and those that an earlier request had sent in the same place."""

    def request(self, body: dict[str, Any]) -> float:
        """Return the share of this request's repeated beginning that is read from the cache."""
        blocks = _blocks(body)
        prefixes, sizes, key = [], [], ""
        for text, _ in blocks:
            key = str(hash((key, text)))
            prefixes.append(key)
            sizes.append(sizes[-1] + len(text) if sizes else len(text))
        marks = [i for i, (_, marked) in enumerate(blocks) if marked]
        assert len(marks) <= MARKS, f"{len(marks)} marks"
        found = [i for mark in marks for i in range(max(0, mark - LOOKBACK), mark + 1) if prefixes[i] in self._written]
        known = [i for i, prefix in enumerate(prefixes) if prefix in self._sent]
        read, readable = (sizes[max(found)] if found else 0), (sizes[max(known)] if known else 0)
        self._written.update(prefixes[i] for i in marks)
        self._sent.update(prefixes)
        self.read += read
        self.readable += readable
        return read / readable if readable else 1.0


def _blocks(body: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the blocks in the order of the cache: tools, system, messages. The choice of a tool voids the messages."""
    choice = json.dumps([body.get("tool_choice"), body.get("thinking")])
    found = [*body.get("tools", []), *body.get("system", [])]
    blocks = [(json.dumps(_unmarked(one), sort_keys=True), "cache_control" in one) for one in found]
    for message in body["messages"]:
        for one in message["content"]:
            blocks.append(
                (choice + message["role"] + json.dumps(_unmarked(one), sort_keys=True), "cache_control" in one)
            )
    return blocks


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "cache_control"}
