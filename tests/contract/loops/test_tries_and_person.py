"""`--tries N` next to a person who uses the same repository, and hand-offs of tries and of items."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from fakes.models.tries import rule, writes
from fakes.project import changed_files, git
from fakes.rundry import Home, Ran, Running
from fakes.sandboxes import needs_bubblewrap
from fakes.server import ScriptedServer
from fakes.turns import Call, call, calls, say

from rundry.agent.journal.journal import Journal

_WRITES = writes("score.txt", 9)
HELD = dataclasses.replace(_WRITES, calls=(Call("read_file", {"path": "score.txt"}), *_WRITES.calls), hold_after=0)
"""The second try, which waits until the server releases it. It reads what the person wrote before it replaces that."""
MAKES_REFS = (
    "export GIT_AUTHOR_NAME=m GIT_AUTHOR_EMAIL=m@x GIT_COMMITTER_NAME=m GIT_COMMITTER_EMAIL=m@x; "
    "git branch try-branch; git tag try-tag; git switch -qc try-switched; echo {score} > score.txt; "
    'git commit -qam mine; name=v; git tag "$name-light"; git tag -m x "$name-annotated"'
)


@pytest.fixture
def scored(project: Path) -> Path:
    """The project with a score in a file, committed."""
    (project / "score.txt").write_text("5\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "A score")
    return project


def started(home: Home, server: ScriptedServer, project: Path, *more: str, gate: str = "auto") -> Running:
    argv = ["run", "raise the score", "--model", "fake", "--api-base", server.base_url, "--gate", gate, "--headless"]
    limits = [
        "--score",
        "cat score.txt",
        "--scope",
        "score.txt",
        "--patience",
        "1",
        "--tries",
        "2",
        "--steps",
        "20",
        "--json",
    ]
    return home.start(*argv, *limits, *more, cwd=project)


def in_mid_pass(running: Running, server: ScriptedServer, requests: int = 2) -> None:
    """Try 1 has ended, try 2 waits for its answer."""
    running.wait_event("try_finished", candidate=1)
    server.wait_requests(requests)


def refs_of(project: Path) -> list[str]:
    return git(project, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags").split()


@needs_bubblewrap  # with Landlock a try cannot write the refs of the repository
@pytest.mark.parametrize(("scores", "verdict"), [((6, 9), "kept"), ((9, 6), "kept"), ((4, 3), "reverted")])
def test_names_that_a_person_makes_stay_and_those_of_a_try_that_is_not_chosen_go(
    home: Home, scored: Path, scores: tuple[int, int], verdict: str
):
    made = Call("run_command", {"command": MAKES_REFS.format(score=scores[0])})
    first = calls(made, Call("finish", {"answer": "did it", "citations": ["score.txt"]}))
    rules = [rule(1, 1, first), rule(1, 2, dataclasses.replace(writes("score.txt", scores[1]), hold_after=0))]
    server = ScriptedServer(rules=rules, then=say("nothing more"))
    with server, started(home, server, scored) as running:
        in_mid_pass(running, server)
        assert refs_of(scored) == ["refs/heads/work"], "the try made its names in its layer"
        git(scored, "branch", "mine")
        git(scored, "tag", "score")
        git(scored, "tag", "-m", "x", "mine-annotated")
        git(scored, "branch", "elsewhere", git(scored, "commit-tree", "HEAD^{tree}", "-m", "mine").strip())
        server.release()
        ran = running.finish()
    assert ran.of("pass_finished")[0]["verdict"] == verdict, ran.story()
    mine = ["refs/heads/elsewhere", "refs/heads/mine", "refs/tags/mine-annotated", "refs/tags/score"]
    tags = [f"refs/tags/{name}" for name in ("try-tag", "v-annotated", "v-light")]
    of_try = ["refs/heads/try-branch", "refs/heads/try-switched", *tags] if scores == (9, 6) else []
    assert refs_of(scored) == sorted([*mine, *of_try, "refs/heads/work"]), ran.story()
    assert changed_files(scored) == []


@pytest.fixture
def handed_over(home: Home, scored: Path):
    """Ended while the best try conflicts with an edit of the person, with a server that still answers."""
    rules = [rule(1, 1, writes("score.txt", 6)), rule(1, 2, HELD)]
    with ScriptedServer(rules=rules, then=say("nothing more")) as server:
        with started(home, server, scored, "--on-ask", "handoff") as running:
            in_mid_pass(running, server)
            (scored / "score.txt").write_text("7\n")
            server.release()
            ran = running.finish()
        yield ran


def test_a_conflict_of_a_try_is_handed_over_and_the_edit_stays(home: Home, scored: Path, handed_over: Ran):
    assert (handed_over.exit_code, handed_over.outcome["reason"]) == (5, "handoff"), handed_over.story()
    assert "pass 1 is green, and was not applied: score.txt" in handed_over.outcome["detail"].replace("`", "")
    assert "score.txt" in home.run("handoffs", cwd=scored).stdout
    assert (scored / "score.txt").read_text() == "7\n" and git(scored, "worktree", "list").count("\n") == 1
    journal = Journal.open(home.journals()[0])
    assert b"+9" in journal.blobs.load(handed_over.of("patch_kept")[0]["patch"])
    journal.close()


def test_a_command_of_a_try_that_nobody_approves_is_handed_over_as_that_of_a_try(home: Home, scored: Path):
    asks = call("run_command", command="touch made")
    server = ScriptedServer(rules=[rule(1, 1, asks), rule(1, 2, asks)], then=say("nothing more"))
    with server, started(home, server, scored, "--on-ask", "handoff", gate="ask") as running:
        ran = running.finish()
    detail = ran.outcome["detail"]
    assert (ran.exit_code, "The proposal of a try does not stay open" in detail) == (5, True), ran.story()
    assert "item" not in detail and detail.endswith("the try is worked again when the run is resumed")
    assert git(scored, "worktree", "list").count("\n") == 1 and changed_files(scored) == []
