"""In a judge's layer a repository is as it was before the commands that nobody decided on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace
from sampling import sampled

from rundry.agent.layers.git.git_rows import GitChanges, inverse
from rundry.agent.layers.git.take_back import git_past, take_back
from rundry.agent.layers.judge_view_files import put_past
from rundry.agent.layers.layer import Layer

from .conftest import AsUser, Bench
from .gitting import ENV, SETUP, STATE, run, sh, state, take
from .test_git import CASES

NAMES = ("status", "refs", "head", "log", "stash", "index", "reflog", "reflogs", "fsck", "operation")
COMPARED = ("refs", "head", "log", "stash", "index", "fsck", "operation")


def view(bench: Bench, undone: Sequence[GitChanges]) -> Layer:
    """Return a layer in which these changes are taken back."""
    layer = Layer(bench.folder / "view", bench.ws)
    put_past(layer, git_past(undone, bench.ws))
    layer.mount(bench.namespaces)
    take_back(layer, lambda: layer.words, undone)
    return layer


def seen(bench: Bench, layer: Layer) -> dict[str, str]:
    done = bench.run(layer, ENV + STATE)
    assert done.returncode == 0, done.stderr
    parts = done.stdout.replace(str(bench.ws.parent), "").split("%%%\n")
    return dict(zip(NAMES, parts, strict=True))


def check(bench: Bench, script: str) -> None:
    sh(bench.ws, SETUP)
    before = state(bench.ws)
    layer = bench.layer()
    run(bench, layer, script)
    report, _ = take(bench, layer)
    layer.drop()
    after = state(bench.ws)
    undone = [
        replace(one, rows=inverse(one.rows), logs={}, not_taken=(), pack=b"", large=b"") for one in report.repositories
    ]
    judged = view(bench, undone)
    found = seen(bench, judged)
    judged.drop()
    assert {name: found[name] for name in COMPARED} == {name: before[name] for name in COMPARED}
    assert state(bench.ws) == after


@pytest.mark.parametrize("script", sampled(CASES, 12))
def test_what_git_commands_did_is_not_in_the_view_and_stays_in_the_workspace(bench: Bench, script: str):
    check(bench, script)


def test_a_commit_of_an_ordinary_user_is_taken_back_too(as_user: AsUser):
    def act(folder: Path) -> None:
        bench = Bench(folder)
        check(bench, "git stash -q; git switch -qc topic; echo x > x; git add x; git commit -qm topic; git tag v9")
        bench.close()

    as_user(act)
