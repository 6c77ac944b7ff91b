"""Opening below a folder on systems without openat2."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rundry.agent.layers import open_below as opening
from rundry.agent.layers.open_below import FOLDER, open_below


@pytest.fixture(params=["linux", "darwin"])
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(opening.sys, "platform", request.param)
    (tmp_path / "ws/a/b").mkdir(parents=True)
    (tmp_path / "ws/a/b/file").write_text("x")
    (tmp_path / "ws/link").symlink_to("a")
    (tmp_path / "ws/out").symlink_to("/etc")
    (tmp_path / "ws/a/last").symlink_to("b/file")
    folder = os.open(tmp_path / "ws", FOLDER)
    yield folder
    os.close(folder)


@pytest.mark.parametrize(("path", "flags"), [(b"a/b/file", os.O_RDONLY), (b"a/b", FOLDER), (b"", FOLDER)])
def test_what_lies_below_is_opened(root: int, path: bytes, flags: int):
    opened = open_below(root, path, flags)
    assert os.fstat(opened).st_ino == os.stat(path or b".", dir_fd=root).st_ino
    os.close(opened)


@pytest.mark.parametrize("path", [b"link/b/file", b"out/passwd", b"a/last", b"../ws", b"/etc/passwd", b"a/../../x"])
def test_what_leads_away_is_not_opened(root: int, path: bytes):
    with pytest.raises(OSError) as refused:
        open_below(root, path, os.O_RDONLY)
    assert refused.value.errno in (errno.ELOOP, errno.EXDEV, errno.ENOTDIR)
