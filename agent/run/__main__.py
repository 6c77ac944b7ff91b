"""The runner process. `process/warm.py` says what it is given."""

from __future__ import annotations

import sys

from ..imports import quick_imports
from ..system import import_aiohttp


def main() -> int:
    """Load the runner and return its exit code."""
    with quick_imports():
        from .process.warm import serve

        import_aiohttp()  # 0.12 s that pass while the screen starts

    return serve()


if __name__ == "__main__":
    sys.exit(main())
