"""A run that continues with another provider's model: the requests that its server gets (docs/requirements.md 5.5)."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web
from fakes.in_process.headless_run import Played, play
from fakes.project import CHECK, FIX_BOTH, read
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, calls

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Interrupt, ModelSpec, Prompted, Shell, Stamped, SwitchModel, ToolFinished

ODD = "toolu/odd id:with*signs and far more letters than the forty that some providers take in one"
SAID = Turn(
    text="I look at both files.",
    reasoning="a secret chain of thought",
    calls=(
        Call("read_file", {"path": "calc/core.py"}, call_id=ODD),
        Call("read_file", '{"path": "NOTES.md"', call_id=ODD),
        Call("no_such_tool", {}, call_id="call_1"),
    ),
)
FIX = [(c.name, json.loads(c.json)) for c in FIX_BOTH.calls]


class Anthropic:
    """Speaks Anthropic's events: both fixes at once. Keeps what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def messages(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in self._events():
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        await response.write_eof()
        return response

    def _events(self) -> list[dict[str, Any]]:
        usage = {"input_tokens": 10, "output_tokens": 1}
        head = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "claude", "usage": usage}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": head}]
        for index, (name, arguments) in enumerate(FIX):
            block = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            events += [
                {"type": "content_block_start", "index": index, "content_block": block},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        end = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}
        return [*events, end, {"type": "message_stop"}]


class Ollama:
    """Speaks Ollama's lines: both fixes at once."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def show(self, request: web.Request) -> web.Response:
        return web.json_response({"model_info": {"q.context_length": 32_768}})

    async def tags(self, request: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": "q:latest"}]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body.get("tools"):  # else it is asked how fast it reads
            self.bodies.append(body)
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        made = [{"function": {"name": name, "arguments": arguments}} for name, arguments in FIX]
        said = {"message": {"role": "assistant", "content": "", "tool_calls": made}, "done": False}
        usage = {"prompt_eval_count": 55, "eval_count": 7}
        done = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **usage}
        for line in (said, done):
            whole = {"model": "q", "created_at": "2025-01-01T00:00:00Z", **line}
            await response.write((json.dumps(whole) + "\n").encode())
        await response.write_eof()
        return response


@pytest.fixture
async def serve() -> AsyncIterator[Any]:
    runners: list[web.AppRunner] = []

    async def make(*routes: web.RouteDef) -> str:
        app = web.Application()
        app.add_routes(routes)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{runner.addresses[0][1]}"

    yield make
    for runner in runners:
        await runner.cleanup()


async def crossed(runs, project, to: ModelSpec) -> tuple[Played, ScriptedServer]:
    """A run that reads, gets a message, is interrupted during an answer, and continues with that model."""
    held = Turn(text="And now I think about", hold_after=2)
    sent: set[str] = set()

    def act(view: Journal, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, ToolFinished) and event.call_id.endswith("_3") and "shell" not in sent:
            sent.add("shell")
            view.inbox.put(Shell(command="echo by the person"))
        elif isinstance(event, Prompted) and event.kind == "shell" and "switch" not in sent:
            sent.add("switch")
        elif stamped.step == 2 and "stop" not in sent and type(event).__name__ == "TextArrived":
            sent.add("stop")
            view.inbox.put(Interrupt())
            view.inbox.put(SwitchModel(model=to))

    async with ScriptedServer([SAID, held]) as server:
        played = await play(runs, server, project, until=[CHECK], on_event=act)
    assert played.exit_code == 0, played.story()
    return played, server


async def test_a_conversation_crosses_to_anthropic_legally(runs, project, serve, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-none-of-this-is-real")
    other = Anthropic()
    base = await serve(web.post("/v1/messages", other.messages))
    played, first = await crossed(runs, project, ModelSpec(name="anthropic/claude-x", api_base=base, context=32_000))
    body = other.bodies[0]
    assert_legal_for_anthropic(body)
    assert "I look at both files." in json.dumps(body)
    assert "secret chain of thought" not in json.dumps(body)
    assert "by the person" in json.dumps(body)
    assert [e["model"] for e in played.of("charged")][-1] == "anthropic/claude-x"
    assert_share_of_each(played, "openai/fake", "anthropic/claude-x")
    (switched,) = played.of("model_switched")
    assert switched["prompt_tokens"] > 500
    assert switched["cold_usd"] == 0.0, "its server is on this machine"
    assert first.requests[0].messages[0]["role"] == "system"


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def assert_legal_for_anthropic(body: dict[str, Any]) -> None:
    """Anthropic, "Messages": what it answers with 400 otherwise."""
    assert body["system"], "the system prompt stands apart, once"
    messages = body["messages"]
    assert {m["role"] for m in messages} == {"user", "assistant"}
    assert messages[0]["role"] == messages[-1]["role"] == "user"
    assert all(a["role"] != b["role"] for a, b in pairwise(messages))
    made: list[str] = []
    for before, message in zip([None, *messages], messages, strict=False):
        blocks = blocks_of(message)
        kinds = [block["type"] for block in blocks]
        assert set(kinds) <= {"text", "tool_use", "tool_result"}, kinds
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", use) for use in uses), uses
        assert all(isinstance(block["input"], dict) for block in blocks if block["type"] == "tool_use")
        answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        asked = [block["id"] for block in blocks_of(before) if block["type"] == "tool_use"] if before else []
        assert answers == asked, "each call is answered in the very next message, in order"
        assert kinds[: len(answers)] == ["tool_result"] * len(answers), "answers come before text"
        made += uses
    assert len(made) == len(set(made)) >= 3


async def test_a_conversation_crosses_to_ollama_legally(runs, project, serve):
    other = Ollama()
    base = await serve(
        web.post("/api/chat", other.chat), web.post("/api/show", other.show), web.get("/api/tags", other.tags)
    )
    played, _ = await crossed(runs, project, ModelSpec(name="ollama_chat/q", api_base=base))
    messages = other.bodies[0]["messages"]
    assert [m["role"] for m in messages].count("system") == 1 and messages[0]["role"] == "system"
    made = [c for m in messages for c in m.get("tool_calls") or []]
    assert len(made) == sum(m["role"] == "tool" for m in messages) == 3
    assert all(isinstance(c["function"]["arguments"], dict) for c in made)
    assert messages[-1]["role"] != "assistant"
    assert "secret chain of thought" not in json.dumps(messages)
    assert not any(m.get("thinking") or m.get("reasoning_content") for m in messages)
    assert_share_of_each(played, "openai/fake", "ollama_chat/q")


async def test_a_conversation_crosses_to_another_openai_server_legally(runs, project):
    async with ScriptedServer([FIX_BOTH], models=["big"]) as other:
        to = ModelSpec(name="openai/big", api_base=other.base_url, context=32_000, price=(3.0, 15.0))
        played, _ = await crossed(runs, project, to)
        (request,) = other.requests
    asked = [c["id"] for m in request.messages for c in m.get("tool_calls") or []]
    answered = [m["tool_call_id"] for m in request.messages if m["role"] == "tool"]
    assert asked == answered and len(set(asked)) == len(asked) == 3
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", one) for one in asked), asked
    assert all(
        json.loads(c["function"]["arguments"]) is not None for m in request.messages for c in m.get("tool_calls") or []
    )
    assert sum(m["role"] == "system" for m in request.messages) == 1
    assert "secret chain of thought" not in request.text and "reasoning" not in json.dumps(request.body["messages"])
    (switched,) = played.of("model_switched")
    assert switched["cold_usd"] == pytest.approx(switched["prompt_tokens"] * 3e-6)
    assert_share_of_each(played, "openai/fake", "openai/big")


def assert_share_of_each(played: Played, *models: str) -> None:
    journal = Journal.open(played.path)
    try:
        from rundry.agent.state.facts.checkpoint import facts_of

        shares = facts_of(journal).ledger.shares
    finally:
        journal.close()
    assert tuple(shares) == models
    whole = played.outcome["tokens"]
    assert sum(s.tokens_in + s.tokens_out for s in shares.values()) == whole["in"] + whole["out"]
    assert all(s.calls >= 1 for s in shares.values())


async def test_a_switch_that_costs_more_than_was_asked_about_is_reported_and_nothing_is_switched(runs, project):
    async with (
        ScriptedServer([FIX_BOTH], models=["big"]) as other,
        ScriptedServer([read("NOTES.md"), FIX_BOTH]) as first,
    ):
        dear = ModelSpec(name="openai/big", api_base=other.base_url, context=32_000, price=(300.0, 15.0))
        played = await play(
            runs,
            first,
            project,
            until=[CHECK],
            on_event=lambda view, s: s.step == 1 and isinstance(s.event, ToolFinished) and ask(view, dear),
        )
        assert other.requests == []
    (quoted,) = played.of("model_quoted")
    assert quoted["model"] == "openai/big"
    assert quoted["cold_usd"] == pytest.approx(quoted["prompt_tokens"] * 3e-4)
    assert played.of("model_switched") == [] and played.exit_code == 0
    assert [e["command"] for e in played.of("command_taken")] == ["switch_model"]


def ask(view: Journal, spec: ModelSpec) -> None:
    view.inbox.put(SwitchModel(model=spec, ask_above=0.01))


async def test_a_switch_in_the_middle_of_an_answer_leaves_that_answer_to_the_model_that_gives_it(runs, project):
    held = Turn(text="I think for a while", hold_after=2, calls=calls(Call("read_file", {"path": "NOTES.md"})).calls)
    async with ScriptedServer([FIX_BOTH], models=["big"]) as other, ScriptedServer([held]) as first:
        to = ModelSpec(name="openai/big", api_base=other.base_url, context=32_000, price=(3.0, 15.0))
        sent: list[str] = []

        def act(view: Journal, stamped: Stamped) -> None:
            kind = type(stamped.event).__name__
            if kind == "TextArrived" and not sent:
                sent.append(kind)
                view.inbox.put(SwitchModel(model=to))
            elif kind == "ModelSwitched":
                first.release()

        played = await play(runs, first, project, until=[CHECK], on_event=act, price=(0.5, 0.5))
    charged = played.of("charged")
    assert [e["model"] for e in charged] == ["openai/fake", "openai/big"]
    assert charged[0]["usd"] == pytest.approx((charged[0]["tokens_in"] + charged[0]["tokens_out"]) * 0.5e-6)
    assert charged[1]["usd"] == pytest.approx(charged[1]["tokens_in"] * 3e-6 + charged[1]["tokens_out"] * 15e-6)
