"""Answers of the providers that litellm reaches, in each one's own format, over HTTP."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from aiohttp import web
from fakes.providers.clouds import CALLS, CLOUDS, CONVERSE, GEMINI, KEYS, RESPONSES, TEXT, THOUGHT, Cloud

from rundry.agent.protocol import (
    CallPart,
    EndPart,
    Message,
    ModelFault,
    OpaquePart,
    OpaqueRef,
    ToolCall,
    UsagePart,
)


class Server:
    """Answers with what it is given and keeps the bodies of the requests."""

    def __init__(
        self, body: bytes, content_type: str, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self.body, self.content_type, self.status, self.headers = body, content_type, status, headers or {}
        self.paths: list[str] = []
        self.asked: list[Any] = []

    @property
    def routes(self) -> dict[str, Any]:
        return {"POST /{path:.*}": self._answer}

    async def _answer(self, request: web.Request) -> web.Response:
        self.paths.append(request.path)
        self.asked.append(await request.json())
        headers = {"Content-Type": self.content_type, **self.headers}
        return web.Response(status=self.status, body=self.body, headers=headers)


@pytest.fixture(params=CLOUDS.values(), ids=CLOUDS.keys())
def cloud(request) -> Cloud:
    return request.param


@pytest.fixture
def ask_cloud(opened, serve):
    """Opens the cloud's model at a server that answers with `events`, the whole answer where none are given."""

    async def _ask_cloud(cloud: Cloud, events: Any = None, **more: Any) -> tuple[Any, Server]:
        body = cloud.encode(cloud.events if events is None else events)
        server = Server(body, cloud.content_type)
        asked = await opened(await serve(server.routes), cloud.name, env=KEYS, context=200_000, **more)
        return asked, server

    return _ask_cloud


async def test_text_reasoning_calls_usage_and_finish_come_through(cloud, ask_cloud, capfd):
    asked, server = await ask_cloud(cloud)
    await asked.ask()
    assert server.paths[0].endswith(cloud.path)
    assert (asked.text, asked.reasoning) == (TEXT, THOUGHT)
    assert [(p.call.tool, json.loads(p.call.arguments)) for p in asked.of(CallPart)] == CALLS
    tokens = asked.of(UsagePart)[0].tokens
    assert (tokens.in_, tokens.out, tokens.cached, tokens.reasoning) == cloud.usage
    assert asked.of(EndPart) == [EndPart("tool_calls")]
    assert capfd.readouterr().err == ""


async def test_a_stream_that_ends_before_its_finish_is_cut_and_makes_no_call(cloud, ask_cloud):
    for end in range(cloud.finish_at):
        asked, _ = await ask_cloud(cloud, cloud.events[:end])
        with pytest.raises(ModelFault) as caught:
            await asked.ask()
        assert (caught.value.kind, caught.value.retryable, asked.of(CallPart)) == ("cut", True, [])


async def test_an_error_has_its_kind_its_delay_and_the_providers_sentence(cloud, opened, serve, capfd):
    status, headers, body = cloud.error
    server = Server(json.dumps(body).encode(), "application/json", status, headers)
    asked = await opened(await serve(server.routes), cloud.name, env=KEYS, context=200_000)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    fault = caught.value
    sentence = body.get("message") or body["error"]["message"]
    assert (fault.kind, fault.retry_after, fault.status) == (cloud.kind, cloud.delay, status)
    assert fault.text.endswith(sentence) and "Error" not in fault.text and len(server.asked) == 1
    assert capfd.readouterr().err == ""


async def _second_body(cloud: Cloud, ask_cloud: Any, **more: Any) -> Any:
    """What the provider is sent after its own answer and the results of both calls."""
    asked, server = await ask_cloud(cloud, **more)
    await asked.ask()
    opaque = asked.of(OpaquePart)[0].opaque
    calls = [
        ToolCall(call_id=f"r{i}", tool=p.call.tool, arguments=p.call.arguments)
        for i, p in enumerate(asked.of(CallPart))
    ]
    ref = OpaqueRef(maker=opaque.maker, sha="d")
    messages = [
        Message(role="system", text="Be brief."),
        Message(role="user", text="go"),
        Message(role="assistant", text=asked.text, calls=calls, opaque=ref),
        *(Message(role="tool", text=f"content {i}", call_id=c.call_id) for i, c in enumerate(calls)),
    ]
    await asked.ask(messages=messages, blobs={"d": msgspec.json.encode(opaque.data)})
    return server.asked[1]


async def test_gemini_gets_its_signatures_back_on_text_and_call(ask_cloud):
    body = await _second_body(GEMINI, ask_cloud)
    parts = next(c["parts"] for c in body["contents"] if c["role"] == "model")
    kept = [(p.get("text") or p["function_call"]["args"], p.get("thoughtSignature")) for p in parts]
    assert kept == [(TEXT, "c2lnLXRleHQ="), (CALLS[0][1], "c2lnLWNhbGw="), (CALLS[1][1], None)]


async def test_responses_gets_its_encrypted_reasoning_back_in_order(ask_cloud):
    body = await _second_body(RESPONSES, ask_cloud)
    assert (body["store"], body["include"], body["instructions"]) == (
        False,
        ["reasoning.encrypted_content"],
        "Be brief.",
    )
    items = [i for i in body["input"] if i.get("role") != "user"]
    assert [i["type"] for i in items] == [
        "reasoning", "message", "function_call", "function_call", "function_call_output", "function_call_output",
    ]  # fmt: skip
    assert items[0] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": THOUGHT}],
        "encrypted_content": "ZW5jcnlwdGVk",
    }
    assert (items[1]["content"][0]["text"], items[1]["phase"]) == (TEXT, "commentary")
    assert [(i["call_id"], json.loads(i["arguments"])) for i in items[2:4]] == [
        ("r0", CALLS[0][1]),
        ("r1", CALLS[1][1]),
    ]


async def test_bedrock_gets_its_signed_and_its_redacted_reasoning_back(ask_cloud):
    body = await _second_body(CONVERSE, ask_cloud)
    content = next(m["content"] for m in body["messages"] if m["role"] == "assistant")
    assert content[:2] == [
        {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
        {"reasoningContent": {"reasoningText": {"text": THOUGHT, "signature": "c2lnbmF0dXJl"}}},
    ]
    assert content[2] == {"text": TEXT}
    assert [c["toolUse"]["input"] for c in content if "toolUse" in c] == [CALLS[0][1], CALLS[1][1]]


async def test_reasoning_of_another_provider_is_not_sent(ask_cloud):
    asked, server = await ask_cloud(GEMINI)
    ref = OpaqueRef(maker="gemini at http://elsewhere", sha="d")
    messages = [Message(role="user", text="go"), Message(role="assistant", text="so", opaque=ref)]
    data = msgspec.json.encode({"signatures": {"text": "c2ln", "calls": {}}})
    await asked.ask(messages=[*messages, Message(role="user", text="on")], blobs={"d": data})
    assert "c2ln" not in json.dumps(server.asked[0])
