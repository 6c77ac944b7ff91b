"""What a hostile command leaves in the git folder of its layer does not reach the repository, or is harmless there."""

from __future__ import annotations

import re

import pytest

from rundry.agent.layers.git.carry_out import GitResult, carry_out_git
from rundry.agent.layers.git.reading import GitReport, read_git
from rundry.agent.layers.layer import Layer
from rundry.agent.workspace.leftovers.record import Leftovers

from .conftest import Bench
from .gitting import SETUP, run, sh, state

FORGE = r"""
forge() { # NAME: the object that has this name gets other content
  d=.git/objects/$(echo $1 | cut -c1-2); mkdir -p $d
  python3 -c 'import sys, zlib; d = b"blob 5\0evil\n"; sys.stdout.buffer.write(zlib.compress(d))' > $d/$(echo $1 | cut -c3-)
}
raw() { python3 -c 'import sys; sys.stdout.buffer.write(eval(sys.argv[1]))' "$1"; }
tree() { # MODE NAME ID: a tree that no git would write
  raw "b'$1 $2' + bytes([0]) + bytes.fromhex('$3')" | git hash-object -t tree -w --stdin --literally
}
blob=$(echo x | git hash-object -w --stdin)
"""


def hostile(bench: Bench, script: str) -> tuple[dict[str, object], GitReport, list[GitResult], Layer]:
    sh(bench.ws, SETUP)
    before = state(bench.ws)
    layer = bench.layer()
    run(bench, layer, FORGE + script)
    report = read_git(layer, layer.words)
    results = [one for part in report.repositories for one in carry_out_git(part, part.rows, bench.ws, Leftovers(None))]
    return before, report, results, layer


REFUSED = [
    (
        "id=$(echo future | git hash-object --stdin); forge $id; git update-index --add --cacheinfo 100644,$id,x",
        "bad object",
    ),
    ("echo 1234567890123456789012345678901234567890 > .git/refs/heads/evil", "bad object"),
    ("t=$(tree 40000 .GIT $(tree 100644 hooks $blob)); git commit-tree $t -m x > .git/refs/heads/evil", "'.git'"),
    ("git tag evil $(tree 120000 .git $blob)", "'.git'"),
    ("git tag evil $(tree 40000 git~1 $(git write-tree))", "'.git'"),
    ("git commit-tree $(tree 100644 ../../up $blob) -m x > .git/refs/heads/evil", "full pathnames"),
    ("echo $blob > .git/refs/heads/evil", "non-commit"),
    ("git commit -qm gone; rm .git/objects/$(git rev-parse HEAD:staged.txt | sed 's,..,&/,')", "pack-objects"),
    ("git update-index --add --cacheinfo 100644,$(git rev-parse HEAD^{tree}),x", "not a file"),
    (
        """git init -q other; cd other; echo far > far; git add far; git commit -qm far; cd ..
     echo "$PWD/other/.git/objects" > .git/objects/info/alternates; git update-ref refs/heads/far $(git -C other rev-parse HEAD)
     rm -r other""",
        "bad object",
    ),
    (
        "git rev-parse HEAD > .git/shallow; git commit -qm shallow; git rev-parse HEAD > .git/shallow; rm .git/objects/*/$(git rev-parse HEAD:staged.txt | cut -c3-)",
        "pack-objects",
    ),
]
"""A script, and what git says."""


@pytest.mark.parametrize(("script", "why"), REFUSED, ids=range(len(REFUSED)))
def test_forged_objects_are_refused_and_nothing_changes(bench: Bench, script: str, why: str):
    before, report, results, layer = hostile(bench, script)
    assert results and all(one.conflict for one in results), results
    said = " ".join(
        [*(one.conflict for one in results), *(line for part in report.repositories for line in part.not_taken)]
    )
    layer.drop()
    after = state(bench.ws)
    assert {**after, "refs": "", "log": ""} == {**before, "refs": "", "log": ""}
    assert set(str(after["refs"]).splitlines()) - set(str(before["refs"]).splitlines()) <= kept(after)
    assert not list((bench.ws / ".git/objects").rglob("tmp_*"))
    assert sh(bench.ws, "git cat-file blob $(echo future | git hash-object -w --stdin)") == "future\n"
    assert re.search(why, said), said


def kept(found: dict[str, object]) -> set[str]:
    return {line for line in str(found["refs"]).splitlines() if line.startswith("refs/rundry/conflict/")}
