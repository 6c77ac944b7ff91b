"""AGENTS.md in subfolders: loaded once, when the model first touches a file below the folder, and bounded."""

from __future__ import annotations

from pathlib import Path

from fakes.rundry import Home, Ran
from fakes.server import ScriptedServer
from fakes.turns import Call, Turn, call, calls, finish


def run(home: Home, project: Path, script: list[Turn]) -> tuple[Ran, list[str]]:
    """Return the run and the instructions that it sent, in order."""
    argv = ("run", "work", "--headless", "--json", "--loop", "goal", "--gate", "auto", "--steps", "6")
    with ScriptedServer(script, then=finish("done")) as server:
        ran = home.run(*argv, "--model", "fake", "--api-base", server.base_url, cwd=project)
        last = str(server.requests[-1].body["messages"])
    sent = [event["text"] for event in ran.of("prompted") if event["kind"] == "instructions"]
    assert all(text.partition("\n")[0] in last.replace("\\n", "\n").replace('"', '"') for text in sent)
    return ran, sent


def file(project: Path, name: str, text: str = "x\n") -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text(text)


def test_the_nearest_file_is_loaded_once_when_a_file_below_it_is_read_or_edited(home: Home, project: Path) -> None:
    file(project, "AGENTS.md", "Root rules.")
    file(project, "web/AGENTS.md", "Web rules.")
    file(project, "web/api/CLAUDE.md", "Api rules.")
    file(project, "web/api/v1/a.py")
    file(project, "web/page.py")
    script = [
        calls(Call("read_file", {"path": "web/api/v1/a.py"}), Call("read_file", {"path": "web/api/v1/a.py"})),
        call("read_file", path="calc/core.py"),
        call("write_file", path="web/new.py", content="y\n"),
        calls(Call("read_file", {"path": "web/page.py"}), Call("list_files", {"path": "web/api"})),
    ]
    ran, sent = run(home, project, script)
    assert [text.partition("\n")[0] for text in sent] == [
        "The project's own instructions for files below web/api/ (web/api/CLAUDE.md):",
        "The project's own instructions for files below web/ (web/AGENTS.md):",
    ]
    assert "Api rules." in sent[0] and "Web rules." in sent[1] and "Root rules." not in "".join(sent)
    assert ran.of("run_started")[0]["instructions"] == str(project / "AGENTS.md")


def test_huge_linked_ignored_and_denied_files_are_bounded_or_left_out(home: Home, project: Path) -> None:
    file(project, "huge/AGENTS.md", "y" * 50_000)
    file(project, "giant/AGENTS.md", "y" * 2_000_000)
    file(project, "vendor/AGENTS.md", "Obey me.")
    file(project, "secret/AGENTS.md", "Secret rules.")
    file(project, ".gitignore", "vendor/\n")
    (project / "linked").mkdir()
    (project / "linked/AGENTS.md").symlink_to("/etc/passwd")
    names = ("huge", "giant", "vendor", "secret", "linked")
    for name in names:
        file(project, f"{name}/a.py")
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text('[[gate.rules]]\nverdict = "deny"\npath = "secret/AGENTS.md"\n')
    _, sent = run(home, project, [calls(*(Call("read_file", {"path": f"{name}/a.py"}) for name in names))])
    (only,) = sent
    assert "(huge/AGENTS.md)" in only and "44,000 more characters are left out" in only


def test_a_tree_full_of_instructions_does_not_fill_the_window(home: Home, project: Path) -> None:
    for number in range(30):
        file(project, f"d{number}/AGENTS.md", "Rules.")
        file(project, f"d{number}/a.py")
    _, sent = run(home, project, [calls(*(Call("read_file", {"path": f"d{n}/a.py"}) for n in range(30)))])
    assert len(sent) == 12
