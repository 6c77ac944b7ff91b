"""Python programs start real runs, decide, answer, change limits, stop, attach and apply."""

from __future__ import annotations

import asyncio
import json

import psutil
import pytest
from fakes.nested.fixing import make_search
from fakes.project import CHECK, FIX_ADD, FIX_BOTH, FIX_MEAN, changed_files
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, call, calls, edit, finish, say

import rundry

from .conftest import options_of

HELD = Turn(text="I think about it for a while", hold_after=4)
DONE = finish("told", "NOTES.md")


def decided_by(run: rundry.Run) -> list[tuple[str, str]]:
    """The deciders and their decisions in the journal."""
    events = [stamped.event for stamped in run.events()]
    return [(e.by, e.decision) for e in events if type(e).__name__ == "ProposalDecided"]


def test_a_program_approves_each_proposal_and_reads_the_outcome(home, project):
    with (
        ScriptedServer([FIX_ADD, FIX_MEAN]) as server,
        rundry.start("fix the suite", **options_of(project, server), attended=True) as run,
    ):
        seen = []
        for request in run.requests():
            assert isinstance(request, rundry.ProposalOpened)
            assert run.status == "waiting"
            seen.append(request.path)
            run.approve(request)
        outcome = run.wait()
        assert seen == ["calc/core.py"] * 2
        assert (outcome.reason, outcome.exit_code, outcome.complete) == (rundry.Reason.DONE, 0, True)
        assert outcome.evidence is not None
        assert [check.command for check in outcome.evidence.checks] == [CHECK]
        assert (run.spent.steps, run.status, run.proposals, run.question) == (2, "ended", [], None)
        assert len(outcome.approved_by) == 1
        assert outcome.approved_by[0].startswith("python:")
        assert decided_by(run) == [(outcome.approved_by[0], "approve")] * 2
        assert [line.run_id for line in rundry.runs()] == [run.id]
    assert changed_files(project) == ["calc/core.py"]


def test_without_attended_the_work_is_staged_and_applied_by_its_digest(home, project):
    with ScriptedServer([FIX_BOTH]) as server, rundry.start("fix it", **options_of(project, server)) as run:
        outcome = run.wait()
        assert (outcome.reason, outcome.staged) == (rundry.Reason.HANDOFF, ["calc/core.py"])
        assert changed_files(project) == []
        with pytest.raises(rundry.UserError, match="nothing waits for this program"):
            next(run.requests())
        staged = run.staged()
        assert staged is not None
        assert (staged.paths, staged.protected) == (["calc/core.py"], [])
        assert "+    return a + b" in staged.diff
        with pytest.raises(rundry.UserError, match="this is not staged"):
            run.apply(staged, skip=["other.py"])
        applied = run.apply(staged)
        assert (applied.is_over, applied.met is not None) == (True, True)
        assert changed_files(project) == ["calc/core.py"]
        assert (run.outcome.reason, run.staged()) == (rundry.Reason.DONE, None)


def test_a_stage_that_changed_meanwhile_is_not_applied_and_can_be_dropped(home, project):
    with ScriptedServer([FIX_BOTH]) as server, rundry.start("fix it", **options_of(project, server)) as run:
        run.wait()
        staged = run.staged()
        assert staged is not None
        with pytest.raises(rundry.UserError, match="read it again"):
            run.apply(rundry.Staged("0" * 64, staged.diff, staged.entries, staged.notes))
        run.drop()
        assert run.staged() is None
    assert changed_files(project) == []


@pytest.mark.long
def test_protected_files_of_a_stage_need_a_person(home, project):
    envrc = Call("write_file", {"path": ".envrc", "content": "export A=1\n"})
    both = calls(FIX_BOTH.calls[0], FIX_BOTH.calls[1], envrc)
    with ScriptedServer([both], then=DONE) as server, rundry.start("fix it", **options_of(project, server)) as run:
        run.wait()
        staged = run.staged()
        assert staged is not None
        assert staged.protected == [".envrc"]
        applied = run.apply(staged)
        assert (applied.is_over, applied.skipped) == (False, True)
        assert changed_files(project) == ["calc/core.py"]
        left = run.staged()
        assert left is not None
        with pytest.raises(rundry.UserError, match="only a person accepts"):
            run.apply(left)
        run.apply(left, person=True)
    assert changed_files(project) == [".envrc", "calc/core.py"]


def test_a_program_rejects_with_a_reason_that_the_model_reads(home, project):
    with (
        ScriptedServer([FIX_ADD, DONE], then=say("done")) as server,
        rundry.start("fix it", **options_of(project, server) | {"steps": 2}, attended=True) as run,
    ):
        for request in run.requests():
            run.reject(request, "not this file")
        body = json.dumps(server.wait_requests(2)[1].body)
        assert ": not this file" in body
        assert "rejected by python:" in body
    assert changed_files(project) == []


def test_hunks_and_guarded_files_are_for_a_person(home, project):
    both = edit("calc/core.py", "return a - b", "return a + b")
    arguments = {
        "path": "calc/core.py",
        "edits": [
            {"old_text": "return a - b", "new_text": "return a + b"},
            {"old_text": "return 2 * a", "new_text": "return a + a"},
        ],
    }
    guarded = edit("tests/test_core.py", "add(2, 3), 5", "add(2, 3), 6")
    turns = [calls(Call("edit_file", arguments)), guarded, both, DONE]
    options = {"steps": 2, "guard": "tests/**"}
    with (
        ScriptedServer(turns) as server,
        rundry.start("fix it", **options_of(project, server) | options, attended=True) as run,
    ):
        requests = run.requests()
        two = next(requests)
        assert isinstance(two, rundry.ProposalOpened)
        assert two.hunks == 2
        with pytest.raises(rundry.UserError, match="only a person chooses hunks"):
            run.approve(two, hunks=[1])
        with pytest.raises(rundry.UserError, match="has the hunks 1 to 2"):
            run.approve(two, hunks=[3], person=True)
        run.approve(two, hunks=[2], person=True)
        test = next(requests)
        assert isinstance(test, rundry.ProposalOpened)
        assert test.danger
        with pytest.raises(rundry.UserError, match="only a person can approve"):
            run.approve(test)
        with pytest.raises(rundry.UserError, match="does not wait any more"):
            run.approve(two)
        run.reject(test)
        run.wait()
        assert next(by for by, _ in decided_by(run)) == "person"
    assert "return a + a" in (project / "calc" / "core.py").read_text()
    assert "return a - b" in (project / "calc" / "core.py").read_text()


def test_a_proposal_whose_file_changed_is_given_again_and_the_old_one_is_refused(home, project):
    with (
        ScriptedServer([FIX_ADD, DONE]) as server,
        rundry.start("fix it", **options_of(project, server) | {"steps": 1}, attended=True) as run,
    ):
        requests = run.requests()
        old = next(requests)
        core = project / "calc" / "core.py"
        core.write_text(core.read_text().replace('"""Sums."""', '"""Sums and more."""'))
        new = next(requests)
        assert isinstance(old, rundry.ProposalOpened)
        assert isinstance(new, rundry.ProposalOpened)
        assert (new.proposal_id, new.digest != old.digest) == (old.proposal_id, True)
        with pytest.raises(rundry.UserError, match="changed since: look at it again"):
            run.approve(old)
        run.approve(new)
        run.wait()
    assert "Sums and more" in core.read_text()
    assert "return a + b" in core.read_text()


def test_a_program_answers_a_question_sends_a_message_and_changes_a_limit(home, project):
    asked = call("ask_person", question="Which sum?", options=["plain", "exact"])
    with (
        ScriptedServer([asked, HELD, DONE]) as server,
        rundry.start("fix it", **options_of(project, server), attended=True) as run,
    ):
        question = next(run.requests())
        assert isinstance(question, rundry.QuestionAsked)
        assert question.options == ["plain", "exact"]
        run.answer("2")
        server.wait_requests(2)
        with pytest.raises(rundry.RundryError, match="question"):
            run.answer("again")
        run.set_limits(steps=7, time=600)
        run.send("use plain sums")
        with pytest.raises(rundry.Refused, match="the run refused it"):
            run.set_limits(nonsense=3)
        run.stop(now=True)
        outcome = run.wait()
        assert outcome.reason is rundry.Reason.USER
        assert outcome.detail.startswith("python:")
        events = [stamped.event for stamped in run.events()]
        names = [type(event).__name__ for event in events]
        assert names.count("BudgetChanged") == 2
        (answered,) = [event for event in events if type(event).__name__ == "QuestionAnswered"]
        assert (answered.text, answered.by.startswith("python:")) == ("exact", True)
        with pytest.raises(rundry.UserError, match=r"does not run \(ended\)"):
            run.send("still there?")


def test_an_ended_run_is_resumed_with_a_message_and_more_steps(home, project):
    with ScriptedServer([say("one"), say("two"), HELD]) as server:
        with rundry.start("fix it", **options_of(project, server) | {"steps": 1}) as run:
            assert run.wait().reason is rundry.Reason.BUDGET
            run.resume("go on", steps=9)
            assert (run.outcome, run.status) == (None, "working")
            server.wait_requests(2)
        with rundry.attach(run_id := rundry.runs()[0].run_id) as again:
            assert again.id == run_id
            assert again.outcome is not None
            assert again.outcome.reason is rundry.Reason.USER


def test_the_end_of_a_block_stops_the_run_and_its_process_and_detach_leaves_them(home, project):
    with ScriptedServer([HELD, HELD]) as server:
        with rundry.start("fix it", **options_of(project, server)) as run:
            server.wait_requests(1)
            path = run.journal
        with pytest.raises(rundry.UserError, match="this object was closed"):
            _ = run.status
        with rundry.attach(path) as ended:
            assert ended.outcome is not None
            assert ended.status == "ended"
        assert runners(home) == []
        left = rundry.start("fix it", **options_of(project, server))
        run_id = left.id
        server.wait_requests(2)
        left.detach()
        with rundry.attach(run_id) as attached:
            assert attached.status == "working"
            with pytest.raises(rundry.UserError, match="has not ended"):
                attached.staged()
        with rundry.attach(run_id) as attached:  # leaving it did not stop it
            assert attached.status == "working"
            attached.stop(now=True)
            assert attached.wait().reason is rundry.Reason.USER


def test_an_error_in_an_iteration_stops_the_run_and_is_raised(home, project):
    with ScriptedServer([HELD]) as server:
        with (
            pytest.raises(ZeroDivisionError),
            rundry.start("fix it", **options_of(project, server)) as run,
        ):
            for _ in run.events():
                _ = 1 / 0
        (line,) = rundry.runs()
        assert line.reason is rundry.Reason.USER
        assert runners(home) == []


@pytest.mark.long
def test_two_runs_at_once_do_not_meet(home, project, tmp_path):
    from fakes.project import make_project

    (tmp_path / "other").mkdir()
    other = make_project(tmp_path / "other")
    with (
        ScriptedServer([FIX_BOTH]) as one,
        ScriptedServer([say("nothing")]) as two,
        rundry.start("fix it", **options_of(project, one)) as first,
        rundry.start("fix it", **options_of(other, two) | {"steps": 1}) as second,
    ):
        assert second.wait().reason is rundry.Reason.BUDGET
        assert first.wait().staged == ["calc/core.py"]
        assert first.id != second.id


@pytest.mark.long
async def test_async_code_decides_and_applies_in_a_running_loop_while_other_tasks_run(home, project):
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    with ScriptedServer([FIX_BOTH]) as server:
        async with rundry.start_async("fix it", **options_of(project, server)) as run:
            names = [type(stamped.event).__name__ async for stamped in run.events()]
            assert (names[0], names[-1]) == ("RunStarted", "RunEnded")
            staged = await run.staged()
            assert staged is not None
            assert (await run.apply(staged)).is_over
    with ScriptedServer([edit("calc/core.py", "2 * a", "a + a"), DONE]) as server:
        options = options_of(project, server) | {"until": "false", "steps": 1}
        async with rundry.start_async("fix it", **options, attended=True) as run:
            async for request in run.requests():
                assert isinstance(request, rundry.ProposalOpened)
                await run.approve(request)
            assert (await run.wait()).reason is rundry.Reason.BUDGET
    assert "a + a" in (project / "calc" / "core.py").read_text()
    assert ticks > 20
    ticking.cancel()


@pytest.mark.long
async def test_blocking_code_works_where_a_loop_runs_already_as_in_a_notebook(home, project):
    with ScriptedServer([FIX_BOTH]) as server, rundry.start("fix it", **options_of(project, server)) as run:
        run.wait()
        staged = run.staged()
        assert staged is not None
        assert run.apply(staged).is_over
    assert changed_files(project) == ["calc/core.py"]


@pytest.mark.long
async def test_a_cancelled_task_stops_its_run(home, project):
    with ScriptedServer([HELD]) as server:

        async def work() -> None:
            async with rundry.start_async("fix it", **options_of(project, server)) as run:
                await run.wait()

        task = asyncio.create_task(work())
        await asyncio.to_thread(server.wait_requests, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert rundry.runs()[0].reason is rundry.Reason.USER
        assert runners(home) == []


@pytest.mark.long
def test_what_cannot_begin_is_refused_before_anything_changes(home, project):
    with pytest.raises(rundry.UserError, match="no model is set up"):
        rundry.start("fix it", folder=project)
    with pytest.raises(rundry.UserError, match="no such folder"):
        rundry.start("fix it", folder=project / "missing", model="fake")
    with pytest.raises(rundry.RundryError):
        rundry.start("fix it", folder=project, model="fake", api_base="http://127.0.0.1:9/v1")
    with pytest.raises(rundry.UserError, match="no run"):
        rundry.attach("nothing")
    assert runners(home) == []


@pytest.mark.long
def test_the_default_is_never_the_mode_auto(home, project):
    with ScriptedServer([say("x")]) as server:
        for attended, mode in ((False, "stage"), (True, "ask")):
            with rundry.start("fix it", **options_of(project, server) | {"steps": 1}, attended=attended) as run:
                run.wait()
                (started,) = [s.event for s in run.events() if type(s.event).__name__ == "RunStarted"]
                assert started.gate.value == mode


def runners(home) -> list[int]:
    """Processes that still work on journals of this home."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if "rundry.agent.run" in words and process.environ().get("RUNDRY_RUNS_DIR") == str(home.runs):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def test_a_search_yields_each_finding_once_and_its_outcome(home, project, tmp_path):
    spec = tmp_path / "audit.toml"
    make_search(home, tmp_path / "site", ["a.py", "b.py"])
    (tmp_path / "search.toml").rename(spec)
    with rundry.find(str(spec), folder=tmp_path / "site", trust=True) as search:
        found = list(search.findings())
        assert sorted((row.finding.title, row.file, row.line, row.state) for row in found) == [
            ("a.py is bad", "a.py", 1, "unverified"),
            ("b.py is bad", "b.py", 1, "unverified"),
        ]
        outcome = search.wait()
        assert (outcome.reason, outcome.findings.confirmed) == (rundry.Reason.DRY, 2)
        assert list(search.findings(["refuted"])) == []
        assert len(list(search.findings())) == 2
    with pytest.raises(TypeError, match="unknown option 'recip': did you mean recipe"):
        rundry.find("x", recip="crawl")  # type: ignore[call-arg]


def test_only_a_search_has_findings(home, project):
    with (
        ScriptedServer([say("x")]) as server,
        rundry.start("fix it", **options_of(project, server) | {"steps": 1}) as run,
        pytest.raises(rundry.UserError, match="is not a search"),
    ):
        next(run.findings())
