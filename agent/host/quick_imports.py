"""Import many modules quickly, without garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def quick_imports() -> Generator[None, None, None]:
    """Import without the garbage collector, which would look at every new object several times (60 ms at a start).

    The garbage collector never looks at the imported objects again.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
