"""End a command of rundry: with an exit code, and with one line if the user can fix something. Imports little."""

from __future__ import annotations

import errno
import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import click

from .standard_streams import drop_output

if TYPE_CHECKING:
    from rundry.agent import RundryError

_OF_THE_PATH = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EROFS)
"""Errors of a path that the user can correct."""
_WORD, _LINE = 140, 600
"""Characters of the longest word, of its end when it is cut, and of the longest line."""
LATER = 75
"""Exit code if a later retry can succeed."""


def guarded(work: Callable[[], int]) -> NoReturn:
    """Run `work` and end the process. A mistake of the user becomes one line on stderr and exit code 2."""
    try:
        code = work()
    except BrokenPipeError:  # the reader has gone
        drop_output()
        code = 141
    except OSError as error:
        if error.filename is None or error.errno not in _OF_THE_PATH:
            raise
        fix = "; change its permissions" if isinstance(error, PermissionError) else ": name another one"
        fail(f"{error.filename} cannot be used: {error.strerror}{fix}")
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        from rundry.agent import RundryError  # 25 ms, which a screen needs only after its first frame

        if not isinstance(error, RundryError):
            raise
        _refuse(error)
    sys.exit(code)


def _refuse(error: RundryError) -> NoReturn:
    from rundry.agent import JournalUnwritable, NotTrusted

    more = f" {_trusting_line()}" if isinstance(error, NotTrusted) else ""
    fail(f"{error}{more}", LATER if isinstance(error, JournalUnwritable) else 2)


def _trusting_line() -> str:
    """Return the command line of this process with `--trust`."""
    words = sys.argv[1:]
    has_command = words[:1] == [click.get_current_context().info_name]
    return shlex.join(["rundry", *words[:has_command], "--trust", *words[has_command:]])


def fail(text: str, code: int = 2) -> NoReturn:
    """Print that line on stderr and end the process with the exit code."""
    from .show_text import one_line  # the line quotes the wrong value, which may come from a project's config

    print(f"rundry: {_cut(one_line(' '.join(text.split())))}", file=sys.stderr)
    sys.exit(code)


def _cut(line: str) -> str:
    """Shorten long words, such as a value of 5,000 characters, and the middle of a line that is still too long."""
    from .shorten_cells import cells_middle

    return cells_middle(" ".join(cells_middle(word, _WORD) for word in line.split(" ")), _LINE)
