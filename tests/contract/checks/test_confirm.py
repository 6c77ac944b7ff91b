"""A green check is confirmed in a clean checkout of the result (docs/requirements.md 2.3.9)."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.project import CHECK, FIX_BOTH, git
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer, text_of
from fakes.turns import Turn, call, say
from sampling import sampled

from rundry.agent import Journal, Sandbox, facts_of
from rundry.agent.run.confirming.checkout import Result
from rundry.agent.run.confirming.trial import try_out
from rundry.agent.workspace import Snapshots, Workspace, command_env

DONE = "grep -q done result.txt"


needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def run_goal(
    home: Home, project: Path, turns: Sequence[Turn], *argv: str, check: str = CHECK, path: str | None = None
) -> tuple[Ran, list[str]]:
    """The run, and what the model read before each of its calls. `path`: its PATH."""
    with ScriptedServer(turns, then=say("I have no idea.")) as server:
        words = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--until", check, "--steps", "4"]
        env = {} if path is None else {"PATH": path}
        ran = home.run("run", "fix it", "--headless", "--json", *words, *argv, cwd=project, env=env)
        return ran, [text_of(request.messages[-1]) for request in server.requests]


def shell(command: str) -> Turn:
    return call("run_command", command=command)


def confirmation(ran: Ran) -> dict[str, Any]:
    found = ran.outcome["evidence"]["confirmation"]
    assert found is not None, ran
    return found


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
    ran, read = run_goal(home, project, turns, "--confirm", check=check)
    assert (ran.exit_code, ran.outcome["reason"], ran.outcome["steps"]) == (0, "done", 2), ran
    first, second = ran.of("confirmation_finished")
    assert (first["result"], second["result"]) == ("failed", "passed")
    assert made.split("/")[0] in " ".join(first["left_out"]) or made in first["left_out"]
    assert "fails in a clean checkout" in read[1]
    assert made.partition("/")[0] in read[1]


def test_a_result_that_only_passes_in_the_workspace_is_never_done(home: Home, project: Path):
    (project / ".gitignore").write_text("*.log\n")
    git(project, "commit", "-qam", "Ignore")
    ran, read = run_goal(home, project, [shell("echo done > a.log")], "--confirm", check="grep -q done a.log")
    assert (ran.exit_code, ran.outcome["reason"]) == (3, "budget"), ran
    assert confirmation(ran)["result"] == "failed"
    assert [each["repeated"] for each in ran.of("confirmation_finished")] == [False, True, True, True]
    assert "nothing that belongs to a checkout has changed" in read[2]


def test_a_file_below_git_is_not_in_a_checkout(home: Home, project: Path):
    hidden = "import os; at = '.' + 'git/rr-cache'; os.mkdir(at); open(at + '/marker', 'w').write('done')"
    check = "grep -q done .git/rr-cache/marker"
    ran, _ = run_goal(home, project, [shell(f'python3 -c "{hidden}"')], "--confirm", check=check)
    assert ran.of("check_finished")[-1]["passed"], "the attack works in the workspace"
    assert confirmation(ran)["result"] == "failed", ran


def test_a_check_sees_the_commit_the_branch_and_the_tags_in_its_checkout(home: Home, project: Path):
    git(project, "tag", "v1.2.3")
    check = "test $(git describe --tags) = v1.2.3 && git rev-parse --abbrev-ref HEAD | grep -qx work && " + (
        "git diff --name-only | grep -qx NOTES.md && git ls-files | grep -qx calc/core.py"
    )
    ran, _ = run_goal(home, project, [shell("echo more >> NOTES.md")], "--confirm", check=check)
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
    compiled = "import py_compile; py_compile.compile('gone.py', 'gone.pyc')"
    make = f'echo "VALUE = 1" > gone.py && python3 -c "{compiled}" && rm gone.py'
    check = "python3 -c 'import gone'"
    ran, _ = run_goal(home, project, [shell(make)], "--confirm", check=check)
    assert ran.of("check_finished")[-1]["passed"], "the attack works in the workspace"
    assert confirmation(ran)["result"] == "failed", ran


@needs_bubblewrap
def test_what_a_command_left_in_the_temp_folder_is_not_there(home: Home, project: Path):
    ran, _ = run_goal(home, project, [shell("echo done > /tmp/marker")], "--confirm", check="grep -q done /tmp/marker")
    assert ran.of("check_finished")[-1]["passed"], "the attack works in the run's own temp folder"
    assert confirmation(ran)["result"] == "failed", ran


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
    ran, _ = run_goal(home, plain, turns, "--confirm", check=f"grep -q done a.log || {DONE}")
    assert [each["result"] for each in ran.of("confirmation_finished")] == ["failed", "passed"], ran


def test_another_command_confirms(home: Home, project: Path):
    turns = [shell("echo done > result.txt"), shell("echo reviewed > review.txt")]
    ran, _ = run_goal(home, project, turns, "--confirm-with", "grep -q reviewed review.txt", check=DONE)
    assert (ran.outcome["reason"], ran.outcome["steps"]) == ("done", 2), ran
    assert [each["result"] for each in ran.of("confirmation_finished")] == ["failed", "passed"]


def make_venv(project: Path) -> Path:
    """A virtual environment with a package and an editable install of the project. Returns its packages' folder."""
    venv = project / ".venv"
    packages = venv / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}")
    (packages / "helper.py").write_text("def right(value):\n    return value == 'done'\n")
    (packages / "project.pth").write_text(f"{project}\n")
    return packages


VENV_CHECK = ".venv/bin/python -c 'import helper, state; assert helper.right(state.VALUE)'"


@needs_bubblewrap
def test_a_dependency_folder_and_an_editable_install_work_in_the_checkout(home: Home, project: Path):
    make_venv(project)
    ran, _ = run_goal(home, project, [shell("echo 'VALUE = \"done\"' > state.py")], "--confirm", check=VENV_CHECK)
    assert ran.outcome["reason"] == "done", ran
    assert confirmation(ran)["result"] == "passed", ran
    (folder,) = ran.of("dependencies_recorded")[0]["folders"]
    assert (folder["path"], folder["files"]) == (".venv", 4)


def test_a_dependency_that_a_command_changed_is_not_confirmed(home: Home, project: Path):
    packages = make_venv(project).relative_to(project)
    change = f"echo 'def right(value): return True' > {packages}/helper.py; echo 'VALUE = 1' > state.py"
    ran, _ = run_goal(home, project, [shell(change)], "--confirm", check=VENV_CHECK, path=None)
    found = confirmation(ran)
    assert found["result"] == "not confirmed", ran
    assert ".venv changed since the start (1 file" in found["detail"]


def test_a_dependency_folder_that_came_during_the_run_is_not_confirmed(home: Home, project: Path):
    turns = [shell("mkdir node_modules && echo done > node_modules/x.js")]
    ran, _ = run_goal(home, project, turns, "--confirm", check="grep -q done node_modules/x.js")
    found = confirmation(ran)
    assert (ran.outcome["reason"], found["result"]) == ("done", "not confirmed"), ran
    assert found["detail"] == "node_modules did not exist at the start"


@needs_bubblewrap
def test_a_checkout_cannot_write_to_a_dependency_folder(home: Home, project: Path):
    make_venv(project)
    check = f"{DONE} && ! touch .venv/new"
    ran, _ = run_goal(home, project, [shell("echo done > result.txt")], "--confirm-with", check, check=DONE)
    assert confirmation(ran)["result"] == "passed", ran
    assert not (project / ".venv/new").exists()


def test_an_ended_workspace_is_left_as_it_was(home: Home, project: Path):
    ran, _ = run_goal(
        home, project, [shell("echo done > result.txt")], "--confirm-with", f"{DONE} && touch made.txt", check=DONE
    )
    assert confirmation(ran)["result"] == "passed", ran
    assert not (project / "made.txt").exists()


def without_bubblewrap(tmp_path: Path, home: Home) -> str:
    """A PATH on which there is everything but bubblewrap."""
    found = tmp_path / "bin"
    found.mkdir()
    for folder in home.env["PATH"].split(":"):
        for program in sorted(Path(folder).iterdir()) if Path(folder).is_dir() else ():
            if program.name != "bwrap" and not (found / program.name).exists():
                (found / program.name).symlink_to(program)
    return str(found)


def test_with_landlock_the_check_runs_in_a_folder_of_its_own(home: Home, project: Path, tmp_path: Path):
    path = without_bubblewrap(tmp_path, home)
    (project / "node_modules").mkdir()
    (project / "node_modules/x.js").write_text("right\n")
    check = f"grep -q right node_modules/x.js && {DONE} && test ! -e ignored.log"
    (project / ".gitignore").write_text("*.log\n")
    turns = [shell("echo done > result.txt")]
    ran, _ = run_goal(home, project, turns, "--confirm", check=check, path=path)
    assert ran.events[0]["sandbox"] == "landlock"
    assert confirmation(ran)["result"] == "passed", ran


def test_with_landlock_an_editable_install_cannot_be_confirmed(home: Home, project: Path, tmp_path: Path):
    make_venv(project)
    turns = [shell("echo 'VALUE = \"done\"' > state.py")]
    path = without_bubblewrap(tmp_path, home)
    ran, _ = run_goal(home, project, turns, "--confirm", check=VENV_CHECK, path=path)
    found = confirmation(ran)
    assert (ran.outcome["reason"], found["result"]) == ("done", "not confirmed"), ran
    assert "leads back to the workspace" in found["detail"]


def test_with_landlock_a_check_that_names_the_workspace_cannot_be_confirmed(home: Home, project: Path, tmp_path: Path):
    path = without_bubblewrap(tmp_path, home)
    check = f"grep -q done {project}/result.txt"
    ran, _ = run_goal(home, project, [shell("echo done > result.txt")], "--confirm", check=check, path=path)
    assert confirmation(ran)["result"] == "not confirmed", ran
    assert "absolute path" in confirmation(ran)["detail"]


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
    assert shutil.which("bwrap"), "this suite needs bubblewrap"


def verified(home: Home, project: Path, *argv: str) -> Ran:
    return home.run("verify", *argv, cwd=project)


def test_verify_runs_the_check_on_the_result_and_not_on_todays_workspace(home: Home, project: Path):
    ran, _ = run_goal(home, project, [FIX_BOTH])
    assert ran.outcome["reason"] == "done"
    git(project, "checkout", "-q", "calc/core.py")
    done = verified(home, project)
    assert (done.exit_code, "confirmed in a clean checkout" in done.stdout) == (0, True), done
    (project / "calc/core.py").unlink()
    failed = verified(home, project, "--with", "test -e nothing", "--json")
    said = json.loads(failed.stdout)
    assert (failed.exit_code, said["result"], said["detail"]) == (1, "failed", "exit code 1"), failed
    listed = json.loads(home.run("runs", "--json", cwd=project).stdout)
    assert listed[0]["verified"] == "failed"
    exported = [json.loads(line) for line in home.run("export", cwd=project).stdout.splitlines()]
    assert [event["result"] for event in exported if event["type"] == "run_verified"] == ["passed", "failed"]
    assert "clean checkout" in home.run("export", "--format", "md", cwd=project).stdout


def test_verify_finds_a_result_that_only_passed_in_the_workspace(home: Home, project: Path):
    (project / ".gitignore").write_text("*.log\n")
    ran, _ = run_goal(home, project, [shell("echo done > a.log")], check="grep -q done a.log")
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
        snapshots = Snapshots(workspace, journal.path.with_suffix(".snapshots"))
        unheld = Sandbox(None, "no sandbox: none works")
        env = command_env(home.env)
        result = Result(journal, facts, workspace, snapshots, unheld, env, facts.world or "")
        trial = await try_out(result, [DONE, "test ! -e node_modules"], 60.0)
    finally:
        journal.close()
    if has_dependencies:
        assert (trial.result, "can mount node_modules read-only" in trial.detail) == ("not confirmed", True), trial
    else:
        assert trial.result == "passed", trial


@needs_bubblewrap
def test_a_linked_package_leads_into_the_checkout_and_caches_are_empty(home: Home, project: Path):
    (project / "app/node_modules/.cache").mkdir(parents=True)
    (project / "app/node_modules/.cache/built").write_text("stale\n")
    (project / "app/node_modules/part").symlink_to("../part")
    (project / "app/part").mkdir()
    (project / "app/part/index.js").write_text("old\n")
    check = "grep -q new app/node_modules/part/index.js"
    confirming = f"{check} && test ! -e app/node_modules/.cache/built"
    turns = [shell("echo new > app/part/index.js")]
    ran, _ = run_goal(home, project, turns, "--confirm-with", confirming, check=check)
    assert confirmation(ran)["result"] == "passed", ran.of("confirmation_finished")
    assert [f["path"] for f in ran.of("dependencies_recorded")[0]["folders"]] == ["app/node_modules"]
