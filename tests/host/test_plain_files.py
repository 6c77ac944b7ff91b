"""Reading what may not be a plain file leaves nothing open: an open folder of a layer keeps it from being mounted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rundry.agent.host.plain_files import read_plain, reader_of
from rundry.agent.layers.git.file_sides import read_below


def read_folder(path: Path) -> object:
    return reader_of(os.open(path, os.O_RDONLY))


def read_folder_below(path: Path) -> object:
    above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return read_below(above, os.fsencode(path.name), 100)
    finally:
        os.close(above)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are counted in /proc")
@pytest.mark.parametrize("read", [read_plain, read_folder, read_folder_below])
def test_a_folder_is_an_error_and_does_not_stay_open(tmp_path: Path, read: Callable[[Path], object]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError):
        read(folder)
    links = [Path(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
    assert str(folder) not in [os.readlink(link) for link in links if link.is_symlink()]


def test_a_file_is_read_and_closed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"text")
    opened = os.open(tmp_path / "file", os.O_RDONLY)
    with reader_of(opened) as file:
        assert file.read() == b"text"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened)
