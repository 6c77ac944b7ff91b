from __future__ import annotations

import msgspec
import pytest
from fakes.played import Script, proposal, started

from rundry.agent import (
    Block,
    Budget,
    CallAdmitted,
    Charged,
    CheckFinished,
    CheckStarted,
    CommandRefused,
    Event,
    Fault,
    HandoffOpened,
    HoldReleased,
    Interrupted,
    KnownEvent,
    LoopKind,
    Paused,
    ProposalDecided,
    ProposalRebased,
    QuestionAnswered,
    QuestionAsked,
    Queued,
    Reason,
    ReasoningArrived,
    ReplyFinished,
    Rule,
    RunEnded,
    RunResumed,
    Said,
    ShellFinished,
    ShellStarted,
    Sleeping,
    StallDetected,
    Stamped,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
    Unknown,
    Unpaused,
    Unqueued,
    ViewState,
    Waiting,
    Woken,
    reduce,
    reduce_all,
)

ADMITTED = CallAdmitted(prompt_tokens=3_000, max_tokens=900, worst_usd=0.1, worst_tokens=4_500)


def seen(*events: Event, loop: LoopKind = LoopKind.GOAL) -> ViewState:
    state, script = ViewState(), Script()
    reduce_all(state, script.stamp(started(loop=loop), *events))
    return state


def test_what_became_of_a_call_that_a_dead_runner_began_is_said_at_the_call():
    call = ToolCalled(call_id="c1", tool="run_command", arguments={"command": "sleep 601"})
    lost = ToolFinished(call_id="c1", tool="run_command", ok=False, result="it may have run", summary="unknown")
    state = seen(call, RunResumed(run_id="r1", from_seq=2), lost)
    (block,) = [block for block in state.blocks if block.kind in ("tool", "command")]
    assert (block.title, block.status, block.right) == ("run sleep 601", "failed", "unknown")


def last(state: ViewState) -> Block:
    return state.blocks[-1]


def check(failing: int | None, **changes: object) -> CheckFinished:
    fields = {"command": "pytest -q", "passed": failing == 0, "exit_code": 1, "timed_out": False, "output": "out"}
    return CheckFinished(**{**fields, "failing": failing, **changes})  # type: ignore[arg-type]


def test_streamed_text_grows_one_block_and_reasoning_another():
    state = seen(
        StepStarted(number=1), ADMITTED, ReasoningArrived(text="hm "), ReasoningArrived(text="so"),
        TextArrived(text="Hel"), TextArrived(text="lo"),
    )  # fmt: skip
    reasoning, text = state.blocks[-2:]
    assert (reasoning.kind, reasoning.text, reasoning.live) == ("reasoning", "hm so", False)
    assert (text.kind, text.text, text.live) == ("text", "Hello", True)
    assert state.phase == "streaming"


def test_a_cut_reply_is_marked_as_cut_and_no_longer_grows():
    state = seen(StepStarted(number=1), ADMITTED, TextArrived(text="Hel"), ReplyFinished(finish="interrupted"))
    assert (last(state).status, last(state).live) == ("cut", False)


def test_a_second_answer_is_a_block_of_its_own():
    state = seen(TextArrived(text="one"), ReplyFinished(finish="stop"), TextArrived(text="two"))
    assert [b.text for b in state.blocks if b.kind == "text"] == ["one", "two"]


def test_a_tool_call_and_its_result_are_one_line():
    state = seen(
        ToolCalled(call_id="c1", tool="read_file", arguments={"path": "src/calc.py", "start_line": 3}),
        ToolFinished(call_id="c1", tool="read_file", ok=True, result="text", summary="84 lines", seconds=0.2),
    )
    block = last(state)
    assert (block.title, block.status, block.right, block.seconds) == ("read src/calc.py:3-", "ok", "84 lines", 0.2)
    assert block.detail == "text"


def test_arguments_that_are_no_object_still_give_a_title():
    assert last(seen(ToolCalled(call_id="c1", tool="read_file", arguments="{broken"))).title == "read"


def test_a_proposal_turns_its_call_into_the_change_that_waits():
    edit = proposal(tool="edit_file", command=None, path="a.py", call_id="c1", diff="-a\n+b", added=1, removed=1)
    state = seen(ToolCalled(call_id="c1", tool="edit_file", arguments={"path": "a.py"}), edit)
    assert (last(state).kind, last(state).title, last(state).status) == ("edit", "edit a.py  +1 −1", "waiting")
    assert (last(state).detail, last(state).detail_kind) == ("-a\n+b", "diff")
    assert list(state.proposals) == ["p1"]
    assert state.phase == "waiting for you"


def test_what_the_policy_allows_never_waits():
    state = seen(proposal(asks=[]), ProposalDecided(proposal_id="p1", decision="approve", by="policy"))
    assert state.proposals == {}
    assert state.phase != "waiting for you"


def test_a_partial_approval_says_how_many_hunks_were_taken():
    state = seen(
        ToolCalled(call_id="c1", tool="edit_file", arguments={"path": "a.py"}),
        proposal(tool="edit_file", command=None, path="a.py", call_id="c1", hunks=3),
        ProposalDecided(proposal_id="p1", decision="part", by="person", taken=2),
        ToolFinished(call_id="c1", tool="edit_file", ok=True, result="written"),
    )
    assert (last(state).status, last(state).right) == ("part", "2 of 3 hunks approved")


def test_a_rejection_stays_a_rejection_when_its_result_comes():
    state = seen(
        ToolCalled(call_id="c1", tool="run_command", arguments={"command": "rm x"}),
        proposal(call_id="c1"),
        ProposalDecided(proposal_id="p1", decision="reject", by="person", reason="keep it"),
        ToolFinished(call_id="c1", tool="run_command", ok=False, result="rejected: keep it"),
    )
    assert (last(state).status, last(state).text) == ("rejected", "keep it")
    assert state.proposals == {}


def test_a_rebased_proposal_has_a_new_digest_and_says_why():
    rebased = ProposalRebased(
        proposal_id="p1", diff="new", digest="d2", before=None, after=None, conflict=True, why="line 3"
    )
    state = seen(proposal(), rebased)
    assert state.proposals["p1"].digest == "d2"
    assert (state.rebased["p1"].conflict, state.rebased["p1"].why) == (True, "line 3")


def test_money_and_tokens_add_up_with_what_is_held():
    charged = Charged(tokens_in=100, tokens_out=20, usd=0.01, held_tokens=5, held_usd=0.002, estimated=True)
    state = seen(ADMITTED, charged, ADMITTED, Charged(tokens_in=1, tokens_out=1, usd=None))
    assert state.spent.counted_tokens == 127
    assert state.spent.counted_usd == 0.012
    assert state.spent.estimated
    assert state.spent.unpriced


def test_what_is_held_is_shown_apart_and_released_once():
    cut = Charged(tokens_in=100, tokens_out=20, held_tokens=5_000, held_usd=0.2, held_until=700.0, estimated=True)
    release = HoldReleased(charge=3, tokens=5_000, usd=0.2)
    assert seen(ADMITTED, cut).spent.counted_tokens == 5_120
    assert seen(ADMITTED, cut, release).spent.counted_tokens == 120
    assert seen(ADMITTED, cut, release, release).spent.counted_tokens == 120
    said = seen(ADMITTED, cut, Said(text="next"), release, loop=LoopKind.CHAT)
    assert said.spent.counted_tokens == 0


def test_a_call_that_a_dead_runner_left_counts_once_at_its_worst_case():
    lost = Charged(tokens_in=3_000, tokens_out=0, usd=0.04, held_tokens=1_500, held_usd=0.06, held_until=700.0)
    state = seen(ADMITTED, RunResumed(run_id="r1", from_seq=2), lost)
    assert (state.spent.counted_tokens, state.spent.counted_usd, state.admitted) == (4_500, 0.1, {})
    assert seen(ADMITTED, Charged(tokens_in=1, tokens_out=1), RunResumed(run_id="r1", from_seq=3)).spent.held_usd == 0


def test_a_chats_budget_is_for_each_message():
    charged = (StepStarted(number=1), Charged(tokens_in=100, tokens_out=0), StepFinished(number=1, seconds=4.0))
    assert seen(*charged, Said(text="next"), loop=LoopKind.CHAT).spent.steps == 0
    assert seen(*charged, Said(text="next"), loop=LoopKind.GOAL).spent.steps == 1
    assert seen(*charged, Said(text="next"), loop=LoopKind.CHAT).busy.read(0) == 0


def test_a_chat_that_a_limit_stopped_says_which_and_what_goes_on():
    block = seen(Waiting(why="message", detail="step budget: 2 of 2 steps"), loop=LoopKind.CHAT).blocks[-1]
    assert (block.kind, block.title) == ("stall", "step budget: 2 of 2 steps")
    assert "/limit" in block.text
    assert [one.kind for one in seen(Waiting(why="message"), loop=LoopKind.CHAT).blocks] == ["task"]


def test_time_runs_while_something_runs_and_stands_at_the_gate():
    state, script = ViewState(), Script()
    reduce_all(state, script.stamp(started(), StepStarted(number=1), ADMITTED))
    begun = script.at
    assert state.busy.read(begun + 5) == 5
    reduce_all(state, script.stamp(ReplyFinished(finish="tool_calls"), after=5))
    assert round(state.busy.read(begun + 60), 3) == 5
    reduce_all(state, script.stamp(ToolCalled(call_id="c", tool="run_command", arguments={}), after=0))
    reduce_all(state, script.stamp(proposal(call_id="c"), after=1))
    assert round(state.busy.read(script.at + 100), 3) == 6
    reduce_all(state, script.stamp(StepFinished(number=1, seconds=5.5)))
    assert state.busy.read(script.at + 100) == 5.5


def test_the_baseline_check_is_not_charged():
    state = seen(CheckStarted(command="pytest -q"), check(14, baseline=True, seconds=3.0))
    assert state.busy.read(2e9) == 0


def test_the_failing_count_shows_how_it_moved():
    state = seen(check(14, baseline=True), check(3))
    assert state.movement == "14→3"
    assert last(state).right == "3 failing, 14 before"
    assert seen(check(3), check(3)).movement == "3"
    assert seen(check(None)).movement == ""


def test_a_check_that_timed_out_or_did_not_start_is_said_as_such():
    assert last(seen(check(None, timed_out=True))).right == "timed out"
    assert last(seen(check(None, exit_code=None, error="no bash"))).right == "did not start: no bash"


def test_messages_wait_in_order_and_leave_the_queue_when_they_are_said_or_taken_back():
    queued = (Queued(queued_id=2, text="b"), Queued(queued_id=1, text="a"))
    assert [m.text for m in seen(*queued).queue] == ["a", "b"]
    assert [m.text for m in seen(*queued, Said(text="a", queued_id=1)).queue] == ["b"]
    assert [m.text for m in seen(*queued, Unqueued(queued_id=2)).queue] == ["a"]
    assert [m.text for m in seen(*queued, Queued(queued_id=1, text="A")).queue] == ["A", "b"]


def test_the_task_is_shown_once_though_it_is_started_and_said():
    state = seen(Said(text="fix the failing suite", kind="task"))
    assert [b.kind for b in state.blocks].count("task") == 1


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
    assert last(seen(Fault(kind="rate-limit", text="slow down", retry_in=3.2))).right == "again in 3 s"


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


def test_each_change_is_told_by_index_and_version():
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
    from typing import get_args, get_type_hints

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


def _made(hint: object) -> object:
    if hint is Budget:
        return Budget()
    if hint is LoopKind:
        return LoopKind.GOAL
    if hint is Rule:
        return Rule(verdict="deny", path="x")
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
