"""Find out from the output of a failed command what the sandbox refused.

The search is careful rather than complete. It considers only error messages near the end of the output that a program
prints about itself, and only places that the user can write to and the command cannot.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..host.protected_names import CONFIG
from ..host.real_paths import exists, real_path
from ..repo.protected_places import read_only_places
from .visible_programs import program_places

if TYPE_CHECKING:
    from ..host.processes.processes import Finished
    from ..protocol import SandboxKind
    from .hidden_places import HiddenPlaces, HideRules

_LAST = 60
"""Number of lines at the end of the output that are searched."""
_NEAR = 4
"""Number of lines before and after an error message that may name the file."""
_LONGEST = 1_000
"""Characters of each line that are searched."""
_SPEAKS = re.compile(r"^\s*(?:[\w./+@-]+: |npm (?:error|ERR!) |Caused by)")
"""Matches a message that begins with a program name, but not output of `grep` or a test report (`E   OSError: ...`)."""
_NETWORK = re.compile(
    r"network is unreachable|ENETUNREACH|temporary failure (?:in name resolution|resolving)|EAI_AGAIN"
    r"|could(?:n't| not) resolve (?:host|proxy)|unable to resolve host",
    re.IGNORECASE,
)
_TCP = re.compile(
    r"connect(?:ing)?\b.*(?:permission denied|EACCES)|couldn't connect to server|/dev/tcp/\S+: permission denied",
    re.IGNORECASE,
)
"""Messages of programs whose TCP connection Landlock refused."""
_NAMELESS = re.compile(r"^\s*PermissionError: \[Errno 13\] Permission denied$")
"""Python's message for a refused connection, if one of the lines before names `connect`."""
_CALL_REFUSED = re.compile(r"connection refused|ECONNREFUSED|(?:couldn't|failed to) connect to", re.IGNORECASE)
"""Messages of programs that could not reach a server of this machine: bubblewrap has its own loopback network."""
_WGET = re.compile(r"^Connecting to .*failed: Connection refused")
_OWN_PORT = re.compile(r"(?:\blocalhost|\b127(?:\.\d+){3}|\[?::1\]?|\b0\.0\.0\.0)[^\w\n]{1,4}(?:port )?(\d{1,5})\b")
_LISTENS = "0A"
"""State of a listening socket in /proc/net/tcp."""
_LOOPBACK = re.compile(r"\blocalhost\b|\b127\.\d+\.\d+\.\d+\b|\[?::1\]?")
_WRITES = {
    "bubblewrap": re.compile(r"read-only file system|\bEROFS\b|device or resource busy|\bEBUSY\b", re.IGNORECASE),
    "landlock": re.compile(r"permission denied|\bEACCES\b", re.IGNORECASE),
}
_BUSY = re.compile(r"device or resource busy|\bEBUSY\b", re.IGNORECASE)
"""Messages of programs that tried to replace a protected file, which is a mount point under bubblewrap."""
_WORDS = re.compile(r"[\s'\"`‘’“”:;,()<>|=]+")
_UNWRITTEN = re.compile(r"^\s*(?:Read-only file system|Permission denied) \(os error \d+\)$")
"""Rust's message: a line before it names the file."""
_MORE = (
    (re.compile(r"ptrace.*operation not permitted", re.IGNORECASE), "to trace another process"),
    (re.compile(r"^sudo: .*no new privileges"), "sudo"),
)
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"|`([^`']+)[`']|‘([^’]+)’|“([^”]+)”")
_BARE = re.compile(r"(?:^|(?<=[\s=(]))((?:~|\.\.?)?/[^\s'\"`‘’“”:;,()<>|]+|\.git/[^\s'\"`:;,]+)")
_NOT_EXECUTABLE = 126
_OWN = ("/proc", "/sys", "/dev", "/run")
"""Folders that the sandbox replaces, so that a place in them cannot be made writable."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How a command was confined."""

    kind: SandboxKind
    ws: Path
    temp: Path
    command: str = ""
    """The command line that was refused."""
    network: bool
    """Whether the command could use the network."""
    hide_rules: HideRules
    root: Path | None = None
    """The folder that commands see at `ws`, if it is another one."""
    writable: Sequence[Path] = ()
    read_only: Sequence[Path] = ()

    @cached_property
    def hidden_places(self) -> HiddenPlaces:
        """The hidden places. To find them takes long; only a message that names a place needs them."""
        return self.hide_rules.resolve(self.ws, self.root)


class MissingAccess(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that the sandbox refused, and the permission that would allow it."""

    what: str
    """The refused access in words: `the network` or `write to /usr/local/x`."""
    network: bool = False
    place: Path | None = None
    """The place that must be made writable."""
    unsandboxed: bool = False
    """Whether it can be allowed only by running without the sandbox."""


def find_missing_access(done: Finished, conditions: Conditions) -> MissingAccess | None:
    """Return what the sandbox refused last; None if no refusal was recognized."""
    if not done.exit_code:
        return None
    lines = last_lines(done)
    for at in range(len(lines) - 1, -1, -1):
        need = _of_line(lines, at, done.exit_code, conditions)
        if need is not None:
            return need
    return None


def last_lines(done: Finished) -> list[str]:
    """Return the lines at the end of the output, cut, without blank ones."""
    lines = done.full[-200_000:].decode("utf-8", "replace").splitlines()
    return [line[:_LONGEST].rstrip() for line in lines if line.strip()][-_LAST:]


def _of_line(lines: Sequence[str], at: int, exit_code: int, conditions: Conditions) -> MissingAccess | None:
    line = lines[at]
    if not (_SPEAKS.match(line) or _UNWRITTEN.match(line) or _WGET.match(line)):
        return None
    if not conditions.network and _is_network(line, lines[max(0, at - 2) : at], conditions.kind):
        return MissingAccess(what="the network", network=True)
    if not conditions.network and conditions.kind == "bubblewrap" and _CALL_REFUSED.search(line):
        ports = _own_ports(lines, conditions.command)
        if ports:
            return MissingAccess(what=f"the network (port {ports[0]} of this machine)", network=True)
    for pattern, what in _MORE:
        if pattern.search(line):
            return MissingAccess(what=f"{what}, without any sandbox", unsandboxed=True)
    if not _WRITES[conditions.kind].search(line) or (conditions.kind == "landlock" and exit_code == _NOT_EXECUTABLE):
        return None
    around = [*reversed(lines[max(0, at - _NEAR) : at]), *lines[at + 1 : at + 1 + _NEAR]]
    named = [line] if list(paths_in(line)) else [line, *(near for near in around if _SPEAKS.match(near))]
    for path in _places(named, conditions):
        if not _BUSY.search(line) or _is_protected(path, conditions.ws) or path in conditions.read_only:
            return _to_write(path)
    return None


def _is_network(line: str, before: Sequence[str], kind: SandboxKind) -> bool:
    if kind == "landlock":  # Landlock also refuses connections to servers of this machine
        calling = _NAMELESS.match(line) and any("connect" in near for near in before)
        return bool(_NETWORK.search(line) or _TCP.search(line) or calling)
    return bool(_NETWORK.search(line)) and not _LOOPBACK.search(line)


def _own_ports(lines: Sequence[str], command: str) -> list[int]:
    """Return the ports that the command called and on which a server outside of the sandbox listens."""
    called = {int(match[1]) for line in (command, *lines) for match in _OWN_PORT.finditer(line)}
    return sorted(called & _listening()) if called else []


def _listening() -> set[int]:
    found: set[int] = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        with contextlib.suppress(OSError):
            rows = [row.split() for row in table.read_text().splitlines()[1:]]
            found |= {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == _LISTENS}
    return found


def paths_in(line: str) -> Iterator[str]:
    """Yield the words of a line that look like paths."""
    for match in _QUOTED.finditer(line):
        yield next(group for group in match.groups() if group)
    for match in _BARE.finditer(line):
        yield match[1]


def _places(lines: Iterable[str], conditions: Conditions) -> Iterator[Path]:
    """Yield the places in these lines that only the sandbox prevented from being written."""
    for line in lines:
        words = set(_WORDS.split(line))
        yield from (
            path for path in conditions.read_only if _named_in(path, words, conditions) and _was_kept(path, conditions)
        )
        for named in paths_in(line):
            if not named.isprintable() or "\0" in named:
                continue
            path = Path(os.path.normpath(conditions.ws / Path(named).expanduser()))
            real = real_path(path.parent) / path.name
            if named.startswith(("/", "~", "../", ".git/", "./.git/")) and _was_kept(real, conditions):
                yield real


def _named_in(path: Path, words: set[str], conditions: Conditions) -> bool:
    """Return whether the words contain the path, relative to the workspace or absolute."""
    name = path.relative_to(conditions.ws).as_posix()
    return name in words or f"./{name}" in words or str(path) in words


def _was_kept(path: Path, conditions: Conditions) -> bool:
    if any(path.is_relative_to(place) for place in (conditions.temp, *conditions.writable)):
        return False
    if path in conditions.read_only:
        return os.access(path, os.W_OK)
    if path.is_relative_to(conditions.ws) and (not _is_protected(path, conditions.ws) or path.name == CONFIG):
        return False
    if conditions.hidden_places.covers(path):
        return False
    return os.access(_existing(path), os.W_OK)


def _existing(path: Path) -> Path:
    """Return the path, or the nearest existing folder above it."""
    return next((place for place in (path, *path.parents) if exists(place)), Path("/"))


def _to_write(path: Path) -> MissingAccess:
    place = _existing(path)
    if place == Path("/") or any(path.is_relative_to(own) for own in _OWN):
        return MissingAccess(what=f"write to {path}, without any sandbox", unsandboxed=True)
    if place == path:
        return MissingAccess(what=f"write to {path}", place=place)
    return MissingAccess(what=f"write in {place} (for {path.relative_to(place)})", place=place)


def _is_protected(path: Path, ws: Path) -> bool:
    """Return whether the path is a protected place or a folder of programs in the workspace, or is inside one."""
    return any(path.is_relative_to(place) for place in (*read_only_places(ws), *program_places(ws)))
