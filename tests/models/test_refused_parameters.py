"""What a server refuses is left out or replaced, once, and remembered. Each case is a real HTTP server on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from fakes.providers.wires import KEY, WIRES, Said

from rundry.agent.models.endpoint import Endpoint
from rundry.agent.models.learned import learned
from rundry.agent.models.request_fields import RequestFields
from rundry.agent.protocol import EndPart, ModelFault

SCHEMA = {"type": "object", "properties": {"temperature": {"type": "string"}}, "required": ["temperature"]}
Body = dict[str, Any]
Refuses = Callable[[Body], tuple[int, object] | None]


class Strict:
    """A server that answers in one wire format, except what `refuses` refuses."""

    def __init__(self, refuses: Refuses, wire: str = "chat") -> None:
        self.refuses, self.wire = refuses, WIRES[wire]
        self.base = ""
        """Address as `--api-base` takes it."""
        self.bodies: list[Body] = []
        self.paths: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if "token" in request.path or request.path == "/api/show":  # asked when the model is opened
            return web.Response(status=404)
        self.bodies.append(body)
        self.paths.append(request.path)
        if (refusal := self.refuses({**body, "path": request.path})) is not None:
            return web.json_response(refusal[1], status=refusal[0])
        wire = WIRES["responses"] if request.path.endswith("/responses") else self.wire
        return web.Response(body=wire.body(Said(texts=["ok"])), content_type=wire.content_type)

    @property
    def last(self) -> Body:
        return self.bodies[-1]


@pytest.fixture
def strict(opened, serve):
    """Opens a model at a strict server. Gives both."""

    async def _strict(refuses: Refuses, wire: str = "chat", name: str | None = None, **more: Any) -> tuple[Any, Strict]:
        server = Strict(refuses, wire)
        base = await serve({"POST /{path:.*}": server.answer, "GET /v1/models": {"data": [{"id": "fake"}]}})
        env = {**WIRES[wire].env, **more.pop("env", {})}
        server.base = base + ("/v1" if wire in ("chat", "responses") else "")
        asked = await opened(server.base, name or WIRES[wire].model, env=env, **{"context": 100_000, **more})
        return asked, server

    return _strict


async def negotiate(asked: Any, **more: Any) -> list[ModelFault]:
    """Ask as a run does: again for as long as the model says that it changed its request. Gives the faults."""
    faults: list[ModelFault] = []
    while True:
        try:
            await asked.ask(**more)
        except ModelFault as fault:
            assert "\n" not in fault.text
            faults.append(fault)
            if not fault.try_again:
                return faults
            assert len(faults) < 12, [f.text for f in faults]
            continue
        return faults


def openai(message: str, param: str | None = None) -> tuple[int, object]:
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": None}}


def unsupported(*names: str) -> Refuses:
    """Refuses the first of these fields as OpenAI does."""

    def refuses(body: Body) -> tuple[int, object] | None:
        found = next((name for name in names if name in body), None)
        return None if found is None else openai(f"Unsupported parameter: '{found}' is not supported.", found)

    return refuses


def llama_cpp_python(status: int) -> Refuses:
    def refuses(body: Body) -> tuple[int, object] | None:
        if body.get("response_format", {}).get("type") in (None, "text", "json_object"):
            return None
        error = {
            "type": "literal_error",
            "loc": ["body", "response_format", "type"],
            "msg": "Input should be 'text' or 'json_object'",
            "input": "json_schema",
        }
        if status == 422:
            return 422, {"detail": [error]}
        return 500, {
            "error": {"message": str([{**error, "loc": tuple(error["loc"])}]), "type": "internal_server_error"}
        }

    return refuses


@pytest.mark.parametrize("status", [422, 500])
async def test_a_server_that_knows_only_json_objects_is_asked_for_one(strict, status):
    asked, server = await strict(llama_cpp_python(status))
    (fault,) = await negotiate(asked, schema=SCHEMA, tools=())
    assert fault.text.startswith("asked again with response_format json_object: ")
    assert server.last["response_format"] == {"type": "json_object"}
    assert asked.text == "ok"


async def test_a_server_without_any_response_format_gets_none(strict):
    asked, server = await strict(unsupported("response_format"))
    faults = await negotiate(asked, schema=SCHEMA, tools=())
    assert [body.get("response_format", {}).get("type") for body in server.bodies] == [
        "json_schema",
        "json_object",
        None,
    ]
    assert faults[-1].text.startswith("asked again without response_format: ")
    assert asked.of(EndPart) == [EndPart("stop")]


@pytest.mark.parametrize("name", ["stream_options", "temperature", "reasoning_effort"])
async def test_a_refused_field_is_left_out_and_the_others_stay(strict, name):
    asked, server = await strict(unsupported(name), effort="high")
    (fault,) = await negotiate(asked, temperature=0.5)
    assert f"asked again without {name}" in fault.text
    assert ("(--effort high)" in fault.text) == (name == "reasoning_effort")
    assert server.bodies[0].keys() - server.last.keys() == {name}
    await asked.ask(temperature=0.5)
    assert len(server.bodies) == 3
    assert name not in server.last


async def test_all_that_one_error_lists_is_left_out_of_the_next_request(strict):
    def mistral(body: Body) -> tuple[int, object] | None:
        extra = [n for n in ("stream_options", "temperature") if n in body]
        message = "Extra inputs are not permitted"
        errors = [{"type": "extra_forbidden", "loc": ["body", name], "msg": message} for name in extra]
        return (422, {"object": "error", "message": {"detail": errors}}) if extra else None

    asked, server = await strict(mistral)
    (fault,) = await negotiate(asked, temperature=0.5)
    assert fault.text.startswith("asked again without temperature and without stream_options: ")
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("refused", "sent"),
    [
        (["max_tokens"], {"max_completion_tokens": 500}),
        (["max_tokens", "max_completion_tokens"], {}),
    ],
)
async def test_the_limit_of_the_answer_gets_its_other_name_and_is_left_out_if_both_are_refused(strict, refused, sent):
    asked, server = await strict(unsupported(*refused))
    await negotiate(asked)
    assert {n: server.last[n] for n in ("max_tokens", "max_completion_tokens") if n in server.last} == sent
    assert asked.model.limits_output == bool(sent)


async def test_without_a_limit_the_longest_answer_is_the_window_and_a_line_says_so(strict):
    asked, _ = await strict(unsupported("max_tokens", "max_completion_tokens"))
    assert asked.model.max_output == 32_768
    faults = await negotiate(asked)
    assert asked.model.max_output == 100_000
    assert faults[-1].text.startswith(
        "the budget now assumes answers of up to 100,000 tokens; asked again without max_completion"
    )


async def test_a_limit_that_is_too_large_becomes_the_largest_that_the_server_names(strict):
    def refuses(body: Body) -> tuple[int, object] | None:
        if body.get("max_tokens", 0) <= 4096:
            return None
        text = f"max_tokens is too large: {body['max_tokens']}. This model supports at most 4096 completion tokens."
        return openai(text, "max_tokens")

    asked, server = await strict(refuses)
    (fault,) = await negotiate(asked, max_tokens=20_000)
    assert fault.text.startswith("asked again with max_tokens 4096: ")
    assert [body["max_tokens"] for body in server.bodies] == [20_000, 4096]
    assert asked.model.max_output == 4096
    await asked.ask(max_tokens=300)
    assert server.last["max_tokens"] == 300


@pytest.mark.parametrize("refused", [{"max_tokens": "4096", "max_completion_tokens": "2048"}, {"max_tokens": "2048"}])
def test_of_several_limits_that_a_server_named_the_smallest_counts(refused):
    at = Endpoint(provider="openai", model="m", api_base=None, key="k", key_names=(), local=True)
    fields = RequestFields(at, None)
    fields.refused = refused
    assert fields.largest_output == 2048


async def test_a_limit_that_is_too_small_is_neither_left_out_nor_renamed(strict):
    asked, server = await strict(lambda body: openai("max_tokens is too low: it must be at least 16", "max_tokens"))
    (fault,) = await negotiate(asked, max_tokens=5)
    assert not fault.try_again
    assert [body["max_tokens"] for body in server.bodies] == [5]


async def test_claude_keeps_its_limit_whatever_the_error_says_about_it(strict):
    asked, server = await strict(
        lambda body: (400, {"error": {"message": "`max_tokens` must be greater than `thinking.budget_tokens`"}}),
        "anthropic",
        params={"thinking": {"type": "enabled", "budget_tokens": 9000}},
    )
    (fault,) = await negotiate(asked)
    assert not fault.try_again
    assert len(server.bodies) == 1


async def test_an_error_that_names_none_of_the_sent_fields_stays_what_it_is(strict):
    asked, server = await strict(lambda body: openai("Invalid 'messages[0]'.", "messages[0]"))
    (fault,) = await negotiate(asked, temperature=0.5, schema=SCHEMA)
    assert (fault.kind, fault.try_again, len(server.bodies)) == ("bad-request", False, 1)
    assert "asked again" not in fault.text


async def test_a_field_whose_absence_changes_nothing_is_sent_again(strict, tmp_path):
    asked, server = await strict(lambda body: openai("the temperature: of the data centre is too high"))
    faults = await negotiate(asked, temperature=0.5)
    assert [fault.try_again for fault in faults] == [True, False]
    (fault,) = await negotiate(asked, temperature=0.5)
    assert not fault.try_again
    assert server.last["temperature"] == 0.5
    assert not (tmp_path / "data/rundry/learned.json").exists()


async def test_a_parameter_of_the_user_is_never_left_out_and_the_error_says_how_to_remove_it(strict):
    asked, server = await strict(unsupported("temperature", "top_k"), params={"temperature": 0.1, "top_k": 3})
    (fault,) = await negotiate(asked, temperature=0.5)
    assert not fault.try_again
    assert fault.text.endswith("; you set temperature yourself: remove it from `params` in [model]")
    assert server.last["temperature"] == 0.1


async def test_two_calls_at_once_that_meet_the_same_refusal_change_one_thing(strict):
    asked, server = await strict(unsupported("max_tokens"))
    both = [asked, type(asked)(asked.model)]
    await asyncio.gather(*(negotiate(one) for one in both))
    assert [one.text for one in both] == ["ok", "ok"]
    assert server.last["max_completion_tokens"] == 500
    assert asked.model.limits_output


async def test_what_a_server_refused_is_known_in_the_next_run(strict, tmp_path, opened):
    asked, server = await strict(unsupported("stream_options", "max_tokens"), effort="high")
    await negotiate(asked)
    base = server.base
    env = {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert learned(base, "fake", env).refused == {"stream_options": "", "max_tokens": "max_completion_tokens"}
    before = len(server.bodies)
    again = await opened(base, "fake", context=100_000)
    assert await negotiate(again) == []
    assert len(server.bodies) == before + 1


async def test_a_later_run_says_that_its_effort_is_ignored_and_which_output_is_assumed(strict, opened):
    asked, server = await strict(unsupported("reasoning_effort", "max_tokens", "max_completion_tokens"), effort="high")
    await negotiate(asked)
    again = await opened(server.base, "fake", context=100_000, effort="high")
    assert [note.partition(" for fake: ")[2] or note.partition(": ")[2] for note in again.model.notes] == [
        "--effort high is ignored",
        "the budget assumes answers of up to 100,000 tokens",
    ]
    plain = await opened(server.base, "fake", context=100_000)
    assert len(plain.model.notes) == 1


async def test_a_refusal_in_the_stream_itself_counts_as_well(opened, serve):
    bodies: list[Body] = []

    async def answer(request: web.Request) -> web.Response:
        bodies.append(json.loads(await request.read()))
        error = {"error": {"message": "Unknown parameter: 'stream_options'.", "code": 400}}
        wire = WIRES["chat"]
        data = (
            wire.body(Said(texts=["ok"]))
            if "stream_options" not in bodies[-1]
            else b"data: %s\n\n" % json.dumps(error).encode()
        )
        return web.Response(body=data, content_type=wire.content_type)

    asked = await opened(await serve({"POST /{path:.*}": answer}), context=100_000)
    assert len(await negotiate(asked)) == 1
    assert asked.text == "ok"


# the other formats


async def test_ollama_without_schemas_is_asked_for_json_and_then_for_nothing(strict):
    asked, server = await strict(
        lambda body: (
            (400, {"error": f"invalid format: {body['format']!r} is not supported"}) if "format" in body else None
        ),
        "ollama",
    )
    faults = await negotiate(asked, schema=SCHEMA, tools=())
    assert [body.get("format") for body in server.bodies] == [SCHEMA, "json", None]
    assert len(faults) == 2
    assert server.last["options"]["num_predict"] == 500


async def test_a_claude_that_does_not_know_this_effort_is_asked_without_it(strict):
    def refuses(body: Body) -> tuple[int, object] | None:
        if "effort" not in body.get("output_config", {}):
            return None
        text = "This model does not support effort level 'high'. Supported levels: low."
        return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": text}}

    asked, server = await strict(refuses, "anthropic", name="anthropic/claude-opus-4-6", effort="high")
    (fault,) = await negotiate(asked, schema=SCHEMA, max_tokens=8000)
    assert fault.text.startswith("asked again without output_config.effort (--effort high): ")
    assert server.last["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}


# through litellm


async def test_what_a_provider_behind_litellm_calls_by_another_name_is_left_out(strict):
    def google(body: Body) -> tuple[int, object] | None:
        if "temperature" not in body.get("generationConfig", {}):
            return None
        return 400, {"error": {"code": 400, "message": "Unknown name \"temperature\" at 'generation_config'"}}

    def google_schema(body: Body) -> tuple[int, object] | None:
        names = [n for n in body.get("generationConfig", {}) if "schema" in n.lower()]
        if not names:
            return None
        return 400, {"error": {"code": 400, "message": f"{names[0]} is not supported for this model"}}

    asked, server = await strict(google, "gemini", name="gemini/gemini-2.5-flash")
    assert len(await negotiate(asked, temperature=0.5)) == 1
    assert "temperature" not in server.last["generationConfig"]
    asked, server = await strict(google_schema, "gemini", name="gemini/gemini-2.5-flash")
    assert len(await negotiate(asked, schema=SCHEMA, tools=())) == 1
    assert (
        server.last["generationConfig"][
            "responseMimeType" if "responseMimeType" in server.last["generationConfig"] else "response_mime_type"
        ]
        == "application/json"
    )


@pytest.mark.parametrize("provider", ["morph", "v0", "bytez", "gradient_ai", "langgraph"])
async def test_what_litellm_does_not_know_for_a_provider_is_left_out(strict, provider):
    env = {f"{provider.upper()}_API_KEY": KEY, "GRADIENT_AI_API_KEY": KEY}
    asked, server = await strict(lambda body: None, name=f"{provider}/m", env=env)
    faults = await negotiate(asked, tools=(), temperature=0.5)
    texts = [fault.text for fault in faults]
    if provider == "bytez":  # litellm sends its calls to another host
        assert faults.pop().kind == "server", texts
    else:
        assert server.bodies, texts
    assert all(fault.try_again for fault in faults), texts


# OpenAI's two APIs


async def test_a_reasoning_model_of_openai_behind_another_base_gets_the_field_that_it_accepts(strict):
    asked, server = await strict(lambda body: None, name="openai/gpt-5")
    assert await negotiate(asked) == []
    assert "max_tokens" not in server.last
    assert server.last["max_completion_tokens"] == 500


async def test_a_model_that_the_table_knows_only_in_the_responses_api_is_asked_there_behind_any_base(strict):
    asked, server = await strict(lambda body: None, name="openai/gpt-5.1-codex")
    assert await negotiate(asked) == []
    assert server.paths == ["/v1/responses"]
    assert asked.text == "ok"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "This model is only supported in v1/responses and not in v1/chat/completions."),
        (
            404,
            "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use "
            "v1/completions?",
        ),
        (400, 'model "newer" is not accessible via the /chat/completions endpoint'),
        (400, "Unsupported legacy protocol: /v1/chat/completions is not supported. Please use /v1/responses."),
    ],
)
async def test_a_server_that_points_to_the_responses_api_is_asked_there(strict, opened, status, message):
    def refuses(body: Body) -> tuple[int, object] | None:
        return (
            None if body["path"].endswith("/responses") else (status, {"error": {"message": message, "param": "model"}})
        )

    asked, server = await strict(refuses, name="openai/newer")
    (fault,) = await negotiate(asked)
    assert fault.text.startswith("asked again at /responses: ")
    assert server.paths == ["/v1/chat/completions", "/v1/responses"]
    again = await opened(server.base, "openai/newer", context=100_000)
    assert await negotiate(again) == []
    assert server.paths[2:] == ["/v1/responses"]


async def test_a_gateway_without_the_responses_api_is_asked_at_the_chat_api(strict):
    def refuses(body: Body) -> tuple[int, object] | None:
        return (404, {"detail": "Not Found"}) if body["path"].endswith("/responses") else None

    asked, server = await strict(refuses, name="openai/gpt-5.1-codex")
    (fault,) = await negotiate(asked)
    assert fault.text.startswith("asked again at /chat/completions: ")
    assert server.paths == ["/v1/responses", "/v1/chat/completions"]
    assert server.last["max_completion_tokens"] == 500


@pytest.mark.parametrize(
    "message", ["Not Found", "The model `fake` does not exist", "Cannot POST /v1/chat/completions"]
)
async def test_a_model_or_server_that_does_not_exist_is_asked_at_one_endpoint(strict, message):
    asked, server = await strict(lambda body: (404, {"error": {"message": message}}))
    (fault,) = await negotiate(asked)
    assert (fault.kind, fault.try_again, len(server.bodies)) == ("unknown-model", False, 1)


async def test_a_model_that_is_at_neither_endpoint_ends_and_is_not_remembered(strict, tmp_path):
    asked, _ = await strict(lambda body: (404, {"error": {"message": f"not supported in {body['path']}"}}))
    faults = await negotiate(asked)
    assert [fault.try_again for fault in faults] == [True, False]
    assert len(await negotiate(asked)) == 1
    assert not (tmp_path / "data/rundry/learned.json").exists()
