"""What a hostile command leaves in the git folder of its layer does not reach the repository, or is harmless there."""

from __future__ import annotations

import re

import pytest

from rundry.agent.host.leftovers import Leftovers
from rundry.agent.layers.git.apply_git_rows import GitResult, carry_out_git
from rundry.agent.layers.git.read_git_changes import GitReport, read_git
from rundry.agent.layers.layer import Layer

from .conftest import Bench
from .gitting import SETUP, run, sh, state, take

FORGE = r"""
forge() { # NAME: the object that has this name gets other content
  d=.git/objects/$(echo $1 | cut -c1-2); mkdir -p $d
  file=$d/$(echo $1 | cut -c3-); rm -f $file
  python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(b"blob 5\0evil\n"))' > $file
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
    report = read_git(layer, lambda: layer.words)
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
     echo "$PWD/other/.git/objects" > .git/objects/info/alternates; git branch far $(git -C other rev-parse HEAD)
     rm -r other""",
        "bad object",
    ),
    (
        "git commit -qm x; git rev-parse HEAD > .git/shallow; rm .git/objects/*/$(git rev-parse HEAD: | cut -c3-)",
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


LEFT = r"""
forge $(echo future | git hash-object --stdin); forge $(git rev-parse HEAD:a.txt); forge $(git rev-parse HEAD:b.txt)
git gc -q 2> /dev/null || true; mkdir -p .git/objects/info/commit-graphs .git/objects/pack
echo x > .git/objects/info/commit-graph; echo x > .git/objects/pack/multi-pack-index
for idx in .git/objects/pack/*.idx; do chmod u+w $idx; python3 - $idx <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = 8 + 256 * 4
data[at:at + 20], data[at + 20:at + 40] = data[at + 20:at + 40], data[at:at + 20]
open(sys.argv[1], "wb").write(data)
END
done
echo /tmp > .git/objects/info/alternates; git rev-parse HEAD > .git/info/grafts; git rev-parse HEAD > .git/shallow
mkdir -p .git/refs/replace .git/worktrees/x .git/modules/y/objects .git/modules/y/refs
git rev-parse v1 > .git/refs/replace/$(git rev-parse HEAD); echo "ref: refs/heads/x" > .git/modules/y/HEAD
printf '#!/bin/sh\ntouch /tmp/owned' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout
git config core.fsmonitor /tmp/x; git config core.hooksPath /tmp; git config include.path ../../evil
printf '* filter=x' > .git/info/attributes; ln -s ../../config .git/refs/heads/link; mkfifo .git/refs/heads/fifo
echo "ref: ../../../etc/passwd" > .git/refs/heads/away; mkdir -p .git/refs/heads/-x
git rev-parse HEAD > .git/refs/heads/-x/y
ln -s /etc/passwd .git/MERGE_HEAD; git rev-parse v1 > .git/refs/original; chmod u+s a.txt
"""


LEFT_NAMES = (
    "objects/info/alternates",
    "info/grafts",
    "shallow",
    "refs/replace/",
    "refs/heads/link",
    "refs/heads/fifo",
    "refs/heads/away",
    "refs/heads/-x/y",
    "refs/original",
    "operation",
)


def test_what_a_command_leaves_in_its_git_folder_is_named_and_harmless(bench: Bench):
    sh(bench.ws, SETUP)
    before, files = state(bench.ws), git_files(bench)
    layer = bench.layer()
    run(bench, layer, FORGE + "git tag good; " + LEFT)
    report, results = take(bench, layer)
    effects = [one.path for one in layer.effects()[0]]
    layer.drop()
    assert not [one for one in results if one.conflict], results
    after = state(bench.ws)
    assert {**after, "refs": ""} == {**before, "refs": ""}
    assert "refs/tags/good" in str(after["refs"]) and "link" not in str(after["refs"])
    assert git_files(bench) - files == {"refs/tags/good"}
    assert sh(bench.ws, "git cat-file blob $(echo future | git hash-object -w --stdin)") == "future\n"
    named = "\n".join([*report.not_taken, *(line for part in report.repositories for line in part.not_taken)])
    for name in LEFT_NAMES:
        assert name in named, (name, named)
    for name in ("config", "hooks/post-checkout", "info/attributes", "modules/y/HEAD"):
        assert f".git/{name}" in effects, "settings and new git folders are files that wait at the gate"


def git_files(bench: Bench) -> set[str]:
    top = bench.ws / ".git"
    return {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file() or path.is_symlink()}


def test_flags_of_the_index_stay_the_users(bench: Bench):
    sh(bench.ws, f"{SETUP} git update-index --assume-unchanged a.txt; git update-index --skip-worktree b.txt")
    layer = bench.layer()
    run(
        bench,
        layer,
        """
        git update-index --no-assume-unchanged a.txt; git update-index --no-skip-worktree b.txt
        git update-index --assume-unchanged src/c.txt; git update-index --skip-worktree src/deep/d.txt
        echo new >> a.txt; git add a.txt; echo new >> b.txt; git add b.txt; git add -N new.txt
        : > empty; git add empty; echo dirty >> src/c.txt; git update-index --assume-unchanged empty
    """,
    )
    _, results = take(bench, layer)
    assert not [one for one in results if one.conflict], results
    listed = {line.split()[-1]: line.split()[0] for line in sh(bench.ws, "git ls-files -v -s").splitlines()}
    assert listed == {
        ".gitignore": "H",
        "a.txt": "h",
        "b.txt": "S",
        "empty": "H",
        "src/c.txt": "H",
        "src/deep/d.txt": "H",
        "staged.txt": "H",
    }
    assert sh(bench.ws, "git show :a.txt | tail -1; git show :b.txt | tail -1") == "new\nnew\n"
    assert " M src/c.txt" in sh(bench.ws, "git status --porcelain")


def test_an_entry_of_the_index_inside_a_git_folder_is_refused(bench: Bench):
    sh(bench.ws, SETUP)
    before = state(bench.ws)
    layer = bench.layer()
    run(
        bench,
        layer,
        FORGE
        + """
        git tag good; git update-index --add --cacheinfo 100755,$blob,-git/hooks/post-checkout; python3 - <<'END'
import hashlib
data = open(".git/index", "rb").read()[:-20].replace(b"-git/hooks", b".git/hooks")
open(".git/index", "wb").write(data + hashlib.sha1(data).digest())
END
    """,
    )
    report, results = take(bench, layer)
    assert not [one for one in results if one.conflict], results
    assert "index: an entry .git/hooks/post-checkout" in report.repositories[0].not_taken
    assert state(bench.ws)["index"] == before["index"]


def test_text_of_a_command_in_reflogs_has_no_control_characters(bench: Bench):
    sh(bench.ws, SETUP)
    layer = bench.layer()
    run(
        bench,
        layer,
        "git commit -qm \"$(printf 'evil\\033[2Jtext')\"; git stash push -qm \"$(printf 'a\\033b')\"",
    )
    report, results = take(bench, layer)
    assert not [one for one in results if one.conflict], results
    logs = b"".join(path.read_bytes() for path in (bench.ws / ".git/logs").rglob("*") if path.is_file())
    assert b"evil [2Jtext" in logs and b"a b" in logs and b"\033" not in logs
    assert not any(not one.isprintable() for row in report.repositories[0].rows for one in getattr(row, "message", ""))


def test_git_in_a_layer_runs_only_in_its_sandbox(bench: Bench):
    sh(bench.ws, SETUP)
    marks = bench.folder / "marks"
    marks.mkdir()
    layer = bench.layer()
    run(
        bench,
        layer,
        f"""
        printf '#!/bin/sh\ntouch {marks}/$1; exit 1' > run; chmod +x run; git commit -qm more; echo x > x; git add x
        git config core.fsmonitor "$PWD/run fsmonitor"; git config core.alternateRefsCommand "$PWD/run refs"
        git config core.sshCommand "$PWD/run ssh"; git config uploadpack.packObjectsHook "$PWD/run pack"
        git config core.pager "$PWD/run pager"; git config filter.x.clean "$PWD/run clean"
        echo '* filter=x' > .git/info/attributes
        for hook in reference-transaction post-index-change pre-auto-gc; do cp run .git/hooks/$hook; done
        rm -f {marks}/*
    """,
    )
    bwrap = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--tmpfs",
        str(layer.folder),
        "--bind",
        str(marks),
        str(marks),
        "--unshare-pid",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--cap-drop",
        "ALL",
        "--die-with-parent",
        "--",
    ]
    _, results = take(bench, layer, [*layer.words, *bwrap])
    assert len(results) > 2 and not [one for one in results if one.conflict], results
    assert list(marks.iterdir()) == []


def test_files_of_git_lfs_come_along_if_they_are_what_their_names_say(bench: Bench):
    sh(bench.ws, f"{SETUP} mkdir -p .git/lfs/objects/00/00; echo kept > .git/lfs/objects/00/00/kept")
    layer = bench.layer()
    script = """
        put() { d=.git/lfs/objects/$(echo $1 | cut -c1-2)/$(echo $1 | cut -c3-4); mkdir -p $d; echo $2 > $d/$1; }
        good=$(echo big | sha256sum | cut -c1-64); put $good big; put $(echo other | sha256sum | cut -c1-64) forged
        put ../../../escaped x || true; rm -r .git/lfs/objects/00; ln -s /etc/passwd .git/lfs/objects/link
        printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize 4\\n' $good > big
        git add big; git commit -qm big
    """
    run(bench, layer, script)
    report, results = take(bench, layer)
    layer.drop()
    assert not [one for one in results if one.conflict], results
    large = sorted(path.read_text() for path in (bench.ws / ".git/lfs").rglob("*") if path.is_file())
    assert large == ["big\n", "kept\n"]
    assert any("lfs/objects" in line for line in report.repositories[0].not_taken)
