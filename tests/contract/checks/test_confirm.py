"""A green check is confirmed in a clean checkout of the result (docs/requirements.md 2.3.9)."""

from __future__ import annotations

import json
import py_compile
from pathlib import Path

import pytest
from contract.checks.confirming import DONE, VENV_CHECK, confirmation, make_venv, run_goal, shell
from fakes.project import CHECK, FIX_BOTH, git
from fakes.rundry import Home, Ran
from fakes.sandboxes import needs_bubblewrap
from fakes.server import ScriptedServer
from fakes.turns import say
from sampling import sampled

from rundry.agent import Journal, Sandbox, facts_of
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.run.end.checkout import Result
from rundry.agent.run.end.trial import run_trial
from rundry.agent.sandbox.command_environment import command_env


def test_a_result_that_passes_in_a_clean_checkout_is_done_and_confirmed(home: Home, project: Path):
    ran, _ = run_goal(home, project, [FIX_BOTH], "--confirm")
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (0, "done", 1), ran
    assert confirmation(ran)["result"] == "passed", ran
    assert confirmation(ran)["command"] == CHECK
    kinds = ran.types()
    assert kinds.index("confirmation_started") > len(kinds) - kinds[::-1].index("check_finished") - 1
    assert ran.of("confirmation_finished")[0]["world"]


@pytest.mark.parametrize("made", sampled(["app.log", "build/out.txt", "deep/down/app.log"], 1))
def test_a_check_that_needs_an_ignored_file_is_not_confirmed_and_the_model_reads_which(
    home: Home, project: Path, made: str
):
    (project / ".gitignore").write_text("__pycache__/\n*.log\nbuild/\n")
    git(project, "commit", "-qam", "Ignore")
    turns = [shell(f"mkdir -p $(dirname {made}) && echo done > {made}"), shell("echo done > result.txt")]
    check = f"grep -q done {made} || grep -q done result.txt"
    ran, read = run_goal(home, project, turns, "--confirm", "--scope", "**", check=check)
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (0, "done", 2), ran
    first, second = ran.of("confirmation_finished")
    assert (first["result"], second["result"]) == ("failed", "passed")
    assert made.split("/")[0] in " ".join(first["left_out"]) or made in first["left_out"]
    assert "fails in a clean checkout" in read[1]
    assert made.partition("/")[0] in read[1]


def test_a_result_that_only_passes_in_the_workspace_is_never_done(home: Home, project: Path):
    (project / ".gitignore").write_text("*.log\n")
    git(project, "commit", "-qam", "Ignore")
    wanted = ["--confirm", "--scope", "**"]
    ran, read = run_goal(home, project, [shell("echo done > a.log")], *wanted, check="grep -q done a.log")
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran
    assert confirmation(ran)["result"] == "failed"
    assert [each["repeated"] for each in ran.of("confirmation_finished")] == [False, True, True, True]
    assert "nothing that belongs to a checkout has changed" in read[2]


def test_a_file_below_git_is_not_in_a_checkout(home: Home, project: Path):
    (project / ".git/rr-cache").mkdir()
    (project / ".git/rr-cache/marker").write_text("done")
    check = f"grep -q done .git/rr-cache/marker && {DONE}"
    ran, _ = run_goal(home, project, [shell("echo done > result.txt")], "--confirm", check=check)
    assert ran.of("check_finished")[-1]["passed"], "it is there in the workspace"
    assert confirmation(ran)["result"] == "failed", ran


def test_a_check_sees_the_commit_the_branch_and_the_tags_in_its_checkout(home: Home, project: Path):
    git(project, "tag", "v1.2.3")
    check = "test $(git describe --tags) = v1.2.3 && git rev-parse --abbrev-ref HEAD | grep -qx work && " + (
        "git diff --name-only | grep -qx NOTES.md && git ls-files | grep -qx calc/core.py"
    )
    ran, _ = run_goal(home, project, [shell("echo more >> NOTES.md")], "--confirm", "--scope", "**", check=check)
    assert confirmation(ran)["result"] == "passed", ran


def test_a_committed_file_that_a_pattern_ignores_is_part_of_a_checkout(home: Home, project: Path):
    (project / "data.log").write_text("kept\n")
    (project / ".gitignore").write_text("*.log\n")
    git(project, "add", "-f", ".")
    git(project, "commit", "-qm", "Data")
    ran, _ = run_goal(
        home, project, [shell("echo done > result.txt")], "--confirm", check=f"grep -q kept data.log && {DONE}"
    )
    assert confirmation(ran)["result"] == "passed", ran


def test_stale_byte_code_is_not_in_a_checkout(home: Home, project: Path):
    (project / "gone.py").write_text("VALUE = 1\n")
    py_compile.compile(str(project / "gone.py"), str(project / "gone.pyc"))
    (project / "gone.py").unlink()
    check = f"python3 -c 'import gone' && {DONE}"
    ran, _ = run_goal(home, project, [shell("echo done > result.txt")], "--confirm", check=check)
    assert ran.of("check_finished")[-1]["passed"], "it is there in the workspace"
    assert confirmation(ran)["result"] == "failed", ran


@needs_bubblewrap
def test_what_a_command_left_in_the_temp_folder_is_not_there(home: Home, project: Path):
    turns = [shell("echo done > /tmp/marker"), shell("grep done /tmp/marker")]
    ran, read = run_goal(home, project, turns, "--confirm", check="grep -q done /tmp/marker")
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran
    assert ran.results("run_command")[1].startswith("exit code 0"), "later commands of the run have it"
    assert not any(check["passed"] for check in ran.of("check_finished")), "the temp folder of a check is empty"
    assert "/tmp is empty for a check; commands left there: marker" in read[3], "the model can mend it"


def test_a_check_that_is_green_from_the_start_is_confirmed_before_any_call(home: Home, project: Path):
    (project / "result.txt").write_text("done\n")
    ran, read = run_goal(home, project, [], "--confirm", check=DONE)
    assert (ran.outcome["reason"], ran.outcome["steps"], read) == ("done", 0, []), ran
    assert confirmation(ran)["result"] == "passed"


def test_a_check_that_is_green_only_because_of_an_ignored_file_is_worked_on(home: Home, project: Path):
    (project / ".gitignore").write_text("result.txt\n")
    (project / "result.txt").write_text("done\n")
    turns = [shell("echo done > other.txt")]
    ran, read = run_goal(home, project, turns, "--confirm", check="grep -q done other.txt || grep -q done result.txt")
    assert (ran.outcome["reason"], ran.outcome["steps"], len(read)) == ("done", 1, 1), ran
    assert "`result.txt`" in read[0]


def test_a_guarded_file_is_in_a_checkout_although_it_is_ignored(home: Home, project: Path):
    (project / ".gitignore").write_text(".env\n")
    (project / ".env").write_text("MODE=right\n")
    turns = [shell("echo done > result.txt")]
    ran, _ = run_goal(home, project, turns, "--confirm", check=f"grep -q right .env && {DONE}")
    assert confirmation(ran)["result"] == "passed", ran


def test_a_folder_without_git_is_confirmed_too(home: Home, tmp_path: Path):
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / ".gitignore").write_text("*.log\n")
    turns = [shell("echo done > a.log"), shell("echo done > result.txt")]
    ran, _ = run_goal(home, plain, turns, "--confirm", "--scope", "**", check=f"grep -q done a.log || {DONE}")
    assert [each["result"] for each in ran.of("confirmation_finished")] == ["failed", "passed"], ran


def test_another_command_confirms(home: Home, project: Path):
    turns = [shell("echo done > result.txt"), shell("echo reviewed > review.txt")]
    ran, _ = run_goal(home, project, turns, "--confirm-with", "grep -q reviewed review.txt", check=DONE)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 2), ran
    assert [each["result"] for each in ran.of("confirmation_finished")] == ["failed", "passed"]


@needs_bubblewrap
def test_a_dependency_folder_and_an_editable_install_work_in_the_checkout(home: Home, project: Path):
    make_venv(project)
    ran, _ = run_goal(home, project, [shell("echo 'VALUE = \"done\"' > state.py")], "--confirm", check=VENV_CHECK)
    assert ran.outcome["reason"] == "done", ran
    assert confirmation(ran)["result"] == "passed", ran
    (folder,) = ran.of("dependencies_recorded")[0]["folders"]
    assert (folder["path"], folder["files"]) == (".venv", 4)


def test_an_ended_workspace_is_left_as_it_was(home: Home, project: Path):
    ran, _ = run_goal(
        home, project, [shell("echo done > result.txt")], "--confirm-with", f"{DONE} && touch made.txt", check=DONE
    )
    assert confirmation(ran)["result"] == "passed", ran
    assert not (project / "made.txt").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--confirm"], "give a check with --until"),
        (["--confirm", "--until-file", "x"], "--confirm-with CMD instead"),
        (["--confirm", "--until", "true", "--every", "1h"], "an interval run"),
        (["--confirm-with", "true", "--score", "echo 1", "--steps", "2"], "--confirm-with: an improve run"),
    ],
)
def test_a_confirmation_that_cannot_be_is_refused_before_the_run(home: Home, project: Path, argv: list[str], said: str):
    ran = home.run("run", "x", "--headless", "--model", "fake", "--api-base", "http://127.0.0.1:1", *argv, cwd=project)
    assert (ran.exit_code, said in ran.stderr) == (2, True), ran
    assert home.journals() == []


@needs_bubblewrap
def test_the_project_may_ask_for_it_once_it_is_trusted(home: Home, project: Path):
    (project / ".rundry.toml").write_text("confirm = true\n")
    turns = [shell("echo done > result.txt")]
    ran, _ = run_goal(home, project, turns, check=DONE)
    assert ran.of("confirmation_finished") == [], "it is not trusted"
    git(project, "clean", "-qfd", "-e", ".rundry.toml")
    ran, _ = run_goal(home, project, turns, "--trust", check=DONE)
    assert confirmation(ran)["result"] == "passed", ran


def verified(home: Home, project: Path, *argv: str) -> Ran:
    return home.run("verify", *argv, cwd=project)


def test_verify_runs_the_check_on_the_result_and_on_nothing_else(home: Home, project: Path):
    ran, _ = run_goal(home, project, [FIX_BOTH])
    assert ran.outcome["reason"] == "done"
    result = (project / "calc/core.py").read_bytes()
    git(project, "checkout", "-q", "calc/core.py")
    other = verified(home, project)
    assert (other.exit_code, "calc/core.py changed since the run ended" in other.stdout) == (6, True), other
    (project / "calc/core.py").write_bytes(result)
    (project / "theirs.txt").write_text("theirs\n")
    done = verified(home, project)
    assert (done.exit_code, "confirmed in a clean checkout" in done.stdout) == (0, True), done
    failed = verified(home, project, "--with", "test -e nothing", "--json")
    said = json.loads(failed.stdout)
    assert (failed.exit_code, said["result"], said["detail"]) == (1, "failed", "exit code 1"), failed
    listed = json.loads(home.run("runs", "--json", cwd=project).stdout)
    assert listed[0]["verified"] == "failed"
    exported = [json.loads(line) for line in home.run("export", cwd=project).stdout.splitlines()]
    results = [event["result"] for event in exported if event["type"] == "run_verified"]
    assert results == ["not confirmed", "passed", "failed"]
    assert "clean checkout" in home.run("export", "--format", "md", cwd=project).stdout


def test_verify_finds_a_result_that_only_passed_in_the_workspace(home: Home, project: Path):
    (project / ".gitignore").write_text("*.log\n")
    ran, _ = run_goal(home, project, [shell("echo done > a.log")], "--scope", "**", check="grep -q done a.log")
    assert ran.outcome["reason"] == "done"
    done = verified(home, project, ran.events[0]["run_id"])
    assert (done.exit_code, "fails in a clean checkout: exit code 2" in done.stdout) == (1, True), done


def test_verify_says_what_it_cannot_set_up(home: Home, project: Path):
    make_venv(project)
    run_goal(home, project, [shell("echo done > result.txt")], check=DONE)
    done = verified(home, project)
    assert (done.exit_code, "not confirmed: the start of .venv was not recorded" in done.stdout) == (6, True), done


@needs_bubblewrap
def test_verify_compares_dependencies_with_the_start_of_a_run_that_recorded_them(home: Home, project: Path):
    packages = make_venv(project)
    run_goal(home, project, [shell("echo 'VALUE = \"done\"' > state.py")], "--confirm", check=VENV_CHECK)
    assert verified(home, project).exit_code == 0
    (packages / "helper.py").write_text("def right(value): return True\n")
    done = verified(home, project)
    assert (done.exit_code, ".venv changed since the start" in done.stdout) == (6, True), done


def test_verify_refuses_a_run_without_a_check_and_an_unknown_run(home: Home, project: Path):
    run_goal(home, project, [shell("echo done > result.txt")], "--until-file", "result.txt", "--any", check="false")
    unknown = verified(home, project, "nosuchrun")
    assert (unknown.exit_code, "no run" in unknown.stderr) == (2, True), unknown
    with ScriptedServer([], then=say("Done.")) as server:
        argv = ["--model", "fake", "--api-base", server.base_url, "--loop", "naive", "--headless"]
        home.run("run", "hello", *argv, cwd=project)
    done = verified(home, project)
    assert (done.exit_code, "--with CMD" in done.stderr) == (2, True), done


@pytest.mark.parametrize("has_dependencies", [True, False])
async def test_without_a_sandbox_only_a_project_without_dependency_folders_can_be_confirmed(
    home: Home, project: Path, has_dependencies: bool
):
    if has_dependencies:
        (project / "node_modules").mkdir()
        (project / "node_modules/x.js").write_text("right\n")
    ran, _ = run_goal(home, project, [shell("echo done > result.txt")], "--confirm", check=DONE)
    journal = Journal.open(Path(ran.outcome["journal"]))
    try:
        facts, workspace = facts_of(journal), Workspace(project)
        unheld = Sandbox(None, "no sandbox: none works")
        env = command_env(home.env)
        result = Result(journal, facts, workspace, unheld, env)
        trial = await run_trial(result, [DONE, "test ! -e node_modules"], 60.0)
    finally:
        journal.close()
    if has_dependencies:
        assert (trial.result, "can mount node_modules read-only" in trial.detail) == ("not confirmed", True), trial
    else:
        assert trial.result == "passed", trial


def test_verify_refuses_a_program_that_the_folder_does_not_have_and_writes_nothing(home: Home, project: Path):
    check = project / "check.sh"
    check.write_text("#!/bin/sh\ntest -e calc/core.py\n")
    check.chmod(0o755)
    run_goal(home, project, [FIX_BOTH])
    before = {path: path.read_bytes() for path in home.runs.rglob("*") if path.is_file()}
    ran = verified(home, project, home.journals()[0].stem, "--with", "missing/path --all")
    (line,) = ran.stderr.splitlines()
    assert (ran.exit_code, ran.stdout) == (2, ""), ran
    assert "--with 'missing/path --all' cannot be started: missing/path: No such file or directory" in line
    assert {path: path.read_bytes() for path in home.runs.rglob("*") if path.is_file()} == before
    found = verified(home, project, "--with", "./check.sh")
    assert (found.exit_code, found.stderr) == (0, ""), found
