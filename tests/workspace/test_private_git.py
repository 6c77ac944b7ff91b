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
