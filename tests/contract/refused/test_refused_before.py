"""What cannot be reached is refused before there is a journal (docs/requirements.md 4.1, 8.1, 12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from fakes.project import CHECK, git
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import HttpError, Turn, call
from sampling import sampled

NOBODY = ("--api-base", "http://127.0.0.1:9/v1")
SCORED = ("run", "shorten", "--score", "wc -c < NOTES.md")
EVERY = ("run", "look", "--every", "1s")
DENY_NOBODY = '[[gate.rules]]\nverdict = "deny"\ntool = "no_such_tool"\n'


def nothing(_: Path) -> None:
    """The project as it is."""


def too_much(project: Path) -> None:
    for number in range(30):
        with (project / f"{number}.bin").open("wb") as file:
            file.truncate(19_000_000)


def without_git(project: Path) -> None:
    (project / ".git").rename(project.parent / "moved")


def without_commit(project: Path) -> None:
    without_git(project)
    git(project, "init", "-q")


def on_main(project: Path) -> None:
    git(project, "switch", "-qc", "main")


def uncommitted_folder(project: Path) -> None:
    (project / "new").mkdir()
    (project / "new/file.txt").write_text("new\n")


def senseless_rule(project: Path) -> None:
    config = project.parent / "home/config/rundry/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(DENY_NOBODY)


IMPOSSIBLE: list[tuple[Sequence[str], Callable[[Path], None], str]] = [
    (SCORED, nothing, "needs an explicit budget: add --steps"),
    ((*SCORED, "--steps", "none"), nothing, "needs an explicit budget: add --steps"),
    ((*SCORED, "--steps", "5", "--worktree"), without_git, "is not in a git repository"),
    ((*SCORED, "--steps", "5", "--worktree"), without_commit, "has no commit yet"),
    ((*SCORED, "--steps", "5", "--worktree", "--cwd", "new"), uncommitted_folder, "is not committed yet"),
    (EVERY, on_main, "the branch `main` is protected"),
    (EVERY, without_git, "is not in a git repository"),
    ((*EVERY, "--worktree", "--cwd", "new"), uncommitted_folder, "is not committed yet"),
    (("run", "look"), senseless_rule, "no_such_tool"),
    (("find", "--recipe", "research", "--task", "x"), senseless_rule, "no_such_tool"),
]


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (["--model", "openai/gpt-x"], "OPENAI_API_KEY"),
        (["--model", "gemini/gemini-2.5-flash"], "GEMINI_API_KEY"),
        (["--model", "fake", *NOBODY], "127.0.0.1:9"),
    ],
)
def test_a_model_that_cannot_be_reached_leaves_no_journal(home: Home, project: Path, model: list[str], named: str):
    ran = home.run("run", "fix", "--headless", "--until", CHECK, *model, cwd=project)
    assert ran.exit_code == 2, ran
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("rundry: ")]
    assert named in line
    assert home.journals() == []
    found = home.run("find", "--recipe", "research", "--task", "x", "--headless", *model, cwd=project)
    assert (found.exit_code, home.journals()) == (2, []), found


@pytest.mark.parametrize(
    ("argv", "prepare", "named"), sampled(IMPOSSIBLE, 5), ids=lambda v: v.__name__ if callable(v) else " ".join(v[:3])
)
def test_an_impossible_run_is_refused_by_one_line_and_leaves_no_file_in_the_runs_folder(
    home: Home, project: Path, argv: Sequence[str], prepare: Callable[[Path], None], named: str
):
    prepare(project)
    with ScriptedServer([Turn(text="looked")]) as server:
        model = ["--model", "fake", "--api-base", server.base_url]
        ran = home.run(*argv, "--headless", *model, cwd=project)
        assert server.requests == []
    assert ran.exit_code == 2, ran
    (line,) = ran.stderr.splitlines()
    assert line.startswith("rundry: ") and named in line
    assert not home.runs.exists() or list(home.runs.iterdir()) == []
    assert not (home.runs.parent / "worktrees").exists()


def test_a_screen_closes_with_the_line_that_refuses_its_impossible_run(home: Home, project: Path):
    with (
        ScriptedServer([Turn(text="looked")]) as server,
        home.screen(*SCORED, "--model", "fake", "--api-base", server.base_url, cwd=project) as terminal,
    ):
        assert terminal.wait_for_exit() == 2
        assert "needs an explicit budget" in terminal.text()
    assert home.journals() == []


def test_a_folder_of_ignored_files_does_not_refuse_a_run_whose_passes_are_rolled_back(home: Home, project: Path):
    too_much(project)
    (project / ".gitignore").write_text("*.bin\n")
    with ScriptedServer([Turn(text="looked")], then=Turn(text="looked")) as server:
        model = ["--model", "fake", "--api-base", server.base_url]
        ran = home.run(*SCORED, "--steps", "1", "--gate", "auto", "--headless", *model, cwd=project)
    assert ran.exit_code != 2, ran
    assert len(home.journals()) == 1


def test_the_json_of_a_refused_run_names_its_end_and_no_journal(home: Home, project: Path):
    ran = home.run("run", "fix", "--headless", "--json", "--until", CHECK, "--model", "fake", *NOBODY, cwd=project)
    assert [event["type"] for event in ran.events] == ["run_started", "run_ended"]
    assert (ran.outcome["reason"], ran.outcome["journal"], ran.exit_code) == ("refused", "", 2)
    assert home.journals() == []


@pytest.mark.parametrize("model", [["--model", "openai/gpt-x"], ["--model", "fake", *NOBODY]])
def test_a_screen_that_was_given_a_task_closes_with_one_line(home: Home, project: Path, model: list[str]):
    with home.screen("fix it", *model, cwd=project) as terminal:
        assert terminal.wait_for_exit() == 2
        assert "rundry: no " in terminal.text()
    assert home.journals() == []


def test_a_message_that_cannot_be_sent_is_given_back_and_another_model_takes_it(home: Home, project: Path):
    with (
        ScriptedServer([Turn(text="hello to you")]) as server,
        home.screen("--model", "fake", *NOBODY, cwd=project) as terminal,
    ):
        terminal.wait_for("what should be done?")
        terminal.send("say hello")
        terminal.press("enter")
        terminal.wait_for("no model server at http://127.0.0.1:9/v1")
        terminal.wait_for("say hello")
        assert home.journals() == []
        assert server.requests == []


def test_a_run_whose_server_is_gone_stays_as_it_was(home: Home, project: Path):
    with ScriptedServer([call("write_file", path="a", content="b")], then=Turn(error=HttpError(500, "no"))) as server:
        argv = ["--until", "false", "--model", "fake", "--api-base", server.base_url, "--steps", "1", "--gate", "auto"]
        first = home.run("run", "fix", "--headless", "--json", *argv, cwd=project)
    (journal,) = home.journals()
    run_id = first.events[0]["run_id"]
    before = home.run("export", run_id, "--json", cwd=project).stdout or journal.read_bytes()
    ran = home.run("resume", run_id, "--headless", "--steps", "5", cwd=project)
    assert ran.exit_code == 75, ran
    assert "the run is unchanged" in ran.stderr
    assert (home.run("export", run_id, "--json", cwd=project).stdout or journal.read_bytes()) == before


def test_a_model_that_needs_litellm_says_what_it_waits_for(home: Home, project: Path):
    """cloudflare is one of them; its server is this machine's, so nothing leaves it."""
    with ScriptedServer([]) as server:
        argv = ["run", "fix", "--headless", "--until", CHECK, "--model", "cloudflare/x", "--steps", "1"]
        env = {"CLOUDFLARE_API_KEY": "k", "CLOUDFLARE_API_BASE": server.base_url}
        ran = home.run(*argv, cwd=project, env=env)
    assert "loading litellm for cloudflare/x" in ran.stderr
