"""How a command of rundry ends: an exit code, and one line where a person can mend something. Light."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

LATER = 75
"""Exit code where trying later can help."""


def guarded(work: Callable[[], int]) -> NoReturn:
    """Ends the process; what a person can mend is one line on stderr and exit code 2."""
    from rundry.agent import JournalUnwritable, RundryError

    try:
        code = work()
    except JournalUnwritable as error:
        fail(str(error), LATER)
    except RundryError as error:
        fail(str(error))
    except PermissionError as error:
        if error.filename is None:
            raise
        fail(f"{error.filename} cannot be used: {error.strerror}; change its permissions")
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        sys.stdout = None
        code = 141
    sys.exit(code)


def fail(text: str, code: int = 2) -> NoReturn:
    """Ends the process with that line and exit code."""
    from .text import one_line  # what was wrong is quoted, and may come from a project's config

    print(f"rundry: {one_line(' '.join(text.split()))}", file=sys.stderr)
    sys.exit(code)
