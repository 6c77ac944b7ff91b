"""Which spans a list of events makes."""

from __future__ import annotations

import json
from typing import Any

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
    Prompted,
    Reason,
    ReasoningArrived,
    ReplyFinished,
    RunEnded,
    RunResumed,
    RunStarted,
    Said,
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
ENDED_WELL = RunEnded(reason=Reason.DONE, detail="", complete=True, exit_code=0, answer="done")
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


def messages(span: Span, name: str) -> list[dict[str, Any]]:
    return json.loads(str(span.attributes[f"gen_ai.{name}"]))


READ = ToolCalled(call_id="c1", tool="read_file", arguments={"path": "a"})
LIST = ToolCalled(call_id="c2", tool="list_files", arguments={})
ANSWERED: list[Event] = [
    Prompted(kind="system", text="You work."),
    Said(text="do it", kind="task"),
    StepStarted(number=1),
    ADMITTED,
    ReasoningArrived(text="hm, "),
    ReasoningArrived(text="read first"),
    TextArrived(text="I read."),
    Charged(tokens_in=7, tokens_out=3, tokens_written=5),
    ReplyFinished(finish="tool_calls", calls=2),
]


def test_with_content_a_call_has_its_prompt_and_its_whole_answer_with_reasoning_and_tool_calls():
    results: list[Event] = [
        READ,
        LIST,
        ToolFinished(call_id="c1", tool="read_file", ok=True, result="x = 1"),
        ToolFinished(call_id="c2", tool="list_files", ok=True, result="a"),
        StepFinished(number=1),
    ]
    again: list[Event] = [StepStarted(number=2), ADMITTED, ReplyFinished(finish="stop"), StepFinished(number=2)]
    events = [STARTED, *ANSWERED, *results, *again]
    fold = RunSpans("r1", trace_id("r1"), None, with_content=True)
    spans = [span for seq, event in enumerate(events, 1) for span in fold.apply(Stamped(seq, seq, None, None, event))]
    first, second = (span for span in spans if span.name.startswith("chat"))
    assert (first.start, first.end) == (5.0, 10.0), "it ends with the answer, not with its last tool call"
    assert messages(first, "system_instructions") == [{"type": "text", "content": "You work."}]
    asked = {"role": "user", "parts": [{"type": "text", "content": "do it"}]}
    assert messages(first, "input.messages") == [asked]
    calls = [
        {"type": "tool_call", "id": "c1", "name": "read_file", "arguments": {"path": "a"}},
        {"type": "tool_call", "id": "c2", "name": "list_files", "arguments": {}},
    ]
    (answer,) = messages(first, "output.messages")
    assert answer == {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "hm, read first"},
            {"type": "text", "content": "I read."},
            *calls,
        ],
        "finish_reason": "tool_call",
    }
    assert messages(second, "input.messages") == [
        asked,
        {"role": "assistant", "parts": [{"type": "text", "content": "I read."}, *calls]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "x = 1"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "response": "a"}]},
    ]
    assert first.attributes["gen_ai.usage.cache_creation.input_tokens"] == 5
    run = spans_of(STARTED, ENDED_WELL, with_content=True)
    assert run["invoke_agent rundry"].attributes["output.value"] == "done"


@pytest.mark.parametrize("last", [StepFinished(number=1), RunResumed(run_id="r1", from_seq=9), ENDED, ADMITTED])
def test_a_call_whose_tool_calls_were_not_all_recorded_ends_with_those_that_were(last: Event):
    fold = RunSpans("r1", trace_id("r1"), None, with_content=True)
    events = [STARTED, *ANSWERED, READ, last]
    spans = [span for seq, event in enumerate(events, 1) for span in fold.apply(Stamped(seq, seq, None, None, event))]
    (call,) = (span for span in spans if span.name.startswith("chat"))
    assert [part["type"] for part in messages(call, "output.messages")[0]["parts"]] == [
        "reasoning",
        "text",
        "tool_call",
    ]
    assert (call.end, call.error) == (10.0, None)


def test_without_content_a_call_has_no_text_and_is_not_held():
    found = spans_of(STARTED, *((event, None, None) for event in ANSWERED))
    attributes = found["chat claude-x"].attributes
    assert not {name for name in attributes if "messages" in name or "instructions" in name or "value" in name}


def test_a_long_prompt_keeps_its_task_and_its_newest_messages_and_says_how_many_are_missing():
    said = [(Said(text=f"{number} " + "y" * 9_000, kind="say"), None, None) for number in range(20)]
    huge = (Said(text="\ud800 " + "z" * 200_000, kind="say"), None, None)
    for newest in (said[-1], huge):
        events = [
            (Said(text="the task " + "t" * 50_000, kind="task"), None, None),
            *said,
            newest,
            (ADMITTED, None, None),
        ]
        found = spans_of(STARTED, *events, (ReplyFinished(finish="stop"), None, None), with_content=True)
        call = found["chat claude-x"]
        text = str(call.attributes["gen_ai.input.messages"])
        sent = messages(call, "input.messages")
        assert len(text) < 40_000 and len(sent) + int(call.attributes["rundry.input.left_out"]) == 22  # type: ignore[arg-type]
        assert sent[0]["parts"][0]["content"].startswith("the task") and len(sent) >= 2


def test_steps_have_a_kind_for_openinference_because_the_conventions_have_no_name_for_them():
    found = spans_of(STARTED, (StepStarted(number=1), 1, None), (StepFinished(number=1), 1, None))
    assert found["step 1"].attributes["openinference.span.kind"] == "CHAIN"


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
