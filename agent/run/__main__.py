"""Entry point of the runner process; `process/warm_runner.py` documents its arguments and its standard input."""

from __future__ import annotations

import sys

from ..host.quick_imports import quick_imports
from ..host.tls import import_aiohttp


def main() -> int:
    """Import the runner, run it, and return its exit code."""
    with quick_imports():
        from .process.warm_runner import serve

        import_aiohttp()  # takes 0.12 s, while the screen starts

    return serve()


if __name__ == "__main__":
    sys.exit(main())
