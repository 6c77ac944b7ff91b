"""The `rundry` command: its first frame, then the command line, which takes longer to import than a person waits."""

from __future__ import annotations

import sys

from ..text.first_frame import close_early, open_early

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Open the first frame if a screen follows, then run the command line. Ends the process."""
    try:
        open_early(sys.argv[1:])
        from .root import main as parse_and_run

        parse_and_run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        close_early()
