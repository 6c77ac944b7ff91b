"""A run that stopped on a budget continues where it was once the limit is raised (docs/requirements.md 5.1)."""

from __future__ import annotations

from fakes.turns import call, finish, say

from rundry.agent.protocol import Budget, LoopKind, SetLimit, Stop

READ = call("read_file", path="a.txt")


async def test_a_chat_continues_with_the_same_message_once_a_limit_is_raised(driven):
    run = driven(READ, say("so far: one"), say("the whole answer"), loop=LoopKind.CHAT, budget=Budget(steps=1))
    run.on("waiting", SetLimit(name="steps", value=5), why="message")
    run.on("waiting", Stop(how="now"), why="message", nth=2)
    await run.run(watched=True)
    assert [event.get("detail", "") for event in run.of("waiting")] == ["step budget: 1 of 1 steps", ""]
    texts = [m.text for m in run.model.requests[-1].messages]
    assert "do it" in texts and "so far: one" in texts, run.story()
    assert len(run.of("step_started")) == 2
    assert run.of("run_ended")[0]["answer"] == "the whole answer"
    run.assert_legal()


async def test_a_goal_knows_what_it_did_before_its_limit_was_raised(driven, work):
    run = driven(READ, say("one was read"), finish("all is well", "a.txt:1"), budget=Budget(steps=1))
    run.on("run_ended", SetLimit(name="steps", value=5)).on("run_ended", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True, linger=True)
    assert (outcome.reason, outcome.steps) == ("answered", 2), run.story()
    assert "1| one" in run.heard()
