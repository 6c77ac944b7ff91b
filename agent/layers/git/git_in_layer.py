"""Run git over a layer's git folder: only in the layer's sandbox, because its settings are the command's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ...host.program_search import find_program
from ...repo.user_config import SAFE_ENV, SAFE_SETTINGS
from .ref_listing import LISTING

if TYPE_CHECKING:
    from ..layer import Layer

_SECONDS = 300.0
_LISTING, MOST_PACKED, _CHECKED = 1 << 30, 4 << 30, 256 << 20
"""Most bytes of an output."""
_PIECE = 1 << 20
_TRIES = 4
"""How often a sandbox that cannot be set up is set up again."""
_SUBJECT = 200
"""Characters of the first line of a commit that are shown."""
_SETTINGS = (
    *SAFE_SETTINGS,
    ("core.commitGraph", "false"),
    ("core.multiPackIndex", "false"),
    ("pack.useBitmaps", "false"),
    ("core.alternateRefsCommand", "false"),
)
_CHECK = re.compile(rb"([0-9a-f]{40,64}) (?:commit|tree|blob|tag) \d+")


Inside = Callable[[], Sequence[str]]
"""Returns the words that start a program in the layer's sandbox, as the machine is now."""


class InsideFailed(Exception):
    """git failed in the sandbox. The message is git's own, and so text of the command."""


class _NotSetUp(InsideFailed):
    """bubblewrap could not set up the sandbox, or git claims so. Then git only runs once more."""


class InsideGit:
    """Runs git in the sandbox of a layer in which nothing else runs. Its output is never trusted."""

    def __init__(self, words: Inside, own: Path, layer: Layer) -> None:
        """`own`: the git folder of the working tree."""
        git = find_program("git", [layer.workspace])
        if git is None:
            raise InsideFailed("git is not on the PATH outside of the workspace")
        settings = [word for key, value in _SETTINGS for word in ("-c", f"{key}={value}")]
        self._words = words
        own = layer.outside(own)
        self._argv = [str(git), "--no-replace-objects", *settings, f"--git-dir={own}", "--work-tree=/"]
        self._folder = layer.folder

    def listing(self) -> bytes:
        """Return what the index has. Raises InsideFailed."""
        with tempfile.TemporaryFile(dir=self._folder) as out:
            self._run(LISTING, b"", out, _LISTING)
            out.seek(0)
            return out.read()

    def pack(self, wanted: Collection[str], known: Collection[str], pack: Path) -> None:
        """Write a pack with the wanted objects and what they need, without what the known ones need.

        Objects that the layer lacks are left out; the import finds that out for itself. Raises InsideFailed.
        """
        with tempfile.TemporaryFile(dir=self._folder) as out:
            asked = "".join(f"{one}\n" for one in sorted({*wanted, *known}))
            self._run(("cat-file", "--batch-check", "--buffer"), asked.encode(), out, _CHECKED)
            out.seek(0)
            there = {found[1].decode() for line in out if (found := _CHECK.fullmatch(line.rstrip()))}
        lines = [*sorted(there & set(wanted)), "--not", *sorted(there & set(known))]
        with pack.open("wb") as out:
            argv = ("pack-objects", "--revs", "--stdout", "-q", "--exclude-promisor-objects")
            self._run(argv, "".join(f"{line}\n" for line in lines).encode(), out, MOST_PACKED)

    def subjects(self, commit: str, known: Collection[str], limit: int) -> list[str]:
        """Return the first lines of the commits from this one on that are in none of the known ones, at most `limit`.

        Raises InsideFailed.
        """
        with tempfile.TemporaryFile(dir=self._folder) as out:
            argv = ("log", "--no-show-signature", "--no-color", "--format=%s", f"--max-count={limit}", "--stdin")
            asked = "".join(f"{one}\n" for one in (commit, *(f"^{one}" for one in sorted(known))))
            self._run(argv, asked.encode(), out, _CHECKED)
            out.seek(0)
            lines = out.read().decode("utf-8", "replace").split("\n")[:-1]
        return ["".join(one if one.isprintable() else "?" for one in line)[:_SUBJECT] for line in lines]

    def paths(self, commit: str, known: Collection[str], limit: int) -> list[bytes]:
        """Return the files that those commits change, the newest commit first. Raises InsideFailed."""
        with tempfile.TemporaryFile(dir=self._folder) as out:
            argv = ("log", "--no-show-signature", "--format=", "--name-only", "--no-renames", "-z")
            asked = "".join(f"{one}\n" for one in (commit, *(f"^{one}" for one in sorted(known))))
            self._run((*argv, f"--max-count={limit}", "--stdin"), asked.encode(), out, _CHECKED)
            out.seek(0)
            return list(dict.fromkeys(name for name in out.read().split(b"\0") if name))

    def run(self, argv: Sequence[str], stdin: bytes) -> None:
        """Run a command whose output nobody reads. Raises InsideFailed."""
        with tempfile.TemporaryFile(dir=self._folder) as out:
            self._run(argv, stdin, out, _CHECKED)

    def _run(self, argv: Sequence[str], stdin: bytes, out: IO[bytes], limit: int) -> None:
        """Run git, again if the sandbox could not be set up: something that it mounts may disappear meanwhile."""
        for _ in range(_TRIES):
            with suppress(_NotSetUp):
                self._run_once(argv, stdin, out, limit)
                return
            out.seek(0)
            out.truncate()
        self._run_once(argv, stdin, out, limit)

    def _run_once(self, argv: Sequence[str], stdin: bytes, out: IO[bytes], limit: int) -> None:
        env = {"PATH": os.defpath, "HOME": "/nonexistent", "LC_ALL": "C", **SAFE_ENV}
        with tempfile.TemporaryFile(dir=self._folder) as asked, tempfile.TemporaryFile(dir=self._folder) as errors:
            asked.write(stdin)
            asked.seek(0)
            try:
                process = subprocess.Popen(
                    [*self._words(), *self._argv, *argv],
                    cwd="/",
                    env=env,
                    stdin=asked,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as error:
                raise InsideFailed(f"git {argv[0]}: {error}") from error
            watch = threading.Timer(_SECONDS, _kill, [process])
            watch.start()
            try:
                assert process.stdout is not None  # a pipe was asked for
                size = 0
                while piece := process.stdout.read(_PIECE):
                    size += len(piece)
                    if size > limit:
                        raise InsideFailed(f"git {argv[0]}: more than {limit:,} bytes")
                    out.write(piece)
                code = process.wait()
            finally:
                watch.cancel()
                _kill(process)
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()
            if code:
                errors.seek(0)
                said = " ".join(errors.read(2_000).decode("utf-8", "replace").split())
                said = "".join(one if one.isprintable() else "?" for one in said)[:300]
                failed = _NotSetUp if said.startswith("bwrap: ") else InsideFailed
                raise failed(f"git {argv[0]}: {said.removeprefix('fatal: ') or f'exit code {code}'}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
