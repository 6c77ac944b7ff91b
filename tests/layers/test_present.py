"""What is at given paths now, read again only where the kernel says that something was touched."""

import os

from rundry.agent.layers import present
from rundry.agent.layers.present import UNREADABLE, Present


def one(found, path):
    return dict(found.sides([path]))[path]


def test_it_tells_files_links_folders_and_nothing(tmp_path):
    (tmp_path / "a").write_text("one")
    (tmp_path / "a").chmod(0o755)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    found = dict(Present(tmp_path).sides(["a", "link", "folder", "fifo", "none", "link/below", "folder/none"]))
    assert (found["a"].type, found["a"].executable, found["a"].digest[:6]) == ("file", True, "7692c3")
    assert (found["link"].type, found["folder"].type) == ("link", "folder")
    assert found["fifo"] == UNREADABLE
    assert [found[path] for path in ("none", "link/below", "folder/none")] == [None, None, None]


def test_a_file_of_the_same_size_that_is_written_twice_in_a_moment_is_read_twice(tmp_path):
    file, found, seen = tmp_path / "a", Present(tmp_path), set()
    for number in range(200):
        file.write_text(f"{number:03}")
        seen.add(one(found, "a").digest)
    assert len(seen) == 200


def test_a_file_that_nobody_touched_is_read_once(tmp_path, monkeypatch):
    file, found, reads = tmp_path / "a", Present(tmp_path), []
    file.write_text("one")
    read = present.digest_of_file
    monkeypatch.setattr(present, "digest_of_file", lambda *given: reads.append(1) or read(*given))
    monkeypatch.setattr(present, "LONGEST_TICK", -10_000_000_000)
    assert one(found, "a") == one(found, "a")
    assert len(reads) == 1
    file.chmod(0o700)
    assert one(found, "a").executable and len(reads) == 2
