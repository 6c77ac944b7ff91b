"""What the reducer makes of a step: texts, calls and proposals."""

from __future__ import annotations

import msgspec
import pytest
from fakes.played_events import Script, proposal, started
from fakes.views.reduced_state import ADMITTED, check, last, seen

from rundry.agent import (
    AwaitBegan,
    CheckStarted,
    ProposalDecided,
    ProposalRebased,
    Queued,
    ReasoningArrived,
    ReplyFinished,
    Said,
    StepFinished,
    StepStarted,
    TextArrived,
    ToolCalled,
    ToolFinished,
    Unqueued,
    ViewState,
    reduce_all,
)
from rundry.agent.protocol import (
    Budget,
    ChildFinished,
    ChildSpent,
    ChildStarted,
    ChildWaiting,
    EffectsAccepted,
    EffectsApplied,
    LoopKind,
    Reason,
    Spent,
)


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


def test_what_is_only_counted_is_one_line_and_other_changes_have_their_own():
    words = ["3 new ignored files (a.log and 2 more)", "target: 9 files, built, not reviewed"]
    accepted = EffectsAccepted(order="o", rows="r", command="make", files=12, also=words[:1], built=words[1:])
    block = last(seen(accepted, EffectsApplied(order="o")))
    assert (block.kind, block.text, block.detail) == ("note", f"applied: {', '.join(words)}", "\n".join(words))
    block = last(seen(msgspec.structs.replace(accepted, in_place=True)))
    assert block.text.startswith("changed: 3 new ignored files")
    silent = msgspec.structs.replace(accepted, also=[], built=[])
    assert seen(StepStarted(number=1), silent).blocks == seen(StepStarted(number=1)).blocks


def test_arguments_that_are_not_an_object_still_give_a_title():
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


def test_a_partial_approval_says_how_many_hunks_were_accepted():
    state = seen(
        ToolCalled(call_id="c1", tool="edit_file", arguments={"path": "a.py"}),
        proposal(tool="edit_file", command=None, path="a.py", call_id="c1", hunks=3),
        ProposalDecided(proposal_id="p1", decision="part", by="person", taken=2),
        ToolFinished(call_id="c1", tool="edit_file", ok=True, result="written"),
    )
    assert (last(state).status, last(state).right) == ("part", "2 of 3 hunks approved")


@pytest.mark.parametrize(
    ("by", "reason", "shown"),
    [
        ("person", "conflict: the file changed", "asked again"),
        ("person", "conflict: the file changed; the file is kept as it is", "kept as it is"),
        ("person", "not this one", "rejected"),
        ("policy", "a rule refuses it: deny rm", "rejected by policy: a rule refuses it: deny rm"),
    ],
)
def test_a_row_says_how_a_proposal_ended_that_was_not_approved(by: str, reason: str, shown: str):
    state = seen(
        ToolCalled(call_id="c1", tool="edit_file", arguments={"path": "a.py"}),
        proposal(tool="edit_file", command=None, path="a.py", call_id="c1", hunks=1),
        ProposalDecided(proposal_id="p1", decision="reject", by=by, reason=reason),  # type: ignore[arg-type]
        ToolFinished(call_id="c1", tool="edit_file", ok=False, result="refused"),
    )
    assert last(state).right == shown


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


def test_time_runs_while_something_runs_and_stands_at_the_gate():
    state, script = ViewState(), Script()
    reduce_all(state, script.stamp(started(), StepStarted(number=1), ADMITTED))
    begun = script.at
    assert state.busy_seconds(begun + 5) == 5
    reduce_all(state, script.stamp(ReplyFinished(finish="tool_calls"), after=5))
    assert round(state.busy_seconds(begun + 60), 3) == 5
    reduce_all(state, script.stamp(ToolCalled(call_id="c", tool="run_command", arguments={}), after=0))
    reduce_all(state, script.stamp(proposal(call_id="c"), after=1))
    assert round(state.busy_seconds(script.at + 100), 3) == 6
    reduce_all(state, script.stamp(StepFinished(number=1, seconds=5.5)))
    assert round(state.busy_seconds(script.at + 100), 3) == 6, "it never goes back"


def test_the_baseline_check_is_not_charged():
    state = seen(CheckStarted(command="pytest -q"), check(14, baseline=True, seconds=3.0))
    assert state.busy_seconds(2e9) == 0


def test_the_failing_count_shows_how_it_moved():
    state = seen(check(14, baseline=True), check(3))
    assert state.failure_change == "14→3"
    assert last(state).right == "3 failing, 14 before"
    assert seen(check(3), check(3)).failure_change == "3"
    assert seen(check(None)).failure_change == ""


def test_a_check_that_timed_out_or_did_not_start_is_reported_as_such():
    assert last(seen(check(None, timed_out=True))).right == "timed out"
    assert last(seen(check(None, exit_code=None, error="no bash"))).right == "did not start: no bash"


def test_messages_wait_in_order_and_leave_the_queue_when_they_are_sent_or_taken_back():
    queued = (Queued(queued_id=2, text="b"), Queued(queued_id=1, text="a"))
    assert [m.text for m in seen(*queued).queue] == ["a", "b"]
    assert [m.text for m in seen(*queued, Said(text="a", queued_id=1)).queue] == ["b"]
    assert [m.text for m in seen(*queued, Unqueued(queued_id=2)).queue] == ["a"]
    assert [m.text for m in seen(*queued, Queued(queued_id=1, text="A")).queue] == ["A", "b"]


def test_the_task_is_shown_once_although_two_events_have_it():
    state = seen(Said(text="fix the failing suite", kind="task"))
    assert [b.kind for b in state.blocks].count("task") == 1


def test_what_a_person_is_asked_to_do_while_the_model_waits_is_shown_in_full():
    what = "log in to the registry with `docker login ghcr.io`, then write `done` here, so that the push can begin"
    state = seen(
        ToolCalled(call_id="c1", tool="wait_for", arguments={"person": what}),
        AwaitBegan(call_id="c1", what="person", name=what, counts=False),
    )
    assert [block.title or block.text for block in state.blocks][-1] == f"waiting for you: {what}"


def test_time_counts_each_child_that_works_and_never_goes_back():
    state, script = ViewState(), Script()
    one, two = (
        ChildStarted(number=n, run_id=f"r{n}", journal="", loop=LoopKind.GOAL, about="", title="x", budget=Budget())
        for n in (1, 2)
    )
    reduce_all(state, script.stamp(started(loop=LoopKind.CHAT), StepStarted(number=1), one, two, after=0))
    begun = script.at
    assert state.busy_seconds(begun + 4) == 8, "two work side by side"
    reduce_all(state, script.stamp(ChildWaiting(number=1, run_id="r1", why="gate"), after=4))
    assert state.busy_seconds(begun + 10) == 14, "one waits for its person"
    reduce_all(state, script.stamp(ChildSpent(run_id="r2", spent=Spent(seconds=9.5)), after=6))
    assert state.busy_seconds(script.at) == 14, "an exact value that is smaller does not turn it back"
    ended = ChildFinished(number=2, run_id="r2", reason=Reason.ANSWERED, detail="", complete=True, exit_code=0)
    reduce_all(state, script.stamp(ChildSpent(run_id="r1", spent=Spent(seconds=5.5)), ended, after=0))
    reduce_all(state, script.stamp(msgspec.structs.replace(ended, number=1, run_id="r1"), after=0))
    reduce_all(state, script.stamp(StepFinished(number=1, seconds=0.1), after=0))
    assert (round(state.busy_seconds(script.at + 60), 3), state.is_timed) == (15.1, False), "what the ledger has"
    reduce_all(state, script.stamp(Said(text="next")))
    assert state.busy_seconds(script.at) == 0
