"""Search files by a regular expression, as a separate program: a pattern that never ends can be killed.

Reads one JSON object on standard input: `root`, `files` (relative to it), `pattern`, `most` (matches). Writes
`path NUL line-number ":" text` lines, as ripgrep does with `--null`. Exit code 2: the pattern is invalid. Only the
standard library, because it runs isolated.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path

_LARGEST = 5_000_000


def main() -> int:
    """Return exit code 0 when done, 2 if the pattern is invalid."""
    order = json.load(sys.stdin)
    try:
        pattern = re.compile(order["pattern"])
    except re.error as error:
        sys.stdout.write(f"{error}\n")
        return 2
    left = int(order["most"])
    for name in order["files"]:
        data = _read(Path(order["root"]) / name)
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if left and pattern.search(line):
                left -= 1
                sys.stdout.buffer.write(f"{name}\0{number}:{line[:400]}\n".encode("utf-8", "replace"))
    return 0


def _read(path: Path) -> bytes:
    """Return the bytes of a file; empty if it is not a regular text file, too large or unreadable."""
    try:
        # Opening a FIFO without a writer would block.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            is_read = stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST
            data = file.read(_LARGEST + 1) if is_read else b""
    except OSError:
        return b""
    return b"" if b"\0" in data[:8_000] else data


if __name__ == "__main__":
    sys.exit(main())
