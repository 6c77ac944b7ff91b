"""`--commit`: each edit that was let through is a git commit of its own, and the person's work stays theirs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.in_process.driven import Driven
from fakes.in_process.simulated_hours import make_repository, subjects
from fakes.project import changed_files, git
from fakes.sandboxes import notes_of
from fakes.turns import Call, call, calls, edit, finish

from rundry.agent.protocol import Answer, Decide, GateMode

Make = Callable[..., Driven]
DONE = finish("done", "a.txt")


@pytest.fixture
def committing(driven: Make, work: Path) -> Make:
    """A run with `--commit` in a repository."""
    make_repository(work)
    return lambda *turns, **more: driven(*turns, commit=True, **more)


def write(path: str, content: str):
    return call("write_file", path=path, content=content)


def said(run: Driven) -> list[tuple[str, str]]:
    """Of each edit that was committed or not: its file, and why it was not."""
    return [(event["path"], event["why_not"]) for event in run.of("change_committed")]


async def test_each_edit_is_a_commit_with_its_file_alone_that_names_task_run_and_step(committing: Make, work: Path):
    both = calls(
        Call("edit_file", {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "1"}]}),
        Call("write_file", {"path": "sub/new.txt", "content": "n\n"}),
    )
    run = committing(both, edit("a.txt", "1", "one more"), DONE, task="count\n\nin words")
    await run.run()
    assert subjects(work) == [
        "rundry: Change a.txt (+1 -1)",
        "rundry: Add sub/new.txt (+1 -0)",
        "rundry: Change a.txt (+1 -1)",
        "First",
    ]
    assert git(work, "log", "-1", "--format=%b").strip() == (
        f"count\n\nin words\n\nRundry-Run: {run.spec.run_id}\nRundry-Step: 2"
    )
    assert git(work, "show", "--name-only", "--format=", "HEAD~1").split() == ["sub/new.txt"]
    assert git(work, "show", "HEAD~2:a.txt") == "1\n" and changed_files(work) == []
    assert [event["commit"] for event in run.of("change_committed")][-1] == git(work, "rev-parse", "HEAD").strip()


async def test_what_the_person_staged_or_changed_stays_theirs(committing: Make, work: Path):
    (work / "b.txt").write_text("two, and mine\n")
    (work / "staged.txt").write_text("mine\n")
    git(work, "add", "staged.txt")
    run = committing(edit("a.txt", "one", "1"), edit("b.txt", "two", "2"), write("staged.txt", "yours\n"), DONE)
    await run.run()
    assert subjects(work) == ["rundry: Change a.txt (+1 -1)", "First"]
    assert said(run) == [
        ("a.txt", ""),
        ("b.txt", "b.txt had uncommitted changes before the model changed it"),
        ("staged.txt", "staged.txt had uncommitted changes before the model changed it"),
    ]
    assert git(work, "diff", "--cached", "--name-only").split() == ["staged.txt"], "the index is as they left it"
    assert git(work, "show", ":staged.txt") == "mine\n" and (work / "b.txt").read_text() == "2, and mine\n"


async def test_what_the_models_own_command_or_an_undo_left_is_not_a_change_of_the_person(committing: Make, work: Path):
    tidy = call("run_command", command="printf 'one\\ntidy\\n' > a.txt")
    run = committing(tidy, edit("a.txt", "tidy", "neat"), call("run_command", command="echo x >> a.txt"))
    run.model.turns += [edit("a.txt", "x", "y"), DONE]
    await run.run()
    assert subjects(work)[:-1] == ["rundry: Change a.txt (+1 -1)"] * 2, run.story()
    assert git(work, "show", "HEAD:a.txt") == "one\nneat\ny\n" and changed_files(work) == []


async def test_a_person_who_writes_the_file_in_between_keeps_the_next_edit_out_and_it_is_reported_once(
    committing: Make, work: Path
):
    def mine(event: dict[str, Any]) -> Answer:
        (work / "a.txt").write_text("1\nmine\n")
        return Answer(question_id=event["question_id"], text="go on")

    run = committing(edit("a.txt", "one", "1"), call("ask_person", question="well?"), then=DONE, on_ask=None)
    run.model.turns += [edit("a.txt", "1", "2"), edit("a.txt", "2", "3"), DONE]
    run.on("question_asked", mine)
    await run.run(watched=True)
    assert (work / "a.txt").read_text() == "3\nmine\n"
    assert [bool(why) for _, why in said(run)] == [False, True] and len(subjects(work)) == 2


async def test_an_edit_that_was_rejected_is_not_a_commit_and_a_persons_own_text_says_so(committing: Make, work: Path):
    run = committing(edit("a.txt", "one", "1"), edit("a.txt", "one", "2"), DONE, gate=GateMode.ASK)
    run.on(
        "proposal_opened", lambda e: Decide(proposal_id=e["proposal_id"], digest=e["digest"], verdict="reject"), nth=1
    )
    run.on(
        "proposal_opened",
        lambda e: Decide(proposal_id=e["proposal_id"], digest=e["digest"], verdict="approve", text="mine\n"),
        nth=2,
    )
    await run.run(watched=True)
    assert len(subjects(work)) == 2 and git(work, "show", "HEAD:a.txt") == "mine\n", run.story()
    assert "The person edited the model's change." in git(work, "log", "-1", "--format=%b")


@pytest.mark.parametrize("state", ["none", "detached", "locked", "merging", "unborn"])
async def test_where_nothing_can_be_committed_that_is_reported_once(driven: Make, work: Path, state: str):
    if state == "unborn":
        git(work, "init", "-q", "-b", "work")
    elif state != "none":
        make_repository(work)
    if state == "detached":
        git(work, "checkout", "-q", "--detach")
    elif state in ("locked", "merging"):
        (work / ".git" / {"locked": "index.lock", "merging": "MERGE_HEAD"}[state]).write_text("")
    run = driven(edit("a.txt", "one", "1"), edit("a.txt", "1", "2"), DONE, commit=True)
    outcome = await run.run()
    expected = {
        "none": "is not in a git repository",
        "detached": "HEAD is not on a branch",
        "locked": "git is in use: another git process is running",
        "merging": "git is in use: a merge is in progress",
        "unborn": "the branch has no commit yet",
    }
    (line,) = notes_of(run.of("run_started"))
    assert line.startswith("--commit: nothing is committed: ") and expected[state] in line
    assert said(run) == [] and outcome.complete and (work / "a.txt").read_text() == "2\n"


async def test_without_the_option_nothing_is_committed(driven: Make, work: Path):
    make_repository(work)
    run = driven(edit("a.txt", "one", "1"), DONE)
    await run.run()
    assert subjects(work) == ["First"] and changed_files(work) == ["a.txt"]


async def test_no_hook_runs_and_an_ignored_file_is_reported_as_left_out(committing: Make, work: Path):
    (work / ".gitignore").write_text("*.log\n")
    git(work, "add", ".gitignore")
    git(work, "commit", "-qm", "Ignore")
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        hook = work / ".git" / "hooks" / name
        hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
        hook.chmod(0o755)
    run = committing(edit("a.txt", "one", "1"), write("out.log", "x\n"), DONE)
    await run.run()
    assert [bool(why) for _, why in said(run)] == [False, True] and "ignored" in said(run)[1][1]
    assert not (work / "ran").exists() and subjects(work)[0] == "rundry: Change a.txt (+1 -1)"
