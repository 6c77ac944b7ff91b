"""Where layers do not work, passes, tries and items work in copies of the workspace, by the real command."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.in_process.simulated_hours import subjects
from fakes.models.tries import rule, writes
from fakes.project import changed_files, git
from fakes.rundry import Home, Ran
from fakes.server import Rule, ScriptedServer
from fakes.turns import Turn, call, edit, finish, say
from fakes.users_work import all_of

SCORE = ("--score", "wc -c < NOTES.md", "--scope", "NOTES.md", "--goal", "min", "--patience", "1")
DONE = finish("looked", "NOTES.md")
FLOOD = """import pathlib
for n in range(205_000):
    pathlib.Path(f"flood-{n}").touch()
import time; time.sleep(60)"""
FLOODING = call("run_command", command=f"python3 -c '{FLOOD}'")


@pytest.fixture
def home(home_without_layers: Home) -> Home:
    """The command where copies take the place of layers."""
    return home_without_layers


def argv(server: ScriptedServer, *more: str) -> list[str]:
    model = ("--model", "fake", "--api-base", server.base_url)
    return ["run", "look after the notes", *model, "--gate", "auto", "--headless", "--json", *more]


def assert_in_copies(home: Home, ran: Ran) -> None:
    """It said that it works in copies, and none of them is left."""
    (started,) = ran.of("run_started")
    assert any("it works in copies of the workspace" in note for note in started["notes"]), started["notes"]
    assert [*home.runs.glob("layers/*/copies/*"), *home.runs.glob("layers/*/layers/*")] == []


def test_passes_are_committed_from_a_copy_that_the_next_one_uses_again(home: Home, project: Path):
    lines = [f"printf '{'x' * size}' > NOTES.md; echo {size} > made.txt" for size in (9, 5)]
    shorter = [call("run_command", command=line) for line in lines]
    with ScriptedServer([shorter[0], DONE, shorter[1], DONE], then=say("nothing more")) as server:
        ran = home.run(*argv(server, *SCORE, "--steps", "6"), cwd=project)
    assert [one["verdict"] for one in ran.of("pass_finished")][:2] == ["kept", "kept"], ran.story()
    assert (project / "NOTES.md").read_text() == "xxxxx" and (project / "made.txt").read_text() == "5\n"
    assert len(subjects(project)) == 3 and changed_files(project) == []
    assert_in_copies(home, ran)


def test_the_best_try_is_committed_and_nothing_of_the_others_is_left(home: Home, project: Path):
    (project / "score.txt").write_text("5\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "A score")
    rules = [rule(1, place, writes("score.txt", score)) for place, score in enumerate((6, 9, 7), 1)]
    with ScriptedServer(rules=rules, then=say("nothing more")) as server:
        more = ("--score", "cat score.txt", "--scope", "score.txt", "--patience", "1", "--tries", "3", "--steps", "12")
        ran = home.run(*argv(server, *more), cwd=project)
    finished = ran.of("pass_finished")[0]
    assert (finished["verdict"], finished["candidate"]) == ("kept", 2), ran.story()
    assert (project / "score.txt").read_text() == "9\n" and changed_files(project) == []
    assert subjects(project)[:2] == ["rundry pass 1: wrote 9", "A score"]
    assert_in_copies(home, ran)


def test_items_work_side_by_side_each_in_a_copy_of_its_own(home: Home, tmp_path: Path):
    items = tmp_path / "items"
    items.mkdir()
    for name in "abcd":
        (items / f"{name}.txt").write_text("old\n")
    git(items, "init", "-q", "-b", "work")
    git(items, "add", ".")
    git(items, "commit", "-qm", "First")
    (items / "a.txt").write_text("old\nthe user's line\n")
    lines = {name: f"sed -i s/old/new/ {name}.txt; echo {name} > made.log" for name in "ab"}
    fix = {name: call("run_command", command=line) for name, line in lines.items()}
    fix |= {name: edit(f"{name}.txt", "old", "new") for name in "cd"}
    rules = [Rule(f"The file: {name}.txt", turn) for name, turn in fix.items()]
    with ScriptedServer(rules=rules, then=say("nothing")) as server:
        words = ["find", "--recipe", "migrate", "--parallel", "2", "--check", "grep -q new {file}", "--gate", "auto"]
        words += ["--model", "fake", "--api-base", server.base_url, "--headless", "--json"]
        ran = home.run(*words, "*.txt", cwd=items)
    assert ran.exit_code == 0, ran.story()
    assert {name: (items / f"{name}.txt").read_text() for name in "abcd"} == {
        "a": "new\nthe user's line\n",
        **dict.fromkeys("bcd", "new\n"),
    }
    assert_in_copies(home, ran)


def test_a_command_that_names_the_workspace_does_not_change_it_where_there_is_a_sandbox(home: Home, project: Path):
    if home.words[-1] == "no sandbox":
        pytest.skip("nothing keeps a command from what it names")
    before = all_of(project)
    command = call("run_command", command=f"echo x > {project}/NOTES.md; echo x > {project}/made.txt")
    with ScriptedServer([command, say("so"), say("so")], then=say("nothing")) as server:
        ran = home.run(*argv(server, "--every", "1h", "--until", "false", "--steps", "3"), cwd=project)
    assert ran.of("pass_finished")[0]["verdict"] in ("reverted", "unchanged"), ran.story()
    assert {**all_of(project), "git objects": ""} == {**before, "git objects": ""}
    assert_in_copies(home, ran)


FLOODS = {"command": ([FLOODING, say("so")], "false"), "check": ([], "python3 flood.py")}


@pytest.mark.long
@pytest.mark.parametrize(("turns", "check"), FLOODS.values(), ids=FLOODS)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("home_without_layers", ["landlock"], indirect=True)
def test_a_flood_of_files_in_a_copy_is_ended_at_the_limit(home: Home, project: Path, turns: list[Turn], check: str):
    (project / "flood.py").write_text(FLOOD)
    git(project, "add", ".")
    git(project, "commit", "-qm", "A flood")
    before = all_of(project)
    write = call("write_file", path="new.txt", content="x\n")
    with ScriptedServer([write, *turns, DONE], then=say("nothing")) as server:
        ran = home.run(*argv(server, "--every", "1h", "--until", check, "--steps", "4"), cwd=project, timeout=600)
    said = [one["result"] for one in ran.of("tool_finished")] + [one["text"] for one in ran.of("prompted")]
    assert any("ended, because it wrote more than 200,000 files" in text for text in said), ran.story()
    assert ran.of("pass_finished")[0]["verdict"] == "reverted", ran.story()
    assert {**all_of(project), "git objects": ""} == {**before, "git objects": ""}
