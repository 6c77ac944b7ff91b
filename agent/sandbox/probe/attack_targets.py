"""Prepare the targets of the attacks, and check from the outside which attacks succeeded."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import select
import socket
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ...host.own_temp import temp_folder
from ..kernel_files import files_below, writable_kernel_entries

if TYPE_CHECKING:
    from .guarantees import Verdict

_LONGEST = 100
"""Maximum length, in bytes, of the path of a unix socket (unix(7) allows 108)."""
_CREATE, _REMOVE = 0o1000, 0
_PLAIN = b"plain"
_CONTROL = "control"
"""The attack that must succeed."""


class AttackStage:
    """A workspace, files, servers, a terminal and a process outside of the sandbox. Used as a context manager."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the folder for all files of the stage; the caller removes it."""
        self.ws = folder / "work"
        self.hidden = folder / "hidden"
        self.programs = self.ws / "bin"
        self.targets = {"secret": secrets.token_hex(16)}
        self._folder = folder
        self._open = ExitStack()
        self._prepared = [_CONTROL]
        self._seen: dict[str, Callable[[], bool]] = {}
        """For each attack, a function that checks from the outside whether it succeeded."""

    def __enter__(self) -> Self:
        """Build all parts. If a part cannot be built, the attacks on it count as not tried."""
        self.ws.mkdir(parents=True)
        self.hidden.mkdir()
        files = (self._files, self._workspace, self._repository, self._temp_file, self._fifo)
        others = (self._local_servers, self._network, self._terminals, self._process, self._memory, self._keyring)
        try:
            for build in (*files, *others, self._kernel):
                with suppress(OSError, AttributeError):
                    build()
        except BaseException:
            self._open.close()
            raise
        self.targets["prepared"] = " ".join(self._prepared)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def verdicts(self, inside: Mapping[str, bool]) -> dict[str, Verdict]:
        """Return the results of the attacks. `inside`: what the attacks report; not valid if their control failed."""
        if not inside.get(_CONTROL):
            return {}
        found: dict[str, Verdict] = {}
        for name in self._prepared:
            if name in inside and name != _CONTROL:
                found[name] = "open" if inside[name] or self._is_seen(name) else "held"
        return found

    def _is_seen(self, name: str) -> bool:
        look = self._seen.get(name)
        try:
            return look is not None and look()
        except OSError:
            return True  # the attack removed its target

    def _add(self, name: str, seen: Callable[[], bool] | None = None, /, **targets: object) -> None:
        self.targets |= {key: str(value) for key, value in targets.items()}
        self._prepared.append(name)
        if seen is not None:
            self._seen[name] = seen

    def _files(self) -> None:
        outside, cut, hidden = self._folder / "outside", self._folder / "cut", self.hidden / "file"
        for path in (outside, cut):
            path.write_bytes(_PLAIN)
        outside.chmod(0o600)
        hidden.write_text(self.targets["secret"])
        before = outside.stat()
        new = outside.with_name("outside.new")
        self._add("write_outside", lambda: outside.read_bytes() != _PLAIN or new.exists(), outside=outside)
        self._add("truncate_outside", lambda: cut.read_bytes() != _PLAIN, cut=cut)
        self._add("attributes_outside", lambda: outside.stat().st_mode != before.st_mode)
        self._add("read_secret", hidden=hidden)

    def _temp_file(self) -> None:
        file = self._open.enter_context(temp_folder("probe")) / "file"
        file.write_text(self.targets["secret"])
        self._add("read_temp", temp=file)

    def _workspace(self) -> None:
        self.programs.mkdir()
        program, shell, denied = self.programs / "tool", self.ws / ".envrc", self.ws / "denied"
        hook = self.ws / ".git/hooks/pre-commit"
        program.write_bytes(_PLAIN)
        program.chmod(0o755)
        shell.write_bytes(_PLAIN)
        denied.write_text(self.targets["secret"])
        secret = self.targets["secret"]
        self._add("write_protected", lambda: shell.read_bytes() != _PLAIN or hook.exists())
        self._add(
            "write_programs",
            lambda: program.read_bytes() != _PLAIN or program.with_name("tool2").exists(),
            program="bin/tool",
        )
        self._add("read_denied")
        self._add("write_denied", lambda: denied.read_text() != secret)

    def _repository(self) -> None:
        git = self.ws / ".git"
        for name in ("hooks", "refs/heads", "objects/aa"):
            (git / name).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
        content = self.targets["secret"].encode()
        (git / "objects/aa" / ("a" * 38)).write_bytes(zlib.compress(b"blob %d\0" % len(content) + content))
        self._add("read_denied_in_git")

    def _local_servers(self) -> None:
        folder, name = self._folder / "s", f"rundry-{secrets.token_hex(8)}"
        if len(os.fsencode(folder / "renamed")) > _LONGEST:
            folder = self._open.enter_context(temp_folder("probe")) / "s"
        folder.mkdir()
        servers = [self._server(socket.AF_UNIX, str(folder / each)) for each in ("plain", "linked", "first")]
        os.link(folder / "linked", folder / "link")
        (folder / "first").rename(folder / "renamed")
        sockets = [str(folder / each) for each in ("plain", "link", "renamed")]
        self._add("unix_socket", lambda: any(map(_is_ready, servers)), sockets="\n".join(sockets))
        abstract = self._server(socket.AF_UNIX, "\0" + name)
        self._add("abstract_socket", lambda: _is_ready(abstract), abstract=name)

    def _kernel(self) -> None:
        """Prepare the attacks on the kernel itself. `kernel`: files of /proc that the user can write outside."""
        writable = [next(_writable(entry), "") for entry in writable_kernel_entries()]
        self.targets["kernel"] = "\n".join(path for path in writable if path)
        for name in ("kernel_files", "io_uring", "userfaultfd", "bpf", "perf", "other_families"):
            self._add(name)

    def _keyring(self) -> None:
        add_key, revoke, user_keyring = 248 if os.uname().machine == "x86_64" else 217, 3, -4
        keyctl = add_key + 2
        libc, name = ctypes.CDLL(None, use_errno=True), f"rundry-{secrets.token_hex(8)}"
        text = name.encode()
        key = libc.syscall(ctypes.c_long(add_key), b"user", text, b"x", ctypes.c_size_t(1), ctypes.c_int(user_keyring))
        if key < 0 and ctypes.get_errno() != errno.ENOSYS:
            raise OSError(ctypes.get_errno(), "add_key")
        if key >= 0:
            self._open.callback(libc.syscall, ctypes.c_long(keyctl), ctypes.c_int(revoke), ctypes.c_int(key))
        self._add("keyrings", key=name)

    def _fifo(self) -> None:
        place = self._folder / "fifo"
        os.mkfifo(place, 0o600)
        reading = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        self._open.callback(os.close, reading)
        self._add("fifo", fifo=place)

    def _network(self) -> None:
        server = self._server(socket.AF_INET, ("127.0.0.1", 0))
        self._add("tcp", lambda: _is_ready(server), tcp=server.getsockname()[1])
        datagrams = self._open.enter_context(closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
        datagrams.bind(("127.0.0.1", 0))
        self._add("udp", lambda: _is_ready(datagrams), udp=datagrams.getsockname()[1])

    def _server(self, family: int, address: str | tuple[str, int]) -> socket.socket:
        server = self._open.enter_context(closing(socket.socket(family, socket.SOCK_STREAM)))
        server.bind(address)
        server.listen(1)
        return server

    def _terminals(self) -> None:
        main, other = os.openpty()
        self._open.callback(os.close, main)
        self._open.callback(os.close, other)
        self._add("terminal", terminal=os.ttyname(other))
        self._add("controlling_terminal")

    def _process(self) -> None:
        secret = self.targets["secret"]
        argv = ["sh", "-c", "read _", secret]
        process = subprocess.Popen(
            argv, env={"PATH": os.defpath, "SECRET": secret}, stdin=subprocess.PIPE, start_new_session=True
        )
        self._open.callback(_end, process)
        self.targets["pid"] = str(process.pid)
        for name in ("signal", "trace", "environment", "command_lines", "limits", "priority"):
            self._add(name)

    def _memory(self) -> None:
        file = Path("/dev/shm") / f"rundry-{secrets.token_hex(8)}"
        file.write_text(self.targets["secret"])
        self._open.callback(file.unlink, missing_ok=True)
        libc, key = ctypes.CDLL(None, use_errno=True), secrets.randbelow(2**30) + 1
        segment = libc.shmget(key, 4096, _CREATE | 0o600)
        if segment < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        self._open.callback(libc.shmctl, segment, _REMOVE, None)
        self._add("shared_memory", shm=file, shmkey=key)


def _writable(entry: str) -> Iterator[str]:
    return (path for path in files_below(entry) if os.access(path, os.W_OK, effective_ids=True))


def _is_ready(server: socket.socket) -> bool:
    """Return whether data arrived at a server."""
    return bool(select.select([server], [], [], 0)[0])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()
