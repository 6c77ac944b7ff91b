"""The chosen try of a goal run at the gate of a session: its diff is shown before the workspace changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import tree_of
from fakes.project import changed_files, git
from fakes.rundry import Home
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, calls, say

from rundry.agent.journal.journal import Journal
from rundry.agent.protocol import ProposalOpened

CHECK = "grep -qx done state.txt"


def writes(number: int, *paths: str) -> Rule:
    made = [Call("write_file", {"path": path, "content": "done\n"}) for path in paths]
    return Rule(rf"You are try {number} of", calls(*made))


def asked(home: Home) -> list[ProposalOpened]:
    """The proposals that waited for a person."""
    journal = Journal.open(home.journals()[0])
    try:
        events = [stamped.event for stamped in journal.read()]
        return [event for event in events if isinstance(event, ProposalOpened) and event.asks]
    finally:
        journal.close()


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_person_decides_on_the_diff_of_the_chosen_try(home: Home, project: Path, verdict: str):
    before = tree_of(project)
    rules = [writes(1, "state.txt", "a.txt", "b.txt"), writes(2, "state.txt", "other.txt")]
    with ScriptedServer(rules=rules, then=say("I do not know how.")) as server:
        words = ["run", "get it done", "--model", "fake", "--api-base", server.base_url, "--gate", "ask"]
        with home.screen(*words, "--until", CHECK, "--tries", "2", cwd=project) as terminal:
            terminal.wait_for("try 2 of 2")
            terminal.wait_for(lambda _: len(asked(home)) == 1)
            assert tree_of(project) == before
            done = home.run("ctl", verdict, "--digest", asked(home)[0].digest, cwd=project)
            assert done.exit_code == 0, done
            terminal.wait_for("check passed" if verdict == "approve" else "was rejected")
    (opened,) = asked(home)
    assert (paths(opened), opened.who) == (["other.txt", "state.txt"], "try 2 of 2")
    assert changed_files(project) == (["other.txt", "state.txt"] if verdict == "approve" else [])
    assert len(git(project, "worktree", "list").splitlines()) == 1


def paths(opened: ProposalOpened) -> list[str]:
    return [] if opened.effects is None else [entry.path for entry in opened.effects.entries]


def handed_over(home: Home, project: Path, server: ScriptedServer) -> str:
    """Run two tries while nobody is there to approve. Returns the id of the run."""
    words = ["run", "get it done", "--model", "fake", "--api-base", server.base_url, "--gate", "ask"]
    options = ["--on-ask", "handoff", "--until", CHECK, "--tries", "2", "--headless", "--json"]
    ran = home.run(*words, *options, cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran
    return home.journals()[0].stem


def test_a_chosen_try_is_approved_by_digest_after_a_hand_off(home: Home, project: Path):
    rules = [writes(1, "state.txt", "a.txt", "b.txt"), writes(2, "state.txt", "other.txt")]
    with ScriptedServer(rules=rules, then=say("I do not know how.")) as server:
        run = handed_over(home, project, server)
        calls_before = len(server.requests)
        last = home.run("approve", run, "--digest", asked(home)[-1].digest, "--headless", "--json", cwd=project)
        assert len(server.requests) == calls_before
    assert (last.exit_code, last.outcome["reason"]) == (0, "done"), last
    assert changed_files(project) == ["other.txt", "state.txt"] and len(asked(home)) == 1, "it is asked about once"


def test_a_chosen_try_is_rejected_by_digest_after_a_hand_off(home: Home, project: Path):
    rules = [writes(1, "state.txt", "a.txt"), writes(2, "state.txt")]
    with ScriptedServer(rules=rules, then=say("I do not know how.")) as server:
        run = handed_over(home, project, server)
        done = home.run("reject", run, "--digest", asked(home)[-1].digest, "--headless", "--json", cwd=project)
    assert done.outcome["reason"] == "user" and "was rejected" in done.outcome["detail"], done
    assert changed_files(project) == []


def test_a_file_that_changed_since_the_hand_off_is_not_overwritten(home: Home, project: Path):
    rules = [writes(1, "state.txt", "other.txt"), writes(2, "state.txt", "other.txt", "a.txt")]
    with ScriptedServer(rules=rules, then=say("I do not know how.")) as server:
        run = handed_over(home, project, server)
        (project / "other.txt").write_text("mine\n")
        digest = asked(home)[-1].digest
        done = home.run("approve", run, "--digest", digest, "--headless", "--json", cwd=project)
    assert done.outcome["reason"] == "handoff" and "other.txt" in done.outcome["detail"], done
    assert (project / "other.txt").read_text() == "mine\n" and not (project / "state.txt").exists()
