"""/compact: a summary in place of the old rounds, priced, and taken back."""

from __future__ import annotations

from fakes.turns import call, finish, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Budget, Clear, Compact, LoopKind, Pause, Price, Say, SetLimit, Stop, Unpause
from rundry.agent.state.facts.run_facts import fold

STOP = Stop(how="now")
LONG = "words " * 400
READ = call("read_file", path="a.txt")


def chat(driven, *turns, **more):
    run = driven(
        say(LONG), say(LONG), say(LONG), *turns, loop=LoopKind.CHAT, task="first", model={"window": 8_000}, **more
    )
    run.on("waiting", Say(text="second"), why="message").on("waiting", Say(text="third"), why="message", nth=2)
    return run


async def test_the_old_rounds_give_way_to_a_summary_that_is_charged_and_no_step(driven):
    run = chat(
        driven,
        say("we said many words"),
        say("ok"),
    )
    run.on("waiting", Compact(), why="message", nth=3)
    run.on("command_taken", Say(text="go on"), command="compact")
    run.on("waiting", STOP, why="message", nth=4)
    await run.run(watched=True)
    (cut,) = run.of("conversation_cut")
    assert cut["summary"] == "we said many words"
    assert cut["tokens_after"] < cut["tokens_before"]
    asked = run.model.requests[3]
    assert asked.forbids_calls and asked.tools == run.model.requests[2].tools
    assert "replaced by a summary" in asked.messages[-1].text
    heard = [m.text for m in run.model.requests[4].messages]
    assert any("we said many words" in text for text in heard) and heard[-1] == "go on"
    assert sum(LONG.strip() in text for text in heard) < 3
    assert len(run.of("step_started")) == 4
    assert len(run.of("charged")) == 5
    assert all(e["work"] == "compact" for e in run.of("text_arrived") if "many words" in e["text"])
    run.assert_legal()


async def test_it_is_taken_back_and_what_came_since_stays(driven):
    run = chat(driven, say("we said many words"), say("ok"), say("fine"))
    run.on("waiting", Compact(), why="message", nth=3)
    run.on("command_taken", Say(text="go on"), command="compact")
    run.on("waiting", Compact(undo=True), why="message", nth=4)
    run.on("conversation_restored", Say(text="and on"))
    run.on("waiting", STOP, why="message", nth=5)
    await run.run(watched=True)
    heard = [m.text for m in run.model.requests[-1].messages]
    assert "we said many words" not in "\n".join(heard)
    assert heard[-3:] == ["go on", "ok", "and on"]
    assert "third" in heard
    view = Journal.open(run.path)
    facts = fold(view.spec, view.read())
    view.close()
    assert [m.text for m in facts.main.messages if m.role == "user"] == ["first", "second", "third", "go on", "and on"]


async def test_what_was_cleared_comes_back_too(driven):
    run = driven(say("hello"), say("again"), loop=LoopKind.CHAT, task="first")
    run.on("waiting", Clear(), Compact(undo=True), Compact(undo=True), why="message")
    run.on("command_refused", Say(text="more"))
    run.on("waiting", STOP, why="message", nth=2)
    await run.run(watched=True)
    assert "first" in run.heard()
    assert "no compaction or clearing to undo" in run.of("command_refused")[0]["why"]


async def test_a_short_conversation_is_left_alone(driven):
    run = driven(say("hello"), loop=LoopKind.CHAT, task="first")
    run.on("waiting", Compact(), why="message")
    run.on("command_refused", STOP)
    await run.run(watched=True)
    assert run.of("command_refused")[0]["why"] == "there is nothing to compact yet"
    assert len(run.model.requests) == 1


async def test_a_summary_that_does_not_fit_the_limits_is_not_asked_for(driven):
    run = chat(driven, say("no"), budget=Budget(usd=0.02, tokens=None))
    run.model.price = Price(input=1e-6, output=4e-6, cached=1e-6, worst_input=1e-6, worst_output=4e-6)
    run.on("waiting", SetLimit(name="usd", value=0.0), Compact(), why="message", nth=3)
    run.on("command_refused", STOP)
    await run.run(watched=True)
    assert "does not fit the limits" in run.of("command_refused")[0]["why"], run.story()
    assert len(run.model.requests) == 3 and not run.of("conversation_cut")


async def test_a_longer_summary_changes_nothing(driven):
    run = chat(driven, say(LONG * 12))
    run.on("waiting", Compact(), why="message", nth=3)
    run.on("command_refused", STOP)
    await run.run(watched=True)
    assert "is not shorter" in run.of("command_refused")[0]["why"], run.story()
    assert not run.of("conversation_cut")


async def test_a_goal_keeps_its_task_and_its_newest_round(driven):
    run = driven(READ, READ, say(LONG), READ, say("summary of it"), finish("all is well", "a.txt:1"))
    run.on("step_started", Pause(), number=4)
    run.on("paused", Compact())
    run.on("command_taken", Unpause(), command="compact").on("command_refused", Unpause())
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    last = run.model.requests[-1].messages
    assert next(m.text for m in last if m.role == "user") == "do it"
    assert any("summary of it" in m.text for m in last)
    assert outcome.steps == 5
    run.assert_legal()
