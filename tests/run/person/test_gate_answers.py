"""What a person answers at the gate of a whole run: what lands, what the journal keeps, what the model reads."""

from __future__ import annotations

import pytest
from fakes.turns import Call, call, calls, edit, finish

from rundry.agent.protocol import Decide, GateMode, Interrupt, Unpause

DONE = finish("all is well", "a.txt:1")
TWENTY = "".join(f"line {i}\n" for i in range(20))


def answered(verdict="approve", **more):
    return lambda event: Decide(proposal_id=event["proposal_id"], digest=event["digest"], verdict=verdict, **more)


async def test_one_answer_takes_hunks_leaves_others_and_says_why_in_the_same_result(driven, work):
    (work / "a.txt").write_text(TWENTY)
    new = TWENTY.replace("line 2\n", "two\n").replace("line 17\n", "seventeen\n")
    run = driven(call("write_file", path="a.txt", content=new), DONE, gate=GateMode.ASK)
    run.on("proposal_opened", answered("part", hunks=[0], hunk_reasons={1: "that is a name"}, reason="go slow"))
    await run.run(watched=True)
    assert (work / "a.txt").read_text() == TWENTY.replace("line 2\n", "two\n")
    (result,) = run.results("write_file")
    assert "Written: hunk 1 (line 3)." in result
    assert "Hunk 2 (+seventeen) was skipped because: that is a name" in result
    assert "The person says: go slow" in result
    assert result in run.heard()
    (decided,) = run.of("proposal_decided")
    assert (decided["decision"], decided["left"]) == ("part", {"1": "that is a name"})
    assert [change["by"] for change in run.of("file_changed")] == ["model"]
    run.assert_legal()


async def test_a_conflict_waits_for_the_person_whose_text_replaces_what_was_there(driven, work):
    file = work / "a.txt"

    def meanwhile(event):
        file.write_text("uno\n")
        return answered()(event)  # on what was painted: it is refused, and the conflict is shown

    run = driven(edit("a.txt", "one", "1"), DONE, gate=GateMode.ASK).on("proposal_opened", meanwhile)
    run.on("proposal_rebased", answered(text="uno 1\n"), conflict=True)
    await run.run(watched=True)
    assert file.read_text() == "uno 1\n"
    assert len(run.of("command_refused")) == 1, run.story()
    (changed,) = run.of("file_changed")
    assert changed["by"] == "person"
    (result,) = run.results("edit_file")
    assert "the person changed your text" in result
    run.assert_legal()


@pytest.mark.parametrize("verdict", ["again", "mine"])
async def test_the_ways_out_of_a_conflict_leave_the_file_and_the_model_continues(driven, work, verdict):
    file = work / "a.txt"

    def meanwhile(event):
        file.write_text("uno\n")
        return answered()(event)

    run = driven(edit("a.txt", "one", "1"), edit("a.txt", "uno", "1"), DONE, gate=GateMode.ASK)
    run.on("proposal_opened", meanwhile).on("proposal_opened", answered(), nth=2)
    run.on("proposal_rebased", answered(verdict, reason="mind the language"), conflict=True)
    await run.run(watched=True)
    first, second = run.results("edit_file")
    assert ("Read the file again" if verdict == "again" else "keeps the file") in first
    assert "mind the language" in first
    assert "a.txt changed" in second
    assert file.read_text() == "1\n"
    run.assert_legal()


@pytest.mark.parametrize(
    ("more", "written", "by"),
    [
        ({"text": TWENTY.replace("line 2\n", "mine\n")}, {"line 2\n": "mine\n"}, "person"),
        ({"verdict": "part", "hunks": [0], "hunk_reasons": {1: "not that"}}, {"line 2\n": "two\n"}, "model"),
    ],
    ids=["an edited text", "some hunks"],
)
async def test_what_a_person_made_of_it_is_shown_again_when_the_file_moves_before_the_write(
    driven, work, more, written, by
):
    file = work / "a.txt"
    file.write_text(TWENTY)
    new = TWENTY.replace("line 2\n", "two\n").replace("line 17\n", "seventeen\n")

    def too_late(event):
        file.write_text(file.read_text().replace("line 10\n", "ten\n"))
        return Decide(proposal_id="none", digest="", verdict="reject")

    run = driven(call("write_file", path="a.txt", content=new), DONE, gate=GateMode.ASK)
    run.on("proposal_opened", answered(**more)).on("proposal_decided", too_late)
    run.on("proposal_opened", answered(), nth=2)
    await run.run(watched=True)
    expected = TWENTY.replace("line 10\n", "ten\n")
    for old, text in written.items():
        expected = expected.replace(old, text)
    assert file.read_text() == expected, run.story()
    assert [event["hunks"] for event in run.of("proposal_opened")][1] == 1
    assert [change["by"] for change in run.of("file_changed")] == [by]
    (result,) = run.results("write_file")
    assert ("not that" if by == "model" else "the person changed your text") in result


async def test_a_call_over_quota_is_reported_to_the_model_and_to_the_screen_and_continuing_ends_the_run(driven):
    again = call("read_file", path="a.txt")
    run = driven(*[again] * 7, DONE, quotas={"read_file": "1/run"})
    outcome = await run.run()
    assert run.results("read_file")[1].startswith("refused: the quota of read_file is 1/run")
    assert run.of("tool_finished")[1]["summary"] == "over quota"
    assert (outcome.reason.value, outcome.complete) == ("budget", False)
    assert outcome.detail == "quota: read_file 1/run, refused in 5 steps in a row"


async def test_many_calls_over_quota_in_one_answer_do_not_end_the_run(driven):
    many = calls(*[Call("read_file", {"path": "a.txt", "start_line": 1}) for _ in range(9)])
    run = driven(many, DONE, quotas={"read_file": "1/run"})
    outcome = await run.run()
    assert sum("quota of read_file" in result for result in run.results("read_file")) == 8
    assert outcome.reason.value == "answered"


async def test_changes_of_several_files_in_one_answer_wait_together_and_a_command_waits_for_all_of_them(driven, work):
    def write(name, text):
        return Call("write_file", {"path": name, "content": text})

    asked = [write("a.txt", "1\n"), write("c.txt", "2\n"), write("b.txt", "3\n"), write("./c.txt", "4\n")]
    run = driven(calls(*asked, Call("run_command", {"command": "cat c.txt"})), DONE, gate=GateMode.ASK)

    def on(at, verdict="approve"):
        return lambda _: answered(verdict)(run.of("proposal_opened")[at])

    run.on("proposal_opened", on(2), on(0, "reject"), on(1), nth=3)  # the last one first
    run.on("proposal_opened", on(3), nth=4).on("proposal_opened", on(4), nth=5)
    await run.run(watched=True)
    assert [event["path"] for event in run.of("proposal_opened")] == ["a.txt", "c.txt", "b.txt", "c.txt", None]
    gone_through = [kind for kind in run.types() if kind in ("proposal_opened", "proposal_decided")]
    assert (
        gone_through == ["proposal_opened"] * 3 + ["proposal_decided"] * 3 + ["proposal_opened", "proposal_decided"] * 2
    )
    assert sorted(event["path"] for event in run.of("file_changed")) == ["b.txt", "c.txt", "c.txt"]
    assert ((work / "a.txt").read_text(), (work / "c.txt").read_text()) == ("one\n", "4\n")
    assert "4" in run.results("run_command")[0]
    run.assert_legal()


async def test_an_interrupt_ends_every_proposal_of_the_review_and_each_call_has_its_answer(driven, work):
    asked = [Call("write_file", {"path": name, "content": "new\n"}) for name in ("a.txt", "b.txt", "c.txt")]
    run = driven(calls(*asked), DONE, gate=GateMode.ASK)
    run.on("proposal_opened", Interrupt(), nth=3).on("paused", Unpause())
    await run.run(watched=True)
    assert [event["decision"] for event in run.of("proposal_decided")] == ["reject"] * 3
    assert run.of("file_changed") == []
    assert len(run.results("write_file")) == 3
    run.assert_legal()


async def test_a_review_that_a_kill_cut_short_continues_with_the_changes_that_were_not_decided(driven, work):
    asked = [Call("write_file", {"path": name, "content": "new\n"}) for name in ("a.txt", "b.txt", "c.txt")]
    first = driven(calls(*asked), DONE, gate=GateMode.ASK)
    for at in (1, 0, 2):
        first.on("proposal_opened", lambda _, at=at: answered()(first.of("proposal_opened")[at]), nth=3)
    await first.run(watched=True)
    run = first.killed_at("proposal_decided")
    (work / "a.txt").write_text("one\n")
    (work / "b.txt").write_text("two\n")
    (work / "c.txt").unlink()
    shown = first.of("proposal_opened")
    run.on("waiting", lambda _: answered()(shown[0])).on("waiting", lambda _: answered()(shown[2]), nth=2)
    await run.run(watched=True)
    assert run.of("proposal_opened") == [], run.story()
    decided = [event["proposal_id"] for event in run.of("proposal_decided")]
    assert decided == [shown[0]["proposal_id"], shown[2]["proposal_id"]]
    assert {(work / name).read_text() for name in ("a.txt", "b.txt", "c.txt")} == {"new\n"}
    (lost,) = [event for event in run.of("tool_finished") if event["call_id"] == "call_1_2"]
    assert lost["ok"] is True, "it was approved before the kill, so it is made after it"
    assert len(run.of("file_changed")) == 3
    run.assert_legal()
