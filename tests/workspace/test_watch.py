import asyncio

import pytest

from rundry.agent.protocol import Clock
from rundry.agent.workspace import SystemClock, Workspace, read_state, watch, write_file


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


async def test_others_changes_are_told_and_our_own_and_ignored_ones_are_not(ws):
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


async def test_what_someone_writes_over_our_own_write_is_told(ws):
    watched = Watched(ws)
    await watched.until("src/a.py", writer(ws.root / "src/a.py"))
    write_file(ws, read_state(ws.resolve("src/b.py")), b"ours")
    await watched.until("src/b.py", writer(ws.root / "src/b.py"))
    await watched.end()


async def test_only_the_files_in_play_are_told_where_they_are_named(ws):
    watched = Watched(ws, paths=[ws.root / "src/a.py"])

    def both():
        writer(ws.root / "src/b.py")()
        (ws.root / "src/a.py").write_text(str(asyncio.get_running_loop().time()))

    await watched.until("src/a.py", both)
    assert watched.told == {"src/a.py"}
    await watched.end()


async def test_the_systems_clock_runs_forward():
    clock: Clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(-1)
    await clock.sleep(0.001)
    assert clock.monotonic() > before and clock.now() > 1_700_000_000
