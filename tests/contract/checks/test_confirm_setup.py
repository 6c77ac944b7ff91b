"""What a clean checkout is made of: submodules, large dependency folders, counts of tests, a start that was killed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fakes.project import CHECK, FIX_BOTH, git
from fakes.rundry import Home, Ran
from fakes.sandboxes import needs_bubblewrap
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say

DONE = "grep -q done result.txt"
MAKE = call("run_command", command="echo done > result.txt")
LARGE = 30_000


def words(server: ScriptedServer, *more: str) -> list[str]:
    model = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--steps", "4"]
    return ["run", "fix it", "--headless", "--json", *model, *more]


def run_goal(home: Home, project: Path, turns: list[Turn], *more: str) -> Ran:
    with ScriptedServer(turns, then=say("I have no idea.")) as server:
        return home.run(*words(server, *more), cwd=project)


def with_submodules(project: Path) -> None:
    """Add `libs/part`, which has a submodule `inner` of its own, and commit."""
    made: list[Path] = []
    for name in ("inner", "part"):
        folder = project.parent / name
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        (folder / f"{name}.txt").write_text(f"{name}\n")
        (folder / "kept.log").write_text("committed although it is ignored\n")
        (folder / ".gitignore").write_text("*.log\n")
        for other in made:
            git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), other.name)
        git(folder, "add", "-f", ".")
        git(folder, "commit", "-qm", name)
        git(folder, "tag", f"{name}-1")
        made.append(folder)
    allow = ["-c", "protocol.file.allow=always"]
    git(project, *allow, "submodule", "--quiet", "add", str(made[-1]), "libs/part")
    git(project, *allow, "submodule", "--quiet", "update", "--init", "--recursive")
    git(project, "commit", "-qam", "A submodule")


def test_submodules_are_repositories_of_their_own_in_a_checkout(home: Home, project: Path):
    with_submodules(project)
    check = " && ".join(
        [
            DONE,
            "grep -q part libs/part/part.txt",
            "grep -q committed libs/part/inner/kept.log",
            "test $(git -C libs/part describe --tags) = part-1",
            "test $(git -C libs/part/inner log --format=%s) = inner",
            "! git submodule status --recursive | grep -q ^[-+]",
            "git ls-files --recurse-submodules | grep -qx libs/part/inner/inner.txt",
            'test -z "$(git -C libs/part status --porcelain)"',
        ]
    )
    ran = run_goal(home, project, [MAKE], "--until", check, "--confirm")
    assert ran.of("confirmation_finished") and ran.of("confirmation_finished")[-1]["result"] == "passed", ran.story()
    verified = home.run("verify", cwd=project)
    assert verified.exit_code == 0, verified


def test_a_change_in_a_submodule_is_a_change_in_the_checkout(home: Home, project: Path):
    with_submodules(project)
    turn = call("run_command", command="echo more >> libs/part/part.txt && echo done > result.txt")
    check = (
        f"{DONE} && git -C libs/part diff --name-only | grep -qx part.txt && git diff --name-only | grep -q libs/part"
    )
    ran = run_goal(home, project, [turn], "--until", check, "--confirm", "--scope", "libs/part/part.txt")
    assert [event["result"] for event in ran.of("confirmation_finished")] == ["passed"], ran.story()


def test_fewer_tests_in_the_checkout_than_in_the_workspace_are_not_confirmed(home: Home, project: Path):
    (project / ".gitignore").write_text("__pycache__/\nlocal/\n")
    git(project, "commit", "-qam", "Ignore")
    (project / "local").mkdir()
    (project / "local/with_service").touch()
    suite = project / "tests/test_core.py"
    skip = "    @unittest.skipUnless(__import__('os').path.exists('local/with_service'), 'no service')\n"
    suite.write_text(suite.read_text().replace("    def test_mean", f"{skip}    def test_mean"))
    git(project, "commit", "-qam", "A test that needs a service")
    for check in (CHECK, "python3 -m unittest -v"):
        git(project, "checkout", "-q", "calc/core.py")
        ran = run_goal(home, project, [FIX_BOTH], "--until", check, "--confirm")
        found = ran.outcome["evidence"]["confirmation"]
        ended = (ran.exit_code, ran.outcome["reason"], found["result"])
        assert ended == (5, "handoff", "not confirmed"), ran.story()
        assert "other tests than in the workspace" in found["detail"], found
    assert "test_mean" in found["detail"]
    verified = home.run("verify", cwd=project)
    assert (verified.exit_code, "other tests than in the workspace" in verified.stdout) == (6, True), verified


@needs_bubblewrap
def test_a_folder_of_thirty_thousand_files_is_recorded_in_seconds_and_confirmed(home: Home, project: Path):
    (project / ".gitignore").write_text("node_modules/\n")
    git(project, "commit", "-qam", "Ignore")
    for number in range(LARGE):
        place = project / "node_modules" / f"package{number // 100}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number}.js").write_text(f"exports.value = {number}\n")
    ran = run_goal(home, project, [MAKE], "--until", DONE, "--confirm")
    assert ran.of("confirmation_finished") and ran.of("confirmation_finished")[-1]["result"] == "passed", ran.story()
    recorded = ran.of("dependencies_recorded")[0]
    assert recorded["folders"][0]["files"] == LARGE
    assert recorded["seconds"] < 60


def test_a_start_that_was_killed_before_its_digests_were_stored_is_recorded_by_the_resume(home: Home, project: Path):
    (project / ".gitignore").write_text("node_modules/\n")
    git(project, "commit", "-qam", "Ignore")
    (project / "node_modules").mkdir()
    with (project / "node_modules/large.bin").open("wb") as file:
        file.truncate(3_000_000_000)  # without blocks: it takes seconds to read
    with ScriptedServer([MAKE], then=say("I have no idea.")) as server:
        with home.start(*words(server, "--until", DONE, "--confirm"), cwd=project) as running:
            running.wait_event("dependencies_found")
            running.signal(signal.SIGKILL)
            killed = running.finish()
        (project / "node_modules/large.bin").write_bytes(b"small")
        ran = home.run("resume", "--headless", "--json", cwd=project)
    assert not killed.of("dependencies_recorded", "tool_finished"), killed.story()
    kinds = ran.types()
    assert kinds.index("dependencies_recorded") < kinds.index("tool_finished")
    assert [event["result"] for event in ran.of("confirmation_finished")] == ["passed"], ran.story()


@pytest.mark.parametrize(
    ("loop", "said"),
    [(["--every", "1h"], "an interval run"), (["--score", "echo 1", "--steps", "2"], "an improve run")],
)
def test_a_loop_that_does_not_end_on_a_check_refuses_a_confirmation(
    home: Home, project: Path, loop: list[str], said: str
):
    argv = ["run", "x", "--headless", "--model", "fake", "--api-base", "http://127.0.0.1:9", *loop]
    ran = home.run(*argv, "--confirm", "--until", "true", cwd=project)
    assert (ran.exit_code, said in ran.stderr, home.journals()) == (2, True, []), ran


def test_a_paced_run_is_confirmed_and_continues_while_its_result_fails_in_a_checkout(home: Home, project: Path):
    (project / ".gitignore").write_text("*.log\n")
    git(project, "commit", "-qam", "Ignore")
    turns = [call("run_command", command="echo done > a.log"), MAKE]
    check = f"grep -q done a.log || {DONE}"
    ran = run_goal(home, project, turns, "--loop", "paced", "--until", check, "--confirm", "--scope", "**")
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    assert [event["result"] for event in ran.of("confirmation_finished")] == ["failed", "passed"]


def test_an_interval_run_that_ended_is_verified(home: Home, project: Path):
    turns = [call("write_file", path="result.txt", content="done\n"), say("That is all.")]
    limits = ["--every", "5m", "--until", DONE, "--steps", "1"]
    with ScriptedServer(turns, then=say("I have no idea.")) as server:
        ran = home.run(*words(server, *limits), cwd=project)
    assert ran.outcome["reason"] == "budget" and ran.of("pass_finished")[0]["verdict"] == "kept", ran.story()
    done = home.run("verify", cwd=project)
    assert (done.exit_code, "confirmed in a clean checkout" in done.stdout) == (0, True), done
