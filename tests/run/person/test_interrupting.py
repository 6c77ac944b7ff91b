import asyncio
from typing import Any

import pytest
from fakes.in_process.layered_run import begun
from fakes.turns import Call, Turn, call, calls, edit, finish, say

from rundry.agent.host.real_clock import SystemClock
from rundry.agent.protocol import (
    Answer,
    Budget,
    Decide,
    GateMode,
    Interrupt,
    LoopKind,
    ModelFault,
    Pause,
    Predicates,
    Say,
    SetLimit,
    Steer,
    StepOnce,
    Stop,
    Unpause,
    Unqueue,
)
from rundry.agent.state.facts.run_facts import fold

HELD = Turn(text="I think about it for long", hold_after=2)
DONE = finish("all is well", "a.txt:1")
READ = call("read_file", path="a.txt")


def approve(event):
    return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict="approve")


async def test_a_steer_ends_the_stream_keeps_its_text_and_reaches_the_model_immediately(driven):
    run = driven(HELD, READ, DONE).on("text_arrived", Steer(text="read a.txt instead"))
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert "[interrupted by the person]" in run.heard(1)
    assert run.model.requests[1].messages[-1].text == "read a.txt instead"
    assert run.model.closed_early == 1
    run.assert_legal()


async def test_a_stream_that_was_interrupted_is_charged_at_its_worst_case(driven):
    run = driven(HELD, READ, DONE).on("text_arrived", Steer(text="no"))
    await run.run(watched=True)
    admitted, charged = run.of("call_admitted"), run.of("charged")
    assert len(admitted) == len(charged) == 3
    first = charged[0]
    assert first["estimated"] is True
    assert first["tokens_in"] + first["tokens_out"] + first["held_tokens"] == admitted[0]["worst_tokens"]


class Leaping(SystemClock):
    """Real time, and a jump forward when a test asks for one."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    def leap(self, event: dict[str, Any]) -> Unpause:
        self.ahead = 700.0
        return Unpause()


async def test_what_is_held_for_a_cut_call_counts_to_the_end(driven):
    clock = Leaping()
    run = driven(HELD, READ, DONE).on("text_arrived", Steer(text="no")).on("tool_finished", clock.leap)
    outcome = await run.run(watched=True, clock=clock)
    first = run.of("charged")[0]
    assert first["held_tokens"] > 0 and run.of("hold_released") == []
    assert (outcome.held.tokens, outcome.held.cut_calls) == (first["held_tokens"], 1)


async def test_an_interrupt_pauses_a_goal_until_the_person_lets_it_continue(driven):
    run = driven(HELD, READ, DONE).on("text_arrived", Interrupt()).on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert run.of("paused")[0]["why"] == "interrupted"
    assert len(run.of("step_started")) == len(run.of("step_finished")) == 3
    run.assert_legal()


async def test_the_wait_before_a_retry_ends_immediately_when_the_person_speaks(driven):
    limited = ModelFault("rate-limit", "429", retryable=True, retry_after=50.0)
    run = driven(limited, READ, DONE).on("fault", Steer(text="never mind"))
    outcome = await run.run(watched=True, within=10.0)
    assert outcome.reason == "answered", run.story()
    assert "never mind" in run.heard(1)
    run.assert_legal()


async def test_at_the_gate_an_interrupt_rejects_and_every_call_is_answered_once(driven, work):
    several = calls(
        Call("read_file", {"path": "b.txt"}),
        Call("write_file", {"path": "a.txt", "content": "new\n"}),
        Call("run_command", {"command": "touch made"}),
    )
    run = driven(several, READ, DONE, gate=GateMode.ASK).on("proposal_opened", Interrupt()).on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert [e["call_id"] for e in run.of("tool_finished")][:3] == ["call_1_1", "call_1_2", "call_1_3"]
    assert (work / "a.txt").read_text() == "one\n"
    assert not (work / "made").exists()
    assert run.of("proposal_decided")[0]["decision"] == "reject"
    run.assert_legal()


async def test_a_command_that_is_interrupted_says_what_it_printed_and_would_have_changed(driven, work):
    slow = call("run_command", command="echo half > a.txt; echo so far; sleep 300.0611")
    run = driven(slow, READ, DONE).on("paused", Unpause())

    async def person():
        await begun("300.0611")
        await run.put_once(work / "a.txt", Interrupt())

    outcome, _ = await asyncio.gather(run.run(watched=True), person())
    assert outcome.reason == "answered", run.story()
    told = run.results("run_command")[0]
    assert "ended this command while it ran" in told
    assert "so far" in told
    assert "a.txt" in told
    assert outcome.files_changed == [] and (work / "a.txt").read_text() == "one\n"


async def test_a_check_that_runs_can_be_interrupted_and_the_run_ends_on_a_stop(driven):
    run = driven(READ, then=READ, until=["sleep 300"], predicates=None)
    run.on("check_started", Interrupt(), nth=1).on("check_started", Stop(how="now"), nth=2).on("paused", Unpause())
    outcome = await run.run(watched=True, within=15.0)
    assert outcome.reason == "user", run.story()
    assert run.types().count("paused") == 1


async def test_stop_now_waits_for_nothing(driven):
    run = driven(HELD).on("text_arrived", Stop(how="now"))
    outcome = await run.run(within=10.0)
    assert (outcome.reason, outcome.exit_code, outcome.complete) == ("user", 130, False)
    assert len(run.model.requests) == 1


async def test_stop_with_a_wrap_up_asks_once_more_and_forbids_calls(driven):
    run = driven(HELD, say("I got half of it")).on("text_arrived", Stop(how="wrap_up"))
    outcome = await run.run()
    assert (outcome.reason, outcome.answer) == ("user", "I got half of it")
    assert run.model.requests[1].forbids_calls and run.model.requests[1].tools == run.model.requests[0].tools
    run.assert_legal()


async def test_stop_now_ends_a_wrap_up_that_runs(driven):
    run = driven(HELD, Turn(text="I got half of it", hold_after=1))
    run.on("text_arrived", Stop(how="wrap_up"), step=1).on("call_admitted", Stop(how="now"), wrap_up=True)
    outcome = await run.run(within=10.0)
    assert outcome.reason == "user", run.story()
    assert [e["wrap_up"] for e in run.of("call_admitted")] == [False, True]
    assert len(run.of("charged")) == 2


async def test_a_step_at_a_time_pauses_after_each(driven):
    run = driven(READ, READ, DONE)
    run.on("step_started", StepOnce()).on("step_finished", StepOnce()).on("step_finished", Unpause(), nth=2)
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert run.types().count("paused") == 1


@pytest.mark.parametrize("brake", [Pause(now=True), Interrupt()], ids=["pause", "interrupt"])
async def test_who_brakes_takes_back_the_step_that_was_asked_for(driven, brake):
    run = driven(HELD, READ, READ, DONE).on("text_arrived", StepOnce(), brake)
    run.on("interrupted", SetLimit(name="steps", value=30)).on("step_finished", Unpause(), nth=2)
    run.on("budget_changed", Say(text="go on then"))
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert "go on then" in run.heard(1)


async def test_pause_holds_after_the_step_and_a_message_continues(driven):
    run = driven(READ, DONE).on("step_started", Pause()).on("step_finished", Say(text="and now b.txt"))
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert "and now b.txt" in run.heard(1)


async def test_what_steered_is_delivered_before_what_was_queued_and_what_was_taken_back_never(driven):
    run = driven(HELD, READ, DONE)
    run.on("text_arrived", Say(text="first queued"), Say(text="taken back"))
    run.on("queued", lambda event: Unqueue(queued_id=event["queued_id"]), text="taken back")
    run.on("unqueued", Steer(text="steered"))
    await run.run(watched=True)
    said = [(e["text"], e["kind"]) for e in run.of("said")]
    assert said == [("do it", "task"), ("steered", "steer"), ("first queued", "say")]


async def test_a_question_is_answered_once_and_closed_by_an_interrupt(driven):
    ask = call("ask_person", question="which one?")
    run = driven(ask, ask, READ, DONE, on_ask=None)
    run.on("question_asked", lambda e: Answer(question_id=e["question_id"], text="the first"))
    run.on("question_asked", Steer(text="decide yourself"), question_id="call_2_1")
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert run.results("ask_person")[0] == "the first"
    assert fold(run.spec, run.stamped).requests.questions == {}
    run.assert_legal()


async def test_an_interrupted_chat_waits_for_the_person_and_calls_nobody(driven):
    run = driven(HELD, say("here you are"), loop=LoopKind.CHAT, budget=Budget())
    run.on("text_arrived", Interrupt()).on("waiting", Say(text="go on then"))
    run.on("waiting", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True)
    assert outcome.reason == "user"
    assert [e["type"] for e in run.of("step_started")] == ["step_started"] * 2
    assert run.of("said")[-1]["text"] == "go on then"
    run.assert_legal()


async def test_a_guarded_file_that_a_command_changed_is_as_before_when_the_person_interrupts_the_question(driven, work):
    (work / "conftest.py").write_text("x = 1\n")
    cheat = call("run_command", command="echo 'x = 2' > conftest.py; echo more > b.txt")
    run = driven(cheat, READ, then=READ, predicates=Predicates(until=["grep -q 2 conftest.py"], guard=["conftest.py"]))
    run.on("proposal_opened", Interrupt(), danger=True).on("paused", Stop(how="now"))
    outcome = await run.run(watched=True)
    assert (work / "conftest.py").read_text() == "x = 1\n" and (work / "b.txt").read_text() == "two\n"
    assert outcome.reason == "user", run.story()
    assert outcome.files_changed == []


async def test_edits_keep_their_order_and_reads_run_next_to_each_other(driven, work):
    run = driven(edit("a.txt", "one", "1"), DONE, gate=GateMode.ASK).on("proposal_opened", approve)
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert (work / "a.txt").read_text() == "1\n"


async def test_an_interrupted_check_before_a_plan_is_carried_out_is_run_again_and_ends_nothing(driven):
    run = driven(READ, DONE, until=["test -f a.txt && sleep 1"], plan_of="r1", plan=["Read."])
    run.on("check_started", Interrupt()).on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    kinds = [event["type"] for event in run.events]
    assert kinds.index("unpaused") < kinds.index("check_finished") < kinds.index("step_started"), run.story()
    assert "so it does not show whether the plan is carried out" in run.heard(0)
    run.assert_legal()
