"""Stages in a real terminal: `rundry apply` on a screen, `/stage` and `/apply` in a chat, and the end of a run."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from fakes.layered_folder import layered_folder
from fakes.project import CHECK, FIX_ADD, FIX_BOTH, FIX_MEAN, changed_files, make_project
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.terminal import Terminal
from fakes.turns import Turn, call, finish, say

DONE = finish("told", "calc/core.py")
NOTES = call("run_command", command="echo one > notes.txt; echo two > more.txt")


class Place:
    """A project and a home."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = Home(folder), make_project(folder / "project")
        self.core = self.project / "calc/core.py"

    def stage(self, turns: Sequence[Turn], *more: str) -> None:
        """Let a headless run stage this."""
        with ScriptedServer(list(turns), then=DONE) as server:
            argv = ["run", "fix the sums", "--headless", "--json", "--steps", "6", "--model", "fake"]
            ran = self.home.run(*argv, "--api-base", server.base_url, *more, cwd=self.project)
        assert ran.exit_code == 5 and changed_files(self.project) == [], ran

    def apply(self, *more: str) -> Terminal:
        return self.home.screen("apply", *more, cwd=self.project)

    def stages(self) -> list[Path]:
        return self.home.kept_layers("stage")


@pytest.fixture
async def place(pytestconfig: pytest.Config) -> AsyncIterator[Place]:
    async with layered_folder(pytestconfig.rootpath) as folder:
        (folder / "project").mkdir()
        found = Place(folder)
        yield found
        found.home.end_runners()


def listed(terminal: Terminal) -> str:
    """The screen, once keys go to the review."""
    return terminal.wait_for("n leave staged")


async def test_apply_opens_a_screen_what_is_skipped_stays_and_choices_survive_a_kill(place: Place):
    place.stage([FIX_ADD, NOTES])
    with place.apply() as terminal:
        text = listed(terminal)
        assert "staged: fix the sums" in text and "◉ accepted 3" in text
        terminal.press("down", "space")
        terminal.wait_for("◉ accepted 2")
        terminal.wait_for("○ more.txt")
        terminal.signal(signal.SIGKILL)
    assert changed_files(place.project) == []
    with place.apply() as terminal:
        text = listed(terminal)
        assert "begins with your choices of the last review" in text and "○ more.txt" in text
        terminal.press("y")
        assert terminal.wait_for_exit() == 5
    assert changed_files(place.project) == ["calc/core.py", "notes.txt"]
    assert "a + b" in place.core.read_text() and len(place.stages()) == 1
    runs = place.home.run("runs", cwd=place.project)
    assert "1 file staged" in runs.stdout, runs
    with place.apply() as terminal:
        terminal.wait_for("more.txt")
        terminal.wait_for("n leave staged")
        assert "choices of the last review" not in terminal.text()
        terminal.press("y")
        assert terminal.wait_for_exit() == 0
    assert changed_files(place.project) == ["calc/core.py", "more.txt", "notes.txt"]
    assert place.stages() == []
    assert "staged" not in place.home.run("runs", cwd=place.project).stdout


async def test_some_hunks_are_applied_and_the_others_are_offered_again(place: Place):
    place.stage([FIX_BOTH], "--until", CHECK)
    with place.apply() as terminal:
        listed(terminal)
        terminal.press("s")
        terminal.wait_for("accepted 2")
        terminal.press("space")
        terminal.wait_for("○ skipped 1")
        terminal.press("y")
        assert terminal.wait_for_exit() == 5
    assert "a + b" in place.core.read_text() or "len(values)\n" in place.core.read_text()
    with place.apply() as terminal:
        listed(terminal)
        assert "1 hunk" in terminal.text()
        terminal.press("y")
        assert terminal.wait_for_exit() == 0
    assert "a + b" in place.core.read_text() and "/ len(values)" in place.core.read_text()


async def test_esc_leaves_all_of_it_and_plain_asks_in_lines(place: Place):
    place.stage([FIX_ADD, NOTES])
    with place.apply() as terminal:
        listed(terminal)
        terminal.press("esc")
        assert terminal.wait_for_exit() == 5
    with place.apply("--plain") as terminal:
        terminal.wait_for("Entries that you do not approve stay staged.")
        terminal.send("quit\r")
        assert terminal.wait_for_exit() == 5
        assert "It stays staged" in terminal.text()
    assert changed_files(place.project) == [] and len(place.stages()) == 1


async def test_a_chat_works_in_a_stage_applies_some_works_on_and_leaves_it(place: Place):
    turns = [FIX_ADD, say("The first is fixed."), FIX_MEAN, NOTES, say("The second is fixed."), say("Bye.")]
    with (
        ScriptedServer(turns) as server,
        place.home.screen("--model", "fake", "--api-base", server.base_url, cwd=place.project) as terminal,
    ):
        terminal.wait_for("›")
        terminal.send("/stage\r")
        terminal.wait_for("stage ⇧tab")
        terminal.send("fix the first\r")
        terminal.wait_for("The first is fixed.")
        terminal.wait_for("1 file staged")
        assert changed_files(place.project) == []
        terminal.send("/apply\r")
        listed(terminal)
        terminal.press("y")
        terminal.wait_for("Applied: `calc/core.py`")
        assert "a + b" in place.core.read_text()
        terminal.wait_for(lambda lines: "waiting for you" in lines[0])
        terminal.send("and the second\r")
        terminal.wait_for("The second is fixed.")
        terminal.wait_for("3 files staged")
        assert "(len(values) + 1)" in place.core.read_text()
        assert "The person decided on what was staged. Applied: `calc/core.py`" in server.requests[2].text
        terminal.send("/apply\r")
        listed(terminal)
        terminal.press("down", "space", "y")
        terminal.wait_for("The rest stays staged.")
        assert changed_files(place.project) == ["calc/core.py", "notes.txt"]
        assert "/ len(values)" in place.core.read_text()
        terminal.wait_for("1 file staged")
        terminal.wait_for(lambda lines: "waiting for you" in lines[0])
        terminal.send("/gate effects\r")
        terminal.wait_for("What should happen to it?")
        terminal.press("d")
        terminal.wait_for("effects ⇧tab")
        terminal.wait_for(lambda lines: "waiting for you" in lines[0])
        terminal.send("bye\r")
        terminal.wait_for("Bye.")
        terminal.wait_for(lambda lines: "waiting for you" in lines[0])
        assert "The person dropped all that was staged" in server.requests[5].text
        terminal.press("ctrl+c", "ctrl+c")
        assert terminal.wait_for_exit() == 0
    assert changed_files(place.project) == ["calc/core.py", "notes.txt"] and place.stages() == []


async def test_a_stage_begins_within_a_chat_and_a_later_edit_of_an_applied_file_does_not_conflict(
    place: Place,
):
    turns = [say("Hello."), FIX_ADD, say("Fixed one."), FIX_MEAN, say("Fixed two.")]
    with (
        ScriptedServer(turns) as server,
        place.home.screen("--model", "fake", "--api-base", server.base_url, cwd=place.project) as terminal,
    ):
        terminal.wait_for("›")
        terminal.send("hello\r")
        terminal.wait_for("Hello.")
        terminal.wait_for(lambda lines: "waiting for you" in lines[0])
        terminal.send("/stage\r")
        terminal.wait_for("its changes are staged")
        terminal.wait_for("stage ⇧tab")
        terminal.wait_for(lambda lines: "waiting for you" in lines[0])
        for message, said in (("one", "Fixed one."), ("two", "Fixed two.")):
            terminal.send(f"{message}\r")
            terminal.wait_for(said)
            terminal.wait_for("1 file staged")
            terminal.send("/apply\r")
            listed(terminal)
            terminal.press("y")
            terminal.wait_for("Applied: `calc/core.py`")
            terminal.wait_for(lambda lines: "waiting for you" in lines[0])
    assert "a + b" in place.core.read_text() and "/ len(values)" in place.core.read_text()


async def test_the_end_of_a_run_on_the_screen_leads_to_the_review(place: Place):
    with (
        ScriptedServer([FIX_BOTH], then=DONE) as server,
        place.home.screen(
            *("fix the sums", "--until", CHECK, "--gate", "stage", "--model", "fake", "--api-base", server.base_url),
            cwd=place.project,
        ) as terminal,
    ):
        terminal.wait_for("a apply")
        assert "1 file staged" in terminal.text()
        terminal.press("a")
        listed(terminal)
        assert changed_files(place.project) == []
        terminal.press("y")
        terminal.wait_for("The checks pass in the workspace.")
        terminal.wait_gone("a apply")
        assert changed_files(place.project) == ["calc/core.py"]
