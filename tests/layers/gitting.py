"""Run git commands in a layer, take over what they did, and compare with the same commands run directly."""

from __future__ import annotations

import difflib
import subprocess
import time
from pathlib import Path

from msgspec.structs import replace

from rundry.agent.host.leftovers import Leftovers
from rundry.agent.host.workspace_paths import Workspace
from rundry.agent.layers.apply import carry_out
from rundry.agent.layers.effect_rows import EffectRow
from rundry.agent.layers.git.apply_git_rows import GitResult, carry_out_git
from rundry.agent.layers.git.git_rows import inverse
from rundry.agent.layers.git.read_git_changes import GitReport, read_git
from rundry.agent.layers.layer import Layer

from .conftest import Bench

WHEN = f"{int(time.time()) - 90_000} +0000"
ENV = f"""
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=true HOME=/nonexistent
export GIT_AUTHOR_NAME=ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=ann GIT_COMMITTER_EMAIL=ann@example.org
export GIT_AUTHOR_DATE='{WHEN}' GIT_COMMITTER_DATE='{WHEN}'
"""
SETUP = """
git init -q -b main . && git config maintenance.auto false && git config advice.detachedHead false
for n in 1 2 3 4 5 6; do echo $n; done > a.txt
echo b > b.txt; mkdir -p src/deep; echo c > src/c.txt; echo d > src/deep/d.txt
printf '*.log\\n' > .gitignore; git add . && git commit -qm first
git branch old; git tag v1; sed -i s/1/one/ a.txt; git commit -qam second; git branch gone; git pack-refs --all
git switch -qc side old; sed -i s/1/uno/ a.txt; echo s > s.txt; git add .; git commit -qm side
echo t > t.txt; mkdir docs; echo d > docs/d.txt; git add .; git commit -qm side2; git switch -q main
echo stashed > b.txt; git stash push -qm kept
echo dirty >> src/c.txt; echo new > new.txt; echo staged > staged.txt; git add staged.txt
"""


STATE = """
git status --porcelain; echo %%%; git for-each-ref --format='%(refname) %(objectname)'; echo %%%
git symbolic-ref -q HEAD || git rev-parse HEAD; echo %%%; git log --all --format='%H %s'; echo %%%
git stash list --format='%gd %H %gs %gN %ct'; echo %%%; git ls-files -s -v; echo %%%
git reflog HEAD --format='%H %gs %gn' 2> /dev/null || true; echo %%%
for one in $(git for-each-ref --format='%(refname)' refs/heads); do git reflog $one --format='%H %gs'; done; echo %%%
git fsck --full --strict --no-dangling 2>&1 | grep -v '^notice' || true; echo %%%
cd "$(git rev-parse --absolute-git-dir)"
for one in *_HEAD *_MSG MERGE_MODE AUTO_MERGE BISECT_* rebase-merge/* rebase-apply/* sequencer/*; do
  case $one in FETCH_HEAD|COMMIT_EDITMSG) ;; *) [ ! -f $one ] || grep -H '' $one || echo $one is empty;; esac; done
"""


def sh(folder: Path, script: str) -> str:
    done = subprocess.run(["sh", "-ec", ENV + script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def state(folder: Path, top: str = ".") -> dict[str, object]:
    """Return what a user sees of a repository."""
    where = folder / top
    listed = sh(where, STATE)
    names = ("status", "refs", "head", "log", "stash", "index", "reflog", "reflogs", "fsck", "operation")
    parts = listed.split("%%%\n")
    return dict(zip(names, (part.replace(str(folder.parent), "") for part in parts), strict=True))


def states(folder: Path, tops: tuple[str, ...]) -> dict[str, object]:
    return {f"{top} {name}": part for top in (".", *tops) for name, part in state(folder, top).items()}


def take(
    bench: Bench, layer: Layer, inside: list[str] | None = None, *, everything: bool = False
) -> tuple[GitReport, list[GitResult]]:
    """Apply all that a layer has: files, then git."""
    report = read_git(layer, lambda: inside or layer.words)
    effects = [one for one in layer.effects()[0] if everything or not is_setting(one.path)]
    rows = [EffectRow(path=one.path, before=one.before, after=one.after) for one in effects]
    with layer.written() as written:
        results = carry_out(Workspace(bench.ws), rows, written)
    assert not [one for one in results if one.conflict], results
    return report, [
        one
        for changes in report.repositories
        for one in carry_out_git(changes, changes.rows, bench.ws, Leftovers(None))
    ]


def is_setting(path: str) -> bool:
    return ".git/" in f"{path}/" and not path.endswith("/.git")


def run(bench: Bench, layer: Layer, script: str) -> None:
    done = bench.run(layer, ENV + script)
    assert done.returncode == 0, done.stderr + done.stdout


def same_as_direct(bench: Bench, script: str, setup: str = SETUP, *tops: str, new: str = "") -> GitReport:
    sh(bench.ws, setup)
    direct = bench.folder / "direct/workspace"
    direct.mkdir(parents=True)
    sh(direct, setup)
    before = states(bench.ws, tops)
    layer = bench.layer()
    run(bench, layer, script)
    assert states(bench.ws, tops) == before, "nothing of it is in the workspace"
    report, results = take(bench, layer, everything=bool(new))
    assert not [one for one in results if one.conflict], results
    again = [one for part in report.repositories for one in carry_out_git(part, part.rows, bench.ws, Leftovers(None))]
    assert not [one for one in again if one.conflict], "rows can be repeated"
    layer.drop()
    sh(direct, script)
    expected, got = states(direct, (*tops, *new.split())), states(bench.ws, (*tops, *new.split()))
    assert not [part for name, part in got.items() if part and name.endswith("fsck")]
    differences = [
        line
        for name in expected
        for line in difflib.unified_diff(
            str(expected[name]).splitlines(), str(got[name]).splitlines(), f"{name} direct", f"{name} by the layer", n=0
        )
    ]
    assert not differences, "\n".join(differences)
    assert not [path for path in bench.folder.rglob("*") if path.name.endswith(".lock") or "tmp_obj" in path.name]
    if not new:
        taken_back(bench, report, before, tops)
    return report


def taken_back(bench: Bench, report: GitReport, before: dict[str, object], tops: tuple[str, ...]) -> None:
    for part in reversed(report.repositories):
        undone = replace(part, rows=inverse(part.rows), logs={}, pack=b"", large=b"")
        results = carry_out_git(undone, undone.rows, bench.ws, Leftovers(None))
        assert not [one for one in results if one.conflict], results
    names = ("refs", "head", "log", "stash", "index", "fsck", "operation")
    seen = [
        {name: part for name, part in one.items() if name.split()[1] in names}
        for one in (states(bench.ws, tops), before)
    ]
    assert seen[0] == seen[1]
