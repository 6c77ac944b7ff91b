"""Changes of files and folders, as the kernel reports them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from rundry.agent.host.inotify import Inotify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is a part of Linux")


class Seen:
    def __init__(self) -> None:
        self.paths: set[Path] = set()
        self.news = asyncio.Event()

    def take(self, changed: set[Path]) -> None:
        self.paths |= changed
        self.news.set()

    async def until(self, path: Path) -> None:
        async with asyncio.timeout(5):
            while path not in self.paths:
                self.news.clear()
                await self.news.wait()


async def test_files_of_a_watched_folder_are_reported_by_their_path(tmp_path):
    seen = Seen()
    inotify = Inotify(seen.take)
    inotify.watch(tmp_path)
    for name in ("a", "ä ö", "x" * 200):
        (tmp_path / name).write_text("1")
        await seen.until(tmp_path / name)
    (tmp_path / "a").rename(tmp_path / "b")
    await seen.until(tmp_path / "b")
    inotify.close()


async def test_of_a_file_that_is_watched_for_writes_only_writes_are_reported(tmp_path):
    file, other = tmp_path / "file", tmp_path / "other"
    file.write_text("1")
    seen = Seen()
    inotify = Inotify(seen.take)
    inotify.watch(file, written_only=True)
    other.write_text("1")
    file.chmod(0o600)
    file.read_text()
    with file.open("a") as opened:
        opened.write("2")
    await seen.until(file)
    assert seen.paths == {file}
    inotify.close()


async def test_a_path_that_is_not_there_cannot_be_watched(tmp_path):
    inotify = Inotify(lambda changed: None)
    with pytest.raises(FileNotFoundError, match="missing"):
        inotify.watch(tmp_path / "missing")
    inotify.close()
    inotify.close()
