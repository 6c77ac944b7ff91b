"""A view lets the runner of a waiting run exit, to look at its stage or to begin one; the next runner continues it."""

import asyncio

from fakes.turns import Turn, call, finish, say

from rundry.agent.protocol import Budget, LoopKind, Park, Say, Stop

HELD = Turn(text="I think about it for long", hold_after=2)
READ = call("read_file", path="a.txt")
DONE = finish("all is well", "a.txt:1")


async def test_the_runner_of_a_waiting_chat_exits_and_the_next_one_continues(driven):
    run = driven(say("hello"), say("here you are"), loop=LoopKind.CHAT, budget=Budget()).on("waiting", Park())
    await run.run(watched=True, stays=True)
    assert run.types()[-1] == "command_taken" and not run.of("run_ended"), run.story()
    run.on("waiting", Say(text="go on then")).on("waiting", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True)
    assert outcome.reason == "user" and run.of("said")[-1]["text"] == "go on then"
    run.assert_legal()


async def test_a_run_that_works_refuses_to_be_parked(driven):
    run = driven(HELD, READ, DONE).on("text_arrived", Park())
    task = asyncio.ensure_future(run.run(watched=True))
    while not run.of("command_refused"):
        await asyncio.sleep(0.01)
    run.model.released.set()
    await task
    assert run.of("command_refused")[0]["why"] == "the run works: interrupt or pause it first"
    assert run.of("run_ended"), run.story()


async def test_a_run_that_ended_and_has_a_view_is_let_go(driven):
    run = driven(READ, DONE).on("run_ended", Park())
    await run.run(watched=True, stays=True, linger=True)
    assert run.types()[-2:] == ["run_ended", "command_taken"], run.story()
