"""Answers that real providers gave, from the folder that `RUNDRY_RECORDINGS` names, and a server that replays them.

`answers.json.gz` is a list of conversations: `{id, wire, provider, model, turns}`, each turn with `status`, `headers`,
`body_b64` and `expected`, which is what an independent parser reads in the body.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

_HOP = {"content-length", "transfer-encoding", "content-encoding", "connection", "keep-alive", "set-cookie", "date"}
SPLITS = ("whole", "lines", "random")


@dataclass(frozen=True)
class Recording:
    """One recorded answer."""

    name: str
    wire: str
    """`openai`, `responses`, `anthropic`, `gemini`, `cohere`, `converse` or `invoke`."""
    provider: str
    model: str
    status: int
    headers: dict[str, str]
    body: bytes
    expected: dict[str, Any] | None
    request: dict[str, Any]
    """What the recording project sent."""

    @property
    def is_compared(self) -> bool:
        """The independent parser reads this format; of Bedrock's invoke API it reads Claude's answers only."""
        return self.expected is None or "not-anthropic" not in self.expected["notes"]

    @property
    def has_several_choices(self) -> bool:
        """The recording project asked for several answers at once; rundry never does."""
        return self.wire == "openai" and re.search(rb'"index": ?[1-9]\d*, ?"delta"', self.body) is not None

    def pieces(self, split: str) -> Iterator[bytes]:
        """The body in pieces: whole, by lines, or cut at random bytes (the same ones each time)."""
        match split:
            case "whole":
                yield self.body
            case "lines":
                yield from self.body.splitlines(keepends=True)
            case "half":
                yield self.body[: len(self.body) // 2]
            case _:
                rng, at = random.Random(self.name), 0
                while at < len(self.body):
                    size = rng.choice([1, 2, 3, 7, rng.randint(1, 200), rng.randint(1, 4000)])
                    yield self.body[at : at + size]
                    at += size


def _json(text: str) -> dict[str, Any]:
    try:
        return json.loads(text)
    except ValueError:  # a few requests were not recorded whole
        return {}


def recordings() -> list[Recording]:
    """All answers of the folder; none where no folder is named."""
    folder = os.environ.get("RUNDRY_RECORDINGS")
    if not folder:
        return []
    with gzip.open(Path(folder) / "answers.json.gz") as file:
        conversations = json.load(file)
    return [
        Recording(
            name=f"{c['id']}-{i}",
            wire=c["wire"],
            provider=c["provider"],
            model=c["model"],
            status=turn["status"],
            headers={k: v for k, v in turn["headers"].items() if k.lower() not in _HOP},
            body=base64.b64decode(turn["body_b64"]),
            expected=turn["expected"],
            request=_json(turn["request"]),
        )
        for c in conversations
        for i, turn in enumerate(c["turns"])
    ]


SAME_NAME = frozenset(
    {"azure", "deepseek", "groq", "huggingface", "mistral", "openai", "openrouter", "perplexity", "xai", "zai"}
)  # fmt: skip
"""Providers of the recordings that the product knows under the same name."""

KEYS = {
    "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GROQ_API_KEY": "k", "DEEPSEEK_API_KEY": "k", "HF_TOKEN": "k",
    "MISTRAL_API_KEY": "k", "OPENROUTER_API_KEY": "k", "PERPLEXITYAI_API_KEY": "k", "XAI_API_KEY": "k",
    "ZAI_API_KEY": "k", "GEMINI_API_KEY": "k", "COHERE_API_KEY": "k", "AZURE_API_KEY": "k",
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "s" * 40, "AWS_REGION_NAME": "us-east-1",
}  # fmt: skip


def name_of(recording: Recording) -> str:
    """The name under which the product opens the recorded model."""
    model = recording.model.replace("%3A", ":") or "fake"
    match recording.wire:
        case "openai":
            return f"{recording.provider}/{model}" if recording.provider in SAME_NAME else f"openai/{model}"
        case "responses":
            return f"{'azure' if recording.provider == 'azure' else 'openai'}/responses/{model}"
        case "anthropic":
            return f"anthropic/{model}"
        case "gemini":
            return f"gemini/{model}"
        case "cohere":
            return f"cohere_chat/{model}"
        case "converse":
            return f"bedrock/converse/{model}"
        case _:
            return f"bedrock/invoke/{model}"


class Replay:
    """Answers every POST below `/NAME/SPLIT/` with the recording of that name; GETs are not found."""

    def __init__(self, all_: list[Recording]) -> None:
        self._all = {r.name: r for r in all_}
        self.bodies: dict[str, bytes] = {}
        """The last request of each recording."""

    @property
    def routes(self) -> dict[str, Any]:
        return {"POST /{name}/{split}/{rest:.*}": self._answer}

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        recording = self._all[request.match_info["name"]]
        self.bodies[recording.name] = await request.read()
        response = web.StreamResponse(status=recording.status, headers=recording.headers)
        await response.prepare(request)
        for piece in recording.pieces(request.match_info["split"]):
            await response.write(piece)
        await response.write_eof()
        return response


_FAULTS = (
    (r"too many tokens|maximum context length|messages is too long|exceeds the maximum number of tokens", "context"),
    (r"API key not valid|invalid x-api-key|Invalid API key|security token|invalid subscription key", "auth"),
    (
        r"does not exist|is not found|was removed|identifier is invalid|models?.*not found|model: claude",
        "unknown-model",
    ),
    (r"rate.limit", "rate-limit"),
    ("", "bad-request"),
)
"""What a person reads in the recorded errors."""


def fault_kind(recording: Recording) -> str:
    """The kind that a person gives the recorded error."""
    text = recording.body.decode(errors="replace")
    return next(kind for shape, kind in _FAULTS if re.search(shape, text, re.I | re.S))


def breaks_off(recording: Recording) -> bool:
    """The server reported an error in the middle of its answer (llama.cpp's line of its own)."""
    return re.search(rb"^error: ", recording.body, re.M) is not None
