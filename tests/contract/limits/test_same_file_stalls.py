"""A run that names one file in several ways is caught as if it named it in one way."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, calls


def stalls(home: Home, project: Path, made: list[Call]) -> list[str]:
    argv = ("run", "work", "--headless", "--json", "--loop", "goal", "--gate", "auto", "--steps", str(len(made)))
    with ScriptedServer([calls(one) for one in made]) as server:
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
    return [event["kind"] for event in ran.of("stall_detected")]


def spellings(project: Path) -> list[str]:
    (project / "link.py").symlink_to("calc/core.py")
    (project / "linked").symlink_to("calc")
    written = "calc/core.py"
    return [f"./{written}", str(project / written), "link.py", "linked/core.py", f"{project.name}/{written}", written]


def test_one_file_read_under_its_many_names_is_a_repetition(home: Home, project: Path) -> None:
    made = [Call("read_file", {"path": path}) for path in spellings(project)]
    assert "repeat" in stalls(home, project, made)


def test_a_failing_edit_of_one_file_under_its_many_names_is_a_repetition(home: Home, project: Path) -> None:
    edit = {"old_text": "not there at all", "new_text": "x"}
    made = [Call("edit_file", {"path": path, **edit}) for path in spellings(project)]
    assert "error" in stalls(home, project, made)


@pytest.mark.parametrize("line", ["cat {}", "wc -l '{}'"])
def test_a_command_about_one_file_under_its_many_names_is_a_repetition(home: Home, project: Path, line: str) -> None:
    made = [
        Call("run_command", {"command": line.format(path)}) for path in spellings(project) if "project/calc" not in path
    ]
    assert "repeat" in stalls(home, project, made)


def test_different_files_with_one_content_are_not_a_repetition(home: Home, project: Path) -> None:
    for number in range(6):
        (project / f"f{number}.py").write_text("x = 1\n")
    assert stalls(home, project, [Call("read_file", {"path": f"f{n}.py"}) for n in range(6)]) == []
