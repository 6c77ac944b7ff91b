from __future__ import annotations

import json

from fakes.turns import call, edit, finish

from rundry.agent.protocol import (
    Budget,
    ChangedFile,
    FailingCheck,
    HandoffOpened,
    HandoffRecord,
    LastAction,
    OpenProposal,
    Spent,
    Tokens,
    Tried,
    decode_event,
)
from rundry.agent.state.reports.handoffs import handoff_markdown

READ = call("read_file", path="a.txt")


def opened(run) -> HandoffOpened:
    return next(s.event for s in reversed(run.stamped) if isinstance(s.event, HandoffOpened))


async def test_a_stall_leaves_a_record_that_nobody_has_to_find_out_again(driven):
    check = "echo two words are missing; exit 3"
    turns = [edit("a.txt", "one", "ONE"), call("read_file", path="nowhere.txt")]
    run = driven(*turns, then=READ, until=[check], on_stall="handoff", budget=Budget(steps=30), task="make it green")
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    event = opened(run)
    record = event.record
    assert record.task == "make it green"
    assert event.suggested_action == f"Look at why `{check}` fails, then resume the run with a hint."
    assert record.files_changed == ["a.txt"]
    (change,) = record.changes
    assert (change.added, change.removed) == (1, 1)
    assert "--- a/a.txt\n+++ b/a.txt\n" in change.diff and "-one\n+ONE\n" in change.diff
    assert record.failing_check is not None
    assert (record.failing_check.exit_code, record.failing_check.command) == (3, check)
    assert "two words are missing" in record.failing_check.output
    tried = {t.what: t for t in record.tried}
    assert "the check still fails" in tried["edit_file a.txt"].why
    assert "nowhere.txt" in tried["read_file nowhere.txt"].why
    assert any("it stalled" in t.why and t.times >= 2 for t in record.tried), record.tried
    assert record.last_actions[-1].tool == "read_file"
    assert record.spent.steps == outcome.steps and record.budget.steps == 30
    assert [share.model for share in record.shares] == ["scripted"]
    assert record.shares[0].calls == outcome.steps


async def test_a_question_that_nobody_answers_is_in_the_record(driven):
    run = driven(call("ask_person", question="tabs or spaces?"), on_ask="handoff")
    await run.run()
    assert opened(run).record.questions == ["tabs or spaces?"]
    assert opened(run).suggested_action.startswith("Answer the model's question")


async def test_a_file_that_is_not_text_is_named_and_a_new_one_has_a_diff(driven, work):
    (work / "logo.bin").write_bytes(b"\0\1\2" * 50)
    command = call("run_command", command="printf '\\0\\3' > logo.bin; echo hello > new.txt")
    run = driven(command, call("ask_person", question="so?"), on_ask="handoff")
    await run.run()
    changes = {change.path: change for change in opened(run).record.changes}
    assert changes["logo.bin"].diff == "(not text)"
    assert "--- /dev/null" in changes["new.txt"].diff and "+hello" in changes["new.txt"].diff


async def test_a_hint_takes_a_run_up_that_ended_with_a_hand_off(driven):
    from rundry.agent.run.client.start_request import ResumeChanges

    run = driven(READ, call("ask_person", question="tabs or spaces?"), finish("tabs", "a.txt:1"), on_ask="handoff")
    assert (await run.run()).reason == "handoff"
    assert (await run.run(changes=ResumeChanges(hint="tabs, please"))).reason == "answered", run.story()
    (closed,) = run.of("handoff_closed")
    assert (closed["by"], closed["note"]) == ("person", "tabs, please")
    assert "tabs, please" in run.heard()


OLD = {
    "type": "handoff_opened",
    "reason": "repeat: read_file a.txt",
    "suggested_action": "Resume the run with a hint about what to try instead.",
    "record": {
        "task": "do it",
        "last_actions": [{"step": 1, "tool": "read_file", "arguments": {"path": "a"}, "ok": True, "result": "one"}],
        "open_proposals": [{"tool": "write_file", "path": "a.txt", "command": None, "diff": "+x"}],
        "files_changed": ["a.txt"],
        "failing_check": {"command": "make", "exit_code": 2, "output": "no"},
        "spent": {"steps": 3, "tokens": {"in": 10, "out": 2, "cached": 0, "reasoning": 0, "written": 0}, "usd": 0.1},
        "budget": {"steps": 40, "tokens": None, "usd": None, "seconds": 600.0, "deadline": None},
    },
}


def test_a_record_of_an_older_journal_still_reads():
    event = decode_event("handoff_opened", json.dumps(OLD).encode())
    assert isinstance(event, HandoffOpened)
    assert event.record.last_actions[0].tool == "read_file"
    assert event.record.spent.tokens.in_ == 10
    text = handoff_markdown(event)
    assert "steps 3 of 40, 37 left" in text
    assert "- a.txt\n" in text


def test_the_reason_and_what_to_do_come_first_and_a_fence_holds_what_it_quotes():
    record = HandoffRecord(
        task="fix it",
        changes=[ChangedFile(path="a.md", diff="```\n+x\n```", added=1)],
        files_changed=["a.md"],
        failing_check=FailingCheck(command="make", exit_code=2, output="no rule"),
        tried=[Tried(what="edit a.md", why="no help", times=3)],
        last_actions=[LastAction(step=1, tool="read_file", arguments={"path": "a.md"}, ok=True, result="x")],
    )
    event = HandoffOpened(reason="repeat: read\nit", suggested_action="Look at make.", record=record)
    text = handoff_markdown(event, run_id="r1", journal="runs/r1.db")
    lines = text.splitlines()
    assert lines[:3] == ["# Hand-off: repeat: read it", "", "**Next:** Look at make."]
    assert "````diff\n```\n+x\n```\n````" in text
    assert 'rundry resume r1 --hint "..."' in text
    assert "- edit a.md (3 times): no help" in text
    titles = [line for line in lines if line.startswith("## ")]
    assert titles == [
        "## Task",
        "## Failing check",
        "## What was tried",
        "## Changed files",
        "## Last actions",
        "## Spent",
    ]


def test_what_is_held_for_a_cut_call_is_named_and_is_not_left():
    spent = Spent(tokens=Tokens(1_000, 200), held_tokens=300, usd=0.1, held_usd=0.05, cut_calls=1)
    record = HandoffRecord(spent=spent, budget=Budget(tokens=2_000, usd=0.5))
    text = handoff_markdown(HandoffOpened(reason="r", suggested_action="s", record=record))
    assert "- tokens 1,200 of 2,000, 300 held for interrupted calls, 500 left\n" in text
    assert "- usd 0.1000 of 0.5000, 0.0500 held for interrupted calls, 0.3500 left\n" in text


def test_an_open_proposal_names_the_commands_that_decide_on_it_and_a_decided_one_does_not():
    digest, other = "a" * 64, "b" * 64
    opened = OpenProposal(proposal_id="p1", digest=digest, tool="edit_file", path="a.md", diff="+x")
    event = HandoffOpened(reason="r", suggested_action="s", record=HandoffRecord(open_proposals=[opened]))
    text = handoff_markdown(event, run_id="r1")
    approve, reject = f"rundry approve r1 --digest {'a' * 12}", f"rundry reject r1 --digest {'a' * 12}"
    assert f"`{approve}`" in text and f"`{reject} --reason" in text
    assert f"`edit_file` a.md (digest `{'a' * 12}`)" in text
    assert "rundry resume" not in text
    moved = handoff_markdown(event, run_id="r1", waiting={"p1": other})
    assert f"rundry approve r1 --digest {'b' * 12}" in moved and "a" * 12 not in moved
    decided = handoff_markdown(event, run_id="r1", waiting={})
    assert "rundry approve" not in decided and "digest" not in decided
    assert 'rundry resume r1 --hint "..."' in decided


def test_parts_that_hold_nothing_are_left_out():
    text = handoff_markdown(HandoffOpened(reason="r", suggested_action="s"))
    assert "## Task" not in text and "## Changed files" not in text
