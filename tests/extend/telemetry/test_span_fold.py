"""Which spans a list of events makes."""

from __future__ import annotations

import pytest

from rundry.agent.extend.telemetry.conventions import provider_and_model
from rundry.agent.extend.telemetry.span import Span, trace_id
from rundry.agent.extend.telemetry.span_fold import RunSpans
from rundry.agent.protocol import (
    Budget,
    BudgetChanged,
    CallAdmitted,
    Charged,
    Event,
    Fault,
    LoopKind,
    ModelSwitched,
    Reason,
    ReplyFinished,
    RunEnded,
    RunResumed,
    RunStarted,
    Stamped,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
)

STARTED = RunStarted(
    run_id="r1",
    loop=LoopKind.GOAL,
    task="do it",
    workspace="/w",
    model="anthropic/claude-x",
    budget=Budget(),
    journal="j",
)
ADMITTED = CallAdmitted(prompt_tokens=10, max_tokens=50, worst_usd=None)
ENDED = RunEnded(reason=Reason.BUDGET, detail="no steps left", complete=False, exit_code=3)


def spans_of(*events: Event | tuple[Event, int | None, str | None], with_content: bool = False) -> dict[str, Span]:
    """Spans by name, of events one second after another, each with its step and work."""
    fold = RunSpans("r1", trace_id("r1"), None, with_content=with_content)
    found: dict[str, Span] = {}
    for seq, each in enumerate(events, 1):
        event, step, work = each if isinstance(each, tuple) else (each, None, None)
        for span in fold.apply(Stamped(seq, float(seq), step, work, event)):
            assert span.name not in found or span.name == "invoke_agent rundry"
            found[span.name + ("" if span.link is None else " again")] = span
    return found


def test_calls_and_tools_of_works_that_run_side_by_side_are_below_their_own_steps():
    found = spans_of(
        STARTED,
        (StepStarted(number=1), 1, "a"),
        (StepStarted(number=2), 2, "b"),
        (ADMITTED, 1, "a"),
        (ModelSwitched(model="gpt-y"), None, None),
        (ADMITTED, 2, "b"),
        (Charged(tokens_in=7, tokens_out=1), 1, "a"),
        (Charged(tokens_in=9, tokens_out=2, usd=None), 2, "b"),
        (ReplyFinished(finish="stop"), 2, "b"),
        (ReplyFinished(finish="length"), 1, "a"),
        (StepFinished(number=2), 2, "b"),
        (StepFinished(number=1), 1, "a"),
        ENDED,
    )
    first, second = found["chat claude-x"], found["chat gpt-y"]
    assert (first.parent, second.parent) == (found["step 1"].id, found["step 2"].id)
    assert (first.start, first.end, second.start, second.end) == (4.0, 10.0, 6.0, 9.0)
    assert (first.attributes["gen_ai.usage.input_tokens"], second.attributes["gen_ai.usage.input_tokens"]) == (7, 9)
    assert "rundry.usd" not in second.attributes and first.attributes["rundry.work"] == "a"
    run = found["invoke_agent rundry"]
    assert (run.error, run.attributes["rundry.reason"], run.attributes["rundry.budget.steps"]) == (None, "budget", 40)


def test_a_call_that_is_repeated_after_a_fault_has_a_span_for_each_attempt():
    fold = RunSpans("r1", trace_id("r1"), None, with_content=False)
    events = [
        STARTED,
        StepStarted(number=1),
        ADMITTED,
        Fault(kind="server", text="secret words", retry_in=1.0),
        ADMITTED,
    ]
    events += [TextArrived(text="yes"), ReplyFinished(finish="stop"), StepFinished(number=1)]
    spans = [span for seq, event in enumerate(events, 1) for span in fold.apply(Stamped(seq, seq, 1, None, event))]
    assert [(span.name, span.error) for span in spans] == [
        ("chat claude-x", "server"),
        ("chat claude-x", None),
        ("step 1", None),
    ]
    assert spans[1].attributes["gen_ai.response.time_to_first_chunk"] == 1.0


def test_what_a_killed_runner_left_open_ends_with_its_last_event_and_a_new_limit_is_kept():
    found = spans_of(
        STARTED,
        BudgetChanged(budget=Budget(steps=7)),
        (StepStarted(number=1), 1, None),
        (ToolCalled(call_id="c1", tool="run_command", arguments={}), 1, None),
        RunResumed(run_id="r1", from_seq=4),
        ENDED,
    )
    assert [found[name].error for name in ("execute_tool run_command", "step 1", "invoke_agent rundry")] == [
        "interrupted"
    ] * 3
    assert found["invoke_agent rundry"].end == 4.0
    again = found["invoke_agent rundry again"]
    assert (again.start, again.error, again.link) == (5.0, None, found["invoke_agent rundry"].id)
    assert again.attributes["rundry.budget.steps"] == 7


def test_a_run_that_continues_after_its_end_gets_a_further_span():
    found = spans_of(STARTED, ENDED, (StepStarted(number=1), 1, None), (StepFinished(number=1), 1, None), ENDED)
    assert found["step 1"].parent == found["invoke_agent rundry again"].id


def test_names_that_a_model_makes_up_are_valid_text_of_limited_length():
    name = "\ud800" + "x" * 5_000
    called = (ToolCalled(call_id=name, tool=name, arguments={}), 1, None)
    finished = (ToolFinished(call_id=name, tool=name, ok=False, result="unknown"), 1, None)
    (tool,) = spans_of(STARTED, (StepStarted(number=1), 1, None), called, finished).values()
    assert len(tool.name) < 300 and tool.name.encode()
    assert tool.error == "tool_error"


def test_long_content_is_cut():
    call = [(ADMITTED, None, None), *[(TextArrived(text="y" * 10_000), None, None)] * 9]
    found = spans_of(STARTED, *call, (ReplyFinished(finish="stop"), None, None), with_content=True)
    assert 30_000 < len(str(found["chat claude-x"].attributes["gen_ai.output.messages"])) < 33_000


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("anthropic/claude-x", ("anthropic", "claude-x")),
        ("gemini/gemini-pro", ("gcp.gemini", "gemini-pro")),
        ("bedrock/us.anthropic/x", ("aws.bedrock", "us.anthropic/x")),
        ("ollama_chat/qwen3:8b", ("ollama_chat", "qwen3:8b")),
        ("claude-sonnet", ("anthropic", "claude-sonnet")),
        ("qwen3:8b", ("openai", "qwen3:8b")),
    ],
)
def test_a_provider_has_the_name_of_the_conventions(name: str, found: tuple[str, str]):
    assert provider_and_model(name) == found
