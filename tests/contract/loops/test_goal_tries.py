"""`--tries N` of a goal run by the real command: N attempts in layers, and the check selects one."""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import applies, subjects, tree_of
from fakes.project import changed_files, git
from fakes.rundry import Home, Ran
from fakes.server import Rule, ScriptedServer
from fakes.turns import Call, Turn, call, calls, say
from fakes.users_work import all_of, work_as_user

from rundry.agent.journal.journal import Journal

CHECK = "grep -qx done state.txt"
AUTO = ["--gate", "auto", "--headless", "--json"]
SCOPE = ["--scope", "*.txt"]
SMALL = {"state.txt": "done\n"}
LARGE = {"state.txt": "done\n", "more.txt": "1\n2\n3\n"}
WRONG = {"state.txt": "nearly\n"}


@pytest.fixture
def project(project: Path) -> Path:
    """The project with a file that the check reads, committed."""
    (project / "state.txt").write_text("open\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "A state")
    return project


def argv(server: ScriptedServer, *more: str, tries: int = 3) -> list[str]:
    words = [
        "run",
        "get it done",
        "--model",
        "fake",
        "--api-base",
        server.base_url,
        "--until",
        CHECK,
        "--scope",
        "*.txt",
    ]
    return [*words, "--tries", str(tries), *(more or AUTO)]


def attempt(number: int, turn: Turn) -> Rule:
    """The answer of the scripted server to that try."""
    return Rule(rf"You are try {number} of", turn)


def writes(files: dict[str, str]) -> Turn:
    return calls(*(Call("write_file", {"path": path, "content": text}) for path, text in files.items()))


def attempts(*contents: dict[str, str]) -> list[Rule]:
    return [attempt(number, writes(files)) for number, files in enumerate(contents, 1)]


def leftovers(home: Home, project: Path) -> list[str]:
    """Worktrees and branches besides the project's own, and folders of worktrees on the disk."""
    found = [line for line in git(project, "worktree", "list").splitlines()[1:] if line]
    found += [line for line in git(project, "branch", "--format=%(refname:short)").splitlines() if line != "work"]
    folder = home.journals()[0].parent.parent / "worktrees"
    return found + ([str(path) for path in folder.iterdir()] if folder.exists() else [])


def run(home: Home, project: Path, rules: Sequence[Rule], *more: str, tries: int = 3) -> Ran:
    with ScriptedServer(rules=[*rules], then=say("I do not know how.")) as server:
        return home.run(*argv(server, *AUTO, *more, tries=tries), cwd=project)


def test_the_smallest_change_that_passes_the_check_reaches_the_workspace(home: Home, project: Path):
    ran = run(home, project, attempts(LARGE, WRONG, SMALL))
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    assert ran.of("try_chosen")[0]["candidate"] == 3 and ran.of("try_chosen")[0]["lines"] == 2
    assert {e["candidate"]: e["lines"] for e in ran.of("try_measured")} == {1: 5, 2: None, 3: 2}
    assert (project / "state.txt").read_text() == "done\n" and changed_files(project) == ["state.txt"]
    assert ran.outcome["files_changed"] == ["state.txt"] and subjects(project)[0] == "A state"
    assert leftovers(home, project) == []


def test_each_call_of_a_try_is_charged_to_the_run(home: Home, project: Path):
    with ScriptedServer(rules=attempts(LARGE, SMALL), then=say("no")) as server:
        ran = home.run(*argv(server, tries=2), cwd=project)
        billed = sum(request.usage.get("total_tokens", 0) for request in server.requests)
    assert ran.outcome["tokens"]["in"] + ran.outcome["tokens"]["out"] == billed > 0, ran.story()
    assert {e["work"] for e in ran.of("charged")} == {"try:1.1", "try:1.2"}


@pytest.mark.parametrize("steps", [2, 3])
def test_tries_in_parallel_do_not_exceed_the_step_budget(home: Home, project: Path, steps: int):
    rules = [attempt(number, call("list_files")) for number in (1, 2, 3)]
    ran = run(home, project, rules, "--steps", str(steps))
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (3, "budget", steps), ran.story()
    assert len(ran.of("call_admitted")) == steps and leftovers(home, project) == []


def test_tries_in_parallel_do_not_exceed_the_token_budget(home: Home, project: Path):
    rules = [attempt(number, call("list_files")) for number in (1, 2, 3)]
    with ScriptedServer(rules=rules, then=say("no")) as server:
        ran = home.run(*argv(server, *AUTO, "--tokens", "20000", "--window", "40"), cwd=project)
        billed = sum(request.usage.get("total_tokens", 0) for request in server.requests)
    assert ran.outcome["reason"] == "budget" and 0 < billed <= 20_000, ran.story()


def test_without_a_passing_try_nothing_changes_and_the_end_says_why(home: Home, project: Path):
    before = tree_of(project)
    ran = run(home, project, attempts(WRONG, {"other.txt": "x\n"}), tries=2)
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["complete"]) == (4, "stagnation", False), ran.story()
    assert "no try reached the goal: try 1 of 2: the check" in ran.outcome["detail"]
    assert tree_of(project) == before and leftovers(home, project) == [] and ran.outcome["files_changed"] == []
    journal = Journal.open(home.journals()[0])
    patches = [journal.blobs.load(e["patch"]) for e in ran.of("try_finished")]
    journal.close()
    assert len(patches) == 2 and all(applies(project, patch) for patch in patches)


def test_a_try_that_changes_its_check_is_not_chosen(home: Home, project: Path):
    (project / "check.sh").write_text(f"{CHECK}\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "A script")
    cheat = calls(Call("run_command", {"command": "printf true > check.sh"}), Call("list_files", {}))
    ran = run(home, project, [attempt(1, cheat), attempt(2, writes(LARGE))], "--until", "bash check.sh", tries=2)
    assert ran.outcome["reason"] == "done" and ran.of("try_chosen")[0]["candidate"] == 2, ran.story()
    assert (project / "check.sh").read_text() == f"{CHECK}\n"


def test_a_goal_that_is_already_met_starts_no_try(home: Home, project: Path):
    (project / "state.txt").write_text("done\n")
    ran = run(home, project, attempts(LARGE, SMALL))
    assert (ran.exit_code, ran.outcome["steps"]) == (0, 0) and not ran.of("try_started"), ran.story()


def test_uncommitted_changes_are_in_each_worktree_and_stay(home: Home, project: Path):
    (project / "NOTES.md").write_text("mine\n")
    look = calls(Call("run_command", {"command": "cat NOTES.md"}), *writes(SMALL).calls)
    ran = run(home, project, [attempt(1, look), attempt(2, look)], tries=2)
    assert ran.outcome["reason"] == "done" and ["mine" in text for text in ran.results("run_command")] == [True] * 2
    assert changed_files(project) == ["NOTES.md", "state.txt"], ran.story()


def test_without_a_person_a_change_that_needs_approval_waits_for_one(home: Home, project: Path):
    before = tree_of(project)
    with ScriptedServer(rules=attempts(LARGE, SMALL), then=say("no")) as server:
        ran = home.run(*argv(server, "--gate", "ask", "--headless", "--json", tries=2), cwd=project)
        assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff"), ran.story()
        assert "approve the change of try 2 of 2" in ran.outcome["detail"] and tree_of(project) == before
        assert leftovers(home, project) == []
        asked = len(server.requests)
        ran = home.run("resume", "--gate", "edits", "--headless", "--json", cwd=project)
        assert len(server.requests) == asked
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    assert changed_files(project) == ["state.txt"]


def test_a_result_that_fails_with_what_the_user_made_meanwhile_is_not_applied(home: Home, project: Path):
    (project / ".gitignore").write_text("stop\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "Ignore")
    before = tree_of(project)
    here = f"{CHECK} && sleep 2 && test ! -e stop"
    with ScriptedServer(rules=attempts(SMALL, LARGE), then=say("no")) as server:
        words = [
            "run",
            "get it done",
            "--model",
            "fake",
            "--api-base",
            server.base_url,
            "--until",
            here,
            "--scope",
            "*.txt",
        ]
        with home.start(*words, "--tries", "2", *AUTO, cwd=project) as running:
            running.wait_event("try_chosen")
            (project / "stop").write_text("mine\n")
            ran = running.finish()
    assert ran.of("try_chosen") and (ran.exit_code, ran.outcome["reason"]) == (4, "stagnation"), ran.story()
    assert ran.outcome["files_changed"] == [] and (project / "stop").read_text() == "mine\n"
    assert tree_of(project) == {**before, "stop": tree_of(project)["stop"]}


def test_a_killed_run_leaves_nothing_after_its_resume_and_keeps_its_charges(home: Home, project: Path):
    held = dataclasses.replace(say("thinking about it"), hold_after=0)
    server = ScriptedServer(rules=[attempt(1, writes(LARGE)), attempt(2, held)])
    with server, home.start(*argv(server, tries=2), cwd=project) as running:
        running.wait_event("try_finished", candidate=1)
        server.wait_requests(2)
        running.signal(signal.SIGKILL)
        first = running.finish()
    assert home.kept_layers("try") and changed_files(project) == []
    with ScriptedServer(rules=attempts(LARGE, SMALL), then=say("no"), port=server.port) as server:
        ran = home.run("resume", "--headless", "--json", cwd=project)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    assert leftovers(home, project) == home.kept_layers("try") == [] and changed_files(project) == ["state.txt"]
    charged = [*first.of("charged"), *ran.of("charged")]
    counted = sum(e["tokens_in"] + e["tokens_out"] for e in charged)
    assert ran.outcome["tokens"]["in"] + ran.outcome["tokens"]["out"] == counted
    assert len(charged) == 4  # one of the first runner, the call that it lost, and two of the second runner


def test_a_run_killed_while_its_change_is_checked_is_resumed_with_that_change(home: Home, project: Path):
    (project / ".gitignore").write_text("slow\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "Ignore")
    slow = f"{CHECK} && sleep 1 && if test -e slow; then sleep 60; fi"
    with ScriptedServer(rules=attempts(LARGE, SMALL), then=say("no")) as server:
        words = [
            "run",
            "get it done",
            "--model",
            "fake",
            "--api-base",
            server.base_url,
            "--until",
            slow,
            "--scope",
            "*.txt",
        ]
        with home.start(*words, "--tries", "2", *AUTO, cwd=project) as running:
            running.wait_event("try_chosen")
            (project / "slow").touch()
            running.signal(signal.SIGKILL)
            running.finish()
        assert (project / "state.txt").read_text() == "open\n", "nothing is applied before the verdict"
        asked = len(server.requests)
        ran = home.run("resume", "--headless", "--json", "--check-timeout", "1s", cwd=project)
        assert len(server.requests) == asked
    assert (project / "state.txt").read_text() == "open\n" and changed_files(project) == [], ran.story()
    assert ran.outcome["reason"] == "stagnation" and leftovers(home, project) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--until", CHECK, "--tries", "1"], "at least 2"),
        (["--tries", "3"], "--until CMD"),
        (["--until", CHECK, "--tries", "3", "--commit"], "--commit"),
        (["--until", CHECK, "--tries", "3", "--require", "write_file"], "--require"),
        (["--loop", "paced", "--until", CHECK, "--tries", "3"], "a paced run has no tries"),
        (["--every", "5m", "--until", CHECK, "--tries", "3"], "an interval run has no tries"),
        (["--until", CHECK, "--tries", "0"], "--tries: '0' is too small"),
        (["--score", CHECK, "--steps", "9", "--tries", "0"], "--tries: '0' is too small"),
        (["--until", CHECK, "--every", "0s"], "--every: '0s' is too small"),
        (["--loop", "goal", "--until", CHECK, "--every", "5m"], "--every is for --loop interval"),
        (["--loop", "fix", "--until", CHECK, "--steps", "9"], "rundry fix RUN --until CMD"),
        (["--loop", "repeat", "--steps", "9"], "rundry find FILE.toml --every"),
    ],
)
def test_tries_that_do_not_fit_the_run_are_a_usage_error(home: Home, project: Path, more: list[str], said: str):
    ran = home.run("run", "x", "--model", "fake", "--headless", *more, cwd=project)
    assert ran.exit_code == 2 and said in ran.stderr and not home.journals(), ran
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("how", ["no git", "no commit", "merge"])
def test_tries_need_no_repository_that_is_ready_for_a_commit(home: Home, project: Path, tmp_path: Path, how: str):
    folder = project
    if how == "merge":
        git(project, "switch", "-qc", "other")
        (project / "other.txt").write_text("theirs\n")
        git(project, "add", "other.txt")
        git(project, "commit", "-qm", "Theirs")
        git(project, "switch", "-q", "work")
        (project / "other.txt").write_text("ours\n")
        git(project, "add", "other.txt")
        git(project, "commit", "-qm", "Ours")
        with pytest.raises(Exception, match="merge"):
            git(project, "merge", "other")
    else:
        folder = tmp_path / "plain"
        folder.mkdir()
        (folder / "state.txt").write_text("open\n")
        if how == "no commit":
            git(folder, "init", "-q")
    ran = run(home, folder, attempts(SMALL, LARGE), tries=2)
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    assert (folder / "state.txt").read_text() == "done\n" and not (folder / "more.txt").exists()
    assert how != "merge" or (project / ".git/MERGE_HEAD").exists()


def test_tries_have_what_git_ignores_and_leave_what_the_user_does_meanwhile(home: Home, project: Path):
    (project / ".git/info/exclude").write_text("env\n")
    (project / "env").write_text("ignored\n")
    check = "test -e env && grep -qx done state.txt"
    held = dataclasses.replace(writes(LARGE), text="I think about the rest of it", hold_after=3)
    with ScriptedServer(rules=[attempt(1, held), attempt(2, writes(WRONG))], then=say("no more")) as server:
        words = [
            "run",
            "get it done",
            "--model",
            "fake",
            "--api-base",
            server.base_url,
            "--until",
            check,
            "--scope",
            "*.txt",
        ]
        with home.start(*words, "--tries", "2", *AUTO, cwd=project) as running:
            running.wait_event("text_arrived")
            work_as_user(project)
            before = all_of(project)
            server.release()
            ran = running.finish()
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    changed = {name for name, text in all_of(project).items() if before.get(name) != text}
    assert changed == {"state.txt", "more.txt", "git status"}, ran.story()
    assert ran.of("try_chosen")[0]["files"] == ["more.txt", "state.txt"]
    assert leftovers(home, project) == ["the-users-branch"]
