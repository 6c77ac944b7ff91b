"""What a command writes into `.git` in the real sandbox, and whether the user's next git commands run it."""

import asyncio
import os
import struct
import subprocess
import tomllib
from pathlib import Path

import pytest
from sampling import sampled

from rundry.agent.workspace.sandbox.access import Access
from rundry.agent.workspace.sandbox.confined.environment import command_env
from rundry.agent.workspace.sandbox.sandbox import Sandbox

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
    """Commands get `$PLANT`, a program in the workspace that the user's git must not run."""
    plant = ws / "plant.sh"
    plant.write_text(PLANT.format(marker=marker))
    plant.chmod(0o755)

    async def run(line, **options):
        env = command_env(os.environ) | {"PLANT": str(plant), "GIT_EDITOR": "true"}
        done = await sandbox.run(line, ws, cwd=ws, env=env, timeout=30, **options)
        marker.unlink(missing_ok=True)  # without a sandbox the command itself may have run it
        return done

    return run


ATTACKS = tomllib.loads(Path(__file__).with_name("git_attacks.toml").read_text("utf-8"))
"""Name to command line."""


@pytest.mark.parametrize("attack", sampled(list(ATTACKS), len(ATTACKS) // 2))
async def test_nothing_that_a_command_left_runs_at_the_users_next_git_command_or_it_is_named(
    sandbox, run, ws, marker, attack
):
    await run(ATTACKS[attack]["line"])
    named = {change.path for change in await sandbox.take_changes()}
    is_named = sandbox.kind != "bubblewrap" and bool(named)
    for place in (ws, ws / "sub", ws / "bare", ws / "m", ws / "wt"):
        for argv in AFTER if place.is_dir() else ():
            git(place, *argv)
            assert is_named or not marker.exists(), (attack, place.name, argv)
    if sandbox.kind == "bubblewrap":
        assert git(ws, "log", "-1").returncode == 0, "the repository still works"


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


def entry(path: bytes, sha: bytes) -> bytes:
    """An entry of an index, as git writes it but for the check of its path."""
    fixed = struct.pack(">10L", 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + sha + struct.pack(">H", len(path)) + path
    return fixed + b"\0" * (8 - len(fixed) % 8)


@pytest.mark.parametrize(
    "path",
    [b".git/hooks/post-checkout", b".GIT/hooks/x", b"../x", b"/tmp/x", b"a/../../x", b"git~1/x", b".g\xe2\x80\x8cit/x"],
)
async def test_a_forged_index_entry_is_not_imported(sandbox, run, ws, path):
    if sandbox.kind != "bubblewrap":
        pytest.skip("only a private git folder has an index of its own")
    before = (ws / ".git/index").read_bytes()
    sha = bytes.fromhex(git(ws, "hash-object", "-w", "plant.sh").stdout.strip())
    body = struct.pack(">4sLL", b"DIRC", 2, 1) + entry(path, sha)
    (ws / "forged").write_bytes(body)
    write = "d=open('forged','rb').read(); open('.git/index','wb').write(d+hashlib.sha1(d).digest())"
    done = await run(f'python3 -c "import hashlib; {write}"')
    assert done.exit_code == 0 and b"the index was not imported: it has an entry" in done.output
    assert (ws / ".git/index").read_bytes() == before
    git(ws, "checkout", "-q", "--", ".")
    assert not (ws / ".git/hooks/post-checkout").exists()


async def test_an_object_with_the_name_of_another_is_not_imported(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("only a private git folder has objects of its own")
    line = (
        "new=$(echo good | git hash-object --stdin); evil=$(echo evil | git hash-object -w --stdin); d=.git/objects; "
        "mkdir -p $d/${new:0:2}; mv $d/${evil:0:2}/${evil:2} $d/${new:0:2}/${new:2}; "
        "git update-index --add --cacheinfo 100644,$new,good; git commit -qm forged; echo $new"
    )
    done = await run(line)
    assert b"new objects are invalid" in done.output
    assert git(ws, "log", "--format=%s").stdout == "one\n" and git(ws, "status", "--porcelain", "-uno").stdout == ""
    assert (await run("git log --format=%s")).output == b"one\n"
    assert (await run("git commit -q --allow-empty -m sound")).output == b""
    assert git(ws, "log", "--format=%s").stdout == "sound\none\n"


async def test_a_ref_that_the_user_moved_meanwhile_is_kept_and_the_commands_is_next_to_it(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("only a private git folder is imported")
    line = "git commit -q --allow-empty -m commands; touch ready; until [ -e go ]; do sleep 0.02; done"
    running = asyncio.ensure_future(run(line))
    async with asyncio.timeout(20):
        while not (ws / "ready").exists():
            await asyncio.sleep(0.02)
    git(ws, "commit", "-q", "--allow-empty", "-m", "users")
    (ws / "go").touch()
    done = await running
    assert b"refs/heads/main was changed by another program meanwhile" in done.output
    assert git(ws, "log", "--format=%s").stdout == "users\none\n"
    kept = git(ws, "for-each-ref", "--format=%(refname) %(subject)", "refs/rundry").stdout
    assert kept.startswith("refs/rundry/conflict/heads/main-") and kept.endswith(" commands\n")
    assert (await run("git log --format=%s")).output == b"users\none\n"


async def test_a_config_change_is_refused_to_a_command_and_can_be_let_through(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("without mounts a change is not refused")
    done = await run("git remote add origin https://example.invalid/x")
    assert done.exit_code != 0
    need = sandbox.refused(done, ws)
    assert need is not None and need.place is not None and need.place.is_relative_to(ws / ".git")
    done = await run("git remote add origin https://example.invalid/x", access=Access(writable=[need.place]))
    assert (done.exit_code, done.output) == (0, b"") and "example.invalid" in (ws / ".git/config").read_text()


async def test_no_program_and_no_password_of_the_config_reaches_a_command(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("the config is the real one there")
    for key, value in {
        "core.fsmonitor": "/x/mon", "core.sshCommand": "/x/ssh", "alias.z": "!x", "filter.l.clean": "/x/clean",
        "remote.o.url": "https://me:secret@example.invalid/r", "credential.helper": "/x/s", "branch.main.remote": "o",
        "include.path": "/x/inc", "diff.w.textconv": "/x/conv", 'remote.q"\\.url': "file:///q",
    }.items():  # fmt: skip
        git(ws, "config", key, value)
    said = (await run("git config --list --local; git status --porcelain -uno")).output.decode()
    assert "secret" not in said and "/x/" not in said and "alias" not in said
    assert "remote.o.url=https://example.invalid/r" in said and 'remote.q"\\.url=file:///q' in said
    assert "branch.main.remote=o" in said and "filter.l.required=true" in said


async def test_the_git_folder_of_a_nested_repository_is_read_only_and_its_files_are_not(sandbox, run, ws):
    if sandbox.kind != "bubblewrap":
        pytest.skip("only a mount keeps it")
    git(ws, "init", "-q", "nested")
    done = await run(
        "echo x > nested/f; git -C nested config core.fsmonitor $PLANT; mv nested/.git nested/g; echo x > nested/.git/y"
    )
    assert (ws / "nested/f").exists() and done.output.count(b"ead-only") + done.output.count(b"busy") >= 2
    assert "fsmonitor" not in (ws / "nested/.git/config").read_text() and not (ws / "nested/.git/y").exists()
    assert not list((ws / "nested").glob("*untrusted*"))


async def test_a_new_repository_is_moved_aside_or_named_at_any_depth(sandbox, run, ws):
    done = await run("mkdir -p d/e/f && git init -q d/e/f && git init -q --bare d/bare && ln -s /x d/.git")
    names = {"d/e/f/.git", "d/bare/HEAD", "d/.git"}
    assert {str(one.path.relative_to(ws)) for one in done.repositories} == names
    if sandbox.kind != "bubblewrap":
        assert {one.path for one in await sandbox.take_changes()} == names
        assert (ws / "d/e/f/.git/HEAD").exists() and (ws / "d/.git").is_symlink()
        return
    assert all(one.aside.is_symlink() or one.aside.exists() for one in done.repositories)
    assert not (ws / "d/e/f/.git").exists() and b"d/e/f/.git is a new git repository: moved to" in done.output
    assert (await run("ls d")).repositories == ()
