"""Back to before an earlier message: the conversation as it was, and the files with it."""

from __future__ import annotations

from dataclasses import replace

from fakes.turns import Call, call, calls, edit, finish, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import LoopKind, Pause, Rewind, Said, Say, Stop, Unpause, Unqueue
from rundry.agent.run.client.start_request import ResumeChanges
from rundry.agent.run.commands.undo_after_end import handle_after_end
from rundry.agent.state.facts.run_facts import fold

DONE = finish("all is well", "a.txt:1")
STOP = Stop(how="now")


def seq_of_said(run, text):
    return next(s.seq for s in run.stamped if isinstance(s.event, Said) and s.event.text == text)


def events_since(run, seq):
    view = Journal.open(run.path)
    events = view.read(seq)
    view.close()
    return events


async def test_a_chat_goes_back_to_before_a_message_with_the_files_as_they_were(driven, work):
    run = driven(
        edit("a.txt", "one", "first"),
        say("first done"),
        call("run_command", command="echo gone > c.txt; echo 2 > b.txt"),
        edit("a.txt", "first", "second"),
        say("second done"),
        say("another way"),
        loop=LoopKind.CHAT,
        task="do the first",
    )
    run.on("waiting", Say(text="do the second"), why="message")
    run.on("waiting", lambda _: Rewind(seq=seq_of_said(run, "do the second")), why="message", nth=2)
    run.on("rewound", Say(text="do another thing"))
    run.on("waiting", STOP, why="message", nth=3)
    await run.run(watched=True)
    assert (work / "a.txt").read_text() == "first\n"
    assert (work / "b.txt").read_text() == "two\n" and not (work / "c.txt").exists()
    assert run.of("undone")[0]["kept"] == []
    heard = [m.text for m in run.model.requests[-1].messages]
    assert heard[-1] == "do another thing" and "first done" in heard
    assert not any("second" in text for text in heard), heard
    (rewound,) = run.of("rewound")
    assert rewound["text"] == "do the second"
    assert run.of("run_ended")[0]["tokens"]["in"] > 0
    assert run.of("run_ended")[0]["steps"] == 6, "what was spent stays spent"
    run.assert_legal()


async def test_a_goal_goes_back_to_before_a_step_and_rests_until_the_person_continues(driven, work):
    second = replace(edit("b.txt", "two", "TWO"), hold_after=0)  # it comes to its end in the pause
    run = driven(edit("a.txt", "one", "ONE"), second, say("hm"), DONE)
    run.on("step_started", Pause(), number=2)
    run.on("paused", lambda _: run.model.released.set() or Unqueue(queued_id=0))
    run.on(
        "step_finished",
        lambda _: Rewind(seq=next(e["seq"] for e in run.of("step_started") if e["number"] == 2)),
        number=2,
    )
    run.on("command_taken", Unpause(), command="rewind")
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert (work / "b.txt").read_text() == "two\n" and (work / "a.txt").read_text() == "ONE\n"
    assert "b.txt" not in outcome.files_changed and "a.txt" in outcome.files_changed
    after = [m for m in run.model.requests[-1].messages if m.calls]
    assert all("b.txt" not in m.calls[0].arguments for m in after)
    run.assert_legal()


async def test_what_someone_else_changed_since_is_named_and_left(driven, work):
    run = driven(say("hello"), edit("a.txt", "one", "mine"), say("done"), say("ok"), loop=LoopKind.CHAT, task="hi")
    run.on("waiting", Say(text="change a"), why="message")

    def meddle(_):
        (work / "a.txt").write_text("somebody's\n")
        return Rewind(seq=seq_of_said(run, "change a"))

    run.on("waiting", meddle, why="message", nth=2)
    run.on("rewound", Say(text="go on"))
    run.on("waiting", STOP, why="message", nth=3)
    await run.run(watched=True)
    assert (work / "a.txt").read_text() == "somebody's\n"
    (undone,) = run.of("undone")
    assert any(line.startswith("a.txt") for line in undone["kept"])
    assert "Some files could not be restored: a.txt" in run.heard()


async def test_while_a_step_runs_it_is_refused_and_says_how(driven):
    run = driven(call("run_command", command="sleep 0.4"), DONE)
    run.on("tool_called", lambda _: Rewind(seq=3))
    await run.run()
    assert run.of("command_refused")[0]["why"] == "a step runs: interrupt it first, then rewind"


async def test_a_place_without_a_message_is_refused(driven):
    run = driven(say("hello"), loop=LoopKind.CHAT, task="hi")
    run.on("waiting", Rewind(seq=1), Rewind(seq=9_999), Rewind(seq=-4), why="message")
    run.on("command_refused", STOP, nth=3)
    await run.run(watched=True)
    assert {e["why"] for e in run.of("command_refused")} == {"there is no message of yours and no step at that point"}


async def test_without_a_runner_the_run_is_rewound_all_the_same_and_continues_from_there(driven, work):
    run = driven(edit("a.txt", "one", "ONE"), DONE, DONE)
    await run.run()
    start = run.of("said")[0]["seq"]
    view = Journal.open(run.path)
    last = view.last_seq()
    view.inbox.put(Rewind(seq=start))
    view.close()
    await handle_after_end(run.path)
    assert [type(s.event).__name__ for s in events_since(run, last)][-2:] == ["Rewound", "CommandTaken"]
    assert (work / "a.txt").read_text() == "one\n"
    outcome = await run.run(changes=ResumeChanges(hint="leave a.txt alone"))
    assert outcome.reason == "answered"
    texts = [m.text for m in run.model.requests[-1].messages if m.role == "user"]
    assert texts == ["do it", "leave a.txt alone"]


async def test_a_resumed_run_knows_the_conversation_as_the_live_one_did(driven):
    run = driven(
        calls(Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": "b.txt"})),
        say("one"),
        say("two"),
        say("three"),
        loop=LoopKind.CHAT,
        task="hi",
    )
    run.on("waiting", Say(text="again"), why="message")
    run.on("waiting", lambda _: Rewind(seq=seq_of_said(run, "again")), why="message", nth=2)
    run.on("rewound", Say(text="differently"))
    run.on("waiting", STOP, why="message", nth=3)
    await run.run(watched=True)
    view = Journal.open(run.path)
    facts = fold(view.spec, view.read())
    view.close()
    assert len(facts.main.seqs) == len(facts.main.messages)
    assert [m.text for m in facts.main.messages if m.role == "user"] == ["hi", "differently"]
    assert len([m for m in facts.main.messages if m.role == "tool"]) == 2
