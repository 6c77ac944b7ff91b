"""`--tries N` while a person interrupts, pauses, stops, switches the model or edits the same files."""

from __future__ import annotations

import dataclasses
import signal
from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import subjects
from fakes.models.tries import rule, writes
from fakes.project import changed_files, git
from fakes.rundry import Home, Running
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, call, calls, say

HELD = dataclasses.replace(writes("score.txt", 9), hold_after=0)
"""The second try, which waits until the server releases it."""


@pytest.fixture
def scored(project: Path) -> Path:
    """The project with a score in a file below its top, committed."""
    (project / "part").mkdir()
    for folder in (project, project / "part"):
        (folder / "score.txt").write_text("5\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "A score")
    return project


def argv(server: ScriptedServer, *more: str) -> list[str]:
    words = ["run", "raise the score", "--model", "fake", "--api-base", server.base_url, "--gate", "auto"]
    return [
        *words,
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
        *more,
    ]


def leftovers(home: Home, project: Path) -> list[str]:
    """Worktrees and branches that git knows besides the project's own, and layers of tries on the disk."""
    worktrees = git(project, "worktree", "list").splitlines()[1:]
    branches = [line for line in git(project, "branch", "--format=%(refname:short)").splitlines() if line != "work"]
    return worktrees + branches + [str(path) for path in home.kept_layers("try")]


def two(first: object = 6) -> list[Rule]:
    """The first try is done immediately; the second one waits."""
    return [rule(1, 1, writes("score.txt", first)), rule(1, 2, HELD)]


def started(home: Home, server: ScriptedServer, project: Path) -> Running:
    return home.start(*argv(server, "--headless", "--json"), cwd=project)


def in_mid_pass(running: Running, server: ScriptedServer) -> None:
    """Try 1 has ended, try 2 waits for its answer."""
    running.wait_event("try_finished", candidate=1)
    server.wait_requests(2)


def test_a_try_in_a_workspace_below_the_top_works_in_that_folder(home: Home, scored: Path):
    look = call("run_command", command="pwd && ls")
    rules = [
        Rule(r"Pass 1\..*You are try 2 of(?s:.*)\"role\": \"tool\"", writes("score.txt", 9)),
        rule(1, 1, writes("score.txt", 6)),
        rule(1, 2, look),
    ]
    with ScriptedServer(rules=rules, then=say("nothing more")) as server:
        ran = home.run(*argv(server, "--headless", "--json"), cwd=scored / "part")
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "plateau"), ran.story()
    (seen,) = ran.results("run_command")
    assert seen.splitlines()[1:] == [str(scored / "part"), "score.txt"], seen
    assert (scored / "part/score.txt").read_text() == "9\n" and (scored / "score.txt").read_text() == "5\n"
    assert ran.outcome["files_changed"] == ["score.txt"] and changed_files(scored) == []
    assert git(scored, "show", "--format=", "--name-only", "HEAD").split() == ["part/score.txt"]
    assert leftovers(home, scored) == []


def test_an_edit_of_the_same_file_is_never_overwritten_where_nobody_is_there_to_decide(home: Home, scored: Path):
    with ScriptedServer(rules=two(), then=say("nothing more")) as server, started(home, server, scored) as running:
        in_mid_pass(running, server)
        (scored / "score.txt").write_text("7\n")
        server.release()
        ran = running.finish()
    assert (scored / "score.txt").read_text() == "7\n", ran.story()
    finished = ran.of("pass_finished")[0]
    assert (finished["verdict"], ran.exit_code) == ("undecided", 5) and "score.txt" in finished["why"], ran.story()
    assert finished["dropped"] and subjects(scored)[0] == "A score"
    assert leftovers(home, scored) == [] and changed_files(scored) == ["score.txt"]


def test_an_edit_that_the_best_try_did_not_touch_is_not_a_conflict(home: Home, scored: Path):
    with ScriptedServer(rules=two(), then=say("nothing more")) as server, started(home, server, scored) as running:
        in_mid_pass(running, server)
        (scored / "NOTES.md").write_text("mine\n")
        server.release()
        ran = running.finish()
    assert (scored / "score.txt").read_text() == "9\n" and ran.of("pass_finished")[0]["verdict"] == "kept", ran.story()
    assert (scored / "NOTES.md").read_text() == "mine\n" and changed_files(scored) == ["NOTES.md"]


def test_an_interrupted_try_continues_after_a_message_and_keeps_what_it_had(home: Home, scored: Path):
    with ScriptedServer(rules=two(), then=say("nothing more")) as server, started(home, server, scored) as running:
        in_mid_pass(running, server)
        assert home.run("ctl", "interrupt", cwd=scored).exit_code == 0
        running.wait_event("paused")
        server.release()
        assert home.run("ctl", "unpause", cwd=scored).exit_code == 0
        ran = running.finish()
    assert (scored / "score.txt").read_text() == "9\n", ran.story()
    assert len([e for e in ran.of("try_started") if e["number"] == 1]) == 2
    assert leftovers(home, scored) == [] and changed_files(scored) == []


def test_a_paused_run_begins_no_step_of_a_try(home: Home, scored: Path):
    with ScriptedServer(rules=two(), then=say("nothing more")) as server, started(home, server, scored) as running:
        in_mid_pass(running, server)
        assert home.run("ctl", "pause", cwd=scored).exit_code == 0
        server.release()
        running.wait_event("step_finished")
        asked = len(server.requests)
        assert home.run("ctl", "unpause", cwd=scored).exit_code == 0
        ran = running.finish()
        assert asked == 2
    assert (scored / "score.txt").read_text() == "9\n" and leftovers(home, scored) == [], ran.story()


@pytest.mark.parametrize("how", [["--now"], []])
def test_a_stop_in_the_middle_of_tries_leaves_nothing_but_patches(home: Home, scored: Path, how: list[str]):
    with ScriptedServer(rules=two(), then=say("nothing more")) as server, started(home, server, scored) as running:
        in_mid_pass(running, server)
        assert home.run("ctl", "stop", *how, cwd=scored).exit_code == 0
        server.release()
        ran = running.finish()
    assert (ran.exit_code, ran.outcome["reason"]) == (130, "user"), ran.story()
    assert leftovers(home, scored) == [] and changed_files(scored) == []
    expected = "5\n" if how else "6\n"  # with time for a verdict, what is better is kept
    assert (scored / "score.txt").read_text() == expected, ran.story()


def test_a_switched_model_answers_the_next_call_of_each_try(home: Home, scored: Path):
    half = dataclasses.replace(call("list_files"), hold_after=0)
    rules = [
        Rule(r"Pass 1\..*You are try 2 of(?s:.*)\"role\": \"tool\"", writes("score.txt", 9)),
        rule(1, 1, writes("score.txt", 6)),
        rule(1, 2, half),
    ]
    with ScriptedServer(rules=rules, then=say("nothing more")) as server, started(home, server, scored) as running:
        in_mid_pass(running, server)
        assert home.run("ctl", "model", "other", "--api-base", server.base_url, cwd=scored).exit_code == 0
        server.release()
        ran = running.finish()
        models = [request.body["model"] for request in server.requests]
    assert (scored / "score.txt").read_text() == "9\n", ran.story()
    assert models[:2] == ["fake", "fake"] and set(models[2:]) == {"other"}, models


@pytest.mark.long
def test_a_run_that_is_killed_twice_leaves_no_layer_and_no_branch(home: Home, scored: Path):
    branch = calls(Call("run_command", {"command": "git switch -qc stray && echo 8 > score.txt"}))
    held = dataclasses.replace(say("I think about it"), hold_after=0)
    busy = [Rule(r"You are try 2 of(?s:.*)\"role\": \"tool\"", held), rule(1, 1, writes("score.txt", 6))]
    port = 0
    for number in (1, 2):
        with ScriptedServer(rules=[*busy, rule(1, 2, branch)], then=say("nothing more"), port=port) as server:
            port = server.port
            words = argv(server, "--headless", "--json") if number == 1 else ["resume", "--headless", "--json"]
            with home.start(*words, cwd=scored) as running:
                running.wait_event("tool_finished", tool="run_command")
                server.wait_requests(3)
                running.signal(signal.SIGKILL)
                running.finish()
    assert leftovers(home, scored)
    with ScriptedServer(rules=two(), then=say("nothing more"), port=port) as server:
        server.release()
        ran = home.run("resume", "--headless", "--json", cwd=scored)
    assert leftovers(home, scored) == [] and changed_files(scored) == [], ran.story()
    assert (scored / "score.txt").read_text() == "9\n"
