"""What a command writes into `.git` in the real sandbox, and whether the user's next git commands run it."""

import asyncio
import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from fakes.in_place import in_place
from sampling import sampled

from rundry.agent.sandbox.command_access import NO_ACCESS, Access
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.sandbox import Sandbox

PLANT = '#!/bin/sh\ntouch "{marker}"\nexit 0\n'
AFTER = (
    ("status",),
    ("diff",),
    ("log", "--oneline", "-p"),
    ("add", "-A"),
    ("commit", "--allow-empty", "-qm", "x"),
    ("stash", "list"),
    ("checkout", "-q", "--", "."),
    ("switch", "-qc", "other"),
    ("branch", "-a"),
    ("fetch", "-q"),
    ("gc", "-q"),
    ("rebase", "--continue"),
    ("cherry-pick", "--continue"),
    ("worktree", "list"),
)


def git(folder, *argv):
    """The user's own git, with all that the repository configures; whether it fails does not count."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_EDITOR": "true", "HOME": "/nonexistent"}
    for who in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{who}_NAME": "u", f"GIT_{who}_EMAIL": "u@x"}
    return subprocess.run(
        ["git", *argv], cwd=folder, env=env, capture_output=True, text=True, errors="replace", check=False, timeout=60
    )


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
async def sandbox(request):
    if request.param == "none":
        return Sandbox(None, "no sandbox: asked for")
    found = await Sandbox.detect(kinds=[request.param])
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "planted-ran"


@pytest.fixture
def ws(tmp_path):
    top = tmp_path / "work"
    (top / "sub").mkdir(parents=True)
    (top / "a").write_text("a\n")
    (top / "sub/f").write_text("f\n")
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    git(top, "config", "user.name", "u")
    git(top, "config", "user.email", "u@x")
    git(top, "add", ".")
    git(top, "commit", "-qm", "one")
    return top


@pytest.fixture
def run(sandbox, ws, marker):
    """Returns what a command did and what is named then.

    Commands get `$PLANT`, a program in the workspace that the user's git must not run.
    """
    plant = ws / "plant.sh"
    plant.write_text(PLANT.format(marker=marker))
    plant.chmod(0o755)

    with in_place(sandbox, ws) as place:

        async def run(line, access=NO_ACCESS):
            env = command_env(os.environ) | {"PLANT": str(plant), "GIT_EDITOR": "true"}
            ran = await place.run(line, access, env=env)
            marker.unlink(missing_ok=True)  # without a sandbox the command itself may have run it
            return ran

        yield run


ATTACKS = tomllib.loads(Path(__file__).with_name("git_attacks.toml").read_text("utf-8"))
"""Name to command line."""


@pytest.mark.parametrize("attack", sampled(list(ATTACKS), len(ATTACKS) // 2))
async def test_nothing_that_a_command_left_runs_at_the_users_next_git_command_or_it_is_named(
    sandbox, run, ws, marker, attack
):
    is_named = bool((await run(ATTACKS[attack]["line"])).named)
    for place in (ws, ws / "sub", ws / "bare", ws / "m", ws / "wt"):
        for argv in AFTER if place.is_dir() else ():
            git(place, *argv)
            assert is_named or not marker.exists(), (attack, place.name, argv)


@pytest.mark.parametrize(
    "attack", ["config", "hooks", "commondir", "config.worktree", "include", "filter", "rebase folder"]
)
async def test_without_protection_the_attack_works(run, ws, marker, sandbox, attack):
    if sandbox.kind is not None:
        pytest.skip("once is enough")
    env = command_env(os.environ) | {"PLANT": str(ws / "plant.sh"), "GIT_EDITOR": "true"}
    await Sandbox().run(ATTACKS[attack]["line"], ws, cwd=ws, env=env, timeout=30)
    marker.unlink(missing_ok=True)
    for argv in AFTER:
        git(ws, *argv)
    assert marker.exists()


async def test_a_config_change_is_refused_to_a_command_and_can_be_let_through(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("without mounts a change is not refused")
    done, _, _ = await run("git remote add origin https://example.invalid/x")
    assert done.exit_code != 0
    need = sandbox.refused(done, ws)
    assert need is not None and need.place is not None and need.place.is_relative_to(ws / ".git")
    done, named, _ = await run("git remote add origin https://example.invalid/x", Access(writable=[need.place]))
    assert (done.exit_code, done.output, named) == (0, b"", {})
    assert "example.invalid" in (ws / ".git/config").read_text()


async def test_the_git_folder_of_a_nested_repository_is_read_only_and_its_files_are_not(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("only a mount keeps it")
    git(ws, "init", "-q", "nested")
    done, _, _ = await run(
        "echo x > nested/f; git -C nested config core.fsmonitor $PLANT; mv nested/.git nested/g; echo x > nested/.git/y"
    )
    assert (ws / "nested/f").exists() and done.output.count(b"ead-only") + done.output.count(b"busy") >= 2
    assert "fsmonitor" not in (ws / "nested/.git/config").read_text() and not (ws / "nested/.git/y").exists()
    assert not list((ws / "nested").glob("*untrusted*"))


async def test_a_new_repository_stays_and_is_named_at_any_depth(sandbox, run, ws):
    ran = await run("mkdir -p d/e/f && git init -q d/e/f && git init -q --bare d/bare && ln -s /x d/.git")
    assert ran.named.keys() == {"d/e/f/.git", "d/bare", "d/.git"}
    assert (ws / "d/e/f/.git/HEAD").exists() and (ws / "d/.git").is_symlink()


async def test_a_command_commits_in_the_repository_and_cannot_write_what_git_runs(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("only mounts keep it")
    done, named, _ = await run(
        "echo b > a; git commit -qam two; git stash list; git switch -qc topic; cp $PLANT .git/hooks/x"
    )
    assert b"ead-only" in done.output and not (ws / ".git/hooks/x").exists()
    assert git(ws, "log", "--format=%s").stdout == "two\none\n"
    assert git(ws, "symbolic-ref", "HEAD").stdout == "refs/heads/topic\n" and git(ws, "fsck").returncode == 0
    assert named == {}


async def test_what_the_user_changes_where_a_command_cannot_write_is_not_named(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("only mounts keep it")
    (ws / ".envrc").write_text("old\n")
    running = asyncio.ensure_future(run("touch begun; until [ -e go ]; do sleep 0.02; done"))
    async with asyncio.timeout(20):
        while not (ws / "begun").exists():
            await asyncio.sleep(0.02)
    git(ws, "config", "core.editor", "mine")
    (ws / ".envrc").write_text("new\n")
    (ws / ".git/hooks/pre-push").write_text("mine\n")
    (ws / "go").touch()
    assert (await running).named == {}


SWAPPED = {
    "a folder of PATH": ("mv .venv v; mkdir -p .venv/bin; cp $PLANT .venv/bin/git", ".venv/bin/git"),
    "a nested repository": (
        "mv nested old; mkdir nested; cp -r old/.git nested/.git; echo '[core] fsmonitor=x' >> nested/.git/config",
        "nested/.git/config",
    ),
}


@pytest.mark.parametrize("place", SWAPPED)
async def test_what_a_mount_keeps_cannot_be_replaced_by_moving_the_folder_around_it(run, ws, monkeypatch, place):
    git(ws, "init", "-q", "nested")
    (ws / ".venv/bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{ws / '.venv/bin'}:{os.environ['PATH']}")
    line, name = SWAPPED[place]
    ran = await run(line)
    assert ran.done.exit_code == 0 and name in ran.named, ran
