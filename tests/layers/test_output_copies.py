"""A copied folder of output hides that of the workspace in a layer, with the files and times that it had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rundry.agent.layers.layer import Layer
from rundry.agent.layers.output_copies import OutputCopies

from .conftest import AsUser, Bench

OLD = 10**18


def filled(bench: Bench) -> OutputCopies:
    build = bench.ws / "sub/build/deep"
    build.mkdir(parents=True)
    (build / "old").write_text("old\n")
    (build / "gone").write_text("old\n")
    (build / "run").write_text("#!/bin/sh\necho ran\n")
    (build / "run").chmod(0o755)
    (build / "link").symlink_to("../../outside")
    os.mkfifo(build / "pipe")
    os.utime(build / "old", ns=(OLD, OLD))
    (bench.ws / "sub/source").write_text("a\n")
    (bench.folder / "base").mkdir()
    return OutputCopies(bench.folder / "base", "run", bench.ws)


def check(bench: Bench) -> None:
    copies = filled(bench)
    assert copies.keep("sub/build") and [*copies.paths()] == ["sub/build"]
    build = bench.ws / "sub/build/deep"
    (build / "old").write_text("new\n")
    (build / "made").write_text("new\n")
    (build / "gone").unlink()
    (bench.ws / "sub/source").write_text("b\n")
    layer = Layer(bench.folder / "view", bench.ws)
    layer.between = copies.tree
    layer.mount(bench.namespaces)
    look = "cat sub/source; cd sub/build/deep; ls; cat old gone; stat -c %Y old; ./run; readlink link; echo x > made"
    done = bench.run(layer, look)
    layer.drop()
    assert done.returncode == 0, done.stderr
    wanted = ["b", "gone", "link", "old", "run", "old", "old", str(OLD // 10**9), "ran", "../../outside"]
    assert done.stdout.split() == wanted
    assert (build / "made").read_text() == "new\n"


def test_a_layer_shows_the_copy_and_else_the_workspace(bench: Bench):
    check(bench)


def test_a_layer_of_an_ordinary_user_does_so_too(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check(bench)
        bench.close()

    as_user(act)


@pytest.mark.parametrize("path", ["none", "sub/source", "link"])
def test_only_folders_are_copied(bench: Bench, path: str):
    copies = filled(bench)
    (bench.ws / "link").symlink_to("sub/build")
    assert not copies.keep(path) and not [*copies.paths()]


def test_a_copy_that_was_not_finished_is_none(bench: Bench):
    copies = filled(bench)
    copies.tree.parent.mkdir(parents=True)
    (copies.tree.parent / "half/made").mkdir(parents=True)
    (copies.tree / "sub").mkdir(parents=True)
    assert [*copies.paths()] == []
    assert copies.keep("sub/build") and [*copies.paths()] == ["sub/build"]


def test_old_copies_are_deleted_and_new_ones_stay(bench: Bench):
    copies = filled(bench)
    copies.keep("sub/build")
    copies.expire()
    assert [*copies.paths()] == ["sub/build"]
    os.utime(copies.tree.parent, (1, 1))
    copies.expire()
    assert [*copies.paths()] == [] and not copies.tree.exists()
