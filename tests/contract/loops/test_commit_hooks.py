"""`--commit-hooks` by the real command: real hooks around the commits of each loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import subjects
from fakes.project import changed_files, git
from fakes.rundry import Home, Ran
from fakes.sandboxes import notes_of
from fakes.server import ScriptedServer
from fakes.turns import call, edit, finish

SCAN = """#!/bin/sh
if git diff --cached | grep -q '^+.*AKIA'; then echo "a secret key in $(git diff --cached --name-only)"; exit 1; fi
"""
LEAK = call("write_file", path="notes.md", content="key AKIA123\n")
DONE = finish("noted", "notes.md")


def hook(project: Path, name: str, text: str, folder: str = ".git/hooks") -> None:
    place = project / folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)


def run(home: Home, server: ScriptedServer, project: Path, *argv: str) -> Ran:
    base = ["--model", "fake", "--api-base", server.base_url, "--gate", "auto", "--headless", "--json"]
    return home.run("run", "take notes", *base, *argv, cwd=project)


def test_a_hook_refuses_a_commit_the_model_reads_why_and_its_next_edit_is_committed(home: Home, project: Path):
    hook(project, "pre-commit", SCAN)
    hook(project, "commit-msg", '#!/bin/sh\necho "Checked: yes" >> "$1"\n')
    hook(project, "post-commit", "#!/bin/sh\ngit log -1 --format=%s; exit 3\n")
    with ScriptedServer([LEAK, edit("notes.md", "AKIA123", "in the vault"), DONE]) as server:
        ran = run(home, server, project, "--commit", "--commit-hooks", "--steps", "5")
    refused, made = ran.of("change_committed")
    said = "the hook pre-commit failed (exit code 1): a secret key in notes.md"
    assert refused["commit"] is None and refused["why_not"] == said, ran.story()
    assert said in ran.results("write_file")[0] and "refused" not in ran.results("edit_file")[0]
    assert git(project, "show", "HEAD:notes.md") == "key in the vault\n" == (project / "notes.md").read_text()
    assert made["commit"] == git(project, "rev-parse", "HEAD").strip()
    assert git(project, "log", "-1", "--format=%B").strip().endswith("Checked: yes")
    assert "the hook post-commit failed (exit code 3): rundry: Change notes.md" in made["note"], made
    assert changed_files(project) == [] and len(subjects(project)) == 2
    assert not any("do not run" in note for note in ran.of("run_started")[0]["notes"])


def test_a_refused_edit_stays_on_the_disk_and_nothing_is_staged(home: Home, project: Path):
    hook(project, "pre-commit", SCAN)
    with ScriptedServer([LEAK, DONE]) as server:
        run(home, server, project, "--commit", "--commit-hooks", "--steps", "3")
    assert (project / "notes.md").read_text() == "key AKIA123\n"
    assert git(project, "status", "--porcelain") == "?? notes.md\n" and subjects(project) == ["A red suite"]


@pytest.mark.parametrize("does", ["echo more >> notes.md", "echo more >> notes.md; git add notes.md"])
def test_a_hook_that_changes_the_edit_is_reported_and_the_edit_is_restored(home: Home, project: Path, does: str):
    hook(project, "pre-commit", f"#!/bin/sh\n{does}\n")
    with ScriptedServer([call("write_file", path="notes.md", content="mine\n"), DONE]) as server:
        ran = run(home, server, project, "--commit", "--commit-hooks", "--steps", "3")
    assert ran.of("change_committed")[0]["why_not"].startswith("a hook changed notes.md, and rundry commits only")
    assert (project / "notes.md").read_text() == "mine\n" and subjects(project) == ["A red suite"]


def test_a_hook_is_held_by_the_sandbox(home: Home, project: Path, tmp_path: Path):
    hook(
        project,
        "pre-commit",
        f"#!/bin/sh\ntouch {home.root}/out .git/hooks/post-commit; test -e .git/hooks/post-commit\n",
    )
    with ScriptedServer([LEAK, DONE]) as server:
        ran = run(home, server, project, "--commit", "--commit-hooks", "--steps", "3")
    assert "the hook pre-commit failed" in ran.of("change_committed")[0]["why_not"]
    assert not (home.root / "out").exists() and not (project / ".git/hooks/post-commit").exists()


def test_a_pass_that_a_hook_refuses_is_rolled_back_and_the_next_one_reads_why(home: Home, project: Path):
    hook(project, "pre-commit", SCAN, ".husky")
    git(project, "add", ".")
    git(project, "commit", "-qm", "A hook")
    git(project, "config", "core.hooksPath", ".husky")
    clean = call("write_file", path="notes.md", content="no key\n")
    with ScriptedServer([LEAK, DONE, clean, DONE]) as server:
        ran = run(
            home, server, project, "--every", "1s", "--commit-hooks", "--steps", "4", "--until", "test -f notes.md"
        )
        asked = str(server.requests[2])
    first, second = ran.of("pass_finished")[:2]
    assert (first["verdict"], second["verdict"]) == ("reverted", "kept"), ran.story()
    assert "the hook pre-commit failed (exit code 1): a secret key in notes.md" in first["why"]
    assert "a secret key in notes.md" in asked
    assert git(project, "show", "HEAD:notes.md") == "no key\n" and len(subjects(project)) == 3


LOOPS = [["--commit"], ["--every", "1h"], ["--score", "cat notes.md | wc -c", "--scope", "notes.md", "--patience", "1"]]


@pytest.mark.parametrize("loop", LOOPS, ids=["commit", "interval", "improve"])
def test_each_loop_that_commits_says_once_which_hooks_it_leaves_out(home: Home, project: Path, loop: list[str]):
    (project / "notes.md").write_text("")
    git(project, "add", ".")
    git(project, "commit", "-qm", "Notes")
    hook(home.root, "pre-commit", SCAN, "own-hooks")
    (home.root / ".gitconfig").write_text("[core]\n\thooksPath = ~/own-hooks\n")
    with ScriptedServer([LEAK, DONE]) as server:
        ran = run(home, server, project, *loop, "--steps", "2")
        again = run(home, server, project, *loop, "--commit-hooks", "--steps", "2")
    said = "rundry's commits do not run this hook of the repository: pre-commit (--commit-hooks runs them)"
    assert [note for note in notes_of(ran.of("run_started")) if "hook" in note] == [said]
    assert [note for note in notes_of(again.of("run_started")) if "hook" in note] == []
    assert subjects(project)[0].startswith("rundry") and len(subjects(project)) == 3


def test_hooks_of_the_users_own_config_run_too(home: Home, project: Path):
    hook(home.root, "pre-commit", SCAN, "own-hooks")
    (home.root / ".gitconfig").write_text("[core]\n\thooksPath = ~/own-hooks\n")
    with ScriptedServer([LEAK, DONE]) as server:
        ran = run(home, server, project, "--commit", "--commit-hooks", "--steps", "3")
    assert "a secret key in notes.md" in ran.of("change_committed")[0]["why_not"]


def test_commit_hooks_without_commits_is_refused(home: Home, project: Path):
    with ScriptedServer([]) as server:
        ran = run(home, server, project, "--commit-hooks")
    assert ran.exit_code == 2 and "--commit-hooks: this run makes no commits" in ran.stderr and home.journals() == []
