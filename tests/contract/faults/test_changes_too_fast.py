"""The user changes more files than the system reports: the view of a stage shows them nevertheless (0039, units)."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.layered_folder import layered_folder
from fakes.paused_command import PausedCommand
from fakes.project import git, make_project
from fakes.rundry import Home
from fakes.server import ScriptedServer
from fakes.turns import Turn, call, say

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
LOOK = "cat swapped.txt; readlink link; stat -c 'size %s' grown.txt; ls new"
LINK = "ln swapped.txt same && cat same && rm same"
HELD = Turn(text="Now I think about it", hold_after=3)


@pytest.fixture
async def place(pytestconfig: pytest.Config) -> AsyncIterator[Path]:
    async with layered_folder(pytestconfig.rootpath) as folder:
        (folder / "project").mkdir()
        project = make_project(folder / "project")
        (project / ".gitignore").write_text("flood/\n__pycache__/\n")
        (project / "swapped.txt").write_text("old\n")
        (project / "grown.txt").write_text("1")
        (project / "link").symlink_to("swapped.txt")
        (project / "new").mkdir()
        (project / "flood").mkdir()
        git(project, "add", ".")
        git(project, "commit", "-qm", "Files")
        yield folder


def flood(project: Path) -> None:
    """Fill the queue of events with files that git ignores, then change what matters."""
    for number in range(int(QUEUE.read_text()) + 1_000):
        os.close(os.open(project / f"flood/{number}", os.O_CREAT | os.O_WRONLY, 0o644))
    (project / "aside").write_text("newer\n")
    (project / "aside").rename(project / "swapped.txt")
    (project / "grown").write_text("12345")
    (project / "grown").rename(project / "grown.txt")
    (project / "aside-link").symlink_to("grown.txt")
    (project / "aside-link").rename(project / "link")
    (project / "new-aside").mkdir()
    (project / "new-aside/inside.txt").write_text("x")
    (project / "new").rmdir()
    (project / "new-aside").rename(project / "new")


@pytest.mark.skipif(not QUEUE.exists(), reason="inotify is a part of Linux")
async def test_changes_that_were_not_reported_are_seen_by_every_kind_of_read(place: Path):
    home, project, held = Home(place), place / "project", PausedCommand()
    turns = [
        call("run_command", command=f"{LOOK}; {held.line}"),
        HELD,
        call("run_command", command="sleep 2; true"),  # changes are reported together, after a short pause
        call("run_command", command=f"{LOOK}; {LINK}"),
        say("so"),
    ]
    argv = ["run", "look", "--headless", "--json", "--gate", "stage", "--model", "fake", "--steps", "4"]
    with (
        ScriptedServer(turns) as server,
        home.start(*argv, "--api-base", server.base_url, cwd=project) as running,
    ):
        held.wait()
        held.release()
        running.wait_event("text_arrived")
        running.signal(signal.SIGSTOP)  # it reads no event meanwhile
        try:
            flood(project)
        finally:
            running.signal(signal.SIGCONT)
        server.release()
        ran = running.finish()
    first, _, second = ran.results("run_command")
    assert "old\nswapped.txt\nsize 1" in first, ran.story()
    assert "newer\ngrown.txt\nsize 5\ninside.txt\nnewer" in second, ran.story()
