import os
import socket
import tempfile
from pathlib import Path

import pytest
from fakes.visible_folders import visible_folder
from msgspec.structs import replace

from rundry.agent.host.processes.processes import Finished
from rundry.agent.sandbox.command_access import Access
from rundry.agent.sandbox.command_environment import command_env
from rundry.agent.sandbox.hidden_places import HideRules
from rundry.agent.sandbox.refused_access import Conditions, find_missing_access
from rundry.agent.sandbox.sandbox import Sandbox


@pytest.fixture
def place(tmp_path):
    for name in ("ws/.git/hooks", "outside", "temp", "keys"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "outside" / "old").write_text("old")
    return tmp_path


@pytest.fixture
def need(place):
    def need(output: str, *, kind="bubblewrap", exit_code=1, network=False, writable=(), command=""):
        said = output.replace("OUT", str(place / "outside")).encode()
        done = Finished(
            exit_code=exit_code, output=said, dropped=0, timed_out=False, seconds=0.0, error=None, full=said
        )
        conditions = Conditions(
            kind=kind,
            ws=place / "ws",
            temp=place / "temp",
            command=command,
            network=network,
            hide_rules=HideRules(hide=(place / "keys",)),
            writable=writable,
        )
        return find_missing_access(done, conditions)

    return need


WRITES = [
    "touch: cannot touch 'OUT/old': Read-only file system",
    "bash: line 1: OUT/old: Read-only file system",
    "OSError: [Errno 30] Read-only file system: 'OUT/old'",
    "Error: EROFS: read-only file system, open 'OUT/old'",
    "open OUT/old: x\ngo: open OUT/old: read-only file system",
    "error: failed to open `OUT/old`\n\nCaused by:\n  Read-only file system (os error 30)",
    "npm error code EROFS\nnpm error syscall mkdir\nnpm error path OUT/old\nnpm error errno -30",
    "ERROR: Could not install packages due to an OSError: [Errno 30] Read-only file system: 'OUT/old'\n\n",
    "error: could not lock config file OUT/old: Read-only file system",
    "mkdir: cannot create directory ‘OUT/old’: Read-only file system\nmake: *** [Makefile:2: install] Error 1",
]


@pytest.mark.parametrize("output", WRITES)
def test_a_write_outside_is_known_by_what_programs_say_of_it(need, place, output):
    found = need(output)
    assert found is not None and found.place == place / "outside/old", found
    assert found.what == f"write to {place}/outside/old" and not found.unsandboxed and not found.network


def test_hidden_places_are_only_looked_for_if_a_message_names_a_place(place):
    asked = list[Path]()

    def denied(root: Path) -> list[str]:
        asked.append(root)
        return []

    rules = HideRules(hide=(place / "outside",), denied=denied)
    conditions = Conditions(kind="bubblewrap", ws=place / "ws", temp=place / "temp", network=True, hide_rules=rules)
    outputs = ["", "assert 1 == 2", f"cat: {place}/outside/old: Read-only file system"]
    ended = Finished(exit_code=1, output=b"", dropped=0, timed_out=False, seconds=0.0, error=None)
    found = [find_missing_access(replace(ended, full=one.encode()), conditions) for one in outputs]
    assert found == [None, None, None] and asked == [place / "ws"]


def test_for_what_does_not_exist_the_folder_above_it_is_named(need, place):
    found = need("mkdir: cannot create directory 'OUT/a': Read-only file system")
    assert found.place == place / "outside" and found.what == f"write in {place}/outside (for a)"
    found = need("touch: cannot touch '../outside/a/b': Read-only file system")
    assert found.place == place / "outside" and found.what == f"write in {place}/outside (for a/b)"


def test_where_no_place_can_be_opened_it_says_that_there_would_be_no_sandbox(need):
    found = need("tee: /proc/sys/vm/x: Read-only file system")
    assert found is None or (found.unsandboxed and "without any sandbox" in found.what)
    assert need("strace: ptrace(PTRACE_SEIZE, 1): Operation not permitted").unsandboxed
    assert need('sudo: The "no new privileges" flag is set, which prevents sudo from running as root.').unsandboxed


def test_gits_protected_files_can_be_let_through_and_rundrys_own_cannot(need, place):
    assert need("error: could not write config file .git/config: Device or resource busy").place.name in (
        "config",
        ".git",
    )
    assert need("bash: line 1: .git/hooks/pre-commit: Read-only file system").place == place / "ws/.git/hooks"
    (place / "ws/.rundry.toml").write_text("x")
    assert need(f"bash: line 1: {place}/ws/.rundry.toml: Read-only file system") is None


NETWORK = [
    "curl: (6) Could not resolve host: example.com",
    "fatal: unable to access 'https://example.com/x/': Could not resolve host: example.com",
    "ssh: Could not resolve hostname example.com: Temporary failure in name resolution",
    "wget: unable to resolve host address ‘example.com’",
    "socket.gaierror: [Errno -3] Temporary failure in name resolution",
    "bash: connect: Network is unreachable\nbash: line 1: /dev/tcp/192.0.2.1/80: Network is unreachable",
    "npm error code EAI_AGAIN\nnpm error network request failed, reason: getaddrinfo EAI_AGAIN example.com",
    "W: Failed to fetch http://example.com/x  Temporary failure resolving 'example.com'",
    "warning: spurious network error: [6] Couldn't resolve host name (Could not resolve host: example.com)",
    'go: m@v1: Get "https://example.com/": dial tcp: lookup example.com: Temporary failure in name resolution',
]


@pytest.mark.parametrize("output", NETWORK)
def test_the_network_is_known_by_what_programs_say_of_it(need, output):
    found = need(output)
    assert found is not None and found.network and found.what == "the network" and found.place is None
    assert need(output, network=True) is None


CALLS = {
    "curl -s http://127.0.0.1:PORT/": "curl: (7) Failed to connect to 127.0.0.1 port PORT after 0 ms: Couldn't connect",
    "python3 get.py localhost PORT": "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>",
    "node get.js": "Error: connect ECONNREFUSED ::1:PORT",
    "wget http://localhost:PORT": "Connecting to localhost|127.0.0.1|:PORT... failed: Connection refused.",
}


@pytest.mark.parametrize("command", CALLS)
def test_a_server_of_this_machine_that_a_command_does_not_reach_was_refused_it(need, command):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        line, said = command.replace("PORT", port), CALLS[command].replace("PORT", port)
        found = need(said, command=line)
        assert found is not None and found.network and found.what == f"the network (port {port} of this machine)"
        assert need(said, command=line, network=True) is None
    assert need(said, command=line) is None, "nothing listens there: it is no matter of the sandbox"


UNRELATED = [
    "src/a.py:12:    raise OSError('Read-only file system: OUT/old')",
    "docs/log.md:touch: cannot touch 'OUT/old': Read-only file system",
    "E       OSError: [Errno 30] Read-only file system: 'OUT/old'",
    "E   socket.gaierror: [Errno -3] Temporary failure in name resolution",
    "    assert 'Network is unreachable' in said",
    "touch: cannot touch 'made': Read-only file system",
    "touch: cannot touch 'OUT/old': No such file or directory",
    "cat: OUT/old: Permission denied",
    "mv: cannot move 'a' to 'OUT/old': Device or resource busy",
    "rm: cannot remove '/no/such/place/at/all': Permission denied",
    "curl: (7) Failed to connect to localhost port 80: Network is unreachable",
    "read-only file system is what the text is about",
    "The sandbox refused nothing.",
    "",
]


@pytest.mark.parametrize("output", UNRELATED)
def test_unrelated_failures_that_speak_of_it_do_not_count(need, output):
    assert need(output) is None


def test_success_a_time_out_and_what_lies_far_above_the_end_do_not_count(need):
    for output in (WRITES[0], NETWORK[0]):
        assert need(output, exit_code=0) is None
        assert need(output, exit_code=None) is None
        assert need(output + "\nother" * 200) is None


def test_what_is_writable_hidden_or_let_through_already_was_not_refused_by_it(need, place):
    for path in (place / "ws/x", place / "temp/x", place / "keys/x"):
        assert need(f"touch: cannot touch '{path}': Read-only file system") is None
    assert need(WRITES[0], writable=[place / "outside"]) is None
    assert need("touch: cannot touch 'OUT/o\x1b[31mld': Read-only file system") is None


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_what_the_person_could_not_write_either_is_not_the_concern_of_the_sandbox(need):
    assert need("touch: cannot touch '/etc/passwd': Read-only file system") is None


def test_landlock_refuses_with_other_words(need, place):
    denied = "bash: line 1: OUT/old: Permission denied"
    assert need(denied, kind="landlock").place == place / "outside/old"
    assert need(denied, kind="landlock", exit_code=126) is None
    assert need("bash: line 1: ./made.sh: Permission denied", kind="landlock") is None
    assert need("bash: connect: Permission denied\n", kind="landlock").network
    assert need("PermissionError: [Errno 13] Permission denied: 'OUT/old'", kind="landlock").place is not None


REAL = {
    "touch {out}/new": "",
    "echo x > {out}/new": "",
    "python3 -c \"open('{out}/old', 'w')\"": "old",
    "git config --file {out}/new a.b c": "",
    "cp {out}/old {out}/new": "",
    "exec 3<>/dev/tcp/192.0.2.1/80": None,
    "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80))\"": None,
}
"""The path below the folder outside of the workspace that a command opens, or None for the network."""


@pytest.fixture
def real_place(pytestconfig):
    """Not below /tmp: bubblewrap has another one."""
    with tempfile.TemporaryDirectory(dir=visible_folder(pytestconfig.rootpath), prefix=".test-") as folder:
        for name in ("ws", "outside", "keys"):
            (Path(folder) / name).mkdir()
        (Path(folder) / "outside" / "old").write_text("old")
        yield Path(folder)


@pytest.mark.parametrize("way", ["bubblewrap", "landlock"])
async def test_in_the_real_sandbox_what_it_refuses_is_known_and_let_through_it_works(real_place, way):
    out, ws, env = real_place / "outside", real_place / "ws", command_env(os.environ)
    sandbox = await Sandbox.detect(hide=[real_place / "keys"], kinds=[way])
    if sandbox.kind is None:
        pytest.skip(sandbox.why_none)
    for line, name in REAL.items():
        (out / "new").unlink(missing_ok=True)
        line = line.format(out=out)
        done = await sandbox.run(line, ws, cwd=ws, env=env, timeout=20)
        found = sandbox.refused(done, ws)
        assert found is not None, (line, done.output)
        if name is None:
            assert found.network, (line, done.output)
            continue
        assert found.place == out / name, (line, done.output)
        again = await sandbox.run(line, ws, Access(writable=[found.place]), cwd=ws, env=env, timeout=20)
        assert again.exit_code == 0, again.output
        line = f"touch {real_place}/keys/x; cat {real_place}/keys/*; touch {real_place}/new"
        assert (await sandbox.run(line, ws, Access(writable=[found.place]), cwd=ws, env=env, timeout=20)).exit_code != 0
        assert not (real_place / "keys/x").exists() and not (real_place / "new").exists()
