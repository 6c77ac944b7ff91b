"""A proposal outlives its runner: it stays open in the journal until a person decides on exactly its bytes (5.3)."""

from fakes.turns import Call, call, calls, finish

from rundry.agent.protocol import Decide, GateMode, HandoffTier, ModelSpec, Say
from rundry.agent.run.client.start_request import ResumeChanges

DONE = finish("all is well", "a.txt:1")
READ = call("read_file", path="a.txt")
WRITE = call("write_file", path="a.txt", content="new\n")
EDIT = call("edit_file", path="a.txt", old_text="two\n", new_text="TWO\n")
TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"


def decision(event, verdict="approve", **more):
    return Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict=verdict, **more)


def later(run, verdict="approve", event=None, **more):
    (shown,) = [event] if event else run.of("proposal_opened")
    return ResumeChanges(decision=decision(shown, verdict, **more))


async def handed_over(driven, *turns, **options):
    run = driven(*turns, gate=GateMode.ASK, on_ask="handoff", **options)
    outcome = await run.run()
    assert (outcome.reason, outcome.exit_code) == ("handoff", 5), run.story()
    assert run.of("proposal_decided") == [], "nobody decided"
    return run


async def test_a_hand_off_leaves_the_proposal_open_and_its_call_without_a_result(driven, work):
    run = await handed_over(driven, WRITE, DONE)
    assert run.of("tool_finished") == []
    (opened,) = run.of("handoff_opened")
    (waits,) = opened["record"]["open_proposals"]
    assert waits["digest"] == run.of("proposal_opened")[0]["digest"]
    assert (work / "a.txt").read_text() == "one\n"


async def test_an_approval_that_comes_later_writes_those_bytes_and_is_the_calls_one_result(driven, work):
    run = await handed_over(driven, WRITE, DONE)
    outcome = await run.run(changes=later(run, reason="go on so"))
    assert outcome.reason == "answered", run.story()
    assert (work / "a.txt").read_text() == "new\n"
    told = run.of("tool_finished")[0]
    assert (told["call_id"], told["ok"]) == ("call_1_1", True)
    assert "The person says: go on so" in told["result"]
    assert [m.role for m in run.model.requests[1].messages] == ["system", "user", "assistant", "tool"]
    (decided,) = run.of("proposal_decided")
    assert (decided["decision"], decided["by"]) == ("approve", "person")
    assert len(run.of("file_changed")) == 1
    run.assert_legal()


async def test_a_rejection_that_comes_later_carries_its_reason_in_the_calls_one_result(driven, work):
    run = await handed_over(driven, WRITE, READ, DONE)
    outcome = await run.run(changes=later(run, "reject", reason="keep it one"))
    assert outcome.reason == "answered", run.story()
    told = run.of("tool_finished")[0]
    assert told["ok"] is False
    assert "keep it one" in told["result"]
    assert (work / "a.txt").read_text() == "one\n"
    run.assert_legal()


async def test_a_resume_without_a_decision_leaves_the_proposal_open(driven, work):
    run = await handed_over(driven, WRITE, DONE)
    again = await run.run()
    assert (again.reason, again.exit_code) == ("handoff", 5), run.story()
    assert run.of("proposal_decided", "tool_finished") == []
    assert len(run.of("proposal_opened")) == 1
    assert len(run.model.requests) == 1
    assert (await run.run(changes=later(run))).reason == "answered", run.story()
    assert (work / "a.txt").read_text() == "new\n"


async def test_a_mode_that_allows_it_on_resume_lets_the_kept_proposal_pass(driven, work):
    run = await handed_over(driven, WRITE, DONE)
    outcome = await run.run(changes=ResumeChanges(gate=GateMode.EDITS))
    assert outcome.reason == "answered", run.story()
    assert (work / "a.txt").read_text() == "new\n"
    assert len(run.of("proposal_opened")) == 1


async def test_a_file_that_changed_elsewhere_rebases_the_proposal_and_refuses_the_old_digest(driven, work):
    (work / "a.txt").write_text(TEXT)
    run = await handed_over(driven, EDIT, DONE)
    (work / "a.txt").write_text(TEXT.replace("nine\n", "NINE\n"))
    again = await run.run(changes=later(run))
    assert again.reason == "handoff", run.story()
    assert run.of("proposal_decided") == []
    (rebased,) = run.of("proposal_rebased")
    assert (rebased["conflict"], rebased["digest"] != run.of("proposal_opened")[0]["digest"]) == (False, True)
    assert (work / "a.txt").read_text() == TEXT.replace("nine\n", "NINE\n")
    outcome = await run.run(changes=later(run, event=rebased))
    assert outcome.reason == "answered", run.story()
    assert (work / "a.txt").read_text() == TEXT.replace("nine\n", "NINE\n").replace("two\n", "TWO\n")


async def test_a_file_that_changed_in_the_same_place_is_a_conflict_that_only_a_new_decision_settles(driven, work):
    (work / "a.txt").write_text(TEXT)
    run = await handed_over(driven, EDIT, READ, DONE)
    theirs = TEXT.replace("two\n", "zwei\n")
    (work / "a.txt").write_text(theirs)
    assert (await run.run(changes=later(run))).reason == "handoff", run.story()
    (rebased,) = run.of("proposal_rebased")
    assert rebased["conflict"] is True
    again = await run.run(changes=later(run, event=rebased))
    assert again.reason == "handoff", "a proposal in conflict cannot be approved as it is"
    outcome = await run.run(changes=later(run, "reject", event=rebased, reason="mine stays"))
    assert outcome.reason == "answered", run.story()
    assert (work / "a.txt").read_text() == theirs
    assert "mine stays" in run.results("edit_file")[0]


async def test_hunks_can_be_taken_later(driven, work):
    (work / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 21)))
    old = (work / "a.txt").read_text()
    new = old.replace("line 2\n", "two\n").replace("line 17\n", "seventeen\n")
    run = await handed_over(driven, call("write_file", path="a.txt", content=new), DONE)
    await run.run(changes=later(run, "part", hunks=[1]))
    assert (work / "a.txt").read_text() == old.replace("line 17\n", "seventeen\n")
    assert "accepted 1 of 2 hunks" in run.results("write_file")[0]


async def test_several_edits_of_one_answer_all_stay_open_and_what_comes_after_them_is_not_made(driven, work):
    both = [Call("write_file", {"path": name, "content": "new\n"}) for name in ("a.txt", "b.txt")]
    after = Call("run_command", {"command": "touch ran"})
    run = await handed_over(driven, calls(*both, after), READ, DONE)
    one, two = run.of("proposal_opened")
    assert (await run.run(changes=later(run, event=two))).reason == "handoff", run.story()
    assert ((work / "a.txt").read_text(), (work / "b.txt").read_text()) == ("one\n", "new\n")
    assert (await run.run(changes=later(run, "reject", event=one))).reason == "handoff", "the command comes next"
    third = run.of("proposal_opened")[2]
    assert (third["command"], (work / "ran").exists()) == ("touch ran", False)
    outcome = await run.run(changes=later(run, event=third))
    assert outcome.reason == "answered", run.story()
    assert (work / "ran").exists()
    assert sorted(e["call_id"] for e in run.of("tool_finished")) == [
        "call_1_1",
        "call_1_2",
        "call_1_3",
        "call_2_1",
        "call_3_1",
    ]
    run.assert_legal()


async def test_a_hint_is_the_answer_where_nobody_looks_at_the_proposal(driven, work):
    run = await handed_over(driven, WRITE, READ, DONE)
    outcome = await run.run(changes=ResumeChanges(hint="leave a.txt alone"))
    assert outcome.reason == "answered", run.story()
    assert "the person said instead: leave a.txt alone" in run.results("write_file")[0]
    assert (work / "a.txt").read_text() == "one\n"
    assert [e["call_id"] for e in run.of("tool_finished")] == ["call_1_1", "call_2_1", "call_3_1"]
    run.assert_legal()


async def test_a_stronger_model_cannot_decide_on_a_proposal(driven):
    tiers = [HandoffTier(kind="model", model=ModelSpec(name="strong", api_base="http://127.0.0.1:1"))]
    run = await handed_over(driven, WRITE, DONE, tiers=tiers)
    (passed,) = run.of("tier_passed")
    assert "only a person" in passed["why"]


async def test_while_a_command_waits_for_someone_the_proposal_can_be_decided_in_the_live_run(driven, work):
    run = driven(
        WRITE, DONE, gate=GateMode.ASK, on_ask="handoff", tiers=[HandoffTier(kind="command", run="true", after=600.0)]
    )
    run.on("tier_asked", lambda _: decision(run.of("proposal_opened")[0]))
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    assert (work / "a.txt").read_text() == "new\n"
    assert len(run.of("tool_finished")) == 2
    run.assert_legal()


async def test_a_message_at_a_hand_off_in_the_live_run_answers_the_proposal(driven, work):
    run = driven(
        WRITE,
        READ,
        DONE,
        gate=GateMode.ASK,
        on_ask="handoff",
        tiers=[HandoffTier(kind="command", run="true", after=600.0)],
    )
    run.on("tier_asked", Say(text="do it in b.txt"))
    outcome = await run.run()
    assert outcome.reason == "answered", run.story()
    assert "said instead: do it in b.txt" in run.results("write_file")[0]
    assert (work / "a.txt").read_text() == "one\n"
    run.assert_legal()


async def test_a_change_that_was_approved_and_not_written_before_a_kill_is_written_once_after_it(driven, work):
    run = await handed_over(driven, WRITE, DONE)
    await run.run(changes=later(run, reason="well done"))
    killed = run.killed_at("proposal_decided")
    (work / "a.txt").write_text("one\n")
    killed.model.turns, killed.model.requests[:] = [DONE], []
    assert (await killed.run()).reason == "answered", killed.story()
    assert (work / "a.txt").read_text() == "new\n"
    (told, _) = killed.of("tool_finished")
    assert (told["ok"], "The person says: well done" in told["result"]) == (True, True)
    assert len(killed.of("file_changed")) == 1
    killed.assert_legal()


async def test_a_change_that_was_written_and_not_recorded_before_a_kill_is_recorded_once(driven, work):
    run = await handed_over(driven, WRITE, DONE)
    await run.run(changes=later(run))
    for at in ("proposal_decided", "file_changed"):
        killed = run.killed_at(at)
        killed.model.turns, killed.model.requests[:] = [DONE], []
        assert (await killed.run()).reason == "answered", killed.story()
        assert len(killed.of("file_changed")) == (at == "proposal_decided"), at
        assert [e["call_id"] for e in killed.of("tool_finished")] == ["call_1_1", "call_2_1"]
        assert killed.facts().files_changed == [] or killed.facts().files_changed == ["a.txt"]
        killed.assert_legal()


async def test_a_file_that_someone_changed_after_an_approval_that_a_kill_cut_off_is_shown_again(driven, work):
    (work / "a.txt").write_text(TEXT)
    run = await handed_over(driven, EDIT, DONE)
    await run.run(changes=later(run))
    killed = run.killed_at("proposal_decided")
    theirs = TEXT.replace("nine\n", "NINE\n")
    (work / "a.txt").write_text(theirs)
    killed.model.turns, killed.model.requests[:] = [DONE], []
    assert (await killed.run()).reason == "handoff", killed.story()
    assert (work / "a.txt").read_text() == theirs
    (shown,) = killed.of("proposal_opened")
    assert shown["digest"] != run.of("proposal_opened")[0]["digest"]
    killed.model.turns[:] = [DONE]
    assert (await killed.run(changes=later(killed))).reason == "answered", killed.story()
    assert (work / "a.txt").read_text() == theirs.replace("two\n", "TWO\n")
