"""Files that someone else may have written: config, specs, ignore rules, git's config and index, workers' answers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rundry.agent.gate.untrusted_repository import runs_code
from rundry.agent.host.ignored_files import Ignore
from rundry.agent.protocol import RundryError
from rundry.agent.repo.index_file import BadIndex, parse
from rundry.agent.search.workers.reply import read_reply
from rundry.agent.settings.search.search_file import read_finder
from rundry.agent.settings.settings import load_settings

from ..target import Target


def in_folder(check: Callable[[Path, bytes], None]) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder), data)

    return run


def in_one_line(error: RundryError) -> None:
    assert str(error).strip()


def user_config(folder: Path, data: bytes) -> None:
    place = folder / "rundry" / "config.toml"
    place.parent.mkdir()
    place.write_bytes(data)
    try:
        load_settings({}, cwd=folder, env={"XDG_CONFIG_HOME": str(folder), "HOME": str(folder)}, trust=False)
    except RundryError as error:
        in_one_line(error)


def project_config(folder: Path, data: bytes) -> None:
    (folder / ".rundry.toml").write_bytes(data)
    try:
        load_settings({}, cwd=folder, env={"HOME": str(folder)}, trust=True, now=1.0)
    except RundryError as error:
        in_one_line(error)


def variables(data: bytes) -> None:
    """`NAME=VALUE` a line, as environment variables of rundry."""
    env: dict[str, str] = {"HOME": "/nonexistent"}
    for line in data.split(b"\n"):
        name, _, value = line.decode(errors="surrogateescape").partition("=")
        env[f"RUNDRY_{name}"] = value
    with suppress(RundryError):
        load_settings({}, cwd=Path("/nonexistent"), env=env, trust=False, now=1.0)


def spec_file(folder: Path, data: bytes) -> None:
    (folder / "spec.toml").write_bytes(data)
    try:
        read_finder(folder / "spec.toml")
    except RundryError as error:
        in_one_line(error)


def worker(data: bytes) -> None:
    worked = read_reply(data)
    assert "\n" not in worked.error


def git_config(folder: Path, data: bytes) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_bytes(data)
    said = runs_code(folder)
    for word in (b"fsmonitor", b"sshcommand", b"textconv", b"hookspath"):
        if data.lower() == b"[core]\n\t" + word + b" = x\n":
            assert said is not None


def ignore(folder: Path, data: bytes) -> None:
    (folder / ".gitignore").write_bytes(data)
    (folder / "a").mkdir()
    (folder / "a" / "b.txt").touch()
    found = Ignore(folder)
    found.ignored("a/b.txt")
    assert all(name for name, _ in found.walk())


def git_index(data: bytes) -> None:
    with suppress(BadIndex):
        assert all(entry.path for entry in parse(data, 20))


ENTRY = b"\0" * 40 + b"\x11" * 20 + b"\0\x01a" + b"\0" * 9
INDEX = b"DIRC\0\0\0\x02\0\0\0\x01" + ENTRY[:24] + b"\0\0\x81\xa4" + ENTRY[28:] + b"\0" * 20
EXTENDED = (
    INDEX.replace(b"\0\x01a", b"\x40\x01a"),
    INDEX.replace(b"DIRC\0\0\0\x02", b"DIRC\0\0\0\x03").replace(b"\0\x01a\0\0", b"\x40\x01\0\0a"),
)
CONFIG = (
    b'model = "openai/x"\ngate = "edits"\n[budget]\nsteps = 3\ntime = "5m"\nusd = 1.5\n[sandbox]\nnetwork = true\n'
    b'[[gate.rules]]\nverdict = "allow"\ntool = "run_command"\ncommand = "pytest -q"\n[env]\nA = "b"\n',
)
SPEC = (
    b'task = "find"\n[model]\nname = "x"\n[budget]\nsteps = 3\ntime = "5m"\n[[lens]]\nname = "a"\nprompt = "b"\n'
    b'[[seed]]\nkind = "file"\nvalue = "a"\n[worker]\ncommand = ["x"]\ntimeout = "3s"\n[dry]\npasses = 2\n',
)
TOML = (
    b"1e999",
    b"nan",
    b"inf",
    b'"\\u0000"',
    b"[[",
    b"]]",
    b"9" * 30,
    b"1979-05-27",
    b"= {",
    b"'''",
    b"[a" * 50,
    b"\0",
    b"\xff",
    b"-1",
    b"true",
    b'""',
    b"[]",
    b"{}",
    b"0x10",
)
REPLIES = (
    b'{"findings": [{"title": "x", "evidence": "a:1"}], "items": [{"kind": "file", "value": "a"}], "error": null}',
    b'{"items": ["a", "b"]}',
    b"Traceback (most recent call last):\n",
    b"[1, 2]",
    b'{"unknown": 1}',
)
TARGETS = {
    "config-user": Target(in_folder(user_config), CONFIG, TOML),
    "config-project": Target(in_folder(project_config), CONFIG, TOML),
    "config-variables": Target(variables, (b"GATE=edits\nMODEL=x\nBUDGET_STEPS=3", b"TIME=5m\nUSD=1e9"), TOML),
    "spec-file": Target(in_folder(spec_file), SPEC, TOML),
    "worker-output": Target(worker, REPLIES, (b"null", b"[" * 2000, b"\\ud800", b"\n", b'"title"', b"1e999", b'""')),
    "git-config": Target(
        in_folder(git_config),
        (b'[core]\n\tbare = false\n[remote "origin"]\n\turl = x\n', b"[core]\n\tfsmonitor = x\n"),
        (b"[include]\n", b"path = x\n", b"\\\n", b'"', b"#", b"]", b"\0", b"[alias]\n", b"!sh", b"\r"),
    ),
    "git-ignore": Target(
        in_folder(ignore), (b"*.pyc\n/a/\n!b.txt\n**/x[a-z]\n",), (b"[", b"**", b"!", b"\\", b"\0", b"[!", b"{a,")
    ),
    "git-index": Target(git_index, (INDEX, *EXTENDED), (b"\0", b"\xff", b"TREE", b"DIRC", b"../", b".git")),
}
