"""What programs open in a layer is noted from outside of it, also for an ordinary user."""

from __future__ import annotations

from pathlib import Path

from rundry.agent.verdict.judge.opened import OpenedFiles

from .conftest import AsUser, Bench

SCRIPT = """
cat a.txt > /dev/null; echo more >> sub/b.txt; cat sub/b.txt > /dev/null; ls -R > /dev/null; echo new > new; cat new
mv sub/c.txt sub/d.txt; cat sub/d.txt; rm gone.txt
"""


def check(bench: Bench) -> None:
    for name in ("a.txt", "sub/b.txt", "sub/c.txt", "gone.txt", "other.txt"):
        (bench.ws / name).parent.mkdir(exist_ok=True)
        (bench.ws / name).write_text("text\n")
    layer = bench.layer()
    noted = OpenedFiles(Path(f"/proc/self/fd/{layer.root}"))
    try:
        done = bench.run(layer, SCRIPT)
    finally:
        found = noted.stop()
        layer.drop()
    assert done.returncode == 0, done.stderr
    assert found == {"a.txt", "sub/b.txt"}


def test_files_that_a_command_opens_in_a_layer_are_noted(bench: Bench):
    check(bench)


def test_an_ordinary_user_has_them_noted_too(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check(bench)
        bench.close()

    as_user(act)
