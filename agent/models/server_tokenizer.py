"""Ask a model server's own tokenizer how it counts, once when the model is opened.

Our own count (`counting.py`) uses an OpenAI encoding. For a model with another vocabulary it is wrong by a share that
depends on the vocabulary, and the chat template writes tools at greater length than our count assumes (Qwen2.5: 25 %
more tokens for 16 tools, and no difference for text). Asking the server about each prompt would add a request to each
call. So rundry asks for the sizes of a few fixed samples, and scales its own count with them. The rest of the
difference, for example because a conversation has more digits, is learned from its own calls
(`budget/count_margin.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ..protocol import ToolSpec
from .ask_servers import NoServer, ask
from .lanes.chat_request import tools_to_wire
from .served_fields import positive

if TYPE_CHECKING:
    from .ask_servers import ServerInfo
    from .endpoint import Endpoint

_SECONDS = 2.0
"""Time-out of one request. A server without an answer in time is not asked further."""

SAMPLE_TEXT = '''The check failed: 2 of 14 tests did not pass. Read the first failure, then change little.

```python
def merge(first: list[int], second: list[int]) -> list[int]:
    """Return both lists in one, sorted. Neither list is changed."""
    result, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        if first[i] <= second[j]:
            result.append(first[i])
            i += 1
        else:
            result.append(second[j])
            j += 1
    return result + first[i:] + second[j:]
```

    @@ -41,7 +41,7 @@ class Basket:
    -        return sum(line.price for line in self.lines)
    +        return sum(line.price * line.count for line in self.lines)

E       AssertionError: assert 1240.5 == 1302.75
tests/test_basket.py:27: AssertionError

{"path": "till/basket.py", "start_line": 41, "end_line": 58, "found": ["price", "count"], "done": false}
'''
"""A text like a prompt of rundry: prose, code, a diff, the output of a check, JSON."""


def _tool(name: str, description: str, **fields: str) -> ToolSpec:
    properties = {field: {"type": "string", "description": text} for field, text in fields.items()}
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": [*fields][:1]})


ONE_TOOL: Sequence[ToolSpec] = [
    _tool("read_file", "Read a file, or some of its lines.", path="Path of the file, relative to the workspace."),
]
MORE_TOOLS: Sequence[ToolSpec] = [
    *ONE_TOOL,
    _tool("search", "Search the files with a regular expression.", pattern="What to search for.", glob="Which files."),
    _tool("run_command", "Run a command in the workspace. Its output is cut.", command="The command line.", why="Why."),
    _tool("write_file", "Write a whole file. It may replace one.", path="Path of the file.", content="Its text."),
]


class SampleSizes(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of the samples by the server's own count."""

    text: int
    """Tokens of `SAMPLE_TEXT`."""
    one_tool: int | None = None
    """Tokens that `ONE_TOOL` adds to a prompt. None means that the server does not say. 0 means that the chat template
    ignores tools."""
    more_tools: int | None = None
    """Tokens that `MORE_TOOLS` adds."""


async def ask_tokenizer(info: ServerInfo, at: Endpoint) -> SampleSizes | None:
    """Return the server's count of the samples, or None if it does not offer one. Never raises for a server's fault."""
    server = _Tokenizer(info, at)
    try:
        text = await server.count_text(SAMPLE_TEXT)
        if text is None:
            return None
        # One after the other: a server with few threads would close the connections that it does not need any more.
        sizes = [await server.count_tools(tools) for tools in ((), ONE_TOOL, MORE_TOOLS)]
    except NoServer:
        return None
    bare, one, more = sizes
    if bare is None or one is None or more is None or not (bare < one < more or bare == one == more):
        return SampleSizes(text=text)
    return SampleSizes(text=text, one_tool=one - bare, more_tools=more - bare)


class _Tokenizer:
    """The requests of llama.cpp's server, of vLLM, and of `llama_cpp.server`, which counts only text."""

    def __init__(self, info: ServerInfo, at: Endpoint) -> None:
        self._kind, self._at = info.kind, at
        self._root = info.api_base.removesuffix("/v1")

    async def count_text(self, text: str) -> int | None:
        if self._kind == "llama.cpp":
            return _length(await self._post("/tokenize", {"content": text}))
        if self._kind == "vllm":
            body = {"model": self._at.model, "prompt": text, "add_special_tokens": False}
            return positive((await self._post("/tokenize", body)).get("count"))
        if self._kind == "openai-compatible":
            return positive((await self._post("/extras/tokenize/count", {"input": text})).get("count"))
        return None

    async def count_tools(self, tools: Sequence[ToolSpec]) -> int | None:
        body: dict[str, Any] = {"model": self._at.model, "messages": [{"role": "user", "content": "go"}]}
        if tools:
            body["tools"] = tools_to_wire(tools)
        if self._kind == "vllm":
            return positive((await self._post("/tokenize", body)).get("count"))
        if self._kind != "llama.cpp":
            return None
        prompt = (await self._post("/apply-template", body)).get("prompt")
        if not isinstance(prompt, str):
            return None
        return _length(await self._post("/tokenize", {"content": prompt, "parse_special": True}))

    async def _post(self, path: str, body: object) -> Mapping[str, Any]:
        """Return the JSON object of the answer; empty for any other answer."""
        headers = {"Authorization": f"Bearer {self._at.key}"} if self._at.key else {}
        url = f"{self._root}{path}"
        answer = await ask("POST", url, seconds=_SECONDS, headers=headers, local=self._at.local, body=body)
        return {} if answer is None or answer.object is None else answer.object


def _length(answer: Mapping[str, Any]) -> int | None:
    tokens = answer.get("tokens")
    return (len(cast(list[object], tokens)) or None) if isinstance(tokens, list) else None


def tool_text(tool: ToolSpec) -> str:
    """Return a tool as most chat templates write it: JSON with spaces (Jinja's `tojson`)."""
    return json.dumps(tools_to_wire([tool])[0], ensure_ascii=False)
