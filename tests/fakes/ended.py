"""Whether a process is over."""

from contextlib import suppress

import psutil


def is_over(pid: int) -> bool:
    """Whether no process has the number any more, or it is dead and only its parent has not asked for its end yet.

    The parent of a process below the one that was killed is often the machine's init, which asks when it likes.
    """
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True
