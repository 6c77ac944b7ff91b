"""Commands in the real sandbox with a private git folder, and what the user's repository has afterwards."""

import asyncio
import os
import subprocess

import pytest

from rundry.agent.workspace.sandbox.confined.environment import command_env
from rundry.agent.workspace.sandbox.sandbox import Sandbox

NAMED = "-c user.name=a -c user.email=b"


@pytest.fixture
async def sandbox():
    found = await Sandbox.detect(kinds=["bubblewrap"])
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


def git(folder, *argv, check=True):
    """The user's own git, with all that the repository configures."""
    env = {**os.environ, "GIT_AUTHOR_NAME": "u", "GIT_COMMITTER_NAME": "u"}
    env |= {"GIT_AUTHOR_EMAIL": "u@x", "GIT_COMMITTER_EMAIL": "u@x", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(["git", *argv], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert not check or done.returncode == 0, (argv, done.stderr)
    return done.stdout


@pytest.fixture
def ws(tmp_path):
    top = tmp_path / "work"
    top.mkdir()
    git(top, "init", "-q", "-b", "main", ".")
    git(top, "config", "user.name", "u")
    git(top, "config", "user.email", "u@x")
    for name in ("a", "b"):
        (top / name).write_text(f"{name}\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "one")
    return top


@pytest.fixture
def run(sandbox, ws):
    async def run(line, **options):
        env = command_env(os.environ)
        done = await sandbox.run(line, ws, cwd=ws, env=env, timeout=options.pop("timeout", 30), **options)
        return done.exit_code, done.output.decode()

    return run


async def test_what_a_command_adds_commits_and_switches_to_is_in_the_repository_after_it(run, ws):
    assert await run("echo x >> a; git add a") == (0, "")
    assert git(ws, "status", "--porcelain") == "M  a\n"
    code, said = await run(
        "git commit -qm two && git switch -qc side && echo y > c && git add c && git commit -qm three"
    )
    assert (code, said) == (0, "")
    assert git(ws, "log", "--format=%s", "side") == "three\ntwo\none\n"
    assert git(ws, "log", "--format=%s", "main") == "two\none\n"
    assert git(ws, "branch", "--show-current") == "side\n" and git(ws, "status", "--porcelain") == ""
    assert "commit: three" in git(ws, "reflog", "--format=%gs")
    assert git(ws, "fsck", "--strict") == ""


async def test_stashes_of_a_command_are_in_the_repository_in_order(run, ws):
    assert (await run("echo 1 > a; git stash push -qm first; echo 2 > b; git stash push -qm second"))[0] == 0
    assert [line.partition(": On main: ")[2] for line in git(ws, "stash", "list").splitlines()] == ["second", "first"]
    assert (await run("git stash drop -q stash@{1} && git stash list"))[0] == 0
    assert len(git(ws, "stash", "list").splitlines()) == 1
    git(ws, "stash", "pop", "-q")
    assert (ws / "b").read_text() == "2\n"
    code, said = await run("git checkout -q b; git stash list")
    assert (code, said) == (0, "")


async def test_merge_rebase_cherry_pick_tag_reset_and_branch_deletion_are_imported(run, ws):
    setup = (
        "git switch -qc side; echo s > s; git add s; git commit -qm side; git switch -q main; echo m > m; git add m; "
    )
    assert (await run(f"{setup} git commit -qm main2; git tag -am note v1; git tag light"))[0] == 0
    assert (await run("git switch -qc picked main; git cherry-pick side"))[0] == 0
    assert git(ws, "log", "--format=%s", "picked") == "side\nmain2\none\n"
    assert (await run("git switch -q side; git rebase -q main"))[0] == 0
    assert git(ws, "log", "--format=%s", "side") == "side\nmain2\none\n" and git(ws, "status", "--porcelain") == ""
    assert (await run("git switch -q main; git merge -q --no-ff -m merged side; git branch -qD picked"))[0] == 0
    assert git(ws, "log", "-1", "--format=%s %p").startswith("merged ")
    assert git(ws, "for-each-ref", "--format=%(refname)").split() == [
        "refs/heads/main", "refs/heads/side", "refs/tags/light", "refs/tags/v1",
    ]  # fmt: skip
    assert (await run("git reset -q --hard v1; git rm -q b; git mv a z"))[0] == 0
    assert git(ws, "log", "-1", "--format=%s") == "main2\n"
    assert git(ws, "status", "--porcelain") == "D  b\nR  a -> z\n"


async def test_a_merge_with_conflicts_is_the_users_to_finish(run, ws):
    line = "git switch -qc side; echo s > a; git commit -qam s; git switch -q main; echo m > a; git commit -qam m; "
    code, said = await run(line + "git merge side")
    assert code == 1 and "rundry" not in said
    assert git(ws, "status", "--porcelain") == "UU a\n"
    (ws / "a").write_text("both\n")
    git(ws, "add", "a")
    git(ws, "commit", "-q", "--no-edit")
    assert len(git(ws, "log", "-1", "--format=%p").split()) == 2
    assert await run("git log -1 --format=%p | wc -w; git status --porcelain") == (0, "2\n")


async def test_a_rebase_in_progress_stays_with_the_commands_until_it_is_finished(run, ws):
    line = "git switch -qc side; echo s > a; git commit -qam s; git switch -q main; echo m > a; git commit -qam m; "
    assert (await run(line + "git switch -q side"))[0] == 0
    code, said = await run("git rebase -q main")
    assert code == 1 and "its result is imported when it is finished" in said
    assert git(ws, "branch", "--show-current") == "side\n" and git(ws, "log", "-1", "--format=%s") == "s\n"
    assert not (ws / ".git/rebase-merge").exists()
    code, said = await run("echo both > a; git add a; GIT_EDITOR=true git rebase --continue")
    assert code == 0 and "[rundry" not in said
    assert git(ws, "log", "--format=%s") == "s\nm\none\n" and git(ws, "status", "--porcelain") == ""


async def test_an_unchanged_repository_stays_untouched(run, ws):
    def marks():
        return {path: path.stat().st_mtime_ns for path in (ws / ".git").rglob("*")}

    await run("true")
    before = marks()
    assert await run("git log --format=%s; git status --porcelain; git diff") == (0, "one\n")
    assert marks() == before


async def test_a_command_sees_what_the_user_did_meanwhile(run, ws):
    await run("git status")
    (ws / "u").write_text("u\n")
    git(ws, "add", "u")
    git(ws, "commit", "-qm", "users")
    git(ws, "switch", "-qc", "theirs")
    git(ws, "config", "user.name", "another")
    assert await run(
        "git log -1 --format=%s; git branch --show-current; git status --porcelain; git config user.name"
    ) == (
        0,
        "users\ntheirs\nanother\n",
    )


async def test_in_a_worktree_the_same_holds_for_its_own_head_and_the_shared_refs(sandbox, run, ws):
    git(ws, "worktree", "add", "-q", "../tree", "-b", "tree")
    tree = ws.parent / "tree"
    line = (
        "echo t > t; git add t; git commit -qm in-tree; git stash list; git switch -qc from-tree; echo u > u; git add u"
    )
    done = await sandbox.run(line, tree, cwd=tree, env=command_env(os.environ), timeout=30)
    assert (done.exit_code, done.output) == (0, b"")
    assert git(tree, "log", "--format=%s") == "in-tree\none\n" and git(tree, "status", "--porcelain") == "A  u\n"
    assert git(tree, "branch", "--show-current") == "from-tree\n" and git(ws, "branch", "--show-current") == "main\n"
    assert git(ws, "status", "--porcelain") == "" and "commit: in-tree" in git(tree, "reflog", "--format=%gs")
    plant = (
        f"git config core.fsmonitor x; echo x > {ws}/.git/worktrees/tree/config.worktree; echo x > {ws}/.git/hooks/y"
    )
    await sandbox.run(plant, tree, cwd=tree, env=command_env(os.environ), timeout=30)
    assert not (ws / ".git/worktrees/tree/config.worktree").exists() and not (ws / ".git/hooks/y").exists()
    assert "fsmonitor" not in (ws / ".git/config").read_text()


async def test_packs_and_objects_of_commands_that_run_at_the_same_time_are_imported(run, ws):
    lines = [f"git switch -q main; git branch b{n}; git commit-tree -m c{n} HEAD^{{tree}} > c{n}; " for n in range(3)]
    done = await asyncio.gather(
        *(run(line + f"git update-ref refs/heads/b{n} $(cat c{n})") for n, line in enumerate(lines))
    )
    assert [code for code, _ in done] == [0, 0, 0], done
    code, said = await run("git checkout -q b1; git repack -adqn; git prune-packed; git tag packed")
    assert code == 0 and "[rundry" not in said
    assert {git(ws, "log", "-1", "--format=%s", f"b{n}") for n in range(3)} == {"c0\n", "c1\n", "c2\n"}
    assert git(ws, "tag") == "packed\n" and git(ws, "fsck", "--strict") == ""


def snapshot_of(folder):
    """Each file of a git folder with its content; the index and the logs of a read are left out."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "index"
    }


def two_sides(ws, commits=1):
    """`side` and `main` change the same line, so that joining them stops at a conflict. HEAD is at `main`."""
    git(ws, "switch", "-qc", "side")
    for number in range(commits):
        (ws / "a").write_text(f"side {number}\n")
        git(ws, "commit", "-qam", f"side {number}")
    git(ws, "switch", "-q", "main")
    (ws / "a").write_text("main\n")
    git(ws, "commit", "-qam", "main")


def begin_rebase(ws):
    two_sides(ws, 2)
    git(ws, "rebase", "-q", "main", "side", check=False)


def begin_rebase_by_patches(ws):
    two_sides(ws, 2)
    git(ws, "rebase", "-q", "--apply", "main", "side", check=False)


def begin_interactive_rebase(ws):
    two_sides(ws, 2)
    git(ws, "switch", "-q", "side")
    git(ws, "-c", "sequence.editor=sed -i 1s/^pick/edit/", "rebase", "-q", "-i", "HEAD~2", check=False)


def begin_am(ws):
    two_sides(ws, 2)
    git(ws, "format-patch", "-q", "-o", "../mails", "main~1..side")
    git(ws, "am", *sorted(str(path) for path in (ws.parent / "mails").iterdir()), check=False)


def begin_picks(ws):
    two_sides(ws, 3)
    git(ws, "cherry-pick", "side~2", "side~1", "side", check=False)


def begin_pick(ws):
    two_sides(ws)
    git(ws, "cherry-pick", "side", check=False)


def begin_reverts(ws):
    two_sides(ws)
    (ws / "a").write_text("again\n")
    git(ws, "commit", "-qam", "again")
    git(ws, "revert", "--no-edit", "HEAD~1", "HEAD", check=False)


def begin_merge(ws):
    two_sides(ws)
    git(ws, "merge", "-q", "side", check=False)


def begin_bisect(ws):
    two_sides(ws, 4)
    git(ws, "switch", "-q", "side")
    git(ws, "bisect", "start", "HEAD", "HEAD~4")


OPERATIONS = {
    begin_rebase: "rebase-merge",
    begin_rebase_by_patches: "rebase-apply",
    begin_interactive_rebase: "rebase-merge",
    begin_am: "rebase-apply",
    begin_picks: "sequencer",
    begin_pick: "CHERRY_PICK_HEAD",
    begin_reverts: "sequencer",
    begin_merge: "MERGE_HEAD",
    begin_bisect: "BISECT_LOG",
}


@pytest.fixture(params=OPERATIONS, ids=lambda begin: begin.__name__.removeprefix("begin_"))
def in_progress(request, ws):
    """What the user has in progress; its file or folder below `.git`."""
    request.param(ws)
    place = ws / ".git" / OPERATIONS[request.param]
    assert place.exists()
    return place


@pytest.mark.parametrize("line", ["true", "echo x > other", "git status; git log -1; git diff", "sleep 0.1 & wait"])
async def test_what_the_user_has_in_progress_survives_commands_that_do_not_change_it(run, ws, in_progress, line):
    before, status = snapshot_of(ws / ".git"), git(ws, "status", "--porcelain", "-uno")
    for _ in range(3):
        assert "[rundry" not in (await run(line))[1]
    assert snapshot_of(ws / ".git") == before and git(ws, "status", "--porcelain", "-uno") == status


async def test_in_a_linked_worktree_a_rebase_in_progress_survives_commands(sandbox, ws):
    two_sides(ws, 2)
    tree = ws.parent / "tree"
    git(ws, "worktree", "add", "-q", str(tree), "side")
    git(tree, "rebase", "-q", "main", check=False)
    before = snapshot_of(ws / ".git")
    assert any("rebase-merge/" in name for name in before)
    for _ in range(3):
        done = await sandbox.run("git status", tree, cwd=tree, env=command_env(os.environ), timeout=30)
        assert done.exit_code == 0 and b"rebas" in done.output
    assert snapshot_of(ws / ".git") == before


@pytest.mark.parametrize(
    ("begin", "line"),
    [
        (begin_rebase, "git rebase --abort"),
        (begin_rebase, "git rebase --quit"),
        (begin_rebase, "git checkout --theirs a; git add a; GIT_EDITOR=true git rebase --continue || true"),
        (begin_rebase, "rm -rf .git/rebase-merge"),
        (begin_rebase, "echo exec touch pwned >> .git/rebase-merge/git-rebase-todo"),
        (begin_am, "git am --abort"),
        (begin_am, "git am --skip || true"),
        (begin_picks, "git cherry-pick --abort"),
        (begin_picks, "git cherry-pick --skip || true"),
        (begin_picks, "git add a; git commit -qm mine --allow-empty; git cherry-pick --quit"),
        (begin_reverts, "git revert --quit"),
        (begin_bisect, "git bisect reset"),
        (begin_bisect, "git bisect bad"),
    ],
)
async def test_a_command_cannot_end_or_change_what_the_user_has_in_progress(run, ws, begin, line):
    begin(ws)
    before = snapshot_of(ws / ".git")
    code, said = await run(f"{line} 2>&1")
    assert code == 0 and ".git stays as the user left it" in said
    after = snapshot_of(ws / ".git")
    kept = {name: data for name, data in after.items() if not name.startswith(("objects/", "refs/rundry/"))}
    assert kept == {name: data for name, data in before.items() if not name.startswith("objects/")}
    assert (await run("git status"))[0] == 0 and snapshot_of(ws / ".git") == after


async def test_commits_of_a_command_that_finished_the_rebase_of_the_user_are_kept_aside(run, ws):
    two_sides(ws)
    git(ws, "rebase", "-q", "main", "side", check=False)
    code, said = await run("echo both > a; git add a; GIT_EDITOR=true git rebase --continue && git rev-parse side")
    assert code == 0 and "refs/rundry/conflict/heads/side-" in said
    made = next(line for line in said.splitlines() if len(line) == 40)
    assert git(ws, "rev-parse", f"refs/rundry/conflict/heads/side-{made[:8]}").strip() == made
    assert git(ws, "log", "-1", "--format=%s", "side") == "side 0\n" and (ws / ".git/rebase-merge").is_dir()


async def test_a_commit_during_the_rebase_of_the_user_is_imported_and_the_rebase_stays(run, ws):
    begin_interactive_rebase(ws)
    assert await run("echo more > b; git commit -qam more && git log -1 --format=%s") == (0, "more\n")
    assert git(ws, "log", "-1", "--format=%s") == "more\n" and (ws / ".git/rebase-merge").is_dir()
    git(ws, "rebase", "--continue")
    assert git(ws, "log", "--format=%s", "side") == "side 1\nmore\nside 0\none\n"


async def test_a_rebase_that_the_user_began_while_a_command_ran_stays(run, ws):
    two_sides(ws, 2)
    running = asyncio.create_task(
        run("touch begun; while test ! -e go; do sleep 0.05; done; git commit -qm late --allow-empty")
    )
    while not (ws / "begun").exists():
        await asyncio.sleep(0.02)
    git(ws, "rebase", "-q", "main", "side", check=False)
    before = snapshot_of(ws / ".git/rebase-merge")
    main = git(ws, "rev-parse", "main")
    (ws / "go").touch()
    code, said = await running
    assert code == 0 and "refs/rundry/conflict/heads/main-" in said
    assert snapshot_of(ws / ".git/rebase-merge") == before and git(ws, "rev-parse", "main") == main
