"""What a scripted model says: one Turn is one answer. Shared by the HTTP server and the in-process model."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

CALL_TOKENS = 12
"""Billed for a call besides its arguments."""

_WORDS = ("rivers", "carry", "small", "stones", "past", "every", "village", "until", "their", "edges", "shine", "again")


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` as text goes out as it is, also where it is no JSON."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    call_id: str | None = None

    @property
    def json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class HttpError:
    """An answer other than 200."""

    status: int
    message: str = "scripted error"
    kind: str = "scripted"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    """The whole body as it is (an HTML page), instead of the usual error object."""


@dataclass(frozen=True)
class Turn:
    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    tokens: int | None = None
    """So many generated words instead of `text`."""
    rate: float = 0.0
    """Pieces a second; 0 means no delay."""
    delay: float = 0.0
    """Seconds before the first byte."""
    error: HttpError | None = None
    drop_after: int | None = None
    """The number of pieces of text after which the connection breaks."""
    hold_after: int | None = None
    """The number of pieces after which the answer waits for `release()`, or until the client disconnects."""
    raw: bytes | None = None
    """The body of the answer, byte by byte as given, with status 200."""
    raw_type: str = "text/event-stream"
    usage: dict[str, Any] | None = None
    """The usage block as it is, instead of the counted one."""
    no_usage: bool = False
    finish: str | None = None
    """The finish reason as it is, instead of the true one."""
    cached: int = 0
    reasoning_tokens: int = 0

    @property
    def pieces(self) -> list[str]:
        return words(self.tokens) if self.tokens is not None else split(self.text)

    @property
    def billed(self) -> int:
        calls = sum(CALL_TOKENS + len(split(call.json)) for call in self.calls)
        return len(split(self.reasoning)) + len(self.pieces) + calls

    def cut(self, limit: int | None) -> tuple[Turn, bool]:
        """The answer as a provider cuts it at `max_tokens`, also inside a call; and whether it was cut."""
        if limit is None or self.billed <= limit:
            return self, False
        left = limit
        reasoning = split(self.reasoning)[:left]
        left -= len(reasoning)
        text = self.pieces[:left]
        left -= len(text)
        calls: list[Call] = []
        for call in self.calls:
            if left <= CALL_TOKENS:
                break
            arguments = split(call.json)[: left - CALL_TOKENS]
            left -= CALL_TOKENS + len(arguments)
            calls.append(replace(call, arguments="".join(arguments)))
        kept = replace(self, reasoning="".join(reasoning), calls=tuple(calls))
        if self.tokens is not None:
            return replace(kept, tokens=len(text)), True
        return replace(kept, text="".join(text)), True


def split(text: str) -> list[str]:
    """About one piece a token; they join back to the text."""
    return re.findall(r"\s*\S{1,5}|\s+", text)


def words(count: int) -> list[str]:
    """Generated prose in paragraphs, the same on every call; every hundredth word is its number."""
    pieces: list[str] = []
    for i in range(count):
        word = str(i) if i % 100 == 99 else _WORDS[(i * 5 + i // 17) % len(_WORDS)]
        pieces.append(("\n\n" if i % 90 == 89 else " ") + word)
    return pieces


def say(text: str, **more: Any) -> Turn:
    return Turn(text=text, **more)


def call(name: str, /, **arguments: Any) -> Turn:
    """A turn that only calls one tool."""
    return Turn(calls=(Call(name, arguments),))


def calls(*wanted: Call, text: str = "", **more: Any) -> Turn:
    return Turn(text=text, calls=wanted, **more)


def finish(answer: str, *citations: Any) -> Turn:
    return call("finish", answer=answer, citations=list(citations))


def edit(path: str, old: str, new: str, text: str = "") -> Turn:
    return Turn(text=text, calls=(Call("edit_file", {"path": path, "edits": [{"old_text": old, "new_text": new}]}),))


def from_json(data: dict[str, Any]) -> Turn:
    """A turn as it stands in a script file: the fields of Turn, calls as {name, arguments}, error as {status, ...}."""
    data = dict(data)
    if "calls" in data:
        data["calls"] = tuple(Call(**c) for c in data["calls"])
    if "error" in data:
        data["error"] = HttpError(**data["error"])
    if "raw" in data:
        data["raw"] = data["raw"].encode()
    return Turn(**data)
