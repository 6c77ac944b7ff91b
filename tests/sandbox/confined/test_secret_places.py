"""Attacks on places with secrets, in each sandbox that this machine has."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.hidden_places import HideRules
from rundry.agent.sandbox.sandbox import Sandbox

PLACES = (
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".claude.json",
    ".gemini/oauth_creds.json",
    ".aider.conf.yml",
    ".config/gh/hosts.yml",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials.toml",
    ".docker/config.json",
    ".kube/config",
    ".aws/credentials",
    ".config/gcloud/credentials.db",
    ".azure/msal_token_cache.json",
    ".netrc",
    ".ssh/id_ed25519",
    ".gnupg/private-keys-v1.d/x.key",
    ".local/share/keyrings/login.keyring",
    ".password-store/mail.gpg",
    ".mozilla/firefox/p/logins.json",
    ".config/google-chrome/Default/Login Data",
    ".terraform.d/credentials.tfrc.json",
    ".cache/huggingface/token",
    ".config/rundry/config.toml",
    ".bash_history",
    ".git-credentials",
    ".config/pip/pip.conf",
    "moved/cargo/credentials.toml",
    "kube/one",
)
SECRET = "password = hush-canary"
CONNECT = "python3 -c \"import socket as s; s.socket(s.AF_UNIX).connect('{}'); print('reached')\""


@pytest.fixture(params=["bubblewrap", "landlock"])
def way(request):
    return request.param


@pytest.fixture
def at_home(tmp_path, monkeypatch):
    """A home folder below the temporary folder, full of secrets; one of them is a link."""
    home = tmp_path / "home"
    for name in PLACES:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(SECRET)
    (home / "elsewhere").write_text(SECRET)
    (home / ".pgpass").symlink_to(home / "elsewhere")
    (home / "plain").write_text("plain text")
    (home / ".gitconfig").write_text("[user]\nname = Me\n[credential]\nhelper = store\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CARGO_HOME", str(home / "moved/cargo"))
    monkeypatch.setenv("KUBECONFIG", f"{home}/kube/one:{home}/kube/two")
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def ws(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


async def said_by(sandbox: Sandbox, line: str, ws: Path, **more) -> str:
    env = command_env(os.environ)
    done = await sandbox.run(line, ws, cwd=ws, env=env, timeout=30, **more)
    return done.output.decode("utf-8", "replace")


async def detected(way: str, **more) -> Sandbox:
    found = await Sandbox.detect(kinds=[way], **more)
    if found.kind is None:
        pytest.skip(found.why_none)
    return found


async def test_no_command_reads_a_known_place_of_secrets_also_if_the_user_shows_the_home_folder(way, at_home, ws):
    sandbox = await detected(way, hide_rules=HideRules(show=(at_home,)))
    said = await said_by(sandbox, "grep -r hush $HOME; cat ~/.pgpass ~/elsewhere; tar cf - ~ | strings", ws)
    assert "hush" not in said
    said = await said_by(sandbox, "cat ~/plain ~/.gitconfig; touch ~/made ~/.ssh/made ~/moved/made", ws)
    assert "plain text" in said and "name = Me" in said
    assert not list(at_home.rglob("made"))


async def test_a_user_adds_places_and_lets_one_through(way, at_home, ws):
    ours = at_home / "ours"
    ours.mkdir()
    (ours / "key").write_text(SECRET)
    (at_home / ".ssh/config").write_text("Host shown-host")
    hide_rules = HideRules(hide=(ours,), show=(at_home / ".npmrc", at_home / ".ssh/config"))
    sandbox = await detected(way, hide_rules=hide_rules)
    said = await said_by(sandbox, "cat ~/ours/key ~/.netrc ~/.ssh/id_ed25519; echo; cat ~/.ssh/config ~/.npmrc", ws)
    assert said.count("hush") == 1 and "shown-host" in said


async def test_what_rundry_hides_is_not_shown_by_a_user(way, at_home, ws):
    runs = at_home / "runs"
    runs.mkdir()
    (runs / "journal.db").write_text(SECRET)
    sandbox = await detected(way, hide=[runs], hide_rules=HideRules(show=(at_home,)))
    assert "hush" not in await said_by(sandbox, "cat ~/runs/*", ws)


def test_a_user_cannot_show_what_rundry_keeps_or_what_a_rule_denies(at_home, ws):
    runs, journal, private = at_home / "runs", at_home / "runs/one.db", ws / "private/b"
    for path in (journal, private):
        path.parent.mkdir()
        path.write_text(SECRET)
    rules = HideRules(own=(runs,), denied=lambda root: ["private"], show=(journal, private, at_home / ".ssh/config"))
    (at_home / ".ssh/config").write_text("Host shown-host")
    found = rules.resolve(ws)
    assert found.shown == [at_home / ".ssh/config"] and found.covers(journal) and found.covers(private)


async def test_a_workspace_in_a_hidden_folder_is_used_and_its_surroundings_stay_hidden(way, at_home):
    ws = at_home / ".config/rundry/worktrees/one"
    ws.mkdir(parents=True)
    said = await said_by(await detected(way), "echo made > f; cat f; cat ~/.config/rundry/config.toml", ws)
    assert said.startswith("made") and "hush" not in said and (ws / "f").read_text() == "made\n"


async def test_a_command_does_not_take_its_mounts_away(at_home, ws):
    sandbox = await detected("bubblewrap")
    said = await said_by(
        sandbox,
        "umount ~/.npmrc ~/.ssh; umount -l ~/.npmrc; mount -o remount,rw /; cat ~/.npmrc ~/.ssh/*;"
        " unshare -Urm sh -c 'umount ~/.npmrc ~/.ssh; cat ~/.npmrc ~/.ssh/*'; touch /usr/rundry-test",
        ws,
    )
    assert "hush" not in said and not Path("/usr/rundry-test").exists()


async def test_no_socket_of_a_service_outside_is_reached(at_home, ws):
    sandbox = await detected("bubblewrap")
    places = [at_home / ".docker/run/docker.sock", at_home / "odd/place.sock"]
    servers = []
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        servers.append(socket.socket(socket.AF_UNIX))
        servers[-1].bind(str(place))
        servers[-1].listen()
        servers[-1].setblocking(False)
    lines = "; ".join(CONNECT.format(place) for place in places)
    said = await said_by(sandbox, lines, ws)
    for server in servers:
        with pytest.raises(BlockingIOError):
            server.accept()
        server.close()
    assert "reached" not in said


async def test_a_socket_of_the_runs_own_server_is_reached_by_its_next_command(ws):
    sandbox = await detected("bubblewrap")
    serve = "import socket as s; o = s.socket(s.AF_UNIX); o.bind('own.sock'); o.listen(); open('up', 'w'); o.accept()"
    argv = sandbox.wrap(["python3", "-c", serve], ws)
    with subprocess.Popen(argv, cwd=ws) as server:
        while not (ws / "up").exists():
            assert server.poll() is None
        assert "reached" in await said_by(sandbox, CONNECT.format("own.sock"), ws)
        server.kill()
