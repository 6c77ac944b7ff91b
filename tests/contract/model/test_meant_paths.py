"""A run in which the model misspells paths: the gate, the rules and the record name the file that is changed."""

from __future__ import annotations

from pathlib import Path

from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Call, calls, finish


def run(home: Home, project: Path, *made: Call, config: str = ""):
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text(config)
    argv = ("run", "work", "--headless", "--json", "--loop", "goal", "--gate", "auto", "--steps", "9")
    with ScriptedServer([calls(one) for one in made], then=finish("done")) as server:
        return home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)


def test_every_file_tool_reads_and_changes_the_file_that_is_meant(home: Home, project: Path) -> None:
    (project / "gcd.py").write_text("def gcd():\n    return 1\n")
    name = project.name
    ran = run(
        home,
        project,
        Call("read_file", {"path": f"{name}/gcd.py"}),
        Call("edit_file", {"file_path": f"/{name}/gcd.py", "old_text": "return 1", "new_text": "return 2"}),
        Call("write_file", {"path": f"{name}/new.py", "content": "x\n"}),
        Call("list_files", {"path": name}),
        Call("search", {"pattern": "return 2", "path": f"{name}\\gcd.py"}),
    )
    assert [event["ok"] for event in ran.of("tool_finished")[:5]] == [True] * 5
    assert [event["arguments"].get("path") or event["arguments"].get("file_path") for event in ran.of("tool_called")][
        :5
    ] == ["gcd.py", "gcd.py", "new.py", ".", "gcd.py"]
    assert [event["path"] for event in ran.of("file_changed")] == ["gcd.py", "new.py"]
    assert (project / "gcd.py").read_text() == "def gcd():\n    return 2\n"
    assert not (project / name).exists()


def test_a_rule_about_the_real_path_holds_for_every_spelling(home: Home, project: Path) -> None:
    (project / "closed.py").write_text("x\n")
    name = project.name
    spellings = (f"{name}/closed.py", f"/{name}/closed.py", "a/closed.py", f"{name}\\closed.py")
    ran = run(
        home,
        project,
        *(Call("read_file", {"path": path}) for path in spellings),
        *(Call("write_file", {"path": path, "content": "y\n"}) for path in spellings),
        config='[[gate.rules]]\nverdict = "deny"\npath = "closed.py"\n',
    )
    assert [event["ok"] for event in ran.of("tool_finished")[:8]] == [False] * 8
    assert (project / "closed.py").read_text() == "x\n"
