"""What the user does while a command of the model runs stays, and is not the command's (docs/decisions/0036)."""

from __future__ import annotations

import time
from pathlib import Path

from fakes.project import CHECK, FIX_ADD, FIX_MEAN
from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say

MORE = "\n\nclass More(unittest.TestCase):\n    def test_{name}(self):\n        self.assertTrue({value})\n"
WAITS = call("run_command", command="touch begun; while test ! -e go; do sleep 0.05; done; rm go; echo x >> b.txt")


def run(home: Home, project: Path, kind: str, user: object, *turns: Turn, until: str = CHECK) -> Ran:
    """Run headless; `user` is called while the first command runs."""
    env = {} if kind == "bubblewrap" else {"RUNDRY_SANDBOX_KINDS": kind}
    argv = ["--headless", "--json", "--gate", "auto", "--until", until, "--steps", "9", "--model", "fake"]
    with (
        ScriptedServer([WAITS, *turns], then=say("nothing more")) as server,
        home.start("run", "fix it", *argv, "--api-base", server.base_url, cwd=project, env=env) as running,
    ):
        end = time.monotonic() + 60
        while not (project / "begun").exists() and time.monotonic() < end:
            time.sleep(0.02)
        user(project)  # type: ignore[operator]
        (project / "go").touch()
        return running.finish()


def add_tests(value: object):
    def add(project: Path) -> None:
        with (project / "tests" / "test_core.py").open("a") as file:
            file.write(MORE.format(name="more", value=value))
        (project / "tests" / "test_new.py").write_text(f"import unittest{MORE.format(name='new', value=value)}")
        (project / "Makefile").write_text("all:\n\ttrue\n")

    return add


def test_tests_that_the_user_adds_during_a_command_stay_and_a_true_result_is_done(home: Home, project: Path):
    before = (project / "tests/test_core.py").read_text()
    ran = run(home, project, "bubblewrap", add_tests(True), FIX_ADD, FIX_MEAN)
    assert (project / "tests/test_core.py").read_text() == before + MORE.format(name="more", value=True)
    assert (project / "tests/test_new.py").exists() and (project / "Makefile").exists()
    assert (project / "b.txt").read_text() == "x\n"
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done"), ran.story()
    assert {"Makefile", "tests/test_core.py", "tests/test_new.py"} <= {*ran.outcome["evidence"]["guarded_changed"]}
    assert ran.outcome["evidence"]["confirmation"]["result"] == "passed"


def test_a_failing_test_that_the_user_adds_is_neither_removed_nor_passed(home: Home, project: Path):
    ran = run(home, project, "bubblewrap", add_tests(False), FIX_ADD, FIX_MEAN)
    assert (project / "tests/test_new.py").exists() and ran.exit_code != 0, ran.story()


def test_a_protected_file_that_appears_during_a_command_stays_and_the_run_is_handed_over(home: Home, project: Path):
    def make(project: Path) -> None:
        (project / ".envrc").write_text("export X=1\n")

    ran = run(home, project, "bubblewrap", make, FIX_ADD, FIX_MEAN)
    assert (project / ".envrc").read_text() == "export X=1\n"
    assert (ran.exit_code, ran.outcome["reason"]) == (5, "handoff") and ".envrc" in ran.outcome["detail"], ran.story()


def test_a_protected_file_that_the_command_could_not_write_is_not_mentioned(home: Home, project: Path):
    (project / ".vscode").mkdir()
    (project / ".vscode/tasks.json").write_text("{}\n")

    def edit(project: Path) -> None:
        (project / ".vscode/tasks.json").write_text('{"by": "the user"}\n')

    ran = run(home, project, "bubblewrap", edit, FIX_ADD, FIX_MEAN)
    assert (project / ".vscode/tasks.json").read_text() == '{"by": "the user"}\n'
    assert (ran.exit_code, ran.outcome["reason"]) == (0, "done") and not ran.of("changes_undecided"), ran.story()
