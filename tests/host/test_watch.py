import asyncio
import os
import time

import pytest

from rundry.agent.host.files.file_states import read_state
from rundry.agent.host.files.write_file import remove_file, write_file
from rundry.agent.host.real_clock import SystemClock
from rundry.agent.host.watch_files import watch, watch_files
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.protocol import Clock


@pytest.fixture
def ws(tmp_path):
    root = tmp_path / "w"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("a")
    (root / "src/b.py").write_text("b")
    (root / ".gitignore").write_text("*.log\n")
    return Workspace(root)


class Watched:
    """A watch that is known to be awake, and what it told."""

    def __init__(self, ws, **options):
        self.ws, self.told, self.news = ws, set(), asyncio.Event()
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(watch(ws, self.tell, self.stop, **options))

    def tell(self, paths):
        self.told |= paths
        self.news.set()

    async def until(self, path, again):
        async with asyncio.timeout(20):
            while path not in self.told:
                again()
                self.news.clear()
                try:
                    async with asyncio.timeout(0.5):
                        await self.news.wait()
                except TimeoutError:
                    continue

    async def end(self):
        self.stop.set()
        async with asyncio.timeout(10):
            await self.task


def writer(path):
    count = iter(range(1000))
    return lambda: path.write_text(str(next(count)))


async def test_others_changes_are_reported_and_our_own_and_ignored_ones_are_not(ws):
    watched = Watched(ws)
    await watched.until("src/a.py", writer(ws.root / "src/a.py"))
    watched.told.clear()
    write_file(ws, read_state(ws.resolve("src/b.py")), b"ours")
    (ws.root / "x.log").write_text("ignored")
    await watched.until("new.txt", writer(ws.root / "new.txt"))
    assert watched.told <= {"new.txt", "src/a.py"}
    (ws.root / "src/b.py").unlink()
    await watched.until("src/b.py", lambda: None)
    await watched.end()


async def test_what_someone_writes_over_our_own_write_is_reported(ws):
    watched = Watched(ws)
    await watched.until("src/a.py", writer(ws.root / "src/a.py"))
    write_file(ws, read_state(ws.resolve("src/b.py")), b"ours")
    await watched.until("src/b.py", writer(ws.root / "src/b.py"))
    await watched.end()


async def test_whoever_writes_in_the_same_tick_as_much_as_we_did_is_not_taken_for_us(ws):
    path = ws.root / "src/a.py"
    write_file(ws, read_state(ws.resolve("src/a.py")), b"ours")
    status = path.stat()
    assert ws.run_writes.is_ours(path)
    path.write_bytes(b"hers")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not ws.run_writes.is_ours(path)
    path.write_bytes(b"ours")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert ws.run_writes.is_ours(path)
    remove_file(ws, read_state(ws.resolve("src/a.py")))
    assert ws.run_writes.is_ours(path)
    path.mkdir()
    assert not ws.run_writes.is_ours(path)


async def is_reported(paths, change):
    """Repeat `change` until the watch of `paths` reports it: a watch needs a moment to start."""
    news, stop = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(watch_files(paths, news.set, stop))
    async with asyncio.timeout(20):
        while not news.is_set():
            change()
            try:
                async with asyncio.timeout(0.2):
                    await news.wait()
            except TimeoutError:
                continue
        stop.set()
        await task
    return news.is_set()


@pytest.mark.parametrize("name", ["src/a.py", "src/x.log", "none/of/these.py"])
async def test_each_change_of_a_watched_file_is_reported_also_of_an_ignored_missing_or_own_one(ws, name):
    path = ws.root / name

    def change():
        write_file(ws, read_state(ws.resolve(name)), str(time.monotonic_ns()).encode())

    assert await is_reported([path], change)


async def test_a_file_that_becomes_a_folder_is_reported(ws):
    path = ws.root / "src/a.py"

    def change():
        path.rmdir() if path.is_dir() else path.unlink()
        path.mkdir()

    assert await is_reported([path], change)


async def test_other_files_of_the_folder_are_not_reported(ws):
    news, stop = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(watch_files([ws.root / "src/a.py"], news.set, stop))
    watched = Watched(ws)
    await watched.until("src/b.py", writer(ws.root / "src/b.py"))
    assert not news.is_set()
    stop.set()
    await task
    await watched.end()


async def test_the_systems_clock_runs_forward():
    clock: Clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(-1)
    await clock.sleep(0.001)
    assert clock.monotonic() > before and clock.now() > 1_700_000_000
