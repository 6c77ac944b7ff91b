import shutil

from fakes.clock import ManualClock
from fakes.sandboxes import notes_of
from fakes.turns import Call, Turn, call, calls, finish, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import Answer, Budget, Decide, GateMode, LoopKind, ModelFault, Predicates, Say, Stop
from rundry.agent.run.client.start_request import ResumeChanges

DONE = finish("all is well", "a.txt:1")
READ = call("read_file", path="a.txt")


def approve(event):
    return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict="approve")


async def test_a_call_that_died_with_its_runner_is_charged_by_an_event(driven):
    run = driven(READ, say("Now I think about the rest of it"), DONE)
    await run.run()
    killed = run.killed_at("text_arrived", step=2)
    killed.model.turns, killed.model.requests[:] = [DONE], []
    outcome = await killed.run()
    admitted = run.of("call_admitted")[1]
    (lost, own) = killed.of("charged")
    assert lost["estimated"] is True
    assert lost["tokens_in"] == admitted["prompt_tokens"]
    assert lost["tokens_in"] + lost["tokens_out"] + lost["held_tokens"] == admitted["worst_tokens"]
    assert killed.types().index("run_resumed") == 0
    assert outcome.tokens.in_ == run.of("charged")[0]["tokens_in"] + lost["tokens_in"] + own["tokens_in"]
    killed.assert_legal()


async def test_text_that_had_arrived_is_kept_and_marked_as_a_part(driven):
    run = driven(READ, say("Now I think about the rest of it"), DONE)
    await run.run()
    killed = run.killed_at("text_arrived", step=2)
    killed.model.turns, killed.model.requests[:] = [DONE], []
    await killed.run()
    assert "[cut off here]" in killed.heard(0)
    killed.assert_legal()


async def test_a_second_resume_charges_nothing_again_and_calls_nobody(driven):
    run = driven(READ, say("Now I think"), DONE)
    await run.run()
    killed = run.killed_at("text_arrived", step=2)
    killed.model.turns, killed.model.requests[:] = [DONE], []
    first = await killed.run()
    killed.events.clear()
    second = await killed.run()
    assert killed.types() == ["run_resumed", "run_ended"], killed.story()
    assert "already ended with answered" in notes_of(killed.events[:1])[0]
    assert (second.reason, second.answer, second.tokens) == (first.reason, first.answer, first.tokens)


async def test_a_proposal_that_waited_comes_back_as_it_was_shown_and_its_call_gets_one_result(driven, work):
    write = call("write_file", path="a.txt", content="new\n")
    run = driven(write, DONE, gate=GateMode.ASK).on("proposal_opened", approve)
    await run.run(watched=True)
    killed = run.killed_at("proposal_opened")
    (work / "a.txt").write_text("one\n")
    killed.model.turns, killed.model.requests[:] = [DONE], []
    (shown,) = run.of("proposal_opened")
    outcome = await killed.on("waiting", lambda _: approve(shown)).run(watched=True)
    assert outcome.reason == "answered", killed.story()
    assert killed.of("proposal_opened") == []
    (decided,) = killed.of("proposal_decided")
    assert (decided["proposal_id"], decided["decision"], decided["by"]) == ("p_call_1_1", "approve", "person")
    assert [e["call_id"] for e in killed.of("tool_finished")] == ["call_1_1", "call_2_1"]
    assert [e["number"] for e in killed.of("step_finished")] == [1, 2]
    assert (work / "a.txt").read_text() == "new\n"
    killed.assert_legal()


async def test_a_persons_own_text_that_was_written_is_known_by_the_file_too(driven, work):
    run = driven(call("write_file", path="a.txt", content="the model's\n"), DONE, gate=GateMode.ASK)
    run.on(
        "proposal_opened",
        lambda e: Decide(proposal_id=e["proposal_id"], digest=e["digest"], verdict="approve", text="mine\n"),
    )
    await run.run(watched=True)
    assert (work / "a.txt").read_text() == "mine\n", run.story()
    killed = run.killed_at("proposal_decided")
    await killed.run(watched=True)
    assert any("done: the program stopped after the file was written" in text for text in killed.results())


async def test_a_write_that_was_done_is_known_by_the_file_and_counted_as_a_change(driven, work):
    run = driven(call("write_file", path="a.txt", content="new\n"), DONE)
    await run.run()
    killed = run.killed_at("proposal_decided")
    killed.model.turns, killed.model.requests[:] = [DONE], []
    outcome = await killed.run()
    assert "after the file was written" in killed.results("write_file")[0]
    assert outcome.files_changed == ["a.txt"]


async def test_a_lost_command_changed_nothing_and_turns_no_check_green(driven, work):
    (work / "conftest.py").write_text("x = 1\n")
    cheat = call("run_command", command="echo 'x = 2' > new_conftest; mv new_conftest conftest.py; touch a.txt")
    predicates = Predicates(until=["grep -q 2 conftest.py"])
    run = driven(cheat, then=READ, predicates=predicates, budget=Budget(steps=1))
    await run.run()
    killed = run.killed_at("proposal_decided")
    shutil.rmtree(run.folder / "undecided")  # a killed runner applied nothing
    (work / "conftest.py").write_text("x = 1\n")
    killed.model.requests[:] = []
    outcome = await killed.run()
    assert outcome.reason == "budget", killed.story()
    assert "Nothing that it changed was applied" in killed.results("run_command")[0]
    assert (work / "conftest.py").read_text() == "x = 1\n" and outcome.files_changed == []


async def test_queued_messages_are_kept_and_commands_that_nobody_took_are_refused(driven):
    run = driven(READ, DONE).on("step_started", Say(text="look at b.txt"))
    await run.run()
    killed = run.killed_at("queued")
    view = Journal.open(killed.path)
    view.inbox.put(Stop(how="now"))
    view.close()
    killed.model.turns, killed.model.requests[:] = [READ, DONE], []
    outcome = await killed.run()
    assert outcome.reason == "answered", killed.story()
    (refused,) = killed.of("command_refused")
    assert "the runner died" in refused["why"]
    assert "look at b.txt" in killed.heard(0)


async def test_a_budget_end_is_reported_again_without_another_call_and_continues_where_it_is_raised(driven):
    run = driven(READ, say("I read a.txt"), DONE, budget=Budget(steps=1))
    first = await run.run()
    assert (first.reason, first.answer) == ("budget", "I read a.txt")
    again = await run.run()
    assert (again.reason, again.answer, len(run.model.requests)) == ("budget", "I read a.txt", 2)
    last = await run.run(changes=ResumeChanges(limits={"steps": 5.0}))
    assert last.reason == "answered", run.story()
    assert last.steps == 2
    run.assert_legal()


async def test_a_quota_of_the_whole_run_holds_over_a_resume(driven):
    run = driven(READ, READ, DONE, budget=Budget(steps=1), quotas={"read_file": "1/run"})
    run.model.turns.insert(1, say("wrapped up"))
    await run.run()
    await run.run(changes=ResumeChanges(limits={"steps": 5.0}))
    assert "quota of read_file" in run.results("read_file")[1]


async def test_an_answer_that_was_given_before_the_kill_is_not_asked_for_again(driven):
    run = driven(call("ask_person", question="which?"), DONE, on_ask=None)
    run.on("question_asked", lambda e: Answer(question_id=e["question_id"], text="the first"))
    await run.run(watched=True)
    killed = run.killed_at("question_answered")
    killed.model.turns, killed.model.requests[:] = [DONE], []
    await killed.run()
    assert killed.results("ask_person") == ["the first"]
    assert killed.of("question_asked") == []


async def test_a_lost_question_hands_a_run_without_a_person_over(driven):
    run = driven(call("ask_person", question="which?"), DONE, on_ask=None)
    run.on("question_asked", lambda e: Answer(question_id=e["question_id"], text="the first"))
    await run.run(watched=True)
    killed = run.killed_at("question_asked")
    outcome = await killed.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), killed.story()
    assert "which?" in outcome.detail


async def test_calls_of_one_answer_are_known_whole_or_not_at_all(driven):
    both = calls(Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": "b.txt"}))
    run = driven(both, DONE)
    await run.run()
    killed = run.killed_at("tool_finished")
    killed.model.turns, killed.model.requests[:] = [DONE], []
    await killed.run()
    other, last = [e["call_id"] for e in killed.of("tool_finished")]
    assert other in ("call_1_1", "call_1_2")  # reads run in parallel: either may have been done before the kill
    assert last == "call_2_1"
    killed.assert_legal()


async def test_a_stall_that_ended_the_run_does_not_end_it_again_immediately(driven):
    run = driven(READ, then=READ, on_stall="stop")
    first = await run.run()
    assert (first.reason, first.exit_code) == ("stagnation", 4)
    run.model.then = DONE
    assert (await run.run()).reason == "answered", run.story()


async def test_a_run_that_waits_at_the_gate_parks_when_nobody_comes_and_comes_back_with_its_proposal(driven, work):
    clock = ManualClock()
    write = call("write_file", path="a.txt", content="new\n")
    run = driven(write, DONE, gate=GateMode.ASK)
    outcome = await _left_alone(run, clock)
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5)
    assert run.of("run_ended") == []
    assert (work / "a.txt").read_text() == "one\n"
    (shown,) = run.of("proposal_opened")
    assert run.of("proposal_decided", "tool_finished") == [], "it stays open"
    run.on("waiting", lambda _: approve(shown))
    assert (await run.run(watched=True)).reason == "answered", run.story()
    assert (work / "a.txt").read_text() == "new\n"
    run.assert_legal()


async def _left_alone(run, clock):
    """The view goes away while the gate waits; an hour goes by."""
    import asyncio

    async def hour():
        while not run.of("proposal_opened"):
            await asyncio.sleep(0.01)
        view = Journal.open(run.path)
        view.views.detach("test")
        view.close()
        for _ in range(3700):
            clock.tick(1.0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    going = asyncio.create_task(hour())
    try:
        return await run.run(watched=True, clock=clock, linger=True)  # a run that a screen began
    finally:
        going.cancel()


async def test_a_model_that_was_switched_to_is_the_one_that_a_resume_opens(driven):
    from rundry.agent.protocol import ModelSpec, SwitchModel
    from rundry.agent.state.facts.run_facts import fold

    run = driven(READ, DONE).on(
        "step_started", SwitchModel(model=ModelSpec(name="other", api_base="http://127.0.0.1:1"))
    )
    await run.run()
    assert fold(run.spec, run.stamped).model_spec.name == "other"


async def test_a_server_that_is_gone_refuses_a_resume_and_keeps_what_was(driven):
    run = driven(Turn(text="hm"), ModelFault("auth", "401: the key was refused"))
    first = await run.run()
    assert (first.reason, first.exit_code) == ("error", 1), run.story()


async def test_a_chat_waits_again_after_a_resume_and_calls_nobody(driven):
    run = driven(say("hello"), loop=LoopKind.CHAT).on("waiting", Stop(how="now"))
    await run.run(watched=True)
    run.on("waiting", Stop(how="now"))
    await run.run(watched=True)
    assert len(run.model.requests) == 1, run.story()
