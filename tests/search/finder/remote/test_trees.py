"""The files of a workspace as they travel to a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.search.remote.trees.scan import TreeChanged, TreeReader, TreeTooLarge, WorkspaceTree
from rundry.agent.search.remote.trees.tree_copies import Copies
from rundry.agent.search.remote.trees.tree_manifest import (
    PIECE,
    ManifestEntry,
    decode_manifest,
    digest_of_piece,
    encode_manifest,
)
from rundry.agent.search.remote.trees.tree_store import Missing, PieceStore


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "deep.txt").write_text("deep\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("a/b/deep.txt")
    return folder


def reader_of(place: Path, hidden: Sequence[Path] = ()) -> TreeReader:
    class Hiding(TreeReader):
        def hidden(self) -> Sequence[Path]:
            return hidden

    return Hiding(Workspace(place))


def send(tree: WorkspaceTree, store: PieceStore) -> list[str]:
    """Send what the store needs, as a runner does. Returns the digests that were sent."""
    sent: list[str] = []
    while needs := store.needs(tree.digest):
        for digest in needs:
            store.put(digest, tree.piece(digest))
            sent.append(digest)
    return sent


def listing(folder: Path) -> dict[str, str | bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return {str(p.relative_to(folder)): str(p.readlink()) if p.is_symlink() else p.read_bytes() for p in found}


async def copied(copies: Copies, tree: WorkspaceTree) -> dict[str, str | bytes]:
    async with copies.holding(tree.digest) as root:
        return listing(root)


def test_a_copy_has_the_files_links_and_modes_of_the_workspace(place: Path):
    store, tree = PieceStore(), reader_of(place).read()
    send(tree, store)

    async def work() -> None:
        async with Copies(store).holding(tree.digest) as root:
            assert listing(root) == listing(place)
            assert (root / "run.sh").stat().st_mode & 0o777 == 0o755
            assert (root / "a" / "b" / "deep.txt").stat().st_mode & 0o777 == 0o644

    asyncio.run(work())


def test_only_what_the_worker_lacks_is_sent(place: Path):
    store, reader = PieceStore(), reader_of(place)
    assert len(send(reader.read(), store)) == 3, "the manifest and two files"
    (place / "run.sh").write_text("#!/bin/sh\necho\n")
    tree = reader.read()
    assert send(tree, store) == [tree.digest, digest_of_piece(b"#!/bin/sh\necho\n")]
    assert send(reader.read(), store) == []


def test_a_long_file_travels_in_pieces(place: Path):
    data = bytes(range(256)) * (2 * PIECE // 256 + 1)
    (place / "long").write_bytes(data)
    store, tree = PieceStore(), reader_of(place).read()
    assert len(send(tree, store)) >= 5
    assert asyncio.run(copied(Copies(store), tree))["long"] == data


def test_a_piece_that_arrives_damaged_is_refused(place: Path):
    store = PieceStore()
    with pytest.raises(ValueError, match="arrived damaged"):
        store.put(digest_of_piece(b"right"), b"wrong")
    assert store.lacking([digest_of_piece(b"right")]) == [digest_of_piece(b"right")]


def test_a_file_that_changes_while_it_is_sent_is_noticed(place: Path):
    tree = reader_of(place).read()
    (place / "run.sh").write_text("other\n")
    with pytest.raises(TreeChanged, match=r"run\.sh"):
        tree.piece(digest_of_piece(b"#!/bin/sh\n"))
    (place / "run.sh").unlink()
    with pytest.raises(TreeChanged, match=r"run\.sh"):
        tree.piece(digest_of_piece(b"#!/bin/sh\n"))


def test_ignored_secret_and_hidden_files_are_never_sent(place: Path):
    for name in (".env", "key.pem", "secret.txt", "out.log"):
        (place / name).write_text("secret\n")
    (place / ".gitignore").write_text("*.log\n")
    (place / "closed").mkdir()
    (place / "closed" / "x").write_text("secret\n")
    tree = reader_of(place, [place / "secret.txt", place / "closed"]).read()
    assert tree.paths == {"a", "a/b", "a/b/deep.txt", "run.sh", "link", ".gitignore"}
    assert digest_of_piece(b"secret\n") not in tree.places


def test_a_copy_is_made_equal_again_whatever_was_done_to_it(place: Path, tmp_path: Path):
    store, tree = PieceStore(), reader_of(place).read()
    send(tree, store)
    copies, outside = Copies(store), tmp_path / "outside"
    outside.mkdir()

    async def work() -> None:
        async with copies.holding(tree.digest) as root:
            (root / "run.sh").write_text("changed\n")
            (root / "a" / "b" / "deep.txt").unlink()
            (root / "a" / "b").rmdir()
            (root / "a" / "b").symlink_to(outside)
            (root / "new" / "folder").mkdir(parents=True)
            (root / "new" / "folder" / "file").write_text("new\n")
        async with copies.holding(tree.digest) as again:
            assert again == root
            assert listing(again) == listing(place)
        assert not list(outside.iterdir())

    asyncio.run(work())


def test_two_works_at_the_same_time_have_two_copies(place: Path):
    store, tree = PieceStore(), reader_of(place).read()
    send(tree, store)

    async def work() -> None:
        copies = Copies(store)
        async with copies.holding(tree.digest) as one, copies.holding(tree.digest) as other:
            assert one != other

    asyncio.run(work())


def test_a_full_store_forgets_what_was_not_used_for_the_longest_time():
    store = PieceStore(capacity=10)
    pieces = [b"aaaa", b"bbbb", b"cccc"]
    for data in pieces:
        store.put(digest_of_piece(data), data)
    assert store.lacking([digest_of_piece(data) for data in pieces]) == [digest_of_piece(b"aaaa")]
    with pytest.raises(Missing):
        store.get(digest_of_piece(b"aaaa"))


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b", "a//b", "a\0b"])
def test_a_manifest_with_a_path_outside_is_refused(path: str):
    with pytest.raises(ValueError, match="not a path below"):
        decode_manifest(encode_manifest([ManifestEntry(path, "file")]))


def test_a_name_that_is_not_utf8_arrives_unchanged():
    entries = [ManifestEntry("a\udcff", "link", target="b\udcfe")]
    assert decode_manifest(encode_manifest(entries)) == entries


def test_a_tree_that_is_too_large_is_refused_before_it_is_read(place: Path):
    with (place / "large").open("wb") as file:
        file.truncate(257_000_000)
    with pytest.raises(TreeTooLarge, match="256 MB"):
        reader_of(place).read()


def test_callers_that_wait_share_one_read_that_began_after_they_came(place: Path):
    async def work() -> None:
        reader = reader_of(place)
        first = asyncio.create_task(reader.current())
        await asyncio.sleep(0)
        (place / "late.txt").write_text("late\n")
        second, third = await asyncio.gather(reader.current(), reader.current())
        await first
        assert "late.txt" in second.paths
        assert second is third

    asyncio.run(work())
