"""A person takes control: they use the model's tools, and the model gets a report of what they did."""

from __future__ import annotations

import asyncio
import subprocess

from fakes.in_process.layered_run import IDENTITY
from fakes.paused_command import PausedCommand
from fakes.turns import call, edit, finish, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import (
    Act,
    Budget,
    GiveWheel,
    Interrupt,
    LoopKind,
    Rewind,
    Say,
    Stop,
    TakeWheel,
    Undo,
)
from rundry.agent.state.facts.run_facts import fold

DONE = finish("all is well", "a.txt:1")
STOP = Stop(how="now")


def sh(command: str) -> Act:
    return Act(tool="run_command", arguments={"command": command})


def refusals(run) -> list[str]:
    return [e["why"] for e in run.of("command_refused")]


def told(run) -> str:
    (text,) = [e["text"] for e in run.of("prompted") if e["kind"] == "wheel"]
    return text


async def test_what_a_person_did_is_recorded_and_reported_to_the_model_with_its_diff(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), DONE)
    run.on("step_finished", TakeWheel(), number=1)
    run.on("wheel_taken", sh("echo three > c.txt; echo printed"))
    run.on("tool_finished", Act(tool="write_file", arguments={"path": "b.txt", "content": "mine\n"}), by="person")
    run.on("tool_finished", GiveWheel(note="c.txt was missing"), by="person", nth=2)
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert (work / "c.txt").read_text() == "three\n" and (work / "b.txt").read_text() == "mine\n"
    text = told(run)
    assert "c.txt was missing" in text and "echo three > c.txt" in text and "printed" in text
    assert "+three" in text and "-two\n+mine" in text
    assert text in run.heard()
    called = [e for e in run.of("tool_called") if e["by"] == "person"]
    assert [(e["tool"], e["step"]) for e in called] == [("run_command", None), ("write_file", None)]
    assert {(e["path"], e["by"]) for e in run.of("file_changed")[-2:]} == {("c.txt", "command"), ("b.txt", "person")}
    assert all(e["decision"] == "approve" and e["by"] == "person" for e in run.of("proposal_decided")[-2:])
    assert not any(e["asks"] for e in run.of("proposal_opened"))
    assert outcome.steps == 2, "what a person does is no step"
    run.assert_legal()


async def test_of_what_a_command_changed_the_changed_lines_are_counted(driven, work):
    (work / "a.txt").write_text("one\ntwo\nthree\n")
    run = driven(edit("a.txt", "one", "ONE"), DONE)
    run.on("step_finished", TakeWheel(), number=1).on("wheel_taken", sh("echo four >> a.txt; sed -i /two/d a.txt"))
    run.on("tool_finished", GiveWheel(note=""), by="person")
    await run.run(watched=True)
    changed = run.of("file_changed")[-1]
    assert (changed["by"], changed["added"], changed["removed"]) == ("command", 1, 1), run.story()


async def test_the_running_step_is_interrupted_and_the_loop_rests_until_control_is_returned(driven, work):
    held = PausedCommand()
    run = driven(call("run_command", command=f"echo x > a.txt; {held.line}"), call("read_file", path="a.txt"), DONE)
    run.on("step_started", lambda _: Say(text="noted"), number=1)
    run.on("wheel_taken", Say(text="and this"), sh("touch made"))
    run.on("tool_finished", GiveWheel(), by="person")
    task = asyncio.ensure_future(run.run(watched=True))
    await asyncio.to_thread(held.wait)
    await run.put_once(work / "a.txt", TakeWheel())
    outcome = await task
    assert outcome.reason == "answered", run.story()
    order = run.types()
    assert order.index("wheel_taken") > order.index("interrupted")
    assert run.of("paused") == []
    assert order.index("wheel_given") < [i for i, t in enumerate(order) if t == "step_started"][1]
    assert (work / "made").exists() and (work / "a.txt").read_text() == "one\n"
    run.assert_legal()


async def test_the_checks_run_after_control_is_returned_and_a_goal_that_is_met_needs_no_model(driven, work):
    run = driven(say("I think about it"), until=["test -e done"])
    run.on("step_finished", TakeWheel())
    run.on("wheel_taken", sh("touch done"))
    run.on("tool_finished", GiveWheel(), by="person")
    outcome = await run.run(watched=True)
    assert outcome.reason == "done" and outcome.steps == 1, run.story()


async def test_a_person_finishes_where_the_check_holds_and_drives_on_where_it_does_not(driven, work):
    run = driven(say("hm"), until=["test -e done"])
    answer = Act(tool="finish", arguments={"answer": "it is there"})
    run.on("step_finished", TakeWheel())
    run.on("wheel_taken", answer)
    run.on("command_taken", sh("touch done"), command="act")
    run.on("command_taken", answer, command="act", nth=2)
    outcome = await run.run(watched=True)
    assert outcome.reason == "done" and outcome.answer == "it is there", run.story()
    assert len(run.of("wheel_given")) == 1 and run.of("wheel_given")[0]["finished"]


async def test_where_there_is_no_check_what_a_person_finished_is_the_answer(driven):
    run = driven(say("hm"))
    run.on("step_finished", TakeWheel())
    run.on("wheel_taken", Act(tool="finish", arguments={"answer": "forty-two"}))
    outcome = await run.run(watched=True)
    assert (outcome.reason, outcome.answer) == ("answered", "forty-two")


async def test_what_a_person_did_can_be_undone_like_what_the_model_did(driven, work):
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "start"]):
        subprocess.run(["git", "-C", work, *IDENTITY, *words], check=True, capture_output=True)
    run = driven(say("hello"), say("ok"), loop=LoopKind.CHAT, task="hi")
    run.on("waiting", TakeWheel(), why="message")
    run.on("wheel_taken", sh("echo 9 > b.txt; echo new > n.txt"))
    run.on("command_taken", Undo(confirmed=["b.txt", "n.txt"]), command="act")
    run.on("undone", GiveWheel())
    run.on("wheel_given", STOP)
    await run.run(watched=True)
    assert (work / "b.txt").read_text() == "two\n" and not (work / "n.txt").exists()


async def test_taking_control_closes_a_hand_off(driven):
    run = driven(
        call("read_file", path="a.txt"),
        then=call("read_file", path="a.txt"),
        on_stall="handoff",
    )
    run.on("handoff_opened", TakeWheel())
    run.on("wheel_taken", Act(tool="finish", arguments={"answer": "by hand"}))
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered" and outcome.answer == "by hand", run.story()
    assert run.of("handoff_closed")[0]["note"] == "they took control"


async def test_what_makes_no_sense_is_refused_with_the_reason(driven):
    run = driven(say("hello"), say("ok"), loop=LoopKind.CHAT, task="hi")
    run.on("waiting", sh("true"), GiveWheel(), TakeWheel(), why="message")
    run.on("wheel_taken", TakeWheel(), Act(tool="ask_person", arguments={"question": "?"}), sh("  "))
    run.on("command_taken", Act(tool="finish", arguments={"answer": "x"}), command="act")
    run.on("command_refused", Act(tool="write_file", arguments={"path": "a.txt"}), nth=5)
    run.on("command_refused", Act(tool="write_file", arguments={"path": "a.txt", "content": "", "expects": ""}), nth=6)
    run.on("command_taken", STOP, command="act", nth=2)
    await run.run(watched=True)
    said = refusals(run)
    assert said[:2] == ["you are not in control: /control takes it", "you are not in control"]
    assert "a person is already in control" in said and "a chat run has no `finish`: /control returns control" in said
    assert any(why.startswith("ask_person cannot be used in manual control") for why in said)
    assert any("content" in why for why in said)


async def test_an_edit_of_a_file_that_changed_meanwhile_is_not_written(driven, work):
    run = driven(say("hello"), loop=LoopKind.CHAT, task="hi")
    stale = Act(tool="write_file", arguments={"path": "a.txt", "content": "mine\n"}, expects="0" * 64)
    run.on("waiting", TakeWheel(), why="message").on("wheel_taken", stale)
    run.on("command_taken", STOP, command="act")
    await run.run(watched=True)
    assert (work / "a.txt").read_text() == "one\n"
    assert "changed on disk while you edited it" in run.of("tool_finished")[0]["result"]


async def test_a_command_of_a_person_in_control_is_interrupted_and_what_it_did_is_known(driven, work):
    run = driven(say("hello"), loop=LoopKind.CHAT, task="hi")
    run.on("waiting", TakeWheel(), why="message").on("wheel_taken", sh("echo x > begun; sleep 30"))
    run.on("tool_finished", STOP, by="person")
    task = asyncio.ensure_future(run.run(watched=True))
    await run.put_once(work / "begun", Interrupt())
    await task
    assert run.of("tool_finished")[0]["summary"] == "interrupted"
    assert [e["path"] for e in run.of("file_changed")] == ["begun"]


async def test_limits_of_the_run_do_not_hold_a_person_back(driven, work):
    run = driven(say("hello"), loop=LoopKind.CHAT, task="hi", budget=Budget(steps=1, seconds=0.0001))
    run.on("waiting", TakeWheel(), why="message").on("wheel_taken", sh("sleep 0.3; echo late > late.txt"))
    run.on("command_taken", STOP, command="act")
    await run.run(watched=True)
    assert (work / "late.txt").read_text() == "late\n", run.story()


async def test_a_runner_that_died_returns_control_and_the_model_reads_of_all(driven, work):
    run = driven(say("hm"), finish("all is well", "c.txt:1"))
    run.on("step_finished", TakeWheel())
    run.on("wheel_taken", sh("echo three > c.txt"))
    run.on("tool_finished", GiveWheel(), by="person")
    await run.run(watched=True)
    killed = run.killed_at("tool_finished", by="person")
    outcome = await killed.run()
    assert outcome.reason == "answered", killed.story()
    assert killed.of("wheel_given")[0]["by"] == "program"
    assert "+three" in told(killed)


async def test_a_rewind_names_and_leaves_what_a_command_of_a_person_in_control_did(driven, work):
    run = driven(say("hello"), say("ok"), loop=LoopKind.CHAT, task="hi")
    run.on("waiting", TakeWheel(), why="message").on("wheel_taken", sh("echo three > c.txt"))
    run.on("command_taken", GiveWheel(), command="act")
    run.on("wheel_given", lambda _: Rewind(seq=run.of("said")[0]["seq"]))
    run.on("rewound", STOP)
    await run.run(watched=True)
    assert (work / "c.txt").read_text() == "three\n"
    assert "c.txt" in " ".join(run.of("undone")[-1]["kept"]), run.story()
    view = Journal.open(run.path)
    facts = fold(view.spec, view.read())
    view.close()
    system, left = facts.main.messages
    assert (system.role, left.role) == ("system", "user") and "c.txt" in left.text


async def test_a_sleep_ends_when_the_person_takes_control(driven):
    run = driven(call("wake_after", seconds=300, reason="the build"), DONE, DONE, loop=LoopKind.PACED)
    run.on("sleeping", TakeWheel())
    run.on("wheel_taken", Act(tool="read_file", arguments={"path": "a.txt"}))
    run.on("command_taken", GiveWheel(), command="act")
    await run.run(watched=True)
    assert run.of("woken")[0]["by"] == "person", run.story()
    assert run.types().index("woken") < run.types().index("wheel_taken")
    assert [e["tool"] for e in run.of("tool_called")] == ["wake_after", "read_file", "finish"]
