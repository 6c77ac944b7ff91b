"""What single providers behind litellm do: Bedrock's frames and models, answers in one piece, effort, credentials."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp import web
from fakes.providers.clouds import (
    AWS,
    CALLS,
    CONVERSE,
    GEMINI,
    KEYS,
    RESPONSES,
    TEXT,
    THOUGHT,
    frame,
    frames,
    invoke_frames,
)

from rundry.agent.protocol import CallPart, EndPart, Message, ModelFault, OpaquePart, OpaqueRef, UsagePart

FRAMES = "application/vnd.amazon.eventstream"
AZURE = "azure/gpt-4o"
CLAUDE = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


@pytest.fixture
def ask_at(opened, serve):
    """Opens a model at a server that always answers with `body`; `sent` collects path and JSON of the requests."""

    async def _ask_at(name: str, body: bytes, kind: str = "text/event-stream", **more: Any) -> tuple[Any, list[Any]]:
        sent: list[Any] = []

        async def answer(request: web.Request) -> web.Response:
            sent.append((request.path, await request.json()))
            return web.Response(body=body, headers={"Content-Type": kind})

        base = await serve({"POST /{path:.*}": answer})
        return await opened(base, name, env=more.pop("env", KEYS), context=200_000, **more), sent

    return _ask_at


def _claude(*blocks: dict[str, Any], stop: str) -> list[dict[str, Any]]:
    """An answer of Claude: each block whole."""
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": {"input_tokens": 26}}}]
    for i, block in enumerate(blocks):
        events.append({"type": "content_block_start", "index": i, "content_block": block})
        events.append({"type": "content_block_stop", "index": i})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}})
    return [*events, {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 26}}]


async def test_claude_behind_invoke_comes_through_and_gets_its_signature_back(ask_at):
    thinking = {"type": "thinking", "thinking": THOUGHT, "signature": "c2ln"}
    events = _claude(thinking, {"type": "text", "text": TEXT}, stop="end_turn")
    asked, sent = await ask_at(f"bedrock/invoke/{CLAUDE}", invoke_frames(events), FRAMES)
    await asked.ask()
    assert (asked.text, asked.reasoning, asked.of(EndPart)) == (TEXT, THOUGHT, [EndPart("stop")])
    opaque = asked.of(OpaquePart)[0].opaque
    before = Message(role="assistant", text=TEXT, opaque=OpaqueRef(maker=opaque.maker, sha="d"))
    messages = [Message(role="user", text="go"), before, Message(role="user", text="on")]
    await asked.ask(messages=messages, blobs={"d": json.dumps(opaque.data).encode()})
    content = sent[1][1]["messages"][1]["content"]
    assert [(b["type"], b.get("signature")) for b in content] == [("thinking", "c2ln"), ("text", None)]


async def test_other_vendors_behind_invoke_come_through(ask_at):
    metrics = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 5, "outputTokenCount": 2}}
    nova = [
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": TEXT}}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 2}}, **metrics},
    ]
    titan = [
        {"outputText": TEXT, "completionReason": None},
        {"outputText": "", "completionReason": "FINISH", **metrics},
    ]
    llama = [{"generation": TEXT, "stop_reason": None}, {"generation": "", "stop_reason": "stop", **metrics}]
    models = {
        "amazon.nova-lite-v1:0": nova,
        "amazon.titan-text-lite-v1": titan,
        "meta.llama3-8b-instruct-v1:0": llama,
    }
    for model, events in models.items():
        asked, _ = await ask_at(f"bedrock/invoke/{model}", invoke_frames(events), FRAMES)
        await asked.ask(tools=[])
        tokens = asked.of(UsagePart)[0].tokens
        assert (asked.text, tokens.in_, tokens.out, asked.of(EndPart)) == (TEXT, 5, 2, [EndPart("stop")])


async def test_a_model_that_cannot_use_tools_is_refused_in_one_line(ask_at):
    asked, sent = await ask_at("bedrock/invoke/amazon.titan-text-lite-v1", b"", FRAMES)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retryable, sent) == ("bad-request", False, [])
    assert caught.value.text == "bedrock/invoke/amazon.titan-text-lite-v1 does not accept tools: choose another model"


@pytest.mark.parametrize(
    ("name", "kind", "delay"),
    [
        ("throttlingException", "rate-limit", True),
        ("validationException", "bad-request", False),
        ("modelStreamErrorException", "cut", True),
        ("internalServerException", "cut", True),
    ],
)
async def test_an_exception_in_bedrocks_stream_has_its_kind(ask_at, name, kind, delay):
    body = frames(CONVERSE.events[:4]) + frame(name, b'{"message":"Not now."}', kind="exception")
    asked, _ = await ask_at(CONVERSE.name, body, FRAMES)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retryable) == (kind, delay)
    assert caught.value.text.endswith("Not now.")


async def test_a_frame_with_a_wrong_checksum_breaks_the_answer_off(ask_at):
    body = bytearray(frames(CONVERSE.events))
    body[len(body) // 2] ^= 1
    asked, _ = await ask_at(CONVERSE.name, bytes(body), FRAMES)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, asked.of(CallPart)) == ("cut", [])


async def test_an_answer_in_one_piece_is_read(ask_at):
    whole = {
        "candidates": [{"content": {"parts": [{"text": TEXT}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2},
    }
    asked, _ = await ask_at(GEMINI.name, json.dumps(whole).encode(), "application/json")
    await asked.ask()
    assert (asked.text, asked.of(EndPart)) == (TEXT, [EndPart("stop")])
    items = [e["item"] for e in RESPONSES.events if e["type"] == "response.output_item.done"]
    response = {**RESPONSES.events[-1]["response"], "output": items}
    asked, _ = await ask_at(RESPONSES.name, json.dumps(response).encode(), "application/json")
    await asked.ask()
    assert (asked.text, asked.reasoning) == (TEXT, THOUGHT)
    assert [(p.call.tool, json.loads(p.call.arguments)) for p in asked.of(CallPart)] == CALLS


async def test_gemini_that_blocks_a_prompt_is_filtered(ask_at):
    body = b'data: {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}\n\n'
    asked, _ = await ask_at(GEMINI.name, body)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retryable) == ("filtered", False)
    assert "PROHIBITED_CONTENT" in caught.value.text


@pytest.mark.parametrize(
    ("name", "place", "wanted"),
    [
        ("gemini/gemini-3-pro-preview", ("generationConfig", "thinkingConfig", "thinkingLevel"), "high"),
        ("gemini/gemini-2.5-pro", ("generationConfig", "thinkingConfig", "includeThoughts"), True),
        (f"bedrock/converse/{CLAUDE}", ("additionalModelRequestFields", "thinking", "type"), "enabled"),
        (
            "bedrock/us.anthropic.claude-opus-4-6-v1",
            ("additionalModelRequestFields", "output_config", "effort"),
            "high",
        ),
        (f"bedrock/invoke/{CLAUDE}", ("thinking", "type"), "enabled"),
        ("openai/responses/gpt-5", ("reasoning", "effort"), "high"),
        ("azure/gpt-5-mini", ("reasoning_effort",), "high"),
    ],
)
async def test_the_effort_reaches_each_provider_in_its_own_words(ask_at, name, place, wanted):
    asked, sent = await ask_at(name, b"", effort="high")
    with pytest.raises(ModelFault):
        await asked.ask(max_tokens=8000)
    found = sent[0][1]
    for key in place:
        found = found[key]
    assert found == wanted


async def test_an_effort_that_litellm_cannot_send_is_left_out_and_one_line_says_so(ask_at):
    asked, sent = await ask_at("cohere_chat/new", b"", effort="high")
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, sent) == ("bad-request", [])
    reason = "new at cohere_chat does not accept an effort"
    assert caught.value.text == f"asked again without reasoning_effort (--effort high): {reason}"
    assert caught.value.try_again


async def test_azure_is_asked_at_its_deployment_and_its_version(ask_at):
    env = {**KEYS, "AZURE_API_VERSION": "2025-04-01-preview"}
    asked, sent = await ask_at("azure/gpt-4o", b"data: [DONE]\n\n", env=env)
    await asked.ask()
    assert sent[0][0] == "/openai/deployments/gpt-4o/chat/completions"
    asked, sent = await ask_at("azure/responses/gpt-5-mini", RESPONSES.encode(RESPONSES.events), env=env)
    await asked.ask()
    assert (sent[0][0], asked.text) == ("/openai/responses", TEXT)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nebius/some", "NEBIUS_API_KEY"),
        ("snowflake/some", "Missing Snowflake JWT key"),
        ("watsonx/ibm/some", "WX_PROJECT_ID"),
    ],
)
async def test_missing_credentials_are_named_before_any_request(opened, name, words, capfd):
    asked = await opened(None, name, context=8000)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retryable) == ("auth", False)
    assert words in caught.value.text and "\n" not in caught.value.text
    assert capfd.readouterr().err == ""


async def test_the_keys_of_the_environment_sign_bedrocks_request_and_are_never_shown(opened, serve):
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.json_response({"message": f"no {AWS['AWS_SECRET_ACCESS_KEY']} here"}, status=403)

    asked = await opened(await serve({"POST /{path:.*}": answer}), CONVERSE.name, env=AWS, context=8000)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert "Credential=AKIAIOSFODNN7EXAMPLE/" in seen[0] and "/us-east-1/bedrock/" in seen[0]
    assert caught.value.kind == "auth" and AWS["AWS_SECRET_ACCESS_KEY"] not in caught.value.text


@pytest.mark.parametrize(
    ("name", "status", "headers", "body", "kind", "delay"),
    [
        (CONVERSE.name, 429, {}, {"message": "Too many tokens, please wait before trying again."}, "rate-limit", None),
        (CONVERSE.name, 400, {"x-amzn-ErrorType": "ThrottlingException:"}, {"message": None}, "rate-limit", None),
        (CONVERSE.name, 403, {}, {"Message": "User: x is not authorized to perform this."}, "auth", None),
        (CONVERSE.name, 424, {}, {"message": "The system failed. Try your request again."}, "server", None),
        (GEMINI.name, 503, {}, [{"error": {"code": 503, "message": "The model is overloaded."}}], "server", None),
        (AZURE, 429, {"retry-after-ms": "0", "retry-after": "1"}, {"error": {"message": "Wait."}}, "rate-limit", 1),
        (AZURE, 404, {}, {"error": {"code": "DeploymentNotFound", "message": "No such one."}}, "unknown-model", None),
    ],
)  # fmt: skip
async def test_what_a_cloud_refuses_has_its_kind(opened, serve, name, status, headers, body, kind, delay):
    async def answer(request: web.Request) -> web.Response:
        return web.json_response(body, status=status, headers=headers)

    asked = await opened(await serve({"POST /{path:.*}": answer}), name, env=KEYS, context=8000)
    with pytest.raises(ModelFault) as caught:
        await asked.ask()
    assert (caught.value.kind, caught.value.retry_after) == (kind, delay)
    sentence = next((t for t in _sentences(body) if t), "")
    assert sentence in caught.value.text


def _sentences(value: Any) -> list[str]:
    if isinstance(value, list):
        return [t for item in value for t in _sentences(item)]
    if isinstance(value, dict):
        own = [v for k, v in value.items() if k in ("message", "Message") and isinstance(v, str)]
        return own + [t for v in value.values() for t in _sentences(v)]
    return []
