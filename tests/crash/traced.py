"""Run the program under strace, and read which bytes it wrote where, what it forced out, and what it sent."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

STRACE = shutil.which("strace")
_CALLS = "openat,pwrite64,write,ftruncate,rename,renameat,renameat2,unlink,unlinkat,link,linkat,fsync,fdatasync,sendto"
_LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)$")
_FD = re.compile(r"^-?\w+<((?:\\x[0-9a-f]{2})*)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_UNFINISHED = " <unfinished ...>"

Change = Literal["write", "cut", "name", "remove", "move", "sync", "send"]


def through(log: Path) -> list[str]:
    """The program and options that start a command so that its calls are in the log."""
    assert STRACE is not None
    return [
        STRACE,
        "-f",
        "--seccomp-bpf",
        "-y",
        "-qq",
        "-xx",
        "-s",
        "100000000",
        "-e",
        f"trace={_CALLS}",
        "-o",
        str(log),
    ]


@dataclass(frozen=True)
class Op:
    """One call that succeeded."""

    kind: Change
    path: str
    """Of a `send`: nothing."""
    to: str = ""
    """The new name, of a `name` or a `move`."""
    offset: int | None = None
    """None: where the last write ended."""
    data: bytes = b""
    size: int = 0
    exchanged: bool = False


@dataclass(frozen=True)
class _Begun:
    call: str
    arguments: str


def ops_of(log: Path) -> Iterator[Op]:
    """The calls in the order in which they ended; one that a kill cut off is not among them."""
    begun: dict[str, _Begun] = {}
    with log.open(encoding="ascii") as lines:
        for line in lines:
            found = _LINE.match(line.rstrip("\n"))
            if found is None:
                continue
            pid, call, rest = found.groups()
            if rest.endswith(_UNFINISHED):
                begun[pid] = _Begun(call, rest.removesuffix(_UNFINISHED))
                continue
            if "resumed>" in line[: len(pid) + len(call) + 20] and pid in begun:
                rest = begun.pop(pid).arguments + rest
            arguments, _, result = rest.rpartition(" = ")
            if not result.startswith(("-1", "?")):
                yield from _op(call, arguments.rstrip().removesuffix(")"), result)


def _op(call: str, arguments: str, result: str) -> Iterator[Op]:
    match call:
        case "openat":
            if "O_TRUNC" in arguments or "O_CREAT" in arguments:
                yield Op("cut" if "O_TRUNC" in arguments else "write", _fd(result))
        case "write":
            yield Op("write", _fd(arguments), data=_texts(arguments)[0])
        case "pwrite64":
            yield Op("write", _fd(arguments), offset=int(arguments.rpartition(", ")[2]), data=_texts(arguments)[0])
        case "ftruncate":
            yield Op("cut", _fd(arguments), size=int(arguments.rpartition(", ")[2]))
        case "fsync" | "fdatasync":
            yield Op("sync", _fd(arguments))
        case "sendto":
            yield Op("send", "", data=_texts(arguments)[0])
        case "unlink" | "unlinkat":
            yield Op("remove", _paths(arguments)[0])
        case _:
            old, new = _paths(arguments)
            exchanged = "RENAME_EXCHANGE" in arguments
            yield Op("name" if call.startswith("link") else "move", old, new, exchanged=exchanged)


def _fd(text: str) -> str:
    found = _FD.match(text.strip())
    return "" if found is None else _bytes(found[1]).decode("utf-8", "replace")


def _texts(arguments: str) -> list[bytes]:
    return [_bytes(found[1]) for found in _TEXT.finditer(arguments)]


def _paths(arguments: str) -> list[str]:
    """Absolute paths; a relative one stands after the descriptor of its folder."""
    found = list[str]()
    for piece in re.finditer(r'(?:(\w+<(?:\\x[0-9a-f]{2})*>), )?"((?:\\x[0-9a-f]{2})*)"', arguments):
        folder = _fd(piece[1]) if piece[1] else "/"
        found.append(str(Path(folder, _bytes(piece[2]).decode("utf-8", "replace"))))
    return found


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))
