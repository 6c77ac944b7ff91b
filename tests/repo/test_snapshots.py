"""What a run of an older version stored next to its journal is read, and files are restored from it."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from rundry.agent.host.file_errors import SnapshotDamaged
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.repo.old_snapshots.loose_objects import ObjectStore, TreeEntry
from rundry.agent.repo.old_snapshots.restore import Restorer
from rundry.agent.repo.old_snapshots.snapshots import Snapshots

LARGE = 1_000_000
"""Bytes of a file that the store of these tests does not keep."""


class Store:
    """A store in the format of the older versions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("objects", "refs"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/none\n")

    def put(self, kind: bytes, data: bytes) -> str:
        whole = b"%s %d\0" % (kind, len(data)) + data
        sha = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        place = self.folder / "objects" / sha[:2] / sha[2:]
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(zlib.compress(whole))
        return sha

    def put_tree(self, entries: dict[bytes, TreeEntry]) -> str:
        lines = sorted(entries.items(), key=lambda item: item[0] + b"/" if stat.S_ISDIR(item[1].mode) else item[0])
        return self.put(b"tree", b"".join(b"%o %s\0%s" % (e.mode, name, bytes.fromhex(e.sha)) for name, e in lines))

    def take(self, folder: Path) -> str:
        """Store the files of a folder with all permissions, as a run did. Returns the id of the tree."""
        entries = dict[bytes, TreeEntry]()
        for path in folder.iterdir():
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                if any(path.iterdir()):
                    entries[os.fsencode(path.name)] = TreeEntry(0o040000, self.take(path))
            elif stat.S_ISLNK(mode):
                entries[os.fsencode(path.name)] = TreeEntry(0o120000, self.put(b"blob", os.fsencode(path.readlink())))
            elif path.stat().st_size > LARGE:
                entries[os.fsencode(path.name)] = TreeEntry(0o160000, "1" * 40)
            else:
                entries[os.fsencode(path.name)] = TreeEntry(mode, self.put(b"blob", path.read_bytes()))
        return self.put_tree(entries)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    root = tmp_path / "w"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("a = 1\n")
    (root / "b.txt").write_bytes(b"b\r\n\xff\n")
    return Workspace(root)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


async def restore(ws: Workspace, store: Store, tree: str, paths: Sequence[str], have: str) -> list[str]:
    """Restore files from a tree, unless they differ from the tree `have`, as an undo does."""
    snapshots = Snapshots(store.folder)
    folders = await snapshots.parent_folders(tree, paths)
    restorer = Restorer(ws, folders)
    wanted, known = await snapshots.versions(tree, paths), await snapshots.versions(have, paths)
    order = sorted(paths, key=lambda path: (wanted[path] is not None, path))
    return [line for path in order if (line := restorer.restore(path, wanted[path], known[path])) is not None]


async def test_all_permissions_come_back(ws: Workspace, store: Store):
    file = ws.root / "src/a.py"
    for before, after in pairwise((0o640, 0o666, 0o755, 0o600)):
        file.chmod(before)
        tree = store.take(ws.root)
        file.chmod(after)
        assert await restore(ws, store, tree, ["src/a.py"], store.take(ws.root)) == []
        assert file.stat().st_mode & 0o777 == before


async def test_permissions_that_someone_changed_since_are_left(ws: Workspace, store: Store):
    first = store.take(ws.root)
    (ws.root / "src/a.py").chmod(0o755)
    second = store.take(ws.root)
    (ws.root / "src/a.py").chmod(0o600)
    (line,) = await restore(ws, store, first, ["src/a.py"], second)
    assert "someone changed its permissions since" in line
    assert (ws.root / "src/a.py").stat().st_mode & 0o777 == 0o600


async def test_restoring_brings_back_what_a_command_changed_made_and_removed(ws: Workspace, store: Store):
    (ws.root / "link").symlink_to("b.txt")
    secret = ws.root / ".env"
    secret.write_text("KEY=1")
    secret.chmod(0o600)
    first = store.take(ws.root)
    (ws.root / "src/a.py").write_text("other")
    (ws.root / "link").unlink()
    (ws.root / "link").write_text("now a file")
    secret.unlink()
    (ws.root / "b.txt").unlink()
    (ws.root / "b.txt").mkdir()
    (ws.root / "b.txt/inner").write_text("a folder where a file was")
    (ws.root / "new/deep").mkdir(parents=True)
    (ws.root / "new/deep/x").write_text("x")
    paths = [".env", "b.txt", "b.txt/inner", "link", "new/deep/x", "src/a.py"]
    assert await restore(ws, store, first, paths, store.take(ws.root)) == []
    assert store.take(ws.root) == first
    assert os.readlink(ws.root / "link") == "b.txt" and (ws.root / "b.txt").read_bytes() == b"b\r\n\xff\n"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not (ws.root / "new").exists()


async def test_restoring_leaves_a_file_that_someone_changed_since_and_says_so(ws: Workspace, store: Store):
    first = store.take(ws.root)
    for name in ("src/a.py", "b.txt", "made"):
        (ws.root / name).write_text("command")
    second = store.take(ws.root)
    (ws.root / "src/a.py").write_text("person")
    (ws.root / "made").write_text("person")
    said = await restore(ws, store, first, ["src/a.py", "b.txt", "made"], second)
    assert sorted(line.partition(":")[0] for line in said) == ["made", "src/a.py"]
    assert all("someone changed it" in line for line in said)
    assert (ws.root / "src/a.py").read_text() == "person" and (ws.root / "made").read_text() == "person"
    assert (ws.root / "b.txt").read_bytes() == b"b\r\n\xff\n"


async def test_restoring_does_not_go_through_a_link_that_leads_out(ws: Workspace, store: Store, tmp_path: Path):
    first = store.take(ws.root)
    outside = tmp_path / "outside"
    (ws.root / "src").rename(outside)
    (ws.root / "src").symlink_to(outside)
    (outside / "a.py").unlink()
    assert len(await restore(ws, store, first, ["src/a.py"], store.take(ws.root))) == 1
    assert not (outside / "a.py").exists()


async def test_a_file_that_was_too_large_to_be_stored_is_named(ws: Workspace, store: Store, tmp_path: Path):
    (ws.root / "src/big").write_bytes(bytes(LARGE + 1))
    first = store.take(ws.root)
    (ws.root / "src/big").write_text("small")
    (line,) = await restore(ws, store, first, ["src/big"], store.take(ws.root))
    assert "too large" in line
    (tmp_path / "out").mkdir()
    assert await Snapshots(store.folder).write_to(first, tmp_path / "out") == ["src/big"]


async def test_the_files_of_a_tree_are_written_with_their_bytes_links_and_permissions(
    ws: Workspace, store: Store, tmp_path: Path
):
    (ws.root / "src/a.py").chmod(0o750)
    (ws.root / "src/link").symlink_to("../b.txt")
    os.close(os.open(os.fsencode(ws.root) + b"/\xff-name", os.O_CREAT | os.O_WRONLY, 0o644))
    first, out = store.take(ws.root), tmp_path / "out"
    out.mkdir()
    snapshots = Snapshots(store.folder)
    assert await snapshots.write_to(first, out) == []
    assert Store(tmp_path / "again").take(out) == first
    assert snapshots.has(first, "src/a.py") and snapshots.has(first, "src") and not snapshots.has(first, "src/b.py")
    subprocess.run(["git", "cat-file", "-e", f"{first}:src/a.py"], cwd=store.folder, check=True)


async def test_a_missing_or_damaged_object_is_an_error_with_its_name(ws: Workspace, store: Store):
    tree = store.take(ws.root)
    for path in (store.folder / "objects").rglob("*"):
        if path.is_file():
            path.write_bytes(b"")
    for folder in (store.folder, store.folder / "missing"):
        with pytest.raises(SnapshotDamaged, match=tree):
            Snapshots(folder).has(tree, "b.txt")


def test_only_the_newest_trees_stay_in_memory(store: Store):
    trees = [{b"f%d" % n: TreeEntry(0o100644, f"{number * 100 + n:040x}") for n in range(50)} for number in range(200)]
    names = [store.put_tree(tree) for tree in trees]
    read = ObjectStore(store.folder)
    first = [read.tree(name) for name in names]
    assert first == trees
    kept = sum(read.tree(name) is tree for name, tree in reversed([*zip(names, first, strict=True)]))
    assert 0 < kept * 50 <= 2_000


def test_a_tree_that_is_larger_than_the_memory_for_trees_is_known_until_the_next(store: Store):
    large = store.put_tree({b"f%d" % n: TreeEntry(0o100644, f"{n:040x}") for n in range(3_000)})
    small, read = store.put_tree({b"a": TreeEntry(0o100644, "0" * 40)}), ObjectStore(store.folder)
    found = read.tree(large)
    assert read.tree(large) is found
    read.tree(small)
    again = read.tree(large)
    assert again is not found and again == found
