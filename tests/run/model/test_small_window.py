"""A window that is too small is refused, wherever it comes from (docs/requirements.md 8.4)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fakes.models.model import ScriptedModel
from fakes.turns import Turn, call, finish

from rundry.agent.protocol import ModelFault, ModelSpec, Request, SwitchModel, Tokens

READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")
SMALL = ModelSpec(name="small")


def smallest_of(text: str) -> int:
    (number,) = re.findall(r"use one of at least (\d+) tokens", text)
    return int(number)


async def test_a_window_that_the_server_reports_is_refused_before_a_call_and_the_one_that_is_named_works(driven):
    small = driven(READ, DONE, model={"window": 300})
    outcome = await small.run()
    assert (outcome.reason, outcome.exit_code) == ("refused", 2)
    assert small.model.requests == []
    smallest = smallest_of(outcome.detail)
    assert (await driven(READ, DONE, model={"window": smallest - 1}).run()).reason == "refused"
    works = driven(READ, DONE, model={"window": smallest})
    assert (await works.run()).reason == "answered", works.story()
    works.assert_legal()
    for request in works.model.requests:
        assert works.model.count(request.messages, request.tools) + request.max_tokens <= smallest


async def test_a_switch_to_a_window_that_is_too_small_is_refused_and_the_run_continues(driven):
    run = driven(READ, READ, DONE).on("step_finished", SwitchModel(model=SMALL), number=1)
    run.open_model = lambda spec: ScriptedModel([], name="small", window=300) if spec.name == "small" else run.model
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    (refused,) = run.of("command_refused")
    assert smallest_of(refused["why"]) > 300


async def test_after_a_switch_to_a_smaller_window_each_call_fits_it(driven, work):
    (work / "long.txt").write_text("a line of words\n" * 2_000)
    reads = [call("read_file", path="long.txt"), call("read_file", path="long.txt")]
    run = driven(*reads, READ).on("step_finished", SwitchModel(model=SMALL), number=2)
    small = ScriptedModel([READ] * 3, then=DONE, name="small", window=1_024)
    run.open_model = lambda spec: small if spec.name == "small" else run.model
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    assert small.requests
    for request in small.requests:
        assert small.count(request.messages, request.tools) + request.max_tokens <= 1_024
        asked = [made.call_id for message in request.messages for made in message.calls]
        assert asked == [message.call_id for message in request.messages if message.role == "tool"]
        assert request.messages[1].text == "do it"
    (event,) = run.of("prompt_shortened")
    assert event["window"] == 1_024 and event["brief_tools"] and event["file"] == ""


async def test_a_prompt_that_the_server_refuses_again_and_again_is_halved_until_it_fits(driven, work):
    (work / "long.txt").write_text("a line of words\n" * 2_000)
    too_long = ModelFault("context", "maximum context length is 1500 tokens", status=400)
    run = driven(call("read_file", path="long.txt"), too_long, too_long, READ, DONE)
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    sizes = [run.model.count(request.messages, request.tools) for request in run.model.requests]
    assert sizes[1] > 2 * sizes[3] and sizes[2] <= sizes[1] // 2
    assert sizes[4] < sizes[2], "what was refused once is not sent again"
    run.assert_legal()


async def test_a_server_that_refuses_every_prompt_ends_the_run_with_its_words(driven):
    too_long = ModelFault("context", "maximum context length is 12 tokens", status=400)
    run = driven(then=None)
    run.model.turns[:] = [too_long]
    outcome = await run.run()
    assert (outcome.reason, outcome.complete) == ("error", False), run.story()
    assert "maximum context length is 12 tokens" in outcome.detail
    assert 1 < len(run.model.requests) <= 4


def long_reads(work: Path, number: int) -> list[Turn]:
    """Reads of as many files of 200 lines."""
    for place in range(number):
        (work / f"long{place}.txt").write_text("a line of words\n" * 200)
    return [call("read_file", path=f"long{place}.txt") for place in range(number)]


def counts_more(share: float, added: int = 0):
    """A provider whose tokenizer counts more than we do, and which adds a text of its own."""

    def bill(request: Request, turn: Turn, counted: int) -> Tokens:
        return Tokens(int(counted * (1 + share)) + added, 10)

    return bill


@pytest.mark.parametrize(("share", "added"), [(0.2, 0), (0.35, 0), (0.6, 0), (0.2, 300), (0.0, 600)])
async def test_prompt_and_answer_fit_a_window_that_the_provider_counts_otherwise(
    driven, work, share: float, added: int
):
    bill = counts_more(share, added)
    reads = [*long_reads(work, 10), READ]
    run = driven(*reads, then=DONE, model={"window": 4_096, "bill": bill})
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    run.assert_legal()
    sizes = [run.model.count(request.messages, request.tools) for request in run.model.requests]
    assert max(sizes) * (1 + share) + added > 2_500, "the window is used"
    for request, size in zip(run.model.requests[1:], sizes[1:], strict=True):
        billed = bill(request, DONE, size).in_
        assert billed + request.max_tokens <= 4_096 + 64, (size, billed, request.max_tokens)
        assert request.max_tokens >= 256


async def test_what_one_model_counted_more_shortens_no_prompt_of_another(driven, work):
    reads = long_reads(work, 1)
    small = ScriptedModel([READ] * 2, then=DONE, name="small", window=4_096)
    run = driven(*reads, READ, model={"bill": counts_more(0.9)}).on("step_finished", SwitchModel(model=SMALL), number=1)
    run.open_model = lambda spec: small if spec.name == "small" else run.model
    assert (await run.run()).reason == "answered", run.story()
    assert small.count(small.requests[0].messages, small.requests[0].tools) > 1_900
    assert run.of("context_trimmed") == []
