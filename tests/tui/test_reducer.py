from __future__ import annotations

from typing import Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from fakes.played_events import Script, proposal, started
from fakes.views.reduced_state import ADMITTED, last, seen

from rundry.agent import (
    Budget,
    CallAdmitted,
    Charged,
    CheckStarted,
    ChildSpent,
    ChildStarted,
    ChildWaiting,
    CommandRefused,
    Fault,
    HandoffOpened,
    HoldReleased,
    Interrupted,
    KnownEvent,
    LoopKind,
    Paused,
    QuestionAnswered,
    QuestionAsked,
    Reason,
    ReplyFinished,
    Rule,
    RunEnded,
    RunResumed,
    Said,
    ShellFinished,
    ShellStarted,
    Sleeping,
    Spent,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
    Unknown,
    Unpaused,
    ViewState,
    Waiting,
    Woken,
    reduce,
    reduce_all,
)


def test_what_became_of_a_call_that_a_dead_runner_began_is_reported_at_the_call():
    call = ToolCalled(call_id="c1", tool="run_command", arguments={"command": "sleep 601"})
    lost = ToolFinished(call_id="c1", tool="run_command", ok=False, result="it may have run", summary="unknown")
    state = seen(call, RunResumed(run_id="r1", from_seq=2), lost)
    (block,) = [block for block in state.blocks if block.kind in ("tool", "command")]
    assert (block.title, block.status, block.right) == ("run sleep 601", "failed", "unknown")


def test_money_and_tokens_add_up_with_what_is_held():
    charged = Charged(tokens_in=100, tokens_out=20, usd=0.01, held_tokens=5, held_usd=0.002, estimated=True)
    state = seen(ADMITTED, charged, ADMITTED, Charged(tokens_in=1, tokens_out=1, usd=None))
    assert state.common.ledger.limited.counted_tokens == 127
    assert state.common.ledger.limited.counted_usd == 0.012
    assert state.common.ledger.limited.estimated
    assert state.common.ledger.limited.unpriced


def test_what_is_held_is_shown_apart_and_released_once():
    cut = Charged(tokens_in=100, tokens_out=20, held_tokens=5_000, held_usd=0.2, held_until=700.0, estimated=True)
    release = HoldReleased(charge=3, tokens=5_000, usd=0.2)
    assert seen(ADMITTED, cut).common.ledger.limited.counted_tokens == 5_120
    assert seen(ADMITTED, cut, release).common.ledger.limited.counted_tokens == 120
    assert seen(ADMITTED, cut, release, release).common.ledger.limited.counted_tokens == 120
    said = seen(ADMITTED, cut, Said(text="next"), release, loop=LoopKind.CHAT)
    assert said.common.ledger.limited.counted_tokens == 0


def test_a_call_that_a_dead_runner_left_counts_once_at_its_worst_case():
    lost = Charged(tokens_in=3_000, tokens_out=0, usd=0.04, held_tokens=1_500, held_usd=0.06, held_until=700.0)
    state = seen(ADMITTED, RunResumed(run_id="r1", from_seq=2), lost)
    spent = state.common.ledger.limited
    assert (spent.counted_tokens, spent.counted_usd, state.admitted) == (4_500, 0.1, {})
    charged = seen(ADMITTED, Charged(tokens_in=1, tokens_out=1), RunResumed(run_id="r1", from_seq=3))
    assert charged.common.ledger.limited.held_usd == 0


def test_a_chats_budget_is_for_each_message():
    charged = (StepStarted(number=1), Charged(tokens_in=100, tokens_out=0), StepFinished(number=1, seconds=4.0))
    assert seen(*charged, Said(text="next"), loop=LoopKind.CHAT).common.ledger.limited.steps == 0
    assert seen(*charged, Said(text="next"), loop=LoopKind.GOAL).common.ledger.limited.steps == 1
    assert seen(*charged, Said(text="next"), loop=LoopKind.CHAT).busy_seconds(0) == 0


def test_a_chat_that_a_limit_stopped_says_which_and_what_continues():
    block = seen(Waiting(why="message", detail="step budget: 2 of 2 steps"), loop=LoopKind.CHAT).blocks[-1]
    assert (block.kind, block.title) == ("stall", "step budget: 2 of 2 steps")
    assert "/limit" in block.text
    assert [one.kind for one in seen(Waiting(why="message"), loop=LoopKind.CHAT).blocks] == ["task"]


def test_the_phase_is_one_word_for_what_needs_attention_most():
    assert ViewState().phase == "starting"
    assert seen(StepStarted(number=1)).phase == "thinking"
    assert seen(ToolCalled(call_id="c", tool="search", arguments={})).phase == "running"
    assert seen(CheckStarted(command="x")).phase == "running"
    assert seen(Waiting(why="message")).phase == "waiting for you"
    assert seen(Waiting(why="message"), StepStarted(number=1)).phase == "thinking"
    assert seen(QuestionAsked(question_id="q", question="?")).phase == "waiting for you"
    assert seen(Paused()).phase == "paused"
    assert seen(Paused(), Unpaused()).phase == "thinking"
    assert seen(Sleeping(seconds=60, asked=60, why="CI")).phase == "sleeping"
    assert seen(Sleeping(seconds=60, asked=60, why="CI"), Woken(by="person")).phase == "thinking"
    assert seen(CallAdmitted(prompt_tokens=1, max_tokens=1, worst_usd=0, wrap_up=True)).phase == "wrapping up"
    assert seen(ended()).phase == "ended"


def ended(**changes: object) -> RunEnded:
    fields = {"reason": Reason.DONE, "detail": "check passed", "complete": True, "exit_code": 0}
    return RunEnded(**{**fields, **changes})  # type: ignore[arg-type]


def test_the_end_settles_what_still_ran():
    state = seen(ToolCalled(call_id="c", tool="search", arguments={}), proposal(), TextArrived(text="x"), ended())
    assert state.proposals == {}
    assert [b.status for b in state.blocks if b.kind in ("tool", "text")] == ["cut", "cut"]
    assert not any(b.live for b in state.blocks)
    assert (last(state).kind, last(state).status) == ("outcome", "passed")


def test_an_answer_that_was_just_read_is_not_repeated_and_any_other_is_shown():
    said = [TextArrived(text="All green.\n"), ReplyFinished(finish="stop")]
    assert last(seen(*said, ended(answer="All green."))).text == ""
    assert last(seen(*said, ended(answer="Two files are fixed."))).text == "Two files are fixed."
    assert last(seen(ended(answer="All green."))).text == "All green."


@pytest.mark.parametrize(
    ("command", "word"),
    [("switch_model", "/model"), ("set_limit", "/limit"), ("wake", "/wake"), ("say", "your message")],
)
def test_a_refused_command_is_named_as_it_was_given(command: str, word: str):
    refused = last(seen(CommandRefused(command_id=1, command=command, why="no")))
    assert refused.text == f"{word} was refused: no"


@pytest.mark.parametrize("kind", ["repeat", "error", "same-error", "refused", "cycle", "oscillation", "monologue",
                                  "chant", "empty", "stagnation", "poll", "tool-errors"])  # fmt: skip
@pytest.mark.parametrize("response", ["hint", "handoff", "stop"])
def test_a_detector_speaks_in_words_for_people(kind: str, response: str):
    block = last(seen(StallDetected(kind=kind, signature="what it did", response=response)))
    what, _, signature = block.title.partition(": ")
    assert (signature, " " in what) == ("what it did", True)
    assert block.right not in ("", response)


def test_a_resumed_run_is_no_longer_over():
    state = seen(ended(), RunResumed(run_id="r1", from_seq=2))
    assert state.outcome is None


def test_an_answered_question_is_closed_and_the_answer_stands_below():
    state = seen(
        QuestionAsked(question_id="q", question="which?", options=["a", "b"]),
        QuestionAnswered(question_id="q", text="b"),
    )
    question, answer = state.blocks[-2:]
    assert (question.status, question.text, answer.kind, answer.text) == ("ok", "which?\n1  a\n2  b", "say", "b")
    assert state.question is None


def test_a_fault_says_when_it_is_tried_again():
    assert last(seen(Fault(kind="rate-limit", text="slow down", retry_in=3.2))).right == "retry in 4 s"


def test_a_refused_command_is_shown_with_the_reason_and_found_by_its_id():
    state = seen(CommandRefused(command_id=7, command="decide", why="stale"))
    assert state.refused == {7: "stale"}
    assert "stale" in last(state).text


def test_a_hand_off_waits_and_says_what_to_do():
    state = seen(HandoffOpened(reason="stagnation", suggested_action="look at x"))
    assert (last(state).title, last(state).text) == ("hand-off: stagnation", "look at x")


def test_an_event_of_a_newer_version_is_a_line():
    assert last(seen(Unknown("moon_rose", b'{"type":"moon_rose"}'))).kind == "unknown"


def test_an_interruption_cuts_what_streamed():
    state = seen(TextArrived(text="x"), Interrupted(what="model"))
    assert state.blocks[-2].status == "cut"


def test_an_event_is_taken_in_once():
    state, stamped = ViewState(), Stamped(1, 0.0, None, None, TextArrived(text="x"))
    reduce(state, stamped)
    reduce(state, stamped)
    assert last(state).text == "x"


def test_each_change_is_reported_by_index_and_version():
    state, script = ViewState(), Script()
    reduce_all(
        state, script.stamp(started(), ToolCalled(call_id="c", tool="search", arguments={}), TextArrived(text="x"))
    )
    assert state.take_changes() == 0
    assert state.take_changes() == len(state.blocks)
    version = state.blocks[1].version
    reduce_all(state, script.stamp(ToolFinished(call_id="c", tool="search", ok=True, result="")))
    assert state.take_changes() == 1
    assert state.blocks[1].version == version + 1


def test_every_event_there_is_can_be_seen():
    import msgspec

    plain = {str: "x", int: 1, float: 1.0, bool: False}
    state, script = ViewState(), Script()
    for kind in get_args(KnownEvent):
        hints = get_type_hints(kind)
        fields = {}
        for field in msgspec.structs.fields(kind):
            if field.required:
                hint = hints[field.name]
                fields[field.name] = plain.get(hint) if hint in plain else _made(hint)
        reduce_all(state, script.stamp(kind(**fields)))
    assert len(state.blocks) > 25


def test_a_child_run_that_waits_is_shown_with_its_command_until_it_spends_again():
    begun = ChildStarted(
        number=1, run_id="c1", journal="c1.db", loop=LoopKind.UNTIL_DRY, about="k", title="audit.toml", budget=Budget()
    )
    waits = ChildWaiting(number=1, run_id="c1", why="gate")
    waiting = seen(begun, waits)
    assert (waiting.phase, waiting.blocks[-1].status) == ("search 1 waits for you", "waiting")
    assert waiting.blocks[-1].open and waiting.blocks[-1].detail == "rundry watch c1"
    again = seen(begun, waits, ChildSpent(run_id="c1", spent=Spent(steps=1)))
    assert (again.phase, again.blocks[-1].status, again.common.ledger.limited.steps) == ("search 1", "running", 1)


def _made(hint: object) -> object:
    if hint is Budget:
        return Budget()
    if hint is LoopKind:
        return LoopKind.GOAL
    if hint is Rule:
        return Rule(verdict="deny", path="x")
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    if isinstance(hint, type) and hasattr(hint, "__members__"):
        return next(iter(hint))  # type: ignore[call-overload]
    return [] if "list" in str(hint) else {} if str(hint).startswith("dict") else None


def test_what_a_persons_own_command_printed_stands_there_to_be_read_unless_it_is_long():
    begun = ShellStarted(shell_id=1, command="ls", told=True)
    short = ShellFinished(shell_id=1, ok=True, how="exit code 0", output="a\nb\n", seconds=0.1)
    assert seen(begun, short).blocks[-1].open
    assert not seen(begun, msgspec.structs.replace(short, output="a\n" * 300)).blocks[-1].open


def test_what_a_person_who_drives_got_from_a_tool_stands_there_to_be_read_unless_it_is_long():
    begun = ToolCalled(call_id="hand_1", tool="run_command", arguments={"command": "ls"}, by="person")
    short = ToolFinished(call_id="hand_1", tool="run_command", ok=False, result="a\nb", seconds=0.1, by="person")
    assert seen(begun, short).blocks[-1].open
    assert not seen(begun, msgspec.structs.replace(short, result="a\n" * 300)).blocks[-1].open
    assert not seen(begun, msgspec.structs.replace(short, by="model")).blocks[-1].open
