"""A real model of 135M parameters on two real servers. Skipped without `RUNDRY_MODELS`: see fakes/model_servers.py."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.model_servers import KINDS, NAME, WINDOW, ModelServer, missing
from fakes.rundry import Home, Ran

from rundry.agent.models.lanes.timer import StallTimeouts
from rundry.agent.protocol import EndPart, Message, ModelFault, Request, TextPart, Tokens, UsagePart
from rundry.agent.step.formats.format_words import SCHEMA

pytestmark = pytest.mark.timeout(600)

COUNT = "Count from one to ten."
TOO_LONG = "word " * (WINDOW + 500)
PATIENT = StallTimeouts(first=240, between=120)


@pytest.fixture(
    scope="module",
    params=[pytest.param(kind, marks=pytest.mark.skipif(bool(missing(kind)), reason=missing(kind))) for kind in KINDS],
)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with ModelServer(request.param, tmp_path_factory.mktemp("model") / "log") as started:
        yield started


@pytest.fixture
async def model(opened, server: ModelServer):
    return await opened(server.base_url, NAME, timeouts=PATIENT)


async def ask(model, text: str, most: int, **more: Any):
    return await model.ask(text, tools=(), max_tokens=most, temperature=0.0, **more)


def run(home: Home, server: ModelServer, folder: Path, *argv: str) -> Ran:
    """Run one step without a screen, with short answers: one request that is answered, and no wrap-up."""
    home.config_file.parent.mkdir(parents=True)
    home.config_file.write_text("[model]\nmax_output = 40\n")
    model = ["--model", NAME, "--api-base", server.base_url, "--headless", "--json", "--gate", "auto"]
    return home.run("run", *argv, *model, "--until", "false", "--steps", "1", cwd=folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("print(1)\n")
    return folder


async def test_words_arrive_one_after_another(model):
    arrived: list[float] = []
    async for part in model.model.stream(_request(COUNT, 16)):
        if isinstance(part, TextPart):
            arrived.append(time.monotonic())
    assert len(arrived) >= 8
    assert arrived[-1] - arrived[0] > 0.02
    assert len({round(at, 3) for at in arrived}) >= 4


async def test_usage_is_what_the_server_counts(model, server: ModelServer):
    await ask(model, COUNT, 16)
    said = server.ask([{"role": "user", "content": COUNT}], 16)["usage"]
    reported = [part.tokens for part in model.of(UsagePart)]
    if server.kind == "llama.cpp":
        assert [(tokens.in_, tokens.out) for tokens in reported[-1:]] == [
            (said["prompt_tokens"], said["completion_tokens"])
        ]
    else:
        assert reported == [], "this server reports no usage in a stream, and none is made up"


async def test_a_prompt_that_is_extended_is_read_from_the_cache(model, server: ModelServer):
    if server.kind != "llama.cpp":
        pytest.skip("only llama.cpp's own server reports what it cached")
    await ask(model, COUNT, 4)
    first = model.text
    more = [
        Message(role="user", text=COUNT),
        Message(role="assistant", text=first),
        Message(role="user", text="Now back."),
    ]
    await ask(model, "", 4, messages=more)
    tokens = model.of(UsagePart)[-1].tokens
    assert isinstance(tokens, Tokens) and tokens.cached > tokens.in_ / 2


async def test_an_answer_ends_at_its_limit_and_at_the_models_own_end(model):
    assert (await ask(model, COUNT, 4))[-1] == EndPart("length")
    assert (await ask(model, "Say hi.", 120))[-1] == EndPart("stop")


async def test_an_answer_ends_before_a_stop_sequence(opened, server: ModelServer):
    free = await opened(server.base_url, NAME, timeouts=PATIENT)
    await ask(free, COUNT, 24)
    stop = free.text[len(free.text) // 2 :][:3]
    bound = await opened(server.base_url, NAME, timeouts=PATIENT, params={"stop": [stop]})
    assert (await ask(bound, COUNT, 24))[-1] == EndPart("stop")
    assert bound.text and stop not in bound.text and free.text.startswith(bound.text)


async def test_a_prompt_that_is_too_long_is_recognised(model):
    with pytest.raises(ModelFault) as caught:
        await ask(model, TOO_LONG, 8)
    assert caught.value.kind == "context" and str(WINDOW) in caught.value.text
    assert (await ask(model, "Say hi.", 4))[-1] == EndPart("length"), "the next prompt is answered"


async def test_the_answer_to_a_schema_fits_it(model, server: ModelServer):
    fields = {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "maximum": 200, "minimum": 0}}
    schema = {"type": "object", "properties": fields, "required": ["name", "age"], "additionalProperties": False}
    text = 'Ann is 42. Answer with JSON only: {"name": "Ann", "age": 42}'
    if server.kind == "llama-cpp-python":
        with pytest.raises(ModelFault) as caught:
            await ask(model, text, 60, schema=schema)
        assert caught.value.try_again and "json_object" in caught.value.text
    await ask(model, text, 60, schema=schema)
    if server.kind == "llama.cpp":
        found = json.loads(model.text)
        assert set(found) == {"name", "age"} and isinstance(found["name"], str) and isinstance(found["age"], int)
    else:
        assert model.text.lstrip().startswith("{"), "this server knows JSON, but no schema"


async def test_closing_an_answer_frees_the_server(model, server: ModelServer):
    pieces = model.model.stream(_request("Tell me a very long story.", WINDOW - 200))
    async for part in pieces:
        if isinstance(part, TextPart):
            break
    await pieces.aclose()
    server.wait_idle()
    assert (await ask(model, "Say hi.", 4))[-1] == EndPart("length")


def test_a_run_books_what_the_server_counts_and_its_answer_fits_the_schema(
    home: Home, server: ModelServer, project: Path
):
    ran = run(home, server, project, "Make a.py print 2.", "--edit-format", "constrained")
    assert ran.exit_code == 3, ran
    answered = ran.of("charged")[-1]
    text = "".join(e["text"] for e in ran.of("text_arrived"))
    assert ran.outcome["tokens"]["in"] == sum(e["tokens_in"] for e in ran.of("charged"))
    if server.kind == "llama.cpp":
        total = ran.of("prompt_read")[-1]["total"]
        assert not answered["estimated"] and answered["tokens_in"] == total
        assert answered["tokens_out"] <= 40
        if ran.of("reply_finished")[-1]["finish"] == "stop":
            assert set(json.loads(text)) == set(SCHEMA["required"])
        assert "".join(text.split()).startswith('{"cause":')
    else:
        assert answered["estimated"] and answered["tokens_in"] > 50
        assert "json_object" in ran.of("fault")[0]["text"] and text.lstrip().startswith("{")


def test_a_run_whose_prompt_is_too_long_repeats_it_shorter(home: Home, server: ModelServer, project: Path):
    ran = run(home, server, project, TOO_LONG, "--edit-format", "whole", "--context", "32768")
    (fault,) = ran.of("fault")[:1]
    assert fault["kind"] == "context" and ran.of("context_trimmed"), ran
    assert ran.of("reply_finished") and ran.exit_code == 3, ran


def test_an_interrupt_of_a_run_frees_the_server(home: Home, server: ModelServer, project: Path):
    asked = ["--model", NAME, "--api-base", server.base_url, "--headless", "--json", "--until", "false"]
    with home.start("run", "Tell me a very long story.", *asked, cwd=project) as running:
        running.wait_event("text_arrived")
        running.signal(signal.SIGINT)
        ran = running.finish()
    assert ran.exit_code == 130, ran
    server.wait_idle()
    assert server.ask([{"role": "user", "content": "Say hi."}], 2)["usage"]["completion_tokens"] == 2


def _request(text: str, most: int) -> Request:
    return Request(messages=[Message(role="user", text=text)], max_tokens=most, temperature=0.0)
