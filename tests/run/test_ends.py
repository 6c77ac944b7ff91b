"""How runs end, wait and continue: limits, hand-offs, faults of the program."""

import pytest
from fakes.turns import Call, Turn, call, calls, finish, say

from rundry.agent.protocol import (
    Budget,
    LoopKind,
    ModelFault,
    ModelSpec,
    Predicates,
    Price,
    Say,
    SetLimit,
    Stop,
    SwitchModel,
    Unpause,
    Verify,
)
from rundry.agent.state.facts.run_facts import fold

DONE = finish("all is well", "a.txt:1")
READ = call("read_file", path="a.txt")
DEAR = Price(input=1e-6, output=1e-6, cached=1e-6, worst_input=1e-6, worst_output=1e-6)


async def test_a_raised_limit_continues_a_run_that_ended_while_someone_watches(driven):
    run = driven(READ, say("I read a.txt"), DONE, budget=Budget(steps=1))
    run.on("run_ended", SetLimit(name="steps", value=9)).on("run_ended", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True, linger=True)
    assert outcome.reason == "answered", run.story()
    assert [e["reason"] for e in run.of("run_ended")] == ["budget", "answered"]
    assert run.of("run_ended")[0]["answer"] == "I read a.txt"
    run.assert_legal()


async def test_a_limit_that_is_not_a_number_is_refused_and_the_run_still_hears(driven):
    run = driven(READ, Turn(text="hm", hold_after=0), DONE)
    run.on("step_started", SetLimit(name="steps", value=-1), SetLimit(name="cats", value=1), number=2)
    run.on("command_refused", Stop(how="now"), nth=2)
    outcome = await run.run()
    assert outcome.reason == "user", run.story()


async def test_a_lowered_limit_holds_before_the_next_call(driven):
    run = driven(READ, then=READ, budget=Budget(steps=30), predicates=Predicates(until=["sleep 0.1; false"]))
    run.on("step_started", SetLimit(name="steps", value=2), number=2)
    outcome = await run.run()
    assert (outcome.reason, outcome.steps) == ("budget", 2), run.story()


async def test_a_wrap_up_is_not_a_step_and_its_tool_calls_are_ignored(driven, work):
    wrap = calls(Call("write_file", {"path": "x", "content": "x"}), text="half is done")
    run = driven(READ, wrap, budget=Budget(steps=1))
    outcome = await run.run()
    assert (outcome.reason, outcome.complete, outcome.exit_code) == ("budget", False, 3)
    assert (outcome.answer, outcome.steps) == ("half is done", 1)
    assert not (work / "x").exists()
    assert len(run.of("charged")) == 2


async def test_a_chat_whose_budget_is_used_up_waits_for_the_next_message(driven):
    run = driven(READ, say("that is all I could"), say("hello again"), loop=LoopKind.CHAT, budget=Budget(steps=1))
    run.on("waiting", Say(text="once more")).on("waiting", Stop(how="now"), nth=2)
    outcome = await run.run(watched=True)
    assert outcome.reason == "user", run.story()
    assert [e["number"] for e in run.of("step_started")] == [1, 2]
    run.assert_legal()


async def test_a_permanent_fault_waits_for_the_person_who_watches_and_another_model_continues(driven):
    wrong = ModelFault("auth", "401: the key was refused")
    run = driven(wrong, READ, DONE).on("paused", SwitchModel(model=ModelSpec(name="other")))
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert run.of("model_switched")[0]["spec"]["name"] == "other"


@pytest.mark.long
async def test_text_before_a_permanent_fault_is_kept_apart_from_the_next_answer(driven):
    cut = Turn(text="I was about to say something", drop_after=4)
    run = driven(cut, cut, cut, cut, READ, DONE).on("paused", Unpause())
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert "[cut off here]" in run.heard(4)
    assert len(run.of("step_started")) == 3
    assert len(run.of("call_admitted")) == len(run.of("charged"))
    run.assert_legal()


async def test_a_handed_over_run_continues_with_what_the_person_says(driven):
    run = driven(READ, READ, READ, READ, READ, READ, READ, READ, then=DONE, on_stall="handoff")
    run.on("waiting", Say(text="finish now"), why="handoff")
    outcome = await run.run(watched=True)
    assert outcome.reason == "answered", run.story()
    assert run.types().count("handoff_opened") == run.types().count("handoff_closed") == 1
    run.assert_legal()


async def test_without_a_person_a_question_is_handed_over_or_refused_as_configured(driven):
    ask = call("ask_person", question="which one?")
    handed = driven(ask, DONE, on_ask=None)
    outcome = await handed.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5)
    assert "Answer the model's question" in handed.of("handoff_opened")[0]["suggested_action"]
    alone = driven(ask, READ, DONE, on_ask="refuse")
    assert (await alone.run()).reason == "answered"
    assert "Decide yourself" in alone.results("ask_person")[0]


async def test_with_a_check_the_model_decides_once_before_a_question_hands_over(driven):
    asks = [Call("ask_person", {"question": f"which one {number}?"}) for number in range(3)]
    run = driven(calls(asks[0], asks[1]), READ, calls(asks[2]), DONE, on_ask=None, until=["test -f never"])
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code, outcome.steps) == ("handoff", 5, 3)
    told = run.results("ask_person")
    assert all("Decide yourself with what you know" in text for text in told[:2])
    assert "which one 2?" in str(run.of("handoff_opened")[0])


async def test_an_explicit_handoff_hands_the_first_question_over(driven):
    run = driven(call("ask_person", question="which?"), DONE, on_ask="handoff", until=["test -f never"])
    outcome = await run.run()
    assert (outcome.reason, outcome.steps) == ("handoff", 1)


async def test_a_run_that_nobody_approves_is_handed_over_with_the_proposal(driven):
    run = driven(call("write_file", path="a.txt", content="new\n"), gate="ask", on_ask="handoff")
    outcome = await run.run()
    assert outcome.reason == "handoff", run.story()
    (proposal,) = run.of("handoff_opened")[0]["record"]["open_proposals"]
    assert proposal["path"] == "a.txt"
    assert "+new" in proposal["diff"]


async def test_a_finish_that_the_check_did_not_believe_is_answered_once(driven):
    run = driven(READ, DONE, READ, say("hm"), then=READ, until=["test -f never"], budget=Budget(steps=4))
    await run.run()
    assert sum("Your `finish` was understood" in e["text"] for e in run.of("prompted")) == 1


async def test_on_change_a_check_is_skipped_while_nothing_changed(driven):
    write = call("write_file", path="a.txt", content="new\n")
    predicates = Predicates(until=["test -f never"], verify=Verify.ON_CHANGE)
    run = driven(READ, write, READ, then=READ, predicates=predicates, budget=Budget(steps=3))
    await run.run()
    assert [e["step"] for e in run.of("check_finished")] == [None, 2]


async def test_results_stand_in_the_order_of_their_calls(driven):
    mixed = calls(DONE.calls[0], Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": "no"}))
    run = driven(mixed, READ, DONE, until=["test -f never"], budget=Budget(steps=2))
    await run.run()
    run.assert_legal()


async def test_a_default_limit_in_usd_is_dropped_visibly_where_nobody_knows_the_price(driven):
    run = driven(READ, DONE, model={"price": None, "local": False})
    outcome = await run.run()
    assert outcome.usd is None
    assert run.events[0]["budget"]["usd"] is None
    assert "the USD limit is dropped" in run.events[0]["notes"][0]
    asked = driven(READ, DONE, model={"price": None, "local": False}, usd_asked=True)
    refused = await asked.run()
    assert (refused.reason, refused.exit_code) == ("refused", 2)


async def test_dropped_tokens_are_counted_once_for_each_trim(driven, work):
    (work / "long.txt").write_text("a line of words\n" * 2_000)
    reads = [call("read_file", path="long.txt")] * 4
    run = driven(*reads, ModelFault("server", "500", retryable=True, retry_after=0.0), DONE, model={"window": 4_096})
    await run.run()
    trims = run.of("context_trimmed")
    assert trims
    assert all(trim["dropped_tokens"] > 0 for trim in trims)
    steps = [trim["step"] for trim in trims]
    assert len(steps) == len(set(steps)), "a retry trims nothing anew"


async def test_what_a_long_run_spent_is_the_same_when_it_is_folded_again(driven):
    run = driven(READ, DONE, model={"price": DEAR})
    outcome = await run.run()
    facts = fold(run.spec, run.stamped)
    assert (facts.spent.tokens, facts.spent.usd) == (outcome.tokens, outcome.usd)
    assert abs(facts.spent.seconds - outcome.seconds) < 1e-6
