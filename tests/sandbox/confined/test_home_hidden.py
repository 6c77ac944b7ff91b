"""What commands read of the home folder: what tools need, and nothing else, in each sandbox that this machine has."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.hidden_places import HideRules
from rundry.agent.sandbox.sandbox import Sandbox

HIDDEN = (
    ".config/solana/id.json",
    ".foundry/keystores/main",
    ".supabase/access-token",
    ".config/supabase/token",
    ".env",
    "src/other-project/.env",
    "src/other-project/main.py",
    ".config/some-new-tool/session",
    ".some-new-tool/key",
    ".local/share/some-new-tool/data",
    ".cache/some-new-tool/data",
    "Documents/tax.txt",
    "Mail/inbox",
    ".bashrc",
    ".profile",
    ".cargo/credentials.toml",
    ".m2/settings-security.xml",
    "toolbox/.env",
    ".git-credentials",
)
SHOWN = (
    ".gitconfig",
    ".gitconfig-work",
    ".config/git/ignore",
    ".cargo/registry/index/one",
    ".m2/repository/one.jar",
    ".nvm/versions/node/v20/lib/one.js",
    ".cache/pip/one",
    ".npmrc",
    "go/pkg/mod/one.go",
    "toolbox/bin/tool",
    "toolbox/lib/tool.py",
    "scripts/one",
    "own/gradle/caches/one",
    "certs/ca.pem",
    "python-path/one.py",
)
PLAIN, SECRET = "plain-text", "hush-canary"


@pytest.fixture(params=["bubblewrap", "landlock"])
def way(request):
    return request.param


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    for name in (*HIDDEN, *SHOWN):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(SECRET if name in HIDDEN else PLAIN)
    (home / ".gitconfig").write_text(f"# {PLAIN}\n[user]\nname = Me\n[include]\n  path = .gitconfig-work\n")
    (home / ".npmrc").write_text(f"; {PLAIN}\nprefix=~/.npm-global\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GRADLE_USER_HOME", str(home / "own/gradle"))
    monkeypatch.setenv("SSL_CERT_FILE", str(home / "certs/ca.pem"))
    monkeypatch.setenv("PYTHONPATH", str(home / "python-path"))
    monkeypatch.setenv("PATH", f"{home}/toolbox/bin:{home}/scripts:{os.environ['PATH']}")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "CARGO_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def ws(at_home):
    (at_home / "src/project").mkdir(parents=True)
    return at_home / "src/project"


async def said_by(sandbox: Sandbox, line: str, ws: Path) -> str:
    done = await sandbox.run(line, ws, cwd=ws, env=command_env(os.environ), timeout=30)
    return done.output.decode("utf-8", "replace")


async def detected(way: str, **more) -> Sandbox:
    found = await Sandbox.detect(kinds=[way], **more)
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


async def test_no_command_reads_what_no_tool_needs_of_the_home_folder(way, at_home, ws):
    sandbox = await detected(way)
    said = await said_by(sandbox, f"grep -rs hush ~; cd ~ && cat {' '.join(HIDDEN)}; tar cf - ~ | strings", ws)
    assert SECRET not in said


async def test_a_command_reads_what_tools_need_of_the_home_folder(way, at_home, ws):
    sandbox = await detected(way)
    said = await said_by(
        sandbox, f"cd ~ && for f in {' '.join(SHOWN)}; do grep -l plain-text $f; done; git config -l", ws
    )
    assert [name for name in SHOWN if f"{name}\n" not in said] == [], said
    assert "user.name=Me" in said


async def test_a_path_that_the_user_shows_is_read_and_its_neighbours_are_not(way, at_home, ws):
    sandbox = await detected(way, hide_rules=HideRules(show=(at_home / "Documents", at_home / "src/other-project")))
    said = await said_by(sandbox, "cat ~/Documents/tax.txt ~/src/other-project/main.py; cat ~/Mail/inbox", ws)
    assert said.count(SECRET) == 2


async def test_a_program_that_is_a_link_into_the_home_folder_runs_with_its_installation(way, at_home, ws):
    venv = at_home / "hidden/pipx/venvs/tool"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("")
    (venv / "lib").mkdir()
    (venv / "lib/words").write_text("from-the-installation")
    (venv / "bin/python").symlink_to("/bin/sh")
    (venv / "bin/tool").write_text(f'#!{venv}/bin/python\ncat "{venv}/lib/words"\n')
    (venv / "bin/tool").chmod(0o755)
    (at_home / "hidden/pipx/key").write_text(SECRET)
    (at_home / "scripts/linked-tool").symlink_to("../hidden/pipx/venvs/tool/bin/tool")
    (at_home / "scripts/by-shebang").write_text(f'#!{venv}/bin/python\ncat "{venv}/lib/words"\n')
    (at_home / "scripts/by-shebang").chmod(0o755)
    said = await said_by(await detected(way), "linked-tool; by-shebang; cat ~/hidden/pipx/key", ws)
    assert said.count("from-the-installation") == 2 and SECRET not in said


async def test_a_toolchain_behind_a_link_of_the_home_folder_is_read_under_both_names(way, ws, monkeypatch):
    checkout = Path(__file__).resolve().parents[3]
    if checkout.is_relative_to("/tmp"):
        pytest.skip("commands have another /tmp, and its links are not theirs")
    with TemporaryDirectory(dir=checkout) as folder:
        home, pyenv = Path(folder, "home"), Path(folder, "disk/pyenv")
        (pyenv / "shims").mkdir(parents=True)
        (pyenv / "shims/one").write_text("#!/bin/sh\necho shim-ran\n")
        (pyenv / "shims/one").chmod(0o755)
        home.mkdir()
        (home / ".pyenv").symlink_to(pyenv)
        monkeypatch.setenv("HOME", str(home))
        said = await said_by(await detected(way), f"~/.pyenv/shims/one; {pyenv}/shims/one", ws)
    assert said.count("shim-ran") == 2, said


async def test_the_workspace_cannot_open_a_folder_of_the_home_folder(way, at_home, ws):
    vault = at_home / "vault"
    for name in ("bin/python", "lib/words", "bin/tool"):
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(SECRET)
    (ws / ".venv/bin").mkdir(parents=True)
    (ws / ".venv/pyvenv.cfg").write_text(f"home = {vault}/bin\n")
    (ws / ".venv/bin/python").symlink_to(vault / "bin/python")
    (ws / "linked").symlink_to(vault)
    (ws / ".gitconfig").write_text(f"[include]\npath = {vault}/lib/words\n")
    said = await said_by(await detected(way), f"cat .venv/bin/python linked/lib/words {vault}/bin/tool", ws)
    assert SECRET not in said


async def test_a_home_folder_with_an_odd_name_in_the_environment_hides_no_system_folder(way, ws, monkeypatch):
    for home in ("/", "/usr", "/nonexistent", ""):
        monkeypatch.setenv("HOME", home)
        assert "usable" in await said_by(await detected(way), "ls /usr/bin/env && echo usable", ws)


@pytest.mark.parametrize(
    "line",
    [
        "cat ~/Documents/tax.txt",
        "cat $HOME/Documents/tax.txt >/dev/null",
        "python3 -c \"open('$HOME/Documents/tax.txt')\"",
        "ls Documents/../../../Documents/tax.txt",
        "~/Documents/tax.txt",
        "node -e \"require('fs').readFileSync(process.env.HOME + '/Documents/tax.txt')\"",
        "git config -f ~/Documents/tax.txt -l",
    ],
)
async def test_the_result_of_a_command_that_failed_on_a_hidden_path_names_it_and_the_setting(way, at_home, ws, line):
    said = await said_by(await detected(way), line, ws)
    assert '[sandbox] show = ["~/Documents/tax.txt"]' in said, said


async def test_what_is_missing_is_not_called_hidden_and_a_journal_is_never_named(way, at_home, ws):
    runs = at_home / ".local/state/rundry/runs"
    runs.mkdir(parents=True)
    (runs / "one.db").write_text(SECRET)
    sandbox = await detected(way, hide=[runs])
    said = await said_by(sandbox, f"cat ~/Documents/nothing {runs}/one.db ~/.gitconfig; false", ws)
    assert "[rundry:" not in said and SECRET not in said
    assert "[rundry:" not in await said_by(sandbox, "cat ~/Documents/tax.txt; true", ws)


async def test_an_editable_install_and_a_linked_package_in_a_hidden_folder_are_named(way, at_home, ws):
    library = at_home / "src/other-project"
    record = ws / ".venv/lib/python3.11/site-packages/my_lib-1.dist-info"
    record.mkdir(parents=True)
    (record / "direct_url.json").write_text(f'{{"url": "file://{library}", "dir_info": {{"editable": true}}}}')
    (ws / "node_modules").mkdir()
    (ws / "node_modules/linked").symlink_to(library)
    sandbox = await detected(way)
    (note,) = sandbox.dependencies_note(ws)
    assert note.startswith('"~/src/other-project" is hidden from commands: [sandbox] show = ["~/src/other-project"]')
    for line in ("python3 -c 'import my_lib'", "node -e 'require(\"linked\")'"):
        assert '[sandbox] show = ["~/src/other-project"]' in await said_by(sandbox, line, ws), line
    shown = await detected(way, hide_rules=HideRules(show=(library,)))
    assert shown.dependencies_note(ws) == []


async def test_an_outsider_sees_what_of_the_home_folder_is_shown(way, at_home, ws):
    shown = (await detected(way, hide_rules=HideRules(show=(at_home / "Documents",)))).shown_at_home(ws)
    assert {"~/.gitconfig", "~/.gitconfig-work", "~/toolbox", "~/scripts", "~/own/gradle", "~/Documents"} <= set(shown)
    assert not any(name in shown for name in ("~", "~/src", "~/.config", "~/.local", "~/.cache"))
