import os
import statistics
import subprocess
import time

import pytest

from rundry.agent.workspace.paths import Workspace
from rundry.agent.workspace.snapshots import scan as scanning
from rundry.agent.workspace.snapshots.snapshots import Snapshots


@pytest.fixture
def ws(tmp_path):
    root = tmp_path / "w"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("a = 1\n")
    (root / "b.txt").write_bytes(b"b\r\n\xff\n")
    return Workspace(root)


@pytest.fixture
def snapshots(ws, tmp_path):
    return Snapshots(ws, tmp_path / "store")


def git(tmp_path, *words):
    command = ["git", f"--git-dir={tmp_path / 'store'}", *words]
    return subprocess.run(command, capture_output=True, check=True).stdout


async def test_the_same_content_has_the_same_id_and_any_change_another(ws, snapshots):
    first = await snapshots.take()
    assert first and await snapshots.take() == first == snapshots.fingerprint()
    (ws.root / "src/a.py").write_text("a = 2\n")
    second = await snapshots.take()
    assert second != first
    (ws.root / "src/a.py").write_text("a = 1\n")
    assert await snapshots.take() == first


async def test_a_change_within_the_clocks_tick_and_of_the_same_size_is_seen(ws, snapshots):
    seen = set()
    for number in range(40):
        (ws.root / "src/a.py").write_text(f"{number:02d}")
        seen.add(await snapshots.take())
    assert len(seen) == 40


@pytest.mark.parametrize("ignored", ["", ".rundry.toml\n", "*\n"])
async def test_a_new_config_of_rundrys_own_is_seen_and_taken_back_whatever_is_ignored(ws, snapshots, ignored):
    (ws.root / ".gitignore").write_text(ignored)
    before = await snapshots.take()
    (ws.root / ".rundry.toml").write_text('until = "true"\n')
    after = await snapshots.take()
    (change,) = await snapshots.changes(before, after)
    assert (change.path, change.kind, change.after) == (".rundry.toml", "added", b'until = "true"\n')
    assert await snapshots.restore(before, [change.path]) == []
    assert not (ws.root / ".rundry.toml").exists()
    assert await snapshots.take() == before


async def test_changes_name_what_differs_with_both_contents(ws, snapshots):
    a = await snapshots.take()
    (ws.root / "src/a.py").write_text("a = 2\n")
    (ws.root / "b.txt").unlink()
    (ws.root / "new").mkdir()
    (ws.root / "new/c").write_bytes(b"\0\1")
    (ws.root / "new/link").symlink_to("c")
    b = await snapshots.take()
    assert [(each.path, each.kind, each.before, each.after) for each in await snapshots.changes(a, b)] == [
        ("b.txt", "removed", b"b\r\n\xff\n", None),
        ("new/c", "added", None, b"\0\1"),
        ("new/link", "added", None, b"c"),
        ("src/a.py", "changed", b"a = 1\n", b"a = 2\n"),
    ]
    assert await snapshots.changes(b, b) == []


async def test_a_file_that_became_executable_is_a_change_of_mode(ws, snapshots):
    a = await snapshots.take()
    (ws.root / "src/a.py").chmod(0o755)
    (change,) = await snapshots.changes(a, await snapshots.take())
    assert (change.kind, change.before_mode, change.after_mode) == ("mode", 0o100644, 0o100755)
    assert await snapshots.restore(a, ["src/a.py"]) == []
    assert not (ws.root / "src/a.py").stat().st_mode & 0o111


async def test_all_permissions_come_back_and_git_still_reads_the_store(ws, snapshots, tmp_path):
    (ws.root / "src/a.py").chmod(0o640)
    a = await snapshots.take()
    (ws.root / "src/a.py").chmod(0o666)
    await snapshots.take()
    assert await snapshots.restore(a, ["src/a.py"]) == []
    assert (ws.root / "src/a.py").stat().st_mode & 0o777 == 0o640
    assert await snapshots.take() == a
    subprocess.run(["git", "fsck", "--strict"], cwd=tmp_path / "store", check=True, capture_output=True)


async def test_permissions_that_someone_changed_since_are_left(ws, snapshots):
    a = await snapshots.take()
    (ws.root / "src/a.py").chmod(0o755)
    b = await snapshots.take()
    (ws.root / "src/a.py").chmod(0o600)
    (line,) = await snapshots.restore(a, ["src/a.py"], expected=b)
    assert "someone changed its permissions since" in line
    assert (ws.root / "src/a.py").stat().st_mode & 0o777 == 0o600


async def test_restoring_brings_back_what_a_command_changed_made_and_removed(ws, snapshots):
    (ws.root / "link").symlink_to("b.txt")
    secret = ws.root / ".env"
    secret.write_text("KEY=1")
    secret.chmod(0o600)
    a = await snapshots.take()
    (ws.root / "src/a.py").write_text("other")
    (ws.root / "link").unlink()
    (ws.root / "link").write_text("now a file")
    secret.unlink()
    (ws.root / "b.txt").unlink()
    (ws.root / "b.txt").mkdir()
    (ws.root / "b.txt/inner").write_text("a folder where a file was")
    (ws.root / "new/deep").mkdir(parents=True)
    (ws.root / "new/deep/x").write_text("x")
    b = await snapshots.take()
    paths = [change.path for change in await snapshots.changes(a, b)]
    assert await snapshots.restore(a, paths) == []
    assert await snapshots.take() == a
    assert os.readlink(ws.root / "link") == "b.txt" and (ws.root / "b.txt").read_bytes() == b"b\r\n\xff\n"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not (ws.root / "new").exists()


async def test_restoring_leaves_a_file_that_someone_changed_since_and_says_so(ws, snapshots):
    a = await snapshots.take()
    (ws.root / "src/a.py").write_text("command")
    (ws.root / "b.txt").write_text("command")
    (ws.root / "made").write_text("command")
    await snapshots.take()
    (ws.root / "src/a.py").write_text("person")
    (ws.root / "made").write_text("person")
    said = await snapshots.restore(a, ["src/a.py", "b.txt", "made"])
    assert sorted(line.partition(":")[0] for line in said) == ["made", "src/a.py"]
    assert all("someone changed it" in line for line in said)
    assert (ws.root / "src/a.py").read_text() == "person" and (ws.root / "made").read_text() == "person"
    assert (ws.root / "b.txt").read_bytes() == b"b\r\n\xff\n"


async def test_restoring_does_not_go_through_a_link_that_leads_out(ws, snapshots, tmp_path):
    a = await snapshots.take()
    outside = tmp_path / "outside"
    (ws.root / "src").rename(outside)
    (ws.root / "src").symlink_to(outside)
    (outside / "a.py").unlink()
    await snapshots.take()
    assert len(await snapshots.restore(a, ["src/a.py"])) == 1
    assert not (outside / "a.py").exists()


async def test_a_snapshot_outlives_the_process_that_took_it(ws, snapshots, tmp_path):
    a = await snapshots.take()
    (ws.root / "src/a.py").write_text("changed")
    later = Snapshots(Workspace(ws.root), tmp_path / "store")
    b = await later.take()
    assert [change.path for change in await later.changes(a, b)] == ["src/a.py"]
    assert await later.restore(a, ["src/a.py"]) == []
    assert (ws.root / "src/a.py").read_text() == "a = 1\n"


async def test_ignored_files_and_gits_own_are_not_in_it(ws, snapshots, tmp_path):
    (ws.root / ".gitignore").write_text("*.log\nbuild/\n")
    (ws.root / "src/.gitignore").write_text("!keep.log\ngen*\n")
    for name in ("x.log", "src/keep.log", "src/gen.py", "build/out", ".git/config", "__pycache__/a.pyc"):
        path = ws.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    names = git(tmp_path, "ls-tree", "-r", "--name-only", await snapshots.take()).decode().split()
    assert names == [".gitignore", "b.txt", "src/.gitignore", "src/a.py", "src/keep.log"]
    (ws.root / "src/.gitignore").write_text("")
    names = git(tmp_path, "ls-tree", "-r", "--name-only", await snapshots.take()).decode().split()
    assert names == [".gitignore", "b.txt", "src/.gitignore", "src/a.py", "src/gen.py"]


async def test_git_reads_the_store_and_finds_the_exact_bytes(ws, snapshots, tmp_path):
    (ws.root / ".gitattributes").write_text("* text=auto eol=crlf ident filter=evil\n")
    (ws.root / "sp ace \u00e9").write_bytes(b"$Id$\r\n\r")
    os.close(os.open(os.fsencode(ws.root) + b"/\xff-name", os.O_CREAT | os.O_WRONLY))
    (ws.root / "src.d").mkdir()
    (ws.root / "src.d/z").write_text("sorted after src in git's own order")
    tree = await snapshots.take()
    subprocess.run(["git", "fsck", "--strict"], cwd=tmp_path / "store", check=True, capture_output=True)
    assert git(tmp_path, "cat-file", "blob", f"{tree}:sp ace \u00e9") == b"$Id$\r\n\r"
    assert b"\xff-name" in git(tmp_path, "ls-tree", "-z", "--name-only", tree).split(b"\0")


async def test_only_the_owner_may_read_the_store(ws, tmp_path):
    old = os.umask(0)
    try:
        await Snapshots(ws, tmp_path / "store").take()
    finally:
        os.umask(old)
    folders = [tmp_path / "store", tmp_path / "store/objects"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in folders)
    objects = [path for path in (tmp_path / "store/objects").rglob("*") if path.is_file()]
    assert objects and all(path.stat().st_mode & 0o077 == 0 for path in objects)


async def test_a_store_inside_of_the_workspace_is_not_in_its_own_snapshot(ws):
    snapshots = Snapshots(ws, ws.root / "runs/store")
    first = await snapshots.take()
    assert await snapshots.take() == first
    assert {change.path for change in await snapshots.changes("", first)} == {"b.txt", "src/a.py"}


async def test_a_file_too_large_to_keep_is_seen_to_change_and_said_not_to_come_back(ws, snapshots):
    with open(ws.root / "big", "wb") as file:
        file.truncate(scanning.LIMIT + 1)
    a = await snapshots.take()
    with open(ws.root / "big", "ab") as file:
        file.write(b"more")
    b = await snapshots.take()
    (change,) = await snapshots.changes(a, b)
    assert (change.kind, change.before, change.after) == ("large", None, None)
    assert "too large" in (await snapshots.restore(a, ["big"]))[0]


async def test_a_store_that_cannot_be_written_is_reported_and_nothing_raises(ws, tmp_path):
    (tmp_path / "file").write_text("")
    snapshots = Snapshots(ws, tmp_path / "file/store")
    await snapshots.start()
    assert "cannot be written" in snapshots.too_large
    assert await snapshots.take() == "" == snapshots.fingerprint()


async def test_a_workspace_of_too_many_files_is_reported(ws, tmp_path):
    for number in range(99):
        (ws.root / f"f{number}").write_text("")
    snapshots = Snapshots(ws, tmp_path / "store", most_files=100)
    await snapshots.start()
    assert "more than 100 files" in snapshots.too_large and "can be undone" in snapshots.too_large
    assert await snapshots.take() == ""


async def test_a_damaged_object_is_an_error_with_its_name(ws, snapshots, tmp_path):
    tree = await snapshots.take()
    for path in (tmp_path / "store/objects").rglob("*"):
        if path.is_file():
            path.write_bytes(b"")
    later = Snapshots(ws, tmp_path / "store")
    with pytest.raises(Exception, match=tree):
        await later.changes("", tree)


async def test_a_thousand_files_cost_milliseconds(ws, snapshots):
    """5 ms with nothing changed and 12 ms after an edit, on an idle machine; five times that here."""
    for number in range(1000):
        path = ws.root / f"p{number % 40}" / f"m{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"x = {number}\n" * 20)
    await snapshots.take()
    newest = max(path.stat().st_ctime for path in ws.root.rglob("*"))
    while time.time() < newest + 0.06:  # within this time a file may change again in one tick of the clock
        time.sleep(0.005)
    await snapshots.take()

    async def timed(edit: bool) -> float:
        if edit:
            (ws.root / "p3/m3.py").write_text(str(time.monotonic_ns()))
        before = time.perf_counter()
        await snapshots.take()
        return (time.perf_counter() - before) * 1000

    assert statistics.median([await timed(False) for _ in range(9)]) < 25
    assert statistics.median([await timed(True) for _ in range(9)]) < 60
