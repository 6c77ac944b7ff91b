"""A layer that cannot be opened in the middle of a run says why, how to mend it, and leaves nothing."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import pytest

from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.namespaces import Namespaces, NamespacesRefused
from rundry.agent.layers.remedies import LayerRefused, how_to_fix
from rundry.agent.layers.run_layers import RunLayers

from .conftest import Bench, apart, mount


def refusal(layers: RunLayers) -> str:
    with pytest.raises(LayerRefused) as found:
        layers.open()
    return str(found.value)


def test_on_a_full_disk_an_apply_changes_nothing():
    def act(folder: Path) -> None:
        disk = folder / "disk"
        disk.mkdir()
        mount("-t", "tmpfs", "-o", "size=4m,nr_inodes=60", "none", str(disk))
        for name in ("ws", "base"):
            (disk / name).mkdir(mode=0o700)
        layers = RunLayers(Workspace(disk / "ws"), disk / "base", "run", Namespaces())
        layers.open().drop()
        for number in range(60):
            try:
                (disk / f"filler{number}").mkdir()
            except OSError:
                break
        said = refusal(layers)
        assert "No space left on device" in said and f"Free some space on the disk of {disk}/base" in said
        assert os.listdir(disk / "base/layers") == []
        (disk / "filler0").rmdir()
        (disk / "filler1").rmdir()
        for number in range(2, 12):
            (disk / f"filler{number}").rmdir()
        layers.open().drop()
        layers.close()

    apart(act)


def test_a_forker_that_was_killed(bench: Bench):
    layers = RunLayers(Workspace(bench.ws), bench.folder / "base", "run", bench.namespaces)
    os.kill(bench.namespaces.pid, signal.SIGKILL)
    assert "`rundry resume`" in refusal(layers)
    assert os.listdir(bench.folder / "base/layers") == []
    layers.close()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NamespacesRefused("mount namespace", "No space left on device", errno.ENOSPC), "user.max_mnt_namespaces"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "Free some space"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "end other programs"),
        (NamespacesRefused("overlay", "Invalid argument", errno.EINVAL), "rundry doctor"),
    ],
)
def test_each_cause_has_its_remedy(error: NamespacesRefused | OSError, words: str):
    assert words in " ".join(how_to_fix(error, Path("/base")))
